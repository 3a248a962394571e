"""The runtime as an object."""

from __future__ import annotations

import numloom


class Runtime:
    """Numloom's runtime, under Legate's names."""

    def issue_execution_fence(self, block: bool = False) -> None:
        """Everything recorded so far comes before what is recorded next; with `block`, wait for it.

        Operations run as if in the order they were recorded, so that there is nothing to do but to wait.
        """
        if block:
            numloom.sync()


_runtime = Runtime()


def get_legate_runtime() -> Runtime:
    """The one runtime of this process."""
    return _runtime
