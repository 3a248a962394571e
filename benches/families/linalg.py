"""Factorisations of one matrix of side 1,000, and of many small ones."""

import numpy

from . import Row

N = 1000


def matrix(rng):
    return rng.random((N, N)) - 0.5


def symmetric(rng):
    a = matrix(rng)
    return a + a.T


def positive(rng):
    a = matrix(rng)
    return a @ a.T + numpy.eye(N)


def vector(rng):
    return rng.random(N)


def small(rng):
    return rng.random((20_000, 4, 4)) + 4 * numpy.eye(4)


def middling(rng):
    return rng.random((200, 60, 60)) + 60 * numpy.eye(60)


def up_to_sign(got, want):
    return numpy.allclose(abs(got), abs(want), rtol=1e-5, atol=1e-7)


ROWS = [
    Row("cholesky", lambda np, a: np.linalg.cholesky(a), (positive,)),
    Row("solve", lambda np, a, b: np.linalg.solve(a, b), (matrix, vector)),
    Row("inv", lambda np, a: np.linalg.inv(a), (matrix,)),
    Row("slogdet", lambda np, a: np.linalg.slogdet(a)[1], (matrix,)),
    Row("qr", lambda np, a: np.linalg.qr(a)[1], (matrix,), up_to_sign),
    Row("svd", lambda np, a: np.linalg.svd(a)[1], (matrix,)),
    Row("svdvals", lambda np, a: np.linalg.svdvals(a), (matrix,)),
    Row("eigh", lambda np, a: np.linalg.eigh(a)[0], (symmetric,)),
    Row("eigvalsh", lambda np, a: np.linalg.eigvalsh(a), (symmetric,)),
    Row("eigvals", lambda np, a: np.sort(np.linalg.eigvals(a)), (matrix,)),
    Row("lstsq", lambda np, a, b: np.linalg.lstsq(a, b)[3], (matrix, vector)),
    Row("inv of 20,000 4x4", lambda np, a: np.linalg.inv(a), (small,)),
    Row("det of 20,000 4x4", lambda np, a: np.linalg.det(a), (small,)),
    Row("solve of 200 60x60", lambda np, a: np.linalg.solve(a, a[:, :, :1]), (middling,)),
]
