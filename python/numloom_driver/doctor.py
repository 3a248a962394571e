"""`numloom doctor [flags] program [arguments]`: runs a program and says what it could do better."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from .prof import prof


def doctor(words: Sequence[str]) -> int:
    """Run the program with a profile, then tell what was found; the program's exit status, or the tool's."""
    if not words or words[0] in ("-h", "--help"):
        print("usage: numloom doctor [flags] program [arguments]")
        return 0 if words else 2
    with tempfile.TemporaryDirectory(prefix="numloom-doctor-") as folder:
        flags = ["--profile", "--profile-name=doctor", f"--logdir={folder}"]
        command = [sys.executable, "-m", "numloom", *flags, *words]
        # The files are gone when this is over: nobody needs to hear of them.
        ended = subprocess.run(command, env={**os.environ, "NUMLOOM_PROFILE_REPORT": "0"}, check=False)
        files = sorted(str(path) for path in Path(folder).glob("doctor_*.prof"))
        if not files:
            print("numloom doctor: the program wrote no profile", file=sys.stderr)
            return ended.returncode or 1
        return ended.returncode or prof(["advise", *files])
