"""Library operations on a GPU against NumPy: factorisations, Fourier transforms, sorting, searching, indexing.

Run by `python -m tests.gpu`, on a machine with a GPU.
"""

from __future__ import annotations

import numpy
import pytest

import numloom as np

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)

TYPES = ["f4", "f8", "c8", "c16"]
LAYOUTS = ["C", "F", "strided"]
CLOSE = {"f": 2e-5, "d": 1e-9, "F": 2e-5, "D": 1e-9}


@pytest.fixture(autouse=True)
def all_of_it_on_the_gpu():
    """Nothing a test does with arrays that are there may have come home to be done."""
    np.reset_coverage()
    yield
    np.sync()
    left = np.coverage(as_dict=True)["not_on_gpu"]
    assert left == [], left


def drawn(shape, dtype, seed=0):
    r = numpy.random.default_rng(seed)
    x = r.standard_normal(shape)
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * r.standard_normal(shape)
    return x.astype(dtype)


def there(x, layout="C"):
    """The array on the GPU, in a layout."""
    x = numpy.asarray(x)
    if layout == "F":
        a = np.array(numpy.ascontiguousarray(x.swapaxes(-1, -2))).swapaxes(-1, -2)
    elif layout == "strided":
        wide = numpy.zeros((*x.shape[:-1], 2 * x.shape[-1]), x.dtype)
        wide[..., ::2] = x
        a = np.array(wide)[..., ::2]
    else:
        a = np.array(x)
    np.offload_to(a, np.StoreTarget.FBMEM)
    return a


def near(ours, want, times=1.0):
    ours, want = numpy.asarray(ours), numpy.asarray(want)
    assert ours.dtype == want.dtype and ours.shape == want.shape
    if not want.size:
        return
    error, size = abs(ours - want).max(), max(abs(want).max(), 1e-30)
    assert error <= CLOSE[want.dtype.char] * times * size, f"{error / size:.3g} off"


def definite(n, dtype, batch=()):
    x = drawn((*batch, n, n), dtype)
    return (x @ x.conj().swapaxes(-1, -2) / n + numpy.eye(n)).astype(dtype)


# -- factorisations


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_solve_and_inv(dtype, layout):
    a = drawn((200, 200), dtype)
    for right in (drawn(200, dtype, 1), drawn((200, 7), dtype, 2)):
        near(np.linalg.solve(there(a, layout), there(right)), numpy.linalg.solve(a, right), 100)
    near(np.linalg.inv(there(a, layout)), numpy.linalg.inv(a), 100)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_triangles(dtype, layout):
    a = drawn((200, 200), dtype) / 20 + 3 * numpy.eye(200, dtype=dtype)
    for right in (drawn(200, dtype, 1), drawn((200, 7), dtype, 2)):
        for lower in (False, True):
            half = numpy.tril(a) if lower else numpy.triu(a)
            ours = np.linalg.solve_triangular(there(a, layout), there(right), lower=lower)
            near(ours, numpy.linalg.solve(half, right), 100)
            unit = half - numpy.diag(numpy.diag(half)) + numpy.eye(200, dtype=dtype)
            ours = np.linalg.solve_triangular(there(a, layout), there(right), lower=lower, unit_diagonal=True)
            near(ours, numpy.linalg.solve(unit, right), 100)
    near(np.linalg.solve_triangular(there(a), there(right), trans="T"), numpy.linalg.solve(numpy.triu(a).T, right), 100)
    a[7, 7] = 0
    with pytest.raises(numpy.linalg.LinAlgError, match=r"^singular matrix: resolution failed at diagonal 7"):
        numpy.asarray(np.linalg.solve_triangular(there(a), there(right)))


@pytest.mark.parametrize("dtype", TYPES)
def test_determinants(dtype):
    a = drawn((150, 150), dtype) / 12
    near(np.linalg.det(there(a)), numpy.linalg.det(a), 100)
    for ours, want in zip(np.linalg.slogdet(there(a, "F")), numpy.linalg.slogdet(a)):
        near(ours, want, 100)
    a[3] = 0
    assert numpy.asarray(np.linalg.det(there(a))) == 0
    assert numpy.asarray(np.linalg.slogdet(there(a))[1]) == -numpy.inf


def test_stacks():
    a, b = drawn((2, 3, 130, 130), "f8"), drawn((2, 3, 130, 4), "f8", 1)
    near(np.linalg.solve(there(a), there(b)), numpy.linalg.solve(a, b), 100)
    near(np.linalg.det(there(a)), numpy.linalg.det(a), 100)
    s = definite(130, "c8", (3,))
    near(np.linalg.cholesky(there(s)), numpy.linalg.cholesky(s), 10)
    near(np.linalg.eigvalsh(there(s)), numpy.linalg.eigvalsh(s), 10)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_cholesky(dtype, layout):
    a = definite(210, dtype)
    near(np.linalg.cholesky(there(a, layout)), numpy.linalg.cholesky(a), 10)
    near(np.linalg.cholesky(there(a, layout), upper=True), numpy.linalg.cholesky(a, upper=True), 10)


@pytest.mark.parametrize("shape", [(200, 200), (300, 140), (140, 300)])
@pytest.mark.parametrize("dtype", TYPES)
def test_qr(dtype, shape):
    a = drawn(shape, dtype)
    for mode in ("reduced", "complete"):
        for layout in ("C", "F"):
            q, r = (numpy.asarray(x) for x in np.linalg.qr(there(a, layout), mode))
            wq, wr = numpy.linalg.qr(a, mode)
            assert q.shape == wq.shape and r.shape == wr.shape and q.dtype == wq.dtype
            near((q @ r).astype(dtype), a, 10)
            near((q.conj().T @ q).astype(dtype), numpy.eye(q.shape[1], dtype=dtype), 10)
            assert not numpy.tril(r, -1).any()
            near(abs(r), abs(wr), 100)
    near(abs(np.linalg.qr(there(a), "r")), abs(numpy.linalg.qr(a, "r")), 100)


@pytest.mark.parametrize("shape", [(200, 200), (300, 140), (140, 300)])
@pytest.mark.parametrize("dtype", TYPES)
def test_svd(dtype, shape):
    a = drawn(shape, dtype)
    want = numpy.linalg.svd(a, compute_uv=False)
    for full in (False, True):
        u, s, vh = (numpy.asarray(x) for x in np.linalg.svd(there(a, "F" if full else "C"), full_matrices=full))
        wu, ws, wvh = numpy.linalg.svd(a, full_matrices=full)
        assert (u.shape, s.shape, vh.shape) == (wu.shape, ws.shape, wvh.shape)
        assert (u.dtype, s.dtype, vh.dtype) == (wu.dtype, ws.dtype, wvh.dtype)
        near(s, ws, 10)
        k = len(s)
        near((u[:, :k] * s @ vh[:k]).astype(dtype), a, 10)
        near((u.conj().T @ u).astype(dtype), numpy.eye(u.shape[1], dtype=dtype), 10)
        near((vh @ vh.conj().T).astype(dtype), numpy.eye(vh.shape[0], dtype=dtype), 10)
    near(np.linalg.svd(there(a), compute_uv=False), want, 10)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_svd_of_a_matrix_that_is_not_of_full_rank(dtype):
    a = drawn((200, 5), dtype) @ drawn((5, 150), dtype, 1)
    u, s, vh = (numpy.asarray(x) for x in np.linalg.svd(there(a), full_matrices=False))
    near(s, numpy.linalg.svd(a, compute_uv=False))
    assert (s[5:] < 1e-12 * s[0]).all()
    near((u * s) @ vh, a)
    near((u.conj().T @ u).astype(dtype), numpy.eye(150, dtype=dtype))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
def test_eigh(dtype, layout):
    a = drawn((180, 180), dtype)
    for side in "LU":
        values, vectors = (numpy.asarray(x) for x in np.linalg.eigh(there(a, layout), side))
        want = numpy.linalg.eigh(a, side)
        near(values, want[0], 10)
        half = numpy.tril(a) if side == "L" else numpy.triu(a)
        whole = half + half.conj().T
        numpy.fill_diagonal(whole, numpy.diag(a).real)
        near(((vectors * values) @ vectors.conj().T).astype(dtype), whole, 10)
        near(np.linalg.eigvalsh(there(a, layout), side), want[0], 10)


def test_matrices_without_a_result():
    a = drawn((200, 200), "f8")
    a[7] = 0
    for call in (lambda: np.linalg.solve(there(a), there(a)), lambda: np.linalg.inv(there(a))):
        with pytest.raises(numpy.linalg.LinAlgError, match=r"^Singular matrix$"):
            call()
    s = definite(200, "f8")
    s[40, 40] = -1
    with pytest.raises(numpy.linalg.LinAlgError, match=r"^Matrix is not positive definite$"):
        np.linalg.cholesky(there(s))
    s = definite(200, "f8")
    s[5, 3] = numpy.nan
    with pytest.raises(numpy.linalg.LinAlgError, match=r"^Matrix is not positive definite$"):
        np.linalg.cholesky(there(s))
    with pytest.raises(numpy.linalg.LinAlgError, match=r"^Eigenvalues did not converge"):
        numpy.asarray(np.linalg.eigvalsh(there(s)))
    with pytest.raises(numpy.linalg.LinAlgError, match=r"^SVD did not converge"):
        numpy.asarray(np.linalg.svd(there(s), compute_uv=False))
    # And then everything goes on.
    near(np.linalg.inv(there(definite(200, "f8"))), numpy.linalg.inv(definite(200, "f8")), 10)


def test_what_a_factorisation_is_fused_with():
    a, b = definite(200, "f8"), drawn((200, 3), "f8")
    x, y = there(a), there(b)
    near(np.linalg.solve(x * 2 + x.T, y - 1) * 3, numpy.linalg.solve(a * 2 + a.T, b - 1) * 3, 10)


# -- Fourier transforms

NORMS = [None, "ortho", "forward"]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [1, 2, 1000, 1009, 1024, 2187])
@pytest.mark.parametrize("dtype", TYPES)
def test_transforms_of_lanes(dtype, n, norm):
    x = drawn((5, n), dtype)
    near(np.fft.fft(there(x), norm=norm), numpy.fft.fft(x, norm=norm))
    near(np.fft.ifft(there(x), norm=norm), numpy.fft.ifft(x, norm=norm))
    if numpy.dtype(dtype).kind == "f":
        near(np.fft.rfft(there(x), norm=norm), numpy.fft.rfft(x, norm=norm))
        near(np.fft.ihfft(there(x), norm=norm), numpy.fft.ihfft(x, norm=norm))
    else:
        near(np.fft.irfft(there(x), n=n, norm=norm), numpy.fft.irfft(x, n=n, norm=norm))
        near(np.fft.irfft(there(x), n=2 * n + 1, norm=norm), numpy.fft.irfft(x, n=2 * n + 1, norm=norm))
        near(np.fft.hfft(there(x), n=n + 1, norm=norm), numpy.fft.hfft(x, n=n + 1, norm=norm))


@pytest.mark.parametrize("n", [None, 30, 70])
@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_transforms_along_any_axis(layout, axis, n):
    for dtype in ("c16", "f4"):
        x = drawn((50, 51, 52), dtype)
        near(np.fft.fft(there(x, layout), n, axis), numpy.fft.fft(x, n, axis))
        near(np.fft.ifft(there(x, layout), n, axis, "ortho"), numpy.fft.ifft(x, n, axis, "ortho"))
    near(np.fft.rfft(there(x, layout), n, axis), numpy.fft.rfft(x, n, axis))
    z = drawn((50, 51, 52), "c8")
    near(np.fft.irfft(there(z, layout), n, axis), numpy.fft.irfft(z, n, axis))


@pytest.mark.parametrize("shape", [(64, 81), (20, 33, 48)])
def test_transforms_over_axes(shape):
    z, x = drawn(shape, "c16"), drawn(shape, "f8", 1)
    for name in ("fftn", "ifftn", "fft2", "ifft2"):
        near(getattr(np.fft, name)(there(z)), getattr(numpy.fft, name)(z))
    near(np.fft.rfftn(there(x)), numpy.fft.rfftn(x))
    near(np.fft.rfft2(there(x)), numpy.fft.rfft2(x))
    near(np.fft.irfftn(np.fft.rfftn(there(x)), shape, axes=range(x.ndim)), x)
    near(np.fft.fftn(there(x), (16, 40), axes=(0, 1)), numpy.fft.fftn(x, (16, 40), axes=(0, 1)))


def test_more_plans_than_are_kept():
    for n in range(100, 140):
        x = drawn((3, n), "c16")
        near(np.fft.fft(there(x)), numpy.fft.fft(x))


def test_a_convolution_of_a_long_signal():
    x, y = drawn(1 << 20, "f8"), drawn(1 << 20, "f8", 1)
    ours = np.fft.irfft(np.fft.rfft(there(x)) * np.fft.rfft(there(y)))
    near(ours, numpy.fft.irfft(numpy.fft.rfft(x) * numpy.fft.rfft(y)), 10)


# -- order, places, pieces


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_stable_sorts_keep_zeros_in_order(dtype):
    r = numpy.random.default_rng(0)
    x = r.integers(-2, 3, 100_000).astype(dtype)
    x[r.random(x.size) < 0.4] *= -1.0
    x[::1000] = numpy.nan
    for sort in (lambda m, a: m.sort(a, kind="stable"), lambda m, a: m.sort(a, stable=True)):
        ours, want = numpy.asarray(sort(np, there(x))), sort(numpy, x)
        assert numpy.array_equal(ours, want, equal_nan=True)
        assert numpy.array_equal(numpy.signbit(ours), numpy.signbit(want))
    assert numpy.array_equal(np.argsort(there(x), kind="stable"), numpy.argsort(x, kind="stable"))


@pytest.mark.parametrize("kind", [None, "stable"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i4", "f4", "f8"])
def test_sorts_in_place(dtype, kind):
    x = (drawn(200_000, "f8") * 50).astype(dtype)
    ours = there(x)
    ours.sort(kind=kind)
    assert numpy.array_equal(ours, numpy.sort(x))


@pytest.mark.parametrize("dtype", ["i4", "f4", "f8"])
def test_unique(dtype):
    x = (drawn(100_000, "f8") * 100).astype(int).astype(dtype)
    if dtype != "i4":
        x[::500] = numpy.nan
    assert numpy.array_equal(np.unique(there(x)), numpy.unique(x), equal_nan=dtype != "i4")
    found = np.unique(there(x), return_index=True, return_inverse=True, return_counts=True)
    for ours, want in zip(found, numpy.unique(x, return_index=True, return_inverse=True, return_counts=True)):
        assert numpy.array_equal(ours, want, equal_nan=ours.dtype.kind == "f")


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", ["f2", "i8", "f4", "f8", "u1"])
def test_searchsorted(dtype, side):
    a = numpy.sort((drawn(5_000, "f8") * 30).astype(dtype))
    v = (drawn((300, 400), "f8", 1) * 40).astype(dtype)
    if a.dtype.kind == "f":
        a[-7:] = numpy.nan
        v[::10] = numpy.nan
    assert numpy.array_equal(np.searchsorted(there(a), there(v), side), numpy.searchsorted(a, v, side))


def test_nonzero():
    x = drawn((40, 50, 60), "f8")
    x[abs(x) < 1] = 0
    for ours, want in zip(np.nonzero(there(x)), numpy.nonzero(x), strict=True):
        assert numpy.array_equal(ours, want)
    assert numpy.array_equal(np.flatnonzero(there(x)), numpy.flatnonzero(x))
    nothing = np.nonzero(there(numpy.zeros((300, 300))))
    assert [n.shape for n in nothing] == [(0,), (0,)]
    assert numpy.array_equal(np.argwhere(there(x) > 2), numpy.argwhere(x > 2))


def test_running_sums_in_another_type():
    x = drawn((300, 500), "f4") > 0
    for axis in (0, 1):
        assert numpy.array_equal(np.cumsum(there(x), axis=axis), numpy.cumsum(x, axis=axis))
    y = drawn(100_000, "f4")
    near(np.cumsum(there(y), dtype="f8"), numpy.cumsum(y, dtype="f8"))


def test_joined_and_turned_copies():
    x, y = drawn((300, 400), "f4"), drawn((300, 200), "f4", 1)
    assert numpy.array_equal(np.concatenate([there(x), there(y)], axis=1), numpy.concatenate([x, y], axis=1))
    assert numpy.array_equal(np.vstack([there(x), there(x)]), numpy.vstack([x, x]))
    assert numpy.array_equal(there(x).T.copy(), x.T)
    z = drawn((20, 30, 40), "c16")
    assert numpy.array_equal(np.ascontiguousarray(there(z).transpose(2, 0, 1)), z.transpose(2, 0, 1))
