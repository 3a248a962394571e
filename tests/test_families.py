"""The families that are imported on first use, against NumPy over dtypes and shapes: values, or the same error."""

import itertools
import math

import numpy
import pytest

import numloom

from .test_functions import DTYPES, SHAPES, agree, data

CALLS = {
    # statistics
    "cov": lambda np, x: np.cov(x),
    "cov columns": lambda np, x: np.cov(x, rowvar=False),
    "cov of two": lambda np, x: np.cov(x, x * 2),
    "cov biased": lambda np, x: np.cov(x, bias=True, fweights=np.arange(x.shape[-1])),
    "cov counted": lambda np, x: np.cov(x, fweights=np.arange(x.shape[-1]), aweights=np.arange(x.shape[-1]) + 1.0),
    "cov weighted": lambda np, x: np.cov(x, aweights=np.arange(x.shape[-1]) + 1.0),
    "cov bad weights": lambda np, x: np.cov(x, aweights=-np.ones(x.shape[-1])),
    "cov uneven counts": lambda np, x: np.cov(x, fweights=np.ones(x.shape[-1]) / 2),
    "cov too few weights": lambda np, x: np.cov(x, aweights=[1.0] * 31),
    "corrcoef": lambda np, x: np.corrcoef(x),
    "corrcoef columns": lambda np, x: np.corrcoef(x, rowvar=False),
    # sequences
    "i0": lambda np, x: np.i0(x),
    "convolve itself": lambda np, x: np.convolve(x, x),
    "correlate itself": lambda np, x: np.correlate(x, x, "same"),
    "convolve bad mode": lambda np, x: np.convolve(x, x, "sideways"),
    "interp": lambda np, x: np.interp(x, [0, 1, 2, 5], [1, 3, 2, 8]),
    "interp around": lambda np, x: np.interp(x, [0, 1, 2, 5], [1, 3, 2, 8], period=3),
    "interp complex": lambda np, x: np.interp(x, [0, 1, 2], [1, 3, 2j], left=-1, right=7),
    "interp itself": lambda np, x: np.interp(x.ravel(), np.sort(x.ravel()), x.ravel()),
    "interp mismatch": lambda np, x: np.interp(x, [0, 1, 2], [1, 3]),
    "gradient uneven": lambda np, x: np.gradient(x, np.arange(x.shape[-1]) ** 2, axis=-1, edge_order=2),
    "gradient places": lambda np, x: np.gradient(x, np.arange(x.shape[0]) * 2, 0.5, edge_order=2),
    "gradient mismatch": lambda np, x: np.gradient(x, np.arange(31), axis=0),
    # bits
    "packbits": lambda np, x: np.packbits(x),
    "packbits axis": lambda np, x: np.packbits(x, axis=0, bitorder="little"),
    "unpackbits": lambda np, x: np.unpackbits(x),
    "unpackbits fewer": lambda np, x: np.unpackbits(x, axis=-1, count=-3, bitorder="little"),
    "unpackbits bad order": lambda np, x: np.unpackbits(x, bitorder="middle"),
    # functions of the caller's
    "apply_along_axis to numbers": lambda np, x: np.apply_along_axis(lambda r: r.sum(), 0, x),
    "apply_along_axis to lines": lambda np, x: np.apply_along_axis(lambda r: r + r, -1, x),
    "apply_along_axis to matrices": lambda np, x: np.apply_along_axis(lambda r: np.outer(r, r), 0, x),
    "apply_along_axis bad": lambda np, x: np.apply_along_axis(lambda r: r, 7, x),
    "apply_over_axes": lambda np, x: np.apply_over_axes(np.sum, x, [0, -1]),
    "apply_over_axes one": lambda np, x: np.apply_over_axes(np.sum, x, 0),
    "piecewise": lambda np, x: np.piecewise(x, [x < 1, x >= 1], [lambda v: v + v, 3]),
    "piecewise rest": lambda np, x: np.piecewise(x, [x < 1], [lambda v: v + v, lambda v: v]),
    "piecewise one": lambda np, x: np.piecewise(x, x < 1, [1, 2]),
    "piecewise bad": lambda np, x: np.piecewise(x, [x < 1], [1, 2, 3]),
    # polynomials
    "poly": lambda np, x: np.poly(x),
    "roots": lambda np, x: np.sort(np.abs(np.roots(x))),
    "polyder": lambda np, x: (np.polyder(x), np.polyder(x, 2), np.polyder(x, 0)),
    "polyder bad": lambda np, x: np.polyder(x, -1),
    "polyint": lambda np, x: (np.polyint(x), np.polyint(x, 2, k=[1, 2]), np.polyint(x, 3, k=4)),
    "polyint bad": lambda np, x: np.polyint(x, 3, k=[1, 2]),
    "polyval": lambda np, x: np.polyval(x, x),
    "polyval of a polynomial": lambda np, x: np.polyval(np.poly1d([1, 2, 3]), x),
    "poly1d": lambda np, x: np.asarray(np.poly1d(np.array([1, 2, 3]))(x)),
    "polyadd": lambda np, x: np.polyadd(x, [1, 2, 3, 4]),
    "polysub": lambda np, x: np.polysub([1, 2], x),
    "polymul": lambda np, x: np.polymul(x, [1, 2.0]),
    "polydiv": lambda np, x: np.polydiv(x, [1, 2.0]),
    # places
    "unravel_index": lambda np, x: np.unravel_index(x, (4, 6)),
    "unravel_index F": lambda np, x: np.unravel_index(x, (4, 2, 3), order="F"),
    "unravel_index outside": lambda np, x: np.unravel_index(x, (2,)),
    "ravel_multi_index": lambda np, x: np.ravel_multi_index((x, x), (20, 21)),
    "ravel_multi_index modes": lambda np, x: np.ravel_multi_index((x, x), (3, 4), mode=("wrap", "clip"), order="F"),
    "ravel_multi_index outside": lambda np, x: np.ravel_multi_index((x, x), (3, 4)),
    "choose": lambda np, x: np.choose(x > 0, [x, x + x]),
    "choose wrap": lambda np, x: np.choose(x, [x, x + x, np.ones(x.shape)], mode="wrap"),
    "choose clip": lambda np, x: x.choose([1, 2, 3.0], mode="clip"),
    "choose outside": lambda np, x: np.choose(x, [1, 2]),
    "put": lambda np, x: (np.put(x, [0, 2, -1], [1, 2]), x),
    "put wrap": lambda np, x: (x.put([0, 22, -1], [1, 2], mode="wrap"), x),
    "put clip": lambda np, x: (np.put(x, [0, 22, -1], [1, 2], mode="clip"), x),
    "put in a view": lambda np, x: (np.put(x.T, [0, 1], [1.5, 2]), x),
    "put outside": lambda np, x: (np.put(x, [100], [1, 2]), x),
    "require": lambda np, x: (np.require(x.T, None, ["C"]).flags.c_contiguous, np.require(x, "f8", ["F", "W"])),
    "require both": lambda np, x: np.require(x, None, ["C", "F"]),
    "triangles": lambda np, x: (np.tril_indices_from(x), np.triu_indices_from(x, 1)),
    "diagonal": lambda np, x: np.diag_indices_from(x),
    "getfield": lambda np, x: (x.getfield("i1"), x.T.getfield("u1", x.itemsize - 1)),
    "getfield too far": lambda np, x: x.getfield("i2", x.itemsize),
    "setfield": lambda np, x: (x.setfield(1, "i1"), x),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CALLS)
def test_one_array(name, shape):
    failures = []
    for dtype in DTYPES:
        if name.startswith("unpackbits fewer") and 0 in shape:
            continue  # NumPy's result is not initialised
        try:
            agree(CALLS[name], data(dtype, shape))
        except AssertionError as error:
            failures.append(f"{dtype}: {error}")
    assert not failures, "\n".join(failures)


@pytest.mark.parametrize("sizes", [(1, 1), (5, 3), (3, 5), (40, 7), (7, 7), (100, 60), (60, 100)], ids=str)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_sequences(dtype, mode, sizes):
    a, v = data(dtype, sizes[:1]), data(dtype, sizes[1:], 1)
    agree(lambda np, a, v: np.convolve(a, v, mode), a, v)
    agree(lambda np, a, v: np.correlate(a, v, mode), a, v)
    agree(lambda np, a, v: np.convolve(a[::2], v[::-1], mode), a, v)


@pytest.mark.parametrize("dtype", ["float64", "int32", "complex64"])
def test_few_taps_along_a_long_sequence(dtype):
    for n, taps in itertools.product((1500, 70_000), (1, 2, 5, 12, 13)):
        a, v = data(dtype, (n,)), data(dtype, (taps,), 1)
        for mode in ("full", "same", "valid"):
            agree(lambda np, a, v, mode=mode: np.convolve(a, v, mode), a, v)
            agree(lambda np, a, v, mode=mode: np.convolve(a + 1, v, mode), a, v)


def test_infinite_taps_meet_only_what_is_there():
    a = numpy.arange(1.0, 41)
    for taps in (numpy.array([numpy.inf, 1.0]), numpy.r_[numpy.inf, numpy.ones(20)]):
        for mode in ("full", "same", "valid"):
            agree(lambda np, a, v, mode=mode: np.convolve(a, v, mode), a, taps)


@pytest.mark.parametrize("deg", [0, 1, 3])
def test_polyfit(deg):
    x = numpy.linspace(0, 3, 50)
    y = 1 + numpy.sin(x)
    calls = [
        lambda np, x, y: np.polyfit(x, y, deg),
        lambda np, x, y: np.polyfit(x, y, deg, full=True),
        lambda np, x, y: np.polyfit(x, np.stack([y, x], 1), deg, w=x + 1),
    ]
    for call in calls:
        close(call, x, y)
    close(lambda np, x, y: np.polyfit(x, y, deg, cov=True), x, y)
    close(lambda np, x, y: np.polyfit(x, y, deg, cov="unscaled", w=x + 1), x, y)
    for bad in (
        lambda np, x, y: np.polyfit(x, y, -1),
        lambda np, x, y: np.polyfit(x, y[:-1], deg),
        lambda np, x, y: np.polyfit(x[:, None], y, deg),
        lambda np, x, y: np.polyfit(x, y, deg, w=x[:-1]),
    ):
        agree(bad, x, y)


def close(call, *arrays):
    """As well as the problem is conditioned."""
    want, got = call(numpy, *arrays), call(numloom, *map(numloom.array, arrays))
    for w, g in zip(want, got) if isinstance(want, tuple) else [(want, got)]:
        numpy.testing.assert_allclose(numpy.asarray(g), numpy.asarray(w), rtol=1e-9, atol=1e-9)


def test_polyfit_warns_of_a_low_rank():
    with pytest.warns(numpy.exceptions.RankWarning, match="poorly conditioned"):
        numloom.polyfit(numloom.ones(9), numloom.ones(9), 3)


def test_interp_at_the_edges():
    x = numpy.array([numpy.nan, 0, -1, numpy.inf, -numpy.inf, 0.5, 1, 1.5, 2, 3])
    for xp, fp in (
        ([0, 1, numpy.inf], [1, 3, 4]),
        ([0, 1, 2], [1, numpy.inf, -numpy.inf]),
        ([1.0], [3.0]),
        ([0, 1, 2], [1, numpy.nan, 3]),
        ([0, 0, 1], [1, 2, 3]),
    ):
        agree(lambda np, x, xp=xp, fp=fp: np.interp(x, xp, fp, left=0, right=9), x)
    agree(lambda np: np.interp(2.5, [1, 2, 3], [3, 2, 0]))
    agree(lambda np: np.interp(2.5, [1, 2, 3], [3, 2, 0], period=0))


def test_interp_of_many_points_in_any_order():
    rng = numpy.random.default_rng(0)
    for n in (1, 2, 100, 50_000):
        xp = numpy.sort(numpy.round(rng.random(n) * 100, 3))
        fp = rng.standard_normal(n)
        up = numpy.linspace(-5, 110, 40_000)
        beside = numpy.where(rng.random(40_000) < 0.01, numpy.nan, up)
        for x in (up, up[::-1], rng.permutation(up), beside, xp, up.reshape(200, 200).T):
            agree(lambda np, x, xp, fp: np.interp(x, xp, fp), x, xp, fp)
            agree(lambda np, x, xp, fp: np.interp(x, xp, fp, left=-7, right=0.5), x, xp, fp)


def test_indices_and_windows():
    agree(lambda np: (np.tril_indices(5, 1, 4), np.triu_indices(4, -1), np.tril_indices(0)))
    agree(lambda np: (np.diag_indices(3, 3), np.mask_indices(3, np.triu, 1), np.mask_indices(4, np.tril)))
    agree(lambda np: (np.kaiser(12, 14), np.kaiser(1, 2), np.kaiser(0, 3.0), np.kaiser(51, 8.6)))
    agree(lambda np: (np.unravel_index(22, (7, 6)), np.ravel_multi_index((3, 4), (7, 6))))


def test_a_masked_choice_reads_all_choices():
    x = numpy.arange(12).reshape(3, 4)
    agree(lambda np, x: np.choose(x % 3, x[:, :1] + np.zeros((3, 1, 4), int)), x)
    agree(lambda np, x: np.choose(x % 2, [0, 1.5], out=np.zeros((3, 4))), x)
    agree(lambda np, x: np.choose(x % 2, [0, 1.5], out=np.zeros((3, 3))), x)


@pytest.mark.parametrize("name", ["packbits", "unpackbits"])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("shape", [(9,), (16, 3), (3, 4, 5)])
def test_bits_lie_as_numpys(name, order, shape):
    for axis in [None, *range(len(shape))]:
        host = numpy.asarray(numpy.arange(math.prod(shape)).reshape(shape) % 3, dtype="u1", order=order)
        want = getattr(numpy, name)(host, axis=axis)
        got = getattr(numloom, name)(numloom.array(host), axis=axis)
        assert numpy.array_equal(numpy.asarray(got), want)
        steps = [[s for s, n in zip(x.strides, x.shape) if n > 1] for x in (got, want)]
        assert steps[0] == steps[1], (axis, got.strides, want.strides)


def test_choices_and_places_as_numpys():
    at, small = numpy.array([0, 1, 1]), numpy.array([1, 2, 3], dtype="u1")
    got = numloom.choose(numloom.array(at), [numloom.array(small), 7])
    assert got.dtype == numpy.choose(at, [small, 7]).dtype
    three = [numpy.arange(3) + k for k in range(3)]
    assert numpy.array_equal(numloom.array(at).choose(*map(numloom.array, three)), at.choose(*three))
    with pytest.raises(ValueError):
        numloom.ravel_multi_index((numloom.array(at), numloom.array(at)), (0, 3))


def test_interp_of_parts_that_are_infinite():
    x, xp = numpy.array([-1.0, 0.0, 0.4, 1.0, 3.0, numpy.nan]), numpy.array([0.0, 1.0])
    for fp in ([0, numpy.inf], [numpy.inf, 3], [-numpy.inf, numpy.inf], [numpy.inf, numpy.inf]):
        for unit in (1.0, 1j, 1 + 0j):
            values = numpy.array(fp, dtype=complex if isinstance(unit, complex) else float)
            if unit == 1j:
                values = values.real.astype(complex) * 0 + 2
                values.imag = fp
            want = numpy.interp(x, xp, values)
            got = numpy.asarray(numloom.interp(numloom.array(x), numloom.array(xp), numloom.array(values)))
            numpy.testing.assert_array_equal(got, want)


def test_kaiser_of_a_type_that_only_numpy_has():
    for size, beta in ((numpy.longdouble(5), 3), (5, numpy.longdouble(3))):
        assert numloom.kaiser(size, beta).dtype == numpy.longdouble
        numpy.testing.assert_array_equal(numloom.kaiser(size, beta), numpy.kaiser(size, beta))


def test_apply_along_axis_keeps_masks():
    def masked(x):
        return numpy.ma.masked_where(numpy.asarray(x) % 2 == 0, numpy.asarray(x))

    made = numloom.apply_along_axis(masked, 0, numloom.arange(6).reshape(3, 2))
    want = numpy.apply_along_axis(masked, 0, numpy.arange(6).reshape(3, 2))
    assert isinstance(made, numpy.ma.MaskedArray) and (made.mask == want.mask).all() and (made == want).all()
