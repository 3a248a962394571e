"""Sorting, partitioning and searching against NumPy, over dtypes, shapes, axes and layouts."""

import numpy
import pytest

import numloom as np

DTYPES = "? b B h H i I q Q e f d F D".split()
SHAPES = [(0,), (1,), (7,), (300,), (3000,), (100_000,), (3, 400), (400, 3), (2, 70_000), (5, 6, 7), (3, 0)]


def made(dtype, shape, seed=0):
    """Many ties, some NaN, zeros of both signs."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal(shape) * 50
    x = x > 0 if dtype == "?" else x.astype(dtype)
    if x.dtype.kind in "fc":
        x[rng.random(shape) < 0.1] = numpy.nan
        x[rng.random(shape) < 0.1] = 0.0
        x[rng.random(shape) < 0.1] = -0.0
    if x.dtype.kind == "c":
        x = x + 1j * numpy.round(rng.standard_normal(shape)).astype(x.real.dtype)
    return x


def check(got, want):
    got = numpy.asarray(got)
    assert got.dtype == want.dtype and got.shape == want.shape
    numpy.testing.assert_array_equal(got, want)


@pytest.fixture(autouse=True)
def everything_is_native():
    np.reset_coverage()
    yield
    assert np.coverage(as_dict=True)["fallbacks"] == []


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_sorts(dtype, shape):
    host = made(dtype, shape)
    x = np.asarray(host)
    for axis in (-1, 0, None):
        for kind in (None, "stable", "heapsort"):
            check(np.sort(x, axis=axis, kind=kind), numpy.sort(host, axis=axis, kind="stable"))
        check(np.argsort(x, axis=axis), numpy.argsort(host, axis=axis, kind="stable"))
        check(np.argsort(x, axis=axis, stable=True), numpy.argsort(host, axis=axis, stable=True))
    check(x.T.argsort(-1), host.T.argsort(-1, kind="stable"))
    check(np.sort(x.T, 0), numpy.sort(host.T, 0))
    check(np.sort_complex(x), numpy.sort_complex(host))
    here, there = x.copy(), host.copy()
    here[::-1].sort(0)
    there[::-1].sort(0)
    check(here, there)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_length_that_a_network_takes(dtype):
    for n in [*range(1, 40), 63, 64, 65, 127, 128, 129, 145, 161, 200, 255, 256, 257, 290, 511, 512, 513, 700, 1024]:
        host = made(dtype, 2 * n, seed=n)
        for there, x in ((host[:n], np.asarray(host)[:n]), (host[::2], np.asarray(host)[::2])):
            check(np.sort(x), numpy.sort(there))
            check(np.argsort(x), numpy.argsort(there, kind="stable"))
            check(x.argsort(0), there.argsort(kind="stable"))
            check(np.unique(x), numpy.unique(there))
            mine, theirs = np.asarray(host.copy())[:n], host[:n].copy()
            mine.sort()
            theirs.sort()
            check(mine, theirs)


def bits(x):
    """Zeros of both signs told apart, NaNs not."""
    x = numpy.asarray(x)
    return (x, numpy.signbit(x) & (x == 0)) if x.dtype.kind == "f" else (x,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 9, 16, 17, 25, 63, 64, 65])
def test_many_short_rows(dtype, n):
    for shape, axis in (((75, n), 1), ((n, 75), 0), ((3, n, 40), 1)):
        host = made(dtype, shape, seed=n)
        for there, x in ((host, np.asarray(host)), (host[..., ::-1], np.asarray(host)[..., ::-1])):
            want = numpy.sort(there, axis=axis, kind="stable")
            check(np.sort(x, axis=axis), want)
            for mine, theirs in zip(bits(np.sort(x, axis=axis, kind="stable")), bits(want)):
                check(mine, theirs)
            check(np.argsort(x, axis=axis), numpy.argsort(there, axis=axis, kind="stable"))
            k = n // 2
            middle = want.take([k], axis=axis)
            parted = np.partition(x, k, axis=axis)
            check(np.sort(parted, axis=axis), want)
            check(parted.take([k], axis=axis), middle)
            places = numpy.asarray(np.argpartition(x, k, axis=axis))
            check(numpy.sort(places, axis=axis), numpy.sort(numpy.argsort(there, axis=axis), axis=axis))
            check(numpy.take_along_axis(there, places, axis).take([k], axis=axis), middle)
            here = x.copy()
            here.sort(axis)
            check(here, want)


@pytest.mark.parametrize("dtype", "h H i I q Q".split())
def test_long_lanes_of_few_values(dtype):
    rng = numpy.random.default_rng(3)
    ends = numpy.iinfo(dtype)
    for shape in ((40_000,), (200_001,), (3, 70_000)):
        for low, high, step in ((0, 1000, 1), (ends.min, ends.min + 7, 1), (ends.max - 900, ends.max, 1), (0, 90, 256)):
            host = (rng.integers(low, high, shape, dtype=dtype, endpoint=True) // step * step).astype(dtype)
            for there, x in ((host, np.asarray(host)), (host[..., ::-2], np.asarray(host)[..., ::-2])):
                check(np.sort(x), numpy.sort(there))
                check(np.unique(x), numpy.unique(there))
                for mine, theirs in zip(np.unique(x, return_counts=True), numpy.unique(there, return_counts=True)):
                    check(mine, theirs)
                here = x.copy()[..., ::-1]
                here.sort()
                check(here, numpy.sort(there))


@pytest.mark.parametrize("dtype", "i I q Q f d".split())
def test_long_lanes_of_unequal_shares(dtype):
    rng = numpy.random.default_rng(4)
    for n in (33_000, 150_000, 600_001):
        wide = rng.standard_normal(n) * 1e8
        far_out = numpy.where(rng.random(n) < 0.004, wide, wide % 1000)
        in_a_corner = numpy.where(rng.random(n) < 0.2, wide, wide % 10)
        few = numpy.where(rng.random(n) < 0.9, 7, wide)
        for host in (wide, far_out, in_a_corner, few, rng.integers(0, 5, n) * 1e8, numpy.sort(wide), wide * 0 + 3):
            host = abs(host).astype(dtype) if dtype in "IQ" else host.astype(dtype)
            for there, x in ((host, np.asarray(host)), (host[::-1], np.asarray(host)[::-1])):
                check(np.sort(x), numpy.sort(there))
                here = x.copy()
                here.sort()
                check(here, numpy.sort(there))


def test_places_of_what_differs_only_in_its_lowest_bits():
    rng = numpy.random.default_rng(1)
    for n in (10, 300, 1000, 20_000):
        near = rng.integers(0, 40, n) + numpy.where(rng.random(n) < 0.5, -(2**62), 2**62)
        for host in (near, near.astype("u8"), numpy.nextafter(1.0, 2.0) * rng.integers(1, 3, n) * (1 + 2.0**-51)):
            check(np.argsort(np.asarray(host)), numpy.argsort(host, kind="stable"))
        bits = (numpy.float64(1).view("i8") + rng.integers(0, 9, n)).view("f8") * rng.choice([-1, 1], n)
        check(np.argsort(np.asarray(bits)), numpy.argsort(bits, kind="stable"))


def test_rows_in_place_and_what_must_not_be_written():
    host = numpy.random.default_rng(2).normal(size=(6, 50))
    x = np.asarray(host.copy())
    x[2].sort()
    x[:, 3].sort()
    host[2].sort()
    host[:, 3].sort()
    check(x, host)
    fixed = np.arange(5)[::-1]
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fixed.sort()
    np.reset_coverage()


@pytest.mark.parametrize("dtype", "efd")
@pytest.mark.parametrize("n", [50, 3000, 100_000])
def test_stable_sort_keeps_zeros_of_both_signs_where_they_were(dtype, n):
    host = made(dtype, n)
    got, want = np.sort(np.asarray(host), kind="stable"), numpy.sort(host, kind="stable")
    numpy.testing.assert_array_equal(numpy.signbit(got)[want == 0], numpy.signbit(want)[want == 0])


def test_sort_copies_keep_the_layout():
    host = numpy.asfortranarray(made("d", (30, 40)))
    assert np.sort(np.asarray(host)).strides == numpy.sort(host).strides
    assert np.argsort(np.asarray(host)).strides == numpy.argsort(host).strides


@pytest.mark.parametrize("values", [[5, 5, 5, 5], [-3, 2**62, -(2**62), 0], [2**40, 2**41, 2**40]])
def test_long_lanes_of_unusual_ranges(values):
    host = numpy.array(values, "q")[numpy.random.default_rng(1).integers(0, len(values), 200_000)]
    x = np.asarray(host)
    check(np.sort(x), numpy.sort(host))
    check(np.argsort(x), numpy.argsort(host, kind="stable"))
    skewed = numpy.concatenate([host, numpy.arange(3)])
    check(np.argsort(np.asarray(skewed)), numpy.argsort(skewed, kind="stable"))


# NumPy's default sort of float16 with zeros of both signs is not always in order: its stable one is the oracle.
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 2, 50, 5000, 300_000])
def test_partitions(dtype, n):
    host = made(dtype, n)
    x = np.asarray(host)
    for kth in (n // 2, -1, [0, n // 3, n - 1]):
        want = numpy.sort(host, kind="stable")
        for got in (np.partition(x, kth), x[np.argpartition(x, kth)]):
            got = numpy.asarray(got)
            numpy.testing.assert_array_equal(numpy.sort(got, kind="stable"), want)
            numpy.testing.assert_array_equal(got[kth], want[kth])
            for k in numpy.atleast_1d(numpy.arange(n)[kth]):
                numpy.testing.assert_array_equal(numpy.sort(got[:k], kind="stable"), want[:k])
    here = x.copy()
    here.partition(n // 2)
    check(here[n // 2 : n // 2 + 1], numpy.sort(host)[n // 2 : n // 2 + 1])


def seen_in_a_sample(n):
    """The places of a long lane whose elements say around what it is divided."""
    places, state = [], n
    for _ in range(1 << 15):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        places.append(((state >> 32) * n) >> 32)
    return places


def test_partitions_of_long_lanes_that_are_unlike_their_samples():
    n = 300_000
    rng = numpy.random.default_rng(3)
    misleading = rng.random(n)
    misleading[seen_in_a_sample(n)] -= 9.0
    nothing = numpy.full(n, numpy.nan)
    nothing[::7] = rng.random(len(nothing[::7]))
    for host in (misleading, -misleading, numpy.ones(n), numpy.arange(n), numpy.arange(n)[::-1], nothing):
        want = numpy.sort(host)
        for x in (np.asarray(host), np.asarray(numpy.repeat(host, 2))[::2]):
            for k in (0, 1, n // 9, n // 2, n - 2, n - 1):
                got = numpy.asarray(np.partition(x, k))
                numpy.testing.assert_array_equal(got[k], want[k])
                numpy.testing.assert_array_equal(numpy.sort(got[:k]), want[:k])
                numpy.testing.assert_array_equal(numpy.sort(got[k:]), want[k:])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n", [1, 20, 3000])
def test_searches(dtype, n):
    host = numpy.sort(made(dtype, n))
    values = made(dtype, (7, 300), seed=2)
    a, v = np.asarray(host), np.asarray(values)
    for side in ("left", "right"):
        check(np.searchsorted(a, v, side), numpy.searchsorted(host, values, side))
        check(a.searchsorted(v[:, ::-2], side), host.searchsorted(values[:, ::-2], side))
    shuffled = made(dtype, n)
    sorter = numpy.argsort(shuffled, kind="stable")
    check(
        np.searchsorted(np.asarray(shuffled), v, sorter=np.asarray(sorter)),
        numpy.searchsorted(shuffled, values, sorter=sorter),
    )


def test_searches_meet_in_a_common_type():
    a = numpy.arange(10)
    assert np.searchsorted(np.asarray(a), 2.5) == 3
    assert type(np.searchsorted(np.asarray(a), 2)) is type(numpy.searchsorted(a, 2))
    check(np.searchsorted(np.asarray(a), [2.5, -1]), numpy.searchsorted(a, [2.5, -1]))


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in "FD"])
def test_digitize(dtype):
    values, edges = made(dtype, 500), numpy.array([-20.0, -3, 0, 0, 12.5, 60])
    for bins in (edges, edges[::-1], edges[:1]):
        for right in (False, True):
            check(np.digitize(np.asarray(values), np.asarray(bins), right), numpy.digitize(values, bins, right))


@pytest.mark.parametrize("shape", [(1,), (500,), (100_000,), (40, 30)], ids=str)
def test_lexsort(shape):
    keys = [made(d, shape, seed=i) for i, d in enumerate("?hdD")]
    check(np.lexsort([np.asarray(k) for k in keys]), numpy.lexsort(keys))
    if len(shape) == 2:
        check(np.lexsort([np.asarray(k) for k in keys], axis=0), numpy.lexsort(keys, axis=0))


def test_deferred_results_feed_each_other():
    host = made("d", 200_000)
    x = np.asarray(host)
    big = x[x > 0]
    check(np.sort(big)[::-1], numpy.sort(host[host > 0])[::-1])
    y = x + 1
    y.sort()
    y *= 2
    check(y, numpy.sort(host + 1) * 2)


WRONG = [
    lambda np, x: np.sort(x, axis=3),
    lambda np, x: np.sort(x, axis=1.5),
    lambda np, x: np.sort(x, kind="bubble"),
    lambda np, x: np.sort(x, kind="stable", stable=True),
    lambda np, x: np.sort(x, order="f"),
    lambda np, x: np.sort(x[0, 0]),
    lambda np, x: x.sort(axis=None),
    lambda np, x: np.argsort(x, axis=-3),
    lambda np, x: np.partition(x, 99),
    lambda np, x: np.partition(x, 1.5),
    lambda np, x: np.partition(x, 0, kind="heap"),
    lambda np, x: np.argpartition(x, [0, -99]),
    lambda np, x: np.searchsorted(x, 1),
    lambda np, x: np.searchsorted(x[0], 1, side="middle"),
    lambda np, x: np.searchsorted(x[0], 1, sorter=x[0]),
    lambda np, x: np.searchsorted(x[0], 1, sorter=np.arange(2)),
    lambda np, x: np.searchsorted(x[0], [1.0], sorter=np.arange(4) + 90),
    lambda np, x: np.digitize(x, [1, 3, 2]),
    lambda np, x: np.digitize(x, x),
    lambda np, x: np.digitize(x * 1j, [1]),
    lambda np, x: np.lexsort(()),
    lambda np, x: np.lexsort((x, x[0])),
    lambda np, x: np.broadcast_to(x, (2, 3, 4)).sort(),
    lambda np, x: np.broadcast_to(x, (2, 3, 4)).partition(1),
]


@pytest.mark.parametrize("call", WRONG, ids=range(len(WRONG)))
def test_wrong_calls_raise_what_numpy_raises(call):
    host = numpy.arange(12.0).reshape(3, 4)
    with pytest.raises(Exception) as want:
        call(numpy, host)
    with pytest.raises(type(want.value)) as got:
        numpy.asarray(call(np, np.asarray(host)))
    assert str(want.value) in str(got.value)
    np.reset_coverage()
