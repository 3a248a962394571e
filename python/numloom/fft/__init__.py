"""Discrete Fourier transforms: every length, in the precision of the input."""

import numpy.fft

from numloom._mirror import mirror
from numloom.fft._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from numloom.fft._transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = list(numpy.fft.__all__)
__getattr__, __dir__ = mirror(numpy.fft, globals())
