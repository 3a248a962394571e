"""Lists, tuples and NumPy's arrays of a few elements, as arguments and as indices: what NumPy gives, on every way."""

import itertools
import warnings

import numpy
import pytest

import numloom as np

WRITTEN = [
    [],
    [1],
    [1, 2, 3],
    (1.5, 2),
    [1, 2.5, 3],
    [True, False],
    [1, True],
    [1 + 2j, 3, 4.5],
    [[1, 2], [3, 4]],
    [(1.0, 2), [3, 4.5]],
    [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    [[[[1.5]]]],
    [[1], [2], [3j]],
    [[1, 2], [3]],
    [[1, 2], 3],
    [1, [2, 3]],
    [[], []],
    [[[1], [2]], [[3], 4]],
    [numpy.float64(1.5), 2],
    [numpy.float32(1.5), 2],
    [1 << 63],
    [1 << 70],
    [-1, 300],
    [1e300, 1.0],
    [float("nan"), 1],
    [float("inf"), 2],
    [(1 << 53) + 1, 0.5],
    ["a"],
    [None],
    3,
    2.5,
    True,
    1j,
    numpy.float64(2.5),
    numpy.arange(5),
    numpy.arange(6.0).reshape(2, 3),
    numpy.arange(6.0).reshape(2, 3).T,
    numpy.array(3.0),
    numpy.array([1j, 2]),
    numpy.arange(3).astype(">f8"),
]
TYPES = [None, float, int, "f4", "i4", "u1", "i8", "u8", complex, "c8", "f2", bool, numpy.float64, "nonsense"]


def same(got, expected):
    if isinstance(expected, tuple):
        assert type(got) is tuple and len(got) == len(expected)
        for a, b in zip(got, expected):
            same(a, b)
        return
    assert isinstance(got, np.ndarray) == isinstance(expected, numpy.ndarray)
    assert numpy.shape(got) == numpy.shape(expected)
    assert numpy.asarray(got).dtype == numpy.asarray(expected).dtype
    numpy.testing.assert_array_equal(numpy.asarray(got), expected)
    if isinstance(expected, numpy.ndarray) and expected.size and expected.ndim > 1:
        for n, ours, theirs in zip(expected.shape, got.strides, expected.strides):
            assert ours == theirs or n == 1


def both(call, *given):
    """The same call under both modules: the same result, the same warnings, or the same error."""
    outcomes = []
    for module in (numpy, np):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                outcome = call(module, *given)
            except Exception as e:
                outcome = e
        told = [(w.category, str(w.message)) for w in heard if w.category is not np.FallbackWarning]
        outcomes.append((outcome, told))
    (expected, theirs), (got, ours) = outcomes
    assert ours == theirs
    if isinstance(expected, Exception):
        assert type(got) is type(expected) and str(got) == str(expected)
    else:
        assert not isinstance(got, Exception), got
        same(got, expected)


@pytest.mark.parametrize("name", ["array", "asarray", "asanyarray"])
@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_of_what_is_written_down(name, dtype):
    for items in WRITTEN:
        both(lambda m, items: getattr(m, name)(items, dtype=dtype), items)
        both(lambda m, items: getattr(m, name)(items, dtype), items)
    both(lambda m: m.array(m.arange(6).reshape(2, 3), dtype=dtype, copy=True))
    both(lambda m: getattr(m, name)(m.arange(6.0).reshape(2, 3)[:, ::-1].T, dtype=dtype))
    both(lambda m: getattr(m, name)(m.asarray([1.5 + 1j, 2]), dtype=dtype))
    both(lambda m: getattr(m, name)(m.asarray([300.5, -2.0]), dtype=dtype))


def test_what_is_asked_for_is_shared_or_copied():
    a = np.arange(3.0)
    assert np.asarray(a) is a and np.asarray(a, float) is a and np.asanyarray(a, dtype="f8") is a
    assert np.asarray(a, None) is a and np.asarray(a, "f4") is not a
    for copy in (np.array(a), np.array(a, copy=True), np.array(a, float), np.copy(a)):
        copy[0] = 9
        assert copy is not a and a[0] == 0
    assert np.array(a, copy=False) is a or np.shares_memory(np.array(a, copy=False), a)
    host = numpy.arange(3.0)
    np.array(host)[0] = 9
    np.asarray(host)[0] = 9
    assert host[0] == 0


RANGES = [(5,), (0,), (-3,), (2, 9), (9, 2), (9, 2, -2), (0, 10, 3), (1.0,), (0.5, 4), (0, 1, 0.1), (3, 300), (-5, 5)]


@pytest.mark.parametrize("dtype", [None, int, float, "f4", "f2", "i1", "u1", "u8", "i4", complex, bool, object, "x"])
def test_ranges_of_every_type(dtype):
    for bounds in [*RANGES, (1 << 24, (1 << 24) + 5), (2**53, 2**53 + 3), (0, 8192), (0, 8193), (1, 2, 0), (1j,)]:
        both(lambda m, bounds: m.arange(*bounds, dtype=dtype), bounds)


LISTS = [[1, 2, 3], (1.5, 2.5, 3.5), [[1, 2, 3], [4, 5, 6]], [1 + 1j, 2, 3], [True, False, True], numpy.arange(3) + 0.5]


@pytest.mark.parametrize("items", LISTS)
def test_functions_of_lists(items):
    calls = [
        lambda m: m.add(items, items),
        lambda m: m.add(items, 1),
        lambda m: m.multiply(m.asarray([1, 2, 3], "f4"), items),
        lambda m: m.asarray([1.0, 2.0, 3.0]) - items,
        lambda m: items * m.asarray([1, 2, 3]),
        lambda m: m.asarray([1, 2, 3]) == items,
        lambda m: m.sqrt(items),
        lambda m: m.negative(items),
        lambda m: m.logical_not(items),
        lambda m: m.dot(items, [1, 2, 3]),
        lambda m: m.dot(items, items),
        lambda m: m.inner(items, items),
        lambda m: m.vdot(items, items),
        lambda m: m.matmul(items, [1.0, 2.0, 3.0]),
        lambda m: m.asarray([1.0, 2.0, 3.0]) @ items,
        lambda m: m.zeros_like(items),
        lambda m: m.diag(items),
        lambda m: m.outer(items, items),
        lambda m: m.cross(items, [1, 0, 0]),
        lambda m: m.sort(items),
        lambda m: m.argsort(items),
        lambda m: m.nonzero(items),
        lambda m: m.searchsorted([1, 2, 3], items),
        lambda m: m.searchsorted([1.0, 2.0, 3.0], [2.0, 1.5, 9.0, 0.0], side="right"),
        lambda m: m.bincount(items),
        lambda m: m.take(items, [0, 1]),
        lambda m: m.take(m.arange(5.0), [0, -1, 4]),
        lambda m: m.take(m.arange(5.0), [0, 5]),
        lambda m: m.arange(5.0).take([0, 1]),
        lambda m: m.arange(5.0).take(indices=[0, 1]),
        lambda m: m.repeat(items, 2),
        lambda m: m.repeat(items, [1, 0, 2]),
        lambda m: m.asarray(items).repeat(2),
        lambda m: m.asarray(items).searchsorted(1.5),
        lambda m: m.asarray(items).nonzero(),
        lambda m: m.asarray(items).argsort(),
        lambda m: m.tile(items, 2),
        lambda m: m.interp(items, [0, 1, 5], [0.0, 1.0, 2.0]),
        lambda m: m.convolve(items, [1, 2, 1]),
        lambda m: m.linalg.norm(items),
        lambda m: m.median(items),
        lambda m: m.unique(items),
        lambda m: m.count_nonzero(items),
        lambda m: m.einsum("i,i", items, [1, 2, 3]),
        lambda m: m.append(items, 1),
        lambda m: m.append([1.5], items),
        lambda m: m.append(items, items, axis=0),
        lambda m: m.append(items, [[1, 2, 3]], 0),
        lambda m: m.append(m.asarray([1, 2], "f4"), 2.0),
        lambda m: m.append(m.arange(6).reshape(2, 3), items),
        lambda m: m.append(items, None),
    ]
    for call in calls:
        both(call)


JOINED = [
    lambda m: [[1.0, 2.0], [3.0]],
    lambda m: [[1, 2], [3, 4]],
    lambda m: [m.arange(3), [1.5]],
    lambda m: (m.arange(3), m.arange(2.0)),
    lambda m: [m.arange(3.0)[::2], m.arange(2)],
    lambda m: [m.arange(3, dtype="f4"), 1.0],
    lambda m: [1, 2.5, True],
    lambda m: [m.ones((2, 3)), m.arange(3)],
    lambda m: [m.ones((2, 3)), [[1, 2, 3]]],
    lambda m: [m.ones((2, 3)), m.ones((2, 3), "c8")],
    lambda m: [m.ones((2, 3)), m.arange(2)],
    lambda m: [m.ones((2, 3)).T, m.ones((3, 2))],
    lambda m: [m.ones((2, 3)).T, m.ones((3, 2), int).T],
    lambda m: [m.arange(4), m.arange(4)],
    lambda m: [m.arange(4, dtype="u8"), m.arange(4)],
    lambda m: [m.ones((2, 2, 2)), m.zeros((2, 2, 2))],
    lambda m: [m.ones((2, 2, 2)), m.zeros((2, 2, 1))],
    lambda m: [m.ones(0), m.arange(3)],
    lambda m: [numpy.arange(3), m.arange(3)],
    lambda m: [m.arange(3), None],
    lambda m: [m.arange(3), "a"],
    lambda m: [],
    lambda m: [[]],
    lambda m: m.arange(6).reshape(2, 3),
    lambda m: 3,
]


@pytest.mark.parametrize("number", range(len(JOINED)))
def test_joined(number):
    parts = JOINED[number]
    for name in ("hstack", "vstack", "dstack", "column_stack", "concatenate", "stack"):
        both(lambda m, name: getattr(m, name)(parts(m)), name)
    for axis in (-4, -3, -2, -1, 0, 1, 2, 3, None):
        both(lambda m, axis: m.concatenate(parts(m), axis), axis)
        both(lambda m, axis: m.stack(parts(m), axis=axis), axis)


PARTS = [
    0,
    -1,
    5,
    numpy.int64(1),
    slice(None),
    slice(1, None),
    slice(None, None, -1),
    slice(2, 2),
    None,
    Ellipsis,
    [0, 1],
    [1, -1, 0],
    [0],
    [2, 9],
    [[0, 1], [1, 0]],
    [True, False, True],
    (0, 1),
    [],
    [0.5],
    numpy.array([0, 1]),
    numpy.array([[0], [1]]),
    numpy.array(1),
    numpy.array([0, 1], "i4"),
    numpy.array([0, 1], "u8"),
    numpy.arange(4).reshape(2, 2).T % 2,
]


def indices(count):
    one = [(p,) for p in PARTS]
    two = list(itertools.product(PARTS, PARTS))
    three = [(a, b, c) for a, b, c in itertools.product(PARTS[::2], PARTS[1::3], PARTS[::3])]
    return [*PARTS, *one, *two, *three][:: 1 if count else 2]


@pytest.mark.parametrize("dtype", ["f8", "i2", "c16", "?"])
@pytest.mark.parametrize("shape", [(4,), (3, 4), (3, 3, 4)])
def test_places(shape, dtype):
    rng = numpy.random.default_rng(3)
    host = (rng.random(shape) * 9).astype(dtype)
    for index in indices(len(shape) == 3):
        both(lambda m, index: m.asarray(host)[index], index)
        ours = tuple(np.asarray(p) if type(p) is numpy.ndarray else p for p in index) if type(index) is tuple else index
        both(lambda m, theirs, ours: m.asarray(host)[theirs if m is numpy else ours], index, ours)
        both(lambda m, index: m.asarray(host).T[index], index)


@pytest.mark.parametrize("shape", [(4,), (3, 4), (3, 3, 4)])
def test_places_are_written(shape):
    host = numpy.arange(float(numpy.prod(shape))).reshape(shape)
    values = [2.5, 3, 1j, True, [7.0], [1, 2], numpy.array([[5.0], [6.0]]), numpy.float32(2), "x"]

    def written(m, index, value, turned):
        a = m.array(host)
        a = a.T if turned else a
        index = tuple(m.asarray(p) if type(p) is numpy.ndarray else p for p in index) if type(index) is tuple else index
        a[index] = m.asarray(value) if type(value) is numpy.ndarray else value
        return a

    for k, index in enumerate(indices(True)):
        value, turned = values[k % len(values)], k % 2
        try:
            (host.T if turned else host)[index]
        except IndexError:
            # Which of several mistakes is told of is left open.
            with pytest.raises((IndexError, TypeError, ValueError)):
                written(np, index, value, turned)
        else:
            both(written, index, value, turned)


def test_places_of_what_is_written():
    def shared(m):
        a = m.arange(6)
        a[a[:3]] = a[3:]
        a[[0, 1, 0]] = [7, 8, 9]
        a.reshape(2, 3)[[0, 1], [0, 0]] += 1
        b = a.reshape(2, 3)
        b[:, [0, 1]] = b[:, [1, 2]]
        b[[0, 1]] = b[[1, 0]]
        return a

    both(shared)
    frozen = np.arange(6.0).reshape(2, 3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        frozen[[0, 1], [0, 1]] = 1.0


def test_views_that_einsum_gives():
    for text, shape in (("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("iij->ji", (2, 2, 3)), ("ij", (2, 3)), ("i->i", (4,))):
        host = numpy.arange(float(numpy.prod(shape))).reshape(shape)
        both(lambda m, text, host: m.einsum(text, m.asarray(host)), text, host)
        ours = np.asarray(host)
        view = np.einsum(text, ours)
        view[...] = -1
        assert np.shares_memory(view, ours) and (ours == -1).any()
    frozen = np.arange(4.0).reshape(2, 2)
    frozen.flags.writeable = False
    assert not np.einsum("ij->ji", frozen).flags.writeable


def test_places_in_sorted_values():
    rng = numpy.random.default_rng(5)
    for dtype in ("f8", "f4", "i8", "u2", "?"):
        held = numpy.sort((rng.random(50) * 20).astype(dtype))
        wanted = (rng.random(200) * 24 - 2).astype(dtype)
        sorts = (wanted, numpy.sort(wanted), numpy.sort(wanted)[::-1].copy())
        for values, side in itertools.product(sorts, ("left", "right")):
            both(lambda m, a, v, side: m.searchsorted(m.asarray(a), m.asarray(v), side), held, values, side)
            both(lambda m, a, v, side: m.asarray(a).searchsorted(m.asarray(v), side=side), held, values, side)


def test_vectorized_functions_of_a_few_elements():
    calls = [
        lambda m: m.vectorize(lambda x: x + 1)(m.arange(5)),
        lambda m: m.vectorize(lambda x, y: x * y)(m.arange(3)[:, None], m.arange(2.0)),
        lambda m: m.vectorize(lambda x: (x, 2.0 * x))(m.arange(4)),
        lambda m: m.vectorize(lambda x: str(x))(m.arange(3)),
        lambda m: m.vectorize(lambda x: x, otypes=["f4"])(m.arange(3)),
        lambda m: m.vectorize(lambda x: x)(m.arange(0)),
        lambda m: m.vectorize(lambda x: x, otypes=[float])(m.arange(0)),
        lambda m: m.vectorize(lambda x: x)(m.arange(6).reshape(2, 3).T),
        lambda m: m.vectorize(lambda x: x)(3),
        lambda m: m.vectorize(lambda x, k=1: x + k, excluded=["k"])(m.arange(3), k=5),
        lambda m: m.vectorize(lambda x: x, cache=True)([1, 2, 3]),
        lambda m: m.vectorize(lambda x, y: x)(m.arange(3), m.arange(2)),
    ]
    for call in calls:
        both(call)


MATRICES = [
    [[2.0, 1.0], [1.0, 3.0]],
    [[1.0, 2.0], [2.0, 4.0]],
    [[1, 2], [3, 4]],
    [[5.0]],
    [[1e200, 0.0], [0.0, 1e200]],
    [[0.0, 0.0], [0.0, 0.0]],
    [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
    [1.0, 2.0],
    [[[2.0, 1.0], [1.0, 3.0]], [[1.0, 0.0], [0.0, 1.0]]],
    [[1j, 0], [0, 2]],
]


@pytest.mark.parametrize("name", ["det", "inv"])
@pytest.mark.parametrize("matrix", MATRICES)
def test_small_matrices(name, matrix):
    host = numpy.array(matrix)
    for given in (lambda m: matrix, lambda m: m.asarray(matrix), lambda m: m.asarray(matrix).T, lambda m: host):
        outcomes = []
        for module in (numpy, np):
            with warnings.catch_warnings(record=True) as heard:
                warnings.simplefilter("always")
                try:
                    outcomes.append((numpy.asarray(getattr(module.linalg, name)(given(module))), len(heard)))
                except numpy.linalg.LinAlgError as e:
                    outcomes.append((str(e), 0))
        (expected, theirs), (got, ours) = outcomes
        assert theirs == ours and type(got) is type(expected)
        if isinstance(expected, str):
            assert got == expected
        else:
            assert got.dtype == expected.dtype and got.shape == expected.shape
            numpy.testing.assert_allclose(got, expected, rtol=1e-12)


def test_arrays_of_iterators():
    class Once:
        """An iterator that is asked no more once it has ended."""

        def __init__(self, n):
            self.left = n

        def __iter__(self):
            return self

        def __next__(self):
            assert self.left >= 0
            self.left -= 1
            if self.left < 0:
                raise StopIteration
            return self.left

    for n in (0, 1, 5, (1 << 14) - 1, (1 << 14), (1 << 14) + 1, 40_000):
        for dtype in (float, "i2", "U5", object):
            both(lambda m, n, dtype: m.fromiter((k % 100 for k in range(n)), dtype), n, dtype)
        made = np.fromiter(Once(n), int)
        assert made.shape == (n,) and made.flags.writeable and made.flags.owndata
    both(lambda m: m.fromiter(iter([1, "a"]), float))
    both(lambda m: m.fromiter(range(3), int, 5))
    both(lambda m: m.fix([1.5, -1.5]))
    both(lambda m: m.fix(m.asarray([1.5, -1.5])))
    both(lambda m: m.fix(m.asarray([1.5, -1.5]), out=m.zeros(2)))
