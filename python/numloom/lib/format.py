"""NumPy's `.npy` format; files that are mapped become our arrays."""

from __future__ import annotations

from typing import Any

import numpy.lib.format

from numloom._files import taken
from numloom._mirror import mirror


def open_memmap(*args: Any, **kwargs: Any) -> Any:
    return taken(numpy.lib.format.open_memmap(*args, **kwargs))


open_memmap.__doc__ = numpy.lib.format.open_memmap.__doc__

__all__ = list(numpy.lib.format.__all__)
__getattr__, __dir__ = mirror(numpy.lib.format, globals())
