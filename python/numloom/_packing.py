"""Eight truth values in a byte, and back."""

from __future__ import annotations

import sys
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, ndarray
from ._fallback import native
from ._operands import axis_number, normalize_axis_index, operand


def _last(a: ndarray, axis: Any) -> tuple[ndarray, int]:
    """The array with the packed axis last, and where that axis was."""
    if axis is None:
        return a.ravel(), 0
    if a.ndim == 0:
        raise Unsupported("an error that NumPy words")
    axis = normalize_axis_index(axis_number(axis), a.ndim)
    return a.swapaxes(axis, -1), axis


def _laid_out(made: ndarray, axis: int, a: ndarray) -> ndarray:
    """The result with its axis where it was; in memory as NumPy has it: Fortran's order if the operand has that."""
    made = made.swapaxes(axis, -1)
    fortran = a.flags.fnc and made.ndim > 1
    return made if made.flags["F" if fortran else "C"] else made.copy(order="F" if fortran else "C")


# Multiplied by the first, eight bytes of zero or one in a word come together in its highest byte: each factor's bits
# are so far apart that no two products meet. A byte in all eight places, masked by the second, has one bit in each.
_WORDS = {
    "big": (numpy.uint64(0x8040201008040201), numpy.uint64(0x0102040810204080)),
    "little": (numpy.uint64(0x0102040810204080), numpy.uint64(0x8040201008040201)),
}
_EVERY_BYTE = numpy.uint64(0x0101010101010101)
_BELOW_SIGN = numpy.uint64(0x7F7F7F7F7F7F7F7F)


def _words(bitorder: Any) -> tuple[numpy.uint64, numpy.uint64]:
    if bitorder not in _WORDS or sys.byteorder != "little":
        raise Unsupported("an error that NumPy words, or bytes in another order")
    return _WORDS[bitorder]


@native
def packbits(a: Any, /, axis: Any = None, bitorder: str = "big") -> Any:
    a = operand(a)
    if a.dtype.kind not in "biu":
        raise Unsupported("an error that NumPy words")
    gathering, _ = _words(bitorder)
    bits, axis = _last(a, axis)
    count = bits.shape[-1]
    if a.dtype.kind != "b":
        bits = _core.not_equal(bits, 0)
    if count % 8 or not bits.flags.c_contiguous:
        whole = _core.empty((*bits.shape[:-1], (count + 7) // 8 * 8), dtype=bool)
        whole[..., :count] = bits
        whole[..., count:] = False
        bits = whole
    packed = (bits.view(numpy.uint64) * gathering) >> numpy.uint64(56)
    return _laid_out(packed.astype(numpy.uint8), axis, a)


@native
def unpackbits(a: Any, /, axis: Any = None, count: Any = None, bitorder: str = "big") -> Any:
    a = operand(a)
    if a.dtype != numpy.uint8 or not (count is None or isinstance(count, int)):
        raise Unsupported("an error that NumPy words")
    _, one_each = _words(bitorder)
    packed, axis = _last(a, axis)
    have = packed.shape[-1] * 8
    wanted = have if count is None else count if count >= 0 else have + count
    if wanted < 0:
        raise Unsupported("an error that NumPy words")
    spread = (packed.astype(numpy.uint64, order="C") * _EVERY_BYTE) & one_each
    bits = (((spread + _BELOW_SIGN) >> numpy.uint64(7)) & _EVERY_BYTE).view(numpy.uint8)
    if wanted > have:
        made = _core.empty((*packed.shape[:-1], wanted), dtype=numpy.uint8)
        made[..., :have] = bits
        made[..., have:] = 0
        bits = made
    return _laid_out(bits if wanted >= have else bits[..., :wanted].copy(), axis, a)
