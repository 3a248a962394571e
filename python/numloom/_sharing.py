"""Whether arrays share memory: asked of NumPy about where they lie, without their contents."""

from __future__ import annotations

from typing import Any

import numpy

from ._core import Scalar, is_ours, ndarray, place_of, spans_meet, to_numpy
from ._fallback import direct

# Where a store begins in the descriptions: any address will do, as nothing is read there.
_ORIGIN = 1 << 40


class _Lies:
    """An array as NumPy's questions about memory know it."""

    def __init__(self, x: ndarray, offset: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "shape": x.shape,
            "strides": x.strides,
            "typestr": x.dtype.str,
            "data": (_ORIGIN + offset, True),
        }


def _told(a: Any, b: Any) -> tuple[Any, Any] | None:
    """Both as NumPy arrays over the places they have, not over memory; None if they have nothing in common."""
    if type(a) is Scalar or type(b) is Scalar:
        return None
    if not is_ours(a) or not is_ours(b):
        return tuple(to_numpy(x) if is_ours(x) else x for x in (a, b))  # type: ignore[return-value]
    (store, from_a, foreign), (other, from_b, also) = place_of(a), place_of(b)
    if store == other:
        return numpy.asarray(_Lies(a, from_a)), numpy.asarray(_Lies(b, from_b))
    if foreign or also:
        # What lies in memory of another library may lie there twice.
        return to_numpy(a), to_numpy(b)
    return None


def shares_memory(a: Any, b: Any, /, max_work: Any = -1) -> bool:
    told = _told(a, b)
    return False if told is None else numpy.shares_memory(*told, max_work=max_work)


def may_share_memory(a: Any, b: Any, /, max_work: Any = 0) -> bool:
    met = spans_meet(a, b) if type(max_work) is int and max_work == 0 else None
    if met is not None:
        return met
    told = _told(a, b)
    return False if told is None else numpy.may_share_memory(*told, max_work=max_work)


for _function in (shares_memory, may_share_memory):
    direct(_function)
