"""What composed functions take in: array-likes become our arrays, or `Unsupported` sends the call to NumPy."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import _core
from ._core import Scalar, Unsupported, ndarray

__all__ = [
    "NoValue",
    "dtype_of",
    "holds",
    "is_array",
    "is_foreign",
    "normalize_axis_index",
    "normalize_axis_tuple",
    "operand",
    "result_dtype",
    "target",
]

NoValue: Any = numpy._NoValue


def is_array(x: Any) -> bool:
    """Whether `x` is one of our arrays or scalars, so that what is made of it may stay deferred."""
    return type(x) is Scalar or isinstance(x, ndarray)


def is_foreign(x: Any) -> bool:
    """Whether `x` is an array of another class, which may have functions of its own for NumPy's."""
    kind = type(x)
    if kind is ndarray or kind is numpy.ndarray:
        return False
    return hasattr(kind, "__array_function__") and not is_array(x)


def operand(x: Any) -> ndarray:
    """`x` as one of our arrays, as `asanyarray` would; NumPy's subclasses and foreign arrays are left to NumPy."""
    if isinstance(x, ndarray):
        return x
    if type(x) is not numpy.ndarray and type(x) is not Scalar and hasattr(type(x), "__array_function__"):
        raise Unsupported(f"arrays of type {type(x).__name__} are left to NumPy")
    return _core.asarray(x)


_HELD: dict[Any, numpy.dtype[Any]] = {float: numpy.dtype(numpy.float64), int: numpy.dtype(numpy.int64)}


def holds(a: ndarray, value: Any) -> bool:
    """Whether `value` is a number of Python's that an element of `a` holds as it is."""
    return _HELD.get(type(value)) is a.dtype and (type(value) is float or -(1 << 63) <= value < 1 << 63)


def target(out: Any) -> Any:
    """An `out=` argument: one of our arrays or None."""
    if out is None or isinstance(out, ndarray):
        return out
    raise Unsupported("the output is not an array of ours")


def dtype_of(x: Any) -> Any:
    """What stands for `x` in NumPy's type rules, without waiting for its value."""
    return x.dtype if is_array(x) else x


def result_dtype(*xs: Any) -> numpy.dtype[Any]:
    return numpy.result_type(*[dtype_of(x) for x in xs])
