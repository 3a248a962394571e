"""`runtime`: how many processors this run uses."""

from __future__ import annotations

from legate.core import TaskTarget, get_machine

__all__ = ["runtime"]


class Runtime:
    """Numloom's runtime, under cuPyNumeric's names."""

    @property
    def num_procs(self) -> int:
        """GPUs where there are any, otherwise CPUs."""
        return len(get_machine())

    @property
    def num_gpus(self) -> int:
        return get_machine().count(TaskTarget.GPU)


runtime = Runtime()
