"""Moving data: through indices and masks, and in another order, ten million elements each."""

import numpy

from . import N, Row, short, uniform

SIDE = 3162


def plane(rng):
    return rng.random((SIDE, SIDE))


def short_plane(rng):
    return rng.random((SIDE, SIDE), dtype="f4")


def cube(rng):
    return rng.random((200, 250, 200))


def rows(rng):
    return rng.random((N // 10, 10))


def many(rng):
    return rng.integers(-N, N, N)


def many_short(rng):
    return rng.integers(0, N, N, dtype="i4")


def ordered(rng):
    return numpy.sort(rng.integers(0, N, N))


def few(rng):
    return rng.integers(0, 10_000, N)


def of_rows(rng):
    return rng.integers(0, N // 10, N // 10)


def of_side(rng):
    return rng.integers(0, SIDE, SIDE)


def along(rng):
    return rng.integers(0, SIDE, (SIDE, SIDE))


def mask(rng):
    return rng.random(N) < 0.5


def mask_of_rows(rng):
    return rng.random(N // 10) < 0.5


def half(rng):
    return rng.random(N // 2)


def write(x, i, v):
    x[i] = v
    return x


def add_to(x, i, v):
    x[i] += v
    return x


def put(np, x, i, v):
    np.put(x, i, v)
    return x


def add_at(np, x, i, v):
    np.add.at(x, i, v)
    return x


def put_along(np, x, i):
    np.put_along_axis(x, i, 1.0, axis=1)
    return x


ROWS = [
    Row("x[i]", lambda np, x, i: x[i], (uniform, many)),
    Row("x[i] f32", lambda np, x, i: x[i], (short, many)),
    Row("x[i] by i32", lambda np, x, i: x[i], (uniform, many_short)),
    Row("x[i] sorted", lambda np, x, i: x[i], (uniform, ordered)),
    Row("x[i] of 10,000 places", lambda np, x, i: x[i], (uniform, few)),
    Row("x[i] rows of 10", lambda np, x, i: x[i], (rows, of_rows)),
    Row("x[i] long rows", lambda np, x, i: x[i], (plane, of_side)),
    Row("x[:, i]", lambda np, x, i: x[:, i], (plane, of_side)),
    Row("x[i, j]", lambda np, x, i, j: x[i, j], (plane, along, along)),
    Row("take", lambda np, x, i: np.take(x, i), (uniform, many)),
    Row("take f32", lambda np, x, i: np.take(x, i), (short, many)),
    Row("take by i32", lambda np, x, i: np.take(x, i), (uniform, many_short)),
    Row("take, clip", lambda np, x, i: np.take(x, i, mode="clip"), (uniform, many)),
    Row("take axis 0", lambda np, x, i: np.take(x, i, axis=0), (plane, of_side)),
    Row("take axis 1", lambda np, x, i: np.take(x, i, axis=1), (plane, of_side)),
    Row("take_along_axis 0", lambda np, x, i: np.take_along_axis(x, i, axis=0), (plane, along)),
    Row("take_along_axis 1", lambda np, x, i: np.take_along_axis(x, i, axis=1), (plane, along)),
    Row("x[i] = v", lambda np, x, i, v: write(x, i, v), (uniform, many, uniform)),
    Row("x[i] = v f32", lambda np, x, i, v: write(x, i, v), (short, many, short)),
    Row("x[i] = v by i32", lambda np, x, i, v: write(x, i, v), (uniform, many_short, uniform)),
    Row("x[i] = v sorted", lambda np, x, i, v: write(x, i, v), (uniform, ordered, uniform)),
    Row("x[i] = 1", lambda np, x, i: write(x, i, 1), (uniform, many)),
    Row("x[i] = v rows of 10", lambda np, x, i, v: write(x, i, v), (rows, of_rows, rows)),
    Row("x[i] = v long rows", lambda np, x, i, v: write(x, i, v), (plane, of_side, plane)),
    # What memory gives: nothing but reading and writing.
    Row("x[...] = v", lambda np, x, v: write(x, ..., v), (uniform, uniform)),
    Row("x[i] += v", lambda np, x, i, v: add_to(x, i, v), (uniform, many, uniform)),
    Row("add.at", add_at, (uniform, many, uniform)),
    Row("put", put, (uniform, many, uniform)),
    Row("put_along_axis", put_along, (plane, along)),
    Row("x[mask]", lambda np, x, m: x[m], (uniform, mask)),
    Row("x[mask] f32", lambda np, x, m: x[m], (short, mask)),
    Row("x[mask] rows of 10", lambda np, x, m: x[m], (rows, mask_of_rows)),
    Row("compress", lambda np, x, m: np.compress(m, x), (uniform, mask)),
    Row("x[mask] = v", lambda np, x, m, v: write(x, m, v[: np.count_nonzero(m)]), (uniform, mask, uniform)),
    Row("x[mask] = 1", lambda np, x, m: write(x, m, 1), (uniform, mask)),
    Row("nonzero", lambda np, m: np.nonzero(m)[0], (mask,)),
    Row("x.copy()", lambda np, x: x.copy(), (uniform,)),
    Row("x.T.copy()", lambda np, x: x.T.copy(), (plane,)),
    Row("x.T.copy() f32", lambda np, x: x.T.copy(), (short_plane,)),
    Row("contiguous, axes 2 1 0", lambda np, x: np.ascontiguousarray(x.transpose(2, 1, 0)), (cube,)),
    Row("contiguous, axes 0 2 1", lambda np, x: np.ascontiguousarray(x.transpose(0, 2, 1)), (cube,)),
    Row("contiguous, axes 1 0 2", lambda np, x: np.ascontiguousarray(x.transpose(1, 0, 2)), (cube,)),
    Row("x[::-1].copy()", lambda np, x: x[::-1].copy(), (uniform,)),
    Row("x[::-1].copy() f32", lambda np, x: x[::-1].copy(), (short,)),
    Row("x[::-1] rows", lambda np, x: x[::-1].copy(), (plane,)),
    Row("x[:, ::-1]", lambda np, x: x[:, ::-1].copy(), (plane,)),
    Row("x[::2].copy()", lambda np, x: x[::2].copy(), (uniform,)),
    Row("concatenate", lambda np, x, y: np.concatenate((x, y)), (half, half)),
    Row("concatenate axis 0", lambda np, x, y: np.concatenate((x, y)), (plane, plane)),
    Row("concatenate axis 1", lambda np, x, y: np.concatenate((x, y), axis=1), (plane, plane)),
    Row("stack axis 0", lambda np, x, y: np.stack((x, y)), (half, half)),
    Row("stack axis 1", lambda np, x, y: np.stack((x, y), axis=1), (half, half)),
    Row("roll", lambda np, x: np.roll(x, 12_345), (uniform,)),
    Row("roll axis 0", lambda np, x: np.roll(x, 100, axis=0), (plane,)),
    Row("roll axis 1", lambda np, x: np.roll(x, 100, axis=1), (plane,)),
    Row("roll both axes", lambda np, x: np.roll(x, (100, 200), axis=(0, 1)), (plane,)),
    Row("pad, constant", lambda np, x: np.pad(x, 10), (plane,)),
    Row("pad, edge", lambda np, x: np.pad(x, 10, mode="edge"), (plane,)),
    Row("pad, reflect", lambda np, x: np.pad(x, 10, mode="reflect"), (plane,)),
    Row("pad 1-d", lambda np, x: np.pad(x, 10), (uniform,)),
    Row("tile", lambda np, x: np.tile(x, 2), (half,)),
    Row("tile 2-d", lambda np, x: np.tile(x[:1000], (2, 2)), (plane,)),
    Row("repeat", lambda np, x: np.repeat(x, 2), (half,)),
    Row("repeat axis 0", lambda np, x: np.repeat(x[:1000], 3, axis=0), (plane,)),
    Row("repeat axis 1", lambda np, x: np.repeat(x[:1000], 3, axis=1), (plane,)),
    Row("repeat by counts", lambda np, x, i: np.repeat(x, i % 3), (uniform, few)),
]
