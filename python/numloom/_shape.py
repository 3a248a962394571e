"""Changing shapes: all views where NumPy's are views."""

from __future__ import annotations

import itertools
import math
import operator
import sys
from collections.abc import Sequence
from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, ndarray
from ._creation import arange, array
from ._fallback import also_named, direct, native, on_host
from ._operands import (
    axis_number,
    is_foreign,
    is_truth,
    normalize_axis_index,
    normalize_axis_tuple,
    operand,
    whole,
)


def _like(given: Any, made: ndarray) -> Any:
    """A view of `given`, which is itself where it is a scalar and the view has no axes either."""
    scalar = type(given) is Scalar or isinstance(given, numpy.generic)
    return given if scalar and made.ndim == 0 else made


@native
def reshape(a: Any, /, shape: Any, order: Any = "C", *, copy: bool | None = None) -> Any:
    x = operand(a)
    if copy is True:
        x = x.copy()
    try:
        made = x.reshape(x.shape if shape is None else shape, order=order)
    except TypeError:
        raise Unsupported("an error that NumPy words") from None
    if copy is False and x.size and not numpy.may_share_memory(_core.to_numpy(made), _core.to_numpy(x)):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return made if made.ndim else _like(a, made)


@native
def ravel(a: Any, order: Any = "C") -> Any:
    return operand(a).ravel(order)


@native
def transpose(a: Any, axes: Any = None) -> Any:
    made = operand(a).transpose() if axes is None else operand(a).transpose(axes)
    return made if made.ndim else _like(a, made)


permute_dims = also_named("permute_dims", transpose)


@native
def matrix_transpose(x: Any, /) -> Any:
    x = operand(x)
    if x.ndim < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {x.ndim}")
    return x.swapaxes(-1, -2)


@native
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    x = operand(a)
    sources = normalize_axis_tuple(source, x.ndim, "source")
    destinations = normalize_axis_tuple(destination, x.ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError("`source` and `destination` arguments must have the same number of elements")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for to, axis in sorted(zip(destinations, sources)):
        order.insert(to, axis)
    return _like(a, x.transpose(order))


@native
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    if not hasattr(a, "ndim"):
        raise Unsupported("an error that NumPy words")
    a = operand(a)
    n = a.ndim
    axis = normalize_axis_index(axis, n)
    if start < 0:
        start += n
    if not 0 <= start <= n:
        raise Unsupported("an error that NumPy words")
    if axis < start:
        start -= 1
    order = [other for other in range(n) if other != axis]
    order.insert(start, axis)
    return a.transpose(order)


@native
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    return operand(a).swapaxes(axis1, axis2)


@direct
def squeeze(a: Any, axis: Any = None) -> Any:
    try:
        made = operand(a).squeeze() if axis is None else operand(a).squeeze(axis=axis)
        return made if made.ndim else _like(a, made)
    except TypeError:  # Unsupported, or an error that NumPy words
        pass
    return on_host(numpy.squeeze, "squeeze", (a, axis), {})


@native
def expand_dims(a: Any, axis: Any) -> Any:
    a = operand(a)
    if type(axis) is int:
        sizes = a.shape
        at = axis + len(sizes) + 1 if axis < 0 else axis
        if 0 <= at <= len(sizes):
            return a.reshape((*sizes[:at], 1, *sizes[at:]))
    axes = axis if type(axis) in (tuple, list) else (axis,)
    ndim = len(axes) + a.ndim
    axes = normalize_axis_tuple(axes, ndim)
    left = iter(a.shape)
    return a.reshape([1 if i in axes else next(left) for i in range(ndim)])


@native
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    if subok is not False:
        bool(subok)  # of an array it may be an error
    a = operand(array)
    shape = tuple(shape) if numpy.iterable(shape) else (shape,)
    try:
        return _core.broadcast_to(a, shape)
    except (TypeError, ValueError):
        raise Unsupported("an error that NumPy words") from None


@native
def broadcast_arrays(*args: Any, subok: bool = False) -> Any:
    arrays = [arg if type(arg) is ndarray else operand(arg) for arg in args]
    shapes = [a.shape for a in arrays]
    if shapes and shapes.count(shapes[0]) == len(shapes):
        return tuple(arrays)
    shape = numpy.broadcast_shapes(*shapes)
    return tuple(a if a.shape == shape else _core.broadcast_to(a, shape) for a in arrays)


@native
def broadcast_shapes(*args: Any) -> tuple[int, ...]:
    return numpy.broadcast_shapes(*args)


def _each(arys: tuple[Any, ...], widen: Any) -> Any:
    made = tuple(widen(operand(a)) for a in arys)
    return made[0] if len(made) == 1 else made


@direct
def atleast_1d(*arys: Any) -> Any:
    if len(arys) == 1 and type(arys[0]) is ndarray and arys[0].ndim:
        return arys[0]
    try:
        return _each(arys, lambda a: a if a.ndim else a.reshape(1))
    except Unsupported:
        pass
    return on_host(numpy.atleast_1d, "atleast_1d", arys, {})


@direct
def atleast_2d(*arys: Any) -> Any:
    if len(arys) == 1 and type(arys[0]) is ndarray and arys[0].ndim:
        return arys[0] if arys[0].ndim >= 2 else arys[0][None]
    try:
        return _each(arys, lambda a: a if a.ndim >= 2 else a[None] if a.ndim else a.reshape(1, 1))
    except Unsupported:
        pass
    return on_host(numpy.atleast_2d, "atleast_2d", arys, {})


@native
def atleast_3d(*arys: Any) -> Any:
    def widen(a: ndarray) -> Any:
        if a.ndim == 0:
            return a.reshape(1, 1, 1)
        return a[None, :, None] if a.ndim == 1 else a[:, :, None] if a.ndim == 2 else a

    return _each(arys, widen)


@direct
def flip(m: Any, axis: Any = None) -> Any:
    if axis is None and type(m) is ndarray and m.ndim == 1:
        return m[::-1]
    try:
        return _flipped(operand(m), axis)
    except Unsupported:
        pass
    return on_host(numpy.flip, "flip", (m, axis), {})


def _flipped(m: ndarray, axis: Any) -> Any:
    axes = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    return m[tuple(slice(None, None, -1) if i in axes else slice(None) for i in range(m.ndim))]


@native
def fliplr(m: Any) -> Any:
    m = operand(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


@native
def flipud(m: Any) -> Any:
    m = operand(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1, ...]


@native
def rot90(m: Any, k: int = 1, axes: Any = (0, 1)) -> Any:
    m = operand(m)
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    if axes[0] == axes[1] or abs(axes[0] - axes[1]) == m.ndim:
        raise ValueError("Axes must be different.")
    if not all(-m.ndim <= axis < m.ndim for axis in axes):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    k %= 4
    if k == 0:
        return m[:]
    if k == 2:
        return flip(flip(m, axes[0]), axes[1])
    order = list(range(m.ndim))
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    return flip(m, axes[1]).transpose(order) if k == 1 else flip(m.transpose(order), axes[1])


@native
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    a = operand(a)
    if axis is None:
        flat = a if a.ndim == 1 else a.ravel()
        made = _rolled(flat, shift) if type(shift) is int and a.size else roll(flat, shift, 0)
        return made if flat is a else made.reshape(a.shape)
    axes = normalize_axis_tuple(axis, a.ndim, allow_duplicate=True)
    if not axes:
        raise Unsupported("an error that NumPy words")
    shifts: dict[int, int] = {}
    pairs = numpy.broadcast(shift, axes)
    if pairs.ndim > 1:
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for by, at in pairs:
        shifts[int(at)] = shifts.get(int(at), 0) + int(by)
    # Each rolled axis falls in two runs; every combination of runs is one slice assignment.
    moves: list[tuple[list[slice], list[slice]]] = [([slice(None)] * a.ndim, [slice(None)] * a.ndim)]
    for at, by in shifts.items():
        size = a.shape[at]
        by = by % size if size else 0
        runs = [(slice(None, size - by), slice(by, None)), (slice(size - by, None), slice(None, by))][: 2 if by else 1]
        # The longer first: a short one alone would run at once, and make an array that may never be needed.
        runs.sort(key=lambda run: run[0].start is None and size - by < by)
        moves = [
            ([*src[:at], take, *src[at + 1 :]], [*dst[:at], put, *dst[at + 1 :]])
            for src, dst in moves
            for take, put in runs
        ]
    made = _core.empty_like(a)
    for src, dst in moves:
        made[tuple(dst)] = a[tuple(src)]
    return made


def _rolled(a: ndarray, shift: int) -> ndarray:
    """A line with its elements moved on by `shift` places, the last ones to the front."""
    size = a.size
    by = shift % size
    made = _core.empty_like(a)
    rest = size - by
    # The longer part first: a short one alone would run at once, and make an array that may never be needed.
    if rest >= by:
        made[by:] = a[:rest]
    if by:
        made[:by] = a[rest:]
    if rest < by:
        made[by:] = a[:rest]
    return made


@native
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    a = operand(a)
    if axis is None:
        a, axis = a.ravel(), 0
    if a.ndim == 0:
        a = a.reshape(1)
    axis = normalize_axis_index(axis_number(axis), a.ndim)
    counts = None if isinstance(repeats, int | numpy.integer) else operand(repeats)
    if counts is not None and not (numpy.can_cast(counts.dtype, numpy.int64, "safe") and counts.ndim <= 1):
        raise Unsupported("an error that NumPy words")
    if counts is not None and counts.size == 1:
        repeats, counts = int(counts.reshape(())), None
    if counts is None and repeats >= 0:
        wide = a.reshape(*a.shape[: axis + 1], 1, *a.shape[axis + 1 :])
        made = _core.empty((*a.shape[:axis], a.shape[axis] * int(repeats), *a.shape[axis + 1 :]), dtype=a.dtype)
        made.reshape(*a.shape[: axis + 1], int(repeats), *a.shape[axis + 1 :])[...] = wide
        return made
    if counts is None or counts.shape[0] != a.shape[axis]:
        raise Unsupported("an error that NumPy words")
    counts = counts.astype(numpy.int64, copy=False)
    least, total = counts.min(initial=0), counts.sum()
    if least < 0:
        raise Unsupported("an error that NumPy words")
    if a.ndim == 1:
        return _core.repeated(a, counts, int(total))
    return a.take(_core.repeated(arange(a.shape[axis]), counts, int(total)), axis=axis)


@native
def tile(A: Any, reps: Any) -> Any:
    try:
        counts = tuple(reps)
    except TypeError:
        counts = (reps,)
    if not {int}.issuperset(map(type, counts)):
        counts = tuple(int(count) if is_truth(count) else whole(count) for count in counts)
    a = operand(A)
    if all(count == 1 for count in counts) and a.ndim >= len(counts):
        return array(a, copy=True, ndmin=len(counts))
    ndim = max(a.ndim, len(counts))
    sizes = (1,) * (ndim - a.ndim) + a.shape
    counts = (1,) * (ndim - len(counts)) + counts
    if not a.size:  # a negative count of nothing is nothing
        return a.reshape([count * size for count, size in zip(counts, sizes)])
    wide = a.reshape([side for size in sizes for side in (1, size)])
    made = _core.empty([count * size for count, size in zip(counts, sizes)], dtype=a.dtype)
    made.reshape([side for count, size in zip(counts, sizes) for side in (count, size)])[...] = wide
    return made


@native
def resize(a: Any, new_shape: Any) -> Any:
    new_shape = (new_shape,) if isinstance(new_shape, int | numpy.integer) else new_shape
    if any(is_truth(n) for n in new_shape):
        raise Unsupported("an error that NumPy words")
    new_shape = tuple(operator.index(n) for n in new_shape)
    a = operand(a).ravel()
    size = math.prod(new_shape)
    if any(n < 0 for n in new_shape):
        raise ValueError("all elements of `new_shape` must be non-negative")
    if a.size == 0 or size == 0:
        made = _core.empty(new_shape, dtype=a.dtype)
        made[...] = 0
        return made
    times = -(-size // a.size)
    if times > sys.maxsize:
        raise OverflowError("cannot fit 'int' into an index-sized integer")
    return tile(a, times)[:size].reshape(new_shape)


@native
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    a = operand(ary)
    # Of a sequence NumPy asks the length, whatever the axis.
    total = a.shape[axis] if hasattr(ary, "shape") else len(ary)
    try:
        len(indices_or_sections)
    except TypeError:
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.") from None
        each, extra = divmod(total, sections)
        cuts = [i * each + min(i, extra) for i in range(sections + 1)]
    else:
        cuts = [0, *[whole(i) for i in indices_or_sections], total]
    front = (slice(None),) * normalize_axis_index(axis, a.ndim)
    return [a[(*front, slice(start, stop))] for start, stop in itertools.pairwise(cuts)]


@native
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> Any:
    a = operand(ary)
    try:
        len(indices_or_sections)
    except TypeError:
        if not hasattr(ary, "shape"):
            raise Unsupported("an error that NumPy words") from None
        if a.shape[axis] % indices_or_sections:
            raise ValueError("array split does not result in an equal division") from None
    return array_split(ary, indices_or_sections, axis)


def _split_along(ary: Any, indices_or_sections: Any, least: int, axis: int, name: str) -> Any:
    if operand(ary).ndim < least:
        raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
    return split(ary, indices_or_sections, axis)


@native
def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    if not hasattr(ary, "ndim"):
        raise Unsupported("an error that NumPy words")
    return _split_along(ary, indices_or_sections, 1, 1 if operand(ary).ndim > 1 else 0, "hsplit")


@native
def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split_along(ary, indices_or_sections, 2, 0, "vsplit")


@native
def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    return _split_along(ary, indices_or_sections, 3, 2, "dsplit")


@native
def unstack(x: Any, /, *, axis: int = 0) -> Any:
    if not hasattr(x, "ndim"):
        raise Unsupported("an error that NumPy words")
    x = operand(x)
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    return tuple(x if axis == 0 else moveaxis(x, axis, 0))


@native
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return operand(a).diagonal(offset=offset, axis1=axis1, axis2=axis2)


@direct
def ndim(a: Any) -> int:
    if type(a) is ndarray or (hasattr(a, "ndim") and not is_foreign(a)):
        return a.ndim
    return numpy.ndim(a)


@direct
def shape(a: Any) -> tuple[int, ...]:
    if type(a) is ndarray or (hasattr(a, "shape") and not is_foreign(a)):
        return a.shape
    return numpy.shape(a)


@direct
def size(a: Any, axis: Any = None) -> int:
    if axis is None and type(a) is ndarray:
        return a.size
    if is_foreign(a):
        return numpy.size(a, axis)
    a = a if hasattr(a, "shape") else numpy.asarray(a)
    axes: Sequence[int] = range(a.ndim) if axis is None else normalize_axis_tuple(axis, a.ndim)
    return math.prod(a.shape[i] for i in axes)
