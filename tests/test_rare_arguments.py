"""Arguments that are rare, of many functions: results, their types, errors and warnings are NumPy's."""

import io
import warnings

import numpy
import pytest

import numloom as np

from .oracle import WARNS, agree, agree_in_outcome, needs_engine, to_numpy
from .oracle import np as under_test

HOLED = numpy.array([1, numpy.nan, 3])
DATES = numpy.array(["2020", "2021"], "M8[Y]")
WEIGHTS = numpy.array([1, 2, 1])
QUANTILES = numpy.array([[0.2, 0.8], [0.5, 0]])
CUBE = numpy.random.default_rng(0).normal(size=(5, 4, 3))


def holed(dtype):
    made = CUBE.astype(dtype)
    made[1, 1, 1] = numpy.nan
    return made


def written(m, x):
    file = io.StringIO()
    m.savetxt(file, x)
    return file.getvalue()


def archive(m):
    file = io.BytesIO()
    m.savez(file, a=m.ones(2))
    file.seek(0)
    return m.load(file)


def lines(answer, axis=1):
    return lambda m: m.apply_along_axis(lambda line: answer(m, line), axis, m.ones((2, 3)))


def halves(m, n):
    return (m.arange(n) % 7).astype("e")


CASES = {
    "apply_along_axis text": lines(lambda m, line: ",".join(map(str, line.tolist()))),
    "apply_along_axis None": lines(lambda m, line: None),
    "apply_along_axis dict": lines(lambda m, line: {}),
    "apply_along_axis date": lines(lambda m, line: numpy.datetime64("2020")),
    "apply_along_axis texts": lines(lambda m, line: m.array(["a", "b"]), axis=0),
    "apply_along_axis dates": lines(lambda m, line: m.array(DATES), axis=0),
    "apply_along_axis swapped": lines(lambda m, line: m.array([1, 2], ">f8"), axis=0),
    "savetxt swapped": lambda m: written(m, m.array([1, 2], ">f8")),
    "savetxt swapped integers": lambda m: written(m, m.array([[1, 2]], ">i4")),
    "vectorize dates": lambda m: m.vectorize(lambda x: numpy.datetime64("2020"))(m.arange(2)),
    "vectorize spans": lambda m: m.vectorize(lambda x: (numpy.timedelta64(3, "D"), x))(m.arange(2)),
    "isreal texts": lambda m: m.isreal(m.array(["a"])),
    "isreal dates": lambda m: m.isreal(m.array(DATES)),
    "isreal text": lambda m: m.isreal("a"),
    "isreal objects": lambda m: m.isreal(m.array([None, 1], object)),
    "iscomplex texts": lambda m: m.iscomplex(m.array(["a"])),
    "iscomplex dates": lambda m: m.iscomplex(m.array(DATES)),
    "take nothing": lambda m: m.take(m.zeros((0, 3)), 100, axis=1),
    "take from nothing": lambda m: m.take(m.zeros((0, 3)), 0, axis=0),
    "nanmedian no axes": lambda m: m.nanmedian(m.arange(4.0), axis=(), keepdims=True),
    "nanmedian no axes of one": lambda m: m.nanmedian(m.ones(1), axis=()),
    "nanquantile no axes": lambda m: m.nanquantile(m.arange(4.0), 0.3, axis=()),
    "cond of none": lambda m: m.linalg.cond(m.zeros((0, 3, 3))),
    "cond of empty": lambda m: m.linalg.cond(m.zeros((3, 0, 0))),
    "cond of none, a wrong order": lambda m: m.linalg.cond(m.zeros((0, 3, 3)), "x"),
    "pinv of no integers": lambda m: m.linalg.pinv(m.zeros((0, 3), int)),
    "pinv of no halves": lambda m: m.linalg.pinv(m.zeros((3, 0), "e")),
    "pinv of integers": lambda m: m.linalg.pinv(m.ones((2, 3), int), rtol=None),
    "isin one": lambda m: (m.isin(3, [1, 2, 3]), m.isin(m.array(3.5), m.arange(100), invert=True)),
    "flip one": lambda m: (m.flip(m.array(3)), m.flip(m.array(3), ()), m.flip(2.5)),
    "weighted NaN": lambda m: m.quantile(m.array(HOLED), 0.3, axis=0, method="inverted_cdf", weights=m.array(WEIGHTS)),
    "weighted NaN in halves": lambda m: m.quantile(
        m.array(HOLED, "e"), 0.3, method="inverted_cdf", weights=m.array(WEIGHTS)
    ),
    "weighted": lambda m: m.quantile(m.arange(3.0), 0.3, axis=0, method="inverted_cdf", weights=m.array(WEIGHTS)),
    "percentile of NaN": lambda m: [m.percentile(m.array(HOLED, d), numpy.array(25.0)) for d in "efd"],
    "percentile of numbers": lambda m: [m.percentile(m.arange(3).astype(d), numpy.array(25.0)) for d in "efd"],
    "nanquantile single q": lambda m: m.nanquantile(
        m.array(holed("d")), numpy.float32(0.3), axis=(0, 1), method="median_unbiased"
    ),
    "nanquantile single q of halves": lambda m: m.nanquantile(m.array(holed("e")), numpy.float32(0.3), axis=1),
    "nanquantile of halves": lambda m: m.nanquantile(m.array(holed("e")), 0.3, axis=1),
    "quantile of NaN among halves": lambda m: m.quantile(
        m.array(HOLED, "e"), numpy.float32(0.3), method="interpolated_inverted_cdf"
    ),
    "nanquantile several axes": lambda m: m.nanquantile(m.arange(60.0).reshape(4, 3, 5), QUANTILES, axis=(0, 2)),
    "nanquantile several axes kept": lambda m: m.nanquantile(
        m.arange(60.0).reshape(4, 3, 5), QUANTILES, axis=(0, 2), keepdims=True
    ),
    "nanpercentile several axes": lambda m: m.nanpercentile(m.arange(60).reshape(4, 3, 5), QUANTILES, axis=(0, 2)),
    "norm along no axis": lambda m: m.linalg.norm(m.array(3.0), axis=-1),
    "norm fro along no axis": lambda m: m.linalg.norm(m.array(3.0), "fro", axis=-1),
    "norm along one axis twice": lambda m: m.linalg.norm(m.ones((2, 2)), axis=(0, 0)),
    "norm along a word": lambda m: m.linalg.norm(m.ones((2, 2)), axis="a"),
    "arange too far": lambda m: m.arange(1e20),
    "arange too far by steps": lambda m: m.arange(0, 1e30, 1.0),
    "arange too far of integers": lambda m: m.arange(10**20),
    "arange of large integers": lambda m: m.arange(0, 10**20, 10**19),
    "linspace of too many": lambda m: m.linspace(0, 1, 10**19),
    "tensordot one axis twice": lambda m: m.tensordot(m.ones((2, 2)), m.ones((2, 2)), ([0, 0], [0, 1])),
    "tensordot one axis twice, other lengths": lambda m: m.tensordot(m.ones((2, 2)), m.ones((2, 2)), ([0, 0], [0])),
    "cross of numbers": lambda m: m.linalg.cross(m.array(1), m.array(2)),
    "vecdot of numbers": lambda m: m.linalg.vecdot(m.array(1), m.array(2), axis=0),
    "vecdot other shapes": lambda m: m.linalg.vecdot(m.ones((2, 3)), m.ones((2, 4)), axis=0),
    "vecdot along the first": lambda m: m.linalg.vecdot(m.ones((2, 3)), m.ones((2, 3)), axis=0),
    "trapezoid far axis": lambda m: m.trapezoid(m.ones(3), axis=1),
    "fft2 of a line": lambda m: m.fft.fft2(m.ones(3)),
    "irfftn far axis": lambda m: m.fft.irfftn(m.ones((3, 2)), axes=(0, -5)),
    "rfftn one axis": lambda m: m.fft.rfftn(m.ones((3, 2)), axes=1),
    "fftfreq of nothing": lambda m: m.fft.fftfreq(-1, 0),
    "lstsq warn": lambda m: m.linalg.lstsq(m.ones((3, 2)), m.ones(3), rcond="warn"),
    "weights along far axes": lambda m: m.quantile(
        m.ones(3), 0.5, axis=(0, 1), weights=m.ones(3), method="inverted_cdf"
    ),
    "weights and another method": lambda m: m.quantile(m.ones(3), 0.5, axis=(0, 1), weights=m.ones(3)),
    "generate_state": lambda m: m.random.SeedSequence(1).generate_state(-1),
    "generate_state of halves": lambda m: m.random.SeedSequence(1).generate_state(2.5, "u8"),
    "ediff1d truths": lambda m: m.ediff1d(m.array([True, False]), to_begin=3),
    "ediff1d of truths": lambda m: m.ediff1d(m.array([True, False]), to_end=True),
    "tri of text": lambda m: m.tri("a"),
    "tri half a diagonal": lambda m: m.tri(2, 2, 0.5),
    "tensorinv of a number": lambda m: m.linalg.tensorinv(m.array(3.0)),
    "archive": lambda m: type(archive(m)).__name__,
}


@pytest.mark.parametrize("case", CASES)
def test_case(case):
    agree_in_outcome(lambda: CASES[case](under_test), lambda: CASES[case](numpy), what=case)


TERMS = ["i,i", "i,i->", "ij,ij", "ij,jk->", "i,j->", "i,i,i", "ij,jk,kl->", "ii,->", "...i,...i->..."]


@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal"])
@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("n", [1, 2])
def test_einsum_to_one_number(terms, optimize, n):
    def call(m):
        letters = [[x for x in term if x != "."] for term in terms.partition("->")[0].split(",")]
        return m.einsum(terms, *[m.ones([n] * len(term)) for term in letters], optimize=optimize)

    agree(call(under_test), call(numpy), what=terms)


WARNED = {
    "linalg.cross": lambda m: m.linalg.cross(m.array([1, 2, 3], "u8"), m.array([4, 5, 6], "u8")),
    "cross of steps": lambda m: m.cross(m.array([1, 0, 2, 0, 3, 0], "u2")[::2], m.array([4, 5, 6], "u2")),
    "cross turned": lambda m: m.cross(m.arange(12, dtype="u4").reshape(3, 4).T, m.ones((4, 3), "u4")),
    "mean of no halves": lambda m: m.mean(m.array([], "e")),
    "var of no halves": lambda m: m.var(m.array([], "e")),
    "std of no halves": lambda m: m.std(m.array([], "e")),
    "corrcoef of one": lambda m: m.corrcoef(m.ones((1, 4))),
    "norm of zero": lambda m: m.linalg.norm(m.array(0.0), -1, axis=-1),
    "norm of zeros": lambda m: m.linalg.norm(m.zeros(2), -2, axis=0),
    **{f"{name} of many halves": lambda m, name=name: getattr(m, name)(halves(m, 80000)) for name in ("var", "std")},
    **{
        f"{name} of many halves": lambda m, name=name: getattr(m, name)(halves(m, 80000))
        for name in ("nanvar", "nanstd")
    },
    "var of many halves along": lambda m: m.var(halves(m, 160000).reshape(2, -1), axis=1, ddof=1),
    "var of many small halves": lambda m: m.var(halves(m, 80000) / m.float16(1000), keepdims=True),
    "nanmean of many small halves": lambda m: m.nanmean(halves(m, 80000) / m.float16(1000)),
}


def with_warnings(call, m):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = call(m)
            numpy.asarray(made)
        except Exception as error:
            made = (type(error).__name__, str(error))
    return made, [str(w.message) for w in caught if w.category is not np.FallbackWarning]


@pytest.mark.parametrize("case", WARNED)
def test_warnings(case):
    actual, expected = with_warnings(WARNED[case], under_test), with_warnings(WARNED[case], numpy)
    assert actual[1] == expected[1] or not WARNS
    agree(actual[0], expected[0], what=case)


# SciPy's functions


@needs_engine
def test_expm():
    made = np.linalg.expm(np.eye(2, dtype="e"))
    agree(made, numpy.diag(numpy.exp(numpy.ones(2, "f"))), 8)
    for given in (1.0, numpy.array([1])):
        agree(np.linalg.expm(given), numpy.array([[numpy.e]]), 8)


@needs_engine
def test_cholesky_factors():
    a = np.array([[2.0, 1.0], [1.0, 3.0]])
    factor = np.linalg.cho_factor(a, 1)
    assert factor[1] == 1 and type(factor[1]) is int
    agree(np.linalg.cho_solve(factor, np.ones(2)), numpy.array([0.4, 0.2]), 8)


SOLVERS = {
    "cho_factor": lambda x, **options: np.linalg.cho_factor(x, **options),
    "cho_solve": lambda x, **options: np.linalg.cho_solve((np.eye(2), True), x, **options),
    "cho_solve factor": lambda x, **options: np.linalg.cho_solve((x, True), np.ones(2), **options),
    "solve_triangular": lambda x, **options: np.linalg.solve_triangular(np.eye(2), x, **options),
    "solve_triangular a": lambda x, **options: np.linalg.solve_triangular(x, np.ones(2), **options),
}


@needs_engine
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf])
def test_finite(solver, value):
    given = np.array([[1.0, 0.0], [0.0, value]])
    with pytest.raises(ValueError, match="array must not contain infs or NaNs"):
        SOLVERS[solver](given)
    if value != value and solver != "cho_factor":
        made = SOLVERS[solver](given, check_finite=False)
        assert numpy.isnan(numpy.asarray(made)).any()


@needs_engine
@pytest.mark.parametrize("solver", SOLVERS)
def test_types_that_scipy_takes(solver):
    expected = to_numpy(SOLVERS[solver](np.eye(2)))
    for dtype in (">f8", "g"):
        agree(SOLVERS[solver](numpy.eye(2, dtype=dtype)), expected)
    for dtype in ("O", "U1", "M8[s]"):
        with pytest.raises(ValueError, match="arrays are not supported"):
            SOLVERS[solver](numpy.zeros((2, 2), dtype))


@needs_engine
def test_not_square():
    with pytest.raises(ValueError, match="Input array is expected to be square"):
        np.linalg.cho_factor(np.ones((2, 3)))
    with pytest.raises(ValueError, match="The factored matrix c is not square"):
        np.linalg.cho_solve((np.ones((2, 3)), True), np.ones(2))
