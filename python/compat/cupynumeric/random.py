"""Random numbers: Numloom's generators, whose distributions take a `dtype` here, and other names for the bits."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numloom.random
from numloom.random import PCG64, Philox

from ._names import names_of

# There, which numbers these give depends on the machine, so that no numbers are promised by name. The first is what
# `default_rng` takes, there as here.
XORWOW = MRG32k3a = PCG64
PHILOX4_32_10 = Philox

__all__ = [*numloom.random.__all__, "MRG32k3a", "PHILOX4_32_10", "XORWOW"]
__path__: list[str] = []
__getattr__, __dir__ = names_of(numloom.random, globals())

_DISTRIBUTIONS = """beta binomial chisquare exponential f gamma geometric gumbel hypergeometric laplace logistic
lognormal logseries negative_binomial noncentral_chisquare noncentral_f normal pareto poisson power rayleigh
standard_cauchy standard_t triangular uniform vonmises wald weibull zipf""".split()


class Generator(numloom.random.Generator):
    """Numloom's generator. With `dtype`, a distribution's numbers are drawn as ever and then converted."""


def _converted(draw: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(draw)
    def drawn(self: Generator, *args: Any, dtype: Any = None, **named: Any) -> Any:
        made = draw(self, *args, **named)
        return made if dtype is None else numloom.asarray(made).astype(dtype)[()]

    return drawn


for _name in _DISTRIBUTIONS:
    setattr(Generator, _name, _converted(getattr(numloom.random.Generator, _name)))


def default_rng(seed: Any = None) -> Any:
    """A generator over this seed or these bits; one that is a generator already is given back."""
    made = numloom.random.default_rng(seed)
    return made if made is seed else Generator(made.bit_generator)
