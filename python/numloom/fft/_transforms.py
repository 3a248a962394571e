"""Transforms along one axis or several, each axis one library operation."""

from __future__ import annotations

from typing import Any

import numpy
import numpy.fft

from numloom import _core
from numloom._core import Unsupported, ndarray
from numloom._fallback import native_in
from numloom._operands import is_truth, normalize_axis_index, operand, target, whole

native = native_in("fft.", numpy.fft)

# The real and the complex numbers of each type.
_KINDS = {char: (numpy.dtype(char.lower()), numpy.dtype(char.upper())) for char in "fdFD"}
_SWAPPED = {"backward": "forward", None: "forward", "ortho": "ortho", "forward": "backward"}


def _input(a: Any) -> ndarray:
    a = operand(a)
    if a.dtype.kind in "biu":
        return a.astype(numpy.float64)
    if a.dtype == numpy.float16:
        raise Unsupported("half precision")
    return a


def _swapped(norm: Any) -> Any:
    try:
        return _SWAPPED[norm]
    except KeyError:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".') from None


def _scale(norm: Any, n: int, real: numpy.dtype[Any]) -> float:
    if norm is None or norm == "backward":
        return 1.0
    if norm == "ortho":
        return float(numpy.reciprocal(numpy.sqrt(n, dtype=real)))
    if norm == "forward":
        return float(numpy.reciprocal(n, dtype=real))
    raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')


def _transform(
    a: ndarray, n: Any, axis: Any, kind: str, norm: Any, out: Any, inverse: bool = False, own: bool = False
) -> ndarray:
    """The transform of `a` along one axis; `own`: `a` is a temporary that may be overwritten."""
    if type(n) is not int:
        if kind != "half" and is_truth(n):
            raise Unsupported("an error that NumPy words")
        n = whole(n)
    if n < 1:
        raise ValueError(f"Invalid number of FFT data points ({n}) specified.")
    if inverse:
        norm = _swapped(norm)
    real, complete = _KINDS[a.dtype.char]
    scale = 1.0 if norm is None else _scale(norm, n, real)
    axis = normalize_axis_index(axis, a.ndim)
    if kind == "half" and a.dtype.kind == "c":
        raise Unsupported("an error that NumPy words")
    if kind == "real" and a.dtype.kind != "c":
        a = a.astype(complete)
    dtype = real if kind == "real" else complete
    shape = (*a.shape[:axis], n // 2 + 1 if kind == "half" else n, *a.shape[axis + 1 :])
    if out is not None:
        if len(out.shape) != a.ndim or out.shape[axis] != shape[axis]:
            raise ValueError("output array has wrong shape.")
        if out.shape != shape or out.dtype != dtype:
            raise Unsupported("an output of another shape or type")
    elif own and a.shape == shape and a.dtype == dtype:
        out = a
    else:
        out = _core.empty(shape, dtype) if len(shape) == 1 else _core.empty_like(a, dtype=dtype, shape=shape)
    if 0 not in shape:
        if a.shape[axis] == 0:
            out[...] = 0
        else:
            _core.transform(a, out, axis, kind, n, inverse, scale)
    return out


def _axis_length(a: ndarray, axis: Any) -> int:
    return a.shape[axis]


@native
def fft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    a = _input(a)
    return _transform(a, _axis_length(a, axis) if n is None else n, axis, "complex", norm, target(out))


@native
def ifft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    a = _input(a)
    return _transform(a, _axis_length(a, axis) if n is None else n, axis, "complex", norm, target(out), inverse=True)


@native
def rfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    a = _input(a)
    return _transform(a, _axis_length(a, axis) if n is None else n, axis, "half", norm, target(out))


@native
def irfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    a = _input(a)
    n = (_axis_length(a, axis) - 1) * 2 if n is None else n
    return _transform(a, n, axis, "real", norm, target(out), inverse=True)


@native
def hfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    a = _input(a)
    n = (_axis_length(a, axis) - 1) * 2 if n is None else n
    norm = _swapped(norm)
    return _transform(_core.conjugate(a), n, axis, "real", norm, None, inverse=True)


@native
def ihfft(a: Any, n: Any = None, axis: int = -1, norm: Any = None, out: Any = None) -> Any:
    a = _input(a)
    made = _transform(a, _axis_length(a, axis) if n is None else n, axis, "half", _swapped(norm), target(out))
    return _core.conjugate(made, out=made)


def _lengths(a: ndarray, s: Any, axes: Any, half: bool = False) -> tuple[list[Any], list[Any]]:
    """Length and axis of every transform; `half`: the last axis holds half a spectrum."""
    if s is not None and (axes is None or not numpy.iterable(s) or None in s):
        raise Unsupported("what NumPy warns about, or an error that it words")
    if isinstance(axes, int | numpy.integer):
        raise Unsupported("an error that NumPy words")
    axes = list(range(a.ndim)) if axes is None else list(axes)
    there = all(isinstance(axis, int | numpy.integer) and -a.ndim <= axis < a.ndim for axis in axes)
    if not there or (half and not axes):
        raise Unsupported("an error that NumPy words")
    if s is None:
        lengths = [a.shape[axis] for axis in axes]
        if half:
            lengths[-1] = (a.shape[axes[-1]] - 1) * 2
        return lengths, axes
    lengths = list(s)
    if len(lengths) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [a.shape[axis] if n == -1 else n for n, axis in zip(lengths, axes)], axes


def _over_axes(a: Any, s: Any, axes: Any, norm: Any, out: Any, inverse: bool) -> Any:
    a, out = _input(a), target(out)
    lengths, axes = _lengths(a, s, axes)
    if not axes:
        raise Unsupported("what was given, of the type that it was given in")
    made = a
    for n, axis in zip(reversed(lengths), reversed(axes)):
        made = _transform(made, n, axis, "complex", norm, out, inverse, own=made is not a)
    return made


@native
def fftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return _over_axes(a, s, axes, norm, out, inverse=False)


@native
def ifftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return _over_axes(a, s, axes, norm, out, inverse=True)


@native
def fft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return _over_axes(a, s, axes, norm, out, inverse=False)


@native
def ifft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    # NumPy makes nothing of `out`, either.
    return _over_axes(a, s, axes, norm, None, inverse=True)


def _real_over_axes(a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    a, out = _input(a), target(out)
    lengths, axes = _lengths(a, s, axes)
    made = _transform(a, lengths[-1], axes[-1], "half", norm, out)
    for n, axis in zip(reversed(lengths[:-1]), reversed(axes[:-1])):
        made = _transform(made, n, axis, "complex", norm, out, own=True)
    return made


@native
def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return _real_over_axes(a, s, axes, norm, out)


@native
def rfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return _real_over_axes(a, s, axes, norm, out)


def _back_to_real(a: Any, s: Any, axes: Any, norm: Any, out: Any) -> Any:
    a, out = _input(a), target(out)
    lengths, axes = _lengths(a, s, axes, half=True)
    made = a
    for n, axis in zip(lengths[:-1], axes[:-1]):
        made = _transform(made, n, axis, "complex", norm, None, inverse=True, own=made is not a)
    return _transform(made, lengths[-1], axes[-1], "real", norm, out, inverse=True)


@native
def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    return _back_to_real(a, s, axes, norm, out)


@native
def irfft2(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
    return _back_to_real(a, s, axes, norm, None)
