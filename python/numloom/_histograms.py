"""Counting: `bincount` and the histograms. How many bins there are, and where, is known in the call, so that they wait
for the smallest and the largest element where nobody gives a range."""

from __future__ import annotations

import math
from typing import Any

import numpy
from numpy.lib import _histograms_impl

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native
from ._operands import is_array, operand
from ._sorting import searchsorted

_numpy_histograms: Any = _histograms_impl
_MOST_BINS = 1 << 27
_SAMPLE = 1 << 12


@native
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    x = operand(x)
    if x.ndim != 1 or x.dtype.kind not in "biu" or x.dtype == numpy.uint64 or type(minlength) is not int:
        raise Unsupported("an error that NumPy words")
    if weights is not None:
        weights = operand(weights)
        if weights.shape != x.shape or weights.dtype.kind == "c":
            raise Unsupported("an error that NumPy words")
        weights = weights.astype(numpy.float64, copy=False)
    if x.shape[0] == 0 or minlength < 0:
        raise Unsupported("nothing to count, or an error that NumPy words")
    # Counted in one reading, with as many bins as a sample asks for; again if they were too few.
    bins = int(x[:: max(1, x.shape[0] // _SAMPLE)].max()) + 1
    if bins > _MOST_BINS and int(x.min()) < 0:
        raise Unsupported("an error that NumPy words")
    while True:
        counts, extremes = _core.tally(x, max(bins, minlength, 1), None, weights)
        low, high = _core.to_numpy(extremes).tolist()
        if low < 0:
            raise Unsupported("an error that NumPy words")
        if high < counts.shape[0]:
            wanted = max(high + 1, minlength)
            return counts if wanted == counts.shape[0] else counts[:wanted].copy()
        bins = high + 1


def _extremes(a: ndarray) -> numpy.ndarray[Any, Any]:
    """The smallest and the largest element, which is all that equal bins depend on."""
    if not a.size:
        return numpy.empty(0, a.dtype)
    low, high = a.min(), a.max()
    return numpy.array([low, high], a.dtype)


def _on_host(x: Any) -> Any:
    return _core.to_numpy(x) if is_array(x) else x


def _edges(a: ndarray, bins: Any, range: Any, weights: Any) -> tuple[numpy.ndarray[Any, Any], bool]:
    """The edges, as NumPy finds them, and whether they are evenly apart."""
    if a.dtype.kind in "bc" or (weights is not None and weights.shape != a.shape):
        raise Unsupported("a warning or an error that NumPy words")
    bins = _on_host(bins)
    nothing = numpy.empty(0, a.dtype)
    if isinstance(bins, str):
        if weights is not None:
            raise Unsupported("an error that NumPy words")
        bins = _estimated(a, bins, range)
    elif numpy.ndim(bins) == 1:
        edges = numpy.histogram_bin_edges(nothing, bins)
        if edges.dtype.kind not in "iuf" or (edges != edges).any():
            raise Unsupported("edges without an order")
        return edges, False
    sample = nothing if range is not None else _extremes(a)
    return numpy.histogram_bin_edges(sample, bins, range), True


def _estimated(a: ndarray, rule: str, range: Any) -> int:
    """The number of equal bins by one of NumPy's rules, which look at the array through its own functions."""
    if rule not in _numpy_histograms._hist_bin_selectors:
        raise Unsupported("an error that NumPy words")
    first, last = _numpy_histograms._get_outer_edges(_extremes(a) if range is None else a, range)
    if range is not None:
        a = a[(a >= first) & (a <= last)]
    if not a.size:
        return 1
    width = float(_numpy_histograms._hist_bin_selectors[rule](a, (first, last)))
    if not width:
        return 1
    if a.dtype.kind in "iu":
        width = max(width, 1.0)
    count = math.ceil(_numpy_histograms._unsigned_subtract(last, first) / width)
    if not count:
        raise Unsupported("bins without end, of which there is none")
    return count


def _counted(a: ndarray, edges: numpy.ndarray[Any, Any], even: bool, weights: ndarray | None) -> ndarray:
    common = edges.dtype if even else numpy.promote_types(a.dtype, edges.dtype)
    if common.kind not in "iuf" or common.itemsize > 8:
        raise Unsupported("a type of NumPy's")
    own = _core.asarray(edges.astype(common, copy=False))
    bins = edges.size - 1
    if weights is None:
        return _core.tally(a, bins, own, None)
    if weights.dtype.kind == "c":
        counts = _core.empty(bins, dtype=weights.dtype)
        counts.real = _core.tally(a, bins, own, weights.real.astype(numpy.float64, copy=False))
        counts.imag = _core.tally(a, bins, own, weights.imag.astype(numpy.float64, copy=False))
        return counts
    if weights.dtype.kind not in "iuf" or (not even and weights.dtype.kind != "f" and weights.dtype.itemsize == 8):
        raise Unsupported("weights that NumPy adds up")
    counts = _core.tally(a, bins, own, weights.astype(numpy.float64, copy=False))
    return counts.astype(weights.dtype, copy=False)


@native
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    a, weights = operand(a), None if weights is None else operand(weights)
    edges, even = _edges(a, bins, range, weights)
    if edges.size < 2:
        raise Unsupported("no bins")
    counts = _counted(a, edges, even, weights)
    if density:
        widths = _core.asarray(numpy.diff(edges).astype(float))
        counts = counts / widths / counts.sum()
    return counts, _core.asarray(edges)


@native
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    edges, _ = _edges(operand(a), bins, range, None if weights is None else operand(weights))
    return _core.asarray(edges)


def _edges_of_column(column: ndarray, bins: Any, range: Any) -> numpy.ndarray[Any, Any]:
    bins = _on_host(bins)
    if numpy.ndim(bins) == 1:
        edges = numpy.asarray(bins)
        if edges.dtype.kind not in "iuf" or edges.size < 2 or not (edges[:-1] <= edges[1:]).all():
            raise Unsupported("an error that NumPy words")
        return edges
    if numpy.ndim(bins) != 0 or not isinstance(bins, (int, numpy.integer)) or bins < 1:
        raise Unsupported("an error that NumPy words")
    sample = numpy.empty(0, column.dtype) if range is not None else _extremes(column)
    first, last = _numpy_histograms._get_outer_edges(sample, range)
    return numpy.linspace(first, last, int(bins) + 1)


@native
def histogramdd(sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    if is_array(sample) or isinstance(sample, numpy.ndarray):
        sample = operand(sample)
        if sample.ndim != 2:
            raise Unsupported("a sample that NumPy reads")
        columns = [sample[:, i] for i in _python_range(sample.shape[1])]
    else:
        columns = [operand(column) for column in sample]
    d = len(columns)
    bins = _on_host(bins)
    each = list(bins) if isinstance(bins, (list, tuple)) or numpy.ndim(bins) else [bins] * d
    ranges = [None] * d if range is None else list(range)
    flat = all(c.ndim == 1 and c.shape == columns[0].shape and c.dtype.kind in "iuf" for c in columns)
    if not columns or not flat or len(each) != d or len(ranges) != d:
        raise Unsupported("an error that NumPy words")
    if weights is not None:
        weights = operand(weights)
        if weights.shape != columns[0].shape or weights.dtype.kind == "c":
            raise Unsupported("an error that NumPy words")
        weights = weights.astype(numpy.float64, copy=False)
    # As the columns of one array.
    common = numpy.result_type(*{c.dtype for c in columns})
    columns = [c.astype(common, copy=False) for c in columns]
    edges = [_edges_of_column(*given) for given in zip(columns, each, ranges)]
    if math.prod(len(e) + 1 for e in edges) > _MOST_BINS:
        raise Unsupported("more bins than there is room for on every core")
    # One bin more on either side, for what lies outside.
    place: Any = 0
    for column, own in zip(columns, edges):
        ours = _core.asarray(own)
        place = place * (len(own) + 1) + (searchsorted(ours, column, "right") - (column == own[-1]))
    shape = [len(e) + 1 for e in edges]
    counts, _ = _core.tally(place, math.prod(shape), None, weights)
    counts = counts.reshape(shape).astype(float, copy=False)
    counts = counts[(slice(1, -1),) * d]
    if density:
        total = counts.sum()
        for i, own in enumerate(edges):
            counts = counts / _core.asarray(numpy.diff(own).reshape([-1 if k == i else 1 for k in _python_range(d)]))
        counts = counts / total
    return counts, [_core.asarray(e) for e in edges]


_python_range = range


@native
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    x, y, bins = operand(x), operand(y), _on_host(bins)
    if x.ndim != 1 or x.shape != y.shape:
        raise Unsupported("an error that NumPy words")
    try:
        count = len(bins)
    except TypeError:
        count = 1
    if count not in (1, 2):
        bins = [numpy.asarray(bins)] * 2
    counts, edges = histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]
