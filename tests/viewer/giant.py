"""A run with as many boxes as one wants."""

from __future__ import annotations

import numpy as np

from tests.viewer.story import CPU, IO, UTILITY


def giant(spans: int, workers: int = 16, seed: int = 1) -> dict[str, dict[str, np.ndarray | list]]:
    """Tiny tasks on every worker, utility and Python beside them, with an edge for every fourth task."""
    random = np.random.default_rng(seed)
    lanes = workers + 2
    each = spans // lanes
    names = ["add·multiply", "sqrt", "where", "sum", "matmul", "take", "exp·log", "cumsum", "less·where", "copy"]
    # Bursts: stretches of boxes back to back, then a pause, so that zooming finds structure at every scale.
    gaps = random.integers(150, 900, (lanes, each)) + (random.random((lanes, each)) < 0.0004) * 3_000_000
    ran = (random.gamma(1.6, 2_400, (lanes, each))).astype(np.int64) + 120
    starts = np.cumsum(gaps + ran, axis=1) - ran
    processor = np.broadcast_to(np.arange(lanes, dtype=np.uint8)[:, None], (lanes, each))
    order = np.argsort(starts.ravel(), kind="stable")
    started, ran, processor = starts.ravel()[order], ran.ravel()[order], processor.ravel()[order]
    on_worker = processor < workers
    kind = np.where(on_worker, 0, np.where(processor == workers, 11, 20)).astype(np.uint8)
    subject = np.where(on_worker, np.cumsum(on_worker), 0)
    line = (started // 40_000_000) % 24 + 1
    tasks = int(on_worker.sum())
    at, length, place = started[on_worker], ran[on_worker], line[on_worker]
    queued = np.minimum(random.integers(0, 400, tasks), at)
    blocked = np.minimum(random.integers(0, 2_000, tasks), at - queued)
    ends = np.argsort(at + length, kind="stable")
    id = np.arange(1, tasks + 1)
    wait = id[1::4]
    memory = np.arange(0, tasks, 64)
    level = (np.abs(np.cumsum(random.normal(0, 1, len(memory)))) * 2**20).astype(np.int64)
    strings = ["/home/you/giant.py", "<module>", *names]
    source = "\n".join(f"step_{i} = work(step_{i - 1})" for i in range(1, 25))
    meta = {
        "program": "/home/you/giant.py",
        "rank": 0,
        "ranks": 1,
        "cpus": workers,
        "bandwidth": 10**11,
        "name": "giant",
    }
    return {
        "meta": {"key": list(meta), "value": list(meta.values())},
        "strings": {"text": strings},
        "sources": {"path": [1], "text": [source]},
        "lines": {"file": [1] * 24, "line": list(range(1, 25)), "function": [2] * 24},
        "processors": {
            "id": list(range(lanes)),
            "kind": [CPU] * workers + [UTILITY, IO],
            "index": [*range(workers), 0, 0],
            "name": [0] * lanes,
        },
        "memories": {"id": [0], "kind": [0], "index": [0], "capacity": [64 << 30], "name": [0]},
        "tasks": {
            "id": id[ends], "name": 3 + (place * 7 + id // 4096)[ends] % len(names),
            "created": (at - queued - blocked)[ends], "blocked": blocked[ends], "queued": queued[ends],
            "ran": length[ends], "line": place[ends],
            "read": (length * 8)[ends], "written": (length * 4)[ends],
        },
        "spans": {"processor": processor, "started": started, "ran": ran, "kind": kind, "subject": subject,
                  "line": line},
        "edges": {"task": wait, "from": np.maximum(wait - random.integers(64, 256, len(wait)), 1)},
        "levels": {"memory": np.zeros(len(memory), int), "time": at[memory], "bytes": level,
                   "peak": np.maximum.accumulate(level)},
        "end": {"time": [int((started + ran).max())]},
    }  # fmt: skip
