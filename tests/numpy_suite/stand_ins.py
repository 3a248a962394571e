"""Modules that answer with the module under test where it has the name, and with NumPy where it has not."""

from __future__ import annotations

import functools
import importlib
import sys
import types

import numpy

from .rewrite import MODULE, STAND_IN, SWAPPED


def to_numpy(x):
    """Arrays of the module under test as NumPy's, all the way down."""
    under_test = sys.modules[MODULE]
    if isinstance(x, under_test.ndarray) and not isinstance(x, numpy.ndarray):
        return numpy.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(map(to_numpy, x))
    if type(x) is dict:
        return {k: to_numpy(v) for k, v in x.items()}
    if (
        type(x).__module__.startswith(MODULE)
        and hasattr(x, "__array__")
        and not isinstance(x, type)
        and MODULE != "numpy"
    ):
        return numpy.asarray(x)[()]
    return x


def converting(function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        return function(*map(to_numpy, args), **{k: to_numpy(v) for k, v in kwargs.items()})

    return call


class StandIn(types.ModuleType):
    __path__: list[str] = []  # noqa: RUF012

    def __init__(self, name: str, path: str) -> None:
        super().__init__(name)
        self._path = path

    def __getattr__(self, name: str):
        if name.startswith("__"):
            raise AttributeError(name)
        if f"{self.__name__}.{name}" in sys.modules:
            return sys.modules[f"{self.__name__}.{name}"]
        theirs = importlib.import_module(f"numpy.{self._path}" if self._path else "numpy")
        if self._path in ("testing", "ma.testutils"):
            value = getattr(theirs, name)
            compares = name.startswith("assert_") and not name.startswith(
                ("assert_raises", "assert_warns", "assert_no")
            )
            return converting(value) if compares else value
        ours = sys.modules[MODULE]
        # What NumPy defines in a private module is public somewhere else: in the package itself.
        if not self._path.startswith("_core") and "._" not in self._path:
            for part in self._path.split("."):
                ours = getattr(ours, part, None)
        if hasattr(ours, name):
            return getattr(ours, name)
        if hasattr(theirs, name):
            return getattr(theirs, name)
        try:
            return importlib.import_module(f"{theirs.__name__}.{name}")
        except ImportError:
            raise AttributeError(name) from None


def register() -> None:
    importlib.import_module(MODULE)
    for path in ["", *SWAPPED]:
        name = f"{STAND_IN}.{path}".rstrip(".")
        sys.modules[name] = StandIn(name, path)
    # The tests look through this one's dictionary for all ufuncs.
    umath = sys.modules[f"{STAND_IN}._core.umath"]
    for name in dir(numpy._core.umath):
        if not name.startswith("__"):
            setattr(umath, name, umath.__getattr__(name))
