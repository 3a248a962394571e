"""`time(units="us")`: the time at this point of the program's stream of operations, as a future."""

from __future__ import annotations

from numloom.timing import time

__all__ = ["time"]
