"""Linear algebra against NumPy: what is unique is compared, of what is free (signs, bases) what must hold."""

import itertools

import numpy
import pytest

import numloom
from tests.test_functions import agree, data

DTYPES = ["bool", "int32", "float16", "float32", "float64", "complex64", "complex128"]
FIELDS = ["float32", "float64", "complex64", "complex128"]
STACKS = [(), (3,), (2, 3), (0,)]
SIDES = [1, 2, 3, 5, 17]


def matrix(dtype, shape, seed=0):
    """Well conditioned, if it is square."""
    made = data(dtype, shape, seed).astype(numpy.result_type(dtype, numpy.float32), copy=False)
    if len(shape) > 1 and shape[-1] == shape[-2]:
        made = made + (4 + shape[-1]) * numpy.eye(shape[-1], dtype=made.dtype)
    return made.astype(dtype)


def hermitian(dtype, shape, seed=0):
    a = data(dtype, shape, seed)
    return a + a.swapaxes(-1, -2).conj()


def positive(dtype, shape, seed=0):
    a = data(dtype, shape, seed)
    return a @ a.swapaxes(-1, -2).conj() + numpy.eye(shape[-1], dtype=a.dtype)


def close(got, want, tolerance=512):
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.shape == want.shape, f"{got.shape}, want {want.shape}"
    assert got.dtype == want.dtype, f"{got.dtype}, want {want.dtype}"
    if got.size == 0:
        return
    eps = numpy.finfo(want.dtype).eps if want.dtype.kind in "fc" else 0
    scale = max(1.0, float(numpy.abs(want).max()))
    numpy.testing.assert_allclose(got, want, rtol=tolerance * eps, atol=tolerance * eps * scale)


def same_kind(got, want):
    """Shape, dtype and layout, for results whose values are free."""
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert (got.shape, got.dtype, got.flags.c_contiguous) == (want.shape, want.dtype, want.flags.c_contiguous)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", STACKS)
def test_systems_inverses_and_determinants(dtype, stack):
    for n in SIDES:
        a = matrix(dtype, (*stack, n, n))
        ours = numloom.array(a)
        for columns in (1, 4):
            b = data(dtype, (*stack, n, columns), 1)
            close(numloom.linalg.solve(ours, numloom.array(b)), numpy.linalg.solve(a, b))
        vector = data(dtype, (n,), 2)
        close(numloom.linalg.solve(ours, vector), numpy.linalg.solve(a, vector))
        close(numloom.linalg.inv(ours), numpy.linalg.inv(a))
        close(numloom.linalg.det(ours), numpy.linalg.det(a), 4096)
        for got, want in zip(numloom.linalg.slogdet(ours), numpy.linalg.slogdet(a)):
            close(got, want)
        close(numloom.linalg.matrix_power(ours, -2), numpy.linalg.matrix_power(a, -2), 4096)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["inv", "det", "slogdet", "cholesky", "eigvalsh", "svdvals", "pinv", "cond"])
def test_types_that_are_taken(dtype, name):
    a = numpy.eye(3) if dtype == "bool" else positive("float64", (3, 3))
    agree(lambda np, x: getattr(np.linalg, name)(x), a.astype(dtype))


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", STACKS)
def test_cholesky(dtype, stack):
    for n in SIDES:
        a = positive(dtype, (*stack, n, n))
        for upper in (False, True):
            close(numloom.linalg.cholesky(numloom.array(a), upper=upper), numpy.linalg.cholesky(a, upper=upper))


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
def test_qr(dtype, stack, mode):
    for shape in [(1, 1), (3, 3), (5, 3), (3, 5), (17, 4), (0, 3), (3, 0)]:
        a = data(dtype, (*stack, *shape))
        got, want = numloom.linalg.qr(numloom.array(a), mode), numpy.linalg.qr(a, mode)
        if mode == "r":
            same_kind(got, want)
            close(numpy.abs(numpy.asarray(got)), numpy.abs(want))
            continue
        q, r = numpy.asarray(got.Q), numpy.asarray(got.R)
        same_kind(q, want.Q)
        same_kind(r, want.R)
        close(q @ r, a)
        identity = numpy.broadcast_to(numpy.eye(q.shape[-1], dtype=dtype), (*stack, q.shape[-1], q.shape[-1]))
        close(q.swapaxes(-1, -2).conj() @ q, identity)
        assert (numpy.tril(r, -1) == 0).all()


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("full", [True, False])
def test_svd(dtype, stack, full):
    for shape in [(1, 1), (4, 4), (6, 3), (3, 6), (40, 2), (0, 3)]:
        a = data(dtype, (*stack, *shape))
        got, want = numloom.linalg.svd(numloom.array(a), full), numpy.linalg.svd(a, full)
        for g, w in zip(got, want):
            same_kind(g, w)
        close(got.S, want.S)
        u, s, vh = (numpy.asarray(x) for x in got)
        k = s.shape[-1]
        close((u[..., :k] * s[..., None, :]) @ vh[..., :k, :], a)
        close(numpy.asarray(numloom.linalg.svdvals(numloom.array(a))), want.S)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("uplo", ["L", "U"])
def test_hermitian_eigenvalues(dtype, stack, uplo):
    for n in SIDES:
        a = hermitian(dtype, (*stack, n, n))
        # The other triangle is not looked at.
        half = numpy.tril(a) if uplo == "L" else numpy.triu(a)
        got, want = numloom.linalg.eigh(numloom.array(half), uplo), numpy.linalg.eigh(half, uplo)
        for g, w in zip(got, want):
            same_kind(g, w)
        close(got.eigenvalues, want.eigenvalues)
        v = numpy.asarray(got.eigenvectors)
        close(a @ v, v * numpy.asarray(got.eigenvalues)[..., None, :])
        close(numloom.linalg.eigvalsh(numloom.array(half), uplo), want.eigenvalues)
        s = numloom.linalg.svd(numloom.array(a), compute_uv=False, hermitian=True)
        close(s, numpy.linalg.svd(a, compute_uv=False, hermitian=True))


def sorted_numbers(x):
    return numpy.take_along_axis(x, numpy.lexsort((x.imag.round(3), x.real.round(3)), axis=-1), axis=-1)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", [(), (3,), (2, 2)])
def test_general_eigenvalues(dtype, stack):
    for n in SIDES:
        for a in (data(dtype, (*stack, n, n)), hermitian(dtype, (*stack, n, n))):
            got, want = numloom.linalg.eig(numloom.array(a)), numpy.linalg.eig(a)
            for g, w in zip(got, want):
                same_kind(g, w)
            values, v = numpy.asarray(got.eigenvalues), numpy.asarray(got.eigenvectors)
            close(sorted_numbers(values), sorted_numbers(want.eigenvalues), 4096)
            close((a @ v).astype(v.dtype), v * values[..., None, :], 4096)
            close(numpy.linalg.norm(v, axis=-2), numpy.ones(values.shape, dtype=values.real.dtype))
            alone = numpy.asarray(numloom.linalg.eigvals(numloom.array(a)))
            close(sorted_numbers(alone), sorted_numbers(want.eigenvalues), 4096)


def test_real_matrices_with_real_and_complex_values():
    turn, scale = numpy.array([[0.0, 1.0], [-1.0, 0.0]]), numpy.diag([1.0, 2.0])
    for a in (turn, scale, numpy.array([turn, scale])):
        agree(lambda np, x: np.sort(np.linalg.eigvals(x)), a)


@pytest.mark.parametrize("dtype", FIELDS)
def test_least_squares(dtype):
    for shape in [(5, 5), (8, 3), (3, 8)]:
        a, wide, thin = data(dtype, shape), data(dtype, (shape[0], 4), 1), data(dtype, (shape[0],), 2)
        for b in (wide, thin):
            for rcond in (None, -1, 1e-3):
                got = numloom.linalg.lstsq(numloom.array(a), numloom.array(b), rcond)
                want = numpy.linalg.lstsq(a, b, rcond)
                assert got[2] == want[2]
                for g, w in zip(got, want):
                    close(g, w, 4096)
    flat = numpy.outer(numpy.arange(6.0), numpy.arange(1.0, 4.0)).astype(dtype)
    agree(lambda np, x: np.linalg.lstsq(x, np.arange(6).astype(x.dtype)), flat)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", STACKS)
def test_pseudoinverse_rank_and_condition(dtype, stack):
    for shape in [(3, 3), (5, 2), (2, 5), (0, 3)]:
        a = matrix(dtype, (*stack, *shape))
        ours = numloom.array(a)
        close(numloom.linalg.pinv(ours), numpy.linalg.pinv(a))
        close(numloom.linalg.matrix_rank(ours), numpy.linalg.matrix_rank(a))
        if 0 in a.shape:
            continue
        for p in (None, 2, -2):
            close(numloom.linalg.cond(ours, p), numpy.linalg.cond(a, p), 4096)
        if shape[0] == shape[1]:
            for p in (1, -1, numpy.inf, -numpy.inf, "fro", "nuc"):
                close(numloom.linalg.cond(ours, p), numpy.linalg.cond(a, p), 4096)
            close(
                numloom.linalg.pinv(ours + ours.swapaxes(-1, -2).conj(), hermitian=True),
                numpy.linalg.pinv(a + a.swapaxes(-1, -2).conj(), hermitian=True),
                4096,
            )


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex128"])
def test_norms(dtype):
    x = data(dtype, (3, 4, 5))
    for ord in (None, "fro", "nuc", 1, -1, 2, -2, numpy.inf, -numpy.inf, 3, "bad"):
        for axis in (None, 0, -1, (0, 1), (2, 0), (1, 1), (0, 1, 2), 7):
            for keepdims in (False, True):
                agree(lambda np, x, ord=ord, axis=axis, keepdims=keepdims: np.linalg.norm(x, ord, axis, keepdims), x)
        agree(lambda np, x, ord=ord: np.linalg.norm(x[0], ord), x)
        agree(lambda np, x, ord=ord: np.linalg.norm(x[0, 0], ord), x)
        agree(lambda np, x, ord=ord: np.linalg.matrix_norm(x, ord=ord), x)
    for axis in (None, 0, (0, 2), (0, 1, 2)):
        for keepdims in (False, True):
            agree(
                lambda np, x, axis=axis, keepdims=keepdims: np.linalg.vector_norm(
                    x, axis=axis, keepdims=keepdims, ord=3
                ),
                x,
            )


def test_singular_matrices():
    flat = numpy.ones((3, 3))
    for call in (
        lambda np, x: np.linalg.inv(x),
        lambda np, x: np.linalg.solve(x, np.ones(3)),
        lambda np, x: np.linalg.cholesky(x - 2 * np.eye(3)),
        lambda np, x: np.linalg.matrix_power(x, -1),
        lambda np, x: np.linalg.tensorinv(x, ind=1),
        lambda np, x: np.linalg.inv(np.stack([np.eye(3), x])),
    ):
        with pytest.raises(numpy.linalg.LinAlgError) as want:
            call(numpy, flat)
        with pytest.raises(numpy.linalg.LinAlgError) as got:
            call(numloom, numloom.array(flat))
        assert str(got.value) == str(want.value)
        # Nothing is left behind.
        assert float((numloom.arange(10.0) + 1).sum()) == 55.0
    for shape in [(3, 3), (40, 40), (2, 20, 20)]:
        for name in ("det", "slogdet", "matrix_rank"):
            agree(lambda np, x, name=name: getattr(np.linalg, name)(x), numpy.ones(shape))
        assert numpy.isinf(numpy.asarray(numloom.linalg.cond(numloom.ones(shape), 1))).all()


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 9, 16])
def test_stacks_of_small_matrices(dtype, n):
    # Backwards, the rows must change their places.
    a = matrix(dtype, (40, 5, n, n))[:, ::2, ::-1]
    ours = numloom.array(matrix(dtype, (40, 5, n, n)))[:, ::2, ::-1]
    for name in ("inv", "det"):
        close(getattr(numloom.linalg, name)(ours), getattr(numpy.linalg, name)(a))
        close(getattr(numloom.linalg, name)(ours.swapaxes(-1, -2)), getattr(numpy.linalg, name)(a.swapaxes(-1, -2)))
    for got, want in zip(numloom.linalg.slogdet(ours), numpy.linalg.slogdet(a), strict=True):
        close(got, want)
    for columns in (0, 1, n, n + 3, 40):
        b = data(dtype, (40, 3, n, columns), 1)
        close(numloom.linalg.solve(ours, numloom.array(b)), numpy.linalg.solve(a, b))
    close(numloom.linalg.solve(ours, numloom.array(b[0, 0, :, 0])), numpy.linalg.solve(a, b[0, 0, :, 0]))


@pytest.mark.parametrize("n", [1, 2, 4, 7])
def test_one_small_matrix_of_many_is_singular_or_no_number(n):
    a = matrix("float64", (5000, n, n))
    a[3000] = 0.0
    agree(lambda np, x: np.linalg.det(x)[2998:3002] == 0, a)
    for call in (lambda np, x: np.linalg.inv(x), lambda np, x: np.linalg.solve(x, x[:, :1].swapaxes(-1, -2))):
        with pytest.raises(numpy.linalg.LinAlgError, match=r"^Singular matrix$"):
            call(numloom, numloom.array(a))
    a[3000] = numpy.nan
    agree(lambda np, x: np.isnan(np.linalg.inv(x)).sum(), a)
    agree(lambda np, x: np.isnan(np.linalg.det(x)).sum(), a)


def test_a_large_singular_matrix_is_refused_in_the_call():
    a = numloom.ones((400, 400)) * 2.0
    with pytest.raises(numpy.linalg.LinAlgError) as caught:
        numloom.linalg.inv(a)
    assert str(caught.value) == "Singular matrix"
    with pytest.raises(numpy.linalg.LinAlgError) as caught:
        numloom.linalg.cholesky(a - 5.0)
    assert str(caught.value) == "Matrix is not positive definite"
    assert float(a.sum()) == 320_000.0


def test_numbers_that_are_not_finite():
    bad = numpy.eye(3) + 0.1
    bad[2, 0] = numpy.nan
    for name in ("eig", "eigvals", "svd", "svdvals", "eigh", "eigvalsh"):
        with pytest.raises(numpy.linalg.LinAlgError):
            getattr(numpy.linalg, name)(bad)
        with pytest.raises(numpy.linalg.LinAlgError):
            made = getattr(numloom.linalg, name)(numloom.array(bad))
            numpy.asarray(made[0])
    numloom.sync()


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.linalg.inv(x[0]),
        lambda np, x: np.linalg.inv(x),
        lambda np, x: np.linalg.det(x[:, :2]),
        lambda np, x: np.linalg.cholesky(x),
        lambda np, x: np.linalg.solve(x[:, :3], np.ones(4)),
        lambda np, x: np.linalg.solve(x[:, :3], np.ones((2, 2))),
        lambda np, x: np.linalg.solve(x[:, :3], 1.0),
        lambda np, x: np.linalg.eigh(x[:, :3], "X"),
        lambda np, x: np.linalg.eigh(x),
        lambda np, x: np.linalg.qr(x, "strange"),
        lambda np, x: np.linalg.qr(x[0]),
        lambda np, x: np.linalg.svd(x[0]),
        lambda np, x: np.linalg.lstsq(x, np.ones(5)),
        lambda np, x: np.linalg.matrix_power(x, 2),
        lambda np, x: np.linalg.matrix_power(x[:, :3], 1.5),
        lambda np, x: np.linalg.multi_dot([x]),
        lambda np, x: np.linalg.multi_dot([x, x]),
        lambda np, x: np.linalg.pinv(x, 1e-3, rtol=1e-3),
        lambda np, x: np.linalg.matrix_rank(x, 1e-3, rtol=1e-3),
        lambda np, x: np.linalg.cond(x[:0]),
        lambda np, x: np.linalg.cond(x, "weird"),
        lambda np, x: np.linalg.tensorinv(x, ind=0),
        lambda np, x: np.linalg.tensorsolve(x, x),
        lambda np, x: np.linalg.inv("words"),
    ],
)
def test_mistakes(call):
    agree(call, data("float64", (3, 4)))


def test_raw_qr_is_numpys():
    agree(lambda np, x: np.linalg.qr(x, "raw"), data("float64", (4, 3)))


def test_tensor_equations():
    a, b = matrix("float64", (24, 24)).reshape(4, 6, 8, 3), data("float64", (4, 6))
    agree(lambda np, x, y: np.linalg.tensorsolve(x, y), a, b)
    agree(lambda np, x, y: np.linalg.tensorsolve(x.transpose(2, 0, 1, 3), y, axes=(0, 3)), a, b)
    agree(lambda np, x: np.linalg.tensorinv(x, ind=2), a)


def test_chains_of_products():
    sides = [3, 40, 2, 30, 5]
    parts = [data("float64", s, i) for i, s in enumerate(itertools.pairwise(sides))]
    agree(lambda np, *xs: np.linalg.multi_dot(xs), *parts)
    agree(lambda np, *xs: np.linalg.multi_dot([xs[0][0], *xs[1:]]), *parts)
    agree(lambda np, *xs: np.linalg.multi_dot([xs[0][0], *xs[1:-1], xs[-1][:, 0]]), *parts)
    agree(lambda np, *xs: np.linalg.multi_dot(xs, out=np.zeros((3, 5))), *parts)


@pytest.mark.parametrize("n", [300, 401])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_large_matrices(n, dtype):
    a, h = matrix(dtype, (n, n)), hermitian(dtype, (n, n))
    p = positive(dtype, (n, n))
    ours = numloom.array(a)
    close(numloom.linalg.solve(ours, numloom.array(h)), numpy.linalg.solve(a, h), 4096)
    close(numloom.linalg.cholesky(numloom.array(p)), numpy.linalg.cholesky(p), 4096)
    q, r = (numpy.asarray(x) for x in numloom.linalg.qr(ours))
    close(q @ r, a, 4096)
    u, s, vh = (numpy.asarray(x) for x in numloom.linalg.svd(ours))
    close((u * s) @ vh, a, 4096)
    w, v = (numpy.asarray(x) for x in numloom.linalg.eigh(numloom.array(h)))
    close(h @ v, v * w, 4096)
    close(v.conj().T @ v, numpy.eye(n, dtype=dtype), 4096)


@pytest.mark.parametrize("dtype", FIELDS)
@pytest.mark.parametrize("stack", [(), (3,)])
def test_triangular_and_cholesky_solvers(dtype, stack):
    a, b = matrix(dtype, (*stack, 5, 5)), data(dtype, (*stack, 5, 2), 1)
    for lower in (False, True):
        half = numpy.tril(a) if lower else numpy.triu(a)
        for trans, turned in ((0, half), ("T", half.swapaxes(-1, -2)), (2, half.conj().swapaxes(-1, -2))):
            got = numloom.linalg.solve_triangular(numloom.array(a), b, trans=trans, lower=lower)
            close(got, numpy.linalg.solve(turned, b))
        unit = half - half * numpy.eye(5, dtype=dtype) + numpy.eye(5, dtype=dtype)
        got = numloom.linalg.solve_triangular(numloom.array(a), b, lower=lower, unit_diagonal=True)
        close(got, numpy.linalg.solve(unit, b), 1 << 16)
        p = positive(dtype, (*stack, 5, 5))
        factored = numloom.linalg.cho_factor(numloom.array(p), lower=lower)
        close(numloom.linalg.cho_solve(factored, numloom.array(b)), numpy.linalg.solve(p, b), 4096)
    with pytest.raises(numpy.linalg.LinAlgError, match="singular matrix: resolution failed at diagonal 1"):
        numloom.linalg.solve_triangular(numloom.array([[1.0, 2.0], [0.0, 0.0]]), [1.0, 2.0])
    with pytest.raises(ValueError):
        numloom.linalg.solve_triangular(numloom.ones((2, 3)), [1.0, 2.0])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("size", [1e-3, 0.1, 0.5, 2.0, 30.0])
def test_the_exponential(dtype, size):
    h = hermitian(dtype, (4, 4))
    h = h * numpy.asarray(size / numpy.abs(h).sum(axis=0).max(), dtype=h.real.dtype)
    w, v = numpy.linalg.eigh(h)
    close(numloom.linalg.expm(numloom.array(h)), ((v * numpy.exp(w)) @ v.conj().T).astype(dtype), 4096)
    turn = numpy.array([[0.0, size], [-size, 0.0]])
    want = numpy.array([[numpy.cos(size), numpy.sin(size)], [-numpy.sin(size), numpy.cos(size)]])
    close(numloom.linalg.expm(numloom.array(turn)), want, 4096)
    close(numloom.linalg.expm(numloom.array([turn, turn * 0])), numpy.array([want, numpy.eye(2)]), 4096)


def test_nothing_falls_back():
    numloom.reset_coverage()
    a = numloom.array(positive("float64", (6, 6)))
    for name in ("inv", "det", "slogdet", "cholesky", "qr", "svd", "eigh", "eig", "pinv", "cond", "matrix_rank"):
        getattr(numloom.linalg, name)(a)
    numloom.linalg.solve(a, a)
    numloom.linalg.lstsq(a, a)
    numloom.linalg.multi_dot([a, a, a])
    assert numloom.coverage(as_dict=True)["fallbacks"] == []


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("power", [-300, -200, -160, 160, 200, 300])
@pytest.mark.parametrize("n", [3, 20, 60])
def test_entries_whose_squares_are_no_numbers(n, power, dtype):
    """Scaled by a power of two, everything is what it is for moderate entries."""
    rng = numpy.random.default_rng(n)
    a = rng.normal(size=(n, n)) + (1j * rng.normal(size=(n, n)) if dtype[0] == "c" else 0)
    a = numpy.ldexp(a.view(float), int(power / 0.30103)).view(dtype)
    ones = numpy.ones(n)
    for compute in (
        lambda l, x: l.svdvals(x),
        lambda l, x: l.svd(x)[1],
        lambda l, x: l.norm(x, 2),
        lambda l, x: l.cond(x),
        lambda l, x: l.pinv(x),
        lambda l, x: l.inv(x),
        lambda l, x: l.solve(x, ones),
        lambda l, x: l.lstsq(x, ones, rcond=None)[0],
        lambda l, x: l.slogdet(x)[1],
        lambda l, x: numpy.sort(numpy.abs(numpy.asarray(l.eigvals(x)))),
    ):
        want = numpy.asarray(compute(numpy.linalg, a))
        got = numpy.asarray(compute(numloom.linalg, numloom.array(a)))
        size = numpy.abs(want).max()
        numpy.testing.assert_allclose(got / size, want / size, atol=1e-9)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("shape", [(1, 1), (3, 3), (5, 3), (3, 5), (2, 4, 3), (40, 30), (250, 200)])
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_factors_are_lapacks(dtype, shape, mode):
    """The diagonal of R is real, its signs are LAPACK's."""
    a = data(dtype, shape, 5)
    theirs, ours = numpy.linalg.qr(a, mode), numloom.linalg.qr(numloom.asarray(a), mode)
    near = 1e-3 if dtype == "complex64" else 1e-9
    for x, y in zip(*((one,) if mode == "r" else one for one in (ours, theirs))):
        numpy.testing.assert_allclose(numpy.asarray(x), y, rtol=near, atol=near)


@pytest.mark.parametrize("side", [1, 3, 20, 220])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_one_triangle_of_a_hermitian_matrix_is_read(dtype, side):
    """Neither the other one nor imaginary parts on the diagonal are looked at."""
    whole = data(dtype, (side, side), 6)
    for uplo, other in ("L", numpy.triu_indices(side, 1)), ("U", numpy.tril_indices(side, -1)):
        a = whole.copy()
        a[other] = numpy.nan
        expected = numpy.linalg.eigvalsh(a, uplo)
        numpy.testing.assert_allclose(
            numpy.asarray(numloom.linalg.eigvalsh(numloom.asarray(a), uplo)), expected, atol=1e-9
        )
        values, vectors = (numpy.asarray(x) for x in numloom.linalg.eigh(numloom.asarray(a), uplo))
        numpy.testing.assert_allclose(values, expected, atol=1e-9)
        numpy.testing.assert_allclose(vectors.conj().T @ vectors, numpy.eye(side), atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_what_is_not_finite_goes_on_into_the_factor(dtype):
    for a in ([[4, 2], [2, numpy.nan]], [[numpy.nan]], [[numpy.inf, 0], [0, 1]], [[numpy.nan, 1], [1, 4]]):
        a = numpy.array(a, dtype)
        ours, theirs = (numpy.asarray(m.linalg.cholesky(m.asarray(a))) for m in (numloom, numpy))
        numpy.testing.assert_array_equal(ours.real, theirs.real)
    for a in ([[numpy.nan]], [[numpy.inf, 0], [0, 1]], [[-numpy.inf, 0], [0, 1]]):
        agree(numloom.linalg.slogdet(numloom.array(a))[0], numpy.linalg.slogdet(numpy.array(a))[0])
    with pytest.raises(numpy.linalg.LinAlgError):
        numloom.linalg.cholesky(numloom.array([[1, 2], [2, 1]], dtype)).tolist()


@pytest.mark.parametrize(
    "shape, at",
    [((2, 2), (0, 0)), ((3, 3), (1, 1)), ((5, 3), (2, 2)), ((3, 5), (0, 1))]
    + [((4, 4), (0, 3)), ((40, 40), (3, 20)), ((3, 3), (2, 0)), ((100, 30), (50, 10))],
)
@pytest.mark.parametrize("dtype", "fd")
def test_nan_reaches_all_of_r_that_is_computed_from_it(shape, at, dtype):
    a = numpy.random.default_rng(3).random(shape).astype(dtype)
    a[at] = numpy.nan
    for mode in ("r", "reduced", "complete"):
        agree(lambda np, x, mode=mode: np.isnan(np.linalg.qr(x, mode=mode)[-1 if mode != "r" else ...]), a)
    r, got = numpy.linalg.qr(a, mode="r"), numloom.linalg.qr(numloom.asarray(a), mode="r")
    numpy.testing.assert_allclose(numpy.asarray(got), r, rtol=1e-3 if dtype == "f" else 1e-9, atol=1e-5)


def out_of_balance():
    rng = numpy.random.default_rng(8)
    upper = numpy.triu(rng.random((6, 6)))
    reducible = rng.random((6, 6))
    reducible[[1, 3]] *= numpy.eye(6)[[1, 3]]
    scaled = numpy.array([[1, 1e8, 0], [1e-8, 2, 1e8], [0, 1e-8, 3]])
    jordan = numpy.eye(5) + numpy.eye(5, k=1)
    return [numpy.tri(5), upper, upper.T, upper[::-1, ::-1], jordan, jordan.T, reducible, reducible.T, scaled,
            numpy.eye(4)[[2, 0, 3, 1]], upper.T + 1j * upper.T, numpy.zeros((3, 3))]  # fmt: skip


@pytest.mark.parametrize("a", out_of_balance())
def test_eigenvalues_that_can_be_read_off_are(a):
    """A triangle with one eigenvalue several times has them to a few digits only, unless it is seen to be one."""
    w = numpy.linalg.eigvals(a)
    ours, vectors = (numpy.asarray(x) for x in numloom.linalg.eig(numloom.array(a)))
    assert ours.dtype == w.dtype and numpy.asarray(numloom.linalg.eigvals(numloom.array(a))).dtype == w.dtype
    numpy.testing.assert_allclose(numpy.sort_complex(ours), numpy.sort_complex(w), rtol=1e-12, atol=1e-14)
    numpy.testing.assert_allclose(a @ vectors, vectors * ours, atol=1e-12 * max(1, numpy.abs(a).max()))
    numpy.testing.assert_allclose(numpy.linalg.norm(vectors, axis=0), 1)


@pytest.mark.parametrize("size", [1, 1e6, 1e10, 1e-12, 1e-20, 1e-200])
@pytest.mark.parametrize("n", [6, 64, 129, 150, 161])
@pytest.mark.parametrize("dtype", "dD")
def test_eigenvectors_of_matrices_of_any_size(size, n, dtype):
    """A small number next to the others is one thing, a matrix of small numbers another."""
    a = numpy.random.default_rng(n).standard_normal((n, n)).astype(dtype)
    a = a + 1j * a.T if dtype == "D" else a
    w, v = (numpy.asarray(x) for x in numloom.linalg.eig(numloom.array(a * size)))
    assert abs(a @ v - v * (w / size)).max() < 1e-11
    a = a + a.conj().T
    w, v = (numpy.asarray(x) for x in numloom.linalg.eigh(numloom.array(a * size)))
    assert abs(a @ v - v * (w / size)).max() < 1e-11
    values = numpy.asarray(numloom.linalg.eigvalsh(numloom.array(a * size))) / size
    numpy.testing.assert_allclose(values, numpy.linalg.eigvalsh(a), atol=1e-11)


@pytest.mark.parametrize("size", [1e200, 1e-200, 1e-160])
def test_orthogonal_factors_of_matrices_of_any_size(size):
    a = numpy.array([[1 + 1j, 2], [3, 4j]])
    for x in (a, a.real):
        q, r = (numpy.asarray(f) for f in numloom.linalg.qr(numloom.array(x * size)))
        numpy.testing.assert_allclose(q.conj().T @ q, numpy.eye(2), atol=1e-14)
        numpy.testing.assert_allclose(q @ (r / size), x, atol=1e-14)


def test_one_right_side_for_a_stack_of_factors():
    c = numpy.array([numpy.eye(2), 2 * numpy.eye(2)])
    x = numpy.asarray(numloom.linalg.cho_solve((numloom.array(c), True), [1.0, 2.0]))
    numpy.testing.assert_allclose(x, [[1, 2], [0.25, 0.5]])
    c = numpy.array([numpy.eye(3), 2 * numpy.eye(3)])
    x = numpy.asarray(numloom.linalg.cho_solve((numloom.array(c), True), [1.0, 2.0, 4.0]))
    numpy.testing.assert_allclose(x, [[1, 2, 4], [0.25, 0.5, 1]])


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128", "float16", "int32", "uint8", "bool"])
def test_many_products_of_few_elements(dtype):
    for m, k, n in itertools.product((1, 2, 3, 9, 12), (1, 2, 3, 4, 7, 11), (1, 3, 8, 10, 19)):
        a, b = data(dtype, (6, m, k), 1), data(dtype, (6, k, n), 2)
        turned = numpy.ascontiguousarray(b.transpose(0, 2, 1)).transpose(0, 2, 1)
        for left, right in (a, b), (a[::-1], b[:1]), (a[2], b), (a[:, ::-1], turned):
            made = numpy.asarray(numloom.asarray(left) @ numloom.asarray(right))
            expected = left @ right
            assert made.dtype == expected.dtype
            near = {"float32": 1e-5, "float16": 1e-2}.get(dtype, 1e-12)
            numpy.testing.assert_allclose(made, expected, rtol=near, atol=near)
    if dtype not in ("float16", "bool"):
        tall = data(dtype, (40_000, 9), 3)
        product = numpy.asarray(numloom.asarray(tall).T @ numloom.asarray(tall))
        numpy.testing.assert_allclose(product, tall.T @ tall, rtol=1e-3 if dtype == "float32" else 1e-9, atol=1e-6)
