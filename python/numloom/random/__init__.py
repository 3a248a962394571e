"""Random numbers: NumPy's generators and their streams, giving our arrays."""

import numpy.random

from numloom._mirror import mirror
from numloom.random._generators import Generator, RandomState, default_rng

__all__ = list(numpy.random.__all__)
__getattr__, __dir__ = mirror(numpy.random, globals())
