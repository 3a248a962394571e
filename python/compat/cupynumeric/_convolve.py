"""Convolution: NumPy's of sequences, and SciPy's of arrays with more dimensions."""

from __future__ import annotations

import math
from typing import Any

import numloom
from numloom import asarray, fft, ndarray, ndindex, result_type, zeros

_MODES = ("full", "same", "valid")
_METHODS = ("auto", "direct", "fft")
# What a step of the transforms costs, measured in products of the sums.
_TRANSFORM = 1


def convolve(a: Any, v: Any, mode: str = "full", method: str = "auto") -> Any:
    """The convolution of two arrays with the same number of dimensions.

    Of sequences it is NumPy's, and made as NumPy's unless `method` is "fft". Of arrays with more dimensions it is
    that of `scipy.signal.convolve`: "same" has the shape of `a`; "auto" takes the method that should be faster, and
    never the transform for integers, whose sums are exact.
    """
    if method not in _METHODS:
        raise ValueError(f"method must be 'auto', 'direct' or 'fft', not {method!r}")
    a, v = asarray(a), asarray(v)
    if a.ndim <= 1 and v.ndim <= 1 and (method != "fft" or not a.size or not v.size):
        return numloom.convolve(a, v, mode)
    a, v = numloom.atleast_1d(a), numloom.atleast_1d(v)
    if mode not in _MODES:
        raise ValueError(f"mode must be 'full', 'same' or 'valid', not {mode!r}")
    if a.ndim != v.ndim:
        raise ValueError(f"a has {a.ndim} dimensions and v {v.ndim}: they must have the same number")
    if not a.size or not v.size:
        raise ValueError(f"there is nothing to convolve in the shapes {a.shape} and {v.shape}")
    if (a.ndim == 1 or mode == "valid") and v.size > a.size:
        a, v = v, a
    if mode == "valid" and any(n < m for n, m in zip(a.shape, v.shape, strict=True)):
        raise ValueError(f"mode 'valid': one of the shapes {a.shape} and {v.shape} must hold the other")
    first, shape = _part(a.shape, v.shape, mode)
    if method == "auto":
        method = "fft" if _transform_is_faster(a, v, math.prod(shape)) else "direct"
    return (_transformed if method == "fft" else _summed)(a, v, first, shape)


def _part(a: tuple[int, ...], v: tuple[int, ...], mode: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where in the full convolution the part begins that `mode` asks for, and its shape."""
    match mode:
        case "full":
            return (0,) * len(a), _full(a, v)
        case "same":
            return tuple((m - 1) // 2 for m in v), a
        case _:
            return tuple(m - 1 for m in v), tuple(n - m + 1 for n, m in zip(a, v, strict=True))


def _full(a: tuple[int, ...], v: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n + m - 1 for n, m in zip(a, v, strict=True))


def _transform_is_faster(a: ndarray, v: ndarray, size: int) -> bool:
    if result_type(a, v).kind not in "fc":
        return False
    full = math.prod(_full(a.shape, v.shape))
    return min(a.size, v.size) * size > _TRANSFORM * full * math.log2(full + 1)


def _summed(a: ndarray, v: ndarray, first: tuple[int, ...], shape: tuple[int, ...]) -> ndarray:
    """The sum over the smaller array's elements, each times the larger one, moved."""
    if v.size > a.size:
        a, v = v, a
    kind = result_type(a, v)
    # Sums of halves are made in single precision, as NumPy's are.
    working = numloom.dtype(numloom.float32) if kind == numloom.float16 else kind
    a, v = a.astype(working, copy=False), v.astype(working, copy=False)
    made = zeros(shape, dtype=working)
    for place in ndindex(v.shape):
        shifts = [j - start for j, start in zip(place, first, strict=True)]
        ends = [min(size, n + shift) for size, n, shift in zip(shape, a.shape, shifts, strict=True)]
        into = tuple(slice(max(shift, 0), end) for shift, end in zip(shifts, ends, strict=True))
        if all(part.start < part.stop for part in into):
            taken = tuple(
                slice(part.start - shift, part.stop - shift) for part, shift in zip(into, shifts, strict=True)
            )
            made[into] += a[taken] * v[place]
    return made.astype(kind, copy=False)


def _transformed(a: ndarray, v: ndarray, first: tuple[int, ...], shape: tuple[int, ...]) -> ndarray:
    """By the product of the Fourier transforms; of integers, rounded."""
    kind = result_type(a, v)
    working = {"f": result_type(kind, numloom.float32), "c": kind}.get(kind.kind, numloom.dtype(numloom.float64))
    a, v = a.astype(working, copy=False), v.astype(working, copy=False)
    # Along an axis where one of them has a single element, the other is only multiplied.
    axes = [axis for axis, (n, m) in enumerate(zip(a.shape, v.shape, strict=True)) if n > 1 and m > 1]
    if not axes:
        return (a * v).astype(kind, copy=False)
    lengths = [_convenient(n) for n in (_full(a.shape, v.shape)[axis] for axis in axes)]
    there, back = (fft.fftn, fft.ifftn) if working.kind == "c" else (fft.rfftn, fft.irfftn)
    made = back(there(a, lengths, axes) * there(v, lengths, axes), lengths, axes)
    made = made[tuple(slice(start, start + size) for start, size in zip(first, shape, strict=True))]
    return (made if kind.kind in "fc" else numloom.rint(made)).astype(kind)


def _convenient(n: int) -> int:
    """The smallest length from `n` on whose only prime factors are 2, 3 and 5."""
    while True:
        rest = n
        for prime in (2, 3, 5):
            while rest % prime == 0:
                rest //= prime
        if rest == 1:
            return n
        n += 1
