"""Eight truth values in a byte, and back."""

from __future__ import annotations

from typing import Any

import numpy

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native
from ._operands import normalize_axis_index, operand


def _last(a: ndarray, axis: Any) -> tuple[ndarray, int]:
    """The array with the packed axis last, and where that axis was."""
    if axis is None:
        return a.ravel(), 0
    if a.ndim == 0:
        raise Unsupported("an error that NumPy words")
    axis = normalize_axis_index(axis, a.ndim)
    return a.swapaxes(axis, -1), axis


def _shifts(bitorder: Any) -> range:
    if bitorder not in ("big", "little"):
        raise Unsupported("an error that NumPy words")
    return range(7, -1, -1) if bitorder == "big" else range(8)


@native
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    a = operand(a)
    if a.dtype.kind not in "biu":
        raise Unsupported("an error that NumPy words")
    bits, axis = _last(a, axis)
    shifts = _shifts(bitorder)
    bits = bits != 0
    count = bits.shape[-1]
    made = _core.zeros((*bits.shape[:-1], (count + 7) // 8), dtype=numpy.uint8)
    for place, shift in enumerate(shifts):
        part = bits[..., place::8].astype(numpy.uint8)
        if part.shape[-1]:
            into = made[..., : part.shape[-1]]
            into |= part << shift
    return made.swapaxes(axis, -1)


@native
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    a = operand(a)
    if a.dtype != numpy.uint8 or not (count is None or isinstance(count, int)):
        raise Unsupported("an error that NumPy words")
    packed, axis = _last(a, axis)
    shifts = _shifts(bitorder)
    have = packed.shape[-1] * 8
    wanted = have if count is None else count if count >= 0 else have + count
    if wanted < 0:
        raise Unsupported("an error that NumPy words")
    made = _core.empty((*packed.shape[:-1], max(have, wanted)), dtype=numpy.uint8)
    made[..., have:] = 0
    for place, shift in enumerate(shifts):
        made[..., place:have:8] = (packed >> shift) & 1
    return (made[..., :wanted] if made.shape[-1] != wanted else made).swapaxes(axis, -1)
