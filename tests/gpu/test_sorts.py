"""Sorts along any axis on a GPU, and what is made of them, against NumPy.

Run by `python -m tests.gpu`, on a machine with a GPU.
"""

from __future__ import annotations

import numpy
import pytest

import numloom as np

from .test_library import all_of_it_on_the_gpu, drawn, pytestmark, there  # noqa: F401

DTYPES = ["?", "i1", "u1", "i2", "u2", "f2", "i4", "u4", "f4", "i8", "u8", "f8"]
# Rows by the hundred for a block, one for it, several long ones, and more than 256 of them.
SHAPES = [(4000, 3), (500, 37), (70, 1000), (40, 2048), (33, 3000), (20, 6000), (3, 20_000), (300, 9000), (1, 500)]


def some(shape, dtype, seed=0):
    """With ties, zeros of both signs, NaNs and infinities where there are such."""
    x = drawn(shape, "f8", seed) * 40
    if numpy.dtype(dtype).kind == "f":
        x = numpy.where(abs(x) < 15, numpy.trunc(x / 7) * 0.5, x)
        x[..., ::11] = numpy.nan
        x[..., 5::17] = numpy.inf
        x[..., 6::17] = -numpy.inf
    elif numpy.dtype(dtype).kind == "u":
        x = abs(x)
    return x.astype(dtype)


def same(ours, want):
    assert ours.dtype == want.dtype and ours.shape == want.shape
    ours = numpy.asarray(ours)
    assert ours.strides == want.strides
    assert numpy.array_equal(ours, want, equal_nan=want.dtype.kind == "f")


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_rows(dtype, shape):
    x = some(shape, dtype)
    # NumPy's own quicksort of halves is not always right where there are NaNs.
    same(np.sort(there(x)), numpy.sort(x, kind="stable"))
    same(np.argsort(there(x)), numpy.argsort(x, kind="stable"))
    stable, want = np.sort(there(x), kind="stable"), numpy.sort(x, kind="stable")
    same(stable, want)
    if x.dtype.kind == "f":
        numbers = ~numpy.isnan(want)
        assert numpy.array_equal(numpy.signbit(stable)[numbers], numpy.signbit(want)[numbers])


@pytest.mark.parametrize("axis", [0, 1, 2, None])
@pytest.mark.parametrize("layout", ["C", "F", "strided"])
def test_any_axis_of_any_layout(layout, axis):
    for dtype in ("f4", "i8", "u1"):
        for shape in ((30, 40, 50), (5, 6000, 7), (20_000, 2, 3)):
            x = there(some(shape, dtype), layout)
            h = numpy.asarray(there(some(shape, dtype), layout))
            same(np.sort(x, axis), numpy.sort(h, axis, kind="stable"))
            same(np.argsort(x, axis), numpy.argsort(h, axis, kind="stable"))


@pytest.mark.parametrize("kind", [None, "stable"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_in_place(axis, kind):
    for dtype in ("u1", "f2", "i4", "f8"):
        for shape in ((30, 40, 50), (3, 10_000, 5), (2, 3, 30_000)):
            x = some(shape, dtype)
            whole = there(x)
            whole.sort(axis, kind=kind)
            part = there(numpy.concatenate([x, x], axis=1))
            part[:, 1::2].sort(axis, kind=kind)
            want = numpy.concatenate([x, x], axis=1)
            want[:, 1::2].sort(axis, kind="stable")
            x.sort(axis, kind="stable")
            same(whole, x)
            same(part, want)


@pytest.mark.parametrize("shape", [(100_000,), (300, 700), (3, 20_000)])
@pytest.mark.parametrize("dtype", ["i4", "f8"])
def test_partitions(dtype, shape):
    x, n = some(shape, dtype), shape[-1]
    for kth in (0, n // 2, [3, n - 1, n // 3]):
        at = numpy.atleast_1d(kth)
        want = numpy.sort(x)[..., at]
        parted = numpy.asarray(np.partition(there(x), kth))
        assert numpy.array_equal(parted[..., at], want, equal_nan=dtype == "f8")
        assert numpy.array_equal(numpy.sort(parted), numpy.sort(x), equal_nan=dtype == "f8")
        places = numpy.asarray(np.argpartition(there(x), kth))
        assert numpy.array_equal(numpy.take_along_axis(x, places, -1)[..., at], want, equal_nan=dtype == "f8")
        ours = there(x)
        ours.partition(kth)
        assert numpy.array_equal(numpy.asarray(ours)[..., at], want, equal_nan=dtype == "f8")


def test_lexsort():
    r = numpy.random.default_rng(0)
    keys = [r.integers(0, 5, 50_000), r.integers(0, 7, 50_000).astype("f4"), r.integers(0, 3, 50_000).astype("u1")]
    assert numpy.array_equal(np.lexsort([there(k) for k in keys]), numpy.lexsort(keys))
    keys = r.integers(0, 4, (3, 50, 600))
    for axis in (0, 1):
        assert numpy.array_equal(np.lexsort([there(k) for k in keys], axis), numpy.lexsort(keys, axis))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_order_statistics(axis):
    x = drawn((301, 4000), "f8")
    ours = there(x)
    assert numpy.allclose(np.median(ours, axis), numpy.median(x, axis), rtol=1e-14)
    assert numpy.allclose(np.percentile(ours, [5, 50, 99], axis), numpy.percentile(x, [5, 50, 99], axis), rtol=1e-13)


def test_more_than_can_be_sorted_together():
    x = there(numpy.random.default_rng(0).integers(0, 256, 1 << 20).astype("u1"))
    many = np.broadcast_to(x, (2100, 1 << 20)).copy()
    done = np.sort(many)
    assert bool((done == np.sort(x)).all())
