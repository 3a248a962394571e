"""Calls that go past the general paths give what the general paths give, and leave nothing behind."""

import gc
import inspect
import operator
import pickle
import random
import sys
import warnings
import weakref

import numpy
import pytest

import numloom as np

from .oracle import agree


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


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?", "c16", "f2"])
def test_lines_of_one_array_on_each_other(dtype):
    """Strided lines are gathered and scattered: whatever overlaps, all is read before anything is written."""
    lines = [slice(None), slice(None, None, -1), slice(1, 13), slice(0, 12), slice(0, 24, 2), slice(23, None, -2)]
    lines += [slice(1, 24, 2), slice(3, 15), slice(14, 2, -1)]
    start = (numpy.arange(24) % 11).astype(dtype)
    for to in lines:
        for a in lines:
            if len(start[to]) != len(start[a]):
                continue
            for b in lines:
                if len(start[to]) != len(start[b]):
                    continue
                theirs, ours = start.copy(), np.array(start)
                # NumPy itself mixes up overlapping lines of different strides here.
                theirs[to] = theirs[a].copy()
                ours[to] = ours[a]
                numpy.logical_or(theirs[a], theirs[b], out=theirs[to], casting="unsafe")
                np.logical_or(ours[a], ours[b], out=ours[to], casting="unsafe")
                if dtype != "?":
                    theirs[to] += theirs[b]
                    ours[to] += ours[b]
                agree(ours, theirs)
                agree(ours[a] * ours[b], theirs[a] * theirs[b])
                agree(ours[a].sum(), theirs[a].sum())
                agree(ours[a].copy(), theirs[a].copy())


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "c16", "?"])
@pytest.mark.parametrize("scalar", ["f8", "f4", "i8", "u1", "c8", "?"])
def test_numpy_scalars_on_the_left(dtype, scalar):
    s = numpy.dtype(scalar).type(3)
    theirs = (numpy.arange(12) % 5).astype(dtype)
    ours = np.array(theirs)
    for line in (slice(None), slice(None, None, 3), slice(None, None, -1)):
        for op in (numpy.multiply, numpy.add, numpy.maximum, numpy.less, numpy.hypot, numpy.logical_and):
            try:
                want = op(s, theirs[line])
            except TypeError:
                with pytest.raises(TypeError):
                    op(s, ours[line])
                continue
            agree(op(s, ours[line]), want)
            agree(op(ours[line], s), op(theirs[line], s))
        agree(s * ours[line], s * theirs[line])
        agree(s == ours[line], s == theirs[line])
        assert isinstance(s * ours[line], np.ndarray)


OPERATORS = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.and_,
    operator.or_, operator.xor, operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge,
    operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.iand, operator.ior, operator.ixor,
]  # fmt: skip


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_operators_with_all_that_numpy_has(op, dtype):
    theirs = (numpy.arange(12) % 5 + 1).astype(dtype)
    floats = numpy.arange(36.0)
    others = [
        theirs[::-1].copy(), floats[:12], floats[::3], floats[:1], numpy.array(2.5), floats[:12].astype(">f8"),
        floats.reshape(3, 12), numpy.float32(2), 3, 2.5, True, 2**70, None, "text", [1] * 12, floats[:5],
        numpy.ma.array(floats[:12], mask=floats[:12] > 3), floats[:12].astype(object), numpy.int8(-3),
    ]  # fmt: skip
    in_place = op.__name__.startswith("i")

    def result(mine, b, swapped):
        a = np.array(theirs) if mine else theirs.copy()
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                return op(b, a) if swapped else op(a, b)
            except (TypeError, ValueError, ArithmeticError) as e:
                return type(e)

    for b in others:
        for swapped in (False,) if in_place else (False, True):
            want, got = result(False, b, swapped), result(True, b, swapped)
            if isinstance(want, type):
                assert got is want, b
            elif isinstance(want, numpy.ma.MaskedArray):
                assert (numpy.ma.filled(got, 0) == numpy.ma.filled(want, 0)).all()
            elif want is NotImplemented or isinstance(want, bool):
                assert got is want
            else:
                agree(got, want)


def test_an_array_of_numpys_over_our_memory_has_what_was_written_last():
    ours = np.zeros(10)
    theirs = numpy.asarray(ours)
    ours += 1
    agree(theirs + ours, numpy.full(10, 2.0))
    theirs += 1
    agree(ours * theirs, numpy.full(10, 4.0))


@pytest.mark.parametrize("dtype", [None, "f8", "f4", "i8", "i4", "c16"])
@pytest.mark.parametrize(
    "items",
    [
        [1, 2],
        [1.5, 2],
        [2, 1.5],
        [[1, 2], [3, 4.5]],
        [[1, 2], [3]],
        [],
        [[]],
        [True, 1],
        [2**63],
        [2**62 + 1, 1.5],
        [numpy.float64(2), 3],
        [[1, 2], 3],
        [3, [1, 2]],
        [[[1]]],
        [1e300, 2.0],
        [numpy.int64(3), 4],
        [float("nan"), 1],
        [None],
        [[1.0] * 3] * 400,
    ],
)
def test_lists(items, dtype):
    def made(module):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                x = module.array(items, dtype=dtype)
            except (TypeError, ValueError, ArithmeticError) as e:
                return type(e), str(e)
            return x.dtype, x.shape, repr(x.tolist()), len(heard)

    assert made(np) == made(numpy)


def test_lists_of_arrays():
    x = np.arange(6.0)
    agree(
        np.array([x, x[::-1], x * 2]), numpy.array([numpy.arange(6.0), numpy.arange(6.0)[::-1], numpy.arange(6.0) * 2])
    )
    agree(np.array([x.sum(), x[2]]), numpy.array([15.0, 2.0]))
    agree(np.array([x.reshape(2, 3), x.reshape(2, 3)]), numpy.arange(6.0).reshape(2, 3)[None].repeat(2, 0))
    agree(np.array([x, x], dtype=int), numpy.array([range(6), range(6)]))
    y = np.array([x])
    y[0, 0] = 7
    assert x[0] == 0


def random_view(rng, base):
    """A view of a 3-d array: axes in any order, steps of any sign, some of them gone or of extent 1."""
    x = base.transpose(rng.sample(range(3), 3))
    parts = []
    for n in x.shape:
        a, b = sorted(rng.sample(range(n + 1), 2))
        step = rng.choice([1, 1, 1, 2, -1])
        whole = slice(None, None, step)
        parts.append(rng.choice([whole, whole, whole, slice(a, b), rng.randrange(n), slice(0, 1)]))
        if rng.random() < 0.2:
            parts.append(None)
    return x[tuple(parts)]


@pytest.mark.parametrize("seed", range(60))
def test_small_arrays_of_any_strides(seed):
    rng = random.Random(seed)
    shape = rng.choice([(3, 4, 5), (20, 20, 2), (2, 100, 3), (7, 1, 9), (40, 6, 30)])
    kinds = ["f8", "f8", "f8", "f4", "i8", "i4", "u1", "?", "c16"]

    def new(dtype):
        return (numpy.arange(numpy.prod(shape)) % 7 + 1).reshape(shape).astype(dtype)

    for _ in range(25):
        bases = [new(rng.choice(kinds)) for _ in range(2)]
        state = rng.getstate()
        a, b = (random_view(rng, base) for base in bases)
        rng.setstate(state)
        ours = [np.array(base) for base in bases]
        x, y = (random_view(rng, base) for base in ours)
        op = rng.choice(["add", "multiply", "less", "maximum", "true_divide", "subtract", "logical_or", "not_equal"])
        with numpy.errstate(all="ignore"):
            try:
                want = getattr(numpy, op)(a, b)
            except (ValueError, TypeError) as e:
                with pytest.raises(type(e)):
                    getattr(np, op)(x, y)
                continue
            got = getattr(np, op)(x, y)
            agree(got, want)
            if want.size:
                steps = zip(got.strides, want.strides, want.shape, strict=True)
                assert all(s == t for s, t, n in steps if n > 1)
            agree(np.negative(x) if x.dtype != bool else ~x, numpy.negative(a) if a.dtype != bool else ~a)
            for mine, theirs in ((x, a), (y, b)):
                agree(mine.copy(), theirs.copy())
                agree(mine.flatten(), theirs.flatten())
                agree(np.ascontiguousarray(mine), numpy.ascontiguousarray(theirs))
                agree(np.array(mine), numpy.array(theirs))
                agree(mine.any(), theirs.any())
                agree(mine.all(), theirs.all())
                if theirs.size and theirs.ndim and theirs.dtype != complex:
                    axis = rng.randrange(-theirs.ndim, theirs.ndim)
                    agree(mine.argmax(axis=axis), theirs.argmax(axis=axis))
                    agree(mine.argmin(axis), theirs.argmin(axis))
            # In place, of what overlaps, too.
            other = rng.choice([(y, b), (x, a), (x[..., ::-1], a[..., ::-1]) if a.ndim else (y, b)])
            for symbol in (operator.iadd, operator.imul, operator.isub):
                try:
                    symbol(a, other[1])
                except (ValueError, TypeError) as e:
                    with pytest.raises(type(e)):
                        symbol(x, other[0])
                else:
                    symbol(x, other[0])
                agree(ours[0], bases[0])
            if a.shape == b.shape:
                numpy.copyto(a, b, casting="unsafe")
                np.copyto(x, y, casting="unsafe")
                agree(ours[0], bases[0])


@pytest.mark.parametrize("seed", range(20))
def test_products_of_small_matrices(seed):
    rng = random.Random(seed)
    m, k, n = (rng.randrange(1, 40) for _ in range(3))
    kind = rng.choice(["f8", "f4", "i8", "c16", "?", "u1"])

    def some(*shape):
        theirs = numpy.random.default_rng(rng.randrange(1000)).integers(0, 2, shape).astype(kind)
        return np.array(theirs), theirs

    (a, ta), (b, tb), (v, tv), (w, tw) = some(m, k), some(k, n), some(k), some(m)
    pairs = [((a, b), (ta, tb)), ((a, v), (ta, tv)), ((w, a), (tw, ta)), ((v, v), (tv, tv)), ((a.T, a), (ta.T, ta))]
    pairs += [((a[::-1], b[:, ::2]), (ta[::-1], tb[:, ::2])), ((a, w), (ta, tw)), ((v, w), (tv, tw))]
    for (x, y), (tx, ty) in pairs:
        for f in ("dot", "matmul", "inner", "vdot"):
            try:
                want = getattr(numpy, f)(tx, ty)
            except ValueError:
                with pytest.raises(ValueError):
                    getattr(np, f)(x, y)
                continue
            agree(getattr(np, f)(x, y), want)
        if tx.shape[-1] == ty.shape[0]:
            agree(x @ y, tx @ ty)
            agree(x.dot(y), tx.dot(ty))


def test_ranges_of_floats():
    rng = random.Random(5)
    for _ in range(300):
        start, stop = rng.uniform(-3, 3), rng.uniform(-3, 3)
        step = rng.choice([0.1, 0.25, -0.3, 1 / 3, 7e-3, 2, -1])
        for args in ((stop,), (start, stop), (start, stop, step), (0, 1, step), (rng.randrange(9), stop, 0.5)):
            agree(np.arange(*args), numpy.arange(*args))


@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16", "u1"])
def test_writing_through_places(dtype):
    theirs = numpy.arange(20).astype(dtype)
    ours = np.array(theirs)
    places = numpy.array([3, -1, 0, 3, 7])
    for line in (slice(None), slice(None, None, 2), slice(None, None, -1)):
        for value in (1, True, theirs[:5].copy(), numpy.float64(0), [1, 0, 1, 0, 1], theirs[9:4:-1].copy()):
            own = np.array(value) if isinstance(value, numpy.ndarray) else value
            theirs[line][places] = value
            ours[line][np.array(places)] = own
            agree(ours, theirs)
        for bad in ([20], [0, -21], [3, 100]):
            with pytest.raises(IndexError):
                ours[line][np.array(bad)] = 5
            agree(ours, theirs)
    own = np.arange(5)
    own[own] = own[::-1]
    agree(own, numpy.arange(5)[::-1])
    fixed = np.arange(5)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        fixed[np.array([1])] = 2
