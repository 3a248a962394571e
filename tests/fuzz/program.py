"""The data form of a program: a list of statements, and the names they may use."""

from __future__ import annotations

import functools
from dataclasses import asdict, dataclass, field

from .replay import contents

LARGE = 20_000


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
    """`replay.contents` as arrays of a module, remembered."""
    remembered = functools.lru_cache(maxsize=300)(contents)
    return lambda seed, shape, dtype: np.array(remembered(seed, shape, dtype))
