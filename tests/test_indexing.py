"""Reading and writing through every kind of index, against NumPy."""

# The functions made in loops are called before the loop goes on.
# ruff: noqa: B023

from __future__ import annotations

import itertools

import numpy
import pytest

from .oracle import agree, agree_in_outcome, mine, np, values

BASIC = [
    numpy.s_[0], numpy.s_[-1], numpy.s_[2, 3], numpy.s_[1:3], numpy.s_[::2], numpy.s_[::-1], numpy.s_[-1:0:-2],
    numpy.s_[:, 1], numpy.s_[..., 0], numpy.s_[...], numpy.s_[None], numpy.s_[:, None, 2], numpy.s_[..., None], (),
    numpy.s_[1:1], numpy.s_[100:], numpy.s_[-100:2], numpy.s_[:, ::-1, None], numpy.s_[0, ..., 1],
    numpy.s_[numpy.int8(1)], numpy.s_[True], numpy.s_[False], numpy.s_[numpy.array(2)], numpy.s_[1:3, True],
    numpy.s_[None, False, 0],
]  # fmt: skip

ADVANCED = [
    [0, 2], [[0, 1], [2, 3]], [], numpy.array([-1, 0, 2], "int8"), numpy.array([1, 1, 1], "uint16"),
    ([0, 1], [1, 2]), ([[0], [1]], [0, 2]), numpy.s_[[0, 1], :, [1, 2]], numpy.s_[:, [0, 1]], numpy.s_[:, [0, 1], 1],
    numpy.s_[..., [0, 1]], numpy.s_[[0, 2], ...], numpy.s_[[0, 1], None, [1, 2]], numpy.s_[None, [0, 1]],
    numpy.s_[1, [0, 1]], numpy.s_[[0, 1], 1], numpy.s_[[0, 1], 1:3], numpy.s_[1:3, [0, 1]],
    numpy.s_[::-1, [0, 1], ::-1], numpy.s_[0, :, [0, 1]], numpy.s_[[0], [1], [2]],
    numpy.s_[[[0, 1]], :, [[1], [2]]], numpy.s_[[0, 1], [0, 1], 1:],
]  # fmt: skip


def masks(shape):
    for k in range(1, len(shape) + 1):
        yield values("bool", shape[:k], seed=k)
        yield numpy.zeros(shape[:k], bool)
        yield numpy.ones(shape[:k], bool)
    yield (slice(None), values("bool", shape[1], seed=9))
    yield (0, values("bool", shape[1], seed=9))
    yield ([0, 1], numpy.array([True, True] + [False] * (shape[1] - 2)))
    yield (values("bool", shape[0], seed=3), None)
    yield values("bool", shape, seed=4).nonzero()


def describe(index) -> str:
    parts = index if isinstance(index, tuple) else (index,)
    return str([p.shape if isinstance(p, numpy.ndarray) else p for p in parts])


def to_mine(index):
    """The same index with the module's arrays in it."""
    if isinstance(index, tuple):
        return tuple(map(to_mine, index))
    return mine(index) if isinstance(index, numpy.ndarray) else index


def arrays():
    x = values("float64", (4, 5, 6))
    yield "dense", x, lambda m: m, lambda x: x
    yield "transposed", x, lambda m: m.T, lambda x: x.T
    yield "reversed", x, lambda m: m[::-1, ::2, ::-1], lambda x: x[::-1, ::2, ::-1]
    yield "ints", values("int16", (4, 5, 6)), lambda m: m, lambda x: x
    yield "large", values("float32", (40, 50, 60)), lambda m: m, lambda x: x


@pytest.mark.parametrize("view", list(arrays()), ids=lambda v: v[0])
@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=str)
def test_read(view, index):
    _, x, of_mine, of_numpy = view
    m, x = of_mine(mine(x)), of_numpy(x)
    agree_in_outcome(lambda: m[to_mine(index)], lambda: x[index])
    agree_in_outcome(lambda: m[index], lambda: x[index])


@pytest.mark.parametrize("view", list(arrays()), ids=lambda v: v[0])
def test_read_by_mask(view):
    _, x, of_mine, of_numpy = view
    m, x = of_mine(mine(x)), of_numpy(x)
    for index in masks(x.shape):
        agree_in_outcome(lambda i=index: m[to_mine(i)], lambda i=index: x[i], what=describe(index))


@pytest.mark.parametrize("view", list(arrays()), ids=lambda v: v[0])
@pytest.mark.parametrize("index", BASIC + ADVANCED, ids=str)
def test_write(view, index):
    _, x, of_mine, of_numpy = view
    for value in (7, 2.5, numpy.arange(3), "own"):
        base, expected = mine(x), x.copy()

        def write(target, base, np_, index, value=value):
            part = target[index]
            if isinstance(value, str):
                value = np_.asarray(part)[::-1] * 2 if numpy.ndim(part) else 4
            target[index] = value
            return base

        agree_in_outcome(
            lambda: write(of_mine(base), base, np, to_mine(index)),
            lambda: write(of_numpy(expected), expected, numpy, index),
            what=str(value),
        )
        agree(base, expected)


@pytest.mark.parametrize("view", list(arrays()), ids=lambda v: v[0])
def test_write_by_mask(view):
    _, x, of_mine, of_numpy = view
    for index in masks(of_numpy(x).shape):
        base, expected = mine(x), x.copy()
        m, e = of_mine(base), of_numpy(expected)
        for step in range(6):
            if step == 0:
                m[to_mine(index)], e[index] = 3, 3
            elif step == 1:
                m[to_mine(index)] += 2
                e[index] += 2
            elif step == 2:
                m[to_mine(index)] = m[to_mine(index)] * 2 - 1
                e[index] = e[index] * 2 - 1
            elif step == 3:
                packed = numpy.arange(e[index].size).reshape(e[index].shape)
                m[to_mine(index)], e[index] = mine(packed), packed
            elif step == 4:
                agree_in_outcome(
                    lambda: m.__setitem__(to_mine(index), np.arange(7)), lambda: e.__setitem__(index, numpy.arange(7))
                )
            else:
                m[to_mine(index)] -= m[to_mine(index)]
                e[index] -= e[index]
            agree(base, expected, what=f"{describe(index)} step {step}")


def test_mask_of_the_array_itself():
    for size in (10, 30_000):
        x = values("float64", size)
        m = mine(x)
        for _ in range(3):
            m[m > 0] = np.sqrt(m[m > 0])
            x[x > 0] = numpy.sqrt(x[x > 0])
            m[m < 0] *= -0.5
            x[x < 0] *= -0.5
        agree(m, x)
        k = np.nonzero(m > 0.5)
        j = numpy.nonzero(x > 0.5)
        m[k] = m[k] - 1
        x[j] = x[j] - 1
        agree(m, x)
        # The mask changes between the read and the write.
        mask, mask2 = m > 0, x > 0
        part, part2 = m[mask], x[mask2]
        mask[: size // 2], mask2[: size // 2] = False, False
        m[:], x[:] = 0, 0
        agree(part, part2)
        agree(m[mask], x[mask2])


def test_repeated_indices_take_the_last_value():
    x = numpy.zeros(5)
    m = mine(x)
    m[[1, 1, 2]] = mine(numpy.array([1.0, 2.0, 3.0]))
    x[[1, 1, 2]] = [1, 2, 3]
    agree(m, x)
    m[[3, 3]] += 1
    x[[3, 3]] += 1
    agree(m, x)


def test_assignment_from_overlapping_view():
    for size in (9, 30_000):
        for left, right in itertools.permutations([numpy.s_[1:], numpy.s_[:-1]]):
            x = values("int64", size)
            m = mine(x)
            m[left], x[left] = m[right], x[right]
            agree(m, x)
        x = values("int64", size)
        m = mine(x)
        m[:], x[:] = m[::-1], x[::-1]
        agree(m, x)
        # NumPy reads elements it has just written when 1-d strides differ; we read everything first.
        m[::2], x[::2] = m[: (size + 1) // 2], x[: (size + 1) // 2].copy()
        agree(m, x)


def test_assignment_casts():
    for dtype in ("bool", "int8", "uint16", "float32", "complex64"):
        for source in ("bool", "int64", "float64", "complex128"):
            x = numpy.zeros(4, dtype)
            y = numpy.abs(values(source, 4))
            m = mine(x)
            agree_in_outcome(
                lambda m=m, y=y: m.__setitem__(slice(None), mine(y)), lambda x=x, y=y: x.__setitem__(slice(None), y)
            )
            agree(m, x, what=f"{source} to {dtype}")


def test_python_values_assigned():
    for dtype in ("bool", "uint8", "int8", "int64", "float16", "complex64"):
        for value in (True, 1, -1, 300, 2**70, 1.5, 1j, None, "3", "x", [1, 2, 3], [[1]], float("nan")):
            x = numpy.zeros(3, dtype)
            m = mine(x)
            agree_in_outcome(
                lambda m=m, v=value: m.__setitem__(slice(None), v),
                lambda x=x, v=value: x.__setitem__(slice(None), v),
                what=f"{dtype} {value!r}",
            )
            agree_in_outcome(
                lambda m=m, v=value: m.__setitem__(0, v),
                lambda x=x, v=value: x.__setitem__(0, v),
                what=f"{dtype} {value!r} one",
            )
            agree(m, x)


ERRORS = {
    "out of bounds": lambda x: x[10],
    "out of bounds behind": lambda x: x[-5],
    "out of bounds axis 1": lambda x: x[0, 9],
    "too many": lambda x: x[0, 0, 0],
    "float": lambda x: x[1.0],
    "float list": lambda x: x[[1.0]],
    "string": lambda x: x["field"],
    "list out of bounds": lambda x: x[[0, 12]],
    "list out of bounds axis 1": lambda x: x[:, [0, 12]],
    "two ellipses": lambda x: x[..., ...],
    "mask too long": lambda x: x[numpy.zeros(7, bool)],
    "mask wrong shape": lambda x: x[numpy.zeros((4, 3), bool)],
    "mask too many dimensions": lambda x: x[numpy.zeros((4, 5, 1), bool)],
    "indices do not broadcast": lambda x: x[[0, 1], [0, 1, 2]],
    "slice step zero": lambda x: x[::0],
    "slice of floats": lambda x: x[0.5:2],
    "write out of bounds": lambda x: x.__setitem__(10, 1),
    "write shape": lambda x: x.__setitem__(slice(0, 2), numpy.zeros((3, 5))),
    "write mask shape": lambda x: x.__setitem__(numpy.ones((4, 5), bool), numpy.zeros(3)),
    "write list shape": lambda x: x.__setitem__([0, 1], numpy.zeros((3, 5))),
    "write sequence to one": lambda x: x.__setitem__((0, 0), [1, 2]),
    "iterate 0-d": lambda x: iter(x[0, 0, ...]),
    "length of 0-d": lambda x: len(x[0, 0, ...]),
    "delete": lambda x: x.__delitem__(0),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    x = values("float64", (4, 5))
    m = mine(x)
    agree_in_outcome(lambda: ERRORS[case](m), lambda: ERRORS[case](x), what=case)
    agree(m, x)


def test_take_put_compress_choose():
    x = values("float64", (4, 5))
    m = mine(x)
    for mode in ("raise", "wrap", "clip"):
        for index in ([0, 2], [[1], [3]], 2, [-1], [7]):
            for axis in (None, 0, 1):
                agree_in_outcome(
                    lambda i=index, a=axis, mode=mode: np.take(m, i, axis=a, mode=mode),
                    lambda i=index, a=axis, mode=mode: numpy.take(x, i, axis=a, mode=mode),
                    what=f"{mode} {index} {axis}",
                )
    agree(np.compress([True, False, True], m, axis=1), numpy.compress([True, False, True], x, axis=1))
    np.put(m, [0, 7], [5, 6])
    numpy.put(x, [0, 7], [5, 6])
    agree(m, x)
    np.putmask(m, m > 1, np.array([9.0, 8.0, 7.0]))
    numpy.putmask(x, x > 1, numpy.array([9.0, 8.0, 7.0]))
    agree(m, x)
    np.place(m, m < 0, [1, 2, 3])
    numpy.place(x, x < 0, [1, 2, 3])
    agree(m, x)
    agree(np.choose([0, 1, 0, 1, 1], [m[0], m[1]]), numpy.choose([0, 1, 0, 1, 1], [x[0], x[1]]))


def test_nonzero_and_where():
    for dtype in ("bool", "int32", "float64", "complex64"):
        for shape in [(7,), (3, 4), (0,), (30_000,), (150, 160)]:
            x = values(dtype, shape)
            m = mine(x)
            agree(np.nonzero(m), numpy.nonzero(x))
            agree(m.nonzero(), x.nonzero())
            agree(np.where(m), numpy.where(x))
            agree(np.flatnonzero(m), numpy.flatnonzero(x))
            agree(np.argwhere(m), numpy.argwhere(x))
            agree(np.where(m, m, 2), numpy.where(x, x, 2))
            agree(np.where(m, 1, 2.5), numpy.where(x, 1, 2.5))
            agree(np.count_nonzero(m), numpy.count_nonzero(x))


def test_iteration_and_containment():
    x = values("int64", (3, 4))
    m = mine(x)
    agree([list(map(int, row)) for row in m], [list(map(int, row)) for row in x])
    assert int(x[1, 2]) in m
    assert 1000 not in m
    for a, e in zip(m.flat, x.flat, strict=True):
        assert a == e
    _, second, _ = m
    agree(second, x[1])


INDEX_LAYOUTS = {
    "one": lambda np, x, i, j: x[i],
    "one of a line": lambda np, x, i, j: x[:, 0, 0][i],
    "with integers": lambda np, x, i, j: x[0, i, 1],
    "several": lambda np, x, i, j: x[i, j, i],
    "broadcast": lambda np, x, i, j: x[i, j[:, :1], 0],
    "beside a slice": lambda np, x, i, j: x[i, :, j],
    "slice first": lambda np, x, i, j: x[:, i, j],
    "new axis": lambda np, x, i, j: x[i, None, j, j],
    "reversed": lambda np, x, i, j: x[0, 0, i[::-1, ::-1]],
    "small integers": lambda np, x, i, j: x[0, 0, i.astype("int8")],
    "three": lambda np, x, i, j: x[0, 0, np.arange(6).reshape(3, 1, 2).transpose(2, 0, 1) % 3],
    "raveled": lambda np, x, i, j: x[0, 0, i].ravel(order="K"),
}


@pytest.mark.parametrize("case", INDEX_LAYOUTS)
def test_results_lie_in_memory_as_numpys(case):
    def run(np):
        x, i = np.arange(27.0).reshape(3, 3, 3), np.arange(6).reshape(3, 2).T % 3
        return INDEX_LAYOUTS[case](np, x, i, (i + 1) % 3)

    actual, expected = run(np), run(numpy)
    agree(actual, expected)
    steps = [s for s, n in zip(expected.strides, expected.shape, strict=True) if n > 1]
    assert [s for s, n in zip(actual.strides, actual.shape, strict=True) if n > 1] == steps
    assert actual.flags.f_contiguous == expected.flags.f_contiguous


FLAT = {
    "int": lambda np, x: x.flat[4],
    "negative": lambda np, x: x.flat[-1],
    "out of bounds": lambda np, x: x.flat[9],
    "slice": lambda np, x: x.flat[1:8:2],
    "everything": lambda np, x: x.flat[...],
    "empty tuple": lambda np, x: x.flat[()],
    "list": lambda np, x: x.flat[[-1, 0]],
    "empty list": lambda np, x: x.flat[[]],
    "table": lambda np, x: x.flat[np.array([[1, 2], [3, 4]])],
    "mask": lambda np, x: x.flat[np.arange(9) % 2 == 0],
    "wrong mask": lambda np, x: x.flat[np.ones(10, bool)],
    "list of truths": lambda np, x: x.flat[[True, False]],
    "new axis": lambda np, x: x.flat[None],
    "two": lambda np, x: x.flat[1, 2],
    "floats": lambda np, x: x.flat[[1.0, 2.0]],
    "a flat iterator": lambda np, x: x.flat[np.array([0, 5]).flat],
    "deleted": lambda np, x: x.flat.__delitem__(1),
    "index is read-only": lambda np, x: setattr(x.flat, "index", 3),
    "many dimensions": lambda np, x: np.ones((1,) * 33).flat,
    "written": lambda np, x: (x.flat.__setitem__([0, 2], 7), x)[1],
    "written everywhere": lambda np, x: (x.flat.__setitem__(slice(None), 7), x)[1],
    "written through a mask": lambda np, x: (x.flat.__setitem__(np.arange(9) > 4, 7), x)[1],
    "written nowhere": lambda np, x: x.flat.__setitem__((), 7),
    "written to a new axis": lambda np, x: x.flat.__setitem__(None, 7),
    "as an array": lambda np, x: np.asarray(x.flat),
    "writeable": lambda np, x: x.flat.__array__().flags.writeable,
}


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("case", FLAT)
def test_flat(case, layout):
    def run(np):
        return FLAT[case](np, np.array(numpy.arange(9).reshape(3, 3), order=layout))

    # The class of a read-only attribute is named in the error.
    agree_in_outcome(lambda: run(np), lambda: run(numpy), words=case != "index is read-only", what=case)


def test_swapped_bytes():
    x, i = numpy.arange(5), numpy.array([3, -1], ">i4")
    agree(np.array(x)[i], x[i])
    m = np.array(x)
    m[i] = 7
    x[i] = 7
    agree(m, x)


def test_flat_warns():
    for index in (True, [1.0, 2.0]):
        with pytest.warns(DeprecationWarning):
            np.arange(4).flat[index]


def test_masks_and_indices_that_numpy_changes_in_between():
    """What was found of a mask or an index array is only good for as long as nothing has written to it."""
    x = np.arange(100_000.0)
    m = x % 2 == 0
    first = x[m]
    np.sync()
    seen = numpy.asarray(m)
    seen[1] = seen[3] = True
    assert x[m].shape == (50_002,)
    assert first.shape == (50_000,)
    seen[5] = True
    y = numpy.arange(100_000.0)
    agree(x[m], y[seen])
    x[m] = x[m] + 1
    y[seen] += 1
    agree(x, y)
    index = np.array([5, 6, 7] * 30_000)
    np.sync()
    for value in (1.0, 2.0):
        x[index] = value
        y[5:8] = value
        agree(x, y)
    index[3] = -1
    x[index] = 3.0
    y[5:8] = y[-1] = 3.0
    agree(x, y)
    seen = numpy.asarray(index)
    seen[0] = 10**6
    with pytest.raises(IndexError, match="index 1000000 is out of bounds for axis 0 with size 100000"):
        x[index] = 2.0
        np.sync()
    agree(x, y)


@pytest.mark.parametrize(
    "shape", [(20_000, 4), (3, 30_000), (40, 1, 7, 300), (257, 255), (256, 256), (100_000, 1), (1, 5)]
)
@pytest.mark.parametrize("share", [0, 0.001, 0.5, 1])
def test_nonzero_of_rows_of_any_length(shape, share):
    mask = numpy.random.default_rng(3).random(shape) < share
    for mine_is in (np.array(mask), np.array(mask.T), np.array(mask[::-1, ..., ::-1])[::-1, ..., ::-1]):
        agree(mine_is.nonzero(), numpy.asarray(mine_is).nonzero())
        agree(np.argwhere(mine_is), numpy.argwhere(numpy.asarray(mine_is)))


def test_lists_of_places():
    x = numpy.arange(12.0).reshape(4, 3)
    for places in ([1], [3, -1, 0], [0] * 70, [True, False, True, True], [2**40], [-5], [1.0], [None]):
        agree_in_outcome(lambda places=places: np.array(x)[places], lambda places=places: x[places], what=str(places))
        for value in (7, 2.5, [1.0, 2.0, 3.0]):

            def changed(m, places=places, value=value):
                y = m.array(x)
                y[places] = value
                return y

            agree_in_outcome(lambda: changed(np), lambda: changed(numpy), what=f"{places} = {value}")


def test_arrays_of_many_arrays():
    for n, k in ((3, 4), (3000, 4), (2, 300_000), (1, 0)):
        rows = [numpy.arange(k) + i for i in range(n)]
        agree(np.array([np.array(row) for row in rows]), numpy.array(rows))
        agree(np.array([np.array(row) for row in rows], dtype="f4"), numpy.array(rows, dtype="f4"))
    mixed = [numpy.arange(3), numpy.arange(3.0)]
    agree(np.array([np.array(row) for row in mixed]), numpy.array(mixed))
