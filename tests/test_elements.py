"""What goes through arrays element by element in Python, a block at a time."""

import pickle

import numpy
import pytest

import numloom
from numloom import _iteration, _vectorizing
from numloom._boxes import boxes

from .oracle import agree, agree_in_outcome


@pytest.fixture(autouse=True, params=[1 << 14, 3])
def block(request, monkeypatch):
    """Everything in one block, and in blocks of three elements."""
    monkeypatch.setattr(_vectorizing, "BLOCK", request.param)
    monkeypatch.setattr(_iteration, "BLOCK", request.param)


@pytest.mark.parametrize("shape", [(), (0,), (7,), (2, 3), (3, 1, 4), (2, 0, 5), (5, 2, 3)])
@pytest.mark.parametrize("most", [1, 2, 4, 6, 100])
def test_boxes_cover_in_order(shape, most):
    x = numpy.arange(numpy.prod(shape, dtype=int)).reshape(shape)
    parts = [x[box] for box in boxes(shape, most)]
    assert all(0 < part.size <= most for part in parts)
    assert [v for part in parts for v in part.ravel()] == x.ravel().tolist()


def both(make):
    """The same program with either module."""
    agree_in_outcome(lambda: make(numloom), lambda: make(numpy))


VECTORIZED = [
    lambda np: np.vectorize(lambda a, b: a + b)(np.arange(6.0).reshape(2, 3), np.arange(3)),
    lambda np: np.vectorize(lambda a: (a, a > 2))(np.arange(7)),
    lambda np: np.vectorize(lambda a: a * 2)(np.arange(12.0).reshape(3, 4).T),
    lambda np: np.vectorize(lambda a: a * 2, otypes=["f4"])(np.arange(5)),
    lambda np: np.vectorize(lambda a: a * 2, otypes="i")(np.zeros((0, 3))),
    lambda np: np.vectorize(lambda a: a * 2)(np.zeros((0, 3))),
    lambda np: np.vectorize(lambda a, b: a * b)(np.arange(3), np.arange(4)),
    lambda np: np.vectorize(lambda a, b: a * b)(2, 3.5),
    lambda np: np.vectorize(lambda a, n: sum(n) + a, excluded=["n"])(np.arange(4), n=[1, 2]),
    lambda np: np.vectorize(lambda a, b=3: a + b)(np.arange(4), b=np.arange(4)),
    lambda np: np.vectorize(lambda a: a.sum(), signature="(n)->()")(np.arange(6.0).reshape(2, 3)),
    lambda np: np.vectorize(lambda a: 1 / a)(np.arange(3)),
    lambda np: np.vectorize(lambda a: a)(np.array([1 + 2j, 3])),
    lambda np: np.vectorize(lambda: 7)(),
    lambda np: np.vectorize(otypes=[float])(lambda a: a + 1)(np.arange(3)),
    lambda np: np.vectorize(3),
    lambda np: np.vectorize(abs, otypes="?!"),
    lambda np: np.vectorize(abs).__name__,
]


@pytest.mark.parametrize("make", VECTORIZED)
def test_vectorize(make):
    both(make)


def test_vectorize_of_texts_and_objects():
    agree(numloom.vectorize(str)(numloom.arange(12)), numpy.vectorize(str)(numpy.arange(12)))
    made = numloom.vectorize(lambda a: [a], otypes=[object])(numloom.arange(4))
    assert made.dtype == object and made.tolist() == [[0], [1], [2], [3]]


def test_vectorize_calls_as_often_as_numpy():
    for cache in (False, True):
        seen = {}
        for np in (numpy, numloom):
            calls = seen[np] = []
            np.vectorize(lambda a, calls=calls: calls.append(a) or a, cache=cache, excluded=["calls"])(np.arange(8))
        assert seen[numpy] == seen[numloom]


def test_vectorized_results_are_ours_and_nothing_is_counted():
    numloom.reset_coverage()
    assert type(numloom.vectorize(lambda a: a + 1)(numloom.arange(5))) is numloom.ndarray
    assert numloom.coverage(as_dict=True)["fallbacks"] == []


@pytest.mark.parametrize(
    "make",
    [
        lambda np: np.fromiter(range(10), float),
        lambda np: np.fromiter((i for i in range(10)), "i2", 4),
        lambda np: np.fromiter(iter([]), float),
        lambda np: np.fromiter(range(5), float, 9),
        lambda np: np.fromiter(range(5), float, 0),
        lambda np: np.fromiter(["a", "bc"], "U2"),
        lambda np: np.fromiter(["a"], float),
        lambda np: np.fromiter(3, float),
        lambda np: np.fromiter([1, 2], None),
        lambda np: np.fromiter(np.arange(5) * 2, int),
        lambda np: np.fromiter([300], "i1"),
    ],
)
def test_fromiter(make):
    both(make)


def test_fromiter_takes_no_more_than_it_wants():
    source = iter(range(100))
    assert numloom.fromiter(source, int, 7).tolist() == list(range(7)) and next(source) == 7


ITERATED = [
    lambda np: list(np.ndenumerate(np.arange(6).reshape(2, 3))),
    lambda np: list(np.ndenumerate(np.array(3.0))),
    lambda np: list(np.ndenumerate(np.zeros((0, 2)))),
    lambda np: list(np.ndenumerate(np.arange(12.0).reshape(3, 4).T)),
    lambda np: list(np.ndenumerate([["a", "b"]])),
    lambda np: next(np.ndenumerate(np.zeros(0))),
    lambda np: list(np.broadcast(np.arange(3)[:, None], np.arange(4.0))),
    lambda np: list(np.broadcast(np.arange(3), 2.5, ["x", "y", "z"])),
    lambda np: np.broadcast(np.arange(3), np.arange(4)),
    lambda np: list(np.broadcast()),
    lambda np: np.broadcast(*[np.arange(2)] * 65),
]


@pytest.mark.parametrize("make", ITERATED)
def test_iterated(make):
    both(make)


def test_what_broadcast_knows():
    for np in (numpy, numloom):
        b = np.broadcast(np.arange(3)[:, None], np.arange(4.0))
        assert (b.shape, b.size, b.nd, b.ndim, b.numiter, b.index) == ((3, 4), 12, 2, 2, 2, 0)
        assert next(b) == (0, 0.0) and next(b) == (0, 1.0) and b.index == 2
        b.reset()
        assert b.index == 0 and len(list(b)) == 12
        assert [u + v for u, v in np.broadcast(np.arange(2), np.arange(2))] == [0, 2]
        b.reset()
        assert list(b.iters[1])[:5] == [0.0, 1.0, 2.0, 3.0, 0.0]


POLYNOMIALS = [
    lambda p, np: p * p + 2 * p - p / 2,
    lambda p, np: p / np.poly1d([1, 1]),
    lambda p, np: [1, 2] + p - [3],
    lambda p, np: 3 - p,
    lambda p, np: p**3,
    lambda p, np: p**-1,
    lambda p, np: p**1.5,
    lambda p, np: -p,
    lambda p, np: p(np.arange(4.0)),
    lambda p, np: p(p),
    lambda p, np: p.deriv(2),
    lambda p, np: p.integ(2, [1, 2]),
    lambda p, np: p.integ(-1),
    lambda p, np: (p.order, len(p), p.variable, p[0], p[9], p[-1], list(p)),
    lambda p, np: (p == np.poly1d([1, -3, 2]), p != p, p == 3, p == np.poly1d([1])),
    lambda p, np: str(p),
    lambda p, np: repr(p),
    lambda p, np: str(np.poly1d([1.5, 0, -2j], variable="z")),
    lambda p, np: np.polyadd(p, [1]),
    lambda p, np: np.polymul([1, 2], p),
    lambda p, np: np.polyval(p, 3),
    lambda p, np: np.polyder(p),
    lambda p, np: np.poly1d([0, 0, 1, 2]).coeffs,
    lambda p, np: np.poly1d([0, 0]).coeffs,
    lambda p, np: np.poly1d([]).coeffs,
    lambda p, np: np.poly1d([1, 2, 3], True).c,
    lambda p, np: np.poly1d([[1, 2]]),
    lambda p, np: np.poly1d(p, variable="y").variable,
    lambda p, np: setattr(p, "coeffs", 3),
    lambda p, np: hash(p),
]


def plain(result, module):
    if isinstance(result, numpy.poly1d):
        assert type(result) is module.poly1d
        return numpy.asarray(result)
    return type(result)(plain(r, module) for r in result) if isinstance(result, tuple) else result


@pytest.mark.parametrize("make", POLYNOMIALS)
def test_poly1d(make):
    both(lambda np: plain(make(np.poly1d([1, -3, 2]), np), np))


def test_poly1d_is_ours_inside():
    p = numloom.poly1d(numloom.arange(1, 4))
    assert isinstance(p, numpy.poly1d) and type(p.coeffs) is numloom.ndarray and type((p * p).c) is numloom.ndarray
    p[4] = 7
    p[0] = 5
    assert p.coeffs.tolist() == [7, 0, 1, 2, 5] and pickle.loads(pickle.dumps(p)) == p
    with pytest.raises(ValueError, match="Does not support negative powers"):
        p[-1] = 3
    numpy.testing.assert_allclose(sorted(numloom.poly1d([1, -3, 2]).r), [1, 2])
    assert type(numloom.poly1d([numpy.array(1, object)])) is numpy.poly1d


OF_ONE = {
    "more": lambda v: v + 1,
    "whole": lambda v: int(v),
    "two": lambda v: (v, v > 2),
    "text": lambda v: "a" * int(v),
    "a list": lambda v: [1, 2],
    "nothing": lambda v: None,
    "complex": lambda v: v * 1j,
    "cut": lambda v: 1 if v < 3 else 2.5,
    "single": lambda v: numpy.float32(v),
    "large": lambda v: 2**70,
    "arrays": lambda v: numpy.arange(3),
    "a tuple of one": lambda v: (v,),
    "an error": lambda v: 1 / 0 if v > 5 else 2,
}


@pytest.mark.parametrize("dtype", ["f8", "i4", "f2", "?", "u1"])
@pytest.mark.parametrize("function", OF_ONE)
def test_a_function_along_a_few_elements(function, dtype):
    """What it is called with, how often, and what comes of it."""

    def told(m):
        calls = []

        def noted(v):
            calls.append(type(v))
            return OF_ONE[function](v)

        try:
            made = m.vectorize(noted)(m.array(numpy.arange(10).astype(dtype)))
        except Exception as error:
            return type(error), calls
        parts = made if isinstance(made, tuple) else (made,)
        return [(numpy.asarray(x).tolist(), numpy.asarray(x).dtype) for x in parts], isinstance(made, tuple), calls

    assert told(numloom) == told(numpy)
