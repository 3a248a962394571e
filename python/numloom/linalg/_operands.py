"""What factorisations take in: stacks of matrices in a type that linear algebra knows."""

from __future__ import annotations

from typing import Any

import numpy
import numpy.linalg

from numloom import _core
from numloom._core import Unsupported, ndarray
from numloom._operands import operand

LinAlgError = numpy.linalg.LinAlgError


def common_type(*arrays: ndarray) -> numpy.dtype[Any]:
    """float32, float64, complex64 or complex128; integers count as float64."""
    first = arrays[0].dtype
    if first.char in "fdFD" and all(a.dtype is first for a in arrays[1:]):
        return first
    kinds = []
    for a in arrays:
        if a.dtype == numpy.float16:
            raise TypeError(f"array type {a.dtype.name} is unsupported in linalg")
        kinds.append(a.dtype if a.dtype.kind in "fc" else numpy.dtype(numpy.float64))
    return numpy.result_type(*kinds)


def numbers(x: Any) -> ndarray:
    """What SciPy's functions take, as an array of ours: there is no NumPy function to leave anything else to."""
    try:
        made = operand(x)
    except Unsupported:
        if isinstance(x, numpy.ma.MaskedArray):
            raise ValueError("masked arrays are not supported") from None
        given = numpy.asarray(x)
        if given.dtype.kind not in "biufc":
            raise ValueError(f"{given.dtype.name} arrays are not supported") from None
        wide = {"g": numpy.float64, "G": numpy.complex128}.get(given.dtype.char)
        made = operand(given.astype(wide or given.dtype.newbyteorder("=")))
    return made.astype(numpy.float32) if made.dtype == numpy.float16 else made


def real_type(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    return numpy.dtype(dtype.char.lower()) if dtype.kind == "c" else dtype


def complex_type(dtype: numpy.dtype[Any]) -> numpy.dtype[Any]:
    return numpy.result_type(dtype, numpy.complex64)


def matrices(a: Any) -> tuple[ndarray, numpy.dtype[Any]]:
    """A stack of matrices, and the type it is worked on in."""
    a = operand(a)
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    dtype = a.dtype
    if dtype.char in "fdFD":
        return a, dtype
    dtype = common_type(a)
    return (a if a.dtype is dtype else a.astype(dtype, copy=False)), dtype


def square_matrices(a: Any) -> tuple[ndarray, numpy.dtype[Any]]:
    a = operand(a)
    if a.ndim < 2:
        raise LinAlgError(f"{a.ndim}-dimensional array given. Array must be at least two-dimensional")
    shape = a.shape
    if shape[-1] != shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return matrices(a)


def together(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Two stacks of matrices with their batch axes broadcast."""
    if a.ndim == b.ndim == 2:
        return a, b
    try:
        batch = numpy.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    except ValueError:
        raise Unsupported("an error that NumPy words") from None
    return _core.broadcast_to(a, (*batch, *a.shape[-2:])), _core.broadcast_to(b, (*batch, *b.shape[-2:]))


def factor(
    name: str,
    ins: list[ndarray],
    *outs: tuple[tuple[int, ...], numpy.dtype[Any]],
    option: bool = False,
    wait: bool = False,
) -> list[Any]:
    """Run one of the factorisations: new arrays of these shapes and types, filled."""
    made = [_core.empty(shape, dtype=dtype) for shape, dtype in outs]
    _core.factor(name, ins, made, option, wait)
    return made


def adjoint(a: Any) -> Any:
    turned = a.swapaxes(-1, -2)
    return turned.conj() if a.dtype.kind == "c" else turned


def result(made: ndarray) -> Any:
    """A stack of numbers as it is returned: a scalar if there is only one."""
    return made[()] if made.ndim == 0 else made
