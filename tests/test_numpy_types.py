"""NumPy's own types given arrays of the module: `np.uint8(x)` casts, and `s * x` and `numpy_array * x` are ours."""

from __future__ import annotations

import operator
import pickle
import re
import subprocess
import sys
import warnings

import numpy
import pytest

from .oracle import COMPLEX, DTYPES, ULPS, agree, agree_in_outcome, mine, needs_engine, np, values

NAMES = """bool bool_ byte cdouble complex128 complex64 csingle double float16 float32 float64 half int16 int32 int64
int8 int_ intc intp long longlong short single ubyte uint uint16 uint32 uint64
uint8 uintc uintp ulong ulonglong ushort"""


@pytest.mark.parametrize("name", NAMES.split())
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.filterwarnings("ignore")
def test_a_scalar_type_casts_an_array(name, dtype):
    for x in (values(dtype, (3, 4)), values(dtype, (3, 4)).T, values(dtype, 20_000)[::-3], values(dtype, 0)):
        got, expected = getattr(np, name)(mine(x)), getattr(numpy, name)(x)
        assert type(got) is np.ndarray
        agree(got, expected)


def test_an_array_of_the_type_is_answered_itself():
    for x in (mine(numpy.arange(4.0)), mine(numpy.ones((2, 3))).T, mine(numpy.arange(6.0))[::2]):
        assert np.float64(x) is x
        assert np.float32(x) is not x


@needs_engine
def test_a_cast_is_deferred_and_stays_in_the_runtime():
    x = np.ones(1_000_000)
    np.sync()
    before = np.stats()["tasks"]
    y = np.uint8(x * 255) // 2
    assert np.stats()["tasks"] == before
    assert int(y.max()) == 127
    assert np.stats()["tasks"] > before


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow]
BITS = [operator.and_, operator.or_, operator.xor]
COMPARISONS = [operator.lt, operator.le, operator.eq, operator.ne, operator.gt, operator.ge]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", DTYPES + ["longlong", "ulonglong"])
def test_a_scalar_on_the_left(name, dtype):
    x = numpy.abs(values(dtype, 6))
    s = getattr(numpy, name)(3)
    for operation in OPERATORS + BITS + COMPARISONS:
        agree_in_outcome(lambda f=operation: f(s, mine(x)), lambda f=operation: f(s, x), 4, what=operation.__name__)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left", DTYPES)
def test_an_array_of_numpys_on_the_left(left, dtype):
    x = numpy.abs(values(dtype, (3, 4)))
    ulps = ULPS["complex64"] if {left, dtype} & set(COMPLEX) else 4
    for a in (values(left, (3, 4), 1), values(left, (4, 3), 2).T, values(left, (6, 1), 3)[::2], values(left, (), 4)):
        for operation in OPERATORS + BITS + COMPARISONS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                agree_in_outcome(
                    lambda f=operation, a=a: f(a, mine(x)),
                    lambda f=operation, a=a: f(a, x),
                    ulps,
                    what=operation.__name__,
                )


def test_who_answers_for_an_array_of_numpys_on_the_left():
    x = numpy.arange(3.0)
    for a in (x, x > 1, x.astype(complex), numpy.arange(100_000.0)[:3]):
        assert type(a * mine(x)) is np.ndarray
        assert type(a * x) is numpy.ndarray
    large = numpy.arange(50_000.0)
    agree(large - mine(large[::-1]), large - large[::-1])
    for a in (numpy.ma.masked_array(x, [1, 0, 0]), numpy.matrix(x), x.astype(object), x.astype(">f8"), x.view(Derived)):
        agree_in_outcome(lambda a=a: numpy.asarray(a + mine(x)), lambda a=a: numpy.asarray(a + x))
    target = x.copy()
    target += mine(x)
    assert type(target) is numpy.ndarray
    agree(target, x + x)


class Derived(numpy.ndarray):
    pass


def test_scalars_among_themselves_are_numpys():
    for got, expected in (
        (np.float64(3.5) * np.float64(2), numpy.float64(7)),
        (np.int8(5) - 2, numpy.int8(3)),
        (7 // np.uint16(3), numpy.uint16(2)),
        (np.complex64(2) / 4, numpy.complex64(0.5)),
        (np.bool_(True) ^ np.bool_(True), numpy.False_),
        (np.float32(1) < 2, numpy.True_),
    ):
        assert type(got) is type(expected) and got == expected
    assert type(np.float64(2) * numpy.ones(2)) is numpy.ndarray
    with pytest.raises(TypeError, match="did not contain a loop"):
        np.float64(1) + "x"


def test_casts_warn_as_numpy_does():
    with pytest.warns(numpy.exceptions.ComplexWarning):
        np.float64(mine(numpy.array([1 + 2j])))
    with pytest.warns(RuntimeWarning, match="invalid value"):
        np.asarray(np.int8(mine(numpy.array([numpy.nan, 1.0]))))[0].item()


def test_one_element_is_a_scalar():
    for x in (mine(numpy.array(2.5)), mine(numpy.arange(3.0)).sum(), mine(numpy.ones(100_000)).sum()):
        for name in ("float32", "int64", "complex128", "bool_"):
            assert type(getattr(np, name)(x)) is getattr(numpy, name)


def test_all_else_is_numpys():
    assert type(np.float64("1.5")) is numpy.float64
    assert np.float64("nan") != np.float64()
    assert type(np.float32([1, 2])) is type(np.int8(numpy.arange(3))) is numpy.ndarray
    for bad in ((1, 2, 3), ("x",)):
        with pytest.raises((TypeError, ValueError)) as expected:
            numpy.float32(*bad)
        with pytest.raises(expected.type, match=re.escape(str(expected.value))):
            np.float32(*bad)
    assert pickle.loads(pickle.dumps(np.float64(2.5))) == 2.5
    assert mine(numpy.arange(3.0)).dtype.type is np.float64


def test_a_class_derived_from_a_scalar_type_is_its_own():
    class Length(np.float64):
        def __new__(cls, value):
            return super().__new__(cls, value)

    assert Length(2.5) == 2.5 and type(Length(2.5)) is Length
    # Whatever NumPy does with several elements, it is NumPy that does it.
    assert type(Length(mine(numpy.arange(3.0)))) is type(Length(numpy.arange(3.0)))


@needs_engine
def test_classes_derived_before_the_import():
    program = """
import numpy

class Plain(numpy.float64):
    pass

class Made(Plain):
    def __new__(cls, value):
        return super().__new__(cls, value)

import numloom
assert type(Plain(1.5)) is Plain and type(Plain.__new__(Plain, 1.5)) is Plain
assert type(Made(2.5)) is Made and Made(2.5) == 2.5
assert type(numpy.float32(numloom.ones(3))) is numloom.ndarray
"""
    subprocess.run([sys.executable, "-c", program], check=True)
