"""The functions of the module: methods of one `RandomState`."""

from __future__ import annotations

from typing import Any

import numpy.random

from numloom.random._bit_generators import MT19937
from numloom.random._legacy import RandomState

_rand = RandomState()

_OWN = ("seed", "get_bit_generator", "set_bit_generator", "ranf", "sample")
__all__ = [
    name
    for name in numpy.random.__all__
    if name not in _OWN and not isinstance(getattr(numpy.random, name), type) and hasattr(RandomState, name)
]
for _name in __all__:
    globals()[_name] = getattr(_rand, _name)
__all__ += [*_OWN, "_rand"]


def seed(seed: Any = None) -> None:
    if isinstance(_rand._bit_generator, MT19937 | numpy.random.MT19937):
        _rand.seed(seed)
    else:
        _rand._bit_generator.state = type(_rand._bit_generator)(seed).state


def get_bit_generator() -> Any:
    return _rand._bit_generator


def set_bit_generator(bitgen: Any) -> None:
    _rand._begin(bitgen)


def sample(*args: Any, **kwargs: Any) -> Any:
    return _rand.random_sample(*args, **kwargs)


def ranf(*args: Any, **kwargs: Any) -> Any:
    return _rand.random_sample(*args, **kwargs)


for _name in _OWN:
    globals()[_name].__doc__ = getattr(numpy.random, _name).__doc__
    globals()[_name].__module__ = "numloom.random"
