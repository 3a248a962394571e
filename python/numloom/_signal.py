"""Sequences against each other: convolution, correlation, interpolation; Bessel's function and its window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy
from numpy.lib import _function_base_impl

from . import _core
from ._core import Unsupported, ndarray
from ._creation import arange, array, ones, zeros
from ._fallback import native
from ._joining import concatenate
from ._operands import operand
from ._sorting import argsort, searchsorted

_numpy_function_base: Any = _function_base_impl
# So many shifted products are added up in one kernel; beyond, a product with overlapping windows is faster.
_FEW_TAPS = 12


@native
def correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    a, v = operand(a), operand(v)
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise Unsupported("an error that NumPy words")
    v = v.conj()
    if a.shape[0] < v.shape[0]:
        return _slid(v, a, mode)[::-1].copy()
    return _slid(a, v, mode)


@native
def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    a, v = (x.reshape(1) if x.ndim == 0 else x for x in (operand(a), operand(v)))
    if a.ndim != 1 or v.ndim != 1 or not a.size or not v.size:
        raise Unsupported("an error that NumPy words")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    return _slid(a, v[::-1], mode)


def _slid(a: ndarray, taps: ndarray, mode: str) -> ndarray:
    """The sum of `a[i + j] * taps[j]` over j, for the places i that `mode` asks for; `taps` is not the longer one."""
    n, m = a.shape[0], taps.shape[0]
    before = {"valid": 0, "same": m // 2, "full": m - 1}.get(mode)
    if before is None:
        raise Unsupported("a mode that NumPy reads, or words the error of")
    after = {"valid": 0, "same": (m - 1) // 2, "full": m - 1}[mode]
    kind = numpy.promote_types(a.dtype, taps.dtype)
    # Sums of halves are made in single precision, as NumPy's are.
    working = numpy.dtype(numpy.float32) if kind == numpy.float16 else kind
    a, taps = a.astype(working, copy=False), taps.astype(working, copy=False)
    few = _core.short_ways["correlate"](a, taps, mode)
    if few is not None:
        with numpy.errstate(all="ignore"):
            return few.astype(kind, copy=False)
    made = _core.empty(before + n - m + 1 + after, dtype=working)
    # NumPy warns of nothing that its sums of products meet.
    with numpy.errstate(all="ignore"):
        _slide(made, a, taps, before, after)
        return made.astype(kind, copy=False)


def _slide(made: ndarray, a: ndarray, taps: ndarray, before: int, after: int) -> None:
    n, m = a.shape[0], taps.shape[0]
    inner = made[before : before + n - m + 1]
    if m <= _FEW_TAPS:
        total: Any = a[: n - m + 1] * taps[:1]
        for j in range(1, m):
            total = total + a[j : j + n - m + 1] * taps[j : j + 1]
        inner[...] = total
        _add_ends(made, a, taps, before, after)
    else:
        if a.dtype.kind in "fc" and (before or after) and not _core.isfinite(taps).all():
            raise Unsupported("zeros beyond the ends would become NaN")
        _multiply_windows(a, taps, inner)
        if before:
            _multiply_windows(concatenate((zeros(before, a.dtype), a[: m - 1])), taps, made[:before])
        if after:
            _multiply_windows(concatenate((a[n - m + 1 :], zeros(after, a.dtype))), taps, made[-after:])


def _multiply_windows(a: ndarray, taps: ndarray, into: ndarray) -> None:
    a = a if a.flags.c_contiguous else a.copy()
    step = a.itemsize
    _core.matmul(_core.strided_view(a, (into.shape[0], taps.shape[0]), (step, step)), taps, out=into)


def _add_ends(made: ndarray, a: ndarray, taps: ndarray, before: int, after: int) -> None:
    """The places where not all taps meet an element. What is not there is left out, not made zero."""
    n, m = a.shape[0], taps.shape[0]
    if not before and not after:
        return
    few = _core.short_ways["convolve"]
    front, back = few(a[: m - 1], taps[::-1]), few(a[n - m + 1 :], taps[::-1])
    if front is not None and back is not None:
        made[:before] = front[m - 1 - before : m - 1]
        made[before + n - m + 1 :] = back[m - 1 : m - 1 + after]
        return
    if before:
        made[:before] = 0
    if after:
        made[-after:] = 0
    for j in range(m):
        first = max(before - j, 0)
        if first < before:
            left = made[first:before]
            left += a[first + j - before : j] * taps[j : j + 1]
        start, end = before + n - m + 1, min(made.shape[0], n + before - j)
        if start < end:
            right = made[start:end]
            right += a[start + j - before : end + j - before] * taps[j : j + 1]


@native
def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    at, xp, fp = operand(x), operand(xp), operand(fp)
    if any(a.dtype.kind not in "biuf" for a in (at, xp)) or fp.dtype.kind not in "biufc":
        raise Unsupported("an error that NumPy words")
    at, xp = at.astype(numpy.float64, copy=False), xp.astype(numpy.float64, copy=False)
    if fp.dtype.kind != "c" and any(numpy.iscomplexobj(edge) for edge in (left, right)):
        raise Unsupported("an error that NumPy words")
    fp = fp.astype(numpy.complex128 if fp.dtype.kind == "c" else numpy.float64, copy=False)
    if xp.ndim != 1 or fp.ndim != 1 or xp.shape != fp.shape or xp.size == 0 or period == 0:
        raise Unsupported("an error that NumPy words")
    if period is None and fp.dtype.kind != "c":
        made = _core.short_ways["interp"](at, xp, fp, left, right)
        if made is not None:
            return made
    if period is not None:
        period = abs(period)
        left = right = None
        at, xp = at % period, xp % period
        order = argsort(xp)
        xp, fp = xp[order], fp[order]
        xp = concatenate((xp[-1:] - period, xp, xp[:1] + period))
        fp = concatenate((fp[-1:], fp, fp[:1]))
    if fp.dtype.kind != "c" and all(edge is None or type(edge) in (int, float) for edge in (left, right)):
        made = _core.interpolated(operand(at), xp, fp, left, right)
        if made is not None:
            return made[()] if at.ndim == 0 else made
    edges = [fp[0] if left is None else left, fp[-1] if right is None else right]
    with numpy.errstate(all="ignore"):
        if fp.dtype.kind == "c":
            # Each part by itself: an infinity in one must not reach the other.
            made = _core.empty(at.shape, dtype=fp.dtype)
            made.real = _between(at, xp, fp.real, *[edge.real for edge in edges])
            imaginary = _between(at, xp, fp.imag, *[edge.imag for edge in edges])
            made.imag = _core.where(_core.isnan(at), 0.0, imaginary)
        else:
            made = _between(at, xp, fp, *edges)
    return made[()] if at.ndim == 0 else made


def _between(x: ndarray, xp: ndarray, fp: ndarray, left: Any, right: Any) -> ndarray:
    n = xp.shape[0]
    after = searchsorted(xp, x, side="right")
    low = _core.clip(after - 1, 0, max(n - 2, 0))
    x0, f0 = xp.take(low), fp.take(low)
    made = f0
    if n > 1:
        x1, f1 = xp.take(low + 1), fp.take(low + 1)
        slope = (f1 - f0) / (x1 - x0)
        made = slope * (x - x0) + f0
        # Around an infinite slope or bound the other end may still be a number.
        other = slope * (x - x1) + f1
        other = _core.where(_core.isnan(other) & (f0 == f1), f0, other)
        made = _core.where(_core.isnan(made), other, made)
        made = _core.where(x0 == x, f0, made)
        made = _core.where(x == xp[-1], fp[-1], made)
    made = _core.where(x < xp[0], left, made)
    made = _core.where(x > xp[-1], right, made)
    if n > 1:
        made = _core.where(_core.isnan(x), x, made)
    return made.astype(fp.dtype, copy=False)


def _chebyshev(x: ndarray, coefficients: Sequence[float]) -> ndarray:
    b0: Any = coefficients[0]
    b1: Any = 0.0
    b2: Any = 0.0
    for c in coefficients[1:]:
        b0, b1, b2 = x * b0 - b1 + c, b0, b1
    return 0.5 * (b0 - b2)


@native
def i0(x: Any) -> Any:
    x = operand(x)
    if x.dtype.kind == "c":
        raise TypeError("i0 not supported for complex values")
    x = _core.absolute(x if x.dtype.kind == "f" else x.astype(float))
    # Each series gets what it is for, so that neither overflows; a NaN goes through both.
    near, far = _core.minimum(x, 8.0), _core.maximum(x, 8.0)
    small = _core.exp(near) * _chebyshev(near / 2.0 - 2.0, _numpy_function_base._i0A)
    large = _core.exp(far) * _chebyshev(32.0 / far - 2.0, _numpy_function_base._i0B) / _core.sqrt(far)
    return _core.where(x <= 8.0, small, large)


@native
def kaiser(M: Any, beta: Any) -> Any:
    if not all(isinstance(value, int | float | numpy.integer | numpy.floating) for value in (M, beta)):
        raise Unsupported("a size or shape that NumPy reads")
    values = numpy.array([0.0, M, beta])
    if values.dtype != numpy.float64:
        raise Unsupported("a type that only NumPy has")
    size, beta = float(values[1]), float(values[2])
    if size == 1:
        return ones(1, dtype=values.dtype)
    middle = (size - 1) / 2.0
    places = (arange(0, size) - middle) / middle if middle else zeros(0)
    return i0(beta * _core.sqrt(1 - places**2.0)) / i0(array([beta]))
