"""`python -m benches.families [--only TEXT] [--rounds 5] [--json FILE]`: milliseconds, best of several rounds.

In a round a row is timed under both modules, one right after the other, so that what disturbs one disturbs both.
Results are compared; the last column is NumPy's time over Numloom's.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy
from benches import families

import numloom


def all_rows() -> Iterator[tuple[str, families.Row]]:
    for module in pkgutil.iter_modules(families.__path__):
        if not module.name.startswith("_"):
            for row in importlib.import_module(f"{families.__name__}.{module.name}").ROWS:
                yield module.name, row


def timed(np: Any, row: families.Row, inputs: list[Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = row.call(np, *inputs)
    if np is numloom:
        numloom.sync()
    return (time.perf_counter() - start) * 1e3, result


def equal(got: Any, want: Any) -> bool:
    return got.shape == want.shape and got.dtype == want.dtype and numpy.allclose(got, want, rtol=1e-5, equal_nan=True)


def measure(row: families.Row, rounds: int) -> tuple[float, float, bool]:
    rng = numpy.random.default_rng(42)
    theirs = [make(rng) for make in row.inputs]
    ours = [numloom.asarray(x) for x in theirs]
    _, want = timed(numpy, row, theirs)
    _, got = timed(numloom, row, ours)
    right = (row.same or equal)(numpy.asarray(got), numpy.asarray(want))
    del got, want
    both = [(timed(numpy, row, theirs)[0], timed(numloom, row, ours)[0]) for _ in range(rounds)]
    return min(b[0] for b in both), min(b[1] for b in both), bool(right)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benches.families", description=__doc__)
    parser.add_argument("--only", default="", help="rows whose family or name has this text")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", help="a file for the figures")
    given = parser.parse_args()
    print(f"{'':32}{'NumPy':>10}{'Numloom':>10}{'ratio':>8}")
    found, all_right = [], True
    for family, row in all_rows():
        name = f"{family}: {row.name}"
        if given.only not in name:
            continue
        numpys, ours, right = measure(row, given.rounds)
        all_right &= right
        print(f"{name:32}{numpys:10.1f}{ours:10.1f}{numpys / ours:7.2f}x{'' if right else '  WRONG'}", flush=True)
        found.append({"family": family, "row": row.name, "numpy_ms": numpys, "numloom_ms": ours, "right": right})
    if given.json:
        with open(given.json, "w") as file:
            json.dump(found, file, indent=1)
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
