"""`offload_to(array, target=StoreTarget.SYSMEM)`."""

from __future__ import annotations

from typing import Any

from .._lent import lent


def __getattr__(name: str) -> Any:
    if name == "offload_to":
        return lent("offload_to")
    raise AttributeError(f"module 'legate.core.data_interface' has no attribute {name!r}")
