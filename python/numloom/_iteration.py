"""Objects of NumPy's that go through arrays when they are iterated."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterator
from typing import Any

import numpy

from . import _core
from ._boxes import boxes
from ._core import Unsupported, ndarray, to_numpy
from ._fallback import Visit, on_host
from ._methods import flatiter
from ._operands import operand

# Elements that are on the host at a time.
BLOCK = 1 << 14


def nditer(op: Any, *args: Any, **kwargs: Any) -> numpy.nditer:
    """NumPy's iterator, over our arrays' own memory, so that writes through it are seen."""
    visit = Visit()
    return numpy.nditer(visit.to_host(op), *args, **{key: visit.to_host(value) for key, value in kwargs.items()})


class ndenumerate:
    __doc__ = numpy.ndenumerate.__doc__
    __module__ = "numloom"

    def __new__(cls, arr: Any) -> Any:
        try:
            x = operand(arr)
        except Unsupported:
            return numpy.ndenumerate(arr)
        made = object.__new__(cls)
        made.iter, made._pairs = flatiter(x), cls._all(x)
        return made

    iter: flatiter
    _pairs: Iterator[tuple[tuple[int, ...], Any]]

    @staticmethod
    def _all(x: ndarray) -> Iterator[tuple[tuple[int, ...], Any]]:
        for box in boxes(x.shape, BLOCK):
            places = itertools.product(*[range(*part.indices(n)) for part, n in zip(box, x.shape)])
            yield from zip(places, to_numpy(x[box]).flat)

    def __next__(self) -> Any:
        return next(self._pairs)

    def __iter__(self) -> Iterator[tuple[tuple[int, ...], Any]]:
        # What is left, by the same iterator: a step of its own takes less than one of `__next__`.
        return self._pairs


class Spread(flatiter):
    """The elements of an array as often as broadcasting repeats them."""

    def __init__(self, spread: ndarray, given: ndarray) -> None:
        super().__init__(spread)
        self._given = given

    base = property(lambda self: self._given)


class broadcast:
    __doc__ = numpy.broadcast.__doc__
    __module__ = "numloom"

    __signature__ = inspect.signature(lambda *arrays: None)

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # Others stand for what they go through.
        given = [a for arg in args for a in (arg._given if type(arg) is broadcast else [arg])]
        try:
            if kwargs:
                raise Unsupported("an error that NumPy words")
            arrays = [operand(a) for a in given]
        except Unsupported:
            return on_host(numpy.broadcast, "", tuple(given), kwargs)
        made = object.__new__(cls)
        made._given = arrays
        # NumPy's rules, and its words, about shapes: nothing stands behind these.
        made._rule = numpy.broadcast(*[numpy.broadcast_to(False, a.shape) for a in arrays])
        made._spread = [_core.broadcast_to(a, made._rule.shape) for a in arrays]
        made.reset()
        return made

    _rule: numpy.broadcast
    _given: list[ndarray]
    _spread: list[ndarray]
    _rows: Iterator[tuple[Any, ...]]
    _index: int

    shape = property(lambda self: self._rule.shape)
    size = property(lambda self: self._rule.size)
    nd = property(lambda self: self._rule.nd)
    ndim = property(lambda self: self._rule.ndim)
    numiter = property(lambda self: self._rule.numiter)
    index = property(lambda self: self._index)
    iters = property(lambda self: tuple(map(Spread, self._spread, self._given)))

    def reset(self, /) -> None:
        self._index, self._rows = 0, self._all()

    def _all(self) -> Iterator[tuple[Any, ...]]:
        if not self._spread:
            yield ()
        for box in boxes(self.shape, BLOCK):
            yield from zip(*[to_numpy(a[box]).flat for a in self._spread])

    def __next__(self) -> tuple[Any, ...]:
        row = next(self._rows)
        self._index += 1
        return row

    def __iter__(self) -> broadcast:
        return self
