"""Writes profile files as docs/profile-format.md describes them, a table at a time.

The viewer is tested against the page, not against the recorder: whatever the page promises and this
module can write, the viewer must read.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

MAGIC = b"NLPROF\r\n"
CHUNK = 0x4B4E4843
ROWS = 2**18

BYTES, VARINT, DELTA, TEXT, SAME, LIST = range(6)

# Number of the table, and of each column with its usual encoding.
TABLES: dict[str, tuple[int, dict[str, tuple[int, int]]]] = {
    "meta": (1, {"key": (1, TEXT), "value": (2, TEXT)}),
    "strings": (2, {"text": (1, TEXT)}),
    "sources": (3, {"path": (1, VARINT), "text": (2, TEXT)}),
    "lines": (4, {"file": (1, VARINT), "line": (2, DELTA), "function": (3, VARINT)}),
    "processors": (5, {"id": (1, VARINT), "kind": (2, BYTES), "index": (3, VARINT), "name": (4, VARINT)}),
    "memories": (
        6,
        {"id": (1, VARINT), "kind": (2, BYTES), "index": (3, VARINT), "capacity": (4, VARINT), "name": (5, VARINT)},
    ),
    "tasks": (
        7,
        {
            "id": (1, DELTA), "name": (2, VARINT), "created": (3, DELTA), "blocked": (4, VARINT), "queued": (5, VARINT),
            "ran": (6, VARINT), "line": (7, VARINT), "variant": (8, BYTES), "read": (9, DELTA), "written": (10, DELTA),
            "tiles": (11, VARINT), "operations": (12, VARINT), "mapped": (13, VARINT), "failed": (14, BYTES),
        },
    ),
    "spans": (
        8,
        {
            "processor": (1, BYTES), "started": (2, DELTA), "ran": (3, VARINT), "kind": (4, BYTES),
            "subject": (5, DELTA), "line": (6, VARINT), "count": (7, VARINT),
        },
    ),
    "operations": (
        9,
        {
            "task": (1, DELTA), "name": (2, VARINT), "line": (3, VARINT), "shape": (4, VARINT), "recorded": (5, DELTA),
            "times": (6, VARINT), "traits": (7, BYTES),
        },
    ),
    "edges": (10, {"task": (1, DELTA), "from": (2, DELTA)}),
    "instances": (
        11,
        {
            "id": (1, DELTA), "memory": (2, VARINT), "bytes": (3, VARINT), "born": (4, DELTA), "line": (5, VARINT),
            "by": (6, VARINT), "by_line": (7, VARINT), "shape": (8, VARINT), "store": (9, DELTA),
            "task": (10, DELTA),
        },
    ),
    "deaths": (12, {"instance": (1, DELTA), "time": (2, DELTA), "reads": (3, VARINT)}),
    "copies": (
        13,
        {
            "from": (1, BYTES), "to": (2, BYTES), "started": (3, DELTA), "ran": (4, VARINT), "bytes": (5, VARINT),
            "reason": (6, BYTES), "line": (7, VARINT), "task": (8, DELTA),
        },
    ),
    "levels": (14, {"memory": (1, VARINT), "time": (2, DELTA), "bytes": (3, DELTA), "peak": (4, DELTA)}),
    "ranges": (
        15,
        {
            "name": (1, VARINT), "started": (2, DELTA), "ran": (3, VARINT), "depth": (4, VARINT), "line": (5, VARINT),
            "thread": (6, VARINT),
        },
    ),
    "small": (
        16,
        {
            "name": (1, VARINT), "line": (2, VARINT), "first": (3, DELTA), "last": (4, DELTA), "count": (5, VARINT),
            "elements": (6, VARINT),
        },
    ),
    "counters": (17, {"time": (1, DELTA), "name": (2, VARINT), "value": (3, VARINT)}),
    "uses": (
        18,
        {
            "kind": (1, BYTES), "line": (2, VARINT), "count": (3, VARINT), "bytes": (4, VARINT), "what": (5, VARINT),
            "time": (6, DELTA),
        },
    ),
    "findings": (
        19,
        {
            "kind": (1, VARINT), "line": (2, VARINT), "loop": (3, VARINT), "seconds": (4, VARINT), "bytes": (5, VARINT),
            "title": (6, TEXT), "text": (7, TEXT), "advice": (8, TEXT),
        },
    ),
    "end": (20, {"time": (1, VARINT)}),
    "held": (21, {"instance": (1, DELTA), "reads": (2, VARINT), "last_read": (3, VARINT)}),
}  # fmt: skip


def varints(values: np.ndarray) -> bytes:
    """LEB128 of every value, all at once."""
    values = values.astype(np.uint64)
    lengths = np.ones(len(values), np.int64)
    for bits in range(7, 64, 7):
        lengths += values >= np.uint64(1 << bits)
    ends = np.cumsum(lengths)
    out = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    starts = ends - lengths
    for place in range(int(lengths.max(initial=0))):
        here = lengths > place
        part = (values[here] >> np.uint64(7 * place)) & np.uint64(127)
        more = (lengths[here] > place + 1).astype(np.uint64) << np.uint64(7)
        out[starts[here] + place] = (part | more).astype(np.uint8)
    return out.tobytes()


def zigzag(values: np.ndarray) -> np.ndarray:
    steps = np.diff(values.astype(np.int64), prepend=0)
    return ((steps << 1) ^ (steps >> 63)).view(np.uint64)


def column(number: int, encoding: int, values: Sequence | np.ndarray) -> bytes:
    if encoding == TEXT:
        coded = [str(value).encode() for value in values]
        body = b"".join(varints(np.array([len(text)])) + text for text in coded)
    else:
        array = np.asarray(values)
        if len(array) > 1 and (array == array[0]).all():
            encoding, body = SAME, varints(array[:1])
        elif encoding == BYTES:
            body = array.astype(np.uint8).tobytes()
        else:
            body = varints(zigzag(array) if encoding == DELTA else array)
    return struct.pack("<BBI", number, encoding, len(body)) + body


def chunk(kind: int, rows: int, raw: bytes, *, deflate: bool = True) -> bytes:
    stored = raw
    if deflate:
        packer = zlib.compressobj(1, zlib.DEFLATED, -15)
        stored = packer.compress(raw) + packer.flush()
    head = struct.pack("<IHHIII", CHUNK, kind, int(deflate), len(stored), len(raw), rows)
    return head + struct.pack("<I", zlib.crc32(stored, zlib.crc32(head))) + stored


def table(name: str, columns: Mapping[str, Sequence | np.ndarray]) -> bytes:
    kind, known = TABLES[name]
    rows = len(next(iter(columns.values())))
    out = []
    for first in range(0, rows, ROWS):
        last = min(rows, first + ROWS)
        raw = b"".join(column(*known[key], values[first:last]) for key, values in columns.items())
        out.append(chunk(kind, last - first, raw, deflate=len(raw) > 64))
    return b"".join(out)


def header(major: int = 1, minor: int = 0) -> bytes:
    return MAGIC + struct.pack("<HHI", major, minor, 0)


def write(path: Path, tables: Mapping[str, Mapping[str, Sequence | np.ndarray]]) -> Path:
    """The tables in the order given, as a whole file."""
    with open(path, "wb") as out:
        out.write(header())
        for name, columns in tables.items():
            out.write(table(name, columns))
    return path
