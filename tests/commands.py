"""Running commands and programs in processes of their own, with a clean environment."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

BIN = Path(sys.executable).parent
RANK_VARIABLES = ("OMPI_", "PMI_", "MPI_", "MV2_", "SLURM_")


class Ended(NamedTuple):
    status: int
    out: str
    err: str


def environment(**variables: str) -> dict[str, str]:
    """This process's environment without settings and ranks, and with the commands of this interpreter."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("NUMLOOM_", "LEGATE_", *RANK_VARIABLES))}
    return {**kept, "PATH": f"{BIN}:{kept['PATH']}", "NUMLOOM_FALLBACK_WARNINGS": "0", **variables}


def run(*words: str, cwd: Path | None = None, stdin: str = "", **variables: str) -> Ended:
    done = subprocess.run(
        words, cwd=cwd, input=stdin, env=environment(**variables), capture_output=True, text=True, timeout=60
    )
    return Ended(done.returncode, done.stdout, done.stderr)


def numloom(*words: str, cwd: Path | None = None, stdin: str = "", **variables: str) -> Ended:
    """`python -m numloom`: the command, whether or not its script is installed."""
    return run(sys.executable, "-m", "numloom", *words, cwd=cwd, stdin=stdin, **variables)


def python(code: str, **variables: str) -> Ended:
    return run(sys.executable, "-c", code, **variables)


def tool(folder: Path, name: str, body: str) -> None:
    """A program of this name in `folder`."""
    file = folder / name
    file.write_text(f"#!/bin/bash\n{body}\n")
    file.chmod(0o755)


def shown(out: str) -> dict[str, str]:
    """The lines of `--show-config`, by name."""
    lines = [line[2:].partition(" = ") for line in out.splitlines() if line.startswith("- ")]
    return {name.strip(): " ".join(value.split()) for name, _, value in lines}
