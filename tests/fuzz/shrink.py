"""Makes a failing program small, and writes it as a script that stands alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace

import numpy

from . import execute
from .generator import replay
from .program import Program, Step
from .runner import EVERY, Checker, Failure

Wrong = Callable[[Program], str | None]


def shrink(failure: Failure, checker: Checker) -> tuple[Program, str] | None:
    """A smaller program that still fails, with what is wrong; None if it does not fail when run alone."""
    first = checker.wrong(failure.program)
    if not first:
        return None

    def wrong(p: Program) -> str | None:
        """What is wrong with a candidate, if it makes sense and fails in the same manner."""
        p = replay(p)
        words = p and checker.wrong(p)
        return words if words and manner(words) == manner(first) else None

    program, words = failure.program, first
    while True:
        size = measure(program)
        for reduce in (drop_steps, cut_chains, drop_steps, shrink_shapes):
            program, words = reduce(program, words, wrong)
        if measure(program) >= size:
            return replay(program) or program, words


def manner(words: str) -> str:
    return next((m for m in ("worker ended", "hung", "errors differ") if words.startswith(m)), "values")


def measure(p: Program) -> tuple[int, int]:
    return len(p.steps), sum(len(s.code) for s in p.steps)


def drop_steps(program: Program, words: str, wrong: Wrong) -> tuple[Program, str]:
    """Removes runs of statements, long ones first, from the end; then dependents along with what they need."""
    length = max(1, len(program.steps) // 2)
    while length:
        at = len(program.steps) - length
        while at >= 0:
            gone = {s.defines for s in program.steps[at : at + length] if s.defines}
            head, tail = program.steps[:at], program.steps[at + length :]
            for rest in ([*head, *tail], [*head, *without(tail, gone)]):
                candidate = program.with_steps(rest)
                now = wrong(candidate)
                if now:
                    program, words = candidate, now
                    break
            at -= length
            at = min(at, len(program.steps) - length)
        length //= 2
    return program, words


def without(steps: list[Step], gone: set) -> list[Step]:
    kept = []
    for step in steps:
        if gone & set(step.reads) or any(step.code == f"del {n}" for n in gone):
            if step.defines:
                gone = gone | {step.defines}
            continue
        kept.append(step)
    return kept


def cut_chains(program: Program, words: str, wrong: Wrong) -> tuple[Program, str]:
    """Replaces what a name is computed from by plain data of the same shape and type."""
    for i in reversed(range(len(program.steps))):
        step = program.steps[i]
        if not step.defines or step.kind == "create":
            continue
        executor = execute.Executor(numpy)
        execute.run(program.with_steps(program.steps[: i + 1]), numpy, executor)
        value = executor.scope.get(step.defines)
        if not isinstance(value, numpy.ndarray):
            continue
        plain = Step("create", f"{step.defines} = data(0, {value.shape}, {value.dtype.name!r})", defines=step.defines)
        candidate = program.with_steps([*program.steps[:i], plain, *program.steps[i + 1 :]])
        now = wrong(candidate)
        if now:
            program, words = candidate, now
    return program, words


NUMBER = re.compile(r"(?<![\w.])\d{2,}(?![\w.])")


def shrink_shapes(program: Program, words: str, wrong: Wrong) -> tuple[Program, str]:
    """Replaces a number wherever it occurs by a smaller one."""
    numbers = {int(n) for s in program.steps for n in NUMBER.findall(s.code)}
    for n in sorted(numbers, reverse=True):
        for smaller in (n // 16, n // 4, n // 2, n - 1):
            if smaller < 1:
                continue

            def swap(m, n=n, smaller=smaller):
                return str(smaller) if int(m.group()) == n else m.group()

            candidate = program.with_steps([replace(s, code=NUMBER.sub(swap, s.code)) for s in program.steps])
            now = wrong(candidate)
            if now:
                program, words = candidate, now
                break
    return program, words


def script(program: Program, config: str, words: str) -> str:
    """A script that runs the program under NumPy and under the module and fails if they differ."""
    outcome = execute.run(program, numpy)
    raising = {i for i, _, _ in outcome.errors}
    loose = {n for n in outcome.values if n in program.approx_names}
    loose |= {
        f"read {k}" for k, (i, _) in enumerate(outcome.reads) if program.steps[i].approx or program.steps[i].tainted
    }
    first = words.splitlines()[0].replace('"', "'").replace("\\", "/")[:300]
    lines = [
        f'"""Seed {program.seed}, program {program.index}, configuration {config}.\n\n{first}\n"""\n',
        "from tests.fuzz.replay import replay\n\n",
        "def program(np, data, read):",
    ]
    for i, step in enumerate(program.steps):
        if i in raising or step.kind == "error":
            lines += [
                "    try:",
                f"        {step.code}",
                "    except Exception as e:",
                "        read(type(e).__name__)",
            ]
        else:
            lines.append(f"    {step.code}")
    lines += ['    return {k: v for k, v in locals().items() if k[0] == "v"}\n\n', 'if __name__ == "__main__":']
    also = f", {json.dumps(sorted(loose))}" if loose else ""
    lines.append(f"    replay(program, {json.dumps(EVERY[config])}{also})\n")
    text = "\n".join(lines)
    if "numpy." in text:
        text = text.replace("from tests", "import numpy\n\nfrom tests", 1)
    return text
