"""Sorting, searching, sets, counts and order statistics, ten million elements each."""

import numpy

from . import N, Row, short, uniform


def integers(rng):
    return rng.integers(-(2**62), 2**62, N)


def few(rng):
    return rng.integers(0, 1000, N)


def rows(rng):
    return rng.random((10_000, N // 10_000))


def edges(rng):
    return numpy.sort(rng.random(1000))


def many_edges(rng):
    return numpy.sort(rng.random(1_000_000))


def sorts(got, want):
    """Places that sort need not be NumPy's where elements are equal."""
    return (numpy.sort(got) == numpy.arange(len(want))).all()


ROWS = [
    Row("sort f64", lambda np, x: np.sort(x), (uniform,)),
    Row("sort f32", lambda np, x: np.sort(x), (short,)),
    Row("sort i64", lambda np, x: np.sort(x), (integers,)),
    Row("sort of rows f64", lambda np, x: np.sort(x, axis=1), (rows,)),
    Row("stable sort f64", lambda np, x: np.sort(x, kind="stable"), (uniform,)),
    Row("stable sort i64", lambda np, x: np.sort(x, kind="stable"), (integers,)),
    Row("argsort f64", lambda np, x: np.argsort(x), (uniform,), sorts),
    Row("argsort f32", lambda np, x: np.argsort(x), (short,), sorts),
    Row("argsort i64", lambda np, x: np.argsort(x), (integers,), sorts),
    Row("lexsort", lambda np, x, k: np.lexsort((x, k)), (uniform, few)),
    Row("partition", lambda np, x: np.partition(x, N // 2)[N // 2], (uniform,)),
    Row("unique f64", lambda np, x: np.unique(x), (uniform,)),
    Row("unique of few", lambda np, x: np.unique(x), (few,)),
    Row("unique, inverse", lambda np, x: np.unique(x, return_inverse=True)[1], (few,)),
    Row("isin", lambda np, x: np.isin(x, np.arange(0, 1000, 7)), (few,)),
    Row("searchsorted in 1,000", lambda np, x, e: np.searchsorted(e, x), (uniform, edges)),
    Row("searchsorted in 1M", lambda np, x, e: np.searchsorted(e, x), (uniform, many_edges)),
    Row("digitize", lambda np, x, e: np.digitize(x, e), (uniform, edges)),
    Row("bincount", lambda np, x: np.bincount(x), (few,)),
    Row("bincount, weights", lambda np, x, w: np.bincount(x, w), (few, uniform)),
    Row("histogram", lambda np, x: np.histogram(x, 100)[0], (uniform,)),
    Row("histogram, edges", lambda np, x, e: np.histogram(x, e)[0], (uniform, edges)),
    Row("median", lambda np, x: np.median(x), (uniform,)),
    Row("median f32", lambda np, x: np.median(x), (short,)),
    Row("median of rows", lambda np, x: np.median(x, axis=1), (rows,)),
    Row("percentile 5, 50, 95", lambda np, x: np.percentile(x, [5, 50, 95]), (uniform,)),
]
