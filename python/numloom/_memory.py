"""What the memories hold, in words: the account when one is full, and `numloom.memory()`."""

from __future__ import annotations

import dataclasses
from itertools import combinations
from typing import Any

from . import _core
from ._core import OutOfMemoryError

MIB = 1 << 20

# The setting that sizes each kind of memory.
FLAGS = {"SYSTEM_MEM": "--sysmem", "SOCKET_MEM": "--numamem", "FB_MEM": "--fbmem", "ZC_MEM": "--zcmem"}

MOST_LISTED = 40


@dataclasses.dataclass(frozen=True)
class Instance:
    """An array's bytes in a memory."""

    id: int
    store: int
    memory: str
    number: int
    bytes: int
    dtype: str
    shape: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    store_line: str | None
    operation: str
    operation_line: str | None
    unread: bool = False

    def covering(self) -> str:
        """The elements it holds, first and last."""
        low, high = (",".join(str(n) for n in end) for end in (self.low, self.high))
        return f"<{low}>..<{high}>"

    def meets(self, other: Instance) -> bool:
        """Whether both hold some element."""
        return all(a <= d and c <= b for a, b, c, d in zip(self.low, self.high, other.low, other.high, strict=True))


@dataclasses.dataclass(frozen=True)
class Report:
    """Why there was no room: what `OutOfMemoryError` says, as fields."""

    bytes: int
    memory: str
    number: int
    reserved: int
    available: int
    small: int
    operation: str
    line: str | None
    store_line: str | None
    instances: tuple[Instance, ...]

    @property
    def stores(self) -> dict[str | None, tuple[Instance, ...]]:
        """Instances by the line that made their array, the line with most bytes first."""
        by_line: dict[str | None, list[Instance]] = {}
        for i in self.instances:
            by_line.setdefault(i.store_line, []).append(i)
        heaviest = sorted(by_line.items(), key=lambda item: -sum(i.bytes for i in item[1]))
        return {line: tuple(found) for line, found in heaviest}

    @property
    def duplicates(self) -> tuple[tuple[Instance, ...], ...]:
        """Instances of one array that hold some of the same elements, the heaviest array first."""
        by_store: dict[int, list[Instance]] = {}
        for i in self.instances:
            by_store.setdefault(i.store, []).append(i)
        twins = [tuple(found) for found in by_store.values() if any(a.meets(b) for a, b in combinations(found, 2))]
        return tuple(sorted(twins, key=lambda found: -sum(i.bytes for i in found)))

    @property
    def advice(self) -> tuple[str, ...]:
        """What would have helped, the simplest first."""
        flag = FLAGS[self.memory]
        enough = mebibytes(self.reserved + self.bytes)
        words = [f"a pool of {enough} MiB would have been enough for this operation: {flag} {enough}"]
        unread = [i for i in self.instances if i.unread]
        if unread:
            total = sum(i.bytes for i in unread)
            lines = ", ".join(short(line) for line in dict.fromkeys(i.store_line for i in unread[:4]))
            words.append(
                f"nothing recorded reads {count(unread, 'array')} of {size(total)} again, made at {lines}: "
                "del, or assign None, when you are done with it"
            )
        for line, found in list(self.stores.items())[:1]:
            if len(found) > 1 or self.line != line:
                total = sum(i.bytes for i in found)
                words.append(
                    f"most was made at {short(line)}: {count(found, 'array')} of {size(total)}; "
                    "an update in place (out=, +=) needs no new one"
                )
        for twins in self.duplicates[:1]:
            total = sum(i.bytes for i in twins[1:])
            words.append(
                f"the array made at {short(twins[0].store_line)} lies there {len(twins)} times, {size(total)} too "
                "much: stencil_hint(low, high) on it, before its first use, makes one instance for all its slices"
            )
        if self.memory == "FB_MEM":
            words.append("offload_to(x, target=StoreTarget.SYSMEM) moves an array out of the GPU's memory")
        else:
            words.append("--spill DIR lets arrays that are not in use move to a file")
        return tuple(words)

    def __str__(self) -> str:
        out = [
            f"Failed to allocate {self.bytes} bytes ({size(self.bytes)}) on memory {self.number + 1} "
            f"(of kind {self.memory}) for {self.operation} at {short(self.line)}",
            f"corresponding to a LogicalStore allocated at {short(self.store_line or self.line)}",
            f"There is not enough space because Numloom is reserving {self.reserved} of the available "
            f"{self.available} bytes for the following LogicalStores:",
        ]
        listed = 0
        for line, found in self.stores.items():
            out.append(f"LogicalStore allocated at {short(line)}:")
            for i in found:
                listed += 1
                if listed > MOST_LISTED:
                    break
                out.append(f"  Instance {i.id} of size {i.bytes} covering elements {i.covering()} ({i.dtype})")
                out.append(f"      created for {i.operation} launched at {short(i.operation_line)}")
            if listed > MOST_LISTED:
                out.append(f"  and {len(self.instances) - MOST_LISTED} instances more (see report.instances)")
                break
        if self.small >= 64 << 10:
            out.append(f"Small arrays together: {self.small} bytes")
        out.append("What would help here:")
        out.extend(f"  - {words}" for words in self.advice)
        return "\n".join(out)


def out_of_memory(facts: dict[str, Any]) -> OutOfMemoryError:
    """The exception with its account; called by the runtime."""
    report = Report(**{**facts, "instances": tuple(Instance(**i) for i in facts["instances"])})
    error = OutOfMemoryError(str(report))
    error.report = report  # type: ignore[attr-defined]
    return error


@dataclasses.dataclass(frozen=True)
class Pool:
    """A memory: how much it may hold, holds, and held at most."""

    memory: str
    number: int
    capacity: int
    live: int
    peak: int
    instances: int

    @property
    def name(self) -> str:
        """Kind and, where there can be several, number."""
        return named(self.memory, self.number)


@dataclasses.dataclass(frozen=True)
class Channel:
    """What was copied from one memory to another so far."""

    source: str
    target: str
    copies: int
    bytes: int


@dataclasses.dataclass(frozen=True)
class Line:
    """A line of the program, with the bytes of the arrays it made: now, and the most at once."""

    line: str | None
    live: int
    peak: int


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """What `numloom.memory()` answers; prints as a table."""

    pools: tuple[Pool, ...]
    lines: tuple[Line, ...]
    instances: tuple[Instance, ...]
    channels: tuple[Channel, ...] = ()

    def __str__(self) -> str:
        out = [f"{'memory':<12} {'capacity':>12} {'live':>12} {'peak':>12} instances"]
        out += [
            f"{p.name:<12} {size(p.capacity):>12} {size(p.live):>12} {size(p.peak):>12} {p.instances:>9}"
            for p in self.pools
        ]
        if self.channels:
            out.append("copies between memories:")
            out += [f"  {size(c.bytes):>12}  {c.source} to {c.target}, {c.copies} times" for c in self.channels]
        for title, key in (("live bytes", "live"), ("peak bytes", "peak")):
            top = sorted((x for x in self.lines if getattr(x, key)), key=lambda x: -getattr(x, key))[:8]
            if top:
                out.append(f"lines by {title}:")
                out += [f"  {size(getattr(x, key)):>12}  {short(x.line)}" for x in top]
        return "\n".join(out)

    __repr__ = __str__


def memory() -> MemoryUse:
    """The memories with their levels, and the lines of the program that hold most. Arrays under 64 KiB count in
    the levels only."""
    now = _core.memory_now()
    return MemoryUse(
        tuple(Pool(**p) for p in now["pools"]),
        tuple(Line(*x) for x in now["lines"]),
        tuple(Instance(**i) for i in now["instances"]),
        tuple(Channel(named(*source), named(*target), n, b) for source, target, n, b in now["channels"]),
    )


def named(kind: str, number: int) -> str:
    """A memory's kind, with its number where there are several of the kind."""
    return f"{kind} {number}" if kind in ("FB_MEM", "SOCKET_MEM") else kind


def mebibytes(n: int) -> int:
    return -(-n // MIB)


def size(n: int) -> str:
    """Bytes as people say them."""
    value = float(n)
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if value < 1024 or unit == "TiB":
            return f"{value:.0f} {unit}" if unit == "B" or value == int(value) else f"{value:.1f} {unit}"
        value /= 1024
    return f"{n} B"


def short(line: str | None) -> str:
    return line or "an unknown line"


def count(things: Any, noun: str) -> str:
    return f"{len(things)} {noun}{'' if len(things) == 1 else 's'}"
