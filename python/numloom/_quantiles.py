"""Medians, percentiles and quantiles: order statistics found without sorting, and what lies between them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native
from ._indexing import take_along_axis
from ._operands import NoValue, is_array, is_foreign, normalize_axis_tuple, operand, target
from ._shape import moveaxis
from ._sorting import searchsorted

Host = numpy.ndarray[Any, Any]

_FEW = 12
"""More statistics than this are read from a sorted copy."""


def _between(alpha: float, beta: float) -> Callable[[Any, Any], Any]:
    return lambda n, q: n * q + (alpha + q * (1 - alpha - beta)) - 1


def _step(shift: float, stays: Callable[[Host, Host], Host]) -> Callable[[Any, Any], Any]:
    """A place of the sample: the one below the index where `stays`, else the next."""

    def place(n: Any, q: Any) -> Host:
        index = numpy.asarray(n * q - 1 - shift)
        below = numpy.floor(index)
        found = numpy.where(stays(index - below, below), below, below + 1)
        return numpy.maximum(found.astype(numpy.intp), 0)

    return place


# How far along the sorted sample each method looks, and how it weighs the two neighbours: the share of the later one,
# from its distance and the index. None where the index is itself a place.
_METHODS: dict[str, tuple[Callable[[Any, Any], Any], Callable[[Host, Host], Host] | None]] = {
    "inverted_cdf": (_step(0, lambda share, below: share == 0), None),
    "averaged_inverted_cdf": (lambda n, q: n * q - 1, lambda share, index: numpy.where(share == 0, 0.5, 1.0)),
    "closest_observation": (_step(0.5, lambda share, below: (share == 0) & (below % 2 == 1)), None),
    "interpolated_inverted_cdf": (_between(0, 1), lambda share, index: share),
    "hazen": (_between(0.5, 0.5), lambda share, index: share),
    "weibull": (_between(0, 0), lambda share, index: share),
    "linear": (lambda n, q: (n - 1) * q, lambda share, index: share),
    "median_unbiased": (_between(1 / 3, 1 / 3), lambda share, index: share),
    "normal_unbiased": (_between(3 / 8, 3 / 8), lambda share, index: share),
    "lower": (lambda n, q: numpy.floor((n - 1) * q).astype(numpy.intp), None),
    "higher": (lambda n, q: numpy.ceil((n - 1) * q).astype(numpy.intp), None),
    "midpoint": (
        lambda n, q: 0.5 * (numpy.floor((n - 1) * q) + numpy.ceil((n - 1) * q)),
        lambda share, index: numpy.where(index % 1 == 0, 0.0, 0.5),
    ),
    "nearest": (lambda n, q: numpy.around((n - 1) * q).astype(numpy.intp), None),
}


def _neighbours(method: str, n: Any, q: Host) -> tuple[Host, Host, Host | None]:
    """For each quantile of samples of `n`: the places before and after it, and the share of the one after."""
    if method not in _METHODS:
        raise Unsupported("an error that NumPy words")
    find, weigh = _METHODS[method]
    index = numpy.asarray(find(n, q))
    if weigh is None or (method == "linear" and index.dtype.kind in "iu"):
        return index, index, None
    before = numpy.floor(index)
    after = before + 1
    above, below = index >= n - 1, index < 0
    last = numpy.broadcast_to(numpy.asarray(n - 1), index.shape)
    before = numpy.where(below, 0, numpy.where(above, last, before)).astype(numpy.intp)
    after = numpy.where(below, 0, numpy.where(above, last, after)).astype(numpy.intp)
    # Beyond the ends NumPy counts the distance from a place of -1; both neighbours are the same there.
    share = index - numpy.where(above, -1, before)
    return before, after, weigh(share, index).astype(index.dtype, copy=False)


@functools.lru_cache(maxsize=256)
def _places(
    method: str, n: int, shape: tuple[int, ...], dtype: numpy.dtype[Any], shares: bytes
) -> tuple[list[int], Host, Host, Host | None]:
    """The places that the quantiles lie between, which of them are before and after each, and `_neighbours`' share.

    Programs ask for the same quantiles of arrays of the same length.
    """
    before, after, share = _neighbours(method, n, numpy.frombuffer(shares, dtype).reshape(shape))
    # The last place tells whether there is NaN.
    places = numpy.unique(numpy.concatenate((before.ravel(), after.ravel(), [n - 1])))
    return places.tolist(), numpy.searchsorted(places, before), numpy.searchsorted(places, after), share


def _statistics(a: ndarray, places: list[int]) -> ndarray:
    """The elements of the first axis that a sort would put at these places, along a first axis of their own."""
    if len(places) <= _FEW and a.dtype.kind != "c":
        return _core.order_statistics(a, 0, places)
    return _core.sorted(a, 0, False)[numpy.array(places)]


def _mix(before: Any, after: Any, share: Any) -> Any:
    """A share of the way between two values, counted from the nearer end."""
    apart = after - before
    if isinstance(share, float):
        return after - apart * (1 - share) if share >= 0.5 else before + apart * share
    return _core.where(share >= 0.5, after - apart * _core.asarray(1 - share), before + apart * _core.asarray(share))


def _mix_weakly(before: Any, after: Any, share: Host) -> Any:
    """`_mix` where each share is a number of Python's, so that the values keep their type."""
    apart, kind = after - before, after.dtype
    late = after - apart * _core.asarray((1 - share).astype(kind))
    return _core.where(share >= 0.5, late, before + apart * _core.asarray(share.astype(kind)))


def _axes(a: ndarray, axis: Any) -> tuple[int, ...]:
    return tuple(range(a.ndim)) if axis is None else normalize_axis_tuple(axis, a.ndim)


def _sampled(a: ndarray, axis: Any) -> tuple[ndarray, tuple[int, ...]]:
    """The array with the reduced axes in one, in front, and which they were."""
    if axis is None:
        return a.reshape(-1), tuple(range(a.ndim))
    axes = normalize_axis_tuple(axis, a.ndim)
    if len(axes) == 1:
        return (a if axes[0] == 0 else moveaxis(a, axes[0], 0)), axes
    kept = [i for i in range(a.ndim) if i not in axes]
    moved = a.transpose(*axes, *kept)
    return moved.reshape(-1, *(a.shape[i] for i in kept)), axes


def _finished(found: Any, lead: int, axes: tuple[int, ...], ndim: int, keepdims: Any, out: Any) -> Any:
    """The result in its place: with the reduced axes kept after the `lead` first ones, in `out` if there is one."""
    if keepdims and keepdims is not NoValue:
        index: list[Any] = [slice(None)] * lead
        found = found[(*index, *(None if i in axes else slice(None) for i in range(ndim)))]
    if out is None:
        return found[()] if found.ndim == 0 else found
    if out.shape != found.shape or out.dtype != found.dtype:
        raise Unsupported("an output of another type, which NumPy computes in, or an error that it words")
    out[...] = found
    return out


def _check_overwritten(a: Any, overwrite_input: Any) -> None:
    """NumPy refuses to overwrite what is read-only."""
    if overwrite_input and hasattr(a, "flags") and not a.flags.writeable:
        raise Unsupported("an error that NumPy words")


def _real(a: Any) -> ndarray:
    return _ordered(a, "iuf")


def _ordered(a: Any, kinds: str) -> ndarray:
    a = operand(a)
    if a.dtype.kind not in kinds or a.ndim == 0 or not a.size:
        raise Unsupported("no order, nothing to choose from, or an error that NumPy words")
    return a


@native
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = False) -> Any:
    """As NumPy's; `overwrite_input` is allowed and overwrites nothing."""
    _check_overwritten(a, overwrite_input)
    a, out = _ordered(a, "iufc"), target(out)
    flat, axes = _sampled(a, axis)
    found = _median(flat)
    if found.ndim > 1 and len(axes) == 1 and out is None:
        found = _laid_like(found, [step for i, step in enumerate(a.strides) if i != axes[0]])
    return _finished(found, 0, axes, a.ndim, keepdims, out)


def _laid_like(found: ndarray, steps: list[int]) -> ndarray:
    """With its axes in memory in the order of these steps, as NumPy's median is made."""
    order = sorted(range(found.ndim), key=lambda axis: -abs(steps[axis]))
    if order == list(range(found.ndim)):
        return found
    return found.transpose(order).copy().transpose([order.index(axis) for axis in range(found.ndim)])


def _median(a: ndarray) -> Any:
    n = a.shape[0]
    middle = [n // 2] if n % 2 else [n // 2 - 1, n // 2]
    floating = a.dtype.kind in "fc"
    found = _statistics(a, middle + [n - 1] * floating)
    mean = operand(found[: len(middle)].mean(axis=0))
    if not floating:
        return mean
    # The largest is NaN if there is one.
    return _core.where(_core.isnan(found[-1]), found[-1], mean)


def _shares(q: Any, hundred: bool) -> tuple[Host, bool]:
    """The quantiles as NumPy takes them, and whether they leave the type of the result alone."""
    if is_foreign(q):
        raise Unsupported("an array of another class")
    weak = type(q) in (int, float)
    q = _core.to_numpy(q) if is_array(q) else q
    made = numpy.asanyarray(numpy.true_divide(q, 100) if hundred else q)
    if made.ndim > 2 or made.dtype.kind not in "iuf" or not (made.size == 0 or (made.min() >= 0 and made.max() <= 1)):
        raise Unsupported("an error that NumPy words")
    if made.dtype == numpy.uint64:
        raise Unsupported("places that NumPy's arithmetic makes floats")
    return made, weak


@native
def quantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """As NumPy's; `overwrite_input` is allowed and overwrites nothing."""
    _check_overwritten(a, overwrite_input)
    return _quantile(a, _shares(q, False), axis, target(out), method, keepdims, weights)


@native
def percentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = False,
    *,
    weights: Any = None,
) -> Any:
    """As NumPy's; `overwrite_input` is allowed and overwrites nothing."""
    _check_overwritten(a, overwrite_input)
    return _quantile(a, _shares(q, True), axis, target(out), method, keepdims, weights)


def _quantile(a: Any, shares: tuple[Host, bool], axis: Any, out: Any, method: Any, keepdims: Any, weights: Any) -> Any:
    a, (q, weak) = _real(a), shares
    if not q.size:
        raise Unsupported("no quantiles")
    if weights is not None:
        if method != "inverted_cdf":
            raise Unsupported("an error that NumPy words")
        if axis is not None:
            axis = normalize_axis_tuple(axis, a.ndim, "axis")
        found, axes, nan = _weighted(a, operand(weights), q, axis)
        made = _finished(found, q.ndim, axes, a.ndim, keepdims, out)
        # NumPy answers an array here, even of no dimensions, but for the NaN that it found last.
        return made if found.ndim == 0 and nan.any() else operand(made)
    flat, axes = _sampled(a, axis)
    n = flat.shape[0]
    find = _places if q.size <= _FEW else _places.__wrapped__
    places, before, after, share = find(method, n, q.shape, q.dtype, q.tobytes())
    found = _statistics(flat, places)
    lower = found[before]
    if share is None:
        result = operand(lower)
    else:
        upper = found[after]
        lengthened = share.reshape(share.shape + (1,) * (flat.ndim - 1))
        result = operand(_mix(lower, upper, float(share) if weak else lengthened))
    if flat.dtype.kind == "f":
        last = found[-1]
        if result.ndim == 0 and result.dtype != last.dtype and out is None and _core.isnan(last):
            # NumPy's answer then is this element, in the type of the elements.
            result = operand(last)
        else:
            result = _core.where(_core.isnan(last), last.astype(result.dtype), result)
    return _finished(result, q.ndim, axes, a.ndim, keepdims, out)


def _weighted(a: ndarray, weights: ndarray, q: Host, axis: Any) -> tuple[Any, tuple[int, ...], Any]:
    """Where the weights of what is smaller first reach each share of all weights, the axes that went, where NaN is."""
    flat, axes = _sampled(a, axis)
    along = len(axes) == 1 and weights.shape == (a.shape[axes[0]],)
    if weights.dtype.kind not in "iuf" or not (along or weights.shape == a.shape):
        raise Unsupported("an error that NumPy words")
    places = _core.sorting_places(flat, 0)
    ordered = take_along_axis(flat, places, 0)
    weights = weights[places] if along else take_along_axis(_sampled(weights, axis)[0], places, 0)
    reached = weights.cumsum(axis=0, dtype=numpy.float64)
    total = reached[-1]
    if (weights < 0).any() or not _core.isfinite(total).all() or (total == 0).any():
        raise Unsupported("an error that NumPy words")
    reached = reached / total
    if q.dtype.kind == "f":
        reached = reached.astype(q.dtype, copy=False)
    # Zero weights in front are passed over.
    reached = _core.where(reached == 0, -1, reached)
    if flat.ndim == 1:
        found = ordered[_core.minimum(searchsorted(reached, q), flat.shape[0] - 1)]
    else:
        # As many as have not reached it stand in front.
        short = reached < _core.asarray(q.reshape(-1, *(1,) * flat.ndim))
        found = take_along_axis(ordered, _core.minimum(short.sum(axis=1), flat.shape[0] - 1), 0)
        found = found.reshape(q.shape + flat.shape[1:])
    nan = _core.isnan(ordered[-1])
    if a.dtype.kind == "f":
        found = _core.where(nan, ordered[-1], found)
    return operand(found), axes, nan


def _without_nan(a: ndarray) -> ndarray:
    kept = a[~_core.isnan(a)]
    if not kept.size:
        raise Unsupported("a warning that NumPy words")
    return kept


def _sorted_lanes(a: ndarray, axis: Any) -> tuple[ndarray, Host, tuple[int, ...]]:
    """Lanes sorted along the first axis, NaN last, and how many numbers each has."""
    flat, axes = _sampled(a, axis)
    counts = _core.to_numpy((~_core.isnan(flat)).sum(axis=0))
    if not flat.size or not counts.all():
        raise Unsupported("a warning that NumPy words")
    return _core.sorted(flat, 0, False), counts, axes


@native
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: Any = False, keepdims: Any = NoValue) -> Any:
    """As NumPy's; `overwrite_input` is allowed and overwrites nothing. Waits for where NaN is."""
    _check_overwritten(a, overwrite_input)
    a, out = _real(a), target(out)
    if a.dtype.kind != "f":
        flat, axes = _sampled(a, axis)
        return _finished(_median(flat), 0, axes, a.ndim, keepdims, out)
    if len(axes := _axes(a, axis)) == a.ndim:
        return _finished(_median(_without_nan(a)), 0, axes, a.ndim, keepdims, out)
    ordered, counts, axes = _sorted_lanes(a, axis)
    middles = _core.asarray(numpy.stack(((counts - 1) // 2, counts // 2)))
    both = take_along_axis(ordered, middles, 0)
    result = _core.where(both[0] == both[1], both[0], both.mean(axis=0))
    return _finished(result, 0, axes, a.ndim, keepdims, out)


@native
def nanquantile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = NoValue,
    *,
    weights: Any = None,
) -> Any:
    """As NumPy's; `overwrite_input` is allowed and overwrites nothing. Waits for where NaN is."""
    _check_overwritten(a, overwrite_input)
    return _nanquantile(a, _shares(q, False), axis, target(out), method, keepdims, weights)


@native
def nanpercentile(
    a: Any,
    q: Any,
    axis: Any = None,
    out: Any = None,
    overwrite_input: Any = False,
    method: Any = "linear",
    keepdims: Any = NoValue,
    *,
    weights: Any = None,
) -> Any:
    """As NumPy's; `overwrite_input` is allowed and overwrites nothing. Waits for where NaN is."""
    _check_overwritten(a, overwrite_input)
    return _nanquantile(a, _shares(q, True), axis, target(out), method, keepdims, weights)


def _nanquantile(
    a: Any, shares: tuple[Host, bool], axis: Any, out: Any, method: Any, keepdims: Any, weights: Any
) -> Any:
    a, (q, weak) = _real(a), shares
    if weights is not None or not q.size:
        raise Unsupported("weights beside NaN")
    axes = _axes(a, axis)
    turned = q.ndim == 2 and len(axes) not in (1, a.ndim)
    if a.dtype.kind != "f" and not turned:
        return _quantile(a, shares, axis, out, method, keepdims, None)
    if a.dtype.kind != "f":
        result = operand(_quantile(a, shares, axis, None, method, False, None))
    elif len(axes) == a.ndim:
        result = operand(_quantile(_without_nan(a), shares, None, None, method, False, None))
    else:
        result = _of_lanes(*_sorted_lanes(a, axis)[:2], q, weak, method)
    if turned:
        # The first of the quantiles' axes comes last where NumPy has put several axes into one.
        result = result.transpose(*range(1, result.ndim), 0)
    return _finished(result, q.ndim, axes, a.ndim, keepdims, out)


def _of_lanes(ordered: ndarray, counts: Host, q: Host, weak: bool, method: Any) -> ndarray:
    """The quantiles of sorted lanes, of which the first `counts` elements are numbers."""
    before, after, share = _neighbours_of_lanes(method, counts, q.ravel())
    result = take_along_axis(ordered, _core.asarray(before), 0)
    if share is not None:
        mix = _mix_weakly if weak else _mix
        result = operand(mix(result, take_along_axis(ordered, _core.asarray(after), 0), share))
    return result.reshape(q.shape + counts.shape)


def _neighbours_of_lanes(method: str, counts: Host, q: Host) -> tuple[Host, Host, Host | None]:
    """`_neighbours`, for lanes of these many numbers each."""
    if q.dtype.kind != "f" or q.dtype == numpy.float64:
        return _neighbours(method, counts, q.reshape(-1, *(1,) * counts.ndim))
    # Beside an array of counts these quantiles would not keep their precision.
    different, which = numpy.unique(counts, return_inverse=True)
    found = zip(*[_neighbours(method, int(n), q) for n in different])
    which = which.reshape(counts.shape)
    before, after, share = (None if each[0] is None else numpy.stack(each, axis=1)[:, which] for each in found)
    return before, after, share  # type: ignore[return-value]
