"""`choice`: places are drawn, and the elements taken from there."""

from __future__ import annotations

import math
from typing import Any

import numpy

from numloom._core import Scalar, Unsupported, adopt_numpy, draw_sample, is_ours, to_numpy
from numloom._creation import asarray
from numloom._indexing import take
from numloom.random._orders import order


def population(a: Any, axis: int) -> tuple[Any, int]:
    """The array to choose from (none for an integer), and how many there are."""
    if isinstance(a, int | numpy.integer) and not isinstance(a, bool):
        return None, int(a)
    a = asarray(a)
    if not is_ours(a) or a.ndim == 0 or not -a.ndim <= axis < a.ndim:
        raise Unsupported("a")
    return a, a.shape[axis]


def cumulated(p: Any, count: int) -> Any:
    """The distribution function of the probabilities."""
    p = to_numpy(p) if is_ours(p) else p
    widest = numpy.sqrt(numpy.finfo(numpy.float64).eps)
    if isinstance(p, numpy.ndarray) and numpy.issubdtype(p.dtype, numpy.floating):
        widest = max(widest, numpy.sqrt(numpy.finfo(p.dtype).eps))
    p = numpy.asarray(p)
    if p.dtype.kind not in "biuf" or p.ndim != 1 or p.size != count:
        raise Unsupported("p")
    p = p.astype(numpy.float64)
    total = math.fsum(p)
    # Near the limit, how the sum was rounded decides.
    if not abs(total - 1.0) < widest * 0.999 or (p < 0).any():
        raise Unsupported("p")
    cumulated = p.cumsum()
    cumulated /= cumulated[-1]
    return cumulated


def shape_of(size: Any) -> tuple[int, ...]:
    """A plain size as a shape; NumPy takes some others, and words what is none."""
    if size is None:
        return ()
    shape = tuple(size) if isinstance(size, (list, tuple)) else (size,)
    if not all(isinstance(n, (int, numpy.integer)) and not isinstance(n, bool) and n >= 0 for n in shape):
        raise Unsupported("size")
    return tuple(int(n) for n in shape)


def taken(a: Any, places: Any, size: Any, axis: int) -> Any:
    """What stands at the places; `size` none means one of it."""
    if size is None:
        places = int(places)
    if a is None:
        return places
    if size is None:
        found = take(a, places, axis=axis)
        return to_numpy(found)[()] if isinstance(found, Scalar) else found
    if places.ndim == 0 and a.ndim == 1:
        raise Unsupported("a 0-d array")
    return take(a, places, axis=axis)


def with_probabilities(uniforms: Any, function: Any) -> Any:
    places = adopt_numpy(function).searchsorted(uniforms, side="right")
    return places


def without_replacement(stream: Any, count: int, shape: tuple[int, ...], shuffled: bool | None) -> Any:
    """Different places. `shuffled` none: as `RandomState` does it, by a whole permutation."""
    wanted = math.prod(shape)
    if wanted > count:
        raise Unsupported("too many")
    if shuffled is None:
        places = order(stream, count)[:wanted]
    else:
        places = draw_sample(stream, count, wanted, shuffled)
    return places.reshape(shape)
