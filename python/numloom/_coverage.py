"""What ran natively and what went through NumPy."""

from __future__ import annotations

import sys
from typing import Any, TextIO

from . import _core
from ._fallback import calls, native_names


def _ufunc_names() -> set[str]:
    return {name for name in dir(_core) if isinstance(getattr(_core, name), _core.ufunc)}


def coverage(as_dict: bool = False, file: TextIO | None = None) -> dict[str, Any] | None:
    """Print which functions are native, and which ran through NumPy, how often and from which lines.

    With `as_dict=True` nothing is printed and the figures are returned:
    `{"native": [names], "fallbacks": [{"name", "calls", "lines": [{"file", "line", "calls"}]}]}`,
    most frequent first.
    """
    report = _report()
    if as_dict:
        return report
    out = file or sys.stdout
    fallbacks = report["fallbacks"]
    print(f"native: {len(report['native'])} functions and ufuncs", file=out)
    if not fallbacks:
        print("through NumPy: none so far", file=out)
        return None
    total = sum(entry["calls"] for entry in fallbacks)
    print(f"through NumPy: {total} calls of {len(fallbacks)} functions", file=out)
    width = max(len(entry["name"]) for entry in fallbacks)
    for entry in fallbacks:
        for i, at in enumerate(entry["lines"]):
            head = f"{entry['name']:<{width}}  {entry['calls']:>8}" if i == 0 else " " * (width + 10)
            print(f"  {head}  {at['file']}:{at['line']} ({at['calls']})", file=out)
    return None


def _report() -> dict[str, Any]:
    by_name: dict[str, list[dict[str, Any]]] = {}
    for (name, path, line), count in calls.items():
        by_name.setdefault(name, []).append({"file": path, "line": line, "calls": count})
    fallbacks = [
        {
            "name": name,
            "calls": sum(at["calls"] for at in lines),
            "lines": sorted(lines, key=lambda at: (-at["calls"], at["file"], at["line"])),
        }
        for name, lines in by_name.items()
    ]
    fallbacks.sort(key=lambda entry: (-entry["calls"], entry["name"]))
    return {"native": sorted(native_names | _ufunc_names()), "fallbacks": fallbacks}


def reset_coverage() -> None:
    """Forget the counts."""
    calls.clear()
