"""Elements read and written through index arrays on a GPU, against NumPy.

Run by `python -m tests.gpu`, on a machine with a GPU.
"""

from __future__ import annotations

import numpy
import pytest

import numloom as np

from .test_library import all_of_it_on_the_gpu, drawn, pytestmark, there  # noqa: F401

DTYPES = ["?", "i1", "f2", "i4", "f8", "c16"]


def whole(shape, dtype, seed=0):
    return (drawn(shape, "f8", seed) * 100).astype(dtype)


def places(n, shape, seed=1):
    """Of an axis of `n` elements, from both of its ends."""
    return numpy.random.default_rng(seed).integers(-n, n, shape)


def same(ours, want):
    assert isinstance(ours, np.ndarray) and ours.dtype == want.dtype and ours.shape == want.shape
    ours = numpy.asarray(ours)
    lies = [[step for n, step in zip(a.shape, a.strides) if n > 1] for a in (ours, want)]
    assert lies[0] == lies[1] or want.size == 0
    assert numpy.array_equal(ours, want)


# Each says which indices of an array of shape (40, 30, 20) it takes.
INDICES = {
    "pair": lambda p: (p(40, 5000), p(30, 5000)),
    "all three": lambda p: (p(40, 5000), p(30, 5000), p(20, 5000)),
    "broadcast": lambda p: (p(40, (70, 1)), p(30, (1, 80))),
    "broadcast, all": lambda p: (p(40, (9, 1, 1)), p(30, (8, 1)), p(20, 7)),
    "with a slice between": lambda p: (p(40, 3000), slice(None), p(20, 3000)),
    "with a slice before": lambda p: (slice(3, 33, 2), p(30, 900), p(20, 900)),
    "with a slice from behind": lambda p: (p(40, 900), p(30, 900), slice(None, None, -1)),
    "one, of the last axis": lambda p: (Ellipsis, p(20, 300)),
    "one, of the middle axis": lambda p: (slice(None), p(30, (20, 15))),
    "with a number": lambda p: (p(40, 700), 7, p(20, 700)),
    "with a new axis": lambda p: (p(40, 700), None, p(30, 700)),
    "with a mask": lambda p: (slice(None), numpy.arange(600).reshape(30, 20) % 3 == 0),
}


def moved(index):
    index = index if isinstance(index, tuple) else (index,)
    return tuple(there(i) if isinstance(i, numpy.ndarray) else i for i in index)


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_several_index_arrays_read(dtype, name):
    x, index = whole((40, 30, 20), dtype), INDICES[name](places)
    for layout in ("C", "F", "strided"):
        same(there(x, layout)[moved(index)], there(x, layout).__array__()[index])


@pytest.mark.parametrize("name", INDICES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_several_index_arrays_write(dtype, name):
    x, index = whole((40, 30, 20), dtype), INDICES[name](places)
    shape = x[index].shape
    for values in (whole(shape, dtype, 3), whole(shape[-1:], dtype, 4), numpy.array(1, dtype)):
        for layout in ("C", "strided"):
            ours, want = there(x, layout), x.copy()
            ours[moved(index)] = there(values) if values.ndim else values[()]
            want[index] = values
            assert numpy.array_equal(numpy.asarray(ours), want)


def test_the_last_value_for_a_place_wins():
    r = numpy.random.default_rng(0)
    i, j, v = r.integers(0, 50, 100_000), r.integers(0, 60, 100_000), r.random(100_000)
    for shape in ((50, 60), (5_000, 60_000)):
        ours, want = there(numpy.zeros(shape)), numpy.zeros(shape)
        ours[there(i), there(j)] = there(v)
        want[i, j] = v
        assert numpy.array_equal(ours[:50, :60].copy(), want[:50, :60])
        assert float(ours.sum()) == pytest.approx(want[:50, :60].sum())
        want[i, j] += v
        ours[there(i), there(j)] += there(v)
        assert numpy.array_equal(ours[:50, :60].copy(), want[:50, :60])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, None])
@pytest.mark.parametrize("dtype", ["u1", "f4", "c16"])
def test_along_an_axis(dtype, axis):
    x = whole((40, 30, 20), dtype)
    order = numpy.argsort(x.real, axis=axis)
    same(np.take_along_axis(there(x), there(order), axis), numpy.take_along_axis(x, order, axis))
    few = order[:5] if axis is None else order.take(range(3), axis)
    same(np.take_along_axis(there(x), there(few), axis), numpy.take_along_axis(x, few, axis))
    ours, want = there(x), x.copy()
    np.put_along_axis(ours, there(few), 7, axis)
    numpy.put_along_axis(want, few, 7, axis)
    same(ours, want)


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, 1, 2])
def test_take_along_any_axis(axis, mode):
    x = whole((40, 30, 20), "f4")
    index = places(20 if mode == "raise" else 500, (11, 13))
    same(np.take(there(x), there(index), axis, mode=mode), numpy.take(x, index, axis, mode=mode))


def test_rows_of_every_length():
    for n in (1, 2, 3, 4, 6, 8, 100, 1001):
        for dtype in ("u1", "f2", "f4", "f8", "c16"):
            x, index = whole((500, n), dtype), places(500, 333)
            same(there(x)[there(index)], x[index])
            ours, want = there(x), x.copy()
            ours[there(index)] = there(x[:333])
            want[index] = x[:333]
            same(ours, want)


def test_wrong_indices_are_named_and_nothing_is_written():
    x = whole((40, 30), "f8")
    i, j = numpy.arange(20), numpy.arange(20)
    for wrong in ((30, 5, 1), (-31, 7, 1), (40, 19, 0), (-41, 0, 0)):
        given = [i.copy(), j.copy()]
        given[wrong[2]][wrong[1]] = wrong[0]
        ours = there(x)
        message = rf"^index {wrong[0]} is out of bounds for axis {wrong[2]} with size {x.shape[wrong[2]]}(\n|$)"
        with pytest.raises(IndexError, match=message):
            numpy.asarray(ours[there(given[0]) + 0, there(given[1]) + 0])
        with pytest.raises(IndexError, match=message):
            ours[there(given[0]) + 0, there(given[1]) + 0] = 5.0
            np.sync()
        same(ours, x)
    both = [i.copy(), j.copy()]
    both[0][9], both[1][2], both[0][7] = 77, 99, 66
    with pytest.raises(IndexError, match=r"^index 66 is out of bounds for axis 0 with size 40(\n|$)"):
        numpy.asarray(there(x)[there(both[0]) + 0, there(both[1]) + 0])
