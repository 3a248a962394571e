"""The settings of this run, by name, with the values that `--show-config` prints."""

from __future__ import annotations

import functools
import os
import re
import subprocess
import sys
from collections.abc import Mapping

# What the other process is told, which is not what this one was.
_TOLD = {"show-config": 1, "show-memory-usage": 0, "profile": 0}
_LINE = re.compile(r"^- (\S+) =(.*)\[[^\]]*\]$", re.MULTILINE)


@functools.cache
def configuration() -> Mapping[str, str]:
    """The settings and their values, as text, without those that only say what is shown and written.

    Another process reads them from the same variables as this one did, and tells: a sixth of a second, once.
    """
    words = " ".join([os.environ.get("NUMLOOM_CONFIG", ""), *(f"--{name}={value}" for name, value in _TOLD.items())])
    told = subprocess.run(
        [sys.executable, "-P", "-c", "import numloom"],
        env={**os.environ, "NUMLOOM_CONFIG": words},
        capture_output=True,
        check=True,
        text=True,
    )
    return {name: value.strip() for name, value in _LINE.findall(told.stdout) if name not in _TOLD}


def number(name: str) -> int:
    """A setting that is a number or a switch: `4,096`, `20,220,739,584 (18.83 GiB)`, `1`."""
    return int(configuration()[name].partition(" ")[0].replace(",", ""))
