"""Numbers and functions of matrices: determinants, condition, rank, the exponential."""

from __future__ import annotations

import math
from typing import Any

import numpy
import numpy.linalg
from numpy.linalg._linalg import SlogdetResult

from numloom import _core
from numloom._creation import identity
from numloom._fallback import native_in
from numloom._indexing import where
from numloom._operands import operand
from numloom._reductions import count_nonzero
from numloom.linalg._factors import svd
from numloom.linalg._operands import LinAlgError, factor, matrices, numbers, real_type, result, square_matrices
from numloom.linalg._products import norm
from numloom.linalg._solvers import solve

native = native_in("linalg.", numpy.linalg)


@native
def det(a: Any) -> Any:
    a, dtype = square_matrices(a)
    return result(factor("det", [a], (a.shape[:-2], dtype))[0])


@native
def slogdet(a: Any) -> Any:
    a, dtype = square_matrices(a)
    sign, log = factor("slogdet", [a], (a.shape[:-2], dtype), (a.shape[:-2], real_type(dtype)))
    return SlogdetResult(result(sign), result(log))


@native
def cond(x: Any, p: Any = None) -> Any:
    x = operand(x)
    if x.size == 0 and 0 in x.shape[-2:]:
        raise LinAlgError("cond is not defined on empty arrays")
    if p is None or p in (2, -2):
        s = svd(x, compute_uv=False)
        low, high = s[..., -1], s[..., 0]
        with numpy.errstate(all="ignore"):
            ratio = low / high if p == -2 else high / low
    else:
        x, dtype = square_matrices(x)
        # A matrix without an inverse has a condition of infinity, not an error.
        with numpy.errstate(all="ignore"):
            inverse = factor("inv", [x], (x.shape, dtype), option=True)[0]
            ratio = norm(x, ord=p, axis=(-2, -1)) * norm(inverse, ord=p, axis=(-2, -1))
        ratio = operand(ratio).astype(real_type(dtype), copy=False)
    ratio = operand(ratio)
    unknown = _core.isnan(ratio) & ~_core.isnan(x).any(axis=(-2, -1))
    return result(operand(where(unknown, ratio.dtype.type(numpy.inf), ratio)))


@native
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    if rtol is not None and tol is not None:
        raise ValueError("`tol` and `rtol` can't be both set.")
    A = operand(A)
    if A.ndim < 2:
        return int(not (A == 0).all())
    s = svd(A, compute_uv=False, hermitian=hermitian)
    if tol is None:
        if rtol is None:
            rtol = max(A.shape[-2:]) * numpy.finfo(s.dtype).eps
        else:
            rtol = operand(rtol)[..., None]
        tol = s.max(axis=-1, keepdims=True, initial=0) * rtol
    else:
        tol = operand(tol)[..., None]
    return count_nonzero(s > tol, axis=-1)


# Degree of the Padé approximant, the largest norm it is good for in double precision, and its coefficients.
_PADE: tuple[tuple[int, float, tuple[float, ...]], ...] = (
    (3, 1.495585217958292e-2, (120.0, 60.0, 12.0, 1.0)),
    (5, 2.539398330063230e-1, (30240.0, 15120.0, 3360.0, 420.0, 30.0, 1.0)),
    (7, 9.504178996162932e-1, (17297280.0, 8648640.0, 1995840.0, 277200.0, 25200.0, 1512.0, 56.0, 1.0)),
)
_LARGEST = 5.371920351148152
_PADE_13: tuple[float, ...] = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)


def expm(A: Any) -> Any:
    """The exponential of a square matrix, or of every matrix of a stack, as SciPy's function of this name.

    By scaling and squaring. The norm of the largest matrix decides how often, so this waits for it.
    """
    a = numbers(A)
    if a.ndim < 2 and a.size == 1:
        return _core.exp(a.reshape(1, 1))
    if a.ndim < 2:
        raise LinAlgError("The input array must be at least two-dimensional")
    if a.shape[-1] != a.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    a, dtype = matrices(a)
    if a.size == 0:
        return a.copy()
    size = float(_core.absolute(a).sum(axis=-2).max())
    if not math.isfinite(size):
        return _core.multiply(a, dtype.type(numpy.nan))
    one = identity(a.shape[-1], dtype=dtype)
    square = a @ a
    for degree, limit, c in _PADE:
        if size <= limit:
            even, odd = c[0] * one + c[2] * square, c[1] * one + c[3] * square
            power = square
            for k in range(4, degree, 2):
                power = power @ square
                even, odd = even + c[k] * power, odd + c[k + 1] * power
            odd = a @ odd
            return solve(even - odd, even + odd)
    squarings = max(0, math.ceil(math.log2(size / _LARGEST)))
    if squarings:
        a = a * dtype.type(0.5**squarings)
        square = a @ a
    c = _PADE_13
    fourth = square @ square
    sixth = fourth @ square
    odd = sixth @ (c[13] * sixth + c[11] * fourth + c[9] * square)
    odd = a @ (odd + c[7] * sixth + c[5] * fourth + c[3] * square + c[1] * one)
    even = sixth @ (c[12] * sixth + c[10] * fourth + c[8] * square)
    even = even + c[6] * sixth + c[4] * fourth + c[2] * square + c[0] * one
    made = solve(even - odd, even + odd)
    for _ in range(squarings):
        made = made @ made
    return made
