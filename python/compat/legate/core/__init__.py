"""What programs take from `legate.core`: the runtime's fence, places for arrays, and moving an array to one."""

from __future__ import annotations

from numloom import ProfileRange, StoreTarget, offload_to

from ._runtime import Runtime, get_legate_runtime

__all__ = ["ProfileRange", "Runtime", "StoreTarget", "get_legate_runtime", "offload_to"]
