"""`SeedSequence`: entropy of any kind made into words of state, and children that share none of them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from secrets import randbits
from typing import Any

import numpy
from numpy.random.bit_generator import ISpawnableSeedSequence

from numloom._core import is_ours, ndarray, seed_pool, seed_words, to_numpy
from numloom._numpy_version import NUMPY_2_5

_POOL_SIZE = 4
_DECIMAL = re.compile(r"[0-9]+")


def _words(x: Any) -> list[int]:
    """Integers, strings of digits, arrays and lists of them as 32-bit words, least significant first."""
    if is_ours(x):
        x = to_numpy(x)
    if isinstance(x, numpy.ndarray) and x.dtype == numpy.uint32:
        return [int(word) for word in x]
    if isinstance(x, str):
        if x.startswith("0x"):
            x = int(x, base=16)
        elif _DECIMAL.match(x):
            x = int(x)
        else:
            raise ValueError("unrecognized seed string")
    if isinstance(x, int | numpy.integer):
        if x < 0:
            raise ValueError("expected non-negative integer")
        n, found = int(x), []
        while n > 0:
            found.append(n & 0xFFFFFFFF)
            n >>= 32
        return found or [0]
    if isinstance(x, float | numpy.inexact):
        raise TypeError("seed must be integer")
    found = []
    for item in x:
        if NUMPY_2_5 and hasattr(item, "__len__") and not isinstance(item, str):
            raise TypeError("SeedSequence does not accept nested sequences.")
        found += _words(item)
    return found


def counted(n_children: Any) -> int:
    """How many children NumPy takes this for, or its words about why it does not."""
    if type(n_children) is int and n_children >= 0:
        return n_children
    return len(numpy.random.SeedSequence(0).spawn(n_children))


class SeedSequence:
    __doc__ = numpy.random.SeedSequence.__doc__
    __module__ = "numloom.random"

    def __init__(
        self,
        entropy: Any = None,
        *,
        spawn_key: Iterable[int] = (),
        pool_size: int = _POOL_SIZE,
        n_children_spawned: int = 0,
    ) -> None:
        if pool_size < _POOL_SIZE:
            raise ValueError(f"The size of the entropy pool should be at least {_POOL_SIZE}")
        if entropy is None:
            entropy = randbits(pool_size * 32)
        elif not isinstance(entropy, int | numpy.integer | list | tuple | range | numpy.ndarray | ndarray):
            raise TypeError(f"SeedSequence expects int or sequence of ints for entropy not {entropy}")
        self.entropy = entropy
        self.spawn_key = tuple(spawn_key)
        self.pool_size = pool_size
        self.n_children_spawned = n_children_spawned
        own, key = _words(entropy), _words(self.spawn_key)
        if key and len(own) < pool_size:
            own += [0] * (pool_size - len(own))
        self._pool = seed_pool(own + key, pool_size)

    @property
    def pool(self) -> Any:
        return numpy.array(self._pool, dtype=numpy.uint32)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__}(", f"    entropy={self.entropy!r},"]
        if self.spawn_key:
            lines.append(f"    spawn_key={self.spawn_key!r},")
        if self.pool_size != _POOL_SIZE:
            lines.append(f"    pool_size={self.pool_size!r},")
        if self.n_children_spawned != 0:
            lines.append(f"    n_children_spawned={self.n_children_spawned!r},")
        return "\n".join([*lines, ")"])

    @property
    def state(self) -> dict[str, Any]:
        names = ("entropy", "spawn_key", "pool_size", "n_children_spawned")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def generate_state(self, n_words: int, dtype: Any = numpy.uint32) -> Any:
        dtype = numpy.dtype(dtype)
        if dtype in (numpy.uint32, numpy.uint64) and not (isinstance(n_words, int) and n_words >= 0):
            # As many as NumPy would make room for, or its words about why it does not.
            wanted = n_words if dtype == numpy.uint32 else n_words * 2
            n_words = len(numpy.empty(wanted, numpy.uint32)) // (dtype.itemsize // 4)
        if dtype == numpy.uint32:
            return numpy.array(seed_words(self._pool, n_words), dtype=numpy.uint32)
        if dtype == numpy.uint64:
            return numpy.array(seed_words(self._pool, 2 * n_words), dtype="<u4").view("<u8").astype(numpy.uint64)
        raise ValueError("only support uint32 or uint64")

    def spawn(self, n_children: int) -> list[SeedSequence]:
        n_children = counted(n_children)
        first = self.n_children_spawned
        self.n_children_spawned += n_children
        return [
            type(self)(self.entropy, spawn_key=(*self.spawn_key, i), pool_size=self.pool_size)
            for i in range(first, first + n_children)
        ]


for _name in ("state", "generate_state", "spawn"):
    _own = getattr(SeedSequence, _name)
    _own.__doc__ = getattr(numpy.random.SeedSequence, _name).__doc__

ISpawnableSeedSequence.register(SeedSequence)
