"""Random numbers: NumPy's generators, bit for bit, drawn by our own code into our own arrays."""

import numpy.random

from numloom._mirror import mirror
from numloom.random._bit_generators import MT19937, PCG64, PCG64DXSM, SFC64, Philox
from numloom.random._generator import Generator, default_rng
from numloom.random._global import *  # noqa: F403
from numloom.random._legacy import RandomState
from numloom.random._seeding import SeedSequence

__all__ = list(numpy.random.__all__)
__getattr__, __dir__ = mirror(numpy.random, globals())
