"""Time in the stream of operations: `time()` is taken when everything recorded before it is over."""

from __future__ import annotations

from typing import Any

from . import _core

_NANOSECONDS = {"us": 1000, "ns": 1}


def time(units: str = "us") -> Any:
    """The time in microseconds ("us") or nanoseconds ("ns"), as a deferred integer.

    Nothing waits here: the value is there when what was recorded before has run, and is read like any result. The
    difference of two is the time that the operations between them took.
    """
    if units not in _NANOSECONDS:
        raise ValueError(f"units must be 'us' or 'ns', not {units!r}")
    return _core.clock(_NANOSECONDS[units])
