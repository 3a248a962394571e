"""Putting arrays together: a new array and slice assignments, so that everything stays deferred."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, is_ours, ndarray
from ._fallback import also_named, native
from ._operands import (
    PYTHONS,
    axis_number,
    holds,
    is_array,
    is_foreign,
    normalize_axis_index,
    of_type,
    operand,
    result_dtype,
    target,
)
from ._shape import atleast_1d, atleast_2d, atleast_3d


def _join(arrays: Sequence[ndarray], axis: int, out: Any, dtype: Any, casting: str) -> Any:
    if out is None and dtype is None:
        if casting != "same_kind":
            raise Unsupported("a rule that only NumPy applies")
        return _core.join(arrays, axis)
    out = target(out)
    if (out is not None and dtype is not None) or casting == "same_value":
        raise Unsupported("an error that NumPy words")
    first = arrays[0] if arrays else None
    if first is None or first.ndim == 0:
        raise Unsupported("an error that NumPy words")
    axis = normalize_axis_index(axis, first.ndim)
    for a in arrays[1:]:
        if a.ndim != first.ndim or any(a.shape[i] != first.shape[i] for i in range(a.ndim) if i != axis):
            raise Unsupported("an error that NumPy words")
    kind = out.dtype if out is not None else numpy.dtype(dtype) if dtype is not None else None
    if kind is None:
        kind = first.dtype
        if any(a.dtype is not kind for a in arrays):
            kind = numpy.result_type(*[a.dtype for a in arrays])
    elif not all(numpy.can_cast(a.dtype, kind, casting) for a in arrays):  # type: ignore[arg-type]
        raise Unsupported("an error that NumPy words")
    shape = list(first.shape)
    shape[axis] = sum(a.shape[axis] for a in arrays)
    if out is None:
        return _core.join([a.astype(kind, copy=False) for a in arrays], axis)
    if out.shape != tuple(shape):
        raise Unsupported("an error that NumPy words")
    front, at = (slice(None),) * axis, 0
    for a in arrays:
        end = at + a.shape[axis]
        out[(*front, slice(at, end))] = a
        at = end
    return out


def _operands(arrays: Any) -> list[ndarray]:
    if not hasattr(type(arrays), "__getitem__") or getattr(arrays, "ndim", 1) == 0:
        raise Unsupported("an error that NumPy words")
    return [operand(a) for a in arrays]


@native
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    plain = type(axis) is int and type(arrays) in (list, tuple) and {ndarray}.issuperset(map(type, arrays))
    if plain and out is None and dtype is None and casting == "same_kind":
        return _core.join(arrays, axis)
    axis = None if axis is None else axis_number(axis)
    parts = _operands(arrays)
    if axis is None:
        parts, axis = [a.ravel() for a in parts], 0
        if out is dtype is None and type(arrays) in (list, tuple) and not PYTHONS.isdisjoint(map(type, arrays)):
            kind = result_dtype(*[a if type(a) in PYTHONS else part for a, part in zip(arrays, parts)])
            parts = [part.astype(kind, copy=False) for part in parts]
    return _join(parts, axis, out, dtype, casting)


concat = also_named("concat", concatenate)


@native
def stack(arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = _operands(arrays)
    if not parts:
        raise ValueError("need at least one array to stack")
    if any(a.shape != parts[0].shape for a in parts):
        raise ValueError("all input arrays must have the same shape")
    axis = normalize_axis_index(axis, parts[0].ndim + 1)
    if parts[0].ndim == 64:
        raise Unsupported("an error that NumPy words")
    wide = (*parts[0].shape[:axis], 1, *parts[0].shape[axis:])
    return _join([a.reshape(wide) for a in parts], axis, out, dtype, casting)


def _listed(made: Any) -> Sequence[ndarray]:
    return made if isinstance(made, tuple) else (made,)


@native
def vstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    return _join(_listed(atleast_2d(*_operands(tup))), 0, None, dtype, casting)


@native
def row_stack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    warnings.warn("`row_stack` alias is deprecated. Use `np.vstack` directly.", DeprecationWarning, stacklevel=3)
    return vstack(tup, dtype=dtype, casting=casting)


@native
def hstack(tup: Any, *, dtype: Any = None, casting: Any = "same_kind") -> Any:
    parts = _listed(atleast_1d(*_operands(tup)))
    return _join(parts, 0 if parts and parts[0].ndim == 1 else 1, None, dtype, casting)


@native
def dstack(tup: Any) -> Any:
    return _join(_listed(atleast_3d(*_operands(tup))), 2, None, None, "same_kind")


_FEW = 4096
"""Columns of so many elements are written one by one sooner than they are joined."""


@native
def column_stack(tup: Any) -> Any:
    if type(tup) in (tuple, list) and tup and {ndarray}.issuperset(map(type, tup)):
        shape, kind = tup[0].shape, tup[0].dtype
        if len(shape) == 1 and shape[0] <= _FEW:
            made = _core.empty((shape[0], len(tup)), kind)
            for i, a in enumerate(tup):
                if a.shape != shape or a.dtype is not kind:
                    break
                made[:, i] = a
            else:
                return made
    parts = [a if a.ndim >= 2 else a.reshape(-1, 1) for a in _operands(tup)]
    return _join(parts, 1, None, None, "same_kind")


@native
def block(arrays: Any) -> Any:
    depth = _depth(arrays)
    ndim = max(depth, _widest(arrays))
    made = _block(arrays, depth, ndim, 0)
    return made.copy() if depth == 0 else made


def _depth(arrays: Any) -> int:
    if type(arrays) is tuple:
        raise Unsupported("an error that NumPy words")
    if type(arrays) is not list:
        return 0
    depths = {_depth(a) for a in arrays}
    if len(depths) != 1:
        raise Unsupported("an error that NumPy words")
    return 1 + depths.pop()


def _widest(arrays: Any) -> int:
    return max(_widest(a) for a in arrays) if type(arrays) is list else operand(arrays).ndim


def _block(arrays: Any, depth: int, ndim: int, level: int) -> ndarray:
    if level == depth:
        a = operand(arrays)
        return a.reshape((1,) * (ndim - a.ndim) + a.shape)
    return _join([_block(a, depth, ndim, level + 1) for a in arrays], ndim - depth + level, None, None, "same_kind")


@native
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    a = operand(arr)
    if axis is None:
        return concatenate((a.ravel(), operand(values).ravel()))
    return concatenate((a, operand(values)), axis)


_RUNS = 16
"""So many runs between the places that are left out are copied sooner than all elements are asked."""


def _joined_runs(a: ndarray, axis: int, runs: list[tuple[int, int]]) -> ndarray:
    """A new array of runs (start, end) of places along an axis."""
    kept = sum(end - start for start, end in runs)
    if a.ndim == 1:
        made = _core.empty(kept, a.dtype)
    else:
        shape = (*a.shape[:axis], kept, *a.shape[axis + 1 :])
        made = _core.empty(shape, dtype=a.dtype, order="F" if a.flags.fnc else "C")
    front, at = (slice(None),) * axis, 0
    for start, end in runs:
        if start < end:
            made[(*front, slice(at, at + end - start))] = a[(*front, slice(start, end))]
            at += end - start
    return made


def _without(a: ndarray, axis: int, places: list[int]) -> ndarray:
    """All but a few places, which lie within the axis."""
    size = a.shape[axis]
    gone = sorted({i % size for i in places})
    starts = [0, *[i + 1 for i in gone]]
    return _joined_runs(a, axis, list(zip(starts, [*gone, size])))


def _staying(places: Any, size: int, listed: bool) -> numpy.ndarray[Any, Any]:
    """Which of so many places are not among these."""
    if places.dtype.kind == "b" and places.shape == (size,):
        return ~places
    if places.size and (places.dtype.kind not in "iu" or places.min() < -size or places.max() >= size):
        raise Unsupported("an error that NumPy words")
    if not places.size and places.dtype.kind not in "iu" and not listed:
        raise Unsupported("an error that NumPy words")
    stays = numpy.ones(size, dtype=bool)
    if places.size:
        stays[places] = False
    return stays


@native
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    a = operand(arr)
    if axis is None:
        a, axis = a.ravel(), 0
    if type(obj) is int and a.ndim == 1 and type(axis) is int and axis in (0, -1) and -a.size <= obj < a.size:
        at = obj % a.size
        made = _core.empty(a.size - 1, a.dtype)
        made[:at] = a[:at]
        made[at:] = a[at + 1 :]
        return made
    if is_foreign(obj):
        raise Unsupported("an array of another class")
    axis = normalize_axis_index(axis, a.ndim)
    size = a.shape[axis]
    if type(obj) is int and -size <= obj < size:
        at = obj % size
        return _joined_runs(a, axis, [(0, at), (at + 1, size)])
    if isinstance(obj, slice):
        return _without_slice(a, axis, range(*obj.indices(size)))
    front = (slice(None),) * axis
    if type(obj) is ndarray and obj.dtype == bool and obj.shape == (size,):
        return a[(*front, ~obj)]
    places = numpy.asarray(_core.to_numpy(obj))
    few = places.ravel().tolist() if 0 < places.size < _RUNS and places.dtype.kind in "iu" else []
    if len(few) == 1 and not -size <= few[0] < size:
        raise IndexError(f"index {few[0]} is out of bounds for axis {axis} with size {size}")
    # NumPy lays out what is left of several rows as a mask chooses it, but of one row as the array is.
    plain = a.ndim == 1 or len(few) == 1 or (axis == 0 and not a.flags.fnc)
    if few and plain and all(-size <= i < size for i in few):
        return _without(a, axis, few)
    return a[(*front, _staying(places, size, not is_array(obj) and not isinstance(obj, numpy.ndarray)))]


def _without_slice(a: ndarray, axis: int, gone: range) -> ndarray:
    """All but evenly spaced places."""
    size = a.shape[axis]
    gone = gone if gone.step > 0 else gone[::-1]
    if not gone:
        return a.copy(order="F" if a.flags.fnc else "C")
    if gone.step == 1:
        return _joined_runs(a, axis, [(0, gone.start), (gone.stop, size)])
    stays = numpy.ones(size, dtype=bool)
    stays[gone.start : gone.stop : gone.step] = False
    if a.ndim == 1:
        return a[stays]
    places = stays.nonzero()[0]
    return a.T.take(places, axis=a.ndim - 1 - axis).T if a.flags.fnc else a.take(places, axis=axis)


def _with(a: ndarray, at: int, value: Any) -> ndarray:
    """A line with one more element before a place of it."""
    made = _core.empty(a.size + 1, a.dtype)
    made[:at] = a[:at]
    made[at] = value
    made[at + 1 :] = a[at:]
    return made


@native
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    a = operand(arr)
    if axis is None:
        a, axis = a.ravel(), 0
    plain = type(obj) is int and a.ndim == 1 and type(axis) is int and axis in (0, -1)
    if plain and -a.size <= obj <= a.size and holds(a, values):
        return _with(a, obj + a.size if obj < 0 else obj, values)
    axis = normalize_axis_index(axis, a.ndim)
    size = a.shape[axis]
    values = of_type(values, a.dtype)
    values = values.reshape((1,) * (a.ndim - values.ndim) + values.shape) if values.ndim < a.ndim else values
    if type(obj) is not int:
        return _inserted(a, _core.to_numpy(obj), values, axis)
    if not -size <= obj <= size or values.ndim > a.ndim:
        raise Unsupported("a place that is none, or too many axes")
    at = obj + size if obj < 0 else obj
    # A scalar place inserts along the axis what stands in front in `values`.
    values = values.transpose([*range(1, axis + 1), 0, *range(axis + 1, a.ndim)])
    shape = list(a.shape)
    shape[axis] += values.shape[axis]
    made = _core.empty(shape, dtype=a.dtype, order="F" if a.flags.fnc else "C")
    front = (slice(None),) * axis
    made[(*front, slice(None, at))] = a[(*front, slice(None, at))]
    made[(*front, slice(at, at + values.shape[axis]))] = values
    made[(*front, slice(at + values.shape[axis], None))] = a[(*front, slice(at, None))]
    return made


def _inserted(a: ndarray, places: Any, values: ndarray, axis: int) -> ndarray:
    """One of `values` before each of several places."""
    size = a.shape[axis]
    wanted = numpy.arange(size)[places] if isinstance(places, slice) else numpy.asarray(places)
    count = int(wanted.sum()) if wanted.dtype == bool else wanted.size
    room = [count if k == axis else n for k, n in enumerate(a.shape)]
    fits = values.ndim == a.ndim and all(n in (1, most) for n, most in zip(values.shape, room, strict=True))
    fits = fits and wanted.dtype.kind in "biu" and bool(((wanted >= -size) & (wanted <= size)).all())
    if wanted.ndim != 1 or count == 1 or size == 0 or not fits:
        raise Unsupported("one place in a sequence, or what NumPy refuses")
    # NumPy says where they come (and words the errors) on the positions alone.
    order = numpy.insert(numpy.arange(size), places, -1 - numpy.arange(count))
    new = order < 0
    shape = [n + count * (k == axis) for k, n in enumerate(a.shape)]
    made = _core.empty(shape, dtype=a.dtype, order="F" if a.flags.fnc else "C")
    front = (slice(None),) * axis
    if values.shape[axis] != 1:
        values = values.take(-1 - order[new], axis=axis)
    made[(*front, new)] = values
    made[(*front, ~new)] = a
    return made


_SMALL = 1 << 16
"""So many elements are written twice sooner than the edges around them are named."""


def _put(made: ndarray, at: Any, value: Any) -> None:
    try:
        made[at] = value
    except (OverflowError, TypeError, ValueError):
        raise Unsupported("a value that NumPy casts, whatever it loses") from None


def _padded(a: ndarray, widths: list[tuple[int, int]], around: Any = None) -> tuple[ndarray, list[slice]]:
    """A wider array with `a` inside, and where that is; `around` it a value, if one is given."""
    shape = [before + n + after for n, (before, after) in zip(a.shape, widths)]
    made = _core.empty(shape, dtype=a.dtype, order="F" if a.flags.fnc else "C")
    inside = [slice(before, before + n) for n, (before, after) in zip(a.shape, widths)]
    if around is not None:
        _put(made, ..., around)
    made[tuple(inside)] = a
    return made, inside


def _down(first: int, count: int) -> slice:
    """`count` places downwards from the first."""
    return slice(first, first - count if first >= count else None, -1)


# The places of an axis that are copied before and after its own, which go from `start` to `end`.
_MIRRORED: dict[str, Callable[[int, int, int, int], tuple[slice, slice]]] = {
    "reflect": lambda start, end, before, after: (_down(start + before, before), _down(end - 2, after)),
    "symmetric": lambda start, end, before, after: (_down(start + before - 1, before), _down(end - 1, after)),
    "wrap": lambda start, end, before, after: (slice(end - before, end), slice(start, start + after)),
}


def _pad_with_copies(
    a: ndarray, widths: list[tuple[int, int]], copied: Callable[[int, int, int, int], tuple[slice, slice]]
) -> ndarray:
    made, inside = _padded(a, widths)
    # Axis by axis, each over what the earlier ones have filled.
    for axis, (before, after) in enumerate(widths):
        front, back = [slice(None)] * axis, inside[axis + 1 :]
        start, end = inside[axis].start, inside[axis].stop
        sources = copied(start, end, before, after)
        for edge, source, n in ((slice(None, start), sources[0], before), (slice(end, None), sources[1], after)):
            if n:
                made[(*front, edge, *back)] = made[(*front, source, *back)]
    return made


@native
def pad(array: Any, pad_width: Any, mode: Any = "constant", **kwargs: Any) -> Any:
    a = operand(array)
    widths = _pad_widths(pad_width, a.ndim)
    if mode in _MIRRORED:
        known = set() if mode == "wrap" else {"reflect_type"}
        if kwargs.get("reflect_type", "even") != "even" or set(kwargs) - known:
            raise Unsupported("a rarer way to pad")
        if any(n == 0 and any(w) for n, w in zip(a.shape, widths)):
            raise Unsupported("an error that NumPy words")
        if a.flags.fnc:
            return pad(a.T, widths[::-1], mode).T
        most = [max(w) + (mode == "reflect") for w in widths]
        if all(n >= least for n, least in zip(a.shape, most)):
            return _pad_with_copies(a, widths, _MIRRORED[mode])
        for axis, (before, after) in enumerate(widths):
            if before or after:
                a = a.take(numpy.pad(numpy.arange(a.shape[axis]), (before, after), mode=mode), axis=axis)
        return a if any(map(any, widths)) else a.copy()
    if mode not in ("constant", "edge", "empty") or set(kwargs) - (
        {"constant_values"} if mode == "constant" else set()
    ):
        raise Unsupported("a rarer way to pad")
    if mode == "edge" and any(n == 0 and any(w) for n, w in zip(a.shape, widths)):
        raise Unsupported("an error that NumPy words")
    fills = kwargs.get("constant_values", 0)
    if not isinstance(fills, int | float | complex | numpy.generic):
        raise Unsupported("one value per edge")
    if mode == "constant" and a.size <= _SMALL:
        return _padded(a, widths, fills)[0]
    made, inside = _padded(a, widths)
    if mode == "empty":
        return made
    # Axis by axis, each over what the earlier ones have filled.
    for axis, (before, after) in enumerate(widths):
        at = [slice(None)] * (axis + 1) + inside[axis + 1 :]
        end = before + a.shape[axis]
        for edge, source in ((slice(None, before), slice(before, before + 1)), (slice(end, None), slice(end - 1, end))):
            at[axis] = edge
            if made.shape[axis] and (before if edge.start is None else after):
                _put(made, tuple(at), fills if mode == "constant" else made[(*at[:axis], source, *at[axis + 1 :])])
    return made


def _pad_widths(pad_width: Any, ndim: int) -> list[tuple[int, int]]:
    if isinstance(pad_width, dict):
        raise Unsupported("widths by axis")
    if type(pad_width) is int and pad_width >= 0:
        return [(pad_width, pad_width)] * ndim
    widths = numpy.asarray(pad_width)
    if widths.dtype.kind != "i" or (widths < 0).any():
        raise Unsupported("an error that NumPy words")
    return [(int(before), int(after)) for before, after in numpy.broadcast_to(widths, (ndim, 2))]


@native
def trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    if not is_ours(filt) or axis is not None or filt.ndim == 0 or math.prod(filt.shape) == 0:
        raise Unsupported("sequences and single axes")
    bounds = []
    for at in filt.nonzero():
        bounds.append((int(at.min()), int(at.max()) + 1) if at.size else (0, 0))
    front, back = "f" in trim.lower(), "b" in trim.lower()
    if trim.lower() not in ("f", "b", "fb", "bf") or any(b == (0, 0) for b in bounds):
        raise Unsupported("an error that NumPy words")
    return filt[tuple(slice(lo if front else None, hi if back else None) for lo, hi in bounds)]
