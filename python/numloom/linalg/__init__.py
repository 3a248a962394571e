"""Linear algebra: NumPy's functions, and SciPy's for triangular systems, Cholesky factors and the exponential."""

import numpy.linalg

from numloom._mirror import mirror
from numloom.linalg._factors import cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals
from numloom.linalg._numbers import cond, det, expm, matrix_rank, slogdet
from numloom.linalg._products import (
    cross,
    diagonal,
    matmul,
    matrix_norm,
    matrix_power,
    matrix_transpose,
    multi_dot,
    norm,
    outer,
    tensordot,
    trace,
    vecdot,
    vector_norm,
)
from numloom.linalg._solvers import (
    cho_factor,
    cho_solve,
    inv,
    lstsq,
    pinv,
    solve,
    solve_triangular,
    tensorinv,
    tensorsolve,
)

__all__ = [*numpy.linalg.__all__, "cho_factor", "cho_solve", "expm", "solve_triangular"]
__getattr__, __dir__ = mirror(numpy.linalg, globals())
