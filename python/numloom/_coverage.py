"""What is native, what is NumPy's, what went through NumPy so far, and what a GPU has no way to do."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterable
from typing import Any, TextIO

import numpy

from . import _core
from ._fallback import calls, native_names
from ._mirror import LATER, NO_ARRAYS

# Where NumPy's callables are, and the name each has here.
_PLACES = {"numpy": "", "ndarray": "ndarray.", "linalg": "linalg.", "fft": "fft.", "random": "random."}
_KINDS = ("native", "no arrays", "through NumPy")
# Classes of NumPy's that say something about types, shapes or settings and hold no elements.
_RULES = (numpy.generic, numpy.dtype, numpy.finfo, numpy.iinfo, numpy.errstate, numpy.ndindex, Exception)


def _ufunc_names() -> set[str]:
    return {name for name in dir(_core) if isinstance(getattr(_core, name), _core.ufunc)}


def public(place: str) -> list[str]:
    """The callables of one of NumPy's namespaces; `test` runs its tests."""
    theirs = _found(numpy, place)
    return [
        name for name in dir(theirs) if not name.startswith("_") and name != "test" and callable(getattr(theirs, name))
    ]


def _found(package: Any, place: str) -> Any:
    return package if place == "numpy" else getattr(package, place)


def kind_of(place: str, name: str) -> str:
    """How a callable of NumPy's runs here: told from what stands under its name in our package.

    `native`: a Rust operation or a composition of them; arrays stay in the runtime. `no arrays`: NumPy's own type, or
    a rule about types, shapes or settings, through which no elements pass. `through NumPy`: on the host.
    """
    ours = getattr(_found(sys.modules["numloom"], place), name)
    theirs = getattr(_found(numpy, place), name)
    if isinstance(ours, _core.ufunc):
        # One for dates only has nothing to run here.
        return "through NumPy" if all(loop[0] in "mM" for loop in theirs.types) else "native"
    if _PLACES[place] + name in native_names:
        return "native"
    if isinstance(ours, type):
        if issubclass(ours, numpy.generic) and _casts(ours):
            return "native"
        if ours is theirs:
            base = place == "random" and name == "BitGenerator"
            return "no arrays" if issubclass(ours, _RULES) or base else "through NumPy"
        derived = isinstance(theirs, type) and issubclass(ours, theirs)
        return "through NumPy" if derived else "native"
    return "no arrays" if name in NO_ARRAYS else "through NumPy"


def _casts(scalar_type: type[Any]) -> bool:
    """Whether a scalar type that is given an array of ours answers one."""
    try:
        return _core.is_ours(scalar_type(sys.modules["numloom"].zeros(1)))
    except (TypeError, ValueError):
        return False


def table() -> dict[str, dict[str, list[str]]]:
    """NumPy's callables by namespace and by how they run here, whatever has been imported."""
    for module in {*LATER.values(), "linalg", "fft", "random"}:
        importlib.import_module("numloom." + module)
    rows: dict[str, dict[str, list[str]]] = {}
    for place in _PLACES:
        rows[place] = {kind: [] for kind in _KINDS}
        for name in public(place):
            rows[place][kind_of(place, name)].append(name)
    return rows


def coverage(as_dict: bool = False, file: TextIO | None = None) -> dict[str, Any] | None:
    """Print which functions are native, and which ran through NumPy, how often and from which lines; where there are
    GPUs, also which operations they have no way for, so that the CPU did them and their arrays were moved.

    With `as_dict=True` nothing is printed and the figures are returned:
    `{"native": [names], "table": {namespace: {kind: [names]}}, "fallbacks": [{"name", "calls", "lines": [{"file",
    "line", "calls"}]}], "not_on_gpu": [...]}`, the last like the one before, most frequent first. What is still
    recorded and has not run counts once it has.
    """
    rows = table()
    report = _report()
    if as_dict:
        return {**report, "table": rows}
    out = file or sys.stdout
    _print_table(rows, out)
    fallbacks, left = report["fallbacks"], report["not_on_gpu"]
    if fallbacks:
        print(f"through NumPy: {_total(fallbacks)} calls of {len(fallbacks)} functions", file=out)
        _print_lines(fallbacks, out)
    else:
        print("through NumPy: no calls so far", file=out)
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


def _print_table(rows: dict[str, dict[str, list[str]]], out: TextIO) -> None:
    def line(head: str, cells: list[Any]) -> str:
        return f"{head:<20}" + "".join(f"{cell:>15}" for cell in cells)

    print(line(f"NumPy {numpy.__version__}", ["all", *_KINDS]), file=out)
    counts = {place: [len(row[kind]) for kind in _KINDS] for place, row in rows.items()}
    counts["in all"] = [sum(column) for column in zip(*counts.values())]
    for place, cells in counts.items():
        print(line(place, [sum(cells), *cells]), file=out)
    for place, row in rows.items():
        if row["through NumPy"]:
            print(f"through NumPy in {place}: {' '.join(row['through NumPy'])}", file=out)


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
