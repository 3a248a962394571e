"""Products of matrices, and Einstein's sums."""

from . import Row

N = 2000


def square(rng):
    return rng.random((N, N))


def single(rng):
    return rng.random((N, N), dtype="f4")


def small(rng):
    return rng.random((200, 200))


def stack(rng):
    return rng.random((200, 100, 100))


def cube(rng):
    return rng.random((200, 200, 200))


ROWS = [
    Row("matmul f64", lambda np, a, b: a @ b, (square, square)),
    Row("matmul f32", lambda np, a, b: a @ b, (single, single)),
    Row("einsum ij,jk,kl", lambda np, a, b, c: np.einsum("ij,jk,kl", a, b, c), (small, small, small)),
    Row("einsum bij,bjk", lambda np, a, b: np.einsum("bij,bjk->bik", a, b), (stack, stack)),
    Row("einsum ijk,ijk->i", lambda np, a, b: np.einsum("ijk,ijk->i", a, b), (cube, cube)),
    Row("tensordot", lambda np, a, b: np.tensordot(a, b, ([1, 2], [0, 1])), (cube, cube)),
]
