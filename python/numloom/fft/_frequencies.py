"""Sample frequencies, and spectra with their zero in the middle."""

from __future__ import annotations

from typing import Any

import numpy
import numpy.fft

from numloom import _core
from numloom._core import Unsupported
from numloom._creation import FEW, arange
from numloom._fallback import native_in
from numloom._operands import operand
from numloom._shape import roll

native = native_in("fft.", numpy.fft)


def _shift(x: Any, axes: Any, back: bool) -> Any:
    x = operand(x)
    if axes is None:
        axes = tuple(range(x.ndim))
    elif isinstance(axes, int | numpy.integer):
        axes = (int(axes),)
    else:
        axes = tuple(axes)
    return roll(x, [-(x.shape[axis] // 2) if back else x.shape[axis] // 2 for axis in axes], axes)


@native
def fftshift(x: Any, axes: Any = None) -> Any:
    return _shift(x, axes, back=False)


@native
def ifftshift(x: Any, axes: Any = None) -> Any:
    return _shift(x, axes, back=True)


@native
def fftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """NumPy's `fftfreq`, and `dtype` as in the array API standard."""
    if device not in (None, "cpu"):
        raise Unsupported("an error that NumPy words")
    if not isinstance(n, int | numpy.integer):
        raise ValueError("n should be an integer")
    if isinstance(n, bool | numpy.unsignedinteger):
        raise Unsupported("a number that has no negative, or none that NumPy takes")
    if 0 < n <= FEW and type(d) in (int, float) and dtype is None:
        return _core.adopt_numpy(numpy.fft.fftfreq(n, d))
    unit = 1.0 / (n * d)
    made = _core.empty(int(n), dtype=int)
    middle = (n - 1) // 2 + 1
    made[:middle] = arange(0, middle, dtype=int)
    made[middle:] = arange(-(n // 2), 0, dtype=int)
    made = made * unit
    return made if dtype is None else made.astype(dtype, copy=False)


@native
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    """NumPy's `rfftfreq`, and `dtype` as in the array API standard."""
    if device not in (None, "cpu"):
        raise Unsupported("an error that NumPy words")
    if not isinstance(n, int | numpy.integer):
        raise ValueError("n should be an integer")
    if 0 < n <= FEW and type(d) in (int, float) and dtype is None and type(n) is int:
        return _core.adopt_numpy(numpy.fft.rfftfreq(n, d))
    unit = 1.0 / (n * d)
    made = arange(0, n // 2 + 1, dtype=int) * unit
    return made if dtype is None else made.astype(dtype, copy=False)
