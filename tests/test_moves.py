"""Data that is moved: large copies in another order, and reading and writing through many indices."""

# The functions made in loops are called before the loop goes on.
# ruff: noqa: B023

from __future__ import annotations

from typing import Any

import numpy
import pytest

import numloom

RNG = numpy.random.default_rng(7)
# Above sixteen megabytes copies go past the caches; below they do not.
SIDES = [(37, 53), (1601, 1403)]
DTYPES = ["i1", "f4", "f8", "c16"]


def check(run: Any, *arrays: Any) -> None:
    got = run(numloom, *[numloom.asarray(a) for a in arrays])
    want = run(numpy, *[a.copy() for a in arrays])
    numpy.testing.assert_array_equal(numpy.asarray(got), want)
    assert got.dtype == want.dtype
    assert [s for s, n in zip(got.strides, got.shape) if n > 1] == [
        s for s, n in zip(want.strides, want.shape) if n > 1
    ]


COPIES = {
    "copy": lambda np, x: x.copy(),
    "transposed": lambda np, x: x.T.copy(),
    "transposed and reversed": lambda np, x: x[::-1, ::-1].T.copy(),
    "rows reversed": lambda np, x: x[::-1].copy(),
    "columns reversed": lambda np, x: x[:, ::-1].copy(),
    "every other": lambda np, x: x[::2, 1::3].copy(),
    "a part": lambda np, x: x[3:, 5:-2].copy(),
    "halves in turn": lambda np, x: np.stack((x, x[::-1]), axis=1),
    "columns in turn": lambda np, x: np.stack((x, x[::-1]), axis=2),
    "side by side": lambda np, x: np.concatenate((x, x[:, :7]), axis=1),
    "rolled": lambda np, x: np.roll(x, (5, -11), axis=(0, 1)),
    "repeated": lambda np, x: np.repeat(x, 3, axis=1),
    "repeated often": lambda np, x: np.repeat(x[:, :9], 150, axis=1),
    "tiled": lambda np, x: np.tile(x, (2, 3)),
    "into every other": lambda np, x: into(np.zeros((x.shape[0] * 2, x.shape[1] * 2), x.dtype), x),
    "spread over rows": lambda np, x: np.ascontiguousarray(np.broadcast_to(x[0], x.shape)),
    "spread over columns": lambda np, x: np.ascontiguousarray(np.broadcast_to(x[:, :1], x.shape)),
}


def into(out: Any, x: Any) -> Any:
    out[::2, 1::2] = x[:, ::-1]
    return out


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str, dtype: str) -> None:
    for shape in SIDES:
        check(COPIES[name], RNG.integers(-100, 100, shape).astype(dtype))


@pytest.mark.parametrize("axes", [(0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)])
def test_copies_of_three_axes(axes: tuple[int, ...]) -> None:
    for shape in [(5, 9, 11), (130, 150, 140), (3, 40_000, 19)]:
        check(lambda np, x: np.ascontiguousarray(x.transpose(axes)), RNG.random(shape))


def put(x: Any, i: Any, v: Any) -> Any:
    x[i] = v
    return x


def add_at(np: Any, x: Any, i: Any, v: Any) -> Any:
    np.add.at(x, i, v)
    return x


MANY = 300_000
INDICES = {
    "anywhere": RNG.integers(-MANY, MANY, MANY),
    "sorted": numpy.sort(RNG.integers(0, MANY, MANY)),
    "few places": RNG.integers(0, 11, MANY),
    "one place": numpy.full(MANY, 5),
    "backwards": numpy.arange(MANY)[::-1],
    "not dense": RNG.integers(0, MANY, 2 * MANY)[::2],
    "small integers": RNG.integers(0, MANY, MANY, dtype="i4"),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", INDICES)
def test_single_elements(name: str, dtype: str) -> None:
    x, v = (RNG.integers(-100, 100, MANY).astype(dtype) for _ in range(2))
    i = INDICES[name]
    check(lambda np, x, i: x[i], x, i)
    check(lambda np, x, i: x[::-1][i], x, i)
    check(lambda np, x, i, v: put(x, i, v), x, i, v)
    check(lambda np, x, i, v: put(x[::-1], i, v[::-1]), x, i, v)
    check(lambda np, x, i: put(x, i, 3), x, i)
    check(add_at, x, i, v)


# Sixteen megabytes and more of the target are written bucket by bucket where the places are scattered.
WIDE = 2_200_000


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_elements_scattered_over_more_than_the_caches(dtype: str) -> None:
    x, v = (RNG.integers(-100, 100, WIDE).astype(dtype) for _ in range(2))
    i = RNG.integers(-WIDE, WIDE, 2 * WIDE)
    i[::3] %= 1000  # many values for each of a few places
    check(lambda np, x, i, v: put(x, i, np.concatenate((v, v + 1))), x, i, v)
    check(lambda np, x, i: put(x, i, 3), x, i)
    check(lambda np, x, i: put(x[::-1], i, 3), x, i)
    check(lambda np, x, i, v: put(x.reshape(1100, 2000), (i % 1100, i % 2000), np.concatenate((v, v + 1))), x, i, v)
    check(add_at, x, i[:WIDE], v)
    check(lambda np, x, i: put_mode(np, x, i * 3, "wrap"), x, i)
    check(lambda np, x, i: put_mode(np, x, i * 3, "clip"), x, i)


def put_mode(np: Any, x: Any, i: Any, mode: str) -> Any:
    np.put(x, i, np.arange(7), mode=mode)
    return x


def test_an_index_outside_scatters_nothing() -> None:
    x, i = numloom.asarray(numpy.zeros(WIDE)), RNG.permutation(WIDE)
    i[1] = -WIDE - 1
    with pytest.raises(IndexError, match=f"index {-WIDE - 1} is out of bounds for axis 0 with size {WIDE}"):
        x[numloom.asarray(i)] = 1.0
        numloom.sync()
    assert not numpy.asarray(x).any()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("counts", ["i8", "u1", "?"])
def test_repeat_by_counts(dtype: str, counts: str) -> None:
    for n in (1, 9, 3_000_000 if counts == "i8" else 300_000):
        x, many = RNG.integers(-100, 100, n).astype(dtype), RNG.integers(0, 4, n)
        many[:7] *= 50
        many = many.astype(counts)
        check(lambda np, x, c: np.repeat(x, c), x, many)
        check(lambda np, x, c: x[::-1].repeat(c[::-1]), x, many)
    x = RNG.integers(-100, 100, (50, 3, 70)).astype(dtype)
    for axis in range(3):
        check(lambda np, x, c: np.repeat(x, c, axis=axis), x, RNG.integers(0, 4, x.shape[axis]))
        check(lambda np, x: np.repeat(x, [2], axis=axis), x)


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, -1], numpy.ones(3), [[1, 2, 3]], [-1], -1, [], ["a"] * 3])
def test_counts_that_numpy_refuses(counts: Any) -> None:
    with pytest.raises(Exception) as want:
        numpy.repeat(numpy.arange(3), counts)
    with pytest.raises(want.type) as got:
        numloom.repeat(numloom.arange(3), counts)
    assert str(got.value) == str(want.value)


@pytest.mark.parametrize("mode", ["wrap", "clip"])
def test_take_of_indices_outside(mode: str) -> None:
    x, i = RNG.random(1000), RNG.integers(-5000, 5000, 100_000)
    check(lambda np, x, i: np.take(x, i, mode=mode), x, i)
    check(lambda np, x, i: np.take(x, i, axis=1, mode=mode), RNG.random((30, 500)), i[:700])


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_and_columns(dtype: str) -> None:
    x = RNG.integers(-100, 100, (700, 500)).astype(dtype)
    rows, columns = RNG.integers(-700, 700, 900), RNG.integers(-500, 500, 600)
    check(lambda np, x, i: x[i], x, rows)
    check(lambda np, x, i: x[:, i], x, columns)
    check(lambda np, x, i: x.T[i], x, columns)
    check(lambda np, x, i: np.take(x, i, axis=0), x, rows)
    check(lambda np, x, i: np.take(x, i, axis=1), x, columns)
    check(lambda np, x, i: np.take(x, i.reshape(20, 30), axis=1), x, columns)
    check(lambda np, x, i: np.take(x.T, i, axis=0), x, columns)
    check(lambda np, x, i: np.take(x.reshape(70, 10, 500), i[:300], axis=2), x, columns)
    check(lambda np, x, i: x.reshape(70, 10, 500)[:, :, i], x, columns)
    check(lambda np, x, i: np.take_along_axis(x, i, axis=1), x, RNG.integers(-500, 500, (700, 40)))
    check(lambda np, x, i: put(x, i, x[::-1][:1] + x[i]), x, rows)
    check(lambda np, x, i: put(x.T, i, x.T[i[::-1]] + 1), x, columns)
    check(lambda np, x, i: put(x[:, 3:-2], i, x[i, 3:-2] * 2), x, rows)


def test_long_rows_past_the_caches() -> None:
    x, i = RNG.random((1500, 1500)), RNG.integers(-1500, 1500, 1500)
    for run in (lambda np, x, i: x[i], lambda np, x, i: x[:, i], lambda np, x, i: np.take(x, i, axis=1)):
        check(run, x, i)
    x, i = RNG.random((100, 30_000)), RNG.integers(-50, 50, 100)
    check(lambda np, x, i: put(x[::-1], i, x[i[::-1]] + 1), x, i)
    check(lambda np, x, i: put(x, i, x[3]), x, i)


# More rows than places, in no order: of the rows for one place only the last is written.
CROWDED = 60_000


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_many_short_rows_for_one_place(dtype: str) -> None:
    x = RNG.integers(-100, 100, (CROWDED, 3)).astype(dtype)
    v = RNG.integers(-100, 100, (5 * CROWDED, 3)).astype(dtype)
    i = RNG.integers(-CROWDED, CROWDED, 5 * CROWDED)
    check(lambda np, x, i, v: put(x, i, v), x, i, v)
    check(lambda np, x, i, v: put(x[::-1], i, v), x, i, v)
    check(lambda np, x, i, v: put(x, i % 40, v), x, i, v)
    check(lambda np, x, i, v: put(x, i, v[:, :1]), x, i, v)
    check(lambda np, x, i, v: put(x, i, v[0]), x, i, v)
    check(lambda np, x, i, v: put(x, np.sort(i), v[::-1]), x, i, v)
    check(lambda np, x, i, v: put(x.reshape(200, 300, 3), (i % 200, i % 300), v), x, i, v)
    check(lambda np, x, i, v: put(x.T, (slice(None), i), v.T), x, i, v)
    # What is written is also what is read.
    check(lambda np, x, i, v: put(v, i[: len(v) - 7], v[7:]), x, i, v)
    check(lambda np, x, i, v: put(v, i[: len(v)], v[::-1]), x, i, v)


@pytest.mark.parametrize("place", [0, CROWDED, 5 * CROWDED - 1])
def test_an_index_outside_writes_no_row(place: int) -> None:
    x, i = numloom.asarray(numpy.zeros((CROWDED, 3))), RNG.integers(0, CROWDED, 5 * CROWDED)
    i[place] = CROWDED
    with pytest.raises(IndexError, match=f"index {CROWDED} is out of bounds for axis 0 with size {CROWDED}"):
        x[numloom.asarray(i)] = 1.0
        numloom.sync()
    assert not numpy.asarray(x).any()


def test_places_in_order_with_values_for_both_sides_of_a_tile() -> None:
    for i in (numpy.sort(RNG.integers(0, WIDE, WIDE)), numpy.arange(WIDE) // 3, numpy.arange(WIDE) & ~0xFFFF):
        check(lambda np, x, i: put(x, i, np.arange(len(i))), numpy.zeros(WIDE), i)
        check(lambda np, x, i: put(x, i[::-1], np.arange(len(i))), numpy.zeros(WIDE), i)
        check(lambda np, x, i: put(x.reshape(-1, 2), i // 2, np.arange(len(i))[:, None]), numpy.zeros(WIDE), i)


def test_an_index_outside_writes_nothing() -> None:
    x, i = numloom.asarray(numpy.zeros(MANY)), numpy.arange(MANY)
    i[-1] = MANY
    with pytest.raises(IndexError, match=f"index {MANY} is out of bounds for axis 0 with size {MANY}"):
        x[numloom.asarray(i)] = 1.0
        numloom.sync()
    assert not numpy.asarray(x).any()


@pytest.mark.parametrize("shape", [(100,), (200_000,), (300, 1000), (40, 50, 60), (7, 3)])
def test_masks(shape: tuple[int, ...]) -> None:
    x, mask = RNG.random(shape), RNG.random(shape) < 0.3
    for axis in range(len(shape)):
        check(lambda np, m: np.nonzero(m)[axis].copy(), mask)
        check(lambda np, x: np.nonzero(x - x[:1])[axis].copy(), x)
    for dtype in DTYPES:
        a, v = (RNG.integers(-100, 100, n).astype(dtype) for n in (shape, mask.sum()))
        check(lambda np, x, m, v: put(x, m, v), a, mask, v)
        check(lambda np, x, m, v: put(x[::-1], m, v[::-1]), a, mask, v)


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "wrap", "edge", "constant"])
@pytest.mark.parametrize("widths", [0, 3, ((2, 0), (0, 3)), ((4, 4), (6, 6)), ((5, 4), (7, 8)), ((11, 1), (0, 30))])
def test_pad(mode: str, widths: Any) -> None:
    for order in "CF":
        x = numpy.asarray(RNG.random((5, 7)), order=order)  # type: ignore[call-overload]
        got, want = (np.pad(np.asarray(x), widths, mode=mode) for np in (numloom, numpy))  # type: ignore[call-overload]
        numpy.testing.assert_array_equal(numpy.asarray(got), want)
    assert numpy.array_equal(
        numloom.pad(numloom.arange(4), (3, 3), mode=mode), numpy.pad(numpy.arange(4), (3, 3), mode=mode)
    )  # type: ignore[call-overload]


def test_put() -> None:
    def run(np: Any, x: Any, i: Any, v: Any) -> Any:
        np.put(x, i, v)
        return x

    x = RNG.random((30, 40))
    for i, v in [([0, -1, 5], [1, 2, 3]), ([3, 3], [7, 8]), ([1, 2], 9), ([[1], [2]], [4, 5, 6]), ([1, 2, 3], [1, 2])]:
        check(run, x, numpy.array(i), numpy.array(v))
    with pytest.raises(IndexError, match="index 1200 is out of bounds for axis 0 with size 1200"):
        numloom.put(numloom.asarray(x), [1200], 1)
        numloom.sync()
