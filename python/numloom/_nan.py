"""Reductions that pass over NaN."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, is_ours, ndarray
from ._fallback import native
from ._operands import NoValue, operand, target
from ._reductions import given
from ._reductions import mean as _mean
from ._reductions import var as _var


def _replaced(a: Any, value: Any) -> tuple[ndarray, ndarray | None]:
    """The array with `value` for NaN, and where NaN was; no mask for types without NaN."""
    a = operand(a)
    if a.dtype.kind not in "fc":
        return a, None
    mask = _core.isnan(a)
    return operand(_core.where(mask, a.dtype.type(value), a)), operand(mask)


_FEW = 4096
"""So many elements are looked through for NaN sooner than it is replaced."""


def _is_whole(a: Any) -> bool:
    """Whether there are a few numbers at hand, and no NaN among them."""
    if type(a) is not ndarray or not 0 < a.size <= _FEW or a.dtype.char not in "fd":
        return False
    found = _core.isnan(a).any()
    return type(found) is not Scalar and not found


def _check_inexact(dtype: Any, out: Any) -> None:
    if dtype is not None and numpy.dtype(dtype).kind not in "fc":
        raise TypeError("If a is inexact, then dtype must be inexact")
    if out is not None and out.dtype.kind not in "fc":
        raise TypeError("If a is inexact, then out must be inexact")


@native
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NoValue,
    initial: Any = NoValue,
    where: Any = NoValue,
) -> Any:
    if axis is dtype is out is None and keepdims is initial is where is NoValue and _is_whole(a):
        return a.sum()
    chosen = given(keepdims=keepdims, initial=initial, where=where)
    return _replaced(a, 0)[0].sum(axis=axis, dtype=dtype, out=target(out), **chosen)


@native
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = NoValue,
    initial: Any = NoValue,
    where: Any = NoValue,
) -> Any:
    chosen = given(keepdims=keepdims, initial=initial, where=where)
    return _replaced(a, 1)[0].prod(axis=axis, dtype=dtype, out=target(out), **chosen)


@native
def nancumsum(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _replaced(a, 0)[0].cumsum(axis=axis, dtype=dtype, out=target(out))


@native
def nancumprod(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
    return _replaced(a, 1)[0].cumprod(axis=axis, dtype=dtype, out=target(out))


def _extreme(a: Any, reduce: Any, axis: Any, out: Any, chosen: dict[str, Any]) -> Any:
    source, a = a, operand(a)
    if chosen and chosen.keys() != {"keepdims"} and not isinstance(source, ndarray | numpy.ndarray):
        raise Unsupported("what NumPy fills in for NaN where no array is given")
    if source is not a and not a.size:
        raise Unsupported("words about nothing that depend on where it is")
    if out is None and not chosen:
        made = reduce(a, axis)
        if isinstance(made, numpy.floating) and made == made:
            return made
    else:
        made = reduce(a, axis=axis, out=target(out), **chosen)
    # The warning needs the values, so this is a sync point.
    if a.dtype.kind in "fc" and _core.isnan(made).any():
        what = "slice" if isinstance(source, ndarray | numpy.ndarray) else "axis"
        warnings.warn(f"All-NaN {what} encountered", RuntimeWarning, stacklevel=4)
    return made


@native
def nanmin(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
) -> Any:
    return _extreme(a, _core.fmin.reduce, axis, out, given(keepdims=keepdims, initial=initial, where=where))


@native
def nanmax(
    a: Any, axis: Any = None, out: Any = None, keepdims: Any = NoValue, initial: Any = NoValue, where: Any = NoValue
) -> Any:
    return _extreme(a, _core.fmax.reduce, axis, out, given(keepdims=keepdims, initial=initial, where=where))


def _nan_argument(a: Any, name: str, filler: float, axis: Any, out: Any, keepdims: Any) -> Any:
    a, mask = _replaced(a, filler)
    if mask is not None and mask.size and mask.all(axis=axis).any():
        raise ValueError("All-NaN slice encountered")
    return getattr(a, name)(axis=axis, out=target(out), **given(keepdims=keepdims))


@native
def nanargmin(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NoValue) -> Any:
    return _nan_argument(a, "argmin", numpy.inf, axis, out, keepdims)


@native
def nanargmax(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NoValue) -> Any:
    return _nan_argument(a, "argmax", -numpy.inf, axis, out, keepdims)


@native
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: Any = NoValue, *, where: Any = NoValue
) -> Any:
    if axis is dtype is out is None and keepdims is where is NoValue and _is_whole(a):
        return a.mean()
    x, mask = _replaced(a, 0)
    if mask is None:
        return _mean(x, axis, dtype, out, keepdims, where=where)
    _check_inexact(dtype, out)
    chosen = given(keepdims=keepdims, where=where)
    count = (~mask).sum(axis=axis, dtype=numpy.intp, **chosen)
    total = x.sum(axis=axis, dtype=dtype, out=target(out), **chosen)
    made = _divided(total, count, out)
    if (count == 0).any():
        warnings.warn("Mean of empty slice", RuntimeWarning, stacklevel=3)
    return made


def _divided(total: Any, count: Any, out: Any = None) -> Any:
    with numpy.errstate(invalid="ignore", divide="ignore"):
        if out is not None:
            return _core.divide(total, count, out=out, casting="unsafe")
        if is_ours(total):
            return _core.divide(total, count, out=total, casting="unsafe")
        # As wide as the count, which a half float does not hold.
        return _core.divide(total, count).astype(total.dtype, copy=False)


@native
def nanvar(
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
    x, mask = _replaced(a, 0)
    if mask is None:
        return _var(x, axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    _check_inexact(dtype, out)
    if where is not NoValue:
        raise Unsupported("a second mask")
    if correction is not NoValue:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    count = (~mask).sum(axis=axis, dtype=numpy.intp, keepdims=True)
    if mean is NoValue:
        mean = _divided(x.sum(axis=axis, dtype=dtype, keepdims=True), count)
    deviation = _core.where(mask, 0, _core.subtract(x, mean)).astype(x.dtype, copy=False)
    square = (deviation * deviation.conj()).real if x.dtype.kind == "c" else deviation * deviation
    chosen = given(keepdims=keepdims)
    made = square.sum(axis=axis, dtype=dtype, out=target(out), **chosen)
    freedom = (~mask).sum(axis=axis, dtype=numpy.intp, **chosen) - ddof
    made = _divided(made, freedom, out)
    bad = freedom <= 0
    if bad.any():
        warnings.warn("Degrees of freedom <= 0 for slice.", RuntimeWarning, stacklevel=3)
        if not is_ours(made):
            return made.dtype.type(numpy.nan)
        _core.copyto(made, numpy.nan, where=bad, casting="unsafe")
    return made


@native
def nanstd(
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
    made = nanvar(operand(a), axis, dtype, out, ddof, keepdims, where=where, mean=mean, correction=correction)
    if is_ours(made):
        return _core.sqrt(made, out=made)
    root = _core.sqrt(made)
    # A number stays of the type that was asked for.
    return root if root.dtype == made.dtype else made.dtype.type(root)
