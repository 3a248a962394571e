"""`info()`: what ran, on what, with which settings and versions; for the record of a benchmark."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Mapping
from typing import Any

from .has_started import runtime_has_started

__all__ = ["info", "machine_info", "package_versions", "system_info"]

_NOT_STARTED = "(not known: Numloom has not been imported)"
_PACKAGES = ("numloom", "numloom-compat", "numpy", "scipy", "numba")


def system_info() -> dict[str, str]:
    return {"Python": sys.version.partition("\n")[0], "Platform": platform.platform()}


def package_versions() -> dict[str, str]:
    """The versions of what is installed of Numloom and its neighbours."""
    found = {}
    for name in _PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "(not installed)"
    return found


def machine_info() -> dict[str, str]:
    """The preferred kind of processor, and how many there are of each."""
    from legate.core import TaskTarget, get_machine

    machine = get_machine()
    counts = {target.name: str(machine.count(target)) for target in TaskTarget}
    return {"Preferred target": machine.preferred_target.name, **counts}


def info(*, start_runtime: bool = True) -> dict[str, Any]:
    """Facts by subject. Without `start_runtime`, those of a Numloom that is not imported yet are left out."""
    started = start_runtime or runtime_has_started()
    return {
        "Program": " ".join(sys.argv),
        "Legate runtime configuration": _configuration() if started else _NOT_STARTED,
        "Machine": machine_info() if started else _NOT_STARTED,
        "System info": system_info(),
        "Package versions": package_versions(),
    }


def _configuration() -> dict[str, str]:
    from legate.core._configuration import configuration

    return dict(configuration())


def as_lines(facts: Mapping[str, Any]) -> list[str]:
    """A line for each fact, the colons below each other; those of a subject are indented."""
    width = max(map(len, facts), default=0)
    lines = []
    for name, value in facts.items():
        if isinstance(value, Mapping):
            lines += [f"{name:<{width}} :", *("  " + line for line in as_lines(value))]
        else:
            lines.append(f"{name:<{width}} : {value}".rstrip())
    return lines
