"""Where arrays lie, by the program's wish."""

from __future__ import annotations

import enum
from typing import Any

from . import _core


class StoreTarget(enum.IntEnum):
    """A kind of memory that an array can be put in."""

    SYSMEM = 0
    FBMEM = 1
    ZCMEM = 2
    SOCKETMEM = 3


def offload_to(array: Any, target: StoreTarget = StoreTarget.SYSMEM) -> None:
    """Move an array to a memory, and free it everywhere else.

    FBMEM is a GPU's own memory, ZCMEM pinned host memory that GPUs can read; without GPUs both are refused. Work that
    comes later may bring the array to other memories again. An array whose memory NumPy sees stays where it is.
    """
    _core.offload(array, int(StoreTarget(target)))


def stencil_hint(self: Any, low_offsets: tuple[int, ...], high_offsets: tuple[int, ...]) -> None:
    """Say that a stencil with these offsets will read the array: its memory is taken now, as a whole."""
    _core.stencil_hint(self, [int(x) for x in low_offsets], [int(x) for x in high_offsets])
