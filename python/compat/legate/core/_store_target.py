"""Kinds of memory, until Numloom has an enum of its own for them."""

from __future__ import annotations

from enum import IntEnum


class StoreTarget(IntEnum):
    """Where an array is put."""

    SYSMEM = 0
    FBMEM = 1
    ZCMEM = 2
    SOCKETMEM = 3
