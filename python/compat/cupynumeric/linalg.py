"""Linear algebra: Numloom's functions, and those that cuPyNumeric has besides or calls otherwise."""

from __future__ import annotations

from typing import Any

import numloom.linalg
from numloom import asarray, concatenate, ndarray

from ._names import names_of

__all__ = [*numloom.linalg.__all__, "tssvd"]
__path__: list[str] = []
__getattr__, __dir__ = names_of(numloom.linalg, globals())

# Rows of a block for each of its columns, and the fewest rows that a block has.
_BLOCK, _FEWEST = 4, 256


def expm(a: Any, method: str = "pade") -> Any:
    """The exponential of a square matrix, or of every matrix of a stack.

    It is made by Padé's approximation in any case; "taylor" is taken as a name for the same result.
    """
    if method not in ("pade", "taylor"):
        raise ValueError(f"method must be 'pade' or 'taylor', not {method!r}")
    return numloom.linalg.expm(a)


def tssvd(a: Any) -> tuple[Any, Any, Any]:
    """The singular value decomposition `(u * s) @ vh` of a matrix with many more rows than columns.

    By the QR factors of blocks of rows, so that it is as accurate as `svd`, also for a singular matrix.
    """
    a = asarray(a)
    if a.ndim != 2:
        raise ValueError(f"tssvd takes a matrix; this array has {a.ndim} dimensions")
    q, r = _tall_qr(a)
    u, s, vh = numloom.linalg.svd(r, full_matrices=False)
    return q @ u, s, vh


def _tall_qr(a: ndarray) -> tuple[Any, Any]:
    """The QR factors: those of blocks, and then of the blocks' triangles below each other."""
    columns = a.shape[1]
    rows = max(_BLOCK * columns, _FEWEST)
    blocks = a.shape[0] // rows
    if blocks < 2 or columns == 0:
        return numloom.linalg.qr(a)
    head = blocks * rows
    each, triangles = numloom.linalg.qr(a[:head].reshape(blocks, rows, columns))
    # The rows that fill no block join the triangles.
    joint, r = _tall_qr(concatenate((triangles.reshape(blocks * columns, columns), a[head:])))
    tops = joint[: blocks * columns].reshape(blocks, columns, columns)
    return concatenate(((each @ tops).reshape(head, columns), joint[blocks * columns :])), r
