"""Random numbers: NumPy's generators, bit for bit, drawn by our own code into our own arrays."""

import numpy.random

from numloom._core import correct_binomials
from numloom._fallback import native_names
from numloom._mirror import mirror
from numloom._numpy_version import NUMPY_2_5
from numloom.random import _bit_generators, _global
from numloom.random._bit_generators import MT19937, PCG64, PCG64DXSM, SFC64, Philox
from numloom.random._generator import Generator, default_rng
from numloom.random._global import *  # noqa: F403
from numloom.random._legacy import RandomState
from numloom.random._seeding import SeedSequence

correct_binomials(NUMPY_2_5)

__all__ = list(numpy.random.__all__)
__getattr__, __dir__ = mirror(numpy.random, globals())

_COMPOSED = ("Generator", "RandomState", "randn", "random_integers", "get_state", "set_state")
native_names.update(
    f"random.{name}" for name in (*_bit_generators.__all__, *_global.OWN, "default_rng", "SeedSequence")
)
native_names.update(f"random.{name}" for name in _COMPOSED)
