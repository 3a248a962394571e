"""Polynomials as sequences of coefficients, the highest first. The class `poly1d` calls these (`_poly1d`)."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, ndarray
from ._creation import arange, array, diag, ones, vander, zeros, zeros_like
from ._fallback import native
from ._joining import concatenate
from ._logic import allclose
from ._operands import operand
from ._signal import convolve
from ._sorting import sort


def _coefficients(p: Any) -> ndarray:
    return operand(p.coeffs if isinstance(p, numpy.poly1d) else p)


def _line(p: Any) -> ndarray:
    p = _coefficients(p)
    return p.reshape(1) if p.ndim == 0 else p


def _sequence(p: Any) -> ndarray:
    p = _coefficients(p)
    if p.ndim == 0:
        raise Unsupported("an error that NumPy words")
    return p


def _like(given: tuple[Any, ...], made: Any) -> Any:
    """A polynomial where one was given."""
    if not any(isinstance(p, numpy.poly1d) for p in given):
        return made
    from ._poly1d import poly1d

    return poly1d(made)


@native
def polyval(p: Any, x: Any) -> Any:
    made = _number(p, x)
    if made is not None:
        return made
    coefficients = _sequence(p)
    if isinstance(x, numpy.poly1d):
        y: Any = 0
    else:
        x = operand(x)
        y = zeros_like(x)
    for i in range(coefficients.shape[0]):
        y = y * x + coefficients[i]
    return y


_FEW = 4096
"""So many coefficients are read as numbers of Python's."""


def _number(p: Any, x: Any) -> Any:
    """The value at a number of Python's of coefficients at hand, in Python's floats; None if NumPy may warn."""
    if type(p) is not ndarray or p.ndim != 1 or p.dtype.char != "d" or not 0 < p.size <= _FEW:
        return None
    if type(p[0]) is Scalar or not (type(x) is float or (type(x) is int and abs(x) <= 1 << 53)):
        return None
    y: Any = 0.0 if type(x) is float else 0
    for c in p.tolist():
        y = y * x + c
    # What is finite at last was so all along.
    return numpy.float64(y) if math.isfinite(y) and numpy.geterr()["under"] == "ignore" else None


def _sum(a1: Any, a2: Any, subtract: bool) -> Any:
    left, right = _line(a1), _line(a2)
    short = left.shape[0] - right.shape[0]
    if short < 0:
        left = concatenate((zeros(-short, left.dtype), left))
    elif short > 0:
        right = concatenate((zeros(short, right.dtype), right))
    return _like((a1, a2), left - right if subtract else left + right)


@native
def polyadd(a1: Any, a2: Any) -> Any:
    return _sum(a1, a2, False)


@native
def polysub(a1: Any, a2: Any) -> Any:
    return _sum(a1, a2, True)


@native
def polymul(a1: Any, a2: Any) -> Any:
    left, right = _trimmed(a1), _trimmed(a2)
    return _like((a1, a2), convolve(left, right))


def _trimmed(p: Any) -> ndarray:
    """The coefficients without zeros in front."""
    from ._poly1d import poly1d

    return operand(poly1d(_line(p)).coeffs)


@native
def polydiv(u: Any, v: Any) -> Any:
    given = (u, v)
    u, v = _line(u) + 0.0, _line(v) + 0.0
    if u.ndim != 1 or v.ndim != 1 or not u.size or not v.size:
        raise Unsupported("an error that NumPy words")
    kind = numpy.promote_types(u.dtype, v.dtype)
    steps = u.shape[0] - v.shape[0] + 1
    scale = 1.0 / v[0]
    quotient = zeros(max(steps, 1), kind)
    rest = u.astype(kind)
    for k in range(steps):
        d = scale * rest[k]
        quotient[k] = d
        rest[k : k + v.shape[0]] -= d * v
    # How long the remainder is depends on its values, as NumPy's does.
    while rest.shape[0] > 1 and allclose(rest[0], 0, rtol=1e-14):
        rest = rest[1:]
    return _like(given, quotient), _like(given, rest)


@native
def polyder(p: Any, m: int = 1) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    y = _sequence(p)
    if y.ndim != 1 and m:
        raise Unsupported("an error that NumPy words")
    for _ in range(m):
        y = y[:-1] * arange(y.shape[0] - 1, 0, -1)
    return _like((p,), y)


@native
def polyint(p: Any, m: int = 1, k: Any = None) -> Any:
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    constants = zeros(m, float) if k is None else _line(k)
    if constants.shape[0] == 1 and m > 1:
        constants = constants[0] * ones(m, float)
    if constants.shape[0] < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    y = _coefficients(p)
    if y.ndim != 1 and m:
        raise Unsupported("an error that NumPy words")
    for i in range(m):
        y = concatenate((y / arange(y.shape[0], 0, -1), constants[i : i + 1]))
    return _like((p,), y)


@native
def poly(seq_of_zeros: Any) -> Any:
    places = _sequence(seq_of_zeros)
    if places.ndim == 2 and places.shape[0] == places.shape[1] != 0:
        from .linalg import eigvals

        places = eigvals(places)
    elif places.ndim == 1:
        places = places.astype(numpy.mintypecode(places.dtype.char), copy=False)
    else:
        raise ValueError("input must be 1d or non-empty square 2d array.")
    if places.shape[0] == 0:
        return 1.0
    made = ones(1, dtype=places.dtype)
    for i in range(places.shape[0]):
        factor = ones(2, dtype=places.dtype)
        factor[1] = -places[i]
        made = convolve(made, factor)
    if made.dtype.kind == "c" and (sort(places) == sort(places.conj())).all():
        # Zeros in conjugate pairs: the coefficients are real.
        made = made.real.copy()
    return made


@native
def roots(p: Any) -> Any:
    p = _sequence(p)
    if p.ndim != 1:
        raise ValueError("Input must be a rank-1 array.")
    present = p.nonzero()[0]
    if present.shape[0] == 0:
        return array([])
    first, last = int(present[0]), int(present[-1])
    zeros_at_origin = p.shape[0] - last - 1
    p = p[first : last + 1]
    if p.dtype.kind not in "fc":
        p = p.astype(float)
    found = array([])
    if p.shape[0] > 1:
        from .linalg import eigvals

        companion = diag(ones(p.shape[0] - 2, dtype=p.dtype), -1)
        companion[0, :] = -p[1:] / p[0]
        found = eigvals(companion)
        if found.dtype.kind == "c" and p.dtype.kind != "c" and (found.imag == 0.0).all():
            # Roots are real numbers where they can be, even if eigenvalues are not.
            found = found.real.copy()
    return concatenate((found, zeros(zeros_at_origin, found.dtype)))


@native
def polyfit(x: Any, y: Any, deg: int, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Any:
    from .linalg import inv, lstsq

    order = int(deg) + 1
    x, y = operand(x) + 0.0, operand(y) + 0.0
    if deg < 0:
        raise ValueError("expected deg >= 0")
    for wrong, message in (
        (x.ndim != 1, "expected 1D vector for x"),
        (x.size == 0, "expected non-empty vector for x"),
        (y.ndim not in (1, 2), "expected 1D or 2D array for y"),
    ):
        if wrong:
            raise TypeError(message)
    if x.shape[0] != y.shape[0]:
        raise TypeError("expected x and y to have same length")
    if rcond is None:
        rcond = x.shape[0] * numpy.finfo(x.dtype).eps
    left, right = vander(x, order), y
    if w is not None:
        w = operand(w) + 0.0
        if w.ndim != 1:
            raise TypeError("expected a 1-d array for weights")
        if w.shape[0] != y.shape[0]:
            raise TypeError("expected w and y to have the same length")
        left *= w[:, None]
        right *= w if right.ndim == 1 else w[:, None]
    # Columns of length one make the matrix better conditioned.
    scale = _core.sqrt((left * left).sum(axis=0))
    left /= scale
    found, residuals, rank, singular = lstsq(left, right, rcond)
    found = (found.T / scale).T
    if rank != order and not full:
        warnings.warn("Polyfit may be poorly conditioned", numpy.exceptions.RankWarning, stacklevel=3)
    if full:
        return found, residuals, rank, singular, rcond
    if not cov:
        return found
    base = inv(_core.dot(left.T, left)) / (scale[:, None] * scale[None, :])
    factor: Any = 1
    if cov != "unscaled":
        if x.shape[0] <= order:
            raise ValueError("the number of data points must exceed order to scale the covariance matrix")
        factor = residuals / (x.shape[0] - order)
    return found, base * factor if y.ndim == 1 else base[:, :, None] * factor
