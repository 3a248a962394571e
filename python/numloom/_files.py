"""Reading files: NumPy's formats, our arrays."""

from __future__ import annotations

from typing import Any

import numpy
from numpy.lib.npyio import NpzFile

from ._fallback import Visit


class Archive(NpzFile):
    """An open `.npz` file whose members are our arrays."""

    def __getitem__(self, key: str) -> Any:
        return Visit().from_host(super().__getitem__(key))


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    loaded = numpy.load(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
    if type(loaded) is NpzFile:
        loaded.__class__ = Archive
        return loaded
    return Visit().from_host(loaded)


load.__doc__ = numpy.load.__doc__
