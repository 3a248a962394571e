"""Sorting, partitioning and searching in what is sorted.

Everything is sorted stably, whatever `kind` says, so that `argsort` tells ties apart by where they stand.
"""

from __future__ import annotations

from typing import Any

import numpy
from numpy._core.multiarray import _monotonicity

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native, on_host
from ._indexing import take_along_axis
from ._operands import normalize_axis_index, operand
from ._shape import flip

_STABLE = {"quicksort": False, "heapsort": False, "mergesort": True, "stable": True}


def _is_stable(kind: Any, order: Any, stable: Any) -> bool:
    """What `kind` and its relatives ask for; NumPy words what is wrong with them."""
    if order is not None or (kind is not None and stable is not None):
        raise Unsupported("fields, or an error that NumPy words")
    if kind is not None:
        if type(kind) is not str or kind not in _STABLE:
            raise Unsupported("a kind that NumPy knows or not")
        return _STABLE[kind]
    if stable is not None and type(stable) is not bool:
        raise Unsupported("a flag that NumPy reads")
    return bool(stable)


def along(a: ndarray, axis: Any) -> tuple[ndarray, int]:
    """The array and one of its axes; all of its elements for None. Scalars have none."""
    if axis is None:
        return a.ravel(), 0
    if type(axis) is not int or a.ndim == 0:
        raise Unsupported("an axis that NumPy reads")
    return a, normalize_axis_index(axis, a.ndim)


@native
def sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    """NumPy's `sort`, and `descending` as in the array API standard."""
    if descending:
        done = sort(a, axis, kind, order, stable=stable)
        return flip(done, -1 if axis is None else axis)
    held = _is_stable(kind, order, stable)
    a, axis = along(operand(a), axis)
    return _core.sorted(a, axis, held)


@native
def argsort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: bool = False
) -> Any:
    """NumPy's `argsort`, and `descending` as in the array API standard: equal elements stay in their order."""
    if descending:
        a, axis = (operand(a).ravel(), -1) if axis is None else (operand(a), axis)
        places = flip(argsort(flip(a, axis), axis, kind, order, stable=stable), axis)
        return a.shape[axis] - 1 - places
    _is_stable(kind, order, stable)
    a, axis = along(operand(a), axis)
    return _core.sorting_places(a, axis)


@native
def sort_complex(a: Any) -> Any:
    a = operand(a)
    done = sort(a)
    if a.dtype.kind == "c":
        return done
    return done.astype("F" if a.dtype.char in "bhBH" else "D")


@native
def lexsort(keys: Any, axis: Any = -1) -> Any:
    if not isinstance(keys, (tuple, list, ndarray)) or (type(keys) is ndarray and keys.ndim == 0) or len(keys) == 0:
        raise Unsupported("keys that NumPy reads")
    plain = type(keys) in (tuple, list) and {ndarray}.issuperset(map(type, keys))
    each: Any = keys if plain else [operand(keys[i]) for i in range(len(keys))]
    if each[0].ndim == 0 or type(axis) is not int or len({key.shape for key in each}) != 1:
        raise Unsupported("scalars, or an error that NumPy words")
    axis = normalize_axis_index(axis, each[0].ndim)
    places = argsort(each[0], axis)
    for key in each[1:]:
        # Stable, so that ties stay as the keys before have put them.
        next_places = argsort(_taken(key, places, axis), axis)
        places = _taken(places, next_places, axis)
    return places


def _taken(x: ndarray, places: ndarray, axis: int) -> ndarray:
    return x[places] if x.ndim == 1 else take_along_axis(x, places, axis)


def _kth(kth: Any, n: int) -> list[int]:
    """The places to put right, counted from the front; NumPy words what is wrong with them."""
    if type(kth) is int and -n <= kth < n:
        return [kth % n]
    if isinstance(kth, (ndarray, numpy.ndarray)):
        if kth.ndim > 1 or kth.dtype.kind not in "iu":
            raise Unsupported("an error that NumPy words")
        kth = kth.tolist()
    wanted = list(kth) if isinstance(kth, (list, tuple)) else [kth]
    if not wanted or any(type(k) is not int or not -n <= k < n for k in wanted):
        raise Unsupported("an error that NumPy words")
    return [k % n for k in wanted]


def _partition_of(a: ndarray, kth: Any, axis: Any, kind: Any, order: Any) -> tuple[ndarray, int, list[int]]:
    if kind != "introselect" or order is not None:
        raise Unsupported("fields, or an error that NumPy words")
    a, axis = along(a, axis)
    return a, axis, _kth(kth, a.shape[axis])


@native
def partition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    a, axis, wanted = _partition_of(operand(a), kth, axis, kind, order)
    return _core.partitioned(a, axis, wanted)


@native
def argpartition(a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> Any:
    a, axis, wanted = _partition_of(operand(a), kth, axis, kind, order)
    return _core.partitioning_places(a, axis, wanted)


@native
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    a, v = operand(a), operand(v)
    if side not in ("left", "right") or a.ndim != 1:
        raise Unsupported("an error that NumPy words")
    if sorter is not None:
        sorter = operand(sorter)
        if sorter.dtype.kind not in "iu" or sorter.shape != a.shape:
            raise Unsupported("an error that NumPy words")
        sorter = sorter.astype(numpy.intp, copy=False)
    common = numpy.promote_types(a.dtype, v.dtype)
    return _core.insertion_places(a.astype(common, copy=False), v.astype(common, copy=False), side == "right", sorter)


@native
def digitize(x: Any, bins: Any, right: Any = False) -> Any:
    x, bins = operand(x), operand(bins)
    if x.dtype.kind == "c":
        raise TypeError("x may not be complex")
    # Bins are few, and that they are in order is said in the call: NumPy says it.
    edges = _core.to_numpy(bins)
    order: Any = _monotonicity(edges)
    if order == 0 or (edges.dtype.kind == "f" and numpy.isnan(edges).any()):
        raise Unsupported("an error that NumPy words, or places among what is in no order")
    side = "left" if right else "right"
    if order < 0:
        return bins.size - searchsorted(bins[::-1], x, side)
    return searchsorted(bins, x, side)


def _sort_method(self: ndarray, /, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None) -> None:
    if axis == -1 and kind is None and order is None and stable is None and _core.sort_row(self):
        return
    try:
        held = _is_stable(kind, order, stable)
        _, at = along(self, -1 if axis is None else axis)
        if axis is None or not self.flags.writeable:
            raise Unsupported("an error that NumPy words")
        _core.sort_in_place(self, at, held)
    except Unsupported:
        on_host(numpy.ndarray.sort, "ndarray.sort", (self, axis, kind, order), {"stable": stable})


def _partition_method(self: ndarray, /, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None) -> None:
    try:
        if axis is None or not self.flags.writeable:
            raise Unsupported("an error that NumPy words")
        _, at, wanted = _partition_of(self, kth, axis, kind, order)
        _core.partition_in_place(self, at, wanted)
    except Unsupported:
        on_host(numpy.ndarray.partition, "ndarray.partition", (self, kth, axis, kind, order), {})


def _argsort_method(
    self: ndarray, /, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    if kind is None and order is None and stable is None:
        return argsort(self, axis)
    return argsort(self, axis, kind, order, stable=stable)


def _argpartition_method(
    self: ndarray, /, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    return argpartition(self, kth, axis, kind, order)


def _searchsorted_method(self: ndarray, /, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    return searchsorted(self, v, side, sorter)


METHODS = {
    "sort": _sort_method,
    "argsort": _argsort_method,
    "partition": _partition_method,
    "argpartition": _argpartition_method,
    "searchsorted": _searchsorted_method,
}
"""Methods of `ndarray`, by name."""
