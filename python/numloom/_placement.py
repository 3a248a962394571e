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

    There is system memory only for now: an array that was spilled comes back from its file. The memories of a GPU
    are refused.
    """
    target = StoreTarget(target)
    if target in (StoreTarget.FBMEM, StoreTarget.ZCMEM):
        raise ValueError(f"there is no {target.name} here: no GPU is in use")
    _core.to_system_memory(array)


def stencil_hint(self: Any, low_offsets: tuple[int, ...], high_offsets: tuple[int, ...]) -> None:
    """Say that a stencil with these offsets will read the array: its memory is taken now, as a whole."""
    _core.stencil_hint(self, [int(x) for x in low_offsets], [int(x) for x in high_offsets])
