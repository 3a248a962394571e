"""Shuffles and permutations: an order of places is drawn, and the elements follow it."""

from __future__ import annotations

from typing import Any

import numpy

from numloom._core import (
    Unsupported,
    adopt_numpy,
    draw_orders,
    is_ours,
    ndarray,
    shuffle_in_place,
)
from numloom._creation import array, asarray
from numloom._indexing import take, take_along_axis
from numloom._shape import moveaxis, swapaxes


def order(stream: Any, n: int) -> Any:
    """The numbers below `n` in random order."""
    return draw_orders(stream, n, 1).reshape(n) if n > 0 else adopt_numpy(numpy.arange(0))


def _axis(axis: Any, ndim: int) -> int:
    if not isinstance(axis, int | numpy.integer) or not -ndim <= axis < ndim:
        raise Unsupported("axis")
    return int(axis) % ndim


def _is_line(x: Any, axis: Any) -> bool:
    return type(x) is ndarray and x.ndim == 1 and axis == 0 and x.size > 0


def shuffle(stream: Any, x: Any, axis: int = 0) -> None:
    if _is_line(x, axis):
        shuffle_in_place(stream, x)
        return
    if not is_ours(x) or x.ndim == 0 or not x.flags.writeable:
        raise Unsupported("shuffle")
    axis = _axis(axis, x.ndim)
    if x.size == 0:
        return
    if x.ndim == 1:
        shuffle_in_place(stream, x)
    else:
        x[...] = take(x, order(stream, x.shape[axis]), axis=axis)


def permutation(stream: Any, x: Any, axis: int = 0) -> Any:
    if _is_line(x, axis):
        copy = x.copy()
        shuffle_in_place(stream, copy)
        return copy
    if isinstance(x, int | numpy.integer) and not isinstance(x, bool):
        if x < 0 or isinstance(x, numpy.integer) or x >= 1 << 62:
            raise Unsupported("arange decides the dtype, or an error that NumPy words")
        return order(stream, x)
    x = asarray(x)
    if not is_ours(x) or x.ndim == 0:
        raise Unsupported("permutation")
    axis = _axis(axis, x.ndim)
    if x.ndim == 1:
        copy = array(x)
        if copy.size:
            shuffle_in_place(stream, copy)
        return copy
    # As NumPy does it, which the order of the result in memory shows.
    return swapaxes(swapaxes(x, 0, axis)[order(stream, x.shape[axis])], 0, axis)


def permuted(stream: Any, x: Any, axis: Any = None) -> Any:
    """Every lane along the axis in an order of its own; without an axis, all elements in one."""
    x = asarray(x)
    if not is_ours(x) or x.ndim == 0 or not x.flags.c_contiguous:
        raise Unsupported("the order in memory decides")
    if axis is None:
        flat = array(x).reshape(-1)
        if flat.size:
            shuffle_in_place(stream, flat)
        return flat.reshape(x.shape)
    axis = _axis(axis, x.ndim)
    if x.size == 0:
        return array(x)
    lanes = x.shape[:axis] + x.shape[axis + 1 :]
    orders = draw_orders(stream, x.shape[axis], x.size // x.shape[axis]).reshape(*lanes, x.shape[axis])
    made = take_along_axis(x, moveaxis(orders, -1, axis), axis)
    return made if made.flags.c_contiguous else array(made, order="C")
