"""What composed functions take in: array-likes become our arrays, or `Unsupported` sends the call to NumPy."""

from __future__ import annotations

import operator
from typing import Any

import numpy
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from . import _core
from ._core import Scalar, Unsupported, is_ours, ndarray

__all__ = [
    "AT_ONCE",
    "PYTHONS",
    "NoValue",
    "axis_number",
    "dtype_of",
    "holds",
    "is_array",
    "is_foreign",
    "is_truth",
    "normalize_axis_index",
    "normalize_axis_tuple",
    "of_type",
    "operand",
    "result_dtype",
    "settled",
    "target",
    "whole",
]

NoValue: Any = numpy._NoValue

PYTHONS = frozenset((int, float, complex))
"""Python's numbers, which take the type of what stands beside them."""


def is_array(x: Any) -> bool:
    """Whether `x` is one of our arrays or scalars, so that what is made of it may stay deferred."""
    return type(x) is Scalar or is_ours(x)


def is_foreign(x: Any) -> bool:
    """Whether `x` is an array of another class, which may have functions of its own for NumPy's."""
    kind = type(x)
    if kind is ndarray or kind is numpy.ndarray:
        return False
    return hasattr(kind, "__array_function__") and not is_array(x)


AT_ONCE = frozenset((list, tuple, float, int, bool))
"""What the core makes arrays of without a detour."""


def operand(x: Any) -> ndarray:
    """`x` as one of our arrays, as `asanyarray` would; NumPy's subclasses and foreign arrays are left to NumPy."""
    if is_ours(x):
        return x
    if type(x) in AT_ONCE:
        made = _core.from_items(x)
        if made is not None:
            return made
    if type(x) is not numpy.ndarray and type(x) is not Scalar and hasattr(type(x), "__array_function__"):
        raise Unsupported(f"arrays of type {type(x).__name__} are left to NumPy")
    try:
        return _core.asarray(x)
    except ValueError:
        raise Unsupported("a mixture that NumPy reads, or words the error of") from None


def of_type(values: Any, dtype: numpy.dtype[Any]) -> ndarray:
    """`values` as an array of a type. Arrays are cast, whatever that loses; numbers of Python's must be of the type."""
    if is_array(values):
        return operand(values).astype(dtype, copy=False)
    if is_foreign(values):
        raise Unsupported("an array of another class")
    try:
        return _core.asarray(values, dtype=dtype)
    except (OverflowError, TypeError, ValueError):
        raise Unsupported("an error that NumPy words") from None


def axis_number(axis: Any) -> int:
    """An axis as a number: here NumPy takes no truth value for one."""
    if is_truth(axis):
        raise TypeError("an integer is required for the axis")
    axis = operator.index(axis)
    if not -(1 << 63) <= axis < 1 << 63:
        raise OverflowError("Python int too large to convert to C long")
    if not -(1 << 31) <= axis < 1 << 31:
        raise ValueError("integer won't fit into a C int")
    return axis


def is_truth(x: Any) -> bool:
    """Whether `x` is a truth value: where NumPy counts, it does not take one for a number."""
    return isinstance(x, bool | numpy.bool)


def settled(x: Any) -> Any:
    """NumPy's scalar for one of ours, once its value is there; anything else as it is."""
    return _core.to_numpy(x)[()] if type(x) is Scalar else x


def whole(x: Any) -> int:
    """A count or a place as a number of Python's, whose differences have a sign; what is none is left to NumPy."""
    try:
        return operator.index(x)
    except TypeError:
        raise Unsupported("an error that NumPy words") from None


_HELD: dict[Any, numpy.dtype[Any]] = {float: numpy.dtype(numpy.float64), int: numpy.dtype(numpy.int64)}


def holds(a: ndarray, value: Any) -> bool:
    """Whether `value` is a number of Python's that an element of `a` holds as it is."""
    return _HELD.get(type(value)) is a.dtype and (type(value) is float or -(1 << 63) <= value < 1 << 63)


def target(out: Any) -> Any:
    """An `out=` argument: one of our arrays or None."""
    if out is None or is_ours(out):
        return out
    raise Unsupported("the output is not an array of ours")


def dtype_of(x: Any) -> Any:
    """What stands for `x` in NumPy's type rules, without waiting for its value."""
    return x.dtype if is_array(x) else x


def result_dtype(*xs: Any) -> numpy.dtype[Any]:
    return numpy.result_type(*[dtype_of(x) for x in xs])
