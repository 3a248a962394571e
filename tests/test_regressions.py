"""Programs that failed once. Each is a script that fails if the module and NumPy differ."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = sorted((ROOT / "tests" / "fuzz" / "regressions").glob("[!_]*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda p: p.stem)
def test_regression(script):
    command = [sys.executable, "-m", f"tests.fuzz.regressions.{script.stem}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert run.returncode == 0, run.stdout + run.stderr
