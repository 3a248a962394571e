"""Turns one of NumPy's test files into a test file of the module under test, line by line."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

import numpy

MODULE = os.environ.get("NUMLOOM_TEST_MODULE", "numloom")
PACKAGE = Path(numpy.__file__).parent

# NumPy's test files by the package they belong to.
AREAS = {
    "_core": "umath multiarray indexing ufunc shape_base numeric einsum",
    "linalg": "linalg regression deprecations",
    "fft": "pocketfft helper",
    "random": "generator_mt19937 generator_mt19937_regressions random randomstate randomstate_regression regression "
    "seed_sequence smoke direct",
    "lib": "function_base arraysetops histograms index_tricks nanfunctions shape_base twodim_base type_check "
    "stride_tricks arraypad packbits polynomial ufunclike array_utils arrayterator regression io loadtxt format",
    "polynomial": "polynomial chebyshev legendre laguerre hermite hermite_e classes polyutils printing symbol",
}
FILES = [f"{area}/test_{name}" for area, names in AREAS.items() for name in names.split()]

# Modules whose names come from the module under test; everything else stays NumPy's.
SWAPPED = ["_core", "_core.umath", "_core.shape_base", "_core.multiarray", "_core.numeric", "random", "lib", "testing"]
SWAPPED += ["linalg", "fft", "lib._index_tricks_impl", "lib._stride_tricks_impl", "lib._arraypad_impl", "polynomial"]
SWAPPED += ["ma.testutils"]
SWAPPED += [
    f"polynomial.{name}"
    for name in ("polynomial", "chebyshev", "legendre", "laguerre", "hermite", "hermite_e", "polyutils")
]
STAND_IN = "numpy_under_test"
CORE = "core_under_test"


def renamed(module: str) -> str:
    if module == "numpy":
        return MODULE
    rest = module.removeprefix("numpy.")
    return f"{STAND_IN}.{rest}" if rest in SWAPPED and rest != module else module


def import_text(node: ast.Import | ast.ImportFrom, area: str) -> str:
    def names(aliases):
        return ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in aliases)

    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            module = f"numpy.{area}.tests.{module}".rstrip(".")
        return f"from {renamed(module)} import {names(node.names)}"
    parts = []
    for a in node.names:
        if a.name == "numpy" or (a.asname and a.name.startswith("numpy.")):
            parts.append(f"import {renamed(a.name)} as {a.asname or 'numpy'}")
            if a.name == "numpy":
                parts.append(f"import {STAND_IN}._core as {CORE}")
        else:
            parts.append(f"import {names([a])}")
    return "; ".join(parts)


def rewrite(source: str, area: str) -> str:
    """Replaces the import statements; every other line keeps its place."""
    lines = source.splitlines()
    imports = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    for node in imports:
        first, last = node.lineno - 1, node.end_lineno - 1
        indent = " " * node.col_offset
        lines[first] = indent + import_text(node, area)
        for i in range(first + 1, last + 1):
            lines[i] = ""
    text = "\n".join(lines) + "\n"
    # `np._core` is NumPy's private package in these files, but a private module of ours in Numloom.
    text = re.sub(r"\bnp\._core\b", CORE, text)
    # Runs while the class body is read: a failure here would take the whole file with it.
    return text.replace("transpose(np.random.permutation(5))", "transpose(*np.random.permutation(5).tolist())")


def write_all(folder: Path, files: list[str]) -> None:
    for file in files:
        area, _, name = file.partition("/")
        tests = PACKAGE / area / "tests"
        (folder / area).mkdir(exist_ok=True)
        (folder / f"{file}.py").write_text(rewrite((tests / f"{name}.py").read_text(), area))
        if (tests / "data").is_dir():
            # Some tests read what lies beside them.
            shutil.copytree(tests / "data", folder / area / "data", dirs_exist_ok=True)
