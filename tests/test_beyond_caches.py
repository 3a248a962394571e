"""What takes another way where arrays are larger than the caches: writes through indices, columns, turned copies."""

import numpy
import pytest

import numloom as np


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "c16"])
def test_scattered_writes_to_what_is_larger_than_the_caches(dtype):
    """They are dealt out to parts of the target first: of several values for a place the last one must still win."""
    rng = numpy.random.default_rng(5)
    n = (17 << 20) // numpy.dtype(dtype).itemsize
    places = rng.integers(-n, n, 1_300_001)
    values = numpy.arange(len(places)).astype(dtype)
    for view in (slice(None), slice(None, None, -1)):
        host = numpy.zeros(n, dtype)
        x = np.asarray(host)
        host[view][places] = values
        x[view][np.asarray(places)] = np.asarray(values)
        assert numpy.array_equal(numpy.asarray(x), host)
        host[view][places[:400_000]] = 7
        x[view][np.asarray(places[:400_000])] = 7
        assert numpy.array_equal(numpy.asarray(x), host)
        numpy.add.at(host[view], places, values[::-1])
        np.add.at(x[view], np.asarray(places), np.asarray(values)[::-1])
        assert numpy.array_equal(numpy.asarray(x), host)
    plane, row, column = host[: n // 1000 * 1000].reshape(-1, 1000), places % (n // 1000), places % 1000
    mine = np.asarray(plane)
    plane[row, column] = values
    mine[np.asarray(row), np.asarray(column)] = np.asarray(values)
    assert numpy.array_equal(numpy.asarray(mine), plane)
    bad = places.copy()
    bad[-1] = n
    before = numpy.asarray(x).copy()
    with pytest.raises(IndexError, match="out of bounds"):
        x[np.asarray(bad)] = np.asarray(values)
        np.sync(x)
    assert numpy.array_equal(numpy.asarray(x), before)


def test_columns_by_index_of_a_large_plane():
    rng = numpy.random.default_rng(6)
    for dtype, shape in (("f8", (1500, 1700)), ("f4", (3000, 1601)), ("i2", (4001, 2500)), ("u1", (70, 300_000))):
        host = (rng.random(shape) * 100).astype(dtype)
        columns = rng.integers(-shape[1], shape[1], min(shape[1], 4000))
        got = np.asarray(host)[:, np.asarray(columns)]
        want = host[:, columns]
        assert numpy.array_equal(numpy.asarray(got), want) and got.strides == want.strides
        got = np.asarray(host)[::-1, np.asarray(columns[:37])]
        assert numpy.array_equal(numpy.asarray(got), host[::-1, columns[:37]])


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "c16"])
def test_turned_copies_of_what_is_larger_than_the_caches(dtype):
    rng = numpy.random.default_rng(7)
    side = int((18 << 20) / numpy.dtype(dtype).itemsize) // 1003
    host = (rng.random((side, 1003)) * 100).astype(dtype)
    x = np.asarray(host)
    assert numpy.array_equal(numpy.asarray(x.T.copy()), host.T)
    assert numpy.array_equal(numpy.asarray(np.ascontiguousarray(x[3:, 5:].T)), host[3:, 5:].T)
    cube, mine = host[:, :1000].reshape(side, 40, 25), np.asarray(x[:, :1000].reshape(side, 40, 25))
    for axes in ((0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1)):
        assert numpy.array_equal(numpy.asarray(np.ascontiguousarray(mine.transpose(axes))), cube.transpose(axes))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "u1", "c16"])
def test_columns_that_are_filled_together(dtype):
    """Copies to columns side by side are one task, which writes whole lines."""
    rng = numpy.random.default_rng(8)
    n = (18 << 20) // numpy.dtype(dtype).itemsize // 3 + 5
    hosts = [(rng.random(n) * 100).astype(dtype) for _ in range(3)]
    parts = [np.asarray(host) for host in hosts]
    whole = np.stack(parts, axis=1)
    assert str(np.explain(whole)).count("task ") == 1
    assert numpy.array_equal(numpy.asarray(whole), numpy.stack(hosts, axis=1))
    assert numpy.array_equal(numpy.asarray(np.stack(parts[::-1], axis=1)), numpy.stack(hosts[::-1], axis=1))
    # One column is left out, one is read backwards, one part is not a copy, rows are not the last axis.
    for m, (a, b, c) in ((np, parts), (numpy, hosts)):
        gap, turned, mixed = (m.zeros((n, 3), dtype) for _ in range(3))
        gap[:, 0], gap[:, 2] = a, c
        turned[:, 0], turned[:, 1], turned[:, 2] = a, b[::-1], c
        mixed[:, 0], mixed[:, 1], mixed[:, 2] = a, b + c, c
        side = (n - 7) // 10
        planes = m.stack([x[: 10 * side].reshape(10, side) for x in (c, b, a)], axis=2)
        tall = m.stack([x[: 10 * side].reshape(10, side) for x in (c, b, a)], axis=1)
        results = [gap, turned, mixed, planes, tall]
        if m is np:
            mine = [numpy.asarray(r) for r in results]
    assert all(numpy.array_equal(x, y) for x, y in zip(mine, results, strict=True))


def test_parts_of_complex_numbers_are_filled_together():
    a, b = numpy.random.default_rng(9).random((2, 1_300_001))
    z = np.empty(len(a), complex)
    z.imag, z.real = np.asarray(b), np.asarray(a)
    assert str(np.explain(z)).count("task ") == 1
    assert numpy.array_equal(numpy.asarray(z), a + 1j * b)
    z.real, z.imag = z.imag, z.real
    assert numpy.array_equal(numpy.asarray(z), b + 1j * b)


def test_long_parts_of_rows_are_filled_one_by_one():
    host = numpy.random.default_rng(10).random((1501, 1507))
    x = np.asarray(host)
    for shift in (1, 100, 700, 1506):
        assert numpy.array_equal(numpy.asarray(np.roll(x, shift, axis=1)), numpy.roll(host, shift, axis=1))
    joined = np.concatenate((x, x[:, :3], x), axis=1)
    assert numpy.array_equal(numpy.asarray(joined), numpy.concatenate((host, host[:, :3], host), axis=1))


@pytest.mark.parametrize("dtype", ["i8", "f8", "u4", "c16"])
def test_scans_of_many_segments(dtype):
    """A lane is folded a segment ahead of where it is scanned: also in place and backwards."""
    rng = numpy.random.default_rng(8)
    for n in (1 << 17, (9 << 20) // 4 + 1, 5_000_001):
        host = rng.integers(0, 9, n).astype(dtype)
        want = numpy.cumsum(host)
        x = np.asarray(host)
        assert numpy.array_equal(numpy.asarray(np.cumsum(x)), want)
        assert numpy.array_equal(numpy.asarray(np.cumsum(x[::-1])), numpy.cumsum(host[::-1]))
        rows = host[: n // 3 * 3].reshape(3, -1)
        assert numpy.array_equal(numpy.asarray(np.cumsum(np.asarray(rows), axis=1)), numpy.cumsum(rows, axis=1))
        np.cumsum(x, out=x)
        assert numpy.array_equal(numpy.asarray(x), want)
    if dtype != "c16":
        host = numpy.maximum.accumulate(host)
        got = np.maximum.accumulate(np.asarray(host))
        assert numpy.array_equal(numpy.asarray(got), host)


def test_long_lanes_that_are_in_order():
    """They are found to be, whatever cuts them: one element out of place is seen."""
    for dtype in ("f8", "i4", "u2"):
        host = (numpy.arange(400_000) // 7).astype(dtype)
        host.sort()
        for at in (None, 0, 12_499, 12_500, 32_767, 32_768, 199_999, 200_000, 399_999):
            case = host.copy()
            if at is not None:
                case[at] = case[-1 - at]
            x = np.asarray(case)
            assert numpy.array_equal(numpy.asarray(np.sort(x)), numpy.sort(case))
            both = np.asarray(numpy.stack([case, case[::-1]], axis=1))
            assert numpy.array_equal(numpy.asarray(np.sort(both, axis=0)[:, 1]), numpy.sort(case))
            x.sort()
            assert numpy.array_equal(numpy.asarray(x), numpy.sort(case))


@pytest.mark.parametrize("n", [4095, 4096, 39_062, 131_071])
def test_lanes_that_fit_in_a_cache(n):
    """Doubles are dealt out to cells of equal width there: many in one of them, infinities and NaNs."""
    rng = numpy.random.default_rng(9)
    for values in (rng.random(n), rng.random(n) ** 40, rng.integers(0, 3, n) * 0.5, rng.standard_cauchy(n)):
        values[:: n // 5] = [numpy.nan, numpy.inf, -numpy.inf, -0.0, 1e-320, -numpy.nan][: len(values[:: n // 5])]
        assert numpy.array_equal(numpy.asarray(np.sort(np.asarray(values))), numpy.sort(values), equal_nan=True)
        integers = (values * 1e6).astype("i8") if numpy.isfinite(values).all() else rng.integers(-(2**63), 2**63 - 1, n)
        assert numpy.array_equal(numpy.asarray(np.sort(np.asarray(integers))), numpy.sort(integers))
