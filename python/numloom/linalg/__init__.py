"""Linear algebra. Norms and products are native; the factorisations are NumPy's, on the host."""

import numpy.linalg

from numloom._mirror import mirror
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

__all__ = list(numpy.linalg.__all__)
__getattr__, __dir__ = mirror(numpy.linalg, globals())
