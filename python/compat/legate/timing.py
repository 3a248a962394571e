"""`time(units="us")`: the time at this point of the program's stream of operations, as a future."""

from __future__ import annotations

from typing import Any

from ._lent import lent


def __getattr__(name: str) -> Any:
    if name == "time":
        return lent("time", "numloom.timing")
    raise AttributeError(f"module 'legate.timing' has no attribute {name!r}")
