"""A process that runs programs under one configuration.

`python -m tests.fuzz.worker run SEED START STRIDE COUNT SECONDS` runs generated programs and writes one
JSON line a program before it starts (so that a crash can be laid at its door) and one for each failure.
`python -m tests.fuzz.worker generate SEED INDEX` only writes the program down.
`python -m tests.fuzz.worker check` answers, for each program read from standard input, how it differs.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import time

import numpy

from . import compare, execute
from .generator import generate
from .program import Program

MODULE = os.environ.get("NUMLOOM_TEST_MODULE", "numloom")


def say(**message) -> None:
    os.write(OUT, (json.dumps(message) + "\n").encode())


def difference(program: Program, np) -> str | None:
    expected = execute.run(program, numpy)
    actual = execute.run(program, np)
    return compare.Comparison(program, expected, actual).difference()


def run(np, seed: int, start: int, stride: int, count: int, seconds: float) -> None:
    end = time.monotonic() + seconds if seconds else None
    for k in range(count):
        if end and time.monotonic() > end:
            break
        index = start + k * stride
        say(begin=index)
        program = generate(seed, index)
        wrong = difference(program, np)
        if wrong:
            say(fail=index, wrong=wrong, program=program.to_json())
    say(done=True)


def check(np) -> None:
    for line in sys.stdin:
        say(wrong=difference(Program.from_json(json.loads(line)), np))


if __name__ == "__main__":
    # Whatever the module under test prints must not end up between the messages.
    OUT = os.dup(1)
    os.dup2(2, 1)
    faulthandler.enable()
    if sys.argv[1] == "generate":
        say(program=generate(int(sys.argv[2]), int(sys.argv[3])).to_json())
        sys.exit()
    os.environ.setdefault("NUMLOOM_FALLBACK_WARNINGS", "0")
    module = importlib.import_module(MODULE)
    if sys.argv[1] == "run":
        seed, start, stride, count = map(int, sys.argv[2:6])
        run(module, seed, start, stride, count, float(sys.argv[6]))
    else:
        check(module)
