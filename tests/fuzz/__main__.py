"""`python -m tests.fuzz --programs 100000 --seed 1`: the long run; `--minutes 3`: as many as fit."""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .runner import CONFIGS, EVERY, Checker, Failure, Tally, run_config
from .shrink import script, shrink

KEPT = Path(__file__).with_name("regressions")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--programs", type=int, default=None, help="how many programs in all (dealt out to the configurations)"
    )
    parser.add_argument("--minutes", type=float, default=0, help="stop after so many minutes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--config", action="append", choices=list(EVERY), help="only this configuration (repeatable)")
    parser.add_argument("--jobs", type=int, default=2, help="workers at a time")
    parser.add_argument("--without", default="", help="kinds of statements to leave out, by function name, with commas")
    parser.add_argument("--index", type=int, help="only this program")
    parser.add_argument("--keep", action="store_true", help=f"write shrunk failures to {KEPT.name}/")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument("--most-failures", type=int, default=20, help="give up a configuration after so many")
    args = parser.parse_args()

    os.environ["NUMLOOM_FUZZ_WITHOUT"] = args.without
    configs = args.config or list(CONFIGS)
    programs = args.programs if args.programs else (10**9 if args.minutes else 10_000)
    each = -(-programs // len(configs))
    rounds = -(-len(configs) // args.jobs)
    seconds = args.minutes * 60 / rounds
    begun = time.monotonic()
    totals: dict[str, Tally] = {}
    lock = threading.Lock()
    live = sys.stderr.isatty()
    pause = 0.2 if live else 20
    said = begun

    def report(config: str, tally: Tally) -> None:
        nonlocal said
        with lock:
            totals[config] = tally
            if time.monotonic() - said < pause:
                return
            said = time.monotonic()
            done = sum(t.programs for t in totals.values())
            failed = sum(len(t.failures) for t in totals.values())
            rate = done / (time.monotonic() - begun)
            line = f"{done} programs, {failed} failures, {rate:.0f}/s"
            print(f"\r{line}  " if live else f"{line}\n", end="", file=sys.stderr, flush=True)

    def run(k: int, config: str) -> Tally:
        if args.index is not None:
            return run_config(config, args.seed, args.index, 1, 1, 0, report)
        return run_config(config, args.seed, k, len(configs), each, seconds, report, args.most_failures)

    with ThreadPoolExecutor(args.jobs) as pool:
        tallies = dict(zip(configs, pool.map(run, range(len(configs)), configs), strict=True))

    if live:
        print(file=sys.stderr)
    print(f"{'configuration':20} {'programs':>9} {'failures':>9} {'per second':>11}")
    for config, tally in tallies.items():
        print(
            f"{config:20} {tally.programs:9} {len(tally.failures):9} {tally.programs / max(tally.seconds, 1e-9):11.0f}"
        )
    failures = [f for t in tallies.values() for f in t.failures]
    shown = set()
    for failure in failures:
        show(failure, args, shown)
    return 1 if failures else 0


def show(failure: Failure, args, shown: set) -> None:
    print(f"\n=== {failure.config}, program {failure.index}: {failure.wrong}")
    if args.no_shrink:
        return
    checker = Checker(failure.config)
    small = shrink(failure, checker)
    checker.close()
    if small is None:
        print("does not fail when run alone")
        return
    program, words = small
    # Many programs fail for one reason: the same kinds of statements and the same words.
    key = (tuple(s.kind for s in program.steps), words.split(":")[-1][:20])
    if key in shown:
        print(f"like an earlier one: {words}")
        return
    shown.add(key)
    text = script(program, failure.config, words)
    print(text[text.index("def program") : text.index("if __name__")])
    print(words)
    if args.keep:
        path = KEPT / f"seed{args.seed}_{failure.index}_{failure.config.replace('-', '_')}.py"
        path.write_text(text)
        print(f"kept as {path.name}")


if __name__ == "__main__":
    sys.exit(main())
