"""How other code sees our arrays, and we theirs."""

from __future__ import annotations

import array
import bisect
import copy
import ctypes
import io
import pickle
import weakref

import numpy
import pytest

from .oracle import DTYPES, MODULE, agree, agree_in_outcome, mine, np, values

SHAPES = [(), (0,), (5,), (3, 4), (160, 150)]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_round_trips(dtype, shape):
    x = values(dtype, shape)
    m = mine(x)
    assert numpy.array_equal(numpy.asarray(m), x)
    assert numpy.array_equal(numpy.array(m), x)
    agree(pickle.loads(pickle.dumps(m)), x)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        agree(pickle.loads(pickle.dumps(m.T, protocol)), x.T)
    agree(copy.copy(m), x)
    agree(copy.deepcopy(m), x)
    assert m.tobytes() == x.tobytes()
    assert m.T.tobytes() == x.T.tobytes()
    assert m.tolist() == x.tolist()
    agree(np.frombuffer(m.tobytes(), dtype).reshape(shape), x)
    file = io.BytesIO()
    np.save(file, m)
    file.seek(0)
    agree(np.load(file), x)


@pytest.mark.parametrize("size", [6, 40_000])
def test_numpy_sees_our_memory_and_our_later_writes(size):
    m = np.zeros(size)
    seen = numpy.asarray(m)
    seen[2] = 5
    assert float(m[2]) == 5
    m += 1
    m[0] = 9
    numpy.asarray(m)
    assert seen[2] == 6
    assert seen[0] == 9
    part = numpy.asarray(m[1::2])
    part[:] = -1
    assert float(m[1]) == -1
    del m
    assert seen[0] == 9


def test_array_method():
    m = np.arange(4.0)
    assert m.__array__().dtype == "float64"
    assert m.__array__("int32").dtype == "int32"
    with pytest.raises(ValueError):
        numpy.array(m, dtype="int32", copy=False)
    fresh = numpy.array(m, copy=True)
    fresh[0] = 7
    assert float(m[0]) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_array_interface(dtype):
    x = values(dtype, (3, 4))
    m = mine(x)[::-1, ::2]
    theirs, ours = x[::-1, ::2].__array_interface__, m.__array_interface__
    assert {k: ours[k] for k in ("shape", "typestr", "version")} == {
        k: theirs[k] for k in ("shape", "typestr", "version")
    }

    class Holder:
        def __init__(self, array):
            self.array = array
            self.__array_interface__ = array.__array_interface__

    assert numpy.array_equal(numpy.asarray(Holder(m)), x[::-1, ::2])


@pytest.mark.parametrize("dtype", DTYPES)
def test_buffer(dtype):
    x = values(dtype, (3, 4))
    m = mine(x)
    ours, theirs = memoryview(m), memoryview(x)
    assert (ours.shape, ours.strides, ours.itemsize, ours.nbytes, ours.readonly) == (
        theirs.shape,
        theirs.strides,
        theirs.itemsize,
        theirs.nbytes,
        False,
    )
    assert ours.tobytes() == theirs.tobytes()
    assert numpy.array_equal(numpy.asarray(memoryview(m[:, ::-1])), x[:, ::-1])
    assert bytes(m) == bytes(x)


def test_buffer_is_written_through():
    m = np.zeros(4, "uint8")
    memoryview(m)[1] = 7
    assert m.tolist() == [0, 7, 0, 0]
    io.BytesIO(b"abcd").readinto(m)
    assert m.tolist() == [97, 98, 99, 100]
    agree(np.array(array.array("d", [1, 2])), numpy.array([1.0, 2.0]))
    agree(np.asarray(memoryview(b"abc")), numpy.asarray(memoryview(b"abc")))
    agree(np.array((ctypes.c_int * 3)(1, 2, 3)), numpy.array([1, 2, 3], "int32"))


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_both_ways(dtype):
    x = values(dtype, (3, 4))
    m = mine(x)
    for a, e in ((m, x), (m.T, x.T), (m[::-1, ::2], x[::-1, ::2])):
        seen = numpy.from_dlpack(a)
        assert numpy.array_equal(seen, e)
        agree(np.from_dlpack(e), e)
        agree(np.from_dlpack(a), e)
    assert m.__dlpack_device__() == x.__dlpack_device__()
    shared = numpy.from_dlpack(m)
    m[0, 0] = 1
    assert shared[0, 0] == 1
    theirs = np.from_dlpack(x)
    x[0, 0] = 0
    assert complex(theirs[0, 0]) == 0


def test_numpy_functions_take_our_arrays():
    x = values("float64", (40, 50))
    m = mine(x)
    calls = [
        lambda x: numpy.sin(x),
        lambda x: numpy.add(x, 1),
        lambda x: numpy.add(1, x),
        lambda x: numpy.add.reduce(x, axis=1),
        lambda x: numpy.add.outer(x[0], x[1]),
        lambda x: numpy.multiply.accumulate(x[0]),
        lambda x: numpy.sum(x, axis=0),
        lambda x: numpy.concatenate([x, x]),
        lambda x: numpy.where(x > 0, x, 0),
        lambda x: numpy.stack([x[0], x[1]], axis=1),
        lambda x: numpy.linalg.norm(x),
        lambda x: numpy.sort(x, axis=1),
        lambda x: numpy.fft.rfft(x[0]),
        lambda x: numpy.einsum("ij,ij->i", x, x),
        lambda x: numpy.interp(0.5, numpy.arange(50.0), x[0]),
        lambda x: numpy.allclose(x, x),
        lambda x: numpy.array_equal(x, x),
        lambda x: numpy.histogram(x, bins=5),
        lambda x: numpy.unique(numpy.sign(x)),
        lambda x: numpy.testing.assert_array_equal(x, x),
        lambda x: numpy.matmul(x, x.T),
        lambda x: numpy.frexp(x),
        lambda x: numpy.shape(x),
        lambda x: numpy.broadcast_to(x[0], (2, 50)),
    ]
    for i, call in enumerate(calls):
        result, expected = call(m), call(x)
        if isinstance(expected, (bool, numpy.bool_)):
            assert bool(result) == bool(expected)
        elif isinstance(expected, tuple) and expected and not isinstance(expected[0], int):
            for a, e in zip(result, expected, strict=True):
                numpy.testing.assert_allclose(numpy.asarray(a), e, rtol=1e-9)
        elif expected is not None:
            numpy.testing.assert_allclose(numpy.asarray(result), expected, rtol=1e-9, atol=1e-9, err_msg=f"call {i}")


def test_numpy_functions_answer_with_our_arrays():
    m = np.arange(5.0)
    assert isinstance(numpy.sin(m), np.ndarray)
    assert isinstance(numpy.add(numpy.arange(5), m), np.ndarray)
    assert isinstance(numpy.concatenate([m, m]), np.ndarray)


def test_mixed_operands():
    x = values("float64", 6)
    m = mine(x)
    agree(m + x, x + x)
    agree(x + m, x + x)
    assert isinstance(x + m, np.ndarray)
    out = numpy.zeros(6)
    numpy.multiply(m, 2, out=out)
    assert numpy.array_equal(out, x * 2)
    np.multiply(x, 3, out=m)
    agree(m, x * 3)
    x += m
    assert isinstance(x, numpy.ndarray)
    m[1:3] = x[:2]
    agree(m[1:3], x[:2])
    agree(m[numpy.array([0, 1])], numpy.asarray(m)[[0, 1]])
    agree(m == x, numpy.asarray(m) == x)
    m += [1, 2, 3, 4, 5, 6]


class Foreign:
    """A type that takes part in ufuncs and functions by NumPy's protocols."""

    __array_priority__ = 1000

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        return ("ufunc", ufunc.__name__, method)

    def __array_function__(self, func, types, args, kwargs):
        return ("function", func.__name__)


class Reflecting:
    __array_ufunc__ = None

    def __radd__(self, other):
        return "reflected"

    def __rmatmul__(self, other):
        return "reflected"

    def __eq__(self, other):
        return "compared"


def test_foreign_types_take_precedence():
    m = np.arange(3.0)
    assert np.add(m, Foreign()) == ("ufunc", "add", "__call__")
    assert m + Foreign() == ("ufunc", "add", "__call__")
    assert np.add.reduce(Foreign()) == ("ufunc", "add", "reduce")
    assert m + Reflecting() == "reflected"
    assert m @ Reflecting() == "reflected"
    assert (m == Reflecting()) == "compared"
    agree_in_outcome(lambda: np.add(m, Reflecting()), lambda: numpy.add(numpy.arange(3.0), Reflecting()))
    assert np.concatenate([m, Foreign()]) == ("function", "concatenate")


def test_objects_with_array_methods_convert():
    class Convertible:
        def __array__(self, dtype=None, copy=None):
            return numpy.arange(3, dtype=dtype or "float32")

    agree(np.asarray(Convertible()), numpy.arange(3, dtype="float32"))
    agree(np.add(Convertible(), 1), numpy.arange(3, dtype="float32") + 1)
    agree(np.asarray([np.arange(2), np.arange(2)]), numpy.array([[0, 1], [0, 1]]))
    agree(np.asarray(range(3)), numpy.arange(3))
    agree(np.array([[1, 2.5], [3, True]]), numpy.array([[1, 2.5], [3, True]]))


def test_weak_references_and_attributes():
    m = np.arange(3)
    ref = weakref.ref(m)
    assert ref() is m
    del m
    assert ref() is None


@pytest.mark.skipif(MODULE != "numloom", reason="NumPy's own namespace is tested by NumPy")
def test_array_namespace_is_ours():
    m = np.arange(3.0)
    assert m.__array_namespace__() is np
    assert m.device == "cpu"


def test_printing():
    for dtype in DTYPES:
        for shape in [(), (3,), (2, 3), (40, 40), (2000,), (0, 3)]:
            x = values(dtype, shape)
            m = mine(x)
            assert repr(m) == repr(x)
            assert str(m) == str(x)
    with numpy.printoptions(precision=2, suppress=True):
        x = values("float64", 5)
        assert str(mine(x)) == str(x)
    assert f"{mine(numpy.arange(3))}" == "[0 1 2]"


def test_array_methods_may_answer_with_our_arrays():
    class Holder:
        def __init__(self, array):
            self.array, self.asked = array, []

        def __array__(self, dtype=None, copy=None):
            self.asked.append((dtype, copy))
            return self.array.copy() if copy else self.array

    x = Holder(np.arange(3.0))
    assert np.asarray(x) is x.array
    assert np.array(x, copy=None) is x.array
    agree(np.array(x, copy=True), numpy.arange(3.0))
    assert x.asked == [(None, None), (None, None), (None, True)]
    agree(np.add(x, 1), numpy.arange(1, 4.0))
    agree(np.arange(4)[Holder(np.array(1))], numpy.arange(4)[1])
    agree(np.array(x, dtype="f4"), numpy.arange(3, dtype="f4"))


class Asked:
    """Answers a ufunc with how it was asked."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        kinds = [type(i).__name__ for i in inputs]
        return type(self).__name__, ufunc.__name__, method, kinds, sorted((k, str(v)) for k, v in kwargs.items())

    def __repr__(self):
        return type(self).__name__


class AskedFirst(Asked):
    pass


class Declines(Asked):
    def __array_ufunc__(self, *args, **kwargs):
        return NotImplemented


class OptsOut(Asked):
    __array_ufunc__ = None


OVERRIDES = {
    "input": lambda np, x: np.add(x, Asked()),
    "subclass first": lambda np, x: np.multiply(Asked(), AskedFirst()),
    "declined": lambda np, x: np.multiply(Declines(), Asked()),
    "all declined": lambda np, x: np.negative(Declines()),
    "opted out": lambda np, x: np.add(x, OptsOut()),
    "opted out beside another": lambda np, x: np.add(Asked(), OptsOut()),
    "output by position": lambda np, x: np.sin(x, Asked()),
    "output by name": lambda np, x: np.sin(x, out=Asked()),
    "second output": lambda np, x: np.modf(x, out=(None, Asked())),
    "no output": lambda np, x: np.sin(Asked(), out=None),
    "signature": lambda np, x: np.add(Asked(), 1, sig="dd->d"),
    "mask": lambda np, x: np.add(x, x, where=Asked()),
    "reduce": lambda np, x: np.add.reduce(Asked(), 1, "f8", None, True),
    "accumulate": lambda np, x: np.add.accumulate(Asked(), 0),
    "at": lambda np, x: np.add.at(Asked(), [0], 1),
    "outer": lambda np, x: np.add.outer(x, Asked()),
    "too few": lambda np, x: np.multiply(Asked()),
    "too many": lambda np, x: np.multiply(Asked(), x, x, x),
    "unknown keyword": lambda np, x: np.multiply(Asked(), x, foo=1),
    "operator": lambda np, x: x + Asked(),
    "operator opted out": lambda np, x: x - OptsOut(),
}


@pytest.mark.parametrize("case", OVERRIDES)
def test_ufunc_overrides_are_asked_as_numpy_asks_them(case):
    def run(np):
        return str(OVERRIDES[case](np, np.arange(3.0)))

    agree_in_outcome(lambda: run(np), lambda: run(numpy), what=case)


def test_our_ufuncs_are_found_under_numpys():
    assert np.add == numpy.add and numpy.add == np.add
    assert np.add != numpy.subtract and np.add != np.subtract
    assert {np.add: 1}[numpy.add] == 1


def test_array_wrap():
    class Wraps:
        def __init__(self, array):
            self.array = array

        def __array__(self, dtype=None, copy=None):
            return self.array

        def __array_wrap__(self, array, context, return_scalar):
            return type(self).__name__, array.tolist(), context and (context[0].__name__, context[2]), return_scalar

    class WrapsFirst(Wraps):
        __array_priority__ = 10

    class WrapsNever(Wraps):
        __array_priority__ = -10

    def results(np):
        x = np.arange(3.0)
        a, b, c = Wraps(x), WrapsFirst(x), WrapsNever(x)
        return [
            np.add(a, x),
            np.add(x, a),
            np.add(a, b),
            np.sqrt(b),
            np.modf(a),
            np.add.reduce(a),
            np.add.accumulate(a),
            np.multiply.outer(a, x).tolist(),
            np.negative(Wraps(np.array(2.0))),
            np.add(c, x).tolist(),
        ]

    assert results(np) == results(numpy)


def test_pickles_beside_their_buffers():
    x, buffers = np.arange(1000), []
    pickled = pickle.dumps(x, 5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    assert len(pickled) < 1000
    loaded = pickle.loads(pickled, buffers=buffers)
    x[0] = -1
    assert loaded[0] == -1
    agree(pickle.loads(pickle.dumps(x[::2], 5, buffer_callback=buffers.append)), numpy.asarray(x)[::2])


def test_memory_that_may_not_be_written_is_not():
    data = b"abcd"
    x = np.frombuffer(data, "u1")
    assert not x.flags.writeable
    with pytest.raises(ValueError, match="WRITEABLE"):
        x.setflags(write=True)

    class Lends:
        __array_interface__ = numpy.frombuffer(data, "u1").__array_interface__

    y = np.asarray(Lends())
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 0
    assert data == b"abcd"


def test_array_struct():
    class Lends:
        __array_struct__ = np.arange(3).__array_struct__

    agree(np.asarray(Lends()), numpy.arange(3))
    wrapped = np.arange(2).__array_wrap__(numpy.array(3.0), None, True)
    assert type(wrapped) is numpy.float64
    assert isinstance(np.arange(2).__array_wrap__(numpy.array(3.0)), np.ndarray)


def test_arrays_over_others_memory_are_views_of_it():
    buffer = bytearray(8)
    x = np.frombuffer(buffer, "u1")
    x[0] = 7
    assert buffer[0] == 7
    x.setflags(write=False)
    x.setflags(write=True)
    assert x.base is not None and not x.flags.owndata
    y = np.asarray(memoryview(buffer))
    assert y.base is not None and not y.flags.owndata
    assert np.asarray([1, 2]).base is None
    assert np.sort(np.arange(400)).base is None
    assert np.tril_indices(30)[0].base is None


def test_arrays_are_sequences():
    x = np.arange(5)
    assert [int(i) for i in reversed(x)] == [4, 3, 2, 1, 0]
    assert bisect.bisect(x, 2) == 3


def test_truths_may_be_numbers():
    x = np.arange(6.0)
    x.setflags(write=0)
    assert not x.flags.writeable
    x.flags.writeable = 1
    x.setflags(align=False)
    x.astype("f4", subok=0)
    x.byteswap(inplace=0)
    x.resize(8, refcheck=0)
    assert x.flags.writeable and x.shape == (8,)


def test_the_type_can_be_assigned():
    x, expected = np.arange(4.0), numpy.arange(4.0)
    x.dtype = expected.dtype = "u1"
    agree(x, expected)
    agree_in_outcome(*(lambda m=m: setattr(m.zeros((2, 3), "u1").T, "dtype", "u2") for m in (np, numpy)))


def test_copies_keep_their_order():
    x = np.ones((2, 3), order="F")
    assert copy.copy(x).flags.f_contiguous and copy.deepcopy(x).flags.f_contiguous
    assert x.squeeze() is x
    agree(np.broadcast_to(np.arange(3.0), (2, 3)).ravel("K"), numpy.broadcast_to(numpy.arange(3.0), (2, 3)).ravel("K"))


def test_an_array_over_our_memory_is_a_view_of_it():
    """Work on both is done in the order in which it was written."""
    for m in np, numpy:
        a = m.arange(20_400.0)
        part = m.ndarray((4,), "f8", a)
        steps = m.ndarray((3,), "f8", a, 16, (24,))
        a -= 1
        assert (part + 1).tolist() == [0, 1, 2, 3] and steps.tolist() == [1, 4, 7]
        part[...] = 7
        steps *= 2
        assert a[:9].tolist() == [7, 7, 14, 7, 3, 8, 5, 6, 14]


SHARED = {
    "dlpack of ours": lambda x: [a := np.array(x), np.from_dlpack(a)],
    "dlpack of NumPy's view of ours": lambda x: [a := np.array(x), np.from_dlpack(numpy.asarray(a))],
    "dlpack twice": lambda x: [np.from_dlpack(x), np.from_dlpack(x)],
    "frombuffer": lambda x: [np.frombuffer(b := bytearray(x), x.dtype), np.frombuffer(b, x.dtype)],
    "frombuffer of an array": lambda x: [np.frombuffer(b := array.array("d", x), "f8"), np.frombuffer(b, "f8")],
    "ndarray over a buffer": lambda x: [
        np.ndarray(x.shape, x.dtype, b := bytearray(x)),
        np.ndarray(x.shape, x.dtype, b),
    ],
}


@pytest.mark.parametrize("how", SHARED)
@pytest.mark.parametrize("n", [10, 1_000, 60_000, 300_000])
def test_two_arrays_over_the_same_memory_are_seen_to_overlap(how, n):
    def shared():
        return SHARED[how](numpy.arange(float(n)))

    expected = numpy.arange(float(n))
    a, b = shared()
    a[1:] = b[:-1]
    agree(a, numpy.concatenate([[0.0], expected[:-1]]))
    a, b = shared()
    np.add(b[::-1], 1, out=a)
    agree(b, expected[::-1] + 1)
    a, b = shared()
    np.copyto(b[: n - 3], a[3:])
    agree(a[: n - 3], expected[3:])
    a, b = shared()
    np.cumsum(b[::-1], out=a)
    agree(a, numpy.cumsum(expected[::-1]))
    a, b = shared()
    b[np.arange(n)[::-1]] = a
    agree(a, expected[::-1])
    a, b = shared()
    part = b[5:]
    del a, b
    part += 1
    agree(part, expected[5:] + 1)
