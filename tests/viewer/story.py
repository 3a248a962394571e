"""The profile of a program that never ran: it is played through with a clock for every processor."""

from __future__ import annotations

from dataclasses import dataclass, field

CPU, UTILITY, IO, SYSTEM, OPENMP, GPU, GPU_HOST, PARTITION = range(8)
SYSTEM_MEM, SOCKET_MEM, FB_MEM, ZC_MEM, SPILL = range(5)

PROGRAM = """\
import numloom as np

N = 10_000_000
rng = np.random.default_rng(7)
x = rng.random(N, dtype=np.float32)
y = rng.random(N, dtype=np.float32)

# whole arrays: a few wide boxes
z = np.sqrt(x * x + y * y)
w = np.where(z < 1.0, x * y + 1.0, 0.0)

# a slice at a time: a bar code
CHUNK = 65_536
for s in range(0, N, CHUNK):
    part = w[s : s + CHUNK]
    part += 2.0 * np.sin(z[s : s + CHUNK])

# a sync in a loop
level = 0.0
for step in range(12):
    level = float(w.mean()) + level
    w -= level / 12

order = np.argsort(w)
print(w[order[:5]], level)
"""


@dataclass
class Task:
    id: int
    name: str
    line: int
    created: int
    ready: int
    started: int
    stopped: int
    read: int
    written: int
    tiles: int
    operations: list[tuple[str, int, str]]
    mapped: int = 0
    failed: int = 0


@dataclass
class Story:
    """The columns of every table, filled while a program is played through with a clock for every processor."""

    workers: int = 4
    gpus: int = 0
    rank: int = 0
    ranks: int = 1
    speed: float = 1.0
    program: str = "/home/you/orbit.py"
    source: str = PROGRAM
    name: str = "orbit"
    strings: dict[str, int] = field(default_factory=dict)
    places: dict[tuple[int, str], int] = field(default_factory=dict)
    tasks: list[Task] = field(default_factory=list)
    tables: dict[str, dict[str, list]] = field(default_factory=dict)
    clock: int = 0
    utility: int = 0
    free: dict[int, int] = field(default_factory=dict)
    level: dict[int, int] = field(default_factory=dict)
    peak: dict[int, int] = field(default_factory=dict)
    instances: int = 0
    alive: dict[int, tuple[int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kinds = [(CPU, i) for i in range(self.workers)] + [(UTILITY, 0), (IO, 0), (SYSTEM, 0)]
        for gpu in range(self.gpus):
            kinds += [(GPU, gpu), (GPU_HOST, gpu)]
        kinds += [(PARTITION, 0)]
        self.processor = {pair: number for number, pair in enumerate(kinds)}
        for (kind, index), number in self.processor.items():
            self.row("processors", id=number, kind=kind, index=index, name=0)
            self.free[number] = 0
        memories = [(SYSTEM_MEM, 0, 8 << 30)]
        for gpu in range(self.gpus):
            memories += [(FB_MEM, gpu, 16 << 30), (ZC_MEM, gpu, 1 << 30)]
        self.memory = {(kind, index): number for number, (kind, index, _) in enumerate(memories)}
        for number, (kind, index, capacity) in enumerate(memories):
            self.row("memories", id=number, kind=kind, index=index, capacity=capacity, name=0)
            self.level[number] = self.peak[number] = 0

    def row(self, table: str, **values: object) -> None:
        columns = self.tables.setdefault(table, {key: [] for key in values})
        for key, value in values.items():
            columns[key].append(value)

    def string(self, text: str) -> int:
        return self.strings.setdefault(text, len(self.strings) + 1)

    def line(self, number: int, function: str = "<module>") -> int:
        return self.places.setdefault((number, function), len(self.places) + 1)

    def span(self, kind_index: tuple[int, int], start: int, ran: int, kind: int, subject: int = 0, line: int = 0,
             count: int = 0) -> int:  # fmt: skip
        """A box, pushed back where its processor is not free yet; gives its end."""
        number = self.processor[kind_index]
        start = max(start, self.free[number])
        self.row("spans", processor=number, started=start, ran=ran, kind=kind, subject=subject, line=line, count=count)
        self.free[number] = start + ran
        return start + ran

    def python(self, line: int, ran: int) -> None:
        self.clock = self.span((IO, 0), self.clock, ran, 20, line=self.line(line))

    def allocate(self, line: int, name: str, shape: str, size: int, place: tuple[int, int] = (SYSTEM_MEM, 0),
                 task: int = 0) -> int:  # fmt: skip
        memory = self.memory[place]
        self.instances += 1
        at = self.span((SYSTEM, 0), self.utility, max(400, size // 40_000), 30, memory, self.line(line), size)
        self.row("instances", id=self.instances, memory=memory, bytes=size, born=at, line=self.line(line),
                 by=self.string(name), by_line=self.line(line), shape=self.string(shape),
                 store=self.instances, task=task)  # fmt: skip
        self.alive[self.instances] = (memory, size)
        self.change(memory, at, size)
        return self.instances

    def release(self, instance: int, at: int, reads: int = 1) -> None:
        memory, size = self.alive.pop(instance)
        self.row("deaths", instance=instance, time=at, reads=reads)
        self.change(memory, at, -size)

    def change(self, memory: int, at: int, size: int) -> None:
        self.level[memory] += size
        self.peak[memory] = max(self.peak[memory], self.level[memory])
        self.row("levels", memory=memory, time=at, bytes=self.level[memory], peak=self.peak[memory])

    def task(self, operations: list[tuple[str, int, str]], work: int, after: list[Task], *, moved: int = 0,
             written: int = 0, known: bool = True, gpu: int | None = None, wide: bool = True,
             makes: int = 0) -> Task:  # fmt: skip
        """Records the calls, analyses them and runs the task on every worker (or on one, or on a GPU)."""
        work = int(work / self.speed)
        line = self.line(operations[0][1])
        recorded = self.clock
        self.clock = self.span((IO, 0), self.clock, 900 * len(operations), 21, line=line, count=len(operations))
        at = self.span((UTILITY, 0), max(self.utility, self.clock), 1_800, 11, line=line, count=len(operations))
        at = self.span((UTILITY, 0), at, 700 if known else 60_000, 13 if known else 12, line=line, count=1)
        if not known:
            at = self.span((UTILITY, 0), at, 1_900_000, 14, line=line, count=24)
        created = self.span((UTILITY, 0), at, 900, 15, line=line, count=1)
        self.utility = created
        id = len(self.tasks) + 1
        self.utility = self.span((UTILITY, 0), created, 1_200, 16, id, line, written)
        for _ in range(makes):
            place = (SYSTEM_MEM, 0) if gpu is None else (FB_MEM, gpu)
            self.allocate(operations[-1][1], operations[-1][0], operations[-1][2], written, place, id)
        ready = max([created, *(before.stopped for before in after)])
        if gpu is not None:
            number = self.processor[GPU, gpu]
            begun = self.span((GPU_HOST, gpu), ready, 5_000, 40, id, line)
            start = max(begun, self.free[number])
            stop = self.span((GPU, gpu), start, max(2_000, work), 0, id, line, 1)
            tiles = 1
        elif wide:
            crew = [self.processor[CPU, i] for i in range(self.workers)]
            start = max(ready, min(self.free[number] for number in crew))
            tiles = 4 * self.workers
            # The last tiles end unevenly, and the program's own thread joins late.
            stop = max(
                self.span(
                    (CPU, i), start + 1_500 * i, int(work / self.workers * (1 + 0.06 * ((id + i) % 4))), 0, id, line, 4
                )
                for i in range(self.workers)
            )
        else:
            number = min(range(self.workers), key=lambda i: self.free[self.processor[CPU, i]])
            start = max(ready, self.free[self.processor[CPU, number]])
            stop = self.span((CPU, number), start, work, 0, id, line, 1)
            tiles = 1
        name = "·".join(dict.fromkeys(op for op, _, _ in operations))
        made = Task(id, name, line, created, ready, start, stop, moved, written, tiles, operations, mapped=1_200)
        self.tasks.append(made)
        for op, place, shape in operations:
            self.row("operations", task=id, name=self.string(op), line=self.line(place), shape=self.string(shape),
                     recorded=recorded, times=1, traits=0)  # fmt: skip
        for before in after:
            self.row("edges", **{"task": id, "from": before.id})
        return made

    def sync(self, line: int, task: Task) -> None:
        self.clock = self.span((IO, 0), self.clock, max(1_000, task.stopped - self.clock), 22, task.id, self.line(line))
        self.utility = max(self.utility, self.clock)

    def copy(
        self, source: tuple[int, int], target: tuple[int, int], start: int, size: int, line: int, task: int
    ) -> int:
        ran = max(2_000, int(size / 20))
        self.row("copies", **{"from": self.memory[source], "to": self.memory[target], "started": start, "ran": ran,
                              "bytes": size, "reason": 0, "line": self.line(line), "task": task})  # fmt: skip
        return start + ran

    def phase(self, name: str, start: int, line: int, depth: int = 0) -> None:
        self.row("ranges", name=self.string(name), started=start, ran=self.clock - start, depth=depth,
                 line=self.line(line), thread=self.processor[IO, 0])  # fmt: skip

    def finding(self, kind: str, line: int, loop: int, seconds: float, title: str, text: str, advice: str) -> None:
        self.row("findings", kind=self.string(kind), line=self.line(line), loop=self.line(loop) if loop else 0,
                 seconds=int(seconds * 1e6), bytes=0, title=title, text=text, advice=advice)  # fmt: skip

    def done(self) -> dict[str, dict[str, list]]:
        """Every table, the ones that others name first."""
        end = max([self.clock, *(task.stopped for task in self.tasks)])
        for instance in list(self.alive):
            self.release(instance, end)
        ordered = sorted(self.tasks, key=lambda task: task.stopped)
        for task in ordered:
            self.row("tasks", id=task.id, name=self.string(task.name), created=task.created,
                     blocked=task.ready - task.created, queued=task.started - task.ready,
                     ran=task.stopped - task.started, line=task.line, variant=0, read=task.read,
                     written=task.written, tiles=task.tiles,
                     operations=len(task.operations), mapped=task.mapped, failed=task.failed)  # fmt: skip
        path = self.string(self.program)
        module = {function: self.string(function) for _, function in self.places}
        meta = {
            "program": self.program, "command": self.program, "host": f"node{self.rank}", "rank": self.rank,
            "ranks": self.ranks, "pid": 4711 + self.rank, "version": "0.1.0", "started": 1_700_000_000_000_000_000,
            "cpus": self.workers, "bandwidth": 24_000_000_000, "name": self.name,
        }  # fmt: skip
        tables: dict[str, dict[str, list]] = {"meta": {"key": list(meta), "value": list(meta.values())}}
        tables["strings"] = {"text": list(self.strings)}
        tables["sources"] = {"path": [path], "text": [self.source]}
        tables["lines"] = {
            "file": [path] * len(self.places),
            "line": [number for number, _ in self.places],
            "function": [module[function] for _, function in self.places],
        }
        return {**tables, **self.tables, "end": {"time": [end]}}


def orbit(*, workers: int = 4, gpus: int = 0, rank: int = 0, ranks: int = 1, speed: float = 1.0, chunks: int = 153,
          findings: bool = True, name: str = "orbit") -> dict[str, dict[str, list]]:  # fmt: skip
    """The program above: wide tasks, a loop over slices, syncs in a loop, a sort."""
    s = Story(workers=workers, gpus=gpus, rank=rank, ranks=ranks, speed=speed, name=name)
    size, whole, part = 40_000_000, "float32[10000000]", "float32[65536]"
    gpu = 0 if gpus else None
    place = (FB_MEM, 0) if gpus else (SYSTEM_MEM, 0)
    s.python(1, 3_000_000)
    begin = s.clock
    x = s.task([("random", 5, whole)], 56_000_000, [], written=size, known=False, gpu=gpu, makes=1)
    y = s.task([("random", 6, whole)], 54_000_000, [], written=size, gpu=gpu, makes=1)
    if gpus:
        s.copy((SYSTEM_MEM, 0), (FB_MEM, 0), x.created, size // 2, 5, x.id)
        s.copy((SYSTEM_MEM, 0), (FB_MEM, 0), x.created + 1_000_000, size // 2, 6, y.id)
        s.copy((FB_MEM, 0), (ZC_MEM, 0), y.created, 8192, 6, y.id)
        s.allocate(6, "staging", "uint8[8192]", 8192, (ZC_MEM, 0))
    s.python(9, 60_000)
    z = s.task([("multiply", 9, whole), ("multiply", 9, whole), ("add", 9, whole), ("sqrt", 9, whole)], 42_000_000,
               [x, y], moved=2 * size, written=size, known=False, gpu=gpu, makes=1)  # fmt: skip
    w = s.task([("less", 10, whole), ("multiply", 10, whole), ("add", 10, whole), ("where", 10, whole)], 36_000_000,
               [z, x, y], moved=3 * size, written=size, gpu=gpu, makes=1)  # fmt: skip
    s.span((PARTITION, 0), w.created, 30_000, 50, w.id, s.line(10), 16)
    s.phase("setup", begin, 5)
    begin = s.clock
    last, scratch = w, s.allocate(16, "sin", part, 262_144, place)
    for step in range(chunks):
        s.python(14, 9_000 + 500 * (step % 7))
        last = s.task([("sin", 16, part), ("multiply", 16, part), ("add", 16, part)], 95_000 + 4_000 * (step % 11), [w],
                      moved=524_288, written=262_144, wide=False, gpu=gpu)  # fmt: skip
    s.release(scratch, last.stopped, reads=chunks)
    s.phase("slices", begin, 13)
    begin = s.clock
    for _ in range(12):
        s.python(20, 30_000)
        mean = s.task([("mean", 21, "float32[]")], 9_000_000, [last], moved=size, gpu=gpu)
        s.sync(21, mean)
        s.python(22, 40_000)
        last = s.task([("subtract", 22, whole)], 8_000_000, [mean], moved=size, written=size, gpu=gpu)
    s.phase("levelling", begin, 20)
    order = s.task([("argsort", 24, "int64[10000000]")], 190_000_000, [last], moved=size, written=2 * size, known=False,
                   gpu=gpu, makes=2)  # fmt: skip
    s.release(s.instances, order.stopped)
    s.span((PARTITION, 0), order.created, 55_000, 51, order.id, s.line(24))
    head = s.task([("take", 25, "float32[5]")], 20_000, [order], moved=60, written=20, wide=False, gpu=gpu)
    s.sync(25, head)
    s.span((IO, 0), s.clock, 800_000, 23, s.string("array2string"), s.line(25))
    s.clock += 800_000
    s.row("uses", kind=2, line=s.line(21), count=12, bytes=48, what=s.string("float"), time=begin)
    if findings:
        s.finding("bar-code", 16, 14, 0.021, "Many tiny tasks from one loop",
                  f"{chunks} tasks of about 0.1 ms each come from the loop at line 14; workers idle between them.",
                  "Work on the whole array: w += 2.0 * np.sin(z).")  # fmt: skip
        s.finding("sync-in-loop", 21, 20, 0.029, "The program waits inside a loop",
                  "float() at line 21 waits for the value 12 times; nothing is recorded meanwhile.",
                  "Keep level as a 0-d array and read it once, after the loop.")  # fmt: skip
    return s.done()
