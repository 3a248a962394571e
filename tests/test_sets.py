"""`unique`, its relatives and the set operations against NumPy."""

import numpy
import pytest

import numloom as np

from .oracle import agree, mine
from .test_sorting import DTYPES, everything_is_native, made  # noqa: F401

SHAPES = [(0,), (1,), (40,), (3000,), (100_000,), (7, 9), (2, 3, 4)]


def check(got, want):
    if isinstance(want, tuple):
        assert len(got) == len(want)
        for g, w in zip(got, want):
            check(g, w)
        return
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    numpy.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_unique(dtype, shape):
    host = made(dtype, shape)
    x = np.asarray(host)
    for equal_nan in (True, False):
        check(np.unique(x, equal_nan=equal_nan), numpy.sort(numpy.unique(host, equal_nan=equal_nan)))
        every = dict(return_index=True, return_inverse=True, return_counts=True, equal_nan=equal_nan)
        check(np.unique(x, **every), numpy.unique(host, **every))
        check(np.unique(x, return_counts=True), numpy.unique(host, return_counts=True))
    check(np.unique_all(x), numpy.unique_all(host))
    check(np.unique_counts(x), numpy.unique_counts(host))
    # Which of several NaN is which is not said without `return_index`.
    values, inverse = np.unique_inverse(x)
    check(values, numpy.unique_inverse(host).values)
    check(np.take(values, inverse) if x.size else x, host)
    check(np.unique_values(x), numpy.sort(numpy.unique_values(host)))
    assert np.unique_all(x)._fields == numpy.unique_all(host)._fields


@pytest.mark.parametrize("dtype", "?bqdD")
def test_unique_along_an_axis(dtype):
    host = numpy.round(made(dtype, (12, 3, 2)) / 60).astype(dtype) if dtype != "?" else made(dtype, (12, 3, 2))
    x = np.asarray(host)
    for axis in (0, 1, -1):
        check(np.unique(x, axis=axis), numpy.unique(host, axis=axis))
        every = dict(return_index=True, return_inverse=True, return_counts=True, axis=axis)
        check(np.unique(x, **every), numpy.unique(host, **every))
    check(np.unique(x[:, 0, 0], axis=0), numpy.unique(host[:, 0, 0], axis=0))


@pytest.mark.parametrize("dtype", "efd")
@pytest.mark.parametrize("columns", [3, 70])
def test_unique_rows_with_nan(dtype, columns):
    """NumPy puts NaN behind the other numbers, but among half floats before them."""
    rng = numpy.random.default_rng(4)
    host = rng.integers(0, 2, (40, columns)).astype(dtype)
    host[rng.random(host.shape) < 0.2] = numpy.nan
    host[rng.random(host.shape) < 0.1] = -numpy.inf
    host[20:] = host[:20]
    check(np.unique(np.asarray(host), axis=0), numpy.unique(host, axis=0))
    check(np.unique(np.asarray(host.T), axis=1), numpy.unique(host.T, axis=1))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [0, 1, 50, 5000])
def test_sets(dtype, n):
    one, two = made(dtype, n), made(dtype, (n // 2, 2), seed=9)
    x, y = np.asarray(one), np.asarray(two)
    for name in ("intersect1d", "union1d", "setdiff1d", "setxor1d"):
        check(getattr(np, name)(x, y), getattr(numpy, name)(one, two))
    check(np.intersect1d(x, y, return_indices=True), numpy.intersect1d(one, two, return_indices=True))
    own = (np.unique(x), np.unique(y)), (numpy.unique(one), numpy.unique(two))
    for name in ("intersect1d", "setdiff1d", "setxor1d"):
        check(getattr(np, name)(*own[0], True), getattr(numpy, name)(*own[1], True))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (1,), (500,), (20, 30)], ids=str)
def test_isin(dtype, shape):
    one, two = made(dtype, shape), made(dtype, 40, seed=3)
    for invert in (False, True):
        check(np.isin(np.asarray(one), np.asarray(two), invert=invert), numpy.isin(one, two, invert=invert))
        check(np.isin(np.asarray(one), np.asarray(two[:0])), numpy.isin(one, two[:0]))
        few = two[:5]
        check(np.isin(np.asarray(one), np.asarray(few), invert=invert), numpy.isin(one, few, invert=invert))
    for kind in ("sort", "table") if dtype in "?hHiIq" else ("sort",):
        check(np.isin(np.asarray(one), np.asarray(two), kind=kind), numpy.isin(one, two, kind=kind))


def test_isin_of_mixed_types():
    numbers = numpy.arange(-5, 300)
    check(np.isin(np.asarray(numbers), [1, 2.5, -4]), numpy.isin(numbers, [1, 2.5, -4]))
    check(np.isin(np.asarray(numbers.astype("B")), [-1, 3, 900]), numpy.isin(numbers.astype("B"), [-1, 3, 900]))
    far = numpy.array([0, 2**62, -(2**62)])
    check(np.isin(np.asarray(numbers), far), numpy.isin(numbers, far))
    unsigned = numpy.array([2**63 + 1025, 5], "u8")
    check(np.isin(np.asarray(numbers), unsigned), numpy.isin(numbers, unsigned))
    nans = numpy.array([0.0, numpy.nan, -0.0, 1.0])
    check(np.isin(np.asarray(nans), nans[1:3]), numpy.isin(nans, nans[1:3]))


WRONG = [
    lambda np, x: np.unique(x, axis=5),
    lambda np, x: np.isin(x, x, kind="hash"),
    lambda np, x: np.isin(x, x, kind="table"),
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


@pytest.mark.parametrize("columns", [65, 200])
def test_unique_rows_of_many_columns(columns):
    x = numpy.random.default_rng(1).integers(0, 2, (60, columns)).astype("float64")
    x[30:] = x[:30]
    x[3:9] = 0
    x[5, -1] = 1
    x[[7, 40], 20] = numpy.nan
    for axis in (0, 1):
        ours = np.unique(mine(x), axis=axis, return_inverse=True, return_counts=True)
        agree(ours, numpy.unique(x, axis=axis, return_inverse=True, return_counts=True))
