"""Rounding, cleaning and elementwise mathematics beyond the ufuncs."""

from __future__ import annotations

import builtins
import operator
import warnings
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, is_ours, ndarray
from ._creation import array
from ._fallback import native
from ._indexing import diff
from ._numpy_version import NUMPY_2_5
from ._operands import axis_number, is_array, normalize_axis_index, normalize_axis_tuple, operand, target


@native
def round(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return _round(a, decimals, target(out))


def _round(a: Any, decimals: Any, out: Any) -> Any:
    if out is not None and not (is_ours(a) and a.shape == out.shape and a.dtype == out.dtype):
        raise Unsupported("an output of another type, which NumPy computes in, or an error that it words")
    a = operand(a)
    scalar = a.ndim == 0 and out is None
    made = _rounded(a, decimals if type(decimals) is int else operator.index(decimals), out)
    return made[()] if scalar and is_ours(made) else made


def _rounded(a: ndarray, decimals: int, out: Any) -> Any:
    kind = a.dtype.kind
    if kind == "c":
        made = _core.empty_like(a) if out is None else out
        if made.dtype.kind != "c":
            raise Unsupported("an error that NumPy words")
        _rounded(a.real, decimals, made.real)
        _rounded(a.imag, decimals, made.imag)
        return made
    if kind == "b" or decimals > 308 or decimals < -308:
        raise Unsupported("rounding that NumPy does its own way")
    if kind in "iu" and decimals >= 0:
        if out is None:
            return a.copy("K")
        if out is not a:
            out[...] = a
        return out
    if decimals == 0:
        return _core.rint(a) if out is None else _core.rint(a, out=out)
    factor = 10.0 ** builtins.abs(decimals)
    up, down = (_core.multiply, _core.divide) if decimals > 0 else (_core.divide, _core.multiply)
    scaled = _core.rint(up(a, factor))
    if out is not None:
        return down(scaled, factor, out=out)
    made = down(scaled, factor, order="A")
    return made.astype(a.dtype) if kind in "iu" else made


@native
def around(a: Any, decimals: Any = 0, out: Any = None) -> Any:
    return _round(a, decimals, target(out))


@native
def fix(x: Any, out: Any = None) -> Any:
    if NUMPY_2_5:
        message = (
            "numpy.fix is deprecated. Use numpy.trunc instead, which is faster and follows the Array API standard."
        )
        warnings.warn(message, DeprecationWarning, stacklevel=3)
    return _core.trunc(operand(x)) if out is None else _core.trunc(operand(x), out=target(out))


@native
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Any:
    given = operand(x)
    if type(copy) is str:
        raise Unsupported("an error that NumPy words")
    made = array(given, copy=True) if copy or not is_array(x) else given
    if made.dtype.kind in "fc":
        limits = numpy.finfo(made.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        for part in (made.real, made.imag) if made.dtype.kind == "c" else (made,):
            # All three are looked for before one is replaced: what stands in for one may be another.
            places = [_core.isnan(part), part == numpy.inf, part == -numpy.inf]
            for value, where in zip((nan, high, low), places):
                _core.copyto(part, value, where=where)
    return made[()] if made.ndim == 0 else made


@native
def sinc(x: Any) -> Any:
    x = operand(x)
    y = _core.multiply(numpy.pi, x)
    # A tiny stand-in at zero keeps the quotient at one.
    tiny = numpy.finfo(y.dtype).eps if y.dtype.kind == "f" else 1e-20
    y = _core.where(y == 0, y.dtype.type(tiny), y)
    return _core.sin(y) / y


@native
def unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = 2 * numpy.pi) -> Any:
    p = operand(p)
    if p.dtype.kind == "u":
        raise Unsupported("an error that NumPy words")
    steps = diff(p, axis=axis)
    axis = normalize_axis_index(axis_number(axis), p.ndim)
    discont = period / 2 if discont is None else discont
    kind = numpy.result_type(steps.dtype, period)
    half, rest = divmod(period, 2) if kind.kind in "iu" else (period / 2, 0)
    wrapped = _core.remainder(steps + half, period) - half
    if rest == 0:
        # A jump of exactly half a period keeps its sign.
        _core.copyto(wrapped, half, where=(wrapped == -half) & (steps > 0))
    correction = wrapped - steps
    _core.copyto(correction, 0, where=_core.absolute(steps) < discont)
    made = array(p, copy=True, dtype=kind)
    rest_of = (*[slice(None)] * axis, slice(1, None))
    made[rest_of] = p[rest_of] + correction.cumsum(axis=axis)
    return made


@native
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    f = operand(f)
    axes = tuple(range(f.ndim)) if axis is None else normalize_axis_tuple(axis, f.ndim)
    if edge_order not in (1, 2) or f.dtype.kind == "b":
        raise Unsupported("an error that NumPy words")
    given = [h if type(h) in (int, float) else operand(h) for h in varargs]
    if len(given) == 1 and not getattr(given[0], "ndim", 0):
        given *= len(axes)
    if given and len(given) != len(axes):
        raise TypeError("invalid number of arguments")
    if f.dtype.kind in "iu":
        f = f.astype(numpy.float64)
    steps = [_steps(h, f.shape[at]) for at, h in zip(axes, given)] or [1.0] * len(axes)
    made = [_slope(f, at, h, edge_order) for at, h in zip(axes, steps)]
    return made[0] if len(made) == 1 else tuple(made)


def _steps(h: Any, size: int) -> Any:
    """The one distance between neighbours, or all of them from their places."""
    if not is_ours(h) or h.ndim == 0:
        return h
    if h.ndim != 1:
        raise ValueError("distances must be either scalars or 1d")
    if h.shape[0] != size:
        raise ValueError("when 1d, distances must match the length of the corresponding dimension")
    steps = diff(h.astype(numpy.float64) if h.dtype.kind in "iu" else h)
    if not steps.size:
        raise Unsupported("an error that NumPy words")
    return steps[0] if (steps == steps[0]).all() else steps


def _slope(f: ndarray, axis: int, h: Any, edge_order: int) -> ndarray:
    if f.shape[axis] < edge_order + 1:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, "
            "at least (edge_order + 1) elements are required."
        )
    front = (slice(None),) * axis

    def at(start: int | None, stop: int | None) -> tuple[slice, ...]:
        return (*front, slice(start, stop))

    made = _core.empty_like(f)
    even = not is_ours(h) or h.ndim == 0
    if even:
        made[at(1, -1)] = (f[at(2, None)] - f[at(None, -2)]) / (2.0 * h)
    else:
        left, right = (part.reshape([-1 if i == axis else 1 for i in range(f.ndim)]) for part in (h[:-1], h[1:]))
        made[at(1, -1)] = (
            -right / (left * (left + right)) * f[at(None, -2)]
            + (right - left) / (left * right) * f[at(1, -1)]
            + left / (right * (left + right)) * f[at(2, None)]
        )
    first, second, third = f[at(0, 1)], f[at(1, 2)], f[at(2, 3)]
    last, before, earlier = f[at(-1, None)], f[at(-2, -1)], f[at(-3, -2)]
    if edge_order == 1:
        made[at(0, 1)] = (second - first) / (h if even else h[0])
        made[at(-1, None)] = (last - before) / (h if even else h[-1])
    else:
        a, b, c = _one_sided(*((h, h) if even else (h[0], h[1])))
        made[at(0, 1)] = a * first + b * second + c * third
        a, b, c = _one_sided(*((h, h) if even else (h[-1], h[-2])))
        made[at(-1, None)] = -a * last - b * before - c * earlier
    return made


def _one_sided(near: Any, far: Any) -> tuple[Any, Any, Any]:
    """The weights of three neighbours for the slope at the first, `near` and `far` being their distances."""
    both = near + far
    return -(near + both) / (near * both), both / (near * far), -near / (far * both)


@native
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    y = operand(y)
    if not isinstance(axis, int | numpy.integer) or not -y.ndim <= axis < y.ndim:
        raise Unsupported("an error that NumPy words")
    step, at = dx, axis % y.ndim
    if x is not None:
        x = operand(x)
        step = diff(x).reshape([-1 if i == at else 1 for i in range(y.ndim)]) if x.ndim == 1 else diff(x, axis=axis)
    front = (slice(None),) * at
    pairs = y[(*front, slice(1, None))] + y[(*front, slice(None, -1))]
    return (step * pairs / 2.0).sum(axis=axis)
