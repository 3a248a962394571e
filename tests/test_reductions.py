"""Reductions over axes, dtypes and keywords, against NumPy."""

from __future__ import annotations

import warnings

import numpy
import pytest

from .oracle import DTYPES, NUMPY_2_5, agree, agree_in_outcome, mine, np, values

FOLDS = [
    "sum",
    "prod",
    "min",
    "max",
    "any",
    "all",
    "mean",
    "var",
    "std",
    "ptp",
    "argmin",
    "argmax",
    "cumsum",
    "cumprod",
]
AXES = [None, 0, 1, -1, (0, 1), (0, 2), (), 3, (0, 0)]


def slack(name: str, dtype: str) -> float:
    if numpy.dtype(dtype).kind not in "fc" and name not in ("mean", "var", "std"):
        return 0
    return 0 if name in ("min", "max", "any", "all", "argmin", "argmax") else 512


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FOLDS)
def test_axes_and_keepdims(name, dtype):
    x = numpy.abs(values(dtype, (4, 5, 3)) + numpy.ones((), dtype)).astype(dtype)
    m = mine(x)
    for axis in AXES:
        for extra in ({}, {"keepdims": True}):
            if name.startswith("cum") and extra:
                continue
            for method in (False, True):
                agree_in_outcome(
                    lambda axis=axis, e=extra, f=method: (
                        getattr(m, name)(axis=axis, **e)
                        if f and name != "ptp"
                        else getattr(np, name)(m, axis=axis, **e)
                    ),
                    lambda axis=axis, e=extra, f=method: (
                        getattr(x, name)(axis=axis, **e)
                        if f and name != "ptp"
                        else getattr(numpy, name)(x, axis=axis, **e)
                    ),
                    slack(name, dtype),
                    what=f"{name} {dtype} {axis} {extra}",
                )


@pytest.mark.parametrize("name", FOLDS)
def test_sizes_and_layouts(name):
    for dtype in ("int32", "float32", "float64", "bool", "complex128"):
        if dtype == "complex128" and name in ("prod", "cumprod"):
            continue
        for shape in [(1,), (0,), (3, 0), (7000,), (30_001,), (150, 170), (3, 20_000), (20_000, 3), ()]:
            x = values(dtype, shape)
            if name in ("prod", "cumprod") and x.dtype.kind == "f":
                x = 1 + x / 4000
            m = mine(x)
            for cut in (
                lambda a: a,
                lambda a: a.T,
                lambda a: a[::-1] if a.ndim else a,
                lambda a: a[..., ::2] if a.ndim else a,
            ):
                for axis in (None, 0, -1):
                    agree_in_outcome(
                        lambda cut=cut, axis=axis, m=m: getattr(np, name)(cut(m), axis=axis),
                        lambda cut=cut, axis=axis, x=x: getattr(numpy, name)(cut(x), axis=axis),
                        slack(name, dtype) * (100 if name in ("var", "std", "sum", "mean", "cumsum") else 2),
                        what=f"{name} {dtype} {shape} {axis}",
                    )


def test_where_initial_dtype_out():
    x = values("float64", (60, 500))
    m = mine(x)
    mask = x > 0
    calls = [
        lambda np, x, k: np.sum(x, where=k),
        lambda np, x, k: np.sum(x, axis=0, where=k, initial=10),
        lambda np, x, k: np.max(x, axis=1, where=k, initial=-1),
        lambda np, x, k: np.min(x, where=k, initial=4, keepdims=True),
        lambda np, x, k: np.prod(1 + x / 1000, where=k),
        lambda np, x, k: np.mean(x, where=k),
        lambda np, x, k: np.mean(x, axis=0, where=k),
        lambda np, x, k: np.var(x, axis=1, where=k, ddof=1),
        lambda np, x, k: np.std(x, correction=1),
        lambda np, x, k: np.any(x > 2, axis=1, where=k),
        lambda np, x, k: np.all(x < 2, axis=0, where=k),
        lambda np, x, k: np.sum(x, dtype="float32"),
        lambda np, x, k: np.sum(x, dtype=complex, axis=0),
        lambda np, x, k: np.sum(k, axis=1, dtype="uint8"),
        lambda np, x, k: np.mean(x.astype("float16"), axis=0),
        lambda np, x, k: np.mean(k, dtype="float32"),
        lambda np, x, k: np.max(x, where=k),
        lambda np, x, k: np.sum(x, axis=0, out=np.zeros(500)),
        lambda np, x, k: np.sum(x, axis=0, out=np.zeros(500, "float32")),
        lambda np, x, k: np.sum(x, axis=0, out=np.zeros(500, int)),
        lambda np, x, k: np.sum(x, axis=0, out=np.zeros(4)),
        lambda np, x, k: np.cumsum(k),
        lambda np, x, k: np.median(x, axis=0),
        lambda np, x, k: np.average(x, axis=1, weights=np.arange(500)),
        lambda np, x, k: np.nansum(np.where(k, x, np.nan), axis=0),
        lambda np, x, k: np.nanmax(np.where(k, x, np.nan)),
        lambda np, x, k: np.nanmean(np.where(k, x, np.nan), axis=1),
        lambda np, x, k: np.count_nonzero(k, axis=1, keepdims=True),
        lambda np, x, k: np.linalg.norm(x),
        lambda np, x, k: np.trace(x),
    ]
    for i, call in enumerate(calls):
        agree_in_outcome(
            lambda call=call: call(np, m, mine(mask)), lambda call=call: call(numpy, x, mask), 4096, what=f"call {i}"
        )


def test_running_sums_of_float32_err_as_little_as_numpys():
    """Where terms cancel, the last digits of a running sum are rounding errors, and a GPU adds in an order of its own.
    Neither is further from the exact sum than four times the unit roundoff of all that was added."""
    x = values("float64", (60, 500))
    exact = numpy.cumsum(x.astype("float32").astype("float64"), axis=1)
    allowed = 4 * 2.0**-24 * numpy.cumsum(numpy.abs(x), axis=1)
    for sums in (np.cumsum(mine(x), axis=1, dtype="float32"), numpy.cumsum(x, axis=1, dtype="float32")):
        assert sums.dtype == numpy.float32
        assert (numpy.abs(numpy.asarray(sums) - exact) <= allowed).all()


def test_not_a_number():
    for size in (9, 20_000):
        x = values("float64", size)
        x[size // 2] = numpy.nan
        m = mine(x)
        for name in ("sum", "min", "max", "argmin", "argmax", "mean", "any", "all"):
            agree_in_outcome(
                lambda name=name, m=m: getattr(m, name)(), lambda name=name, x=x: getattr(x, name)(), what=name
            )
        agree(np.fmin.reduce(m), numpy.fmin.reduce(x))


def test_first_of_equals_wins():
    x = numpy.zeros(30_000, "int32")
    x[[7, 20_000]] = 5
    m = mine(x)
    assert int(m.argmax()) == 7
    assert int(m.argmin()) == 0
    assert int(m[::-1].argmax()) == 9999


@pytest.mark.parametrize("name", ["mean", "var", "std"])
def test_warnings_of_empty_slices(name):
    def seen(np, x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            numpy.asarray(getattr(np, name)(x))
        return sorted({str(w.message) for w in caught})

    assert seen(np, np.zeros(0)) == seen(numpy, numpy.zeros(0))


def test_results_feed_later_operations():
    for size in (10, 40_000):
        x = values("float64", size)
        m = mine(x)
        a, e = (m - m.mean()) / m.std(), (x - x.mean()) / x.std()
        agree(a, e, ulps=1e5)
        b, f = m[m > m.mean()].sum() + m.max() * 2, x[x > x.mean()].sum() + x.max() * 2
        agree(b, f, ulps=1e5)
        big = np.zeros(3)
        big[1] = m.sum()
        small = numpy.zeros(3)
        small[1] = x.sum()
        agree(big, small, ulps=1e5)


ORDERS = [
    (3,),
    (700,),
    (4097,),
    (20_000,),
    (60_000,),
    (100, 10),
    (10, 100),
    (500, 2),
    (2, 500),
    (70, 14),
    (40, 25),
    (20, 800),
    (800, 20),
    (300, 200),
    (5, 1500),
    (1500, 5),
    (1500, 40),
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_sums_are_the_same_at_once_deferred_and_fused(dtype):
    """How long a program takes between two lines decides what is there and what is recorded. No sum depends on it."""

    def bits(x):
        return numpy.asarray(x).tobytes()

    for shape in ORDERS:
        x = values(dtype, shape)
        x[~numpy.isfinite(x)] = 0
        there = mine(x)
        np.sync()

        def recorded(there=there, shape=shape):
            # One of many, so that it is large enough to be recorded.
            return (there + np.zeros((200_000 // there.size + 2, *shape), there.dtype))[1]

        def made(x):
            y = x
            for k in range(12):
                y = y * 0.5 + x * np.ones_like(x) * (k + 1)
            return y

        computed = made(there)
        np.sync()
        for axis in (None, *range(len(shape))):
            for name in ("sum", "mean", "prod"):
                fold = getattr(np, name)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    at_once = bits(fold(there, axis=axis))
                    assert at_once == bits(fold(recorded(), axis=axis)), f"{name} {shape} {axis}"
                    fused = bits(fold(made(recorded()), axis=axis))
                    assert bits(fold(computed, axis=axis)) == fused, f"{name} {shape} {axis}"
        if len(shape) == 1:
            assert bits(there @ there) == bits(recorded() @ recorded()), shape
            assert bits(np.linalg.norm(there)) == bits(np.linalg.norm(recorded())), shape


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_zero_is_met_before_what_overflows(dtype):
    """From the left, as NumPy multiplies: zero times what has become infinite would be NaN."""
    x = numpy.arange(400).astype(dtype)
    with numpy.errstate(all="raise"):
        assert float(np.asarray(x).prod()) == 0
        assert float((np.asarray(x) + 0).prod()) == 0


def beyond_the_range(n, first, second):
    return numpy.concatenate([numpy.full(n // 2, first), numpy.full(n - n // 2, second)])


LONG_PRODUCTS = {
    "a zero and then too many": numpy.arange(1000.0),
    "too small, then too large": beyond_the_range(200_000, 1e-3, 1e3),
    "too large, then too small": beyond_the_range(200_000, 1e3, -1e-3),
    "too small in every part": numpy.full(500_001, -0.5),
    "an infinity after zeros": numpy.append(numpy.full(300_000, 0.5), [numpy.inf, 2.0]),
    "a NaN late": numpy.append(numpy.full(300_000, 0.5), [numpy.nan, 2.0]),
    "in range": numpy.random.default_rng(0).uniform(0.9999, 1.0001, 300_000),
    "complex": beyond_the_range(200_000, 1e-3j, 1e3).astype(complex),
    "single": beyond_the_range(200_000, 1e3, -1e-3).astype("f4"),
}

PRODUCTS = {
    "prod": lambda m, x: x.prod(),
    "cumprod": lambda m, x: m.cumprod(x),
    "prod from": lambda m, x: m.prod(x, initial=-2.5),
    "rows": lambda m, x: m.stack([x, x[::-1], x * 0.5]).prod(axis=1),
    "rows from": lambda m, x: m.prod(m.stack([x, x[::-1]]), axis=1, keepdims=True, initial=-2.5),
    "columns": lambda m, x: m.stack([x, x[::-1], 2 * x] * 4, axis=1).prod(axis=0),
    "few columns": lambda m, x: m.multiply.reduce(m.stack([x, x[::-1]], axis=1)),
    "both": lambda m, x: (
        m.stack([x[:-1].reshape(-1, 9), x[1:].reshape(-1, 9)])[:, :, ::-1].prod(axis=(1, 2))
        if len(x) % 9 == 1
        else x.prod()
    ),
}


@pytest.mark.skipif(NUMPY_2_5, reason="NumPy's are products of parts there, too")
@pytest.mark.parametrize("name", LONG_PRODUCTS)
@pytest.mark.parametrize("of", PRODUCTS)
def test_a_product_of_parts_is_the_one_from_the_left(name, of):
    def told(m):
        x = m.array(LONG_PRODUCTS[name])
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            made = numpy.asarray(PRODUCTS[of](m, x))
        return made, {str(w.message) for w in heard}

    (made, heard), (expected, said) = told(np), told(numpy)
    assert heard == said
    numpy.testing.assert_allclose(made, expected, rtol=1e-2 if name == "single" else 1e-9)
    if made.dtype.kind == "f":
        numpy.testing.assert_array_equal(
            numpy.signbit(made[~numpy.isnan(made)]), numpy.signbit(expected[~numpy.isnan(expected)])
        )


TABLES = {
    "rows": lambda x: x,
    "every other row": lambda x: x[::2],
    "some columns": lambda x: x[:, 1:],
    "backwards": lambda x: x[::-1, ::-1],
    "by columns": lambda x: np.asfortranarray(x) if isinstance(x, np.ndarray) else numpy.asfortranarray(x),
    "in planes": lambda x: x.reshape(100, -1, x.shape[1]),
    "centred": lambda x: x - x[3],
    "scaled by row": lambda x: x * x[:, :1],
}


@pytest.mark.parametrize("columns", [2, 3, 30, 100, 256, 257])
@pytest.mark.parametrize("layout", TABLES)
def test_long_tables_of_few_columns(layout, columns):
    """Several rows are folded into as many rows of accumulators at once, whatever else the kernel reads."""
    rows = -(-180_000 // columns // 100) * 100 + 100
    for dtype in "f8", "f4", "i4", "?", "c16":
        given = numpy.random.default_rng(columns).random((rows, columns)) * 4
        table = (given - 2 if dtype != "?" else given > 0.01).astype(dtype)
        if dtype == "?" and layout == "centred":
            continue
        theirs, ours = TABLES[layout](table), TABLES[layout](mine(table))
        axis = tuple(range(theirs.ndim - 1))
        for name in "sum", "mean", "max", "min", "any", "all", "std":
            if dtype in ("c16", "?") and name == "std":
                continue
            # As many elements as a result has summands, each rounded once, and NumPy's own error besides.
            tolerance = {"f8": 1e-12, "f4": 1e-3, "i4": 1e-12, "?": 0, "c16": 1e-12}[dtype]
            expected = getattr(theirs, name)(axis=axis)
            got = numpy.asarray(getattr(ours, name)(axis=axis))
            assert got.dtype == expected.dtype
            scale = numpy.abs(theirs).sum(axis=axis) / (len(given) if name == "mean" else 1) + 1
            assert (numpy.abs(got.astype("c16") - expected) <= tolerance * scale).all(), (dtype, name)


def test_sums_of_long_tables_are_the_same_whatever_shares_their_task():
    x = mine(numpy.random.default_rng(8).random((30_000, 7)).astype("f4"))
    column = mine(numpy.random.default_rng(9).random((30_000, 1)).astype("f4"))
    np.sync()
    alone = numpy.asarray(x.sum(0))
    for others in lambda: x.max(0), lambda: (x * column).sum(0), lambda: ((x - x[0]) * 2).min(0):
        other, total = others(), x.sum(0)
        assert (numpy.asarray(total) == alone).all()
        del other


def test_errors_in_long_tables_are_heard():
    x = mine(numpy.full((50_000, 3), 3e38, "f4"))
    with pytest.warns(RuntimeWarning, match="overflow encountered in reduce"):
        numpy.asarray(x.sum(0))
