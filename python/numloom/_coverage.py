"""What ran natively, what went through NumPy, and what a GPU was meant for and has no way to do."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from . import _core
from ._fallback import calls, native_names


def _ufunc_names() -> set[str]:
    return {name for name in dir(_core) if isinstance(getattr(_core, name), _core.ufunc)}


def coverage(as_dict: bool = False, file: TextIO | None = None) -> dict[str, Any] | None:
    """Print which functions are native, and which ran through NumPy, how often and from which lines; where there are
    GPUs, also which operations they have no way for, so that the CPU did them and their arrays were moved.

    With `as_dict=True` nothing is printed and the figures are returned:
    `{"native": [names], "fallbacks": [{"name", "calls", "lines": [{"file", "line", "calls"}]}], "not_on_gpu": [...]}`,
    the last like the one before, most frequent first. What is still recorded and has not run counts once it has.
    """
    report = _report()
    if as_dict:
        return report
    out = file or sys.stdout
    print(f"native: {len(report['native'])} functions and ufuncs", file=out)
    fallbacks, left = report["fallbacks"], report["not_on_gpu"]
    if fallbacks:
        print(f"through NumPy: {_total(fallbacks)} calls of {len(fallbacks)} functions", file=out)
        _print_lines(fallbacks, out)
    else:
        print("through NumPy: none so far", file=out)
    if left:
        print(f"on the CPU, for want of a way on the GPU: {_total(left)} calls of {len(left)} operations", file=out)
        _print_lines(left, out)
    return None


def _total(entries: list[dict[str, Any]]) -> int:
    return sum(entry["calls"] for entry in entries)


def _print_lines(entries: list[dict[str, Any]], out: TextIO) -> None:
    width = max(len(entry["name"]) for entry in entries)
    for entry in entries:
        for i, at in enumerate(entry["lines"]):
            head = f"{entry['name']:<{width}}  {entry['calls']:>8}" if i == 0 else " " * (width + 10)
            print(f"  {head}  {at['file']}:{at['line']} ({at['calls']})", file=out)


def _report() -> dict[str, Any]:
    return {
        "native": sorted(native_names | _ufunc_names()),
        "fallbacks": _by_name((*at, count) for at, count in calls.items()),
        "not_on_gpu": _by_name(_core.unplaced()),
    }


def _by_name(rows: Iterable[tuple[str, str, int, int]]) -> list[dict[str, Any]]:
    by_name: dict[str, dict[tuple[str, int], int]] = {}
    for name, path, line, count in rows:
        lines = by_name.setdefault(name, {})
        lines[path, line] = lines.get((path, line), 0) + count
    entries: list[dict[str, Any]] = [
        {
            "name": name,
            "calls": sum(lines.values()),
            "lines": [
                {"file": path, "line": line, "calls": count}
                for (path, line), count in sorted(lines.items(), key=lambda at: (-at[1], at[0]))
            ],
        }
        for name, lines in by_name.items()
    ]
    entries.sort(key=lambda entry: (-entry["calls"], entry["name"]))
    return entries


def reset_coverage() -> None:
    """Forget the counts."""
    calls.clear()
    _core.forget_unplaced()
