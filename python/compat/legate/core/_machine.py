"""The machine as a program sees it: how many processors of each kind this run uses."""

from __future__ import annotations

import dataclasses
import enum

from numloom import _core

from ._configuration import number


class TaskTarget(enum.Enum):
    """Kinds of processors, the preferred one first."""

    GPU = enum.auto()
    OMP = enum.auto()
    CPU = enum.auto()


@dataclasses.dataclass(frozen=True)
class ProcessorRange:
    """Processors of one kind, numbered from `low` up to and without `high`."""

    low: int
    high: int
    per_node_count: int

    @property
    def count(self) -> int:
        return self.high - self.low

    @property
    def empty(self) -> bool:
        return self.count == 0

    def __len__(self) -> int:
        return self.count

    def get_node_range(self) -> tuple[int, int]:
        """The first node and the one after the last; there is one."""
        return (0, 0) if self.empty else (0, 1)


class Machine:
    """The processors of this run. It answers questions; it does not restrict where a block of code runs."""

    @property
    def preferred_target(self) -> TaskTarget:
        """GPUs where there are any."""
        return TaskTarget.GPU if self.count(TaskTarget.GPU) else TaskTarget.CPU

    @property
    def valid_targets(self) -> tuple[TaskTarget, ...]:
        return tuple(target for target in TaskTarget if self.count(target))

    @property
    def empty(self) -> bool:
        return False

    def count(self, target: TaskTarget | None = None) -> int:
        """How many processors of this kind there are, or of the preferred one."""
        match target or self.preferred_target:
            case TaskTarget.GPU:
                return sum(pool["memory"] == "FB_MEM" for pool in _core.memory_now()["pools"])
            case TaskTarget.CPU:
                return number("cpus")
            case _:
                return 0

    def get_processor_range(self, target: TaskTarget | None = None) -> ProcessorRange:
        count = self.count(target)
        return ProcessorRange(0, count, count)

    def get_node_range(self, target: TaskTarget | None = None) -> tuple[int, int]:
        return self.get_processor_range(target).get_node_range()

    def __len__(self) -> int:
        return self.count()


_machine = Machine()


def get_machine() -> Machine:
    """The machine of this run."""
    return _machine
