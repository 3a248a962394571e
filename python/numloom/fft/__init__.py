"""Discrete Fourier transforms: NumPy's, on the host."""

import numpy.fft

from numloom._mirror import mirror

__all__ = list(numpy.fft.__all__)
__getattr__, __dir__ = mirror(numpy.fft, globals())
