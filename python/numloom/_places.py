"""Where elements are: indices of triangles and diagonals, flat and many-dimensional; choosing and putting by them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, is_ours, ndarray
from ._creation import arange, ones, tri
from ._fallback import native
from ._operands import holds, is_array, of_type, operand, result_dtype, settled, target, whole

# NumPy's own limit on operands of one call.
_MOST_CHOICES = 60


@native
def tril_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    return tri(n, m, k=k, dtype=bool).nonzero()


@native
def triu_indices(n: int, k: int = 0, m: int | None = None) -> Any:
    return (~tri(n, m, k=k - 1, dtype=bool)).nonzero()


@native
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return tril_indices(arr.shape[-2], k=k, m=arr.shape[-1])


@native
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return triu_indices(arr.shape[-2], k=k, m=arr.shape[-1])


@native
def diag_indices(n: int, ndim: int = 2) -> Any:
    return (arange(n),) * ndim


@native
def diag_indices_from(arr: Any) -> Any:
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if len(set(arr.shape)) > 1:
        raise ValueError("All dimensions of input must be of equal length")
    return diag_indices(arr.shape[0], arr.ndim)


@native
def mask_indices(n: int, mask_func: Callable[..., Any], k: Any = 0) -> Any:
    return operand(mask_func(ones((n, n), int), k) != 0).nonzero()


def _integers(x: Any) -> ndarray:
    x = operand(x)
    if x.dtype.kind not in "iu" or x.dtype == numpy.uint64:
        raise Unsupported("an error that NumPy words")
    return x.astype(numpy.intp, copy=False)


def _axes(ndim: int, order: str) -> list[int]:
    """The axes of a shape from the one that changes slowest."""
    if order not in ("C", "F"):
        raise Unsupported("an error that NumPy words")
    return list(range(ndim)) if order == "C" else list(range(ndim - 1, -1, -1))


@native
def unravel_index(indices: Any, shape: Any, order: str = "C") -> Any:
    if type(indices) is int or (not is_array(indices) and numpy.ndim(indices) == 0):
        return numpy.unravel_index(indices, shape, order)  # type: ignore[call-overload]
    at = _integers(indices)
    sizes = tuple(shape) if numpy.iterable(shape) else (shape,)
    sizes = tuple(whole(size) for size in sizes)
    all_places = math.prod(sizes)
    if not sizes or all_places > numpy.iinfo(numpy.intp).max or (at.size and _outside(at, all_places)):
        raise Unsupported("an error that NumPy words")
    made: list[Any] = [None] * len(sizes)
    slowest, *others = _axes(len(sizes), order)
    for axis in reversed(others):
        # None is negative by now, and division without signs is faster.
        rows = _core.floor_divide(at.view(numpy.uintp), numpy.uintp(sizes[axis])).view(numpy.intp)
        at, made[axis] = rows, at - rows * sizes[axis]
    made[slowest] = at.copy() if at.ndim else at[()]
    return tuple(made)


def _outside(at: ndarray, size: int) -> bool:
    return bool(((at < 0) | (at >= size)).any())


@native
def ravel_multi_index(multi_index: Any, dims: Any, mode: Any = "raise", order: str = "C") -> Any:
    if type(multi_index) is tuple and {int}.issuperset(map(type, multi_index)):
        return numpy.ravel_multi_index(multi_index, dims, mode, order)  # type: ignore[call-overload]
    sizes = tuple(dims) if numpy.iterable(dims) else (dims,)
    sizes = tuple(operator.index(size) for size in sizes)
    plain = not any(is_array(part) or numpy.ndim(part) for part in multi_index)
    if plain:
        return numpy.ravel_multi_index(multi_index, dims, mode, order)  # type: ignore[call-overload]
    modes = (mode,) * len(sizes) if isinstance(mode, str) else tuple(mode)
    parts = [_integers(part) for part in multi_index]
    if len(parts) != len(sizes) or len(modes) != len(sizes) or not 0 < math.prod(sizes) <= numpy.iinfo(numpy.intp).max:
        raise Unsupported("an error that NumPy words")
    flat: Any = None
    for axis in _axes(len(sizes), order):
        at = _within(parts[axis], sizes[axis], modes[axis])
        flat = at if flat is None else flat * sizes[axis] + at
    return flat


def _within(at: ndarray, size: int, mode: Any) -> ndarray:
    """Indices from zero to below `size`, as `mode` says."""
    if mode == "wrap":
        return _core.remainder(at, size)
    if mode == "clip":
        return _core.clip(at, 0, size - 1)
    if mode != "raise" or (at.size and _outside(at, size)):
        raise Unsupported("an error that NumPy words")
    return at


@native
def choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    at, out = operand(a), target(out)
    at = at.astype(numpy.intp) if at.dtype.kind == "b" else _integers(at)
    if any(isinstance(choice, (int, float, complex)) for choice in choices):
        raise Unsupported("numbers of Python's, whose type depends on the others")
    options = [operand(choice) for choice in choices]
    if not 2 <= len(options) <= _MOST_CHOICES or any(not is_ours(option) for option in options):
        raise Unsupported("an error that NumPy words, or one choice")
    at = _within(at, len(options), mode)
    kind = result_dtype(*options)
    try:
        shape = numpy.broadcast_shapes(at.shape, *[option.shape for option in options])
    except ValueError:
        raise Unsupported("an error that NumPy words") from None
    if out is not None and (out.shape != shape or out.dtype != kind):
        raise Unsupported("an output that NumPy converts to, or words the error of")
    made = _core.empty(shape, dtype=kind)
    for i, option in enumerate(options):
        _core.copyto(made, option, where=at == i)
    if out is not None:
        out[...] = made
        return out
    return made if shape else made[()]


@native
def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    if not is_ours(a):
        raise Unsupported("not an array of ours")
    if mode == "raise" and type(a) is ndarray and a.ndim == 1 and a.size and holds(a, v):
        line = type(ind) is ndarray and ind.ndim == 1 and ind.dtype.kind == "i"
        if line or (type(ind) is list and ind and {int}.issuperset(map(type, ind))):
            try:
                a[ind] = v
            except ValueError:
                raise Unsupported("an array that is read only") from None
            return
    at, values = _integers(settled(ind)).ravel(), of_type(v, a.dtype).ravel()
    if not a.size or not a.flags.writeable:
        raise Unsupported("an error that NumPy words")
    if not at.size or not values.size:
        return
    flat = a.flags.c_contiguous
    if mode != "raise":
        at = _within(at, a.size, mode)
    elif not flat and ((at < -a.size) | (at >= a.size)).any():
        raise Unsupported("an error that NumPy words")
    if values.shape[0] != 1 and values.shape[0] != at.shape[0]:
        values = values.take(arange(at.shape[0]) % values.shape[0])
    if flat:
        a.reshape(-1)[at] = values
    else:
        a[unravel_index(at % a.size, a.shape)] = values


@native
def require(a: Any, dtype: Any = None, requirements: Any = None, *, like: Any = None) -> Any:
    given = operand(a)
    wanted = {_FLAGS.get(str(name).upper()) for name in requirements or ()}
    if like is not None or None in wanted or {"C", "F"} <= wanted:
        raise Unsupported("an error that NumPy words, or what it makes")
    order = "C" if "C" in wanted else "F" if "F" in wanted else "A"
    # Where no order is asked for an array lies as it does.
    made = _core.asarray(given, dtype=dtype, order="K" if order == "A" else order, copy=None)
    owned = "O" not in wanted or made.flags.owndata
    return made if owned and ("W" not in wanted or made.flags.writeable) else made.copy(order)


_FLAGS = {
    **dict.fromkeys(("C", "C_CONTIGUOUS", "CONTIGUOUS"), "C"),
    **dict.fromkeys(("F", "F_CONTIGUOUS", "FORTRAN"), "F"),
    **dict.fromkeys(("A", "ALIGNED"), "A"),
    **dict.fromkeys(("W", "WRITEABLE"), "W"),
    **dict.fromkeys(("O", "OWNDATA"), "O"),
    **dict.fromkeys(("E", "ENSUREARRAY"), "E"),
}
