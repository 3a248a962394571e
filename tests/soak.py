"""`python -m tests.soak`: ten million small operations and a hundred thousand large ones, in flat memory.

Prints the resident set as it goes; with --check it fails when the second half needs more than the first.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable

from .oracle import np

ALLOWED_GROWTH = 24 << 20


def resident() -> int:
    """Bytes of this process in memory now."""
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


def small_round() -> int:
    """A handful of operations on ten elements, with views, masks, reads and an exception."""
    x = np.arange(10.0)
    y = x * 2 + 1
    y[2:5] += x[1:4]
    y[y > 10] = 0
    total = float(y.sum())
    z = np.sqrt(y)[::-1]
    try:
        z[10]
    except IndexError:
        total += 1
    return 10


def large_round() -> int:
    """A few deferred operations; every other result is dropped unseen."""
    x = np.ones(30_000)
    y = x * 2 + 1
    y[1:] += x[:-1]
    y[y > 3.5] -= 1
    np.sqrt(y)
    s = y.sum()
    large_round.turn = not large_round.turn
    if large_round.turn:
        float(s)
    return 8


large_round.turn = False


def soak(name: str, one: Callable[[], int], operations: int) -> int:
    """Runs rounds until so many operations are done; answers by how many bytes the second half grew."""
    done, marks, begun = 0, [], time.perf_counter()
    for part in range(10):
        while done < operations * (part + 1) / 10:
            done += one()
        marks.append(resident())
        rate = done / (time.perf_counter() - begun)
        print(
            f"{name}: {done:>10} operations, {rate:>10.0f} a second, {marks[-1] / 2**20:8.1f} MiB resident", flush=True
        )
    return marks[-1] - marks[4]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    parser.add_argument("--small", type=int, default=10_000_000)
    parser.add_argument("--large", type=int, default=100_000)
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    growth = {"small": soak("small", small_round, args.small), "large": soak("large", large_round, args.large)}
    for name, grew in growth.items():
        print(f"{name}: {grew / 2**20:+.1f} MiB over the second half")
    return 1 if args.check and max(growth.values()) > ALLOWED_GROWTH else 0


if __name__ == "__main__":
    sys.exit(main())
