"""Sets: what is different in an array, and what two arrays share. All of them sort."""

from __future__ import annotations

import functools
import operator
import os
from typing import Any

import numpy
from numpy.lib import _arraysetops_impl as _numpy_sets

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native
from ._joining import concatenate
from ._operands import PYTHONS, normalize_axis_index, operand
from ._shape import moveaxis
from ._sorting import lexsort, searchsorted

_MOST_COLUMNS = 64
"""Rows of more columns are sorted by a few at a time, as long as some are still equal: a pass a column is too much."""
_SOME_COLUMNS = 16


def _firsts(differ: ndarray, n: int) -> ndarray:
    """Where a run of equals begins, from whether each differs from the one before."""
    first = _core.empty(n, dtype=bool)
    first[:1] = True
    first[1:] = differ
    return first


def _first_of_equals(aux: ndarray, equal_nan: Any) -> ndarray:
    before = aux[:-1]
    differ = aux[1:] != before
    if equal_nan and aux.dtype.kind in "fc":
        # NaNs come last: what is behind one is one, too.
        differ &= before == before
    return _firsts(differ, aux.shape[0])


def _described(
    first: ndarray, places: Any, index: Any, inverse: Any, counts: Any, shape: tuple[int, ...]
) -> tuple[Any, ...]:
    """The optional answers of `unique`, from where runs begin and the places that sort."""
    found: tuple[Any, ...] = ()
    if index:
        found += (places[first],)
    if inverse:
        numbers = _core.empty(first.shape, dtype=numpy.intp)
        numbers[places] = first.cumsum() - 1
        found += (numbers.reshape(shape),)
    if counts:
        starts = first.nonzero()[0]
        ends = _core.empty(starts.shape, dtype=numpy.intp)
        ends[:-1] = starts[1:]
        ends[-1:] = first.shape[0]
        found += (ends - starts,)
    return found


@native
def unique(
    ar: Any,
    return_index: Any = False,
    return_inverse: Any = False,
    return_counts: Any = False,
    axis: Any = None,
    *,
    equal_nan: Any = True,
    sorted: Any = True,
) -> Any:
    """As NumPy's; the values are always sorted. `return_counts` waits for their number."""
    ar = operand(ar)
    if axis is not None and ar.ndim != 1:
        return _unique_along(ar, return_index, return_inverse, return_counts, axis)
    if axis is not None:
        normalize_axis_index(axis, 1)
    flat = ar.ravel()
    places = None
    if return_index or return_inverse:
        places = _core.sorting_places(flat, 0)
        aux = flat[places]
    else:
        aux = _core.sorted(flat, 0, False)
    first = _first_of_equals(aux, equal_nan)
    values = aux[first]
    found = _described(first, places, return_index, return_inverse, return_counts, ar.shape)
    return (values, *found) if found else values


def _unique_along(ar: ndarray, index: Any, inverse: Any, counts: Any, axis: Any) -> Any:
    """Different sub-arrays, in lexicographic order."""
    if type(axis) is not int or ar.ndim == 0:
        raise Unsupported("an error that NumPy words")
    axis = normalize_axis_index(axis, ar.ndim)
    front = moveaxis(ar, axis, 0)
    rows = front.reshape(front.shape[0], -1) if front.size else front
    if not ar.size:
        raise Unsupported("no rows or no columns")
    places = _row_order(rows)
    aux = rows[places]
    first = _firsts((aux[1:] != aux[:-1]).any(axis=1), aux.shape[0])
    values = aux[first.nonzero()[0]].reshape(-1, *front.shape[1:])
    back = (
        values.swapaxes(0, axis) if axis <= 1 else values.transpose(*range(1, axis + 1), 0, *range(axis + 1, ar.ndim))
    )
    found = _described(first, places, index, inverse, counts, (aux.shape[0],))
    return (back, *found) if found else back


def _keys(rows: ndarray) -> list[Any]:
    """The columns from the last to the first. Among half floats, unlike the others, NumPy puts NaN first here."""
    columns = [rows[:, k] for k in range(rows.shape[1] - 1, -1, -1)]
    if rows.dtype != numpy.float16:
        return columns
    return [key for column in columns for key in (column, ~_core.isnan(column))]


def _row_order(rows: ndarray) -> ndarray:
    """The places that sort rows by their columns, the first of them first."""
    n, columns = rows.shape
    if columns <= _MOST_COLUMNS:
        return lexsort(_keys(rows))
    numbers: list[Any] = []
    for start in range(0, columns, _SOME_COLUMNS):
        some = rows[:, start : start + _SOME_COLUMNS]
        places = lexsort(_keys(some) + numbers)
        aux = some[places]
        differ = aux[1:] != aux[:-1]
        if aux.dtype.kind in "fc":
            # In order, though not in value, NaN equals NaN.
            nan = _core.isnan(aux)
            differ = differ & ~(nan[1:] & nan[:-1])
        differ = differ.any(axis=1)
        if numbers:
            before = numbers[0][places]
            differ = differ | (before[1:] != before[:-1])
        first = _firsts(differ, n)
        if first.all():
            return places
        ranks = _core.empty(n, dtype=numpy.intp)
        ranks[places] = first.cumsum() - 1
        numbers = [ranks]
    return places


@native
def unique_all(x: Any, /) -> Any:
    return _numpy_sets.UniqueAllResult(*unique(operand(x), True, True, True, equal_nan=False))


@native
def unique_counts(x: Any, /) -> Any:
    return _numpy_sets.UniqueCountsResult(*unique(operand(x), return_counts=True, equal_nan=False))


@native
def unique_inverse(x: Any, /) -> Any:
    return _numpy_sets.UniqueInverseResult(*unique(operand(x), return_inverse=True, equal_nan=False))


@native
def unique_values(x: Any, /) -> Any:
    """As NumPy's; the values are sorted."""
    return unique(operand(x), equal_nan=False)


for _function in (unique_all, unique_counts, unique_inverse, unique_values):
    # The signature that NumPy shows, though its argument has no name there, either.
    _function.__wrapped__.__wrapped__ = getattr(numpy, _function.__name__)  # type: ignore[attr-defined]


@native
def union1d(ar1: Any, ar2: Any) -> Any:
    return unique(concatenate([a if type(a) in PYTHONS else operand(a) for a in (ar1, ar2)], axis=None))


@native
def intersect1d(ar1: Any, ar2: Any, assume_unique: Any = False, return_indices: Any = False) -> Any:
    ar1, ar2 = operand(ar1), operand(ar2)
    if assume_unique:
        ar1, ar2 = ar1.ravel(), ar2.ravel()
    elif return_indices:
        (ar1, own1), (ar2, own2) = unique(ar1, return_index=True), unique(ar2, return_index=True)
    else:
        ar1, ar2 = unique(ar1), unique(ar2)
    both = concatenate((ar1, ar2))
    if not return_indices:
        aux = _core.sorted(both, 0, False)
        return aux[:-1][aux[1:] == aux[:-1]]
    places = _core.sorting_places(both, 0)
    aux = both[places]
    shared = aux[1:] == aux[:-1]
    in1, in2 = places[:-1][shared], places[1:][shared] - ar1.shape[0]
    if not assume_unique:
        in1, in2 = own1[in1], own2[in2]
    return aux[:-1][shared], in1, in2


@native
def setxor1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    if assume_unique:
        ar1, ar2 = (a if type(a) in PYTHONS else operand(a) for a in (ar1, ar2))
    else:
        ar1, ar2 = unique(operand(ar1)), unique(operand(ar2))
    both = concatenate((ar1, ar2), axis=None)
    n = both.shape[0]
    if n == 0:
        return both
    aux = _core.sorted(both, 0, False)
    edge = _core.empty(n + 1, dtype=bool)
    edge[:1] = True
    edge[n:] = True
    edge[1:n] = aux[1:] != aux[:-1]
    return aux[edge[1:] & edge[:-1]]


@native
def setdiff1d(ar1: Any, ar2: Any, assume_unique: Any = False) -> Any:
    ar1, ar2 = operand(ar1), operand(ar2)
    if assume_unique:
        ar1 = ar1.ravel()
    else:
        ar1, ar2 = unique(ar1), unique(ar2)
    return ar1[isin(ar1, ar2, assume_unique=True, invert=True)]


_TABLE = 6
"""A table of truths may have so many times the elements of both arrays."""

_FEW = 16
"""So many comparisons, one pass over the elements, take less than a table or a search."""


@native
def isin(element: Any, test_elements: Any, assume_unique: Any = False, invert: Any = False, *, kind: Any = None) -> Any:
    element, tests = operand(element), operand(test_elements).ravel()
    if element.ndim > 1 and not element.flags.c_contiguous:
        # The answer lies in C order, however the elements do.
        return isin(element.ravel(), tests, assume_unique, invert, kind=kind).reshape(element.shape)
    integers = element.dtype.kind in "biu" and tests.dtype.kind in "biu"
    if kind not in (None, "sort", "table") or (kind == "table" and not integers):
        raise Unsupported("an error that NumPy words")
    if not element.size or not tests.size:
        none = _core.empty(element.shape, dtype=bool)
        none[...] = bool(invert)
        return none
    found: Any = None
    few = element.ndim and tests.size <= _FEW and kind != "table"
    if integers and not few and kind != "sort" and "uint64" not in (element.dtype.name, tests.dtype.name):
        found = _in_table(element, tests, kind == "table")
    if few:
        found = functools.reduce(operator.or_, (element == tests[i : i + 1] for i in range(tests.size)))
    if found is None:
        common = numpy.promote_types(element.dtype, tests.dtype)
        ordered = _core.sorted(tests.astype(common, copy=False), 0, False)
        places = searchsorted(ordered, element)
        found = ordered[_core.minimum(places, tests.size - 1)] == element
    return operand(_core.logical_not(found) if invert else found)


@functools.cache
def _memory() -> int:
    """The bytes of this machine's memory; where they cannot be told, as many as there may be."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return 1 << 63


def _in_table(element: ndarray, tests: ndarray, asked: bool) -> Any:
    """By a truth for every integer between the smallest and the largest, if those are not too many."""
    given = numpy.uint8 if tests.dtype.kind == "b" else tests.dtype
    tests = tests.astype(numpy.int64, copy=False)
    low, high = tests.min(), tests.max()
    low, high = int(low), int(high)
    if asked and high - low > numpy.iinfo(given).max:
        raise Unsupported("an error that NumPy words")
    if asked and high - low > _memory():
        # NumPy asks for it, and where systems promise more than they have, they end the process that uses it.
        raise numpy._core._exceptions._ArrayMemoryError((high - low + 1,), numpy.dtype(bool))  # type: ignore[attr-defined]
    if high - low > _TABLE * (element.size + tests.size) and not asked:
        return None
    table = _core.empty(high - low + 1, dtype=bool)
    table[...] = False
    table[tests - low] = True
    wide = element.astype(numpy.int64, copy=False)
    return table[_core.minimum(_core.maximum(wide, low), high) - low] & (wide >= low) & (wide <= high)
