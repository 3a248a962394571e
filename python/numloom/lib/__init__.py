"""NumPy's `lib`, with native views in `stride_tricks`."""

import numpy.lib

from numloom._mirror import mirror
from numloom.lib import stride_tricks

__all__ = list(numpy.lib.__all__)
__getattr__, __dir__ = mirror(numpy.lib, globals())
