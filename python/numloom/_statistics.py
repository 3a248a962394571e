"""Covariance and correlation."""

from __future__ import annotations

import warnings
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, is_ours, ndarray
from ._creation import array
from ._fallback import native
from ._joining import concatenate
from ._operands import operand
from ._reductions import average


@native
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    if ddof is not None and ddof != int(ddof):
        raise ValueError("ddof must be integer")
    x, y = operand(m), None if y is None else operand(y)
    if x.ndim > 2:
        raise ValueError("m has more than 2 dimensions")
    if y is not None and y.ndim > 2:
        raise ValueError("y has more than 2 dimensions")
    if dtype is None:
        dtype = numpy.result_type(x.dtype, numpy.float64, *([] if y is None else [y.dtype]))
    elif numpy.dtype(dtype).kind not in "fc":
        raise Unsupported("an error that NumPy words")
    rows = _variables(x, dtype, rowvar or x.ndim == 1)
    if rows.shape[0] == 0:
        return _core.empty((0, 0))
    if y is not None:
        rows = concatenate((rows, _variables(y, dtype, rowvar or y.ndim < 2 or y.shape[0] == 1)), axis=0)
    ddof = (0 if bias else 1) if ddof is None else ddof
    counts, weights = _weights(fweights, aweights, rows.shape[1])
    if weights is None:
        mean, total = rows.mean(axis=1), None
    else:
        mean, total = average(rows, axis=1, weights=weights, returned=True)
        total = total[0]
    if total is None:
        degrees: Any = rows.shape[1] - ddof
    elif ddof == 0:
        degrees = total
    elif aweights is None:
        degrees = total - ddof
    else:
        degrees = total - ddof * (weights * counts).sum() / total
    if degrees <= 0:
        warnings.warn("Degrees of freedom <= 0 for slice", RuntimeWarning, stacklevel=3)
        degrees = 0.0
    rows = rows - mean[:, None]
    across = (rows if weights is None else rows * weights).T
    made = _core.dot(rows, across.conj() if across.dtype.kind == "c" else across)
    divide = numpy.true_divide if type(degrees) in (int, float) else _core.true_divide
    made *= divide(1, degrees)
    return made.squeeze()


def _variables(x: ndarray, dtype: Any, in_rows: bool) -> ndarray:
    """One row a variable."""
    # Nothing writes into them: what has the type already is not copied.
    x = x if x.dtype == dtype else array(x, dtype=dtype)
    if not is_ours(x):
        raise Unsupported("a type of NumPy's")
    x = x if x.ndim == 2 else x.reshape(1, -1)
    return x if in_rows else x.T


def _weights(fweights: Any, aweights: Any, count: int) -> tuple[Any, Any]:
    """The reliability weights, and the product of both kinds."""
    both: Any = None
    if fweights is not None:
        both = operand(fweights).astype(float)
        if not (both == _core.rint(both)).all():
            raise TypeError("fweights must be integer")
        _check(both, count, "fweights")
    reliability: Any = None
    if aweights is not None:
        reliability = operand(aweights).astype(float)
        _check(reliability, count, "aweights")
        both = reliability if both is None else both * reliability
    return reliability, both


def _check(weights: ndarray, count: int, name: str) -> None:
    if weights.ndim > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if weights.shape[0] != count:
        raise RuntimeError(f"incompatible numbers of samples and {name}")
    if (weights < 0).any():
        raise ValueError(f"{name} cannot be negative")


@native
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = operand(cov(operand(x), None if y is None else operand(y), rowvar, dtype=dtype))
    if c.ndim == 0:
        return _core.divide(c, c)
    spread = _core.sqrt(c.diagonal().real)
    c /= spread[:, None]
    c /= spread[None, :]
    # Rounding may lead beyond one.
    for part in (c.real, c.imag) if c.dtype.kind == "c" else (c,):
        _core.clip(part, -1, 1, out=part)
    return c
