"""The settings, read once when the package is imported (`NUMLOOM_CONFIG`, `LEGATE_CONFIG`)."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable

from . import _core

# What was said already, by this process or the one that started it.
SAID = "NUMLOOM_SAID"


def read() -> None:
    """Read the settings. What is wrong with them ends the program with one sentence, and `--help` with the list."""
    if _command_reads():
        return
    status, shown, sentence, notes = _core.read_settings()
    if shown:
        print(shown, end="", flush=True)
    if sentence:
        print(f"numloom: {sentence}", end="", file=sys.stderr, flush=True)
    if status is not None:
        raise SystemExit(status)
    say("numloom", notes)


def say(name: str, notes: Iterable[str]) -> None:
    """Say on standard error what has not been said."""
    said = os.environ.get(SAID, "").split("\n")
    fresh = [note for note in notes if note not in said]
    for note in fresh:
        print(f"{name}: {note}", file=sys.stderr)
    if fresh:
        os.environ[SAID] = "\n".join([*filter(None, said), *fresh])


def _command_reads() -> bool:
    """Whether the command imports us, as `numloom` or as `python -m numloom`: it reads its flags as well."""
    if "numloom_driver" in sys.modules:
        return True
    # While a module is being found, `-m` stands for its name, which the program's own arguments follow.
    return sys.argv[:1] == ["-m"] and sys.orig_argv[-len(sys.argv)] in ("numloom", "-mnumloom")
