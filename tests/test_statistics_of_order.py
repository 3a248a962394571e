"""Medians, percentiles, quantiles, histograms and counts against NumPy."""

import warnings

import numpy
import pytest

import numloom as np

from .oracle import agree, mine, values
from .test_sorting import everything_is_native  # noqa: F401

REAL = "b B h H i I q Q e f d".split()
METHODS = (
    "inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull linear "
    "median_unbiased normal_unbiased lower higher midpoint nearest"
).split()


def made(dtype, shape, nan=False, seed=0):
    rng = numpy.random.default_rng(seed)
    x = (rng.standard_normal(shape) * 40).astype(dtype) if dtype in "efd" else rng.integers(0, 100, shape).astype(dtype)
    if nan and dtype in "efd":
        x[rng.random(shape) < 0.2] = numpy.nan
    return x


def check(got, want):
    if isinstance(want, (tuple, list)):
        assert type(got) is type(want) and len(got) == len(want)
        for g, w in zip(got, want):
            check(g, w)
        return
    got = numpy.asarray(got)
    want = numpy.asarray(want)
    assert got.dtype == want.dtype and got.shape == want.shape
    close = {"e": 1e-2, "f": 1e-5}.get(want.dtype.char, 1e-10)
    numpy.testing.assert_allclose(got, want, rtol=close, atol=close)


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("shape", [(1,), (41,), (300_001,), (6, 7), (3, 4, 5), (2, 140_000)], ids=str)
def test_median(dtype, shape):
    for nan in (False, True):
        host = made(dtype, shape, nan)
        x = np.asarray(host)
        for axis in (None, 0, -1, tuple(range(len(shape)))):
            for keepdims in (False, True):
                check(np.median(x, axis, keepdims=keepdims), numpy.median(host, axis, keepdims=keepdims))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for axis in (None, 0) if shape[0] > 5 else (None,):
                check(np.nanmedian(x, axis), numpy.nanmedian(host, axis))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("n", [1, 2, 9, 24, 64, 65])
def test_many_short_rows(dtype, n):
    for shape, axis in (((300, n), 1), ((n, 70), 0), ((5, n, 31), 1)):
        host = made(dtype, shape, n % 2 == 0, seed=n)
        for there, x in ((host, np.asarray(host)), (host[..., ::-1], np.asarray(host)[..., ::-1])):
            check(np.median(x, axis), numpy.median(there, axis))
            check(np.percentile(x, [10, 75.5, 100], axis), numpy.percentile(there, [10, 75.5, 100], axis))
    host = made(dtype, (40, 30), seed=n)
    windows = numpy.lib.stride_tricks.sliding_window_view(host, (3, 3))
    mine = np.lib.stride_tricks.sliding_window_view(np.asarray(host), (3, 3))
    check(np.median(mine, axis=(2, 3)), numpy.median(windows, axis=(2, 3)))


def test_statistics_of_few():
    rng = numpy.random.default_rng(5)
    for n in (1, 2, 3, 10, 255, 256, 257, 300, 301, 1000, 1024, 1025, 9000):
        for host in (rng.normal(size=n), rng.integers(0, 3, n) * 1.0, numpy.zeros(n), rng.normal(size=2 * n)[::-2]):
            x = np.asarray(host)
            assert float(np.median(x)) == float(numpy.median(host))
            for q in (0, 5, 49.9, 50, 99, 100):
                assert float(np.percentile(x, q)) == float(numpy.percentile(host, q))
            check(np.percentile(x, [5, 50, 95]), numpy.percentile(host, [5, 50, 95]))
            check(np.nonzero(x > 0.5), numpy.nonzero(host > 0.5))
            check(np.nonzero(x), numpy.nonzero(host))
            broken = host.copy()
            broken[n // 2] = numpy.nan
            assert numpy.isnan(np.median(np.asarray(broken))) and numpy.isnan(np.percentile(np.asarray(broken), 1))


@pytest.mark.parametrize("dtype", REAL)
@pytest.mark.parametrize("method", METHODS)
def test_quantiles(dtype, method):
    host = made(dtype, (9, 40))
    x = np.asarray(host)
    for q in (0, 1, 0.3, [0.1, 0.5, 1.0], [[0.25], [0.75]], numpy.float32(0.4), numpy.linspace(0, 1, 30)):
        for axis, keepdims in ((None, False), (0, False), (1, True), ((0, 1), True)):
            options = dict(axis=axis, method=method, keepdims=keepdims)
            check(np.quantile(x, q, **options), numpy.quantile(host, q, **options))
            check(
                np.percentile(x, numpy.multiply(q, 100), **options),
                numpy.percentile(host, numpy.multiply(q, 100), **options),
            )


@pytest.mark.parametrize("dtype", "efd")
@pytest.mark.parametrize("method", ["linear", "hazen", "nearest", "inverted_cdf"])
def test_quantiles_beside_nan(dtype, method):
    host = made(dtype, (50, 30), nan=True)
    host[:, 3] = 1
    x = np.asarray(host)
    for q in (0.3, [0.0, 0.5, 0.9]):
        for axis in (None, 0, 1, (0, 1)):
            check(np.quantile(x, q, axis, method=method), numpy.quantile(host, q, axis, method=method))
            check(np.nanquantile(x, q, axis, method=method), numpy.nanquantile(host, q, axis, method=method))
            check(
                np.nanpercentile(x, 20.0, axis, method=method, keepdims=True),
                numpy.nanpercentile(host, 20.0, axis, method=method, keepdims=True),
            )


def test_long_lanes():
    rng = numpy.random.default_rng(3)
    for host in (
        rng.random(400_000),
        rng.integers(0, 3, 400_000),
        numpy.sort(rng.random(400_000)),
        numpy.ones(300_000),
    ):
        check(np.percentile(np.asarray(host), [0, 5, 50, 95, 100]), numpy.percentile(host, [0, 5, 50, 95, 100]))


def test_weighted_quantiles():
    host, weights = made("d", 500), numpy.random.default_rng(2).integers(0, 4, 500)
    options = dict(method="inverted_cdf")
    for q in (0.0, 0.4, [0.1, 0.5, 1.0]):
        check(
            np.quantile(np.asarray(host), q, weights=np.asarray(weights), **options),
            numpy.quantile(host, q, weights=weights, **options),
        )


def test_out():
    host = made("d", (9, 40))
    x, out, want = np.asarray(host), np.empty(40), numpy.empty(40)
    assert np.median(x, 0, out=out) is out
    check(out, numpy.median(host, 0, out=want))
    assert np.quantile(x, 0.3, 0, out=out) is out
    check(out, numpy.quantile(host, 0.3, 0, out=want))


@pytest.mark.parametrize("dtype", [d for d in REAL if d != "Q"])
@pytest.mark.parametrize("n", [1, 100, 200_000])
def test_counts_and_histograms(dtype, n):
    host, weights = made(dtype, n), made("d", n, seed=5)
    x, w = np.asarray(host), np.asarray(weights)
    if dtype not in "efd":
        check(np.bincount(x), numpy.bincount(host))
        check(np.bincount(x, minlength=300), numpy.bincount(host, minlength=300))
        check(np.bincount(x, w), numpy.bincount(host, weights))
    bins = numpy.array([-20, -3, 0, 0, 12, 60])
    for given in (dict(), dict(bins=37), dict(bins=bins), dict(bins=bins * 0.5), dict(bins=7, range=(-5, 12.5))):
        check(np.histogram(x, **given), numpy.histogram(host, **given))
        check(np.histogram(x, weights=w, **given), numpy.histogram(host, weights=weights, **given))
        check(np.histogram(x, weights=w * 1j, **given), numpy.histogram(host, weights=weights * 1j, **given))
        check(np.histogram_bin_edges(x, **given), numpy.histogram_bin_edges(host, **given))
    check(np.histogram(x, 5, density=True), numpy.histogram(host, 5, density=True))


@pytest.mark.parametrize("rule", ["auto", "fd", "doane", "scott", "rice", "sturges", "sqrt"])
@pytest.mark.parametrize("dtype", "bid")
def test_rules_for_bins(rule, dtype):
    host = made(dtype, 1000)
    check(np.histogram(np.asarray(host), rule), numpy.histogram(host, rule))
    check(np.histogram_bin_edges(np.asarray(host), rule, (0, 50)), numpy.histogram_bin_edges(host, rule, (0, 50)))


def test_histograms_of_several_dimensions():
    one, two, weights = made("d", 5000), made("d", 5000, seed=1), made("d", 5000, seed=2)
    x, y, w = np.asarray(one), np.asarray(two), np.asarray(weights)
    edges = numpy.linspace(-50, 50, 6)
    for given in (dict(), dict(bins=(3, 9)), dict(bins=[edges, 4]), dict(bins=edges), dict(range=[(-10, 20), (0, 5)])):
        for more in (dict(), dict(density=True), dict(weights=True)):
            ours = {**more, **({"weights": w} if "weights" in more else {})}
            theirs = {**more, **({"weights": weights} if "weights" in more else {})}
            check(np.histogram2d(x, y, **given, **ours), numpy.histogram2d(one, two, **given, **theirs))
    sample = made("d", (3000, 3))
    check(np.histogramdd(np.asarray(sample), (3, 4, 5)), numpy.histogramdd(sample, (3, 4, 5)))


WRONG = [
    lambda np, x: np.median(x, 7),
    lambda np, x: np.quantile(x, 1.5),
    lambda np, x: np.percentile(x, -1),
    lambda np, x: np.quantile(x, 0.5, method="best"),
    lambda np, x: np.quantile(x, 0.5, weights=x),
    lambda np, x: np.quantile(x * 1j, 0.5),
    lambda np, x: np.quantile(x, 0.5, 0, out=np.empty(7)),
    lambda np, x: np.bincount(x[0]),
    lambda np, x: np.bincount([-1, 2]),
    lambda np, x: np.bincount([1, 2], minlength=-1),
    lambda np, x: np.bincount([1, 2], [1.0]),
    lambda np, x: np.histogram(x, 0),
    lambda np, x: np.histogram(x, [3, 1]),
    lambda np, x: np.histogram(x, "best"),
    lambda np, x: np.histogram(x, range=(3, 1)),
    lambda np, x: np.histogram(x * np.nan),
    lambda np, x: np.histogram(x, weights=x[0]),
    lambda np, x: np.histogram2d(x[0], x[0][:2]),
]


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_wrong_calls_raise_what_numpy_raises(call):
    host = numpy.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception) as want:
        call(numpy, host)
    with pytest.raises(type(want.value)) as got:
        call(np, np.asarray(host))
    assert str(want.value) in str(got.value)
    np.reset_coverage()


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), None])
def test_weighted_quantiles_along_an_axis(axis):
    x = values("float64", (6, 7, 4))
    weights = [numpy.arange(x.size).reshape(x.shape) % 5]
    weights += [numpy.arange(x.shape[axis]), numpy.arange(x.shape[axis]) / 3] if isinstance(axis, int) else []
    for w in weights:
        for q in (0.3, [0.0, 0.5, 1.0], [[0.1], [0.9]]):
            for keep in (False, True):
                arguments = {"axis": axis, "weights": w, "method": "inverted_cdf", "keepdims": keep}
                agree(np.quantile(mine(x), q, **arguments), numpy.quantile(x, q, **arguments))


def test_median_of_complex_numbers():
    for shape in ((5,), (6,), (4, 7), (3, 8)):
        x = values("complex128", shape)
        for axis in (None, 0, -1):
            agree(np.median(mine(x), axis=axis), numpy.median(x, axis=axis))
