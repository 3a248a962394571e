"""What is a view is seen by its alias; what is a copy is not."""

from __future__ import annotations

import itertools
import random

import numpy
import pytest

from .oracle import agree, agree_in_outcome, mine, np, values
from .test_functions import CALLS

VIEWS = {
    "slice": lambda x: x[1:3],
    "step": lambda x: x[::2, 1::2],
    "reversed": lambda x: x[::-1],
    "reversed step": lambda x: x[:, ::-2],
    "row": lambda x: x[2],
    "column": lambda x: x[:, 1],
    "newaxis": lambda x: x[:, None],
    "ellipsis": lambda x: x[...],
    "transpose": lambda x: x.T,
    "transpose axes": lambda x: x.transpose(1, 0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "reshape": lambda x: x.reshape(6, 4),
    "reshape flat": lambda x: x.reshape(-1),
    "reshape of transpose": lambda x: x.T.reshape(-1),
    "reshape order": lambda x: x.reshape(6, 4, order="F"),
    "ravel": lambda x: x.ravel(),
    "ravel of a slice": lambda x: x[:, 1:3].ravel(),
    "squeeze": lambda x: x[None].squeeze(),
    "diagonal": lambda x: x.diagonal(),
    "view": lambda x: x.view(),
    "view of other type": lambda x: x.view("uint8"),
    "copy": lambda x: x.copy(),
    "flatten": lambda x: x.flatten(),
    "astype": lambda x: x.astype("float64"),
    "astype same": lambda x: x.astype(x.dtype, copy=False),
    "gather": lambda x: x[[0, 1]],
    "mask": lambda x: x[x > 0],
    "view of view": lambda x: x[1:].T[::-1][:2],
    "reshape then slice": lambda x: x.reshape(2, 3, 4)[:, 1:, ::-1],
}


@pytest.mark.parametrize("scale", [1, 100])
@pytest.mark.parametrize("case", VIEWS)
def test_writes_are_seen_by_aliases_only(case, scale):
    x = (
        numpy.repeat(values("int64", (6, 4)), scale, axis=0).reshape(6 * scale, 4)
        if "reshape" not in case
        else values("int64", (6, 4))
    )
    m = mine(x)
    a, e = VIEWS[case](m), VIEWS[case](x)
    agree(a, e, what="before")
    m[...] = m + 100
    x[...] = x + 100
    agree(a, e, what="after a write to the base")
    if e.flags.writeable:
        a[...] = 1
        e[...] = 1
        agree(m, x, what="after a write to the view")
    else:
        agree_in_outcome(lambda: a.__setitem__(..., 1), lambda: e.__setitem__(..., 1))
    assert np.shares_memory(m, a) == numpy.shares_memory(x, e)
    assert np.may_share_memory(m, a) == numpy.may_share_memory(x, e)


@pytest.mark.parametrize("case", VIEWS)
def test_layout(case):
    x = values("int64", (6, 4))
    a, e = VIEWS[case](mine(x)), VIEWS[case](x)
    assert a.strides == e.strides
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS", "WRITEABLE", "OWNDATA", "ALIGNED"):
        assert a.flags[flag] == e.flags[flag], flag
    assert (a.base is None) == (e.base is None)
    assert (a.nbytes, a.size, a.ndim, a.itemsize) == (e.nbytes, e.size, e.ndim, e.itemsize)


def test_real_and_imaginary_parts_are_views():
    for size in (4, 20_000):
        x = values("complex128", size)
        m = mine(x)
        re, im = m.real, m.imag
        m.real, x.real = 3, 3
        m.imag[::2] = 5
        x.imag[::2] = 5
        agree(m, x)
        m *= 2
        x *= 2
        agree(re, x.real)
        agree(im, x.imag)
    x = values("float64", 4)
    m = mine(x)
    m.real[0], x.real[0] = 9, 9
    agree(m, x)
    agree_in_outcome(lambda: m.imag.__setitem__(0, 1), lambda: x.imag.__setitem__(0, 1))


def test_shape_can_be_set():
    m = np.arange(6)
    m.shape = (2, 3)
    assert m.shape == (2, 3)
    assert m.strides == (24, 8)
    agree_in_outcome(lambda: setattr(m, "shape", (4,)), lambda: setattr(numpy.zeros((2, 3), int), "shape", (4,)))


def test_broadcast_to_is_read_only():
    x = values("float64", 3)
    m = np.broadcast_to(mine(x), (4, 3))
    agree(m, numpy.broadcast_to(x, (4, 3)))
    assert m.strides == (0, 8)
    agree_in_outcome(lambda: m.__setitem__(0, 1), lambda: numpy.broadcast_to(x, (4, 3)).__setitem__(0, 1))


def test_in_place_operators_keep_identity():
    m = np.ones(4)
    same = m
    view = m[1:]
    m += 1
    m *= m
    m -= 0.5
    m /= 2
    assert m is same
    agree(view, numpy.full(3, 1.75))


@pytest.mark.parametrize("size", [12, 40_000])
def test_pending_operations_see_the_old_values(size):
    x = values("float64", size)
    m = mine(x)
    before, expected = m * 2 + 1, x * 2 + 1
    part, expected_part = m[::2] + 1, x[::2] + 1
    total, expected_total = m.max(), x.max()
    m[:] = 0
    m += 5
    agree(before, expected)
    agree(part, expected_part)
    agree(total, expected_total)
    agree(m, numpy.full(size, 5.0))


@pytest.mark.parametrize("size", [40, 30_000])
def test_chains_of_overlapping_updates(size):
    rng = random.Random(5)
    x = values("int64", size)
    m = mine(x)
    cuts = [numpy.s_[:-3], numpy.s_[3:], numpy.s_[1:-2], numpy.s_[2:-1], numpy.s_[-4::-1], numpy.s_[:2:-1]]
    for left, right in itertools.islice(itertools.cycle(itertools.product(cuts, cuts)), 60):
        if rng.random() < 0.5:
            m[left] += m[right]
            x[left] += x[right]
        else:
            m[left] = m[right] - m[left]
            x[left] = x[right] - x[left]
    agree(m, x)


@pytest.mark.parametrize("shape", [(20, 30), (200, 150)])
def test_jacobi(shape):
    x = values("float64", shape)
    m = mine(x)
    for _ in range(5):
        m[1:-1, 1:-1] = 0.25 * (m[:-2, 1:-1] + m[2:, 1:-1] + m[1:-1, :-2] + m[1:-1, 2:])
        x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    agree(m, x)


def test_loop_over_adjacent_slices():
    x, y = values("float32", 50_000), values("float32", 50_000, 1)
    m, n = mine(x), mine(y)
    for i in range(0, 50_000, 4096):
        a, b = m[i : i + 4096], n[i : i + 4096]
        a[:] = a * b + b
        e, f = x[i : i + 4096], y[i : i + 4096]
        e[:] = e * f + f
    agree(m, x)


def test_views_outlive_their_base():
    for size in (10, 50_000):
        m = np.arange(size)
        view = m[size // 2 :]
        later = view + 1
        del m
        agree(view, numpy.arange(size)[size // 2 :])
        del view
        agree(later, numpy.arange(size)[size // 2 :] + 1)


@pytest.mark.parametrize("cut", [(slice(1, 1),), (slice(None), slice(0, 0)), (slice(2, 0), slice(1, 3))])
def test_empty_views_are_contiguous(cut):
    x = values("float64", (3, 4, 5))
    m, e = mine(x)[(*cut, ..., slice(-2, None))], x[(*cut, ..., slice(-2, None))]
    assert (m.flags.c_contiguous, m.flags.f_contiguous) == (e.flags.c_contiguous, e.flags.f_contiguous)
    assert np.pad(m, 1).flags.c_contiguous == numpy.pad(e, 1).flags.c_contiguous


@pytest.mark.parametrize("order", "KACF")
@pytest.mark.parametrize("shape", [None, (5,), (3, 4), (5, 6, 7)], ids=str)
def test_likes_lie_in_memory_as_numpys(order, shape):
    def run(np):
        x = np.arange(24).reshape(2, 3, 4)
        likes = [x, x.T, x.swapaxes(0, 1), x[0], x[0].T, np.zeros((1, 3, 1)).T]
        return [np.empty_like(a, order=order, shape=shape).strides for a in likes]

    assert run(np) == run(numpy)


@pytest.mark.parametrize("dtype", ["uint8", "int64", "float64", "complex128"])
def test_round_keeps_the_order(dtype):
    assert np.round(np.ones((3, 4), dtype).T).strides == numpy.round(numpy.ones((3, 4), dtype).T).strides


def test_shapes_given_as_arrays():
    for shape in ([2, 3], [4], []):
        assert np.ones(np.array(shape, int)).shape == tuple(shape)
        assert np.zeros(np.prod(shape, dtype=int)).reshape(np.array(shape, int)).shape == tuple(shape)
    agree(np.delete(np.arange(4), ()), numpy.delete(numpy.arange(4), ()))
    agree(np.delete(np.arange(4), []), numpy.delete(numpy.arange(4), []))


def test_copy_modes():
    x = np.arange(4)
    for always in (True, np._CopyMode.ALWAYS, numpy.True_, 1):
        assert not np.shares_memory(np.array(x, copy=always), x)
    for shared in (False, None, np._CopyMode.NEVER, np._CopyMode.IF_NEEDED, numpy.False_, 0):
        assert np.array(x, copy=shared) is x
    assert x.astype(int, copy=0) is x
    assert x.astype(int, copy=1) is not x


def test_strides_can_be_set():
    x = np.arange(10)
    y = x[:4:-1]
    with pytest.warns(DeprecationWarning, match="Setting the strides"):
        y.strides = -16
    with pytest.raises(ValueError, match="available memory"), pytest.warns(DeprecationWarning):
        y.strides = 8
    y = x[:5]
    with pytest.warns(DeprecationWarning):
        y.strides = 16
    agree(y, numpy.arange(0, 10, 2))


RESIZES = {
    "longer": lambda np, x: x.resize((3, 3), refcheck=False),
    "shorter": lambda np, x: x.resize(4, refcheck=False),
    "several numbers": lambda np, x: x.resize(2, 2, 2, refcheck=False),
    "the same size": lambda np, x: x.resize(3, 2),
    "to nothing": lambda np, x: x.resize((0, 3), refcheck=False),
    "to one": lambda np, x: x.resize((), refcheck=False),
    "none": lambda np, x: x.resize(None),
    "no shape": lambda np, x: x.resize(),
    "negative": lambda np, x: x.resize(-1),
    "a word": lambda np, x: x.resize("a"),
    "a view": lambda np, x: x[:1].resize(7),
    "pieces": lambda np, x: x[:, ::2].resize(7),
    "referred to": lambda np, x: x.resize(7),
}


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("case", RESIZES)
def test_resize_in_place(case, layout):
    def run(np):
        x = np.array(numpy.arange(6).reshape(2, 3), order=layout)
        RESIZES[case](np, x)
        return x, x.strides

    agree_in_outcome(lambda: run(np), lambda: run(numpy), what=case)


def test_resize_of_the_only_reference():
    x = np.arange(4)
    x.resize(6)
    agree(x, numpy.array([0, 1, 2, 3, 0, 0]))


def test_small_differences_of_functions():
    small = np.array(1.0 - 2**-52, "f4")
    assert np.isclose(small, 2, atol=0, rtol=(1.0 - 2**-52) / 2)
    agree(np.resize(np.arange(3), numpy.uint8(4)), numpy.resize(numpy.arange(3), numpy.uint8(4)))
    agree_in_outcome(
        lambda: np.cross(np.ones((3, 3)), np.ones((3, 3)), axisb=2),
        lambda: numpy.cross(numpy.ones((3, 3)), numpy.ones((3, 3)), axisb=2),
    )
    out = np.zeros(2, complex)
    assert np.array([1 + 1j, 2j]).conjugate(out) is out
    agree(out, numpy.array([1 - 1j, -2j]))
    assert np.arange(2).conj(np.zeros(2, int)).tolist() == [0, 1]


# Two views of one array under NumPy.
SIDE_BY_SIDE = {"nonzero", "where one"}

LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.copy(order="F"),
    "every second": lambda x: x.repeat(2, axis=0)[::2],
    "backwards": lambda x: x[::-1].copy()[::-1],
    "rolled": lambda x: x.transpose(*range(1, x.ndim), 0).copy().transpose(x.ndim - 1, *range(x.ndim - 1)),
}


def steps(result):
    """Of all arrays in it, the strides that count."""
    if isinstance(result, list | tuple):
        return [steps(x) for x in result]
    return [s for s, n in zip(result.strides, result.shape) if n > 1] if hasattr(result, "strides") else None


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(4, 6), (3, 4, 5)], ids=str)
def test_results_lie_in_memory_as_numpys(layout, shape):
    """Otherwise `ravel` is a view where NumPy's is a copy."""
    more = {
        "astype": lambda np, x: x.astype(float),
        "imag": lambda np, x: np.imag(x),
        "reduceat": lambda np, x: [np.add.reduceat(x, [0, 1], axis=axis) for axis in range(x.ndim)],
        "beyond": lambda np, x: [
            y for i in [x.astype("u1")] for y in (i >= -1, i == 2**70, -1 < i, np.not_equal(i, -5))
        ],
        "select": lambda np, x: [np.select([x > 3, x < 1], [x, 7], 2), np.select([x > 3], [1.5])],
        "gradient": lambda np, x: np.gradient(x),
    }
    host, compared = (numpy.random.default_rng(3).random(shape) * 6).round(1), 0
    for name, call in {**CALLS, **more}.items():
        if name in SIDE_BY_SIDE:
            continue
        try:
            expected = steps(call(numpy, LAYOUTS[layout](host)))
        except ValueError:  # not for this shape
            continue
        assert steps(call(np, LAYOUTS[layout](np.array(host)))) == expected, name
        compared += 1
    assert compared > 140
