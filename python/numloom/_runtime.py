"""The runtime as a program sees it: counters, plans, waiting."""

from __future__ import annotations

from typing import Any

from . import _core


def stats() -> dict[str, int]:
    """The runtime's counters since the start: operations, tasks, sync points, bytes, by name."""
    return {name.lower(): count for name, count in _core.stats().items()}


def explain(x: Any) -> str:
    """The tasks that would make `x`, as text: what is fused, and the lines that asked for it. Nothing is run."""
    return _core.explain(x)


def sync(x: Any = None) -> None:
    """Wait for one array, or for everything recorded so far; raises what failed meanwhile."""
    _core.sync(x)
