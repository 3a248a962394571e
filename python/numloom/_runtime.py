"""The runtime as a program sees it: counters, plans, waiting."""

from __future__ import annotations

import atexit
import sys
from typing import Any

from . import _core, _profile


def stats() -> dict[str, int]:
    """The runtime's counters since the start: operations, tasks, sync points, bytes, by name."""
    return {name.lower(): count for name, count in _core.stats().items()}


def explain(x: Any) -> str:
    """The tasks that would make `x`, as text: what is fused, and the lines that asked for it. Nothing is run."""
    return _core.explain(x)


def sync(x: Any = None) -> None:
    """Wait for one array, or for everything recorded so far; raises what failed meanwhile."""
    _core.sync(x)


def memory() -> Any:
    """The memories with their levels, and the lines of the program that hold most; prints as a table."""
    from . import _memory

    return _memory.memory()


def _at_exit() -> None:
    """Finishes what is pending, unless the program was ended by Ctrl-C or one comes meanwhile.

    A failure that nobody has read about is told, and makes the status 1 where the program asks for no
    other. What the program does at its end is done before: its files are written.
    """
    stopped = getattr(sys, "last_type", None) is KeyboardInterrupt and not hasattr(sys, "ps1")
    try:
        _core._shutdown(stopped)
    except Exception as e:
        sys.stdout.flush()
        print(f"numloom: work that was pending at exit failed\n{type(e).__name__}: {e}", file=sys.stderr, flush=True)
        _core._fail_at_exit()
    finally:
        _profile.finish()
        if _core.show_memory_usage():
            print(memory(), file=sys.stderr, flush=True)


atexit.register(_at_exit)
