"""What programs take from `legate.core`: the runtime's fence, places for arrays, and moving an array to one."""

from __future__ import annotations

from typing import Any

from ._runtime import Runtime, get_legate_runtime

__all__ = ["Runtime", "StoreTarget", "get_legate_runtime", "offload_to"]


def __getattr__(name: str) -> Any:
    if name == "StoreTarget":
        import numloom

        from ._store_target import StoreTarget

        return getattr(numloom, "StoreTarget", StoreTarget)
    if name == "offload_to":
        from .data_interface import offload_to

        return offload_to
    raise AttributeError(f"module 'legate.core' has no attribute {name!r}")
