"""What is written with an index: `r_` and `c_`, which join, and `mgrid` and `ogrid`, which count."""

from __future__ import annotations

from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, ndarray
from ._creation import FEW, arange, empty, linspace
from ._fallback import on_host
from ._joining import column_stack, concatenate
from ._operands import dtype_of, operand

_PYTHONS = (bool, int, float, complex)

_BOUNDS = frozenset((int, float, complex, type(None)))


def _is_plain(part: Any) -> bool:
    """Whether these are steps between numbers of Python's."""
    return type(part) is slice and _BOUNDS.issuperset((type(part.start), type(part.stop), type(part.step)))


class Joined:
    """`r_`, or with at least two axes `c_`: arrays, numbers and ranges one after another. Words are NumPy's to read."""

    def __init__(self, original: Any, name: str) -> None:
        self._original, self._name = original, name
        self._ndmin: int = original.ndmin
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        items = key if type(key) is tuple else (key,)
        try:
            return self._joined(items)
        except (Unsupported, TypeError, ValueError, OverflowError):
            # NumPy does it, or words the error.
            return on_host(self._original.__getitem__, self._name, (key,), {})

    def __len__(self) -> int:
        return 0

    def _joined(self, items: tuple[Any, ...]) -> Any:
        if not items:
            raise Unsupported("nothing to join")
        first = items[0]
        if type(first) is ndarray and all(type(x) is ndarray and x.ndim == 1 for x in items):
            return concatenate(items) if self._ndmin == 1 else column_stack(items)
        if len(items) == 1 and self._ndmin == 1 and type(first) is slice:
            return self._range(first)
        parts = [self._part(item) for item in items]
        dtype = numpy.result_type(*map(dtype_of, parts))
        return concatenate([self._placed(part, dtype) for part in parts], axis=self._original.axis)

    def _part(self, item: Any) -> Any:
        """An array, or a number, which has no type of its own where it is Python's."""
        if type(item) is slice:
            return self._range(item)
        if type(item) in _PYTHONS or type(item) is Scalar or isinstance(item, numpy.number | numpy.bool):
            return item
        if isinstance(item, str | bytes):
            raise Unsupported("words, of which some say how to join")
        return operand(item)

    def _range(self, part: slice) -> ndarray:
        if not _is_plain(part) or part.stop is None:
            raise Unsupported("bounds that are no numbers of Python's")
        start, step = part.start or 0, 1 if part.step is None else part.step
        if type(start) is type(part.stop) is type(step) is int and step == 1 and start < part.stop:
            made = _core.arange_ints(start, part.stop, 1)
            if made is not None:
                return made
        if type(step) is complex:
            return linspace(start, part.stop, num=int(abs(step)))
        return arange(start, part.stop, step)

    def _placed(self, part: Any, dtype: Any) -> ndarray:
        given = part.astype(dtype, copy=False) if type(part) is ndarray else _core.asarray(part, dtype=dtype)
        if given.ndim == 0:
            return given.reshape((1,) * self._ndmin)
        return given.reshape(1, -1).T if given.ndim < self._ndmin else given


class Grid:
    """`mgrid`, and `ogrid` of which only the lines are made: NumPy counts, as there is little of it."""

    def __init__(self, original: Any) -> None:
        self._original = original
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        parts = key if type(key) is tuple else (key,)
        if not all(map(_is_plain, parts)):
            return on_host(self._original.__getitem__, "", (key,), {})
        if type(key) is tuple and not self._original.sparse and not _are_few(parts):
            return _spread(numpy.ogrid[key])
        made = self._original[key]
        return _ours(made) if type(made) is numpy.ndarray else tuple(map(_ours, made))

    def __len__(self) -> int:
        return 0


def _ours(made: Any) -> Any:
    return _core.adopt_numpy(made) if made.dtype.kind in "iufc" and made.dtype.char not in "gG" else made


def _are_few(parts: tuple[slice, ...]) -> bool:
    count = 1.0
    for part in parts:
        step = 1 if part.step is None else part.step
        if not step or part.stop is None:
            return True  # an error that NumPy words
        n = abs(step) if type(step) is complex else (part.stop - (part.start or 0)) / step
        if type(n) is complex or not n > 0:
            return True  # nothing, or a count that NumPy refuses
        count *= n
    return not count > FEW


def _spread(lines: tuple[Any, ...]) -> ndarray:
    made = empty((len(lines), *(line.size for line in lines)), dtype=lines[0].dtype)
    for i, line in enumerate(lines):
        made[i] = _core.adopt_numpy(line)
    return made


r_ = Joined(numpy.r_, "r_")
c_ = Joined(numpy.c_, "c_")
mgrid = Grid(numpy.mgrid)
ogrid = Grid(numpy.ogrid)
