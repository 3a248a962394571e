"""What a profile costs: benchmark programs with and without one, turn by turn in one process, best of several.

python benches/profile_overhead.py ../shared/bench [--rounds 7] [--scale 0.3]
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy

import numloom


def timed(program, args) -> float:
    began = time.perf_counter()
    kept = program.fn(numloom, *args)
    numloom.sync(None)
    took = time.perf_counter() - began
    del kept
    return took


def once(program, args, path: Path | None) -> tuple[float, int]:
    """Seconds of one run, and how many operations it had."""
    before = numloom.stats()["operations"]
    if path is None:
        return timed(program, args), numloom.stats()["operations"] - before
    with numloom.profile(path):
        took = timed(program, args)
    return took, numloom.stats()["operations"] - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bench", type=Path, help="the folder with the benchmark programs")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--scale", type=float, default=1.0)
    options = parser.parse_args()
    sys.path.insert(0, str(options.bench))
    import programs

    all_programs = programs.load(options.scale)
    print(f"{'program':<16}{'off':>12}{'on':>12}{'more':>9}{'ns/op':>9}{'file':>11}")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("small_arrays", "black_scholes", "jacobi2d"):
            program = all_programs[name]
            inputs = program.inputs(numpy.random.default_rng(42))
            args = [numloom.asarray(a) if isinstance(a, numpy.ndarray) else a for a in inputs]
            path = Path(folder) / "run.prof"
            off, on, operations = [], [], 1
            for _ in range(options.rounds):
                took, operations = once(program, args, None)
                off.append(took)
                path.unlink(missing_ok=True)
                on.append(once(program, args, path)[0])
            least, most = min(off), min(on)
            more = most - least
            print(
                f"{name:<16}{least * 1e3:>10.2f}ms{most * 1e3:>10.2f}ms{more / least:>8.1%}"
                f"{more / operations * 1e9:>9.1f}{path.stat().st_size:>11}"
            )


if __name__ == "__main__":
    main()
