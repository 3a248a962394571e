"""Systems of equations, inverses and least squares; and SciPy's functions for triangular and Cholesky factors."""

from __future__ import annotations

import functools
import operator
from typing import Any

import numpy
import numpy.linalg

from numloom import _core
from numloom._core import Scalar, Unsupported
from numloom._fallback import native_in
from numloom._indexing import where
from numloom._operands import NoValue, operand
from numloom.linalg._factors import cholesky, svd
from numloom.linalg._operands import (
    LinAlgError,
    adjoint,
    common_type,
    factor,
    matrices,
    numbers,
    real_type,
    square_matrices,
    together,
)

native = native_in("linalg.", numpy.linalg)


def _right_side(a: Any, b: Any) -> tuple[Any, Any, numpy.dtype[Any], bool]:
    """The matrices and right sides of a system in one type; whether the right side is one vector."""
    b = operand(b)
    a, _ = square_matrices(a)
    dtype = common_type(a, b)
    vector = b.ndim == 1
    if b.ndim == 0 or b.shape[0 if vector else -2] != a.shape[-1]:
        raise Unsupported("an error that NumPy words")
    a, b = (x if x.dtype is dtype else x.astype(dtype, copy=False) for x in (a, b))
    a, b = together(a, b[:, None] if vector else b)
    return a, b, dtype, vector


@native
def solve(a: Any, b: Any) -> Any:
    a, b, dtype, vector = _right_side(a, b)
    made = factor("solve", [a, b], (b.shape, dtype), wait=True)[0]
    return made[..., 0] if vector else made


@native
def inv(a: Any) -> Any:
    a, dtype = square_matrices(a)
    return factor("inv", [a], (a.shape, dtype), wait=True)[0]


@native
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    a, b = operand(a), operand(b)
    if a.ndim != 2 or b.ndim not in (1, 2) or a.shape[0] != b.shape[0] or 0 in a.shape or 0 in b.shape:
        raise Unsupported("empty systems, or an error that NumPy words")
    if not (rcond is None or isinstance(rcond, int | float | numpy.integer | numpy.floating | Scalar)):
        raise Unsupported("several limits, or an error that NumPy words")
    dtype = common_type(a, b)
    vector = b.ndim == 1
    a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    if vector:
        b = b[:, None]
    m, n = a.shape
    # All is computed in double precision, whatever the type.
    share = numpy.finfo(numpy.float64).eps * max(m, n) if rcond is None else float(rcond)
    real = real_type(dtype)
    x, residuals, found, s = factor(
        "lstsq",
        [a, b, operand(numpy.float64(share))],
        ((n, b.shape[1]), dtype),
        ((b.shape[1],), real),
        ((), numpy.dtype(numpy.int64)),
        ((min(m, n),), real),
        wait=True,
    )
    rank = numpy.int32(int(found))
    if rank < n or m <= n:
        residuals = _core.empty(0, dtype=real)
    return (x[:, 0] if vector else x), residuals, rank, s


@native
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = NoValue) -> Any:
    a = operand(a)
    if a.ndim < 2:
        raise Unsupported("an error that NumPy words")
    if rcond is None:
        if rtol is NoValue:
            rcond = 1e-15
        elif rtol is None:
            rcond = max(a.shape[-2:]) * numpy.finfo(a.dtype).eps
        else:
            rcond = rtol
    elif rtol is not NoValue:
        raise ValueError("`rtol` and `rcond` can't be both set.")
    if 0 in a.shape[-2:]:
        return _core.empty((*a.shape[:-2], a.shape[-1], a.shape[-2]), dtype=a.dtype)
    a, dtype = matrices(a)
    u, s, vt = svd(a, full_matrices=False, hermitian=hermitian)
    cutoff = operand(rcond)[..., None] * s.max(axis=-1, keepdims=True)
    large = s > cutoff
    turned = where(large, 1 / where(large, s, 1), 0).astype(real_type(dtype))
    return _core.matmul(adjoint(vt), turned[..., None] * adjoint(u))


@native
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    a, b = operand(a), operand(b)
    if axes is not None:
        order = list(range(a.ndim))
        for k in axes:
            order.remove(k)
            order.insert(a.ndim, k)
        a = a.transpose(order)
    inner = a.shape[-(a.ndim - b.ndim) :]
    size = int(numpy.prod(inner, dtype=numpy.int64))
    if a.size != size**2:
        raise LinAlgError(
            "Input arrays must satisfy the requirement \
            prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    return solve(a.reshape(size, size), b.ravel()).reshape(inner)


@native
def tensorinv(a: Any, ind: Any = 2) -> Any:
    a = operand(a)
    if not a.ndim or not isinstance(ind, int | numpy.integer):
        raise Unsupported("an error that NumPy words")
    if ind <= 0:
        raise ValueError("Invalid ind argument.")
    shape = a.shape[ind:] + a.shape[:ind]
    return inv(a.reshape(int(numpy.prod(a.shape[ind:], dtype=numpy.int64)), -1)).reshape(shape)


def _validated(check_finite: bool, *arrays: Any) -> list[Any]:
    """The arguments of SciPy's functions, with one wait for whether all are finite."""
    made = [numbers(x) for x in arrays]
    finite = [_core.isfinite(x).all() for x in made if x.dtype.kind in "fc"] if check_finite else []
    if finite and not functools.reduce(operator.and_, finite):
        raise ValueError("array must not contain infs or NaNs")
    return made


def solve_triangular(
    a: Any,
    b: Any,
    trans: Any = 0,
    lower: bool = False,
    unit_diagonal: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
) -> Any:
    """Solve `a x = b` for a triangular `a`, as SciPy's function of this name; over stacks, too.

    `trans`: 0 or "N" for `a`, 1 or "T" for its transpose, 2 or "C" for its conjugate transpose. Nothing is
    overwritten.
    """
    kind = {0: 0, "N": 0, 1: 1, "T": 1, 2: 2, "C": 2}.get(trans)
    if kind is None:
        raise ValueError(f"trans must be 0, 1, 2, 'N', 'T' or 'C', not {trans!r}")
    a, b = _validated(check_finite, a, b)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise ValueError("expected square matrix")
    if b.ndim == 0 or b.shape[0 if b.ndim == 1 else -2] != a.shape[-1]:
        raise ValueError(f"shapes of a {a.shape} and b {b.shape} are incompatible")
    a, b, dtype, vector = _right_side(a, b)
    if kind:
        a, lower = (adjoint(a) if kind == 2 else a.swapaxes(-1, -2)), not lower
    name = "solve_unit_triangular" if unit_diagonal else "solve_triangular"
    made = factor(name, [a, b], (b.shape, dtype), option=bool(lower), wait=True)[0]
    return made[..., 0] if vector else made


def cho_factor(a: Any, lower: bool = False, overwrite_a: bool = False, check_finite: bool = True) -> Any:
    """The Cholesky factor and whether it is the lower one, for `cho_solve`. The other triangle is zeros."""
    (a,) = _validated(check_finite, a)
    if a.ndim < 2:
        a = a.reshape(1, -1)
    if a.shape[-1] != a.shape[-2]:
        raise ValueError(f"Input array is expected to be square but has the shape: {a.shape}.")
    factored = cholesky(a) if lower else cholesky(a, upper=True)
    return factored, lower


def cho_solve(c_and_lower: Any, b: Any, overwrite_b: bool = False, check_finite: bool = True) -> Any:
    """Solve `a x = b` with the factor of `a` that `cho_factor` gave."""
    c, lower = c_and_lower
    c, b = _validated(check_finite, c, b)
    if c.ndim < 2 or c.shape[-1] != c.shape[-2]:
        raise ValueError("The factored matrix c is not square.")
    if b.ndim == 0 or b.shape[0 if b.ndim == 1 else -2] != c.shape[-1]:
        raise ValueError(f"incompatible dimensions ({c.shape} and {b.shape})")
    # One vector is one for every factor of a stack; what comes of it may look like a matrix.
    columns = b[:, None] if b.ndim == 1 else b
    first = solve_triangular(c, columns, trans=0 if lower else 2, lower=lower, check_finite=False)
    x = solve_triangular(c, first, trans=2 if lower else 0, lower=lower, check_finite=False)
    return x[..., 0] if b.ndim == 1 else x
