"""`json.dumps` and `json.dump` of numbers that are still to come.

NumPy's float64 is a float of Python's, which the encoder writes as it is. It does not know our `Scalar`: in C it asks
`default` for a value of it and refuses it as a key, in Python it takes it for the float that it is not.
"""

from __future__ import annotations

from collections.abc import Iterator
from json import JSONEncoder
from typing import Any

import numpy

from ._core import Scalar

_refuse, _write = JSONEncoder.default, JSONEncoder.iterencode


def _default(self: JSONEncoder, o: Any) -> Any:
    if type(o) is Scalar and isinstance(value := o.item(), float) and o.itemsize == 8:
        return value
    return _refuse(self, o)


def _there(o: Any, around: frozenset[int] = frozenset()) -> Any:
    """The same with NumPy's numbers for those to come; `o` itself if there are none. `around`: what `o` lies in."""
    if type(o) is Scalar:
        return numpy.asarray(o)[()]
    if not isinstance(o, dict | list | tuple) or id(o) in around:
        return o
    around = around | {id(o)}
    if isinstance(o, dict):
        pairs = [(_there(key), _there(value, around)) for key, value in o.items()]
        same = all(k is key and v is value for (k, v), (key, value) in zip(pairs, o.items()))
        return o if same else dict(pairs)
    parts = [_there(part, around) for part in o]
    return o if all(mine is part for mine, part in zip(parts, o)) else parts


def _iterencode(self: JSONEncoder, o: Any, _one_shot: bool = False) -> Iterator[str]:
    if not _one_shot or self.indent is not None:
        return _write(self, _there(o), _one_shot)
    try:
        # In C and in one go: hardly ever is there anything that it does not know, and to look first would take as long.
        return _write(self, o, _one_shot)
    except TypeError:
        there = _there(o)
        if there is o:
            raise
    return _write(self, there, _one_shot)


JSONEncoder.default = _default  # type: ignore[method-assign]
JSONEncoder.iterencode = _iterencode  # type: ignore[method-assign]
