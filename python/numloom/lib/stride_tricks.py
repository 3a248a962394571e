"""Views by strides. A view must lie inside its array: `as_strided` raises where NumPy would read foreign memory."""

from __future__ import annotations

import math
from typing import Any

import numpy.lib.stride_tricks

from numloom import _core
from numloom._core import Unsupported
from numloom._fallback import native_in
from numloom._operands import normalize_axis_tuple, operand

native = native_in("lib.stride_tricks.", numpy.lib.stride_tricks)

__all__ = ["as_strided", "sliding_window_view"]


@native
def as_strided(x: Any, shape: Any = None, strides: Any = None, subok: bool = False, writeable: bool = True) -> Any:
    x = operand(x)
    shape = x.shape if shape is None else tuple(shape) if numpy.iterable(shape) else (shape,)
    if strides is None:
        # Those of an array without gaps are not said anywhere, so that the new shape has none either.
        steps = [x.itemsize * math.prod(shape[i + 1 :]) for i in range(len(shape))]
        strides = steps if x.flags.c_contiguous else x.strides
    made = _core.strided_view(x, shape, strides)
    if not writeable:
        made.flags.writeable = False
    return made


@native
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    x = operand(x)
    windows = tuple(window_shape) if numpy.iterable(window_shape) else (window_shape,)
    if any(w < 0 for w in windows):
        raise ValueError("`window_shape` cannot contain negative values")
    axes = tuple(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim, allow_duplicate=True)
    if len(windows) != len(axes):
        raise Unsupported("an error that NumPy words")
    places = list(x.shape)
    for at, window in zip(axes, windows):
        if places[at] < window:
            raise ValueError("window shape cannot be larger than input array shape")
        places[at] -= window - 1
    return as_strided(x, (*places, *windows), x.strides + tuple(x.strides[at] for at in axes), writeable=writeable)
