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
