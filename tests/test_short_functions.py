"""Functions that do plain calls on a few elements at once give what NumPy gives; the rest is composed."""

import itertools
import random

import numpy
import pytest

import numloom as np
from numloom._core import short_ways

DTYPES = "?bBhHiIlLefdFD"


def pair(shape, dtype="d", seed=0):
    rng = numpy.random.default_rng(seed)
    with numpy.errstate(invalid="ignore"):
        host = numpy.asarray(rng.normal(size=shape) * 20).astype(dtype)
    return host, np.asarray(host)


def same(got, expected):
    assert type(got) is (np.ndarray if isinstance(expected, numpy.ndarray) else type(expected))
    assert numpy.shape(got) == numpy.shape(expected) and got.dtype == expected.dtype
    if isinstance(expected, numpy.ndarray) and expected.size:
        for n, ours, theirs in zip(expected.shape, got.strides, expected.strides):
            assert ours == theirs or n == 1
    rtol = {"e": 2e-3, "f": 1e-6, "F": 1e-6}.get(expected.dtype.char, 1e-12)
    finite = numpy.abs(numpy.asarray(expected, "D"))[numpy.isfinite(expected)]
    atol = rtol * finite.max(initial=0) if expected.dtype.kind in "fc" else 0
    numpy.testing.assert_allclose(numpy.asarray(got), expected, rtol=rtol, atol=atol)


def went_short(name, *args, **kwargs):
    return short_ways[name](*args, **kwargs) is not None


def test_every_short_way_stands_before_its_function():
    for name in short_ways:
        function = np
        for part in name.split("."):
            function = getattr(function, part)
        assert function.__name__ == name.split(".")[-1] and function.__doc__


@pytest.mark.parametrize("dtype", DTYPES)
def test_made_like_others(dtype):
    host, ours = pair((3, 4), dtype)
    for name in ("zeros_like", "ones_like"):
        same(getattr(np, name)(ours), getattr(numpy, name)(host))
        same(getattr(np, name)(ours, "i2"), getattr(numpy, name)(host, "i2"))
        same(getattr(np, name)(ours.T, dtype=dtype), getattr(numpy, name)(host.T, dtype=dtype))
        same(getattr(np, name)(ours[0, 0:1].reshape(())), getattr(numpy, name)(host[0, 0:1].reshape(())))
        assert went_short(name, ours) and not went_short(name, ours.T)
    made = np.empty_like(ours, dtype="f4")
    assert made.shape == (3, 4) and made.dtype == "f4" and made.flags.c_contiguous
    assert np.empty_like(ours.T).flags.f_contiguous
    same(np.diag(ours[0]), numpy.diag(host[0]))
    same(np.diag(ours[:, 1], -2), numpy.diag(host[:, 1], -2))
    same(np.diag(ours[:, 1], 1), numpy.diag(host[:, 1], 1))
    same(np.eye(4, 3, 1, dtype), numpy.eye(4, 3, 1, dtype))


@pytest.mark.parametrize("arguments", list(itertools.product((0, 1, 3, 5), (None, 1, 4), (-6, -1, 0, 2, 9))))
def test_eye(arguments):
    same(np.eye(*arguments), numpy.eye(*arguments))
    same(np.eye(arguments[0], k=arguments[2], dtype=int), numpy.eye(arguments[0], k=arguments[2], dtype=int))


def test_what_is_wrong_is_worded_as_numpys():
    x, host = np.arange(4.0), numpy.arange(4.0)
    calls = [
        lambda m, v: m.eye(-1),
        lambda m, v: m.eye(),
        lambda m, v: m.diag(v, None),
        lambda m, v: m.stack([v, v], axis=None),
        lambda m, v: m.stack([v, v[:2]]),
        lambda m, v: m.concatenate([v, v], axis=1),
        lambda m, v: m.concatenate([v, v.reshape(2, 2)]),
        lambda m, v: m.concatenate([]),
        lambda m, v: m.vstack([v, v[:3]]),
        lambda m, v: m.repeat(v, -1),
        lambda m, v: m.repeat(v, None),
        lambda m, v: m.repeat(v, 2, axis=1),
        lambda m, v: m.repeat(v, 2, axes=0),
        lambda m, v: m.repeat(v, m.asarray([1, -1, 1, 1])),
        lambda m, v: m.repeat(v, m.asarray([1, 2])),
        lambda m, v: m.interp(1.0, v, v[:3]),
        lambda m, v: m.interp(1.0, v),
        lambda m, v: m.interp(1.0, v[:0], v[:0]),
        lambda m, v: m.convolve(v, v[:0]),
        lambda m, v: m.convolve(v, v, "half"),
        lambda m, v: m.bincount(v),
        lambda m, v: m.bincount(m.asarray([1, -1])),
        lambda m, v: m.bincount(m.asarray([1, 2]), weights=v),
        lambda m, v: m.bincount(m.asarray([1, 2]), minlength=-1),
        lambda m, v: m.searchsorted(v, 1.0, "middle"),
        lambda m, v: m.searchsorted(v, None),
        lambda m, v: m.einsum("ij,j", v, v),
        lambda m, v: m.einsum("i,i->ij", v, v),
        lambda m, v: m.einsum("i,i->ii", v, v),
        lambda m, v: m.einsum("i,i", v, v[:3]),
        lambda m, v: m.einsum("i", v, v),
    ]
    with pytest.raises(TypeError):
        np.eye(3, k=None)
    for number, call in enumerate(calls):
        with pytest.raises(Exception) as expected:
            call(numpy, host)
        with pytest.raises(type(expected.value)) as got:
            call(np, x)
        assert str(got.value) == str(expected.value), number


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(5,), (2, 3), (2, 1, 3), (3, 2, 2)])
def test_joined_and_repeated(shape, dtype):
    host, ours = pair(shape, dtype)
    for axis in range(-len(shape), len(shape)):
        same(np.concatenate([ours, ours], axis), numpy.concatenate([host, host], axis))
        same(np.concatenate((ours, ours, ours), axis=axis), numpy.concatenate((host, host, host), axis=axis))
        same(np.stack([ours, ours], axis), numpy.stack([host, host], axis))
        same(np.repeat(ours, 3, axis), numpy.repeat(host, 3, axis))
        counts = numpy.arange(shape[axis]) % 3
        same(np.repeat(ours, np.asarray(counts), axis=axis), numpy.repeat(host, counts, axis=axis))
    same(np.concatenate([ours, ours], axis=None), numpy.concatenate([host, host], axis=None))
    same(np.concatenate([ours, ours[:1]]), numpy.concatenate([host, host[:1]]))
    same(np.concatenate([ours, ours.astype("D")]), numpy.concatenate([host, host.astype("D")]))
    same(np.concatenate([ours.T, ours.T]), numpy.concatenate([host.T, host.T]))
    for name in ("hstack", "vstack", "stack"):
        same(getattr(np, name)([ours, ours]), getattr(numpy, name)([host, host]))
        assert went_short(name, [ours, ours])
    same(np.repeat(ours, 0), numpy.repeat(host, 0))
    same(ours.repeat(2), host.repeat(2))
    for times in (0, 1, 3, (2,), (2, 1), (3, 1, 2, 1)):
        same(np.tile(ours, times), numpy.tile(host, times))
    made = np.tile(ours, 1)
    made[...] = 0
    numpy.testing.assert_array_equal(numpy.asarray(ours), host)


@pytest.mark.parametrize("dtype", "?bhilBefd")
def test_interpolated(dtype):
    xp = numpy.array([-3.0, -1.0, 0.0, 0.5, 2.0, 7.0])
    fp, x = pair(6, seed=1)[0], pair(40, dtype, 2)[0]
    special = numpy.array([numpy.nan, numpy.inf, -numpy.inf, -3.0, 7.0, 0.0])
    for n in range(1, 7):
        for points in (x, special, x.reshape(5, 8), x[::3], 0.25, -9, 9.0, numpy.float32(1.5), True, x[3]):
            ours = np.asarray(points) if isinstance(points, numpy.ndarray) else points
            same(
                np.interp(ours, np.asarray(xp[:n]), np.asarray(fp[:n])),
                numpy.interp(points, xp[:n], fp[:n]),
            )
            ends = {"left": -1, "right": numpy.float64(5)}
            got = np.interp(ours, np.asarray(xp[:n]), fp[:n].tolist(), **ends)
            same(got, numpy.interp(points, xp[:n], fp[:n], **ends))
    same(np.interp(np.asarray(x), np.asarray(xp), np.asarray(fp), period=4), numpy.interp(x, xp, fp, period=4))
    same(np.interp(0.1, np.asarray(xp), np.asarray(fp + 1j)), numpy.interp(0.1, xp, fp + 1j))
    assert went_short("interp", 0.1, np.asarray(xp), np.asarray(fp), right=3)


def test_interpolated_around_infinities():
    infinity = numpy.inf
    for fp in ([0, infinity, 1, 1], [-infinity, -infinity, 1, 1], [3, 3, numpy.nan, 1]):
        for xp in ([0, 1, 2, 3], [-infinity, 0, 1, infinity], [0, 1, 1, 2]):
            x = numpy.array([-infinity, -1, 0, 0.5, 1, 1.5, 2.5, 3, infinity])
            fp, xp = numpy.array(fp, float), numpy.array(xp, float)
            with numpy.errstate(all="ignore"):
                expected = numpy.interp(x, xp, fp)
            same(np.interp(np.asarray(x), np.asarray(xp), np.asarray(fp)), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolved(dtype, mode):
    for n, m in ((7, 3), (3, 7), (5, 5), (1, 1), (40, 30), (9, 1)):
        (a, x), (v, y) = pair(n, dtype), pair(m, dtype, 1)
        with numpy.errstate(all="ignore"):
            same(np.convolve(x, y, mode), numpy.convolve(a, v, mode))
            same(np.convolve(x[::-1], y, mode=mode), numpy.convolve(a[::-1], v, mode=mode))
            same(np.correlate(x, y, mode), numpy.correlate(a, v, mode))
    same(np.convolve(x, 2, mode), numpy.convolve(a, 2, mode))


@pytest.mark.parametrize("dtype", "?bBhHiIl")
def test_counted(dtype):
    host = (numpy.arange(50) ** 2 % 23).astype(dtype)
    ours, (w, weights) = np.asarray(host), pair(50)
    for step in (1, 3, -1):
        same(np.bincount(ours[::step]), numpy.bincount(host[::step]))
        same(np.bincount(ours[::step], minlength=30), numpy.bincount(host[::step], minlength=30))
        same(np.bincount(ours[::step], weights[::step]), numpy.bincount(host[::step], w[::step]))
    same(np.bincount(ours, weights=ours), numpy.bincount(host, weights=host))
    assert went_short("bincount", ours)


@pytest.mark.parametrize("dtype", "?bBhHiIlLefd")
def test_searched(dtype):
    host = numpy.sort(pair(30, dtype)[0])
    if dtype in "efd":
        host[-2:] = numpy.nan
    ours = np.asarray(host)
    wanted = [3, 0.5, numpy.nan, -1e9, 1 << 60, numpy.float32(2), numpy.int8(1), host[3], host[4:9]]
    for side in ("left", "right"):
        for v in [*wanted, host[:6].reshape(2, 3)]:
            w = np.asarray(v) if isinstance(v, numpy.ndarray) else v
            same(np.searchsorted(ours, w, side), numpy.searchsorted(host, v, side))
            same(np.searchsorted(ours[::2], w, side=side), numpy.searchsorted(host[::2], v, side=side))
    assert went_short("searchsorted", ours, ours)


def test_quantiles():
    for n in (1, 2, 3, 10, 37):
        host, ours = pair(n, seed=n)
        for q in (0, 0.1, 0.25, 0.5, 1 / 3, 0.999, 1):
            same(np.quantile(ours, q), numpy.quantile(host, q))
            same(np.percentile(ours, 100 * q), numpy.percentile(host, 100 * q))
            same(np.quantile(ours[::-1], numpy.float64(q)), numpy.quantile(host[::-1], numpy.float64(q)))
        same(np.percentile(ours, 30, method="lower"), numpy.percentile(host, 30, method="lower"))
        same(np.percentile(ours, [10, 90]), numpy.percentile(host, [10, 90]))
    for odd in ([1.0, numpy.nan, 2.0], [numpy.inf, 1.0, numpy.inf], [-numpy.inf, numpy.inf]):
        with numpy.errstate(all="ignore"):
            same(np.percentile(np.asarray(odd), 50), numpy.percentile(odd, 50))
    assert went_short("percentile", ours, 50)
    for q in (-1, 101):
        with pytest.raises(ValueError, match="Percentiles must be in the range"):
            np.percentile(ours, q)


@pytest.mark.parametrize("dtype", DTYPES)
def test_where_something_is_true(dtype):
    host = pair(40, dtype)[0]
    host[::3] = 0
    ours = np.asarray(host)
    for index in (slice(None), slice(None, None, -2), slice(0, 1), slice(3, 3)):
        (got,) = np.nonzero(ours[index])
        same(got, numpy.nonzero(host[index])[0])
    found, expected = np.nonzero(ours.reshape(5, 8)), numpy.nonzero(host.reshape(5, 8))
    assert [x.tolist() for x in found] == [x.tolist() for x in expected]
    assert went_short("nonzero", ours)
    got[...] = 0
    with pytest.raises(ValueError):
        np.nonzero(np.asarray(1.0))


@pytest.mark.parametrize("dtype", "lfdFD")
def test_norms(dtype):
    for shape in ((), (1,), (7,), (3, 4), (2, 2, 3)):
        host, ours = pair(shape, dtype)
        ours = np.asarray(numpy.asarray(host)) if shape == () else ours
        same(np.linalg.norm(ours), numpy.linalg.norm(host))
    huge = numpy.array([1e300, 1.0])
    with numpy.errstate(all="ignore"):
        same(np.linalg.norm(np.asarray(huge)), numpy.linalg.norm(huge))


@pytest.mark.parametrize("dtype", DTYPES)
def test_products_of_vectors(dtype):
    (a, x), (b, y) = pair((4, 3), dtype), pair((4, 3), dtype, 1)
    same(np.outer(x, y), numpy.outer(a, b))
    same(np.outer(x[:, 1], y[0]), numpy.outer(a[:, 1], b[0]))
    if dtype != "?":
        same(np.cross(x, y), numpy.cross(a, b))
        same(np.cross(x[0], y[1]), numpy.cross(a[0], b[1]))
        same(np.cross(x, y[0]), numpy.cross(a, b[0]))


def test_products_of_vectors_warn():
    x = np.asarray(numpy.array([1e200, 1e200, 2.0]))
    y = x[::-1].copy()
    for call in (lambda: np.outer(x, x), lambda: np.cross(x, y)):
        with numpy.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow encountered in multiply"):
            np.sync(call())


def test_ramps():
    plain = [(0, 1), (0.0, 1.0, 7), (3, -2, 5), (0, 1, 10, False)]
    for arguments in [*plain, (1, 1, 4), (0, 1, 1), (0, 1, 0), (-1e308, 1e308, 4)]:
        with numpy.errstate(all="ignore"):
            same(np.linspace(*arguments), numpy.linspace(*arguments))
    same(np.linspace(numpy.float64(1), 2, num=9, endpoint=True), numpy.linspace(1.0, 2, num=9))
    same(np.linspace(numpy.float32(1), numpy.float32(2)), numpy.linspace(numpy.float32(1), numpy.float32(2)))
    rng = random.Random(3)
    for _ in range(200):
        start, stop, n = rng.uniform(-9, 9), rng.uniform(-9, 9), rng.randrange(2, 60)
        assert np.linspace(start, stop, n).tolist() == numpy.linspace(start, stop, n).tolist()


SUMS = """i,i i,i-> i,j i,j->ij i,j->ji ij->j ij->i ij-> ii ii->i ij->ji ij,j ij,j->i ij,jk ij,jk->ik ij,jk->ki
ij,kj->ik ij,ij-> ij,ij->i ij,ij->j ij,ji-> ii,i->i ijk->kj ijk,k ijk,ik->ij ijk,kl->ijl bij,bjk->bik bij,bkj->bik
ij,jk,kl->il i,j,k->ijk i,j,k->kji ij,i,j-> ijk,jil->kl i,ij,j->ij ijk,ijk->ij ji,ki->jk""".split()


@pytest.mark.parametrize("text", SUMS)
def test_sums_of_products(text):
    rng = random.Random(text)
    terms = text.split("->")[0].split(",")
    for trial in range(12):
        extents = {c: rng.choice([1, 2, 3, 4, 5]) for c in "bijkl"}
        dtype = rng.choice("d" if trial < 6 else "?bilfdFD")
        hosts, ours = [], []
        for k, term in enumerate(terms):
            shape = [extents[c] for c in term]
            host = pair(shape, dtype, k)[0]
            if trial % 3 == 1:
                host = pair(shape[::-1], dtype, k)[0].T
            every = tuple(slice(None, None, 2) for _ in shape) if trial % 3 == 2 else ()
            if every:
                host = pair([2 * n for n in shape], dtype, k)[0]
            hosts.append(host[every])
            ours.append(np.asarray(host)[every])
        same(np.einsum(text, *ours), numpy.einsum(text, *hosts))


def test_small_sums_of_products_are_short():
    v, m = np.arange(5.0), np.ones((3, 5))
    assert went_short("einsum", "ij,j->i", m, v) and went_short("einsum", "i,i", v, v)
    assert went_short("einsum", "ij->ji", m) and not went_short("einsum", "...,...", v, v)
    assert np.einsum("ij->ji", m).base is m


@pytest.mark.parametrize("dtype", DTYPES)
def test_sorted_rows(dtype):
    host, ours = pair((5, 6, 7), dtype)
    for axis in (-1, 0, 1, 2):
        same(np.sort(ours, axis), numpy.sort(host, axis))
        same(np.argsort(ours, axis), numpy.argsort(host, axis, kind="stable"))
    same(np.sort(ours.T), numpy.sort(host.T))
    same(np.argsort(ours[:, ::2]), numpy.argsort(host[:, ::2], kind="stable"))
    same(np.unique(ours[0, 0]), numpy.unique(host[0, 0]))
    complex_ = dtype in "FD"
    assert went_short("sort", ours, axis=2) is went_short("argsort", ours) is not complex_
    assert went_short("sort", ours, 0) is not complex_ and not went_short("sort", ours, -1, "stable")


def test_few_quantiles_at_once():
    host, ours = pair(200)
    for q in ([5, 95], (0, 50.0, 100), [12.5]):
        same(np.percentile(ours, q), numpy.percentile(host, q))
        assert went_short("percentile", ours, q)
    same(np.quantile(ours, [0.1, 0.9]), numpy.quantile(host, [0.1, 0.9]))
    for q in ([], [-1], [101.0], [[5, 95]], [True], ["a"]):
        assert not went_short("percentile", ours, q)


def test_few_equations():
    for n in (1, 2, 3, 5, 16, 17, 32, 33):
        for columns in ((), (1,), (4,)):
            host, ours = pair((n, n), seed=n)
            b, mine = pair((n, *columns), seed=1)
            same(np.linalg.solve(ours, mine), numpy.linalg.solve(host, b))
            same(np.linalg.solve(ours.T, mine[::-1]), numpy.linalg.solve(host.T, b[::-1]))
            assert went_short("linalg.solve", ours, mine) == (n <= 32)
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular matrix"):
        np.linalg.solve(np.ones((2, 2)), np.ones(2))
    for b in (np.ones(3), np.ones((3, 1)), np.ones((2, 2, 1))):
        assert not went_short("linalg.solve", np.eye(2), b)


def test_iteration():
    for dtype in DTYPES:
        host, ours = pair(7, dtype)
        assert [(type(x), x) for x in ours] == [(type(x), x) for x in host]
        assert list(ours[::-2]) == list(host[::-2])
    host, ours = pair((3, 2))
    rows = list(ours)
    assert all(row.base is ours for row in rows) and [row.tolist() for row in rows] == host.tolist()
    seen, x = [], np.arange(6.0)
    for i, value in enumerate(x):
        seen.append(value)
        if i + 1 < 6:
            x[i + 1] += value
    assert seen == [0, 1, 3, 6, 10, 15]
    late = iter(np.arange(100000.0) + 1)
    assert (
        late.__length_hint__() == 100000 and next(late) == 1 and iter(late) is late and late.__length_hint__() == 99999
    )
    kept = iter(x[x > 3])
    assert list(kept) == [6, 10, 15] and list(kept) == []
    with pytest.raises(TypeError, match="iteration over a 0-d array"):
        iter(np.asarray(1.0))
