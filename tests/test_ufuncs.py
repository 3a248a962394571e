"""Every ufunc over its dtypes, shapes, layouts, special values, keywords, methods, errors and warnings."""

# The functions made in loops are called before the loop goes on.
# ruff: noqa: B023

from __future__ import annotations

import warnings

import numpy
import pytest

from .oracle import DTYPES, FLOAT, ULPS, agree, agree_in_outcome, mine, np, values

NAMES = sorted(
    n
    for n in dir(numpy)
    if isinstance(getattr(numpy, n), numpy.ufunc) and getattr(numpy, n).signature is None and n != "isnat"
)
UNARY = [n for n in NAMES if getattr(numpy, n).nin == 1]
BINARY = [n for n in NAMES if getattr(numpy, n).nin == 2]
# Correctly rounded everywhere: to the last bit.
EXACT = {
    "add", "subtract", "negative", "positive", "conjugate", "conj", "maximum", "minimum", "fmax", "fmin", "isnan",
    "isinf", "isfinite", "signbit", "copysign", "floor", "ceil", "trunc", "rint", "equal", "not_equal", "less",
    "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor", "logical_not", "fabs",
    "nextafter", "spacing", "modf", "frexp", "ldexp", "heaviside",
}  # fmt: skip
EXACT_ON_REALS = {"multiply", "divide", "true_divide", "sqrt", "square", "absolute", "abs", "reciprocal", "sign",
                  "fmod", "remainder", "mod", "floor_divide", "divmod"}  # fmt: skip


def ulps_for(name: str, *dtypes: str) -> float:
    complex_ = any(numpy.dtype(d).kind == "c" for d in dtypes)
    if name in EXACT or (name in EXACT_ON_REALS and not complex_):
        return 0
    lowest = max(ULPS.get(d, 8) for d in dtypes)
    if name.startswith("logaddexp"):
        # Near zero its result is the difference of two numbers near one.
        return 4096
    return lowest * 8 if name in ("power", "pow", "float_power") or complex_ else lowest


def tame(name: str, x: numpy.ndarray, position: int) -> numpy.ndarray:
    """Keeps out arguments on which even NumPy's own loops disagree with each other."""
    if name in ("left_shift", "right_shift", "bitwise_left_shift", "bitwise_right_shift") and position == 1:
        return numpy.abs(x) % x.dtype.type(5) if x.dtype.kind in "iu" else x
    if name in ("power", "pow") and position == 1 and x.dtype.kind in "iu":
        return numpy.abs(x) % x.dtype.type(4)
    return x


def compare(name: str, *arguments: numpy.ndarray, **kwargs) -> None:
    dtypes = [a.dtype.name for a in arguments]
    with numpy.errstate(all="ignore"):
        agree_in_outcome(
            lambda: getattr(np, name)(*map(mine, arguments), **kwargs),
            lambda: getattr(numpy, name)(*arguments, **kwargs),
            ulps_for(name, *dtypes),
            what=f"{name}{tuple(dtypes)} {[a.shape for a in arguments]}",
        )


@pytest.mark.parametrize("name", UNARY)
def test_unary_over_dtypes_and_sizes(name):
    for dtype in DTYPES:
        for shape in [(), (0,), (1,), (17,), (3, 5), (6007,), (2, 0, 3)]:
            compare(name, values(dtype, shape))


@pytest.mark.parametrize("name", UNARY)
def test_unary_special_values(name):
    for dtype in DTYPES:
        if numpy.dtype(dtype).kind == "c":
            continue
        for size in (40, 6007):
            compare(name, values(dtype, size, special=True))


@pytest.mark.parametrize("name", UNARY)
def test_unary_layouts(name):
    for dtype in ("int32", "float32", "float64", "complex128", "bool"):
        base = values(dtype, (12, 14))
        mine_base = mine(base)
        for cut in (
            numpy.s_[::-1],
            numpy.s_[::2, ::3],
            numpy.s_[:, ::-2],
            numpy.s_[1:1],
            numpy.s_[3],
            numpy.s_[..., None],
        ):
            with numpy.errstate(all="ignore"):
                agree_in_outcome(
                    lambda cut=cut, b=mine_base: getattr(np, name)(b[cut]),
                    lambda cut=cut, b=base: getattr(numpy, name)(b[cut]),
                    ulps_for(name, dtype),
                    what=f"{name} {dtype} {cut}",
                )
                agree_in_outcome(
                    lambda cut=cut, b=mine_base: getattr(np, name)(b.T[cut]),
                    lambda cut=cut, b=base: getattr(numpy, name)(b.T[cut]),
                    ulps_for(name, dtype),
                    what=f"{name} {dtype} T {cut}",
                )


@pytest.mark.parametrize("name", BINARY)
def test_binary_over_dtype_pairs(name):
    for a in DTYPES:
        for b in DTYPES:
            x, y = values(a, 19, seed=1), values(b, 19, seed=2)
            compare(name, tame(name, x, 0), tame(name, y, 1))


@pytest.mark.parametrize("name", BINARY)
def test_binary_broadcasting_and_sizes(name):
    shapes = [((), ()), ((), (4,)), ((0,), (1,)), ((3, 1), (1, 5)), ((2, 3, 4), (4,)), ((6007,), ()), ((80, 90), (90,))]
    for dtype in ("int16", "int64", "uint8", "float32", "float64", "bool", "complex128"):
        for s, t in shapes:
            compare(name, tame(name, values(dtype, s, 3), 0), tame(name, values(dtype, t, 4), 1))


@pytest.mark.parametrize("name", BINARY)
def test_binary_special_values(name):
    for dtype in DTYPES:
        if numpy.dtype(dtype).kind == "c":
            continue
        x = values(dtype, 20, special=True)
        a, b = tame(name, x[:, None], 0), tame(name, x[None, :], 1)
        # The remainder of huge integers and infinities is where implementations differ: it must not here.
        compare(
            name,
            numpy.ascontiguousarray(numpy.broadcast_to(a, (20, 20))),
            numpy.ascontiguousarray(numpy.broadcast_to(b, (20, 20))),
        )


@pytest.mark.parametrize("name", ["add", "multiply", "subtract", "maximum"])
@pytest.mark.parametrize("size", [9, 9000])
def test_overlapping_input_and_output(name, size):
    for dtype in ("int32", "float64", "complex64"):
        for left, right, out in [
            (numpy.s_[1:], numpy.s_[:-1], numpy.s_[1:]),
            (numpy.s_[:-1], numpy.s_[1:], numpy.s_[:-1]),
            (numpy.s_[1:], numpy.s_[:-1], numpy.s_[:-1]),
            (numpy.s_[::-1], numpy.s_[:], numpy.s_[:]),
            (numpy.s_[2::2], numpy.s_[: (size - 1) // 2], numpy.s_[1 : 1 + (size - 1) // 2]),
        ]:
            x = values(dtype, size)
            y = mine(x)
            getattr(numpy, name)(x[left], x[right], out=x[out])
            getattr(np, name)(y[left], y[right], out=y[out])
            agree(y, x, ulps_for(name, dtype) and 32, f"{name} {dtype} {left} {right} {out}")


@pytest.mark.parametrize("size", [6, 7000])
def test_out_keyword(size):
    x, y = values("float64", size, 1), values("float64", size, 2)
    for dtype in ("float32", "float64", "complex128", "int64"):
        for casting in ("same_kind", "unsafe", "safe"):
            for out in (numpy.zeros(size, dtype), numpy.zeros((2, size), dtype), numpy.zeros(size + 1, dtype)):
                target = mine(out)
                agree_in_outcome(
                    lambda target=target, c=casting: np.add(mine(x), mine(y), out=target, casting=c),
                    lambda out=out, c=casting: numpy.add(x, y, out=out, casting=c),
                    what=f"{dtype} {casting} {out.shape}",
                )
                agree(target, out)
    target = np.empty(size)
    assert np.sqrt(mine(abs(x)), out=target) is target
    assert np.sqrt(mine(abs(x)), target) is target
    assert np.sqrt(mine(abs(x)), out=(target,)) is target
    first, second = np.modf(mine(x), out=(None, target))
    assert second is target
    agree((first, second), numpy.modf(x))


@pytest.mark.parametrize("size", [6, 7000])
def test_where_keyword(size):
    x = values("float64", (3, size), 1)
    for mask in (values("bool", (3, size), 5), values("bool", size, 6), numpy.array(True), numpy.array(False)):
        out = numpy.full((3, size), 7.0)
        target = mine(out)
        numpy.multiply(x, 2, out=out, where=mask)
        np.multiply(mine(x), 2, out=target, where=mine(mask))
        agree(target, out)
    np.add(target, 1, out=target, where=mine(x) > 0)
    numpy.add(out, 1, out=out, where=x > 0)
    agree(target, out)


def test_dtype_casting_and_order_keywords():
    x = values("float64", (5, 7))
    f = numpy.asfortranarray(x)
    for dtype in ("float32", "complex128", "float16", "int32"):
        agree_in_outcome(
            lambda d=dtype: np.add(mine(x), 1, dtype=d), lambda d=dtype: numpy.add(x, 1, dtype=d), what=dtype
        )
        agree_in_outcome(
            lambda d=dtype: np.add(mine(x), 1, dtype=d, casting="unsafe"),
            lambda d=dtype: numpy.add(x, 1, dtype=d, casting="unsafe"),
            what=dtype,
        )
    for order in "CFKA":
        assert np.negative(np.asfortranarray(mine(x)), order=order).strides == numpy.negative(f, order=order).strides
        assert np.negative(mine(x).T, order=order).strides == numpy.negative(x.T, order=order).strides
    agree(
        np.add(mine(x), mine(x), signature="ff->f", casting="same_kind"),
        numpy.add(x, x, signature="ff->f", casting="same_kind"),
    )


REDUCING = ["add", "multiply", "maximum", "minimum", "logical_and", "logical_or", "bitwise_or", "bitwise_and",
            "bitwise_xor", "logical_xor", "fmax", "fmin", "hypot", "logaddexp", "gcd", "lcm", "subtract",
            "divide"]  # fmt: skip


@pytest.mark.parametrize("name", REDUCING)
def test_reduce_accumulate_outer_reduceat_at(name):
    mine_f, numpy_f = getattr(np, name), getattr(numpy, name)
    for dtype in ("bool", "int8", "int64", "uint16", "float32", "float64", "complex128"):
        rounds = numpy.dtype(dtype).kind in "fc" or name in ("hypot", "logaddexp", "divide")
        ulps = 256 if rounds and not name.startswith(("max", "min", "fm", "logical")) else 0
        x = values(dtype, (4, 6))
        m = mine(x)
        calls = [
            lambda f, x: f.reduce(x),
            lambda f, x: f.reduce(x, axis=1),
            lambda f, x: f.reduce(x, axis=-1, keepdims=True),
            lambda f, x: f.reduce(x, axis=None),
            lambda f, x: f.reduce(x, axis=(0, 1)),
            lambda f, x: f.reduce(x, axis=()),
            lambda f, x: f.reduce(x, axis=2),
            lambda f, x: f.reduce(x[:, :0], axis=1),
            lambda f, x: f.reduce(x, axis=0, initial=1),
            lambda f, x: f.accumulate(x),
            lambda f, x: f.accumulate(x, axis=1),
            lambda f, x: f.accumulate(x[::-1, ::2], axis=1),
            lambda f, x: f.outer(x[0], x[:, 0]),
            lambda f, x: f.reduceat(x, [0, 2, 1, 3], axis=1),
            lambda f, x: f.reduceat(x, [0, 9], axis=1),
        ]
        with numpy.errstate(all="ignore"):
            for k, call in enumerate(calls):
                agree_in_outcome(
                    lambda: call(mine_f, m), lambda: call(numpy_f, x), ulps, what=f"{name} {dtype} call {k}"
                )

            def at(f, x):
                f.at(x, ([0, 1, 1, 3], [2, 2, 2, 0]), x[0, 0])
                f.at(x, numpy.s_[1:3], x[1])
                return x

            agree_in_outcome(
                lambda: at(mine_f, m.copy()), lambda: at(numpy_f, x.copy()), ulps, what=f"{name} {dtype} at"
            )


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars_are_weak(dtype):
    x = values(dtype, 7)
    m = mine(x)
    for scalar in (True, 1, -1, 2, 300, 2**40, 2**70, 1.5, 1e300, 2j):
        for name in ("add", "multiply", "less", "equal", "maximum", "divide", "floor_divide", "power"):
            with numpy.errstate(all="ignore"):
                for flip in (False, True):
                    agree_in_outcome(
                        lambda n=name, s=scalar, f=flip: getattr(np, n)(*((s, m) if f else (m, s))),
                        lambda n=name, s=scalar, f=flip: getattr(numpy, n)(*((s, x) if f else (x, s))),
                        ulps=1e4 if name == "power" else 64,
                        what=f"{name} {dtype} {scalar} {flip}",
                    )


@pytest.mark.parametrize("dtype", DTYPES)
def test_numpy_scalars_are_strong(dtype):
    m, x = mine(values(dtype, 5)), values(dtype, 5)
    for other in (
        numpy.float32(1.5),
        numpy.int8(3),
        numpy.uint64(7),
        numpy.bool_(True),
        numpy.complex64(1j),
        numpy.array(2.5),
    ):
        with numpy.errstate(all="ignore"):
            agree_in_outcome(lambda o=other: m + o, lambda o=other: x + o, what=f"{dtype} {other!r}")
            agree_in_outcome(lambda o=other: o * m, lambda o=other: o * x, ulps=32, what=f"{dtype} {other!r}")


ERRORS = {
    "shapes": lambda np: np.add(np.zeros(3), np.zeros(4)),
    "shapes of three": lambda np: np.add(np.zeros((2, 3)), np.zeros((3, 2))),
    "bool subtract": lambda np: np.subtract(np.zeros(3, bool), np.zeros(3, bool)),
    "bool negative": lambda np: np.negative(np.zeros(3, bool)),
    "float bits": lambda np: np.bitwise_and(np.zeros(3), np.zeros(3)),
    "float shift": lambda np: np.left_shift(np.zeros(3), 1),
    "complex order": lambda np: np.floor_divide(np.zeros(3, complex), 1),
    "complex remainder": lambda np: np.remainder(np.zeros(3, complex), 2),
    "int powers": lambda np: np.power(np.arange(3), -1),
    "int array powers": lambda np: np.power(np.arange(3), np.array([-1, 2, 3])),
    "output cast": lambda np: np.add(np.zeros(3), 1, out=np.zeros(3, int)),
    "output shape": lambda np: np.add(np.zeros((2, 3)), 1, out=np.zeros(3)),
    "output type": lambda np: np.add(np.zeros(3), 1, out=[1, 2, 3]),
    "too few": lambda np: np.add(np.zeros(3)),
    "too many": lambda np: np.add(1, 2, np.zeros(()), 4),
    "unknown keyword": lambda np: np.add(1, 2, nonsense=3),
    "two outs": lambda np: np.add(np.zeros(2), 1, np.zeros(2), out=np.zeros(2)),
    "where not bool": lambda np: np.add(np.zeros(2), 1, where=np.zeros(2)),
    "where shape": lambda np: np.add(np.zeros(2), 1, where=np.zeros(3, bool)),
    "casting rule": lambda np: np.add(np.zeros(2), 1, casting="no such rule"),
    "bad dtype": lambda np: np.add(np.zeros(2), 1, dtype="no such type"),
    "out of bounds": lambda np: np.add(np.zeros(2, "uint8"), 300),
    "negative to unsigned": lambda np: np.add(np.zeros(2, "uint8"), -1),
    "strings": lambda np: np.sin("text"),
    "none": lambda np: np.add(np.zeros(2), None),
    "reduce axis": lambda np: np.add.reduce(np.zeros(2), axis=3),
    "reduce empty": lambda np: np.maximum.reduce(np.zeros(0)),
    "reduce twice": lambda np: np.subtract.reduce(np.zeros((2, 2)), axis=(0, 1)),
    "reduce duplicate axis": lambda np: np.add.reduce(np.zeros((2, 2)), axis=(0, 0)),
    "reduce unary": lambda np: np.sin.reduce(np.zeros(2)),
    "accumulate 0-d": lambda np: np.add.accumulate(np.array(1)),
    "reduceat bounds": lambda np: np.add.reduceat(np.zeros(4), [0, 7]),
    "matmul": lambda np: np.matmul(np.zeros((2, 3)), np.zeros((4, 2))),
    "matmul scalar": lambda np: np.matmul(np.zeros((2, 3)), 2),
    "isnat": lambda np: np.isnat(np.zeros(2)),
    "ldexp float": lambda np: np.ldexp(np.zeros(2), np.zeros(2)),
    "gcd float": lambda np: np.gcd(np.zeros(2), 1),
    "truth": lambda np: bool(np.zeros(2) > 0),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_have_numpys_types_and_words(case):
    agree_in_outcome(lambda: ERRORS[case](np), lambda: ERRORS[case](numpy), what=case)


def _at(ufunc, a, indices, b):
    ufunc.at(a, indices, b)
    return a


WARNING = {
    "divide by zero": lambda np, n: np.ones(n) / np.zeros(n),
    "invalid divide": lambda np, n: np.zeros(n) / np.zeros(n),
    "log zero": lambda np, n: np.log(np.zeros(n)),
    "sqrt negative": lambda np, n: np.sqrt(np.full(n, -1.0)),
    "overflow": lambda np, n: np.full(n, 1e300) * 1e300,
    "overflow exp": lambda np, n: np.exp(np.full(n, 1e4)),
    "overflow half": lambda np, n: np.full(n, 60000, "float16") + np.full(n, 60000, "float16"),
    "int divide": lambda np, n: np.ones(n, int) // np.zeros(n, int),
    "int remainder": lambda np, n: np.ones(n, int) % np.zeros(n, int),
    "floor divide": lambda np, n: np.ones(n) // np.zeros(n),
    "divmod": lambda np, n: np.floor_divide(np.ones(n, "f4"), np.zeros(n, "f4")),
    "accumulate overflow": lambda np, n: np.multiply.accumulate(np.full(n, 1e300)),
    "accumulate half": lambda np, n: np.add.accumulate(np.full(n, 6e4, "f2")),
    "accumulate ints": lambda np, n: np.floor_divide.accumulate(np.zeros(n, int)),
    "accumulate nan": lambda np, n: np.maximum.accumulate(np.full(n, np.nan)),
    "cumsum": lambda np, n: np.where(np.arange(n) == 1, -np.inf, np.inf).cumsum(),
    "reduceat": lambda np, n: np.add.reduceat(np.full(n, 1e308), [0, 3]),
    "at": lambda np, n: _at(np.multiply, np.full(n, 1e300), np.arange(n), np.full(n, 1e300)),
    "at of ints": lambda np, n: _at(np.floor_divide, np.ones(n, int), np.arange(n), np.zeros(n, int)),
    "at without a loop": lambda np, n: _at(np.remainder, np.ones(n, int), np.arange(n), 0),
    "at with a cast": lambda np, n: _at(np.floor_divide, np.ones(n, "i1"), np.arange(n), 0),
    "complex arcsin": lambda np, n: np.arcsin(np.full(n, 0.5 + 0j)),
    "complex arccosh": lambda np, n: np.arccosh(np.full(n, 1.5 + 0j)),
    "quiet": lambda np, n: np.ones(n) + 1,
}


@pytest.mark.parametrize("size", [8, 30_000])
@pytest.mark.parametrize("case", WARNING)
def test_floating_point_warnings(case, size):
    def seen(np):
        with warnings.catch_warnings(record=True) as caught, numpy.errstate(all="warn", under="ignore"):
            warnings.simplefilter("always")
            numpy.asarray(WARNING[case](np, size))
        return [(w.category, str(w.message)) for w in caught]

    assert seen(np) == seen(numpy)


@pytest.mark.parametrize("size", [8, 30_000])
@pytest.mark.parametrize("case", WARNING)
def test_errstate_ignore_and_raise(case, size):
    with warnings.catch_warnings(record=True) as caught, numpy.errstate(all="ignore"):
        warnings.simplefilter("always")
        numpy.asarray(WARNING[case](np, size))
    assert not caught
    with numpy.errstate(all="raise"):
        agree_in_outcome(lambda: WARNING[case](np, size), lambda: WARNING[case](numpy, size), what=case)


def test_errstate_call():
    seen = []
    with numpy.errstate(all="call", call=lambda kind, flag: seen.append(kind)):
        np.ones(3) / np.zeros(3)
    assert seen == ["divide by zero"]


def test_attributes_of_numpys_ufuncs():
    kinds = (numpy.dtype("i4"), numpy.dtype("i4"), None)
    assert np.add.resolve_dtypes(kinds, signature=(None, None, "f4")) == numpy.add.resolve_dtypes(
        kinds, signature=(None, None, "f4")
    )
    with pytest.raises(AttributeError):
        _ = np.add.no_such_thing


def test_rules_for_python_numbers():
    for rule in ("no", "equiv", "safe", "same_kind", "unsafe"):
        for call in (
            lambda np, rule: np.add(3.0, 4.0, dtype="f4", casting=rule),
            lambda np, rule: np.add(np.ones(2, "f4"), 3, casting=rule),
            lambda np, rule: np.equal(np.ones(2), 3.0, casting=rule),
            lambda np, rule: np.ldexp(1.0, numpy.uint64(3), dtype="d", casting=rule),
            lambda np, rule: np.ldexp(numpy.float32(1), 2, dtype="d", casting=rule),
        ):
            agree_in_outcome(lambda: call(np, rule), lambda: call(numpy, rule), what=rule)


def test_attributes():
    for name in NAMES:
        m, n = getattr(np, name), getattr(numpy, name)
        assert (m.nin, m.nout, m.nargs, m.__name__) == (n.nin, n.nout, n.nargs, n.__name__)
        assert m.identity == n.identity, name
        assert repr(m) == repr(n)


def test_results_of_zero_dimensions_are_scalars():
    for x in (2.0, numpy.float32(2), np.array(2.0), numpy.array(2)):
        result = np.add(x, 1)
        assert not isinstance(result, np.ndarray)
        assert isinstance(result, numpy.generic)
    assert isinstance(np.add(np.array(2.0), 1, out=np.array(0.0)), np.ndarray)


@pytest.mark.parametrize("dtype", FLOAT)
def test_elementary_functions_on_wide_arguments(dtype):
    rng = numpy.random.default_rng(7)
    top = {"float16": 4, "float32": 30, "float64": 250}[dtype]
    x = (10 ** rng.uniform(-top, top, 4000) * rng.choice([-1, 1], 4000)).astype(dtype)
    for name in (
        "sin",
        "cos",
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "tanh",
        "arctan",
        "cbrt",
        "sqrt",
        "arcsinh",
        "exp2",
    ):
        compare(name, x)
    if dtype != "float16":
        # An argument near a multiple of pi loses digits in any single-precision implementation but NumPy's.
        compare("tan", x[abs(x) < 1e4])


def test_matmul_family():
    for dtype in DTYPES:
        ulps = 64 if numpy.dtype(dtype).kind in "fc" else 0
        for s, t in [
            ((3,), (3,)),
            ((2, 3), (3,)),
            ((3,), (3, 4)),
            ((2, 3), (3, 4)),
            ((5, 2, 3), (3, 4)),
            ((5, 2, 3), (5, 3, 4)),
            ((0, 3), (3, 2)),
            ((2, 0), (0, 3)),
        ]:
            x, y = numpy.abs(values(dtype, s, 1)), numpy.abs(values(dtype, t, 2))
            agree_in_outcome(
                lambda x=x, y=y: np.matmul(mine(x), mine(y)),
                lambda x=x, y=y: numpy.matmul(x, y),
                ulps,
                what=f"{dtype} {s} {t}",
            )
            agree_in_outcome(lambda x=x, y=y: mine(x) @ mine(y), lambda x=x, y=y: x @ y, ulps, what=f"{dtype} {s} {t}")
        x, y = numpy.abs(values(dtype, (4, 3), 1)), numpy.abs(values(dtype, (4, 3), 2))
        agree_in_outcome(
            lambda x=x, y=y: np.vecdot(mine(x), mine(y)), lambda x=x, y=y: numpy.vecdot(x, y), ulps, what=dtype
        )
        agree_in_outcome(
            lambda x=x, y=y: np.dot(mine(x), mine(y).T), lambda x=x, y=y: numpy.dot(x, y.T), ulps, what=dtype
        )


@pytest.mark.parametrize("dtype", ["i8", "u8"])
@pytest.mark.parametrize("name", ["floor_divide", "remainder", "fmod"])
def test_divisions_of_long_integers(name, dtype):
    """Vectors divide what fits a double; numbers about 2**52, 2**53 and the ends of the type lie next to it."""
    rng = numpy.random.default_rng(52)
    info = numpy.iinfo(dtype)
    edges = [0, 1, 2, 3, 7, 10, 2**31, 2**52 - 1, 2**52, 2**52 + 1, 2**53 - 1, 2**53, 2**53 + 1, info.max, info.max - 1]
    edges += [-e for e in edges if info.min < 0] + [info.min]
    near = rng.integers(max(info.min, -(2**52)), 2**52, 400, dtype=dtype)
    wild = rng.integers(info.min, info.max, 400, dtype=dtype)
    few = rng.integers(max(info.min, -9), 9, 400, dtype=dtype)
    values = numpy.concatenate([numpy.array(edges, dtype), near, wild, few])
    divide, host = getattr(np, name), getattr(numpy, name)
    with numpy.errstate(all="ignore"):
        for b in [*edges, *few[:4], *near[:4]]:
            b = numpy.dtype(dtype).type(b)
            agree(divide(np.asarray(values), b), host(values, b))
            agree(divide(b, np.asarray(values)), host(b, values))
        for _ in range(20):
            a, b = rng.permutation(values), rng.permutation(values)
            agree(divide(np.asarray(a), np.asarray(b)), host(a, b))
            # Products, whose quotients are exact, and one below.
            p = near[:300] // 2**20 * (few[:300] + 1)
            agree(divide(np.asarray(p), np.asarray(few[:300])), host(p, few[:300]))
            agree(divide(np.asarray(p - 1), np.asarray(few[:300])), host(p - 1, few[:300]))


@pytest.mark.parametrize("n", [4, 1000, 300_000])
@pytest.mark.parametrize("name", ["divide", "log", "floor_divide", "arctanh", "power", "sqrt", "multiply", "copyto"])
def test_what_a_mask_leaves_out_raises_nothing(name, n):
    """`np.divide(a, b, out=out, where=b != 0)`: the usual way around a warning."""

    def run(module):
        x = module.asarray(numpy.resize([0.0, 2.0, -3.0, numpy.inf], n))
        whole = module.asarray(numpy.resize([0, 2], n))
        calls = {
            "divide": lambda: module.divide(1, x, out=module.zeros(n), where=x != 0),
            "log": lambda: module.log(x, out=module.zeros(n), where=x > 0),
            "floor_divide": lambda: module.floor_divide(4, whole, out=module.zeros(n, int), where=whole != 0),
            "arctanh": lambda: module.arctanh(whole, out=module.zeros(n), where=whole == 0),
            "power": lambda: module.power(x, -1.5, out=module.zeros(n), where=x > 0),
            "sqrt": lambda: module.sqrt(x, out=module.zeros(n), where=False),
            "multiply": lambda: module.multiply(x, 1e308, out=module.zeros(n), where=x == 0),
            "copyto": lambda: module.copyto(whole, x, where=module.isfinite(x), casting="unsafe"),
        }
        made = calls[name]()
        return numpy.asarray(whole if made is None else made)

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        numpy.testing.assert_allclose(run(np), run(numpy), rtol=1e-14)


@pytest.mark.parametrize("n", [4, 100_000])
def test_integers_too_large_for_a_half_float_are_told(n):
    x = np.asarray(numpy.full(n, 70_000))
    with pytest.warns(RuntimeWarning, match="overflow encountered in cast"):
        assert numpy.isinf(numpy.asarray(x.astype("f2"))).all()


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_divmod_by_zero_says_that_and_no_more(dtype):
    x, zero = np.ones(100, dtype), np.zeros(100, dtype)
    with np.errstate(all="raise", divide="ignore"):
        agree(np.divmod(x, zero)[0], numpy.zeros(100, dtype))
