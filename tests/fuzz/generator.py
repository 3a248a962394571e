"""Writes random programs. NumPy runs along, so that every statement fits the arrays that are there."""

from __future__ import annotations

import random
import warnings
from dataclasses import replace

import numpy

from . import kinds
from .execute import Executor
from .program import LARGE, Program, Step

MOST_ELEMENTS = 60_000
MOST_NAMES = 20

SMALL_SHAPES = [
    (), (1,), (0,), (7,), (12,), (33,), (1, 5), (4, 6), (6, 6), (5, 1, 3), (3, 4, 5), (0, 3), (2, 3, 2, 4),
    (64,), (16, 16),
]  # fmt: skip
MIDDLE_SHAPES = [(300,), (40, 30), (6000,), (80, 70), (10, 12, 14)]
LARGE_SHAPES = [(LARGE + 5000,), (160, 150), (150, 160), (20, 30, 40), (40_000,), (2, 3, 50, 80)]


class Generator:
    """The state of a program being written: its names, their NumPy values, and what is approximate."""

    def __init__(self, seed: int, index: int) -> None:
        self.rng = random.Random(seed * 1_000_003 + index)
        self.program = Program(seed, index)
        self.executor = Executor(numpy)
        self.next_name = 0
        self.approx_roots: dict[int, bool] = {}
        roll = self.rng.random()
        family = SMALL_SHAPES if roll < 0.72 else MIDDLE_SHAPES if roll < 0.88 else LARGE_SHAPES
        self.shapes = [self.rng.choice(family) for _ in range(2)]
        self.dtypes = self.rng.sample(kinds.DTYPES, 3) + ["float64"]

    # What is there

    @property
    def scope(self) -> dict:
        return self.executor.scope

    def names(self) -> list[str]:
        return list(self.executor.names())

    def value(self, expression: str):
        return eval(expression, self.scope)

    def root(self, name: str) -> int:
        value = self.scope[name]
        while isinstance(getattr(value, "base", None), numpy.ndarray):
            value = value.base
        return id(value)

    def is_approx(self, name: str) -> bool:
        return self.approx_roots.get(self.root(name), False)

    def fresh(self) -> str:
        self.next_name += 1
        return f"v{self.next_name - 1}"

    # Choices

    def shape(self) -> tuple[int, ...]:
        if self.rng.random() < 0.06:
            return self.rng.choice(SMALL_SHAPES)
        return self.rng.choice(self.shapes)

    def dtype(self) -> str:
        return self.rng.choice(self.dtypes)

    def pick(
        self, wanted=lambda v: True, *, exact: bool = False, arrays: bool = True, writeable: bool = False
    ) -> str | None:
        """A name whose value is wanted, or None. Later names are likelier."""
        names = self.names()
        for name in sorted(names, key=lambda n: -self.rng.random() * (3 + int(n[1:]))):
            value = self.scope[name]
            if arrays and not isinstance(value, numpy.ndarray):
                continue
            if writeable and not value.flags.writeable:
                continue
            if exact and self.is_approx(name):
                continue
            if wanted(value):
                return name
        return None

    def slice_text(self, extent: int, length: int | None = None) -> str:
        """A slice of an axis; of the given length, if there is one."""
        rng = self.rng
        if length is None:
            roll = rng.random()
            if roll < 0.3:
                return ":"
            a, b = sorted((rng.randint(0, extent), rng.randint(0, extent)))
            step = rng.choice([1, 1, 1, 2, 3])
            if roll < 0.75:
                return f"{a}:{b}" + (f":{step}" if step > 1 else "")
            if roll < 0.85:
                return f"::-{step}" if step > 1 else "::-1"
            return f"{-(extent - a) or ''}:" if extent > a else f"{a}:"
        if length == 0:
            return "0:0"
        steps = [s for s in (1, 1, 1, 2, 3) if (length - 1) * s + 1 <= extent]
        if not steps:
            return ""
        step = rng.choice(steps)
        span = (length - 1) * step + 1
        a = rng.randint(0, extent - span)
        if rng.random() < 0.15:
            stop = a - 1
            return f"{a + span - 1}:{stop if stop >= 0 else ''}:-{step}"
        if step == 1 and length == extent:
            return ":"
        return f"{a}:{a + span}" + (f":{step}" if step > 1 else "")

    def fitted(self, shape: tuple[int, ...], wanted=lambda v: True, *, exact: bool = False) -> tuple[str, str] | None:
        """(expression, name) of a view with exactly this shape, cut out of some array."""

        def fits(v):
            lead = v.ndim - len(shape)
            return (
                wanted(v)
                and lead >= 0
                and 0 not in v.shape[:lead]
                and all(e >= n for e, n in zip(v.shape[lead:], shape, strict=True))
            )

        name = self.pick(fits, exact=exact)
        if name is None:
            return None
        value = self.scope[name]
        if value.shape == shape:
            return name, name
        lead = value.ndim - len(shape)
        index = [str(self.rng.randint(-e, e - 1)) for e in value.shape[:lead]]
        index += [self.slice_text(e, n) for e, n in zip(value.shape[lead:], shape, strict=True)]
        return f"{name}[{', '.join(index)}]", name

    def operand(
        self, shape: tuple[int, ...], wanted=lambda v: True, *, exact: bool = False, scalars: bool = True
    ) -> tuple[str, tuple[str, ...]] | None:
        """(expression, names) of something that broadcasts to the shape."""
        rng = self.rng
        roll = rng.random()
        if scalars and roll < 0.22:
            return kinds.python_scalar(rng), ()
        if roll < 0.34 and len(shape) > 0:
            cut = rng.randint(0, len(shape))
            shape = tuple(1 if rng.random() < 0.2 else n for n in shape[cut:])
        if roll > 0.94:
            name = self.pick(lambda v: v.ndim == 0 and wanted(v), exact=exact, arrays=False)
            if name:
                return name, (name,)
        found = self.fitted(shape, wanted, exact=exact)
        return (found[0], (found[1],)) if found else None

    # Steps

    def taints(self, step: Step) -> bool:
        """Whether what the step makes is approximate; says so in the step."""
        step.tainted = any(self.is_approx(n) for n in step.reads if n in self.scope)
        return step.approx or step.tainted

    def note(self, step: Step, tainted: bool, old_roots: set[int]) -> bool:
        """Keeps account of what became approximate. False: a whole number that depends on a rounding."""
        if step.defines:
            value = self.scope[step.defines]
            inexact = value.dtype.kind in "fc"
            if tainted and not inexact:
                return False
            root = self.root(step.defines)
            self.approx_roots[root] = tainted or (root in old_roots and self.approx_roots.get(root, False))
        if step.target:
            self.approx_roots[self.root(step.target)] = self.is_approx(step.target) or tainted
        return True

    def add(self, step: Step) -> bool:
        """Runs the step under NumPy and keeps it if it does something of bearable size."""
        tainted = self.taints(step)
        if tainted and step.target and self.scope[step.target].dtype.kind not in "fc":
            return False
        old_roots = {self.root(n) for n in self.names()}
        reads_before = len(self.executor.outcome.reads)
        if not self.executor.step(len(self.program.steps), step):
            self.executor.outcome.errors.clear()
            del self.executor.outcome.reads[reads_before:]
            if step.kind != "error" and self.rng.random() > 0.05:
                return False
            step.approx = step.tainted = False
            self.program.steps.append(step)
            return True
        if step.defines:
            value = self.scope[step.defines]
            arrays = isinstance(value, (numpy.ndarray, numpy.generic))
            if not arrays or value.size > MOST_ELEMENTS or value.ndim > 6 or not self.note(step, tainted, old_roots):
                del self.scope[step.defines]
                return False
        else:
            self.note(step, tainted, old_roots)
        self.program.steps.append(step)
        return True

    def write(self) -> Program:
        length = self.rng.randint(5, 60)
        with warnings.catch_warnings(), numpy.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for shape in self.shapes:
                self.add(kinds.create(self, shape))
            tries = 0
            while len(self.program.steps) < length and tries < 6 * length:
                tries += 1
                kind = self.rng.choices(list(kinds.WEIGHTS), kinds.WEIGHTS.values())[0]
                step = kind(self)
                if step is not None:
                    self.add(step)
                while len(self.names()) > MOST_NAMES:
                    self.add(kinds.drop(self))
        return self.finish()

    def finish(self) -> Program:
        self.program.approx_names = {n for n in self.names() if self.is_approx(n)}
        return self.program


def generate(seed: int, index: int) -> Program:
    return Generator(seed, index).write()


def replay(program: Program) -> Program | None:
    """The same statements with what is approximate worked out again; None if they make no sense together."""
    g = Generator(program.seed, program.index)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, step in enumerate(program.steps):
            step = replace(step)
            old_roots = {g.root(n) for n in g.names()}
            tainted = g.taints(step)
            if step.target and step.target in g.scope and tainted and g.scope[step.target].dtype.kind not in "fc":
                return None
            if g.executor.step(i, step):
                if step.defines and not isinstance(g.scope[step.defines], (numpy.ndarray, numpy.generic)):
                    return None
                if not g.note(step, tainted, old_roots):
                    return None
            elif g.executor.outcome.errors[-1][1] == "NameError":
                return None
            g.program.steps.append(step)
    return g.finish()
