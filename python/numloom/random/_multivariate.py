"""Normals with a given covariance: independent ones of ours, times a factor of the covariance.

The factor is NumPy's, on the host: which signs its columns have decides about the numbers, and NumPy's are to come
out. It is as large as the covariance. So is the product of a few samples, for the sake of the last bit; many samples
stay in the runtime, and their products round as NumPy's do, with multiplication and addition in one step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy

from numloom._core import Unsupported, asarray, matmul, ndarray, to_numpy
from numloom._creation import zeros
from numloom._operands import is_truth

_REAL = "?bBhHiIlLqQfd"
# Elements of samples that are multiplied on the host.
_FEW = 1 << 14


def _svd(cov: Any) -> tuple[Any, Any]:
    u, s, vh = numpy.linalg.svd(cov)
    return (u * numpy.sqrt(s)).T, numpy.dot(vh.T * s, vh)


def legacy(cov: Any) -> tuple[Any, Any]:
    _, s, vh = numpy.linalg.svd(cov)
    return numpy.sqrt(s)[:, None] * vh, numpy.dot(vh.T * s, vh)


def _eigh(cov: Any) -> tuple[Any, Any]:
    s, u = numpy.linalg.eigh(cov)
    return (u * numpy.sqrt(abs(s))).T, None if (s < 0).any() else cov


def _cholesky(cov: Any) -> tuple[Any, Any]:
    return numpy.linalg.cholesky(cov).T, cov


METHODS: dict[Any, Callable[[Any], tuple[Any, Any]]] = {"svd": _svd, "eigh": _eigh, "cholesky": _cholesky}
"""What samples are multiplied by, and the covariance that it stands for; None if it stands for none."""


class Normal:
    """The arguments. `Unsupported`, before anything is drawn, for what NumPy refuses or warns about."""

    def __init__(self, mean: Any, cov: Any, size: Any) -> None:
        mean, cov = numpy.asarray(mean), numpy.asarray(cov)
        fits = mean.ndim == 1 and cov.shape == mean.shape * 2 and mean.shape[0] > 0
        if not fits or mean.dtype.char not in _REAL or cov.dtype.char not in _REAL:
            raise Unsupported("an error that NumPy words")
        if size is None:
            size = ()
        elif is_truth(size):
            raise Unsupported("an error that NumPy words")
        elif isinstance(size, int | numpy.integer):
            size = (int(size),)
        elif not isinstance(size, list | tuple):
            raise Unsupported("another kind of size")
        self._mean, self._cov = mean, cov.astype(numpy.float64)
        self.shape = (*size, mean.shape[0])

    def factor(self, check_valid: Any, tol: Any, method: Callable[[Any], tuple[Any, Any]] | None) -> Any:
        if check_valid not in ("warn", "raise", "ignore") or method is None:
            raise Unsupported("an error that NumPy words")
        try:
            factor, stands_for = method(self._cov)
        except numpy.linalg.LinAlgError as error:
            raise Unsupported("an error after the draw") from error
        if stands_for is None or not numpy.allclose(stands_for, self._cov, rtol=tol, atol=tol):
            raise Unsupported("no covariance")
        return factor

    def placed(self, normals: Any, factor: Any) -> Any:
        normals = normals.reshape(-1, self.shape[-1])
        if normals.size <= _FEW:
            # As the factor lies: that, too, decides about rounding.
            samples = asarray(numpy.matmul(to_numpy(normals), factor))
        elif self.shape[-1] == 2:
            # Sums of two products alone would be rounded twice.
            samples = matmul(_widened(normals), asarray(numpy.pad(factor, ((0, 1), (0, 0)))))
        else:
            samples = matmul(normals, asarray(factor))
        samples += self._mean
        return samples.reshape(self.shape)


def _widened(x: ndarray) -> ndarray:
    """With a further column of zeros."""
    made = zeros((x.shape[0], x.shape[1] + 1), x.dtype)
    made[:, : x.shape[1]] = x
    return made
