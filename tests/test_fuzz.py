"""A short run of the program fuzzer under every configuration; `python -m tests.fuzz` is the long one."""

from __future__ import annotations

import os

import pytest

from .fuzz.runner import CONFIGS, Checker, run_config
from .fuzz.shrink import script, shrink

# Always the same programs, about two minutes of them, unless told otherwise.
PROGRAMS = int(os.environ.get("NUMLOOM_FUZZ_PROGRAMS", "16000")) // len(CONFIGS)


@pytest.mark.parametrize("config", CONFIGS)
def test_programs_agree_with_numpy(config):
    start = list(CONFIGS).index(config)
    tally = run_config(config, seed=2026, start=start, stride=len(CONFIGS), count=PROGRAMS, most_failures=1)
    print(f"{config}: {tally.programs} programs, {tally.programs / tally.seconds:.0f} a second")
    if not tally.failures:
        return
    failure = tally.failures[0]
    checker = Checker(config)
    small = shrink(failure, checker)
    checker.close()
    text = script(small[0], config, small[1]) if small else "does not fail when run alone"
    pytest.fail(f"program {failure.index}: {failure.wrong}\n\n{text}", pytrace=False)
