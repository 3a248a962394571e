"""The runtime as an object."""

from __future__ import annotations

import numloom
from numloom import _core

from ._machine import Machine, get_machine


class Runtime:
    """Numloom's runtime, under Legate's names."""

    def issue_execution_fence(self, block: bool = False) -> None:
        """Everything recorded so far comes before what is recorded next; with `block`, wait for it.

        Operations run as if in the order they were recorded, so that there is nothing to do but to wait.
        """
        if block:
            numloom.sync()

    def get_machine(self) -> Machine:
        return get_machine()

    @property
    def machine(self) -> Machine:
        return get_machine()

    @property
    def node_id(self) -> int:
        """This process's number among those of the run."""
        return _core._profile_settings()[3]

    @property
    def node_count(self) -> int:
        """How many processes the run has."""
        return _core._profile_settings()[4]


_runtime = Runtime()


def get_legate_runtime() -> Runtime:
    """The one runtime of this process."""
    return _runtime
