"""Reading and writing at chosen places."""

from __future__ import annotations

from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, is_ours, ndarray
from ._creation import arange, set_diagonal
from ._fallback import native
from ._operands import (
    NoValue,
    axis_number,
    is_array,
    is_foreign,
    normalize_axis_index,
    of_type,
    operand,
    result_dtype,
    target,
)


@native
def where(condition: Any, x: Any = NoValue, y: Any = NoValue, /) -> Any:
    if y is not NoValue:
        if x is None or y is None:
            raise Unsupported("objects")
        return _core.where(condition, x, y)
    if x is not NoValue:
        raise Unsupported("one choice, an error that NumPy words")
    return nonzero(condition if type(condition) is ndarray else operand(condition))


# The signature that NumPy shows, though None is a choice like others.
where.__wrapped__.__wrapped__ = numpy.where  # type: ignore[attr-defined]


@native
def nonzero(a: Any) -> Any:
    a = operand(a)
    if a.ndim == 0:
        raise Unsupported("an error that NumPy words")
    return a.nonzero()


@native
def flatnonzero(a: Any) -> Any:
    return nonzero(operand(a).ravel())[0]


@native
def argwhere(a: Any) -> Any:
    a = operand(a)
    if a.ndim == 0:
        raise Unsupported("scalars have no places")
    places = nonzero(a)
    if a.ndim == 1:
        return places[0].reshape(1, -1).T
    made = _core.empty((a.ndim, places[0].shape[0]), dtype=numpy.int64)
    for axis, at in enumerate(places):
        made[axis] = at
    # Laid out as NumPy's: whoever asks for a view of it, or for a copy, gets the one or the other.
    return made.T


@native
def putmask(a: Any, /, mask: Any, values: Any) -> None:
    if not is_ours(a):
        raise Unsupported("not an array of ours")
    if is_foreign(mask) or is_foreign(values):
        raise Unsupported("an array of another class")
    _core.putmask(a, mask, values)


@native
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if not is_ours(dst):
        raise Unsupported("not an array of ours")
    if type(src) is not ndarray:
        if is_foreign(src):
            raise Unsupported("an array of another class")
        # As an array is cast, not as a number of Python's.
        src = operand(src) if isinstance(src, numpy.generic) else src
    _core.copyto(dst, src, casting=casting, where=where)


@native
def place(arr: Any, mask: Any, vals: Any) -> None:
    if not is_ours(arr):
        raise Unsupported("not an array of ours")
    if is_array(vals) or isinstance(vals, numpy.generic | numpy.ndarray):
        values = operand(vals)
        plain = isinstance(vals, Scalar | numpy.generic)
        if not plain and not numpy.can_cast(values.dtype, arr.dtype):
            raise Unsupported("an error that NumPy words")
    else:
        values = of_type(vals, arr.dtype)
    mask = operand(mask)
    if values.size != 1 or mask.shape != arr.shape:
        raise Unsupported("a sequence of values")
    try:
        _core.copyto(arr, values.reshape(()), where=mask.astype(bool, copy=False), casting="unsafe")
    except ValueError:
        raise Unsupported("an error that NumPy words") from None


@native
def take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: Any = "raise") -> Any:
    a, out = operand(a), target(out)
    try:
        return a.take(indices, axis=axis, out=out, mode=mode)
    except IndexError:
        if a.size:
            raise
    except TypeError:
        if getattr(indices, "dtype", None) == numpy.uint64:
            return take(a, indices.astype(numpy.int64), axis, out, mode)
    raise Unsupported("where nothing is taken NumPy looks at no index, and a number with a point may be one")


def _along(a: ndarray, indices: ndarray, axis: Any) -> tuple[ndarray, tuple[Any, ...]]:
    """The array and the index that address `indices` along `axis`, all other axes in step."""
    if axis is None:
        if indices.ndim != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        a, axis = a.reshape(-1), 0
    axis = normalize_axis_index(axis, a.ndim)
    if indices.dtype.kind not in "iu":
        raise IndexError("`indices` must be an integer array")
    if a.ndim != indices.ndim:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")

    def steps(i: int) -> ndarray:
        return arange(a.shape[i]).reshape((-1,) + (1,) * (a.ndim - i - 1))

    return a, tuple(indices if i == axis else steps(i) for i in range(a.ndim))


@native
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if not (hasattr(arr, "ndim") and hasattr(indices, "ndim")):
        raise Unsupported("an error that NumPy words")
    a, index = _along(operand(arr), operand(indices), axis)
    return a[index]


@native
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    if not is_ours(arr) or not hasattr(indices, "ndim") or (axis is None and not arr.flags.c_contiguous):
        raise Unsupported("not an array of ours, no flat view of it, or an error that NumPy words")
    a, index = _along(arr, operand(indices), axis)
    a[index] = values


@native
def compress(condition: Any, a: Any, axis: Any = None, out: Any = None) -> Any:
    condition, a = operand(condition), operand(a)
    axis = None if axis is None else axis_number(axis)
    if condition.ndim != 1:
        raise ValueError("condition must be a 1-d array")
    if axis is None:
        a, axis = a.ravel(), 0
    elif a.ndim:
        axis = normalize_axis_index(axis, a.ndim)
    if out is None and a.ndim == 1 and condition.shape == a.shape:
        return a[condition.astype(bool, copy=False)]
    return a.take(condition.nonzero()[0], axis=axis, out=target(out))


@native
def extract(condition: Any, arr: Any) -> Any:
    condition, a = operand(condition).ravel(), operand(arr).ravel()
    if condition.shape == a.shape:
        return a[condition.astype(bool, copy=False)]
    return a.take(condition.nonzero()[0])


@native
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError("list of cases must be same length as list of conditions")
    if len(condlist) == 0:
        raise ValueError("select with an empty condition list is not possible")
    conditions = [operand(c) for c in condlist]
    for i, c in enumerate(conditions):
        if c.dtype.kind != "b":
            raise TypeError(f"invalid entry {i} in condlist: should be boolean ndarray")
    choices = [c if type(c) in (int, float, complex) else operand(c) for c in (*choicelist, default)]
    kind = result_dtype(*choices)
    if any(type(c) is int and (kind.kind == "u" or not -(1 << 63) <= c < 1 << 63) for c in choices):
        raise Unsupported("an error that NumPy words")
    # Every number in the common type: beside one choice alone it would take that one's.
    choices = [c.astype(kind, copy=False) if is_ours(c) else _core.asarray(numpy.full((), c, kind)) for c in choices]
    chosen = choices.pop()
    try:
        for condition, choice in zip(reversed(conditions), reversed(choices)):
            chosen = _core.where(condition, choice, chosen)
    except ValueError:
        raise Unsupported("an error that NumPy words") from None
    # In C order, whatever the order of the choices.
    return operand(chosen).astype(kind, order="C", copy=False)


def _bounds_that_bind(dtype: numpy.dtype[Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Without Python's integers that bound nothing of that type: NumPy forgets them, whatever the other bound is."""
    if dtype.kind in "iu":
        limits = numpy.iinfo(dtype)
        low = None if type(low) is int and low <= limits.min else low
        high = None if type(high) is int and high >= limits.max else high
    return low, high


@native
def clip(
    a: Any,
    a_min: Any = NoValue,
    a_max: Any = NoValue,
    out: Any = None,
    *,
    min: Any = NoValue,
    max: Any = NoValue,
    **kwargs: Any,
) -> Any:
    if a_min is NoValue and a_max is NoValue:
        a_min = None if min is NoValue else min
        a_max = None if max is NoValue else max
    elif a_min is NoValue or a_max is NoValue or min is not NoValue or max is not NoValue or kwargs:
        raise Unsupported("an error that NumPy words")
    if kwargs:
        raise Unsupported("a ufunc's arguments")
    if (type(a_min) is int) != (type(a_max) is int):
        a_min, a_max = _bounds_that_bind(operand(a).dtype, a_min, a_max)
    return (
        _core.clip(operand(a), a_min, a_max) if out is None else _core.clip(operand(a), a_min, a_max, out=target(out))
    )


@native
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NoValue, append: Any = NoValue) -> Any:
    if n == 0 and not is_foreign(a):
        return a
    if n < 0:
        raise ValueError("order must be non-negative but got " + repr(n))
    a = operand(a)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    axis = normalize_axis_index(axis, a.ndim)
    edges = [operand(e) if e is not NoValue else None for e in (prepend, append)]
    if any(e is not None for e in edges):
        from ._joining import concatenate

        one = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
        before, after = (_core.broadcast_to(e, one) if e is not None and e.ndim == 0 else e for e in edges)
        a = concatenate([part for part in (before, a, after) if part is not None], axis)
    front = (slice(None),) * axis
    step = _core.not_equal if a.dtype == bool else _core.subtract
    for _ in range(n):
        a = step(a[(*front, slice(1, None))], a[(*front, slice(None, -1))])
    return a


@native
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    if to_end is None and to_begin is None and type(ary) is ndarray and ary.ndim == 1:
        return _core.subtract(ary[1:], ary[:-1])
    a = operand(ary).ravel()
    edges = [None if e is None else operand(e).ravel() for e in (to_begin, to_end)]
    for name, edge in zip(("to_begin", "to_end"), edges):
        if edge is not None and not numpy.can_cast(edge.dtype, a.dtype, "same_kind"):
            raise TypeError(f"dtype of `{name}` must be compatible with input `ary` under the `same_kind` rule.")
    steps = _core.subtract(a[1:], a[:-1])
    parts = [part for part in (edges[0], steps, edges[1]) if part is not None]
    if len(parts) == 1:
        return steps
    made = _core.empty(sum(part.shape[0] for part in parts), dtype=a.dtype)
    at = 0
    for part in parts:
        made[at : at + part.shape[0]] = part
        at += part.shape[0]
    return made


@native
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    plain = is_array(val) or numpy.ndim(val) == 0
    if not is_ours(a) or a.ndim != 2 or not a.flags.c_contiguous or not plain:
        raise Unsupported("not a dense matrix of ours")
    if type(val) is not Scalar and is_ours(val) and val.ndim:
        raise Unsupported("a sequence of values")
    if not a.flags.writeable:
        raise Unsupported("an error that NumPy words")
    if isinstance(val, numpy.generic):
        # As an array is cast, not as a number of Python's.
        val = operand(val)
    if not a.size:
        # Whether an element could hold it counts all the same.
        _core.empty(1, dtype=a.dtype)[...] = val
    elif wrap:
        a.reshape(-1)[:: a.shape[1] + 1] = val
    else:
        set_diagonal(a, 0, val)


@native
def ix_(*args: Any) -> Any:
    made, ndim = [], len(args)
    for i, arg in enumerate(args):
        if not is_array(arg):
            if is_foreign(arg):
                raise Unsupported("an array of another class")
            arg = numpy.asarray(arg)
            arg = arg.astype(numpy.intp) if arg.size == 0 else arg
        a = operand(arg)
        if a.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if a.dtype == bool:
            a = a.nonzero()[0]
        made.append(a.reshape((1,) * i + (a.size,) + (1,) * (ndim - i - 1)))
    return tuple(made)
