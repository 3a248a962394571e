"""The class of `ndarray` itself, which says what `isinstance(x, ndarray)` means."""

from __future__ import annotations

from typing import Any

import numpy

from . import _core
from ._core import ndarray


class ArrayType(type):
    """Arrays of texts, dates, objects and records stay NumPy's: a program that asks is told that they are arrays.

    The package itself asks `_core.is_ours`.
    """

    __slots__ = ()
    __module__ = "numloom"

    def __instancecheck__(cls, x: Any) -> bool:
        return type.__instancecheck__(cls, x) or (cls is ndarray and isinstance(x, numpy.ndarray))


_core.set_array_type(ArrayType)
