"""What the user gets wrong must end in NumPy's exception, with every array as it was."""

from __future__ import annotations

import operator
import pickle

import numpy
import pytest

from .oracle import MODULE, agree, agree_in_outcome, mine, np, values

CREATION = {
    "huge": lambda np: np.zeros(2**62),
    "huge product": lambda np: np.zeros((2**32, 2**32)),
    "huger": lambda np: np.empty(2**63),
    "beyond": lambda np: np.empty(2**70),
    "unaddressable": lambda np: np.empty(2**62, "u1"),
    "negative": lambda np: np.zeros(-1),
    "arange without an end": lambda np: np.arange(start=4),
    "negative axis": lambda np: np.zeros((2, -3)),
    "many dimensions": lambda np: np.zeros((1,) * 65),
    "float shape": lambda np: np.zeros(2.5),
    "string shape": lambda np: np.zeros("3"),
    "none in shape": lambda np: np.zeros((2, None)),
    "unknown dtype": lambda np: np.zeros(3, "no such type"),
    "full of too much": lambda np: np.full(3, 300, "uint8"),
    "ragged": lambda np: np.array([[1, 2], [3]]),
    "arange step zero": lambda np: np.arange(0, 1, 0),
    "arange of nan": lambda np: np.arange(float("nan")),
    "linspace negative": lambda np: np.linspace(0, 1, -1),
    "eye negative": lambda np: np.eye(-1),
    "select an int among unsigned": lambda np: np.select([np.arange(4) > 1], [7], np.arange(4, dtype="u1")),
    "bool shape": lambda np: np.zeros(True),
    "bool in shape": lambda np: np.zeros((2, True)),
    "reshape to bool": lambda np: np.arange(2).reshape((True, -1)),
    "floats for a shape": lambda np: np.zeros(np.array([2.0, 3.0])),
    "table for a shape": lambda np: np.zeros(np.ones((2, 2), int)),
    "copy by a word": lambda np: np.array([1, 2], copy="always"),
    "copy never": lambda np: np.array([1, 2], copy=np._CopyMode.NEVER),
    "copy never of arrays": lambda np: np.array([np.zeros(2), np.zeros(2)], copy=np._CopyMode.NEVER),
    "astype with a copy mode": lambda np: np.zeros(2).astype(int, copy=np._CopyMode.ALWAYS),
    "copy without truth": lambda np: np.array(np.zeros(2), copy=numpy.zeros(2)),
    "strides without memory": lambda np: np.ndarray((2,), strides=()),
    "strides out of bounds": lambda np: setattr(np.zeros(4), "strides", (16,)),
    "strides of another length": lambda np: setattr(np.zeros(4), "strides", (16, 8)),
    "new axes": lambda np: np.zeros(())[(None,) * 70],
    "flags": lambda np: np.zeros(1)[(True,) * 64],
    "more flags": lambda np: np.zeros(1)[(False,) * 80],
    "flags beside dimensions": lambda np: np.zeros((1,) * 64)[(True,) * 3],
    "index arrays": lambda np: np.zeros((1,) * 64)[(np.array([0]),) * 64],
    "outer of many dimensions": lambda np: np.add.outer(np.zeros((1,) * 33), np.zeros((1,) * 33)),
    "operator.concat": lambda np: operator.concat(np.zeros(2), np.zeros(2)),
    "concatenate same value": lambda np: np.concatenate([[1], [2]], casting="same_value"),
    "concatenate rule": lambda np: np.concatenate([np.zeros(1), np.zeros(1, int)], casting="no"),
    "device": lambda np: setattr(np.zeros(1), "device", "gpu"),
    "reshape": lambda np: np.arange(6).reshape(4, 2),
    "reshape two unknown": lambda np: np.arange(6).reshape(-1, -1),
    "reshape to nothing": lambda np: np.arange(6).reshape(0, -1),
    "reshape negative": lambda np: np.arange(6).reshape(-2, 3),
    "transpose": lambda np: np.zeros((2, 3)).transpose(0, 0),
    "transpose too few": lambda np: np.zeros((2, 3)).transpose(0),
    "swapaxes": lambda np: np.zeros((2, 3)).swapaxes(0, 5),
    "squeeze": lambda np: np.zeros((2, 3)).squeeze(0),
    "broadcast": lambda np: np.broadcast_to(np.zeros(3), (4,)),
    "concatenate shapes": lambda np: np.concatenate([np.zeros((2, 3)), np.zeros((2, 4))]),
    "concatenate nothing": lambda np: np.concatenate([]),
    "concatenate scalars": lambda np: np.concatenate([1, 2]),
    "concatenate axis": lambda np: np.concatenate([np.zeros(2), np.zeros(2)], axis=1),
    "stack shapes": lambda np: np.stack([np.zeros(2), np.zeros(3)]),
    "split": lambda np: np.split(np.arange(5), 2),
    "diagonal of 1-d": lambda np: np.arange(3).diagonal(),
    "view size": lambda np: np.zeros(3, "uint8").view("int32"),
    "astype rule": lambda np: np.zeros(3).astype(int, casting="safe"),
    "item of many": lambda np: np.zeros(3).item(),
    "item out of bounds": lambda np: np.zeros(3).item(5),
    "complex to float": lambda np: float(np.array(1j)),
    "shape assignment": lambda np: setattr(np.zeros(4), "shape", (3,)),
    "dot": lambda np: np.dot(np.zeros(3), np.zeros(4)),
    "outer cast": lambda np: np.add.outer(np.zeros(2), None),
    "clip without limits of no sense": lambda np: np.clip(np.zeros(2), np.zeros(3), 1),
    "where shapes": lambda np: np.where(np.zeros(2, bool), np.zeros(3), 1),
    "copyto cast": lambda np: np.copyto(np.zeros(3, int), np.zeros(3)),
    "copyto shape": lambda np: np.copyto(np.zeros(3), np.zeros(4)),
    "putmask shape": lambda np: np.putmask(np.zeros(3), np.zeros(4, bool), 1),
    "take from nothing": lambda np: np.take(np.zeros(0), [0]),
    "argmax of nothing": lambda np: np.argmax(np.zeros(0)),
    "min of nothing": lambda np: np.zeros(0).min(),
    "mean axis": lambda np: np.mean(np.zeros(3), axis=1),
    "inverse of a vector": lambda np: np.linalg.inv(np.zeros(3)),
    "inverse of zero": lambda np: np.linalg.inv(np.zeros((2, 2))),
    "cholesky": lambda np: np.linalg.cholesky(np.zeros((2, 2)) - 1),
}


@pytest.mark.parametrize("case", CREATION)
def test_wrong_calls(case):
    words = case not in ("huge product", "huge", "huger", "beyond")
    agree_in_outcome(lambda: CREATION[case](np), lambda: CREATION[case](numpy), words=words, what=case)


def test_memory_that_does_not_exist_is_an_ordinary_exception():
    """The address space is there, the memory is not; the runtime goes on."""
    with pytest.raises((MemoryError, ValueError)):
        x = np.ones(2**46)
        float(x.sum())
    agree(np.arange(4) * 2, numpy.arange(4) * 2)


@pytest.mark.parametrize("size", [4, 30_000])
def test_index_arrays_of_nonsense(size):
    x = values("float64", size)
    m = mine(x)
    for index in (
        numpy.array([0.0, numpy.nan]),
        numpy.array([numpy.inf]),
        numpy.array([1 + 1j]),
        numpy.array([2**62]),
        numpy.array([-(2**62)]),
        numpy.array([2**63], "uint64"),
        numpy.array(["a"]),
        numpy.array([None]),
        numpy.zeros(size + 1, bool),
        numpy.zeros((2, 2), bool),
        numpy.array([size, 0]),
        numpy.array([-size - 1]),
        "text",
        b"bytes",
        1.5,
        {},
        object(),
    ):

        def read(x, index=index):
            return numpy.asarray(x[index])

        def write(x, index=index):
            x[index] = 1
            return numpy.asarray(x)

        agree_in_outcome(lambda f=read: f(m), lambda f=read: f(x), words=False, what=f"read {index!r}")
        agree_in_outcome(lambda f=write: f(m), lambda f=write: f(x), words=False, what=f"write {index!r}")
        agree(m, x)


@pytest.mark.parametrize("size", [4, 30_000])
def test_read_only_arrays_stay_as_they_are(size):
    x = values("float64", size)
    m = mine(x)
    x.flags.writeable = False
    m.flags.writeable = False
    writes = [
        lambda np, x: x.__setitem__(0, 1),
        lambda np, x: x.__setitem__(slice(None), 1),
        lambda np, x: x.__setitem__(x > 0, 1),
        lambda np, x: x.__setitem__([0, 1], 1),
        lambda np, x: x.__iadd__(1),
        lambda np, x: np.add(x, 1, out=x),
        lambda np, x: np.copyto(x, 1),
        lambda np, x: np.putmask(x, x > 0, 1),
        lambda np, x: x.fill(1),
        lambda np, x: x.sort(),
        lambda np, x: np.add.at(x, [0], 1),
        lambda np, x: x[1:].__setitem__(0, 1),
        lambda np, x: x.T.__setitem__(0, 1),
        lambda np, x: x.reshape(2, -1).__setitem__(0, 1),
        lambda np, x: np.cumsum(x, out=x),
        lambda np, x: x.sum(keepdims=True, out=x[:1]),
    ]
    for i, write in enumerate(writes):
        agree_in_outcome(lambda w=write: w(np, m), lambda w=write: w(numpy, x), what=f"write {i}")
        agree(m, x, what=f"write {i}")


@pytest.mark.parametrize("size", [4, 30_000])
def test_failed_operations_leave_everything_alone(size):
    x, y = values("float64", size), values("int32", size)
    m, n = mine(x), mine(y)
    attempts = [
        lambda np, x, y: y.__iadd__(0.5),
        lambda np, x, y: x.__iadd__(np.zeros(size + 1)),
        lambda np, x, y: np.add(x, np.zeros(3), out=x),
        lambda np, x, y: x.__setitem__(slice(0, 2), np.zeros(3)),
        lambda np, x, y: y.__setitem__(slice(None), 1j),
        lambda np, x, y: x.__setitem__(x > 0, np.zeros(1 + int((x > 0).sum()) + 1)),
        lambda np, x, y: x.__setitem__((0, 0), 1),
        lambda np, x, y: np.copyto(y, x),
        lambda np, x, y: x.__imatmul__(np.zeros((3, 3))),
        lambda np, x, y: y.__setitem__(0, 2**40),
        lambda np, x, y: x.__setitem__([0, size], 1),
        lambda np, x, y: np.put(x, [size], 1),
    ]
    for i, attempt in enumerate(attempts):
        agree_in_outcome(
            lambda a=attempt: a(np, m, n), lambda a=attempt: a(numpy, x, y), words=False, what=f"attempt {i}"
        )
        agree(m, x, what=f"attempt {i}")
        agree(n, y, what=f"attempt {i}")


def test_dtypes_numloom_has_not_are_numpys():
    for x in (
        numpy.array(["a", "b"]),
        numpy.array([1, None], dtype=object),
        numpy.array(["2020-01-01"], dtype="datetime64[D]"),
        numpy.zeros(2, dtype=[("x", "i4"), ("y", "f8")]),
        numpy.array([1, 2], dtype="longdouble"),
        numpy.array([1, 2], dtype=">i4"),
    ):
        a = np.array(x)
        assert a.dtype == x.dtype or a.dtype == x.dtype.newbyteorder("=")
        assert a.tolist() == x.tolist()
        assert np.asarray(x).shape == x.shape
    agree_in_outcome(
        lambda: numpy.asarray(np.arange(3) + numpy.array([1, 2, 3], dtype=object)).tolist(), lambda: [1, 3, 5]
    )
    agree_in_outcome(lambda: numpy.asarray(np.arange(3).astype(object)).tolist(), lambda: [0, 1, 2])
    agree_in_outcome(lambda: numpy.asarray(np.arange(3).astype("U3")).tolist(), lambda: ["0", "1", "2"])


@pytest.mark.skipif(MODULE != "numloom", reason="NumPy's pickles have no version of ours")
def test_pickles_of_a_newer_version_say_so():
    m = np.arange(3)
    function, arguments, *rest = m.__reduce__()
    newer = tuple(a + 1000 if isinstance(a, int) and not isinstance(a, bool) else a for a in arguments)
    if newer == tuple(arguments):
        state = rest[0]
        newer_state = tuple(a + 1000 if isinstance(a, int) and not isinstance(a, bool) else a for a in state)
        with pytest.raises((ValueError, TypeError, pickle.UnpicklingError), match="version"):
            function(*arguments).__setstate__(newer_state)
    else:
        with pytest.raises((ValueError, TypeError, pickle.UnpicklingError), match="version"):
            function(*newer)


def test_truncated_pickles():
    data = pickle.dumps(np.arange(100))
    for cut in range(0, len(data), 7):
        with pytest.raises(Exception):  # noqa: B017
            pickle.loads(data[:cut])


def test_strange_operands():
    x = values("float64", 3)
    m = mine(x)
    for other in (None, "text", b"x", {}, [], [1, 2], object(), [[1], [2, 3]], float("nan"), 10**400, print):
        for f in (
            lambda a, o: a + o,
            lambda a, o: o + a,
            lambda a, o: a == o,
            lambda a, o: a != o,
            lambda a, o: a < o,
            lambda a, o: a @ o,
        ):
            agree_in_outcome(lambda f=f, o=other: f(m, o), lambda f=f, o=other: f(x, o), words=False, what=f"{other!r}")


def test_an_index_of_more_elements_than_can_be_counted():
    x, far = np.ones((3,) * 5), np.zeros(7132, dtype=int)
    with pytest.raises(ValueError, match="iterator is too large"):
        x[np.ix_(far, far, far, far, far)] = 0
    with pytest.raises(ValueError, match="iterator is too large"):
        x[np.ix_(far, far, far, far, far)]
    assert float(x.sum()) == 243


def test_classes_derived_from_ours_are_refused_with_what_to_do():
    class Mine(np.ndarray):
        pass

    for make in (lambda: np.arange(3).view(Mine), lambda: np.arange(3).view(type=Mine)):
        with pytest.raises(TypeError, match=r"derive it from numpy\.ndarray"):
            make()

    class Theirs(numpy.ndarray):
        pass

    x = np.arange(3.0).view(Theirs)
    assert type(x) is Theirs and type(x + 1) is Theirs and type(np.sin(x)) is Theirs


@pytest.mark.parametrize("make", ["zeros", "ones", "empty"])
def test_far_more_than_the_machine_has_is_refused_in_the_call(make):
    """An array many times the memory is an error where it is asked for, not where it is read."""
    for shape in ((10**7, 10**6), 2**43):
        with pytest.raises(MemoryError, match=r"Unable to allocate .* for an array with shape"):
            getattr(np, make)(shape)
