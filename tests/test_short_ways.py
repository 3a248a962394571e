"""Calls that go past the general paths give what the general paths give, and leave nothing behind."""

import gc
import inspect
import pickle
import random
import sys
import weakref

import numpy
import pytest

import numloom as np


def random_index(rng, shape):
    def part(extent):
        kind = rng.randrange(4)
        if kind == 0 and extent:
            return rng.randint(-extent, extent - 1)
        bound = [None, *range(-extent - 2, extent + 3)]
        return slice(rng.choice(bound), rng.choice(bound), rng.choice([None, 1, 2, -1, -3]))

    parts = [part(n) for n in shape[: rng.randint(0, len(shape))]]
    if rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), Ellipsis)
    while rng.random() < 0.3:
        parts.insert(rng.randint(0, len(parts)), None)
    return parts[0] if len(parts) == 1 and rng.random() < 0.7 else tuple(parts)


@pytest.mark.parametrize("seed", range(40))
def test_indices(seed):
    rng = random.Random(seed)
    for _ in range(50):
        shape = tuple(rng.randint(0, 5) for _ in range(rng.randint(0, 5)))
        host = numpy.arange(numpy.prod(shape, dtype=int)).astype(rng.choice(["f8", "i4", "c16", "?"])).reshape(shape)
        ours = np.asarray(host)
        index = random_index(rng, shape)
        try:
            expected = host[index]
        except IndexError:
            with pytest.raises(IndexError):
                ours[index]
            continue
        got = ours[index]
        assert numpy.shape(got) == expected.shape and got.dtype == expected.dtype, index
        numpy.testing.assert_array_equal(numpy.asarray(got), expected)
        if isinstance(got, np.ndarray):
            assert got.strides == expected.strides or got.size == 0 or 1 in got.shape, index
            assert got.base is ours
        value = rng.choice([1, 0.0, numpy.float64(2), True])
        host[index] = value
        ours[index] = value
        numpy.testing.assert_array_equal(numpy.asarray(ours), host)


@pytest.mark.parametrize("index", [10, -11, (0, 0), (Ellipsis, Ellipsis), "x", 1.0, slice(None, None, 0), 1 << 70])
def test_wrong_indices(index):
    host = numpy.arange(10.0)
    raised = []
    for x in (host, np.asarray(host)):
        for use in (lambda x: x[index], lambda x: x.__setitem__(index, 1)):
            with pytest.raises(Exception) as e:
                use(x)
            raised.append((e.type, str(e.value)))
    assert raised[:2] == raised[2:]


def test_objects_are_used_again_and_die_in_full():
    a = np.zeros(1000)
    gone = []

    def many():
        for _ in range(1000):
            view = a[1:5]
            weakref.finalize(view, gone.append, None)
            several = [view[::2] for _ in range(100)]
        del view, several
        gc.collect()

    # Objects kept to be used again hold their class; after the first round there are as many as there will be.
    many()
    classes, holders = sys.getrefcount(np.ndarray), sys.getrefcount(a)
    many()
    assert len(gone) == 2000
    assert sys.getrefcount(a) == holders
    assert sys.getrefcount(np.ndarray) <= classes + 2


def test_attributes_that_are_set():
    x = np.arange(6)
    x.shape = 2, 3
    assert x.shape == (2, 3) and x.T.shape == (3, 2) and x.size == 6 and x.ndim == 2
    for name in ("T", "dtype", "size", "ndim"):
        with pytest.raises((AttributeError, TypeError)):
            setattr(x, name, 1)
    with pytest.raises((AttributeError, TypeError)):
        del x.shape


def test_methods_and_functions_with_keywords():
    x = np.arange(12.0)
    assert x.reshape(3, -1, order="F").strides == (8, 24)
    assert x.astype("f4", copy=True).dtype == numpy.float32
    assert x.argmax(axis=0) == 11 and x.reshape(3, 4).argmin(axis=1).tolist() == [0, 0, 0]
    assert np.zeros((2, 3), dtype="i2").dtype == numpy.int16 and np.zeros(shape=2).shape == (2,)
    assert np.empty(3, order="F").shape == (3,) and np.asarray([1, 2], dtype=float).dtype == float
    assert np.add(x, 1, out=x) is x and np.add(1, x, dtype="f4").dtype == numpy.float32


@pytest.mark.parametrize("name", ["empty", "zeros", "asarray"])
def test_functions_look_like_functions(name):
    function = getattr(np, name)
    assert function.__name__ == name and function.__module__ == "numloom"
    assert pickle.loads(pickle.dumps(function)) is function
    expected = list(inspect.signature(getattr(numpy, name)).parameters)
    assert list(inspect.signature(function).parameters) == expected


def test_scalars_are_numpys():
    for dtype in "?bBhHiIlLefdFD":
        x = np.asarray(numpy.array([0, 1, 77]).astype(dtype))
        assert type(x[2]) is numpy.dtype(dtype).type and x[2] == numpy.array(77).astype(dtype)
