"""Arguments of everyday functions that programs get wrong, or give in a rarer way: all is as in NumPy."""

import warnings

import numpy
import pytest

import numloom

from .oracle import agree, agree_in_outcome, same_words
from .oracle import np as under_test

NAN = float("nan")
B1 = numpy.array([True, False])
U1 = numpy.zeros(2, "u1")


def sealed(m):
    a = m.arange(4).reshape(2, 2)
    a.flags.writeable = False
    return a


def assigned(m, value, dtype, casting):
    a = m.zeros(2, dtype)
    m.copyto(a, value, casting=casting)
    return a


def without(function):
    return lambda m: function(sealed(m))


CASES = {
    "where of one choice": lambda m: m.where(m.array(B1), m.arange(2)),
    "where of one choice, lists": lambda m: m.where([True, False], [1, 2]),
    "where of None": lambda m: m.where(m.array(B1), 1, None),
    "where of none": lambda m: m.where(m.array(B1)),
    "full NaN": lambda m: m.full(2, NAN, int),
    "full NaN of NumPy": lambda m: m.full(2, numpy.float64(NAN), int),
    "full infinite": lambda m: m.full(2, numpy.inf, "i4"),
    "full 300": lambda m: m.full(2, 300, "u1"),
    "full 300.0": lambda m: m.full(2, 300.0, "u1"),
    "full list": lambda m: m.full(2, [300, 1], "u1"),
    "full complex": lambda m: m.full(2, 1j, "f8"),
    "full large": lambda m: m.full(2, 2**70, "i8"),
    "full of no shape": lambda m: m.full(None, 3),
    "full_like NaN": lambda m: m.full_like(m.arange(3), NAN),
    "full_like NaN of NumPy": lambda m: m.full_like(m.arange(3), numpy.float32(NAN)),
    "full_like -1": lambda m: m.full_like(m.array(U1), -1),
    "full_like -1.0": lambda m: m.full_like(m.array(U1), -1.0),
    "full_like text": lambda m: m.full_like(m.arange(3), "a"),
    "copyto NaN of NumPy": lambda m: assigned(m, numpy.float64(NAN), int, "unsafe"),
    "copyto large of NumPy": lambda m: assigned(m, numpy.float64(1e30), int, "unsafe"),
    "copyto int of NumPy": lambda m: assigned(m, numpy.int64(300), "i1", "same_kind"),
    "pad 300": lambda m: m.pad(m.array(U1), 1, constant_values=300),
    "pad -1": lambda m: m.pad(m.zeros((2, 2), "u1"), 1, constant_values=-1),
    "pad NaN": lambda m: m.pad(m.array(U1), 1, constant_values=NAN),
    "pad NaN around many": lambda m: m.pad(m.zeros(70000, "u1"), 1, constant_values=NAN),
    "unstack": lambda m: m.unstack(m.arange(2)),
    "unstack axis": lambda m: m.unstack(m.arange(6).reshape(2, 3), axis=-1),
    "unstack no axis": lambda m: m.unstack(m.arange(3), axis=2),
    "unstack list": lambda m: m.unstack([1, 2]),
    "reshape None": lambda m: m.reshape(m.arange(3), None),
    "tile nothing": lambda m: m.tile([], -1),
    "tile nothing in rows": lambda m: m.tile(m.zeros((2, 0)), (2, -1)),
    "isreal int": lambda m: m.isreal(1),
    "isreal complex": lambda m: m.isreal(1j),
    "stack of most axes": lambda m: m.stack([m.zeros((1,) * 64)] * 2),
    "take_along_axis no axis": lambda m: m.take_along_axis(m.arange(3), m.array([[0]]), 1),
    "put_along_axis no axis": lambda m: m.put_along_axis(m.arange(3), m.array([[0]]), 1, 1),
    "ptp method": lambda m: hasattr(m.arange(3), "ptp"),
    "round to 1.0": lambda m: m.round(m.arange(3.0), 1.0),
    "round method to 1.0": lambda m: m.arange(3).round(1.0),
    "round to an integer of NumPy": lambda m: m.round(m.arange(3.0) / 7, numpy.int64(2)),
    "around to None": lambda m: m.around(m.arange(3.0), None),
    "nanmax of an array": lambda m: m.nanmax(m.array([NAN])),
    "nanmax of a list": lambda m: m.nanmax([NAN]),
    "nanmin of lists": lambda m: m.nanmin([[NAN, 1], [NAN, 2]], axis=0),
    "nanmax of a list, initial": lambda m: m.nanmax([NAN], initial=3),
    "nanmax of an array, initial": lambda m: m.nanmax(m.array([NAN]), initial=3),
    "zeros None": lambda m: m.zeros(None),
    "empty text": lambda m: m.empty("a"),
    "broadcast_to -1": lambda m: m.broadcast_to(1, -1),
    "broadcast_to nothing": lambda m: m.broadcast_to(m.arange(3), ()),
    "broadcast_to fewer axes": lambda m: m.broadcast_to(m.zeros((2, 3)), 3),
    "sealed flat": without(lambda a: a.flat.__setitem__(0, 1)),
    "sealed flat slice": without(lambda a: a.flat.__setitem__(slice(None), 1)),
    "sealed all of flat": without(lambda a: setattr(a, "flat", 1)),
    "deleted flat": without(lambda a: delattr(a, "flat")),
    "sealed place": lambda m: m.place(sealed(m), sealed(m) > 1, 1),
    "sealed fill_diagonal": lambda m: m.fill_diagonal(sealed(m), 1),
    "clip without bounds": lambda m: m.clip(m.arange(3), None, None),
    "sum over an array": lambda m: m.sum(m.arange(6).reshape(2, 3), axis=m.array(0)),
}


def observed(case, m):
    """What comes of it, and the warnings on the way."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = case(m)
        except Exception as error:
            result = error
    heard = [(w.category.__name__, str(w.message)) for w in caught if w.category is not numloom.FallbackWarning]
    return result, heard


@pytest.mark.parametrize("name", CASES)
def test_everyday_arguments(name):
    actual, expected = observed(CASES[name], under_test), observed(CASES[name], numpy)
    assert actual[1] == expected[1]
    if isinstance(expected[0], Exception):
        assert type(actual[0]) is type(expected[0])
        assert same_words(str(actual[0]), str(expected[0]))
    else:
        agree(actual[0], expected[0], what=name)


class Other:
    """Arrays of another class, which answers every function of NumPy's by its name."""

    dispatched: list[str]
    shape = real = imag = (3,)
    ndim = 1

    def __init__(self, dispatched):
        self.dispatched = dispatched

    def __array_function__(self, func, types, args, kwargs):
        self.dispatched.append(func.__name__)
        return func.__name__


OTHERS = {
    "all": lambda m, x: (m.all(x), m.allclose(x, 1), m.allclose(1, x), m.allclose(m.arange(3), x)),
    "amax": lambda m, x: (m.amax(x), m.amin(x), m.max(x), m.around(x), m.round(x)),
    "append": lambda m, x: (m.append(1, x, 0), m.append(x, 1)),
    "copy": lambda m, x: (m.copy(x), m.copyto(m.arange(3), x), m.putmask(m.arange(3), [True], x)),
    "corrcoef": lambda m, x: (m.corrcoef(x), m.corrcoef(m.arange(3), x), m.nanstd(x), m.logspace(x, 1)),
    "diag_indices_from": lambda m, x: (m.diag_indices_from(x), m.tril_indices_from(x), m.triu_indices_from(x)),
    "diff": lambda m, x: (m.diff(x), m.diff(x, 0), m.delete(m.arange(3), x)),
    "isreal": lambda m, x: (m.isreal(x), m.isrealobj(x), m.iscomplexobj(x), m.real(x), m.imag(x)),
    "linalg": lambda m, x: (m.linalg.matmul(x, 1), m.linalg.tensordot(x, x), m.linalg.svdvals(x), m.linalg.qr(x)),
    "linalg views": lambda m, x: (m.linalg.matrix_transpose(x), m.linalg.diagonal(x), m.linalg.trace(x)),
    "shape": lambda m, x: (m.shape(x), m.size(x), m.size(x, 0), m.ndim(x), m.reshape(x, 3)),
    "split": lambda m, x: (m.split(x, 3), m.split(x, m.arange(2)), m.split(m.arange(3), x)),
    "tile": lambda m, x: (m.tile(x, 2), m.tile(m.arange(3), x)),
    "unique": lambda m, x: (m.unique_all(x), m.unique_counts(x), m.unique_inverse(x), m.unique_values(x)),
    "where": lambda m, x: (m.where(x), m.where(x, 1, 2), m.where(True, x, 1)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_arrays_of_other_classes_answer_functions_themselves(name):
    expected, actual = [], []
    answers = OTHERS[name](numpy, Other(expected))
    assert OTHERS[name](under_test, Other(actual)) == answers
    assert actual == expected


def test_errors_beside_other_classes_are_numpys():
    agree_in_outcome(
        lambda: under_test.concatenate([under_test.arange(3)], Other([])),
        lambda: numpy.concatenate([numpy.arange(3)], Other([])),
    )
