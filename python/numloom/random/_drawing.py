"""How methods are made: natively from a stream, and through NumPy's own generator over the same stream otherwise."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy

from numloom._core import Unsupported, distribution_rows, draw_distribution, draw_standard
from numloom._fallback import native_names, on_host

ROWS = dict(distribution_rows())


def through_twin(method: str, label: str) -> Callable[..., Any]:
    """NumPy's method, on the object's NumPy twin, which draws from the same state."""

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        with self._twin() as twin:
            return on_host(getattr(twin, method), label, args, kwargs)

    return call


def distribution(original: type, name: str, row: str) -> Callable[..., Any]:
    """The method `name` by a row of the table; what the row does not cover, mistakes too, is NumPy's."""
    place = ROWS[row]
    other = through_twin(name, f"random.{original.__name__}.{name}")

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return draw_distribution(self._stream, self._kept, place, args, kwargs)
        except Unsupported:
            return other(self, *args, **kwargs)

    return dressed(method, original, name)


def standard(original: type, name: str, kind: str) -> Callable[..., Any]:
    """The method `name` of a standard distribution without parameters."""
    other = through_twin(name, f"random.{original.__name__}.{name}")

    def method(self: Any, size: Any = None, dtype: Any = None, out: Any = None) -> Any:
        try:
            return draw_standard(self._stream, kind, size, dtype, out)
        except Unsupported:
            return other(self, size, numpy.float64 if dtype is None else dtype, out)

    return dressed(method, original, name)


def sized(original: type, name: str, kind: str) -> Callable[..., Any]:
    """The method `name` of a standard distribution that takes nothing but a size."""
    other = through_twin(name, f"random.{original.__name__}.{name}")

    def method(self: Any, size: Any = None) -> Any:
        try:
            return draw_standard(self._stream, kind, size)
        except Unsupported:
            return other(self, size)

    return dressed(method, original, name)


def native(original: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A method written here: `Unsupported` hands it to NumPy, before anything was drawn."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        # As mistakes in its arguments name it.
        function.__qualname__ = name
        other = through_twin(name, f"random.{original.__name__}.{name}")

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                return function(self, *args, **kwargs)
            except Unsupported:
                return other(self, *args, **kwargs)

        return dressed(method, original, name)

    return decorate


def dressed(method: Callable[..., Any], original: type, name: str) -> Callable[..., Any]:
    """With NumPy's name, signature and documentation, and counted as native."""
    native_names.add(f"random.{original.__name__}.{name}")
    if original.__name__ == "RandomState":
        native_names.add(f"random.{name}")
    functools.update_wrapper(method, getattr(original, name))
    method.__module__ = "numloom.random"
    return method
