"""Arrays as text, questions about their memory, and pickles by method."""

import io
import pickle

import numpy
import pytest

import numloom

from .oracle import agree, agree_in_outcome

SHAPES = [(5,), (999,), (1001,), (40, 50), (6, 500), (2, 2, 500), (12, 11, 10), (0, 3), (), (1, 2000), (2000, 1)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "?", "c16", "c8"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_printed_as_numpy_prints(shape, dtype):
    x = numpy.asarray(numpy.random.default_rng(5).normal(size=shape) * 1000).astype(dtype)
    ours = numloom.array(x)
    assert repr(ours) == repr(x) and str(ours) == str(x)
    for named in (
        {},
        {"threshold": 5},
        {"threshold": 5, "edgeitems": 1},
        {"threshold": 0, "edgeitems": 0, "precision": 2},
    ):
        assert numloom.array2string(ours, **named) == numpy.array2string(x, **named)
        with numpy.printoptions(**named):
            assert repr(ours) == repr(x) and str(ours) == str(x)
    assert numloom.array_repr(ours, 40, 3, True) == numpy.array_repr(x, 40, 3, True)
    assert numloom.array_str(ours, 40, 3, True) == numpy.array_str(x, 40, 3, True)


def test_printing_options():
    x = numpy.arange(2000.0)
    for options in ({"legacy": "1.13"}, {"legacy": "2.1"}, {"override_repr": lambda a: f"<{a.size}>"}, {"sign": "+"}):
        with numpy.printoptions(**options):
            assert repr(numloom.array(x)) == repr(x)
    assert numloom.array2string(numpy.arange(2)) == "[0 1]" and numloom.array_repr(numpy.ones(2)) == "array([1., 1.])"


@pytest.mark.parametrize("name, value", [("threshold", "x"), ("threshold", numpy.nan), ("edgeitems", -1), ("sign", 3)])
def test_mistakes_in_printing(name, value):
    x = numpy.arange(2000.0)
    ours = numloom.array(x)
    agree_in_outcome(
        lambda: numloom.array2string(ours, **{name: value}), lambda: numpy.array2string(x, **{name: value})
    )


def test_only_the_edges_of_a_long_array_are_brought(monkeypatch):
    from numloom import _printing

    real, sizes = _printing.to_numpy, []
    monkeypatch.setattr(_printing, "to_numpy", lambda x: sizes.append(x.size) or real(x))
    repr(numloom.zeros((1000, 1000)))
    assert sizes == [49]


def test_memmaps_say_what_they_are(tmp_path):
    numpy.arange(3.0).tofile(tmp_path / "x")
    ours, theirs = (np.memmap(tmp_path / "x", float, "r") for np in (numloom, numpy))
    assert repr(ours) == repr(theirs)


def test_sharing():
    for np in (numpy, numloom):
        z = np.arange(100.0).reshape(10, 10)
        pairs = [(z[::2], z[1::2]), (z, z[3]), (z, z.copy()), (z[:, 1:4], z[:, 4:]), (z[0], z.T[0]), (z[:0], z)]
        pairs += [(z.ravel()[::3], z.ravel()[1::3]), (z.view("u1"), z[5:]), (z, np.arange(3)), (z[2:5:2], z[3:9:3])]
        assert [np.shares_memory(a, b) for a, b in pairs] == [0, 1, 0, 0, 1, 0, 0, 1, 0, 0]
        assert [np.may_share_memory(a, b) for a, b in pairs] == [1, 1, 0, 1, 1, 0, 1, 1, 0, 1]
        with pytest.raises(TypeError):
            np.shares_memory(z)
    z, foreign = numloom.zeros(9), numpy.zeros(9)
    assert numloom.shares_memory(z, numpy.asarray(z)[3:]) and not numloom.shares_memory(z, foreign)
    once, again = (numloom.asarray(foreign, copy=False) for _ in range(2))
    assert numloom.shares_memory(once, again) and not numloom.shares_memory(once, z)
    assert not numloom.shares_memory(z.sum(), z)


def test_dumps(tmp_path):
    x = numloom.arange(6.0).reshape(2, 3)
    to = io.BytesIO()
    x.dump(to)
    x.dump(tmp_path / "x")
    for stored in (x.dumps(), to.getvalue(), (tmp_path / "x").read_bytes()):
        agree(pickle.loads(stored), numpy.asarray(x))
        assert type(pickle.loads(stored)) is numloom.ndarray
