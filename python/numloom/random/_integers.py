"""Bounded integers: limits checked as NumPy checks them, then drawn from the stream."""

from __future__ import annotations

from typing import Any

import numpy

from numloom._core import BitStream, Unsupported, draw_integers

_LIMITS = {d: (int(numpy.iinfo(d).min), int(numpy.iinfo(d).max)) for d in map(numpy.dtype, "bhilqBHILQ")}
_LIMITS[numpy.dtype(bool)] = (0, 1)
_INT64 = numpy.dtype(numpy.int64)
_INTEGERS = (int, numpy.integer)


def integers(stream: BitStream, low: Any, high: Any, size: Any, dtype: Any, closed: bool, masked: bool) -> Any:
    """Integers from `low` up to `high`, which is one of them if `closed`."""
    if high is None:
        low, high = 0, low
    descr = _INT64 if dtype is int or dtype is numpy.int64 else numpy.dtype(dtype)
    limits = _LIMITS.get(descr)
    if limits is None or not isinstance(low, _INTEGERS) or not isinstance(high, _INTEGERS):
        raise Unsupported("not two integers")
    first, last = int(low), int(high) - (not closed)
    if first < limits[0] or last > limits[1] or first > last:
        raise Unsupported("out of bounds")
    drawn = draw_integers(stream, first, last - first, descr, masked, size)
    return dtype(drawn) if size is None and (dtype is int or dtype is bool) else drawn
