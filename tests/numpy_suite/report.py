"""What the runs say: a JSON file with every failure, and docs/compatibility.md with the counts and the reasons."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from pathlib import Path

import numpy

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "compatibility.md"

# (title, what to look for in the test's name, what to look for in the error's words); the first that fits is it.
GROUPS = [
    ("Crashed the process", None, r"^crashed|^hung"),
    ("Took too long", None, r"^TooSlow"),
    ("Subclasses of ndarray", r"(?i)subclass|subok", r"array of references"),
    (
        "Dtypes that stay NumPy arrays: structured, string, object, datetime, extended precision, other byte orders",
        r"(?i)struct|void|record|string|object|datetime|timedelta|longdouble|unicode|bytes|rational|field",
        r"dtype\('O'\)|dtype\('<?[UMm]|longdouble|datetime|timedelta|dtype is not supported|dtype object",
    ),
    ("Signatures and documentation of methods", r"(?i)signature|newdoc", r"_ParameterKind|__text_signature__"),
    (
        "CPython and NumPy internals: reference counts, the C API, private modules, alignment",
        r"(?i)refcount|elide|capi|align|byteswap|leak|ctypes|LowlevelAPI|NeighborhoodIter|WritebackIfCopy",
        r"bad argument to internal function|needs ndarray input|_CopyMode",
    ),
    ("Warnings that are missing or too many", None, r"(?i)DID NOT WARN|^\w*Warning"),
    ("Raises another exception, or none", None, r"DID NOT RAISE|not raised|Regex pattern did not match|does not match"),
    ("Other values", None, r"(?i)mismatched elements|not equal|not almost equal|max ulp|Arrays are not"),
    ("Missing attribute or keyword", None, r"AttributeError|unexpected keyword|positional argument"),
    ("Internal errors", None, r"PanicException|panicked|RuntimeError|SystemError|RecursionError"),
]
OTHER = "Everything else"


def group(name: str, words: str) -> str:
    for title, in_name, in_words in GROUPS:
        if (in_name and re.search(in_name, name)) or (in_words and re.search(in_words, words)):
            return title
    return OTHER


def read_log(log: Path) -> dict[str, dict]:
    """Outcome and words by test. A test that began and never ended took its process with it."""
    outcomes: dict[str, dict] = {}
    for line in log.read_text().splitlines() if log.exists() else []:
        row = json.loads(line)
        if "end" in row:
            outcomes[row["end"]] = {"outcome": row["outcome"], "words": row["words"]}
        elif "crashed" in row:
            outcomes[row["crashed"]] = {"outcome": "failed", "words": row["words"]}
    return outcomes


def summarise(results: dict[str, dict[str, dict]]) -> dict:
    files = {}
    for file, outcomes in results.items():
        count = Counter(o["outcome"] for o in outcomes.values())
        failures = {n: o["words"] for n, o in outcomes.items() if o["outcome"] == "failed"}
        files[file] = {k: count[k] for k in ("passed", "failed", "skipped")} | {"failures": failures}
    return {"numpy": numpy.__version__, "files": files}


def page(summary: dict) -> str:
    lines = [
        "# Compatibility",
        "",
        f"NumPy {summary['numpy']} ships its own tests. `python -m tests.numpy_suite --page` runs six of its files",
        "with Numloom in NumPy's place (`np` is Numloom; NumPy's private modules and `numpy.testing` stay its own) and",
        "writes this page.",
        "",
        "| file | passed | failed | skipped | passed of run |",
        "|---|---:|---:|---:|---:|",
    ]
    total: Counter = Counter()
    for file, row in summary["files"].items():
        total.update({k: row[k] for k in ("passed", "failed", "skipped")})
        lines.append(table_row(f"`{file}.py`", row))
    lines += [
        table_row("**all**", total),
        "",
        "Skipped are tests that NumPy skips too or that need much memory; tests marked slow are left out. A function",
        "that Numloom hands to NumPy passes here as well: `numloom.coverage()` tells which are native.",
        "",
    ]

    grouped: dict[str, list[tuple[str, str, str]]] = defaultdict(list)
    for file, row in summary["files"].items():
        for name, words in row["failures"].items():
            grouped[group(name, words)].append((file, name, words))
    lines += ["## What fails, by reason", ""]
    for title in [*dict.fromkeys(t for t, _, _ in GROUPS), OTHER]:
        if grouped[title]:
            lines += [f"### {title}: {len(grouped[title])}", "", *samples(grouped[title]), ""]
    return "\n".join(lines).rstrip() + "\n"


def table_row(name: str, row) -> str:
    ran = row["passed"] + row["failed"]
    share = f"{100 * row['passed'] / ran:.1f} %" if ran else "none ran"
    return f"| {name} | {row['passed']} | {row['failed']} | {row['skipped']} | {share} |"


def samples(failures: list[tuple[str, str, str]], most: int = 12) -> list[str]:
    """One line a test function, however many parameters failed, most first."""
    functions: dict[tuple[str, str], list[str]] = defaultdict(list)
    for file, name, words in failures:
        functions[file, name.split("[")[0]].append(words)
    ordered = sorted(functions.items(), key=lambda item: -len(item[1]))
    lines = []
    for (file, name), words in ordered[:most]:
        first = next((w for w in words[0].splitlines() if w.strip()), "")[:140].replace("|", "\\|").replace("`", "'")
        lines.append(f"- `{file}.py::{name}` ({len(words)}): `{first}`")
    if len(ordered) > most:
        lines.append(f"- and {len(ordered) - most} more functions")
    return lines
