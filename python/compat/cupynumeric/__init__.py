"""`import cupynumeric as np`: Numloom under cuPyNumeric's name.

Every name, submodule and object is Numloom's own, but for what cuPyNumeric has besides: modules of this package, and
`convolve`.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from typing import Any

import numloom

from ._convolve import convolve as convolve
from ._names import names_of

__all__ = numloom.__all__
_WRITTEN_HERE = ("linalg", "random")
_numlooms, __dir__ = names_of(numloom, globals())


def __getattr__(name: str) -> Any:
    return importlib.import_module(f"cupynumeric.{name}") if name in _WRITTEN_HERE else _numlooms(name)


class _Alias:
    """Finds and loads `cupynumeric.x` as the module `numloom.x`."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("cupynumeric."):
            return None
        return importlib.machinery.ModuleSpec(name, _Alias(), is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        ours = module.__name__
        try:
            sys.modules[ours] = importlib.import_module("numloom" + ours.removeprefix("cupynumeric"))
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(f"No module named {ours!r}", name=ours) from error


sys.meta_path.append(_Alias)
