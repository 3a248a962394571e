"""Objects of NumPy's that take arrays when they are called, indexed or built."""

from __future__ import annotations

from typing import Any

import numpy

from ._fallback import Visit, on_host


class vectorize(numpy.vectorize):
    __doc__ = numpy.vectorize.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return on_host(super().__call__, "vectorize", args, kwargs)


def nditer(op: Any, *args: Any, **kwargs: Any) -> numpy.nditer:
    """NumPy's iterator, over our arrays' own memory, so that writes through it are seen."""
    visit = Visit()
    return numpy.nditer(visit.to_host(op), *args, **{key: visit.to_host(value) for key, value in kwargs.items()})


class ndenumerate(numpy.ndenumerate):
    __doc__ = numpy.ndenumerate.__doc__

    def __new__(cls, *args: Any) -> ndenumerate:
        return object.__new__(cls)

    def __init__(self, arr: Any) -> None:
        super().__init__(Visit().to_host(arr))


class Indexed:
    """`r_`, `c_`, `mgrid`, `ogrid`: NumPy's object, its results ours."""

    def __init__(self, original: Any, name: str) -> None:
        self._original, self._name = original, name
        self.__doc__ = original.__doc__

    def __getitem__(self, key: Any) -> Any:
        return on_host(self._original.__getitem__, self._name, (key,), {})

    def __len__(self) -> int:
        return 0


r_ = Indexed(numpy.r_, "r_")
c_ = Indexed(numpy.c_, "c_")
mgrid = Indexed(numpy.mgrid, "")
ogrid = Indexed(numpy.ogrid, "")
