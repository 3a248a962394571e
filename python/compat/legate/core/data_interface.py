"""`offload_to(array, target=StoreTarget.SYSMEM)`."""

from __future__ import annotations

from numloom import offload_to

__all__ = ["offload_to"]
