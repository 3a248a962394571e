"""Every ufunc's reduce, accumulate, reduceat, outer and at, over dtypes and axes: native, and as in NumPy."""

# Every closure is called before its loop goes on.
# ruff: noqa: B023

from __future__ import annotations

import contextlib
import warnings

import numpy
import pytest

from .counters import explained
from .oracle import MODULE, agree, agree_in_outcome, mine, needs_engine, np, outcome, values

UFUNCS = sorted({f.__name__ for f in vars(numpy).values() if isinstance(f, numpy.ufunc)})
BINARY = [n for n in UFUNCS if getattr(numpy, n).nin == 2 and getattr(numpy, n).signature is None]
FOLDS = [n for n in BINARY if n != "divmod"]
DTYPES = ["bool", "int8", "int64", "uint64", "float16", "float32", "float64", "complex128"]

# Sums and products are grouped differently, and elementary functions fold their own rounding on.
ULPS = 4096


@contextlib.contextmanager
def natively():
    """Nothing may run through NumPy. Calls that NumPy refuses are worded by it, and do not count."""
    if MODULE != "numloom":
        yield
        return
    from numloom import _fallback

    before = dict(_fallback.calls)
    yield
    through = {name for (name, *_), n in _fallback.calls.items() if before.get((name, *_)) != n}
    assert not through, f"ran through NumPy: {through}"


MISFOLDED = ("power", "float_power", "arctan2", "ldexp")
"""NumPy has vector loops for these that do not see that the output of a fold is its input: along contiguous axes it
applies the last element only. They fold as defined here."""


class LeftFold:
    """NumPy's ufunc, folding by one call after another."""

    def __init__(self, ufunc):
        self.ufunc = ufunc

    def __getattr__(self, name):
        return getattr(self.ufunc, name)

    def reduce(self, x, axis=0):
        made = self.ufunc.reduce(x, axis=axis)
        if x.ndim == 0 or axis == ():
            return made
        along = 0 if axis is None else axis[0] if isinstance(axis, tuple) else axis
        total = x.take(0, axis=along).astype(made.dtype)
        for i in range(1, x.shape[along]):
            total = self.ufunc(total, x.take(i, axis=along), dtype=made.dtype)
        return total

    def reduceat(self, x, indices, axis=0):
        self.ufunc.reduceat(x, indices, axis=axis)
        ends = [max(i + 1, e) for i, e in zip(indices, [*indices[1:], x.shape[axis]], strict=True)]
        parts = [x.take(range(i, e), axis=axis) for i, e in zip(indices, ends, strict=True)]
        return numpy.stack([self.reduce(p, axis=axis) for p in parts], axis=axis)


def of_numpy(name: str):
    f = getattr(numpy, name)
    return LeftFold(f) if name in MISFOLDED else f


def of_module(name: str):
    return getattr(np, name) if MODULE == "numloom" else of_numpy(name)


def contents(dtype: str, shape, name: str = "") -> numpy.ndarray:
    """Small numbers, so that folds stay finite; exponents that are not negative."""
    x = values(dtype, shape, seed=3)
    return numpy.abs(x) if name == "power" and x.dtype.kind == "i" else x


def compare(name: str, call, dtypes=DTYPES, shape=(4, 6), ulps: float = ULPS) -> None:
    for dtype in dtypes:
        x = contents(dtype, shape, name)
        with numpy.errstate(all="ignore"), natively():
            agree_in_outcome(
                lambda: call(of_module(name), mine(x)),
                lambda: call(of_numpy(name), x.copy()),
                ulps,
                what=f"{name} of {dtype} {shape}",
            )


@pytest.mark.parametrize("axis", [0, 1, -1, None, (0,), (0, 1), ()], ids=str)
@pytest.mark.parametrize("name", UFUNCS)
def test_reduce(name, axis):
    compare(name, lambda f, x: f.reduce(x, axis=axis))


@pytest.mark.parametrize("shape", [(), (1,), (0,), (3, 0), (0, 3), (1, 1), (7,), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_reduce_of_other_shapes(name, shape):
    compare(name, lambda f, x: f.reduce(x), shape=shape)
    compare(name, lambda f, x: f.reduce(x, axis=-1), shape=shape)
    compare(name, lambda f, x: f.reduce(x, axis=None), shape=shape)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", UFUNCS)
def test_accumulate_and_reduceat(name, axis):
    compare(name, lambda f, x: f.accumulate(x, axis=axis))
    compare(name, lambda f, x: f.accumulate(x[::-1, ::2], axis=axis))
    compare(name, lambda f, x: f.reduceat(x, [0, 2, 1, 3], axis=axis))


@pytest.mark.parametrize("name", UFUNCS)
def test_outer(name):
    compare(name, lambda f, x: f.outer(x, x[0]))
    compare(name, lambda f, x: f.outer(x[0], 2))
    compare(name, lambda f, x: f.outer(2, x[:, 0]))
    compare(name, lambda f, x: f.outer(x[0], [1, 2]))
    compare(name, lambda f, x: f.outer(x[0, 0], x[0, 1]))


def at(f, x, *args):
    f.at(x, *args)
    return x


INDICES = {
    "list": [0, 1, 0, -1],
    "pairs": ([0, 1, 1, 3], [2, 2, 2, 0]),
    "column": ([[0], [2]], [1, 1, 5]),
    "slice": numpy.s_[1:3],
    "strided": numpy.s_[::-2, 1::2],
    "integer": 2,
    "element": (1, 2),
    "ellipsis": numpy.s_[..., 0],
    "everything": ...,
    "new axis": (None, [0, 0, 1]),
    "mixed": numpy.s_[[0, 2, 0], ::3],
    "apart": numpy.s_[:, [1, 1, 0]],
    "mask": numpy.array([True, False, True, True]),
    "mask of all": numpy.arange(24).reshape(4, 6) % 5 == 0,
    "nothing": numpy.array([], int),
    "outside": [0, 4],
    "too many": (0, 0, 0),
    "float": [0.5],
}


@pytest.mark.parametrize("index", INDICES)
@pytest.mark.parametrize("name", UFUNCS)
def test_at(name, index):
    dtypes = DTYPES if index in ("list", "slice") else ["int8", "uint64", "float32"]
    index = INDICES[index]
    if getattr(numpy, name).nin == 1:
        compare(name, lambda f, x: at(f, x, index), dtypes)
        return
    compare(name, lambda f, x: at(f, x, index, x[0, 0]), dtypes)
    compare(name, lambda f, x: at(f, x, index, 2), dtypes)


@pytest.mark.parametrize("name", BINARY)
def test_at_of_two_dtypes(name):
    for other in DTYPES:
        y = contents(other, 6, name)
        compare(name, lambda f, x: at(f, x, [0, 1, 0], mine(y) if f is getattr(np, name) else y))


def test_at_with_wrong_arguments():
    calls = [
        lambda np, x: np.negative.at(x, [0], 2),
        lambda np, x: np.negative.at(x, [0], None),
        lambda np, x: np.subtract.at(x, [0]),
        lambda np, x: np.subtract.at(x, [0, 1], np.zeros(3)),
        lambda np, x: np.subtract.at(x, [0, 1], np.zeros((1, 1, 2))),
        lambda np, x: np.power.at(np.array([1, 2]), [0], -1),
        lambda np, x: np.power.reduce(np.array([1, -2])),
        lambda np, x: np.power.reduce(np.array([-1, 2])),
        lambda np, x: np.power.reduce(np.array([-1, 2]), initial=3),
        lambda np, x: np.power.accumulate(np.array([1, -2])),
        lambda np, x: np.power.reduceat(np.array([1, -2]), [0]),
        lambda np, x: np.divmod.at(x, [0], 2),
        lambda np, x: np.frexp.at(x, [0]),
    ]
    for k, call in enumerate(calls):
        agree_in_outcome(lambda: call(np, np.ones(2)), lambda: call(numpy, numpy.ones(2)), what=f"call {k}")


KEYWORDS = {
    "keepdims": lambda np, f, x: f.reduce(x, axis=0, keepdims=True),
    "keepdims all": lambda np, f, x: f.reduce(x[0], axis=None, keepdims=True),
    "initial": lambda np, f, x: f.reduce(x, axis=0, initial=1),
    "initial none": lambda np, f, x: f.reduce(x, axis=0, initial=None),
    "initial no axis": lambda np, f, x: f.reduce(x, axis=(), initial=1),
    "initial of nothing": lambda np, f, x: f.reduce(x[:0], axis=0, initial=1),
    "where": lambda np, f, x: f.reduce(x, axis=0, where=np.arange(6) % 2 == 0),
    "where initial": lambda np, f, x: f.reduce(x, axis=0, where=np.arange(6) % 2 == 0, initial=1),
    "where rows": lambda np, f, x: f.reduce(x, axis=0, where=np.arange(4)[:, None] > 1, initial=1),
    "where no axis": lambda np, f, x: f.reduce(x, axis=(), where=np.arange(6) % 2 == 0, initial=1),
    "dtype f4": lambda np, f, x: f.reduce(x, dtype="f4"),
    "dtype i4": lambda np, f, x: f.reduce(x, dtype="i4"),
    "dtype bool": lambda np, f, x: f.reduce(x, dtype=bool),
    "dtype c16": lambda np, f, x: f.reduce(x, axis=0, dtype="c16"),
    "out f8": lambda np, f, x: f.reduce(x, out=np.zeros(6)),
    "out f4": lambda np, f, x: f.reduce(x, out=np.zeros(6, "f4")),
    "out i8": lambda np, f, x: f.reduce(x, axis=0, out=np.zeros(6, "i8")),
    "out bool": lambda np, f, x: f.reduce(x, axis=0, out=np.zeros(6, bool)),
    "out c16": lambda np, f, x: f.reduce(x, axis=0, out=(np.zeros(6, "c16"),)),
    "out of one": lambda np, f, x: f.reduce(x[:1], axis=0, out=np.zeros(6, "i4")),
    "out no axis": lambda np, f, x: f.reduce(x, axis=(), out=np.zeros((4, 6), "i4")),
    "out shape": lambda np, f, x: f.reduce(x, axis=0, out=np.zeros(5)),
    "out keepdims": lambda np, f, x: f.reduce(x, axis=0, out=np.zeros((1, 6)), keepdims=True),
    "accumulate dtype f4": lambda np, f, x: f.accumulate(x, dtype="f4"),
    "accumulate dtype bool": lambda np, f, x: f.accumulate(x, dtype=bool),
    "accumulate out f8": lambda np, f, x: f.accumulate(x, axis=1, out=np.zeros((4, 6))),
    "accumulate out f4": lambda np, f, x: f.accumulate(x, axis=1, out=np.zeros((4, 6), "f4")),
    "accumulate out i8": lambda np, f, x: f.accumulate(x, axis=1, out=np.zeros((4, 6), "i8")),
    "reduceat dtype f4": lambda np, f, x: f.reduceat(x, [0, 2], dtype="f4"),
    "reduceat out f8": lambda np, f, x: f.reduceat(x, [0, 2], axis=1, out=np.zeros((4, 2))),
    "reduceat out i8": lambda np, f, x: f.reduceat(x, [0, 2], axis=1, out=np.zeros((4, 2), "i8")),
    "outer dtype": lambda np, f, x: f.outer(x, x[0], dtype="f4"),
    "outer out": lambda np, f, x: f.outer(x, x[0], out=np.zeros((4, 6, 6), "f4")),
    "outer order": lambda np, f, x: f.outer(x, x[0], order="F").strides,
}


@pytest.mark.parametrize("keywords", KEYWORDS)
@pytest.mark.parametrize("name", FOLDS)
def test_keywords(name, keywords):
    if name in MISFOLDED and keywords.startswith(("reduceat", "keepdims all")):
        pytest.skip("NumPy's vector loops fold this wrongly")
    call = KEYWORDS[keywords]
    # Which integer an infinity becomes, and imaginary parts dropped on the way, are nobody's contract.
    dtypes = [d for d in DTYPES if d != "complex128" or "out" not in keywords]
    for dtype in dtypes:
        x = contents(dtype, (4, 6), name)
        with numpy.errstate(all="ignore"), natively():
            agree_in_outcome(
                lambda: call(np, getattr(np, name), mine(x)),
                lambda: call(numpy, getattr(numpy, name), x.copy()),
                ULPS,
                what=f"{name} of {dtype}",
            )


@pytest.mark.parametrize("shape", [(70, 900), (900, 70), (40, 30, 50)], ids=str)
@pytest.mark.parametrize("name", FOLDS)
def test_large_arrays(name, shape):
    # Powers of powers multiply every rounding.
    for dtype in ("bool", "int8") if name in ("power", "float_power") else ("bool", "int8", "float64"):
        x = contents(dtype, shape, name)
        for order in (lambda x: x, lambda x: x.T, lambda x: x[::-1, ::2]):
            for axis in range(len(shape)):
                with numpy.errstate(all="ignore"), natively():
                    agree_in_outcome(
                        lambda: of_module(name).reduce(order(mine(x)), axis=axis),
                        lambda: of_numpy(name).reduce(order(x), axis=axis),
                        1e6,
                        what=f"{name} of {dtype} along {axis}",
                    )


@needs_engine
def test_folds_are_deferred():
    x = values("float64", (400, 500))
    m = mine(x) + 0
    left = np.subtract.reduce(m, axis=1)
    assert "reduce" in explained(left)
    np.subtract.at(m, np.arange(400), 1.0)
    assert "at" in explained(m)
    agree(left, numpy.subtract.reduce(x, axis=1), ULPS)
    agree(m, x - 1.0)


@needs_engine
def test_folds_of_unknown_length():
    x = values("float64", 1000)
    m = mine(x)
    agree(np.subtract.reduce(m[m > 0]), numpy.subtract.reduce(x[x > 0]), ULPS)


@pytest.mark.parametrize("n", [7, 3000])
def test_overlapping_output(n):
    x = values("float64", (n, 5))
    m = mine(x)
    np.subtract.reduce(m, axis=0, out=m[0])
    np.subtract.at(m, slice(1, None), m[:-1])
    expected = x.copy()
    numpy.subtract.reduce(x, axis=0, out=expected[0])
    numpy.subtract.at(expected, slice(1, None), expected[:-1].copy())
    agree(m, expected, ULPS)


WARNINGS = {
    "reduce": lambda np: np.divide.reduce(np.array([1.0, 0, 3])),
    "reduce integers": lambda np: np.floor_divide.reduce(np.array([1, 0])),
    "reduce fmod": lambda np: np.fmod.reduce(np.array([1.0, 0])),
    "reduce overflow": lambda np: np.subtract.reduce(np.array([-1e308, 1e308])),
    "reduce where": lambda np: np.divide.reduce(np.array([1.0, 0]), initial=1, where=np.array([True, False])),
    "accumulate": lambda np: np.divide.accumulate(np.array([1.0, 0, 3])),
    "reduceat": lambda np: np.floor_divide.reduceat(np.array([1, 0]), [0]),
    "at": lambda np: np.sqrt.at(np.array([-1.0, 2]), [0, 0]),
    "at integers": lambda np: np.sqrt.at(np.array([-1, 2]), [0, 0]),
    "at matrix": lambda np: np.log.at(np.array([[0.0, 2]]), [0]),
    "at of its own": lambda np: np.divide.at(np.array([1.0, 2]), [0, 0], 0.0),
    "at with cast": lambda np: np.divide.at(np.array([1.0, 2]), [0, 0], 0),
    "at rows": lambda np: np.divide.at(np.array([[1.0, 2]]), [0, 0], 0.0),
    "at cast back": lambda np: np.divide.at(np.array([1, 2], "i1"), [0, 0], 0),
    "at floor_divide": lambda np: np.floor_divide.at(np.array([0, 2]), [0], 0),
    "at slice": lambda np: np.divide.at(np.array([1.0, 2]), slice(0, 1), 0.0),
    "at slice of two": lambda np: np.divide.at(np.array([1.0, 2]), slice(0, 2), 0.0),
    "at mask": lambda np: np.divide.at(np.array([1.0, 2]), np.array([True, True]), 0.0),
    "at 2-d indices": lambda np: np.divide.at(np.array([1.0, 2]), [[0], [1]], 0.0),
    "at complex": lambda np: np.add.at(np.array([1.0, 2]), [0], 2j),
    "outer": lambda np: np.divmod.outer(np.array([1, 2]), np.array([2, 0])),
}


@pytest.mark.parametrize("case", WARNINGS)
def test_warnings(case):
    texts = []
    for module in (np, numpy):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            assert outcome(WARNINGS[case], module)[0] == "value"
            if module is not numpy:
                np.sync()
        texts.append(sorted({str(w.message) for w in caught}))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("name", ["sqrt", "negative", "frexp", "divmod"])
def test_only_functions_of_two_accumulate(name):
    agree_in_outcome(*(lambda m=m: getattr(m, name).accumulate(m.arange(3.0)) for m in (np, numpy)))
