"""Functions and iterators of the caller's, element by element: `vectorize` and `fromiter`.

Elements go to Python and come back a block at a time, so that nothing as large as the array is made on the host.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import _core
from ._boxes import boxes
from ._core import Scalar, Unsupported, ndarray, to_numpy
from ._fallback import direct, native_names, on_host
from ._joining import concatenate
from ._operands import operand

# Elements of a block.
BLOCK = 1 << 14

# So many elements need no blocks.
FEW = 1 << 10


_ORIGINAL: Any = numpy.vectorize


class vectorize(_ORIGINAL):
    __doc__ = numpy.vectorize.__doc__
    __module__ = "numloom"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) is ndarray and not self.excluded:
            # The commonest, without the rest of what there is to look at.
            x, given = args[0], (self.signature, self.otypes, self.cache)
            if given == (None, None, False) and callable(self.pyfunc) and x.ndim == 1 and 0 < x.size <= FEW:
                return _along(self.pyfunc, to_numpy(x))
        return super().__call__(*args, **kwargs)

    def _vectorize_call(self, func: Callable[..., Any], args: Sequence[Any]) -> Any:
        """What NumPy does once it knows the function and the arguments that are arrays."""
        if args and self.signature is None:
            try:
                arrays = [operand(a) for a in args]
                shape = numpy.broadcast_shapes(*[a.shape for a in arrays])
            except (Unsupported, ValueError):
                # Elements that are not ours, and shapes whose mismatch NumPy words.
                pass
            else:
                few = math.prod(shape) <= FEW
                return self._at_once(func, args, arrays) if few else self._by_blocks(func, arrays, shape)
        whole = super()._vectorize_call
        return on_host(lambda *args: whole(func, args), "vectorize", tuple(args), {})

    def _at_once(self, func: Callable[..., Any], args: Sequence[Any], arrays: Sequence[ndarray]) -> Any:
        """NumPy's way, over a few elements: there is nothing to divide. Its scalars are given to `func` as they are."""
        hosts = [to_numpy(a) for a in arrays]
        hosts = [h[()] if isinstance(a, (numpy.generic, Scalar)) else h for a, h in zip(args, hosts)]
        made = super()._vectorize_call(func, hosts)
        return tuple(map(_taken, made)) if type(made) is tuple else _taken(made)

    def _by_blocks(self, func: Callable[..., Any], arrays: list[ndarray], shape: tuple[int, ...]) -> Any:
        # The first elements say how many results there are, and of which types.
        firsts = [to_numpy(a[(0,) * a.ndim + (None,)]) if a.size else numpy.empty(0) for a in arrays]
        ufunc, otypes = self._get_ufunc_and_otypes(func=func, args=firsts)
        # Arrays that lie the other way round are gone through that way, and so are their results.
        turned = all(a.flags.f_contiguous for a in arrays if a.ndim) and any(a.ndim > 1 for a in arrays)
        turned = turned and all(a.shape in ((), shape) for a in arrays)
        spread = [_core.broadcast_to(a, shape) for a in arrays]
        if turned:
            spread, shape = [a.T for a in spread], shape[::-1]
        made = [_Column(shape, numpy.dtype(t)) for t in otypes]
        for box in boxes(shape, BLOCK):
            results = ufunc(*[to_numpy(a[box]).astype(object) for a in spread])
            for column, result in zip(made, results if ufunc.nout > 1 else (results,)):
                column.put(box, result)
        columns = [column.whole.T if turned else column.whole for column in made]
        return columns[0] if ufunc.nout == 1 else tuple(columns)


_PLAIN = frozenset([bool, int, float, complex, numpy.bool_, numpy.int64, numpy.float64, numpy.complex128])


def _along(func: Callable[..., Any], x: numpy.ndarray[Any, Any]) -> Any:
    """NumPy's way along a few elements: the first, asked by itself, says how many results there are and their types."""
    first = func(x[0])
    kinds = [numpy.asarray(one).dtype.char for one in (first if type(first) is tuple else (first,))]
    if len(kinds) == 1:
        values = list(map(func, x.tolist()))
        if _PLAIN.issuperset(map(type, values)):
            return _taken(numpy.array(values, kinds[0]))
        # Whatever they are, each is one element.
        whole = numpy.empty(len(values), object)
        for i, value in enumerate(values):
            whole[i] = value
        return _taken(numpy.asanyarray(whole, kinds[0]))
    many = numpy.frompyfunc(func, 1, len(kinds))(x.astype(object))
    return tuple(_taken(numpy.asanyarray(one, kind)) for one, kind in zip(many, kinds))


def _taken(made: Any) -> Any:
    """A result of NumPy's as an array of ours, if it is of a type of ours."""
    try:
        return _core.adopt_numpy(made) if type(made) is numpy.ndarray else made
    except Unsupported:
        return made


class _Column:
    """Where one of a function's results goes: an array of ours, or one of NumPy's if the type is its alone."""

    def __init__(self, shape: tuple[int, ...], dtype: numpy.dtype[Any]) -> None:
        self._dtype = dtype
        # The length of texts is that of the longest, and the unit of dates the finest: not known before the end.
        self._open = dtype.kind in "USVMm"
        try:
            self._made: Any = _core.empty(shape, dtype)
        except Unsupported:
            self._made = numpy.empty(shape, object if self._open else dtype)

    def put(self, box: tuple[Any, ...], result: Any) -> None:
        self._made[box] = result if self._open else numpy.asanyarray(result, dtype=self._dtype)

    @property
    def whole(self) -> Any:
        return self._made.astype(self._dtype) if self._open else self._made


def fromiter(iter: Any, dtype: Any, count: int = -1, *, like: Any = None) -> Any:
    if type(iter) in (range, list, tuple) and len(iter) <= BLOCK and type(dtype) in (type, str) and like is None:
        if dtype is int and type(iter) is range and iter and type(count) is int and count == -1:
            made = _core.arange_ints(iter.start, iter.stop, iter.step)
            if made is not None:
                return made
        return _taken(numpy.fromiter(iter, dtype, count))
    try:
        kind = numpy.dtype(dtype)
        if like is not None or dtype is None or type(dtype) is ndarray or type(count) is not int:
            raise Unsupported("an error that NumPy words")
        made = _core.empty((max(count, 0),), kind)
        source = iter.__iter__()
    except (Unsupported, TypeError, AttributeError):
        named = {} if like is None else {"like": like}
        return on_host(numpy.fromiter, "", (iter, dtype, count), named)
    if count < 0:
        parts: list[Any] = []
        # What has ended once is not asked again.
        while not parts or parts[-1].size == BLOCK:
            parts.append(_taken(_drawn(source, kind, BLOCK)))
        return parts[0] if len(parts) == 1 else concatenate(parts)
    for start in range(0, count, BLOCK):
        wanted = min(BLOCK, count - start)
        part = _drawn(source, kind, wanted)
        if part.size < wanted:
            there = start + part.size
            raise ValueError(f"iterator too short: Expected {count} but iterator had only {there} items.")
        made[start : start + wanted] = part
    return made


def _drawn(source: Any, dtype: numpy.dtype[Any], n: int) -> numpy.ndarray[Any, Any]:
    return numpy.fromiter(itertools.islice(source, n), dtype)


direct(fromiter)
native_names.add("vectorize")
