"""What Numloom has not: run through NumPy on the host, over the arrays' own memory, counted and warned about."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
import types
import warnings
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

import numpy

from ._core import (
    FallbackSpan,
    Scalar,
    Unsupported,
    _profiling,
    adopt_numpy,
    is_ours,
    ndarray,
    short_ways,
    to_numpy,
    ufunc,
)
from ._operands import is_foreign

_NOTHING: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
F = TypeVar("F", bound=Callable[..., Any])

_PACKAGES = (os.path.dirname(os.path.abspath(__file__)) + os.sep, os.path.dirname(numpy.__file__) + os.sep)
_CALLBACKS = (types.FunctionType, types.MethodType, functools.partial, ufunc)

_TRANSLATED = (Scalar, ndarray, list, tuple, dict, slice, *_CALLBACKS)

native_names: set[str] = set()
"""Functions that run on Numloom's own runtime, by NumPy's dotted name without `numpy.`."""

calls: dict[tuple[str, str, int], int] = {}
"""How often each function ran through NumPy: (name, file, line) -> calls."""

_warned: set[Hashable] = set()
_warnings_on = os.environ.get("NUMLOOM_FALLBACK_WARNINGS", "1").lower() not in ("0", "false", "off", "no")


class FallbackWarning(UserWarning):
    """A function that Numloom does not have yet ran through NumPy, on one core, after a wait for its arguments."""


def set_fallback_warnings(enabled: bool) -> bool:
    """Switch `FallbackWarning` on or off; answers what it was. Calls are counted either way."""
    global _warnings_on
    before, _warnings_on = _warnings_on, bool(enabled)
    return before


def _is_translated(kind: type) -> bool:
    """Whether objects of a class are, or may hold, what NumPy gets something else for."""
    return issubclass(kind, _TRANSLATED)


class Visit:
    """One trip to NumPy: which NumPy view stands for which of our arrays, so that `out=` comes back as itself."""

    __slots__ = ("inside", "involved", "lent")

    def __init__(self) -> None:
        self.lent: dict[int, tuple[Any, Any]] = {}
        # The lists that are being read: one of them inside itself goes as it is, for NumPy to refuse.
        self.inside: set[int] = set()
        # Whether an array of ours went in or came out; otherwise NumPy was the right place.
        self.involved = False

    def to_host(self, x: Any) -> Any:
        kind = type(x)
        if kind is Scalar:
            self.involved = True
            return to_numpy(x)[()]
        if is_ours(x):
            view = to_numpy(x)
            self.lent[id(view)] = (view, x)
            self.involved = True
            return view
        if kind is list or kind is tuple:
            if not any(map(_is_translated, set(map(type, x)))):
                return x
            if id(x) in self.inside:
                return x
            # Containers without our arrays go as they are: NumPy may have been asked to write into them.
            self.inside.add(id(x))
            items = [self.to_host(item) for item in x]
            self.inside.discard(id(x))
            return x if all(a is b for a, b in zip(items, x)) else kind(items)
        if kind is dict:
            values = {key: self.to_host(value) for key, value in x.items()}
            return x if all(values[key] is x[key] for key in x) else values
        if kind is slice:
            return slice(self.to_host(x.start), self.to_host(x.stop), self.to_host(x.step))
        if isinstance(x, _CALLBACKS):
            return self._callback(x)
        return x

    def _callback(self, function: Any) -> Any:
        if isinstance(function, ufunc):
            return getattr(numpy, function.__name__, function)
        inner = getattr(function, "__wrapped__", None)
        if isinstance(inner, numpy.ufunc | types.BuiltinFunctionType):
            return inner

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            return self.to_host(function(*args, **kwargs))

        return call

    def from_host(self, x: Any) -> Any:
        kind = type(x)
        if kind is numpy.ndarray:
            lent = self.lent.get(id(x))
            if lent is not None:
                return lent[1]
            try:
                taken = adopt_numpy(x)
            except Unsupported:
                return x
            self.involved = True
            return taken
        if isinstance(x, tuple):
            items = [self.from_host(item) for item in x]
            return kind(*items) if hasattr(x, "_fields") else kind(items) if kind is tuple else x
        if kind is list:
            return [self.from_host(item) for item in x]
        if kind is dict:
            return {key: self.from_host(value) for key, value in x.items()}
        return x


def users_line() -> tuple[str, int]:
    """File and line of the innermost frame outside Numloom and NumPy."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_PACKAGES):
        frame = frame.f_back
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def note(name: str) -> None:
    """Count one call of NumPy's `name` and warn once per line."""
    file, line = users_line()
    key = (name, file, line)
    calls[key] = calls.get(key, 0) + 1
    if _warnings_on and key not in _warned:
        _warned.add(key)
        warnings.warn_explicit(
            f"{name} is not native to Numloom yet and ran through NumPy on the host; numloom.coverage() counts these",
            FallbackWarning,
            file,
            line,
        )


def on_host(function: Callable[..., Any], name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a NumPy function with our arrays lent to it, and take its results over.

    With a `name` the call is counted; without, it belongs on the host: printing, files, type rules.
    """
    visit = Visit()
    with FallbackSpan(name) if name and _profiling() else _NOTHING as span:
        words = [visit.to_host(arg) for arg in args]
        named = {key: visit.to_host(value) for key, value in kwargs.items()}
        if span is not None:
            span.lent(len(visit.lent))
        result = visit.from_host(function(*words, **named))
    if name and visit.involved:
        note(name)
    return result


def _signed(call: Any, original: Any) -> None:
    """What `inspect` and `help` read from NumPy's own functions."""
    for name in ("__signature__", "__text_signature__"):
        value = getattr(original, name, None)
        if value is not None:
            setattr(call, name, value)


def through_numpy(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """NumPy's function for our arrays, counted under `name` (unless that is empty)."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return on_host(function, name, args, kwargs)

    _signed(call, function)
    return call


def native(function: F) -> F:
    """A function composed of native operations, under NumPy's name and signature.

    Inside, `Unsupported` means "only NumPy does this" (dtypes, subclasses, rare modes, and calls that are
    errors: NumPy then words them); the call goes there instead.
    """
    return native_in("", numpy)(function)


def also_named(name: str, function: F) -> F:
    """A native function under a second name that NumPy has for it."""
    native_names.add(name)
    return function


def direct(function: F) -> F:
    """A native function that is called often on little: no wrapper, it goes to NumPy by itself with `on_host`."""
    native_names.add(function.__name__)
    original = getattr(numpy, function.__name__)
    function.__doc__ = function.__doc__ or original.__doc__
    function.__module__ = "numloom"
    _signed(function, original)
    return function


def _shortened(function: Callable[..., Any], short: Callable[..., Any]) -> Callable[..., Any]:
    """The function, after a short way that does plain calls on a few elements at once and answers None to others.

    A function that returns nothing has a short way that answers with an ellipsis.
    """

    @functools.wraps(function.__wrapped__)  # type: ignore[attr-defined]
    def call(*args: Any, **kwargs: Any) -> Any:
        made = short(*args, **kwargs)
        if made is None:
            return function(*args, **kwargs)
        return None if made is ... else made

    return call


def _any_foreign(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a class of arrays that is not ours is among the arguments: the call is then its business."""
    words = (*args, *kwargs.values())
    return any(is_foreign(x) or (type(x) in (list, tuple) and any(map(is_foreign, x))) for x in words)


# Functions that NumPy leaves to a method of the object, if it has one: a Series answers with a Series, and skips what
# is missing.
_METHODS = frozenset(
    "all any argmax argmin argsort clip cumprod cumsum max mean min nonzero prod ptp repeat round around searchsorted "
    "squeeze std sum swapaxes take transpose var amax amin".split()
)


def _has_methods(x: Any) -> bool:
    """Whether `x` is one of pandas' tables and columns, which have these methods."""
    return type(x) is not ndarray and hasattr(type(x), "__pandas_priority__")


def native_in(prefix: str, module: types.ModuleType) -> Callable[[F], F]:
    """Like `native`, for the functions of a submodule."""

    def decorate(function: F) -> F:
        name = prefix + function.__name__
        original = getattr(module, function.__name__, None)
        if original is None:  # NumPy has dropped it: kept for programs that have not
            return function
        native_names.add(name)
        follows = name in _METHODS

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                if not follows or not args or not _has_methods(args[0]):
                    return function(*args, **kwargs)
            except Unsupported:
                pass
            except Exception:
                if not _any_foreign(args, kwargs):
                    raise
            return on_host(original, name, args, kwargs)

        shown: Any = _shortened(call, short_ways[name]) if name in short_ways else call
        shown.__doc__ = function.__doc__ or original.__doc__
        shown.__module__ = ("numloom." + prefix).rstrip(".")
        _signed(shown, original)
        return shown

    return decorate
