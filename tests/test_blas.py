"""Large matrices by the BLAS that NumPy brought, and by own code: the same results, errors and manners."""

import itertools
import os
import sys

import numpy
import pytest

import numloom
from numloom import _core
from tests import commands
from tests.test_functions import data
from tests.test_linalg import close, hermitian, matrix, positive

FIELDS = ["float32", "float64", "complex64", "complex128"]
found = pytest.mark.skipif(_core.blas() is None, reason="NumPy has brought no BLAS that is known")


@found
def test_it_is_numpys_unless_it_is_not_wanted():
    assert "blas" in os.path.basename(_core.blas())
    ended = commands.python("from numloom import _core; print(_core.blas())", NUMLOOM_CONFIG="--blas own")
    assert ended.out.strip() == "None", ended.err


@found
def test_own_code_passes_the_same_tests():
    chosen = (
        "(factorisations and float32) or (large_matrices and 300) or large_products or least or triangular or finite"
    )
    words = ["-m", "pytest", "-q", "-x", "-k", chosen, "tests/test_linalg.py", "tests/test_products.py", __file__]
    ended = commands.run(sys.executable, *words, NUMLOOM_CONFIG="--blas own")
    assert ended.status == 0, ended.out


def layouts(a):
    """The same matrix in several ways to lie in memory."""
    yield numloom.array(a)
    yield numloom.array(a.T.copy()).T
    padded = numpy.zeros((a.shape[0] + 3, a.shape[1] + 5), a.dtype)
    padded[1:-2, 2:-3] = a
    yield numloom.array(padded)[1:-2, 2:-3]
    yield numloom.array(numpy.repeat(a, 2, axis=1))[:, ::2]
    yield numloom.array(a[::-1].copy())[::-1]


@pytest.mark.parametrize("dtype", FIELDS)
def test_large_products_however_operands_lie(dtype):
    m, k, n = 300, 257, 290
    a, b = data(dtype, (m, k)), data(dtype, (k, n), 1)
    want = a @ b
    for x, y in itertools.product(layouts(a), layouts(b)):
        close(x @ y, want, 4096)
    for out in (numloom.empty((m, n), dtype), numloom.empty((n, m), dtype).T, numloom.empty((m, 2 * n), dtype)[:, ::2]):
        assert numloom.matmul(numloom.array(a), numloom.array(b), out=out) is out
        close(out, want, 4096)
    stack = numpy.stack([a, 2 * a])
    close(numloom.matmul(numloom.array(stack), numloom.array(b)), stack @ b, 4096)


@pytest.mark.parametrize("dtype", FIELDS)
def test_large_products_with_itself(dtype):
    a = data(dtype, (310, 280))
    ours = numloom.array(a)
    close(ours @ ours.T, a @ a.T, 4096)
    close(ours.T @ ours, a.T @ a, 4096)
    close(numloom.array(a.T.copy()).T @ ours.T, a @ a.T, 4096)
    square = numloom.array(a[:280])
    close(square @ square, a[:280] @ a[:280], 4096)


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
def test_large_factorisations(dtype):
    n = 165
    a, h, p = matrix(dtype, (n, n)), hermitian(dtype, (n, n)), positive(dtype, (n, n))
    tall, wide = data(dtype, (n + 60, n), 3), data(dtype, (n, n + 60), 4)
    linalg, ours = numloom.linalg, numloom.array
    for x in (a, numpy.asfortranarray(a)):
        close(linalg.inv(ours(x)), numpy.linalg.inv(x), 4096)
        close(linalg.solve(ours(x), ours(h[:, 0])), numpy.linalg.solve(x, h[:, 0]), 4096)
    for got, want in zip(linalg.slogdet(ours(a)), numpy.linalg.slogdet(a)):
        close(got, want, 4096)
    scaled = a / (4 + n)
    numpy.testing.assert_allclose(linalg.det(ours(scaled)), numpy.linalg.det(scaled), rtol=1e-3)
    close(linalg.cholesky(ours(p), upper=True), numpy.linalg.cholesky(p, upper=True), 4096)
    for x in (tall, wide):
        k = min(x.shape)
        q, r = (numpy.asarray(y) for y in linalg.qr(ours(x), mode="complete"))
        assert (q.shape, r.shape) == ((x.shape[0], x.shape[0]), x.shape)
        close(q @ r, x, 4096)
        close(numpy.abs(linalg.qr(ours(x), mode="r")), numpy.abs(numpy.linalg.qr(x, mode="r")), 1 << 16)
        for full in (True, False):
            u, s, vh = (numpy.asarray(y) for y in linalg.svd(ours(x), full_matrices=full))
            close((u[:, :k] * s) @ vh[:k], x, 4096)
            assert u.shape[1] == (x.shape[0] if full else k) and vh.shape[0] == (x.shape[1] if full else k)
        close(linalg.svdvals(ours(x)), numpy.linalg.svdvals(x), 4096)
        for b in (x[:, :3], x[:, 0]):
            got, want = linalg.lstsq(ours(x), ours(b)), numpy.linalg.lstsq(x, b)
            assert got[2] == want[2] and type(got[2]) is type(want[2])
            for g, w in zip(got, want):
                close(g, w, 1 << 16)
    for uplo in ("L", "U"):
        half = numpy.tril(h) if uplo == "L" else numpy.triu(h)
        w, v = (numpy.asarray(x) for x in linalg.eigh(ours(half), UPLO=uplo))
        close(h @ v, v * w, 1 << 14)
        close(linalg.eigvalsh(ours(half), UPLO=uplo), numpy.linalg.eigvalsh(h), 1 << 14)
    w, v = (numpy.asarray(x) for x in linalg.eig(ours(a)))
    close(a.astype(v.dtype) @ v, v * w, 1 << 14)
    close(abs(numpy.sort_complex(linalg.eigvals(ours(a)))), abs(numpy.sort_complex(numpy.linalg.eigvals(a))), 1 << 14)


def test_errors_of_large_matrices():
    n = 200
    ours, linalg = numloom.ones((n, n)), numloom.linalg
    bad = numpy.ones((n, n))
    bad[4, 3] = numpy.nan
    calls = [
        (lambda: linalg.solve(ours, ours), "Singular matrix"),
        (lambda: linalg.cholesky(ours - 3), "Matrix is not positive definite"),
        (lambda: linalg.svd(numloom.array(bad))[1].sum().item(), "SVD did not converge"),
        (lambda: linalg.eigvalsh(numloom.array(bad)).sum().item(), "Eigenvalues did not converge"),
        (lambda: linalg.lstsq(numloom.array(bad), ours), "SVD did not converge in Linear Least Squares"),
        (
            lambda: linalg.solve_triangular(0 * ours, ours),
            "singular matrix: resolution failed at diagonal 0",
        ),
    ]
    for call, words in calls:
        with pytest.raises(numpy.linalg.LinAlgError) as caught:
            call()
        assert words in str(caught.value)
    assert float(linalg.det(ours)) == 0.0
    assert numpy.isinf(numpy.asarray(linalg.cond(ours, 1)))


def test_results_are_the_same_every_time():
    a = numloom.array(data("float64", (330, 330)))
    for call in (lambda: a @ a, lambda: numloom.linalg.inv(a), lambda: numloom.linalg.eigvalsh(a)):
        first, second = numpy.asarray(call()), numpy.asarray(call())
        assert (first == second).all()


THREADS = """
import ctypes, numpy, numloom
from numloom import _core
library = ctypes.CDLL(_core.blas())
for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
    if hasattr(library, name.format("get")):
        break
get, set = (getattr(library, name.format(x)) for x in ("get", "set"))
for number in (3, 1):
    set(number)
    a = numloom.ones((400, 400))
    assert float((a @ a).sum()) == 400**3
    assert float(numloom.linalg.inv(numloom.eye(300)).sum()) == 300
    assert get() == number, get()
"""


@found
@pytest.mark.parametrize("cpus", [1, 2])
def test_the_number_of_its_threads_is_left_as_it_was(cpus):
    ended = commands.python(THREADS, NUMLOOM_CONFIG=f"--cpus {cpus}")
    assert ended.status == 0, ended.err


SHALLOW = """
import threading, numpy, numloom
x = numpy.random.default_rng(1).random((1000, 1000))
a, want, right = numloom.array(x), x @ x, []

def solve():
    b = numloom.linalg.solve(a, a @ numloom.ones(1000))
    right.append(numpy.allclose(b, 1) and numpy.allclose(a @ a, want))

solve()
threading.stack_size(256 << 10)
thread = threading.Thread(target=solve)
thread.start()
thread.join()
print(right)
"""


def test_threads_with_little_stack():
    ended = commands.python(SHALLOW)
    assert ended.out.strip() == "[True, True]", ended.err


COMPANY = """
import os, threading, numpy, numloom
rng = numpy.random.default_rng(1)
x = rng.random((400, 400))
want, inverse = x @ x, numpy.linalg.inv(x)
failed = []

def theirs():
    for _ in range(4):
        if not numpy.allclose(x @ x, want) or not numpy.allclose(numpy.linalg.inv(x), inverse):
            failed.append("theirs")

def ours():
    a = numloom.array(x)
    for _ in range(4):
        products = [a @ a for _ in range(3)]
        made = numloom.linalg.inv(a)
        if not all(numpy.allclose(p, want) for p in products) or not numpy.allclose(made, inverse):
            failed.append("ours")

threads = [threading.Thread(target=f) for f in (theirs, ours, theirs, ours)]
for t in threads:
    t.start()
for t in threads:
    t.join()
for _ in range(3):
    a = numloom.array(x)
    pending = a @ a
    child = os.fork()
    if child == 0:
        os._exit(0 if numpy.allclose(pending, want) and numpy.allclose(a @ a, want) else 1)
    if os.waitpid(child, 0)[1] or not numpy.allclose(pending, want):
        failed.append("fork")
print(failed)
"""


def test_in_company():
    ended = commands.python(COMPANY)
    assert ended.out.strip() == "[]", ended.err
