"""What programs take from `legate.core`: the runtime and its machine, places for arrays, and moving an array to one."""

from __future__ import annotations

from numloom import ProfileRange, StoreTarget, offload_to

from ._machine import Machine, ProcessorRange, TaskTarget, get_machine
from ._runtime import Runtime, get_legate_runtime

# Programs take it as the number of dimensions to try, so it is Legate's. Arrays here may have 64, as NumPy's.
LEGATE_MAX_DIM = 6

__all__ = [
    "LEGATE_MAX_DIM",
    "Machine",
    "ProcessorRange",
    "ProfileRange",
    "Runtime",
    "StoreTarget",
    "TaskTarget",
    "get_legate_runtime",
    "get_machine",
    "offload_to",
]
