"""Generators over NumPy's bit streams: the same numbers, bit for bit, as our arrays."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy.random

from numloom._fallback import on_host

# State and kinship of generators, not draws.
_PLAIN = frozenset(("bit_generator", "spawn", "get_state", "set_state", "seed"))


def _draws(original: type, label: str) -> dict[str, Callable[..., Any]]:
    """The drawing methods of NumPy's class, over our arrays."""

    def hosted(name: str) -> Callable[..., Any]:
        draw = getattr(original, name)

        @functools.wraps(draw)
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if name == "shuffle" and args and isinstance(args[0], list):
                return draw(self, *args, **kwargs)
            return on_host(functools.partial(draw, self), f"random.{label}.{name}", args, kwargs)

        return method

    names = [n for n in dir(original) if not n.startswith("_") and n not in _PLAIN and callable(getattr(original, n))]
    return {name: hosted(name) for name in names}


class Generator(numpy.random.Generator):
    __doc__ = numpy.random.Generator.__doc__
    __module__ = "numloom.random"

    def __reduce__(self) -> Any:
        return Generator, (self.bit_generator,)


class RandomState(numpy.random.RandomState):
    __doc__ = numpy.random.RandomState.__doc__
    __module__ = "numloom.random"

    def __reduce__(self) -> Any:
        return _restored, (self.get_state(legacy=False),)


def _restored(state: Any) -> RandomState:
    made = RandomState()
    made.set_state(state)
    return made


for _class, _original in ((Generator, numpy.random.Generator), (RandomState, numpy.random.RandomState)):
    for _name, _method in _draws(_original, _class.__name__).items():
        setattr(_class, _name, _method)


def default_rng(seed: Any = None) -> Generator:
    """A new `Generator` with NumPy's default bit generator (PCG64); a `Generator` is handed back as it is."""
    if isinstance(seed, Generator):
        return seed
    visited = on_host(numpy.random.default_rng, "", (seed,), {})
    return Generator(visited.bit_generator)
