"""Names that are Numloom's, found when they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def lent(name: str, home: str = "numloom") -> Any:
    """`home.name`; where Numloom does not have it yet, a function that says so when it is called."""
    import importlib

    try:
        return getattr(importlib.import_module(home), name)
    except (AttributeError, ModuleNotFoundError):
        return _missing(f"{home}.{name}")


def _missing(what: str) -> Callable[..., Any]:
    def missing(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{what} is not there yet")

    return missing
