"""Factorisations: Cholesky, QR, singular values, eigenvalues."""

from __future__ import annotations

from typing import Any

import numpy
import numpy.linalg
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SVDResult

from numloom import _core
from numloom._core import Unsupported
from numloom._fallback import native_in
from numloom._indexing import take_along_axis
from numloom._numpy_version import NUMPY_2_5
from numloom._operands import operand
from numloom.linalg._operands import LinAlgError, adjoint, complex_type, factor, matrices, real_type, square_matrices

native = native_in("linalg.", numpy.linalg)


@native
def cholesky(a: Any, /, *, upper: bool = False) -> Any:
    a, dtype = square_matrices(a)
    return factor("cholesky", [a], (a.shape, dtype), option=bool(upper), wait=True)[0]


@native
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete", "r"):
        raise Unsupported("old modes, the raw one, or an error that NumPy words")
    a, dtype = matrices(a)
    *batch, m, n = a.shape
    k = min(m, n)
    if mode == "r":
        return factor("qr_r", [a], ((*batch, k, n), dtype))[0]
    if mode == "complete" and m > n:
        k = m
    return QRResult(*factor("qr", [a], ((*batch, m, k), dtype), ((*batch, k, n), dtype)))


@native
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    if hermitian:
        return _hermitian_svd(a, compute_uv)
    a, dtype = matrices(a)
    *batch, m, n = a.shape
    k = min(m, n)
    values = ((*batch, k), real_type(dtype))
    if not compute_uv:
        return factor("svdvals", [a], values)[0]
    rows, columns = (m, n) if full_matrices else (k, k)
    return SVDResult(*factor("svd", [a], ((*batch, m, rows), dtype), values, ((*batch, columns, n), dtype)))


def _hermitian_svd(a: Any, compute_uv: bool) -> Any:
    if not compute_uv:
        sizes = _core.absolute(eigvalsh(a))
        sizes.sort()
        return sizes[..., ::-1]
    values, vectors = eigh(a)
    signs, sizes = _core.copysign(values.dtype.type(1), values), _core.absolute(values)
    order = sizes.argsort()[..., ::-1]
    signs = take_along_axis(signs, order, axis=-1)
    sizes = take_along_axis(sizes, order, axis=-1)
    vectors = take_along_axis(vectors, order[..., None, :], axis=-1)
    return SVDResult(vectors, sizes, adjoint(vectors * signs[..., None, :]))


@native
def svdvals(x: Any, /) -> Any:
    return svd(operand(x), compute_uv=False, hermitian=False)


def _triangle(UPLO: Any) -> bool:
    """Whether the upper triangle is meant."""
    UPLO = UPLO.upper()
    if UPLO not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return bool(UPLO == "U")


@native
def eigh(a: Any, UPLO: str = "L") -> Any:
    upper = _triangle(UPLO)
    a, dtype = square_matrices(a)
    return EighResult(*factor("eigh", [a], (a.shape[:-1], real_type(dtype)), (a.shape, dtype), option=upper))


@native
def eigvalsh(a: Any, UPLO: str = "L") -> Any:
    upper = _triangle(UPLO)
    a, dtype = square_matrices(a)
    return factor("eigvalsh", [a], (a.shape[:-1], real_type(dtype)), option=upper)[0]


def _finite_square(a: Any) -> Any:
    a, dtype = square_matrices(a)
    # NumPy raises in the call, and what it returns is real or complex by its values.
    if not _core.isfinite(a).all():
        raise LinAlgError("Array must not contain infs or NaNs")
    return a, dtype


def _may_be_real(dtype: Any) -> bool:
    """Whether eigenvalues of such a matrix are real numbers where they can be."""
    return dtype.kind != "c" and not NUMPY_2_5


def _real(x: Any) -> Any:
    """The real part, in NumPy's layout."""
    return x.real.copy() if x.dtype == numpy.complex64 else x.real


@native
def eig(a: Any) -> Any:
    a, dtype = _finite_square(a)
    kind = complex_type(dtype)
    values, vectors = factor("eig", [a], (a.shape[:-1], kind), (a.shape, kind), wait=True)
    if _may_be_real(dtype) and (values.imag == 0.0).all():
        return EigResult(_real(values), _real(vectors))
    return EigResult(values, vectors)


@native
def eigvals(a: Any) -> Any:
    a, dtype = _finite_square(a)
    values = factor("eigvals", [a], (a.shape[:-1], complex_type(dtype)), wait=True)[0]
    if _may_be_real(dtype) and (values.imag == 0.0).all():
        return _real(values)
    return values
