"""The array API standard's own tests, for Numloom and for NumPy."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import textwrap
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

from .reasons import REASONS, UNEXPLAINED, reason

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "compatibility.md"
TITLE = "## The array API standard"
VERSION = "2024.12"


def run(suite: Path, module: str, examples: int) -> dict[str, str]:
    """The outcome of every test: passed, failed or skipped."""
    with tempfile.TemporaryDirectory(prefix="array_api_suite") as folder:
        results = Path(folder) / "results.xml"
        chosen = {
            "ARRAY_API_TESTS_MODULE": module,
            "ARRAY_API_TESTS_VERSION": VERSION,
            "NUMLOOM_FALLBACK_WARNINGS": "0",
        }
        command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "--disable-deadline", "--tb=no"]
        command += [f"--max-examples={examples}", "--hypothesis-seed=0", f"--junitxml={results}", "-p", "no:warnings"]
        ended = subprocess.run(command, cwd=suite, env={**os.environ, **chosen}, capture_output=True, text=True)
        if not results.exists():
            raise SystemExit(f"the suite did not run for {module}:\n{ended.stdout}{ended.stderr}")
        return {name(case): outcome(case) for case in ElementTree.parse(results).iter("testcase")}


def name(case: ElementTree.Element) -> str:
    _, file, *classes = case.get("classname", "").split(".")
    return "::".join([f"{file}.py", *classes, case.get("name", "")])


def outcome(case: ElementTree.Element) -> str:
    kinds = {part.tag for part in case}
    return "failed" if kinds & {"failure", "error"} else "skipped" if "skipped" in kinds else "passed"


def section(ours: dict[str, str], theirs: dict[str, str], examples: int) -> str:
    import numpy

    lines = [
        TITLE,
        "",
        f"The consortium's test suite for version {VERSION}, {examples} cases a test, run by"
        " `python -m tests.array_api_suite` (see",
        f"`tests/array_api_suite/README.md`), and NumPy {numpy.__version__} by the same command:",
        "",
        "| file | passed | failed | skipped | NumPy fails |",
        "|---|---:|---:|---:|---:|",
    ]
    files = sorted({test.partition("::")[0] for test in ours})
    for file in [*files, ""]:
        count = Counter(result for test, result in ours.items() if test.startswith(file))
        failing = sum(result == "failed" for test, result in theirs.items() if test.startswith(file))
        label = f"`{file}`" if file else "**all**"
        lines.append(f"| {label} | {count['passed']} | {count['failed']} | {count['skipped']} | {failing} |")
    lines += ["", "What fails, and why:", ""]
    failed = [test for test, result in ours.items() if result == "failed"]
    by_reason: dict[str, list[str]] = {}
    for test in failed:
        by_reason.setdefault(reason(test), []).append(test)
    order = [words for words, _ in REASONS] + [UNEXPLAINED]
    for words in sorted(by_reason, key=order.index):
        tests = by_reason[words]
        shared = sum(theirs.get(test) == "failed" for test in tests)
        lines += textwrap.wrap(f"- {len(tests)} ({shared} in NumPy, too): {words}", 118, subsequent_indent="  ")
        if words == UNEXPLAINED:
            lines += [f"  - `{test}`" for test in tests]
    return "\n".join(lines) + "\n"


def put_in_page(text: str) -> None:
    """Replaces the section of the page, or adds it at the end."""
    page = PAGE.read_text()
    before, _, rest = page.partition(TITLE)
    _, mark, after = rest.partition("\n## ")
    PAGE.write_text(before.rstrip() + "\n\n" + text + (mark + after if mark else ""))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.array_api_suite", description=__doc__)
    parser.add_argument("suite", type=Path, help="a clone of the suite, with its submodule")
    parser.add_argument("--examples", type=int, default=20, help="cases that Hypothesis tries a test")
    parser.add_argument("--page", action="store_true", help="write the section of docs/compatibility.md")
    args = parser.parse_args()
    ours, theirs = (run(args.suite, module, args.examples) for module in ("numloom", "numpy"))
    text = section(ours, theirs, args.examples)
    if args.page:
        put_in_page(text)
    print(text)
    return 1 if UNEXPLAINED in text else 0


if __name__ == "__main__":
    raise SystemExit(main())
