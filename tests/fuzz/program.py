"""The data form of a program: a list of statements, and the names they may use."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field

import numpy

LARGE = 20_000

PRELUDE = '''\
import os
import sys

import numpy


def data(seed, shape, dtype):
    """Tame, reproducible contents: eighths between -4 and 4, small whole numbers, or coin flips."""
    rng = numpy.random.RandomState(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "b":
        return np.array(rng.randint(0, 2, shape).astype(bool))
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -20
        return np.array(rng.randint(low, 21, shape).astype(dtype))
    values = rng.randint(-32, 33, shape) / 8
    if dtype.kind == "c":
        values = values + 1j * (rng.randint(-32, 33, shape) / 8)
    return np.array(values.astype(dtype))
'''


@dataclass
class Step:
    """One statement.

    `defines` is the name it binds, `target` the existing array it writes, `reads` the names it uses.
    `approx` says that the statement itself rounds differently in different implementations
    (a transcendental function, a float sum); everything else must agree to the last bit.
    `tainted` says that something it reads came out of such a statement.
    """

    kind: str
    code: str
    reads: tuple[str, ...] = ()
    defines: str | None = None
    target: str | None = None
    approx: bool = False
    tainted: bool = False


@dataclass
class Program:
    seed: int
    index: int
    steps: list[Step] = field(default_factory=list)
    # Names whose values depend on an approximate step.
    approx_names: set[str] = field(default_factory=set)

    def to_json(self) -> dict:
        return {
            "seed": self.seed,
            "index": self.index,
            "steps": [asdict(s) for s in self.steps],
            "approx_names": sorted(self.approx_names),
        }

    @staticmethod
    def from_json(d: dict) -> Program:
        steps = [Step(**{**s, "reads": tuple(s["reads"])}) for s in d["steps"]]
        return Program(d["seed"], d["index"], steps, set(d["approx_names"]))

    def with_steps(self, steps: list[Step]) -> Program:
        return Program(self.seed, self.index, steps, self.approx_names)


def data_function(np):
    """`data` of the prelude, bound to a module."""
    scope = {"np": np}
    exec(PRELUDE, scope)
    cache: dict = {}
    make = scope["data"]
    scope["np"] = numpy

    def data(seed, shape, dtype):
        key = (seed, shape, dtype)
        if key not in cache:
            if len(cache) > 300:
                cache.clear()
            cache[key] = make(seed, shape, dtype)
        return np.array(cache[key])

    return data
