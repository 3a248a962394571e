"""Results of zero dimensions stand in for NumPy's scalars."""

from __future__ import annotations

import cmath
import copy
import decimal
import fractions
import json
import math
import numbers
import operator
import pickle
import statistics

import numpy
import pytest

from .oracle import COMPLEX, DTYPES, FLOAT, INTEGER, agree, agree_in_outcome, mine, np, values

SIZES = [5, 30_000]


def pair(dtype: str, size: int = 5):
    """The same number as a result of the module (deferred if the size is large) and of NumPy."""
    x = numpy.zeros(size, dtype)
    x[:3] = [1, 0, 1] if dtype == "bool" else [5, 2, 3]
    fold = "sum" if dtype in COMPLEX else "max"
    return getattr(mine(x), fold)(), getattr(x, fold)()


FUNCTIONS = {
    "repr": repr,
    "str": str,
    "format": lambda x: f"{x}",
    "hash": hash,
    "bool": bool,
    "item": lambda x: x.item(),
    "tolist": lambda x: x.tolist(),
    "dtype": lambda x: x.dtype,
    "shape": lambda x: (x.shape, x.ndim, x.size, x.itemsize, x.nbytes),
    "index with nothing": lambda x: x[()],
    "index with ellipsis": lambda x: x[...],
    "equal to itself": lambda x: bool(x == x.item()),
    "dict key": lambda x: {x.item(): 1}[x],
    "found by": lambda x: {x: 2}[x.item()],
    "in a set": lambda x: x in {x.item()},
    "in a list": lambda x: x in [0, x.item()],
    "real": lambda x: x.real,
    "imag": lambda x: x.imag,
    "conjugate": lambda x: x.conjugate(),
    "T": lambda x: x.T,
    "copy": lambda x: x.copy(),
    "ravel": lambda x: x.ravel(),
    "reshape": lambda x: x.reshape(1, 1),
    "astype": lambda x: x.astype("complex128"),
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "tobytes": lambda x: x.tobytes(),
    "positive": lambda x: +x,
    "absolute": abs,
    "add int": lambda x: x + 1,
    "radd int": lambda x: 1 + x,
    "multiply float": lambda x: x * 2.5,
    "divide": lambda x: x / 2,
    "rdivide": lambda x: 2 / x,
    "power": lambda x: x**2,
    "rpower": lambda x: 2**x,
    "compare": lambda x: x != 3,
    "isinstance generic": lambda x: isinstance(x, numpy.generic),
    "isinstance own": lambda x: [
        isinstance(x, t) for t in (numpy.floating, numpy.integer, numpy.bool_, numpy.complexfloating)
    ],
    "isinstance number": lambda x: [
        isinstance(x, t) for t in (numbers.Number, numbers.Real, numbers.Integral, numbers.Complex)
    ],
    "isinstance python": lambda x: [isinstance(x, t) for t in (float, int, complex, bool)],
    "isscalar": lambda x: numpy.isscalar(x),
    "complex": complex,
    "with a NumPy scalar": lambda x: x + numpy.float32(1),
    "with a NumPy array": lambda x: numpy.arange(3) * x.item(),
    "pickled": lambda x: pickle.loads(pickle.dumps(x)),
    "copied": lambda x: copy.deepcopy(x),
    "dumped": lambda x: json.dumps({"x": x.item()}) if x.dtype.kind != "c" else "",
    "iterate": iter,
    "length": len,
}
REAL = {
    "float": float,
    "int": int,
    "round": round,
    "round to 2": lambda x: round(x, 2),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "isclose": lambda x: math.isclose(x, 5),
    "fixed": lambda x: f"{x:.3f}" if x.dtype.kind == "f" else f"{x:>5}",
    "general": lambda x: f"{x:g}",
    "percent": lambda x: operator.mod("%.2f", x),
    "percent d": lambda x: operator.mod("%d", x),
    "less": lambda x: x < 7,
    "less reflected": lambda x: 7 < x,
    "sorted": lambda x: sorted([9, x.item(), 1]),
    "max": lambda x: max(x, 2),
    "negative": lambda x: -x,
    "floor divide": lambda x: x // 2,
    "remainder": lambda x: x % 2,
    "divmod": lambda x: divmod(x, 2),
    "sum of them": lambda x: sum([x, x]),
    "mean of them": lambda x: statistics.fmean([x, x]),
    "cmath": cmath.sqrt,
}
WHOLE = {
    "index": operator.index,
    "range": lambda x: list(range(x)),
    "list index": lambda x: list(range(10))[x],
    "slice": lambda x: list(range(10))[:x],
    "repeat": lambda x: "ab" * x,
    "hex": hex,
    "bit and": lambda x: x & 1,
    "bit or": lambda x: x | 8,
    "shift": lambda x: x << 1,
    "invert": lambda x: ~x,
    "bit_length": lambda x: int(x).bit_length(),
    "fraction": lambda x: str(fractions.Fraction(int(x), 2)),
    "decimal": lambda x: str(decimal.Decimal(int(x))),
}


def normal(x):
    return (
        x
        if not isinstance(x, (numpy.generic, numpy.ndarray, np.ndarray))
        else (type(x).__name__ == "ndarray", numpy.asarray(x).dtype, numpy.asarray(x).tolist())
    )


def check(function, dtype, size):
    a, e = pair(dtype, size)

    def result(x):
        value = function(x)
        if isinstance(value, tuple):
            return tuple(map(normal, value))
        return normal(value) if not hasattr(value, "__next__") else "iterator"

    agree_in_outcome(lambda: repr(result(a)), lambda: repr(result(e)), words=False)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("case", FUNCTIONS)
def test_all_numbers(case, dtype, size):
    check(FUNCTIONS[case], dtype, size)


@pytest.mark.parametrize("dtype", FLOAT + INTEGER + ["bool"])
@pytest.mark.parametrize("case", REAL)
def test_real_numbers(case, dtype):
    check(REAL[case], dtype, 5)


@pytest.mark.parametrize("dtype", [*INTEGER, "bool", "float64"])
@pytest.mark.parametrize("case", WHOLE)
def test_whole_numbers(case, dtype):
    check(WHOLE[case], dtype, 5)


def test_float64_results_are_floats():
    x = np.arange(4.0).sum()
    assert isinstance(x, float)
    assert isinstance(x, numpy.float64)
    assert f"{x:.2f}" == "6.00"
    assert math.fsum([x, x]) == 12.0
    assert json.dumps(x.item()) == "6.0"


def test_a_number_to_come_is_written_and_averaged_as_numpys():
    many = 100_000
    for m in np, numpy:
        means = [m.full(many, 1.5 + k).mean() for k in range(4)]
        assert json.dumps({"mean": means[0], "all": means[1:]}) == '{"mean": 1.5, "all": [2.5, 3.5, 4.5]}'
        assert statistics.mean(means) == 3.0 and statistics.stdev(means) == pytest.approx(1.2909944)
        for number, name in (m.ones(many, "f4").mean(), "float32"), (m.ones(many, int).sum(), "int64"):
            with pytest.raises(TypeError, match=f"Object of type {name} is not JSON serializable"):
                json.dumps([number])


def test_convergence_loop():
    """The shape of many programs: a while loop on a deferred norm."""
    m = np.full(30_000, 4.0)
    steps = 0
    error = np.inf
    while error > 1e-6 and steps < 50:
        new = 0.5 * (m + 2.0 / m)
        error = np.abs(new - m).max()
        m = new
        steps += 1
    assert steps < 10
    assert abs(float(m[0]) - math.sqrt(2)) < 1e-12


def test_scalars_in_arrays_and_calls():
    m = np.arange(10.0)
    total = m.sum()
    agree(np.array([total, total * 2]), numpy.array([45.0, 90.0]))
    agree(np.full(3, total), numpy.full(3, 45.0))
    agree(np.linspace(0, total, 4), numpy.linspace(0, 45.0, 4))
    agree(np.zeros(int(m.max())), numpy.zeros(9))
    agree(np.zeros(np.arange(4).max()), numpy.zeros(3))
    agree(np.arange(np.arange(4).max()), numpy.arange(3))
    agree(m[np.arange(4).max()], numpy.float64(3.0))
    agree(m[: np.arange(4).max()], numpy.arange(3.0))
    agree(np.where(m > m.mean(), 1, 0), numpy.where(numpy.arange(10.0) > 4.5, 1, 0))
    assert m.max() == max(m.tolist())
    assert (m.sum() > 3) is not None
    assert bool(m.sum() > 3)


def test_zero_dimensional_arrays_stay_arrays():
    m = np.array(3.0)
    assert isinstance(m, np.ndarray)
    m += 1
    assert isinstance(m, np.ndarray)
    assert float(m) == 4.0
    m[()] = 7
    m[...] += 1
    assert m.item() == 8.0
    assert not isinstance(m + 1, np.ndarray)
    assert not isinstance(m[()], np.ndarray)
    assert isinstance(m[...], np.ndarray)
    with pytest.raises(TypeError):
        hash(m)


def test_only_one_element_converts():
    for function in (float, int, bool, complex, operator.index):
        for x in (values("int64", 3), values("int64", (1, 1)), values("float64", 1), numpy.zeros(0)):
            agree_in_outcome(
                lambda f=function, x=x: f(mine(x)), lambda f=function, x=x: f(x), what=f"{function} {x.shape}"
            )


def test_a_number_to_come_repeats_a_list():
    n = (np.arange(300_000) % 4).max()
    assert [0] * n == [0, 0, 0] and n * (1, 2) == (1, 2, 1, 2, 1, 2) and "ab" * n == "ababab"
    assert math.trunc((np.zeros(300_000) + 2.5).mean()) == 2
    with pytest.raises(TypeError, match="not 'complex'"):
        int(np.array(1j))
