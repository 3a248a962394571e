"""Names of Numloom's modules in ours."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any


def names_of(
    module: types.ModuleType, namespace: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a module here: what it does not write itself is that of Numloom's `module`."""
    ours = namespace["__name__"]

    def __getattr__(name: str) -> Any:
        try:
            return getattr(module, name)
        except AttributeError as error:
            raise AttributeError(str(error).replace(repr(module.__name__), repr(ours))) from None

    def __dir__() -> list[str]:
        return sorted({*dir(module), *namespace.get("__all__", ())})

    return __getattr__, __dir__
