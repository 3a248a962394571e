"""Reductions and scans: NumPy's functions over the arrays' own methods."""

from __future__ import annotations

import math
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native
from ._operands import NoValue, is_truth, normalize_axis_index, normalize_axis_tuple, operand, target


def given(**kwargs: Any) -> dict[str, Any]:
    """The keywords that were passed."""
    return {key: value for key, value in kwargs.items() if value is not NoValue}


@native
def sum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NoValue,
    initial: Any = NoValue,
    where: Any = NoValue,
) -> Any:
    if axis is dtype is out is None and keepdims is initial is where is NoValue:
        return operand(a).sum()
    return operand(a).sum(
        axis=axis, dtype=dtype, out=target(out), **given(keepdims=keepdims, initial=initial, where=where)
    )


@native
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NoValue,
    initial: Any = NoValue,
    where: Any = NoValue,
) -> Any:
    return operand(a).prod(
        axis=axis, dtype=dtype, out=target(out), **given(keepdims=keepdims, initial=initial, where=where)
    )


@native
def max(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
) -> Any:
    return operand(a).max(axis=axis, out=target(out), **given(keepdims=keepdims, initial=initial, where=where))


@native
def amax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
) -> Any:
    return operand(a).max(axis=axis, out=target(out), **given(keepdims=keepdims, initial=initial, where=where))


@native
def min(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
) -> Any:
    return operand(a).min(axis=axis, out=target(out), **given(keepdims=keepdims, initial=initial, where=where))


@native
def amin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
) -> Any:
    return operand(a).min(axis=axis, out=target(out), **given(keepdims=keepdims, initial=initial, where=where))


@native
def any(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> Any:
    return operand(a).any(axis=axis, out=target(out), **given(keepdims=keepdims, where=where))


@native
def all(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue) -> Any:
    return operand(a).all(axis=axis, out=target(out), **given(keepdims=keepdims, where=where))


def _whole_or_axis(a: ndarray, axis: Any, where: Any) -> ndarray:
    """The array, unless it has no axes and a mask: NumPy knows what an axis of it is then."""
    if where is not NoValue and axis is not None and a.ndim == 0:
        raise Unsupported("an axis of a number")
    return a


@native
def mean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue
) -> Any:
    a = _whole_or_axis(operand(a), axis, where)
    return a.mean(axis=axis, dtype=dtype, out=target(out), **given(keepdims=keepdims, where=where))


@native
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NoValue,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if ddof is None:
        raise Unsupported("an error that NumPy words")
    a = _whole_or_axis(operand(a), axis, where)
    chosen = given(keepdims=keepdims, where=where, mean=mean)
    return a.var(axis=axis, dtype=dtype, out=target(out), ddof=ddof, **chosen)


@native
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = NoValue,
    *,
    where: Any = NoValue,
    mean: Any = NoValue,
    correction: Any = NoValue,
) -> Any:
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if ddof is None:
        raise Unsupported("an error that NumPy words")
    a = _whole_or_axis(operand(a), axis, where)
    chosen = given(keepdims=keepdims, where=where, mean=mean)
    return a.std(axis=axis, dtype=dtype, out=target(out), ddof=ddof, **chosen)


@native
def ptp(a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue) -> Any:
    a = operand(a)
    if axis is out is None and (keepdims is NoValue or keepdims is False):
        return _core.subtract(a.max(), a.min())
    kept = given(keepdims=keepdims)
    if out is None:
        return _core.subtract(a.max(axis=axis, **kept), a.min(axis=axis, **kept))
    # The maximum goes there, too, as in NumPy: its shape and type are what they are checked against.
    return _core.subtract(a.max(axis=axis, out=target(out), **kept), a.min(axis=axis, **kept), out=out)


@native
def argmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NoValue) -> Any:
    if out is None and keepdims is NoValue:
        return operand(a).argmax() if axis is None else operand(a).argmax(axis)
    return operand(a).argmax(axis=axis, out=target(out), **given(keepdims=keepdims))


@native
def argmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NoValue) -> Any:
    if out is None and keepdims is NoValue:
        return operand(a).argmin() if axis is None else operand(a).argmin(axis)
    return operand(a).argmin(axis=axis, out=target(out), **given(keepdims=keepdims))


@native
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    a = operand(a)
    truth = a.astype(bool, copy=False)
    # Of all elements NumPy asks only whether `keepdims` is true.
    return truth.sum(axis=axis, dtype=numpy.intp, keepdims=keepdims if axis is not None or keepdims else False)


@native
def cumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return operand(a).cumsum(axis=axis, dtype=dtype, out=target(out))


@native
def cumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return operand(a).cumprod(axis=axis, dtype=dtype, out=target(out))


def _cumulative(x: Any, scan: str, axis: Any, dtype: Any, out: Any, initial: int | None) -> Any:
    x = operand(x)
    if x.ndim == 0:
        x = x.reshape(1)
    if axis is None:
        if x.ndim > 1:
            raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
        axis = 0
    if out is not None or isinstance(axis, tuple) or is_truth(axis):
        raise Unsupported("an output of one element more, or an axis that NumPy reads")
    made = getattr(x, scan)(axis=axis, dtype=dtype)
    if initial is None:
        return made
    axis = normalize_axis_index(axis, x.ndim)
    wide = _core.empty_like(x, dtype=made.dtype, shape=[n + (i == axis) for i, n in enumerate(made.shape)])
    front = (slice(None),) * axis
    wide[(*front, slice(None, 1))] = initial
    wide[(*front, slice(1, None))] = made
    return wide


@native
def cumulative_sum(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    return _cumulative(x, "cumsum", axis, dtype, out, 0 if include_initial else None)


@native
def cumulative_prod(
    x: Any, /, *, axis: Any = None, dtype: Any = None, out: Any = None, include_initial: bool = False
) -> Any:
    return _cumulative(x, "cumprod", axis, dtype, out, 1 if include_initial else None)


@native
def average(a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *, keepdims: Any = NoValue) -> Any:
    a, kept = operand(a), given(keepdims=keepdims)
    if axis is not None:
        axis = normalize_axis_tuple(axis, a.ndim, argname="axis")
    if weights is None:
        avg = a.mean(axis=axis, **kept)
        total: Any = avg.dtype.type(a.size / math.prod(avg.shape))
    else:
        w = operand(weights)
        if w.shape != a.shape:
            if axis is None or w.ndim != 1 or len(axis) != 1 or w.shape[0] != a.shape[axis[0]]:
                raise Unsupported("weights over several axes, or an error that NumPy words")
            w = w.reshape([-1 if i == axis[0] else 1 for i in range(a.ndim)])
        kind = numpy.result_type(a.dtype, w.dtype, *(["f8"] if a.dtype.kind in "iub" else []))
        total = w.sum(axis=axis, dtype=kind, **kept)
        if (total == 0.0).any():
            raise ZeroDivisionError("Weights sum to zero, can't be normalized")
        avg = _core.multiply(a, w, dtype=kind).sum(axis=axis, **kept) / total
    if not returned:
        return avg
    if total.shape != avg.shape:
        total = _core.broadcast_to(_core.asarray(total), avg.shape).copy()
    return avg, total


@native
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    try:
        diagonal = operand(a).diagonal(offset, axis1, axis2)
    except (OverflowError, TypeError):
        raise Unsupported("an error that NumPy words") from None
    return diagonal.sum(axis=-1, dtype=dtype, out=target(out))
