"""Runs a program under a module and returns everything that can be observed of it."""

from __future__ import annotations

import functools
import re
import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy

from .program import Program, Step, data_function


@dataclass
class Outcome:
    values: dict[str, Any] = field(default_factory=dict)
    reads: list[tuple[int, Any]] = field(default_factory=list)
    errors: list[tuple[int, str, str]] = field(default_factory=list)


@functools.lru_cache(maxsize=50_000)
def compiled(code: str):
    return compile(code, "<step>", "exec")


@functools.lru_cache(maxsize=4)
def data_of(np):
    return data_function(np)


class Executor:
    """A namespace that steps run in. Exceptions of a step are part of the outcome."""

    def __init__(self, np) -> None:
        self.np = np
        self.outcome = Outcome()
        self.at = 0
        self.scope: dict[str, Any] = {
            "np": np,
            "numpy": numpy,
            "read": self.read,
            "data": data_of(np),
        }

    def read(self, value) -> None:
        self.outcome.reads.append((self.at, value))

    def step(self, i: int, step: Step) -> bool:
        self.at = i
        try:
            exec(compiled(step.code), self.scope)
        except Exception as e:
            self.outcome.errors.append((i, type(e).__name__, str(e)))
            return False
        return True

    def names(self) -> dict[str, Any]:
        return {k: v for k, v in self.scope.items() if k[0] == "v" and k[1:].isdigit()}


# What masks compare with: an element that equals one of these must go on doing so.
THRESHOLDS = numpy.array([0, 0.5, 1, 2])


SHIFT = 4


def noise(rng: numpy.random.RandomState, shape) -> numpy.ndarray:
    """Never of one size, so that two disturbances do not cancel."""
    return numpy.asarray(rng.uniform(0.3, 1.0, shape) * rng.choice([-1.0, 1.0], shape))


def perturbed(x, rng: numpy.random.RandomState, keep_thresholds: bool = False):
    """A copy of x with every float a few units in the last place away."""
    x = numpy.asarray(x)
    if x.dtype.kind == "c":
        real, imag = perturbed(x.real, rng), perturbed(x.imag, rng)
        return (real + 1j * imag).astype(x.dtype)
    if x.dtype.kind != "f":
        return x
    size = noise(rng, x.shape)
    if keep_thresholds:
        size[numpy.isin(x, THRESHOLDS)] = 0
    return (x * (1 + SHIFT * float(numpy.finfo(x.dtype).eps) * size)).astype(x.dtype)


def blurred(x, magnitude, rng: numpy.random.RandomState):
    """A copy of x with every float, or part of a complex number, off by a few units of `magnitude`'s last place."""
    x = numpy.asarray(x)
    if x.dtype.kind == "c":
        return (blurred(x.real, magnitude, rng) + 1j * blurred(x.imag, magnitude, rng)).astype(x.dtype)
    with numpy.errstate(all="ignore"):
        step = SHIFT * float(numpy.finfo(x.dtype).eps) * numpy.where(numpy.isfinite(magnitude), magnitude, 0)
        return (x + step * noise(rng, x.shape)).astype(x.dtype)


# Steps whose results are sums, with or without factors: as wrong as the sum of the magnitudes allows, however small the
# sum itself has become.
SUMS = {"cumsum", "matmul", "einsum", "product"}
A_SUM = re.compile(r"\b(sum|mean)\(")


class PerturbedExecutor(Executor):
    """NumPy with every approximate step disturbed on its way in and out: what moves is what may differ."""

    def __init__(self, seed: int) -> None:
        super().__init__(numpy)
        self.rng = numpy.random.RandomState(seed)

    def disturb(self, name: str | None, keep_thresholds: bool = False) -> None:
        value = self.scope.get(name)
        if isinstance(value, numpy.ndarray) and value.dtype.kind in "fc":
            if value.flags.writeable:
                value[...] = perturbed(value, self.rng, keep_thresholds)
        elif isinstance(value, numpy.inexact):
            self.scope[name] = perturbed(value, self.rng)[()]

    def step(self, i: int, step: Step) -> bool:
        if not step.approx:
            return super().step(i, step)
        held = {}
        for name in step.reads:
            value = self.scope.get(name)
            if name == step.target:
                self.disturb(name, keep_thresholds=True)
            elif isinstance(value, (numpy.ndarray, numpy.inexact)) and name != step.defines:
                held[name] = value
                self.scope[name] = perturbed(value, self.rng, keep_thresholds=True)[()]
        done = super().step(i, step)
        self.scope.update(held)
        self.disturb(step.target or step.defines)
        if done and step.defines:
            self.blur(step)
        return done

    def blur(self, step: Step) -> None:
        """What cancels is not measured by itself: a sum by its terms, a part of a complex number by the whole."""
        value = self.scope.get(step.defines)
        if not isinstance(value, numpy.ndarray | numpy.inexact) or value.dtype.kind not in "fc":
            return
        if step.kind in SUMS or (step.kind == "reduce" and A_SUM.search(step.code)):
            magnitude = self.magnitude(step)
        else:
            magnitude = numpy.abs(value) if value.dtype.kind == "c" else None
        if step.kind == "cumsum" and magnitude is not None:
            # Terms that are alike are all rounded the same way when they are added one after another.
            magnitude = magnitude * max(1, value.size / 256)
        if magnitude is not None and numpy.shape(magnitude) == value.shape:
            moved = blurred(value, magnitude, self.rng)
            if isinstance(value, numpy.ndarray) and value.flags.writeable:
                value[...] = moved
            else:
                self.scope[step.defines] = moved[()]

    def magnitude(self, step: Step) -> numpy.ndarray | None:
        """What a sum of products is if none of them is negative."""
        scope = dict(self.scope)
        for name in step.reads:
            value = scope.get(name)
            if isinstance(value, numpy.ndarray | numpy.number):
                scope[name] = numpy.abs(value) if value.dtype.kind in "fc" else value
        try:
            exec(compiled(step.code), scope)
        except Exception:
            return None
        return numpy.abs(numpy.asarray(scope[step.defines]).astype(complex))


def run(program: Program, np, executor: Executor | None = None) -> Outcome:
    executor = executor or Executor(np)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for i, step in enumerate(program.steps):
            executor.step(i, step)
        names = executor.names()
        outcome = executor.outcome
        for name, value in names.items():
            try:
                outcome.values[name] = (numpy.asarray(value), isinstance(value, np.ndarray))
            except Exception as e:
                outcome.errors.append((len(program.steps), type(e).__name__, f"{name}: {e}"))
        outcome.reads = [(i, x if isinstance(x, (str, tuple, list)) else numpy.asarray(x)) for i, x in outcome.reads]
    return outcome
