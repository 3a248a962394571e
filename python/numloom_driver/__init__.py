"""The command `numloom`, and `python -m numloom`. A package of its own, so that `numloom` can tell that the command
imports it: the command's flags are settings too, and must be read before any is used."""

from __future__ import annotations

import os
import sys
import time


def main(command: str = "numloom") -> int:
    """Read the command line and do what it says; the exit status."""
    from numloom import _core, _settings

    for word in sys.argv[1:]:
        if not _is_text(word):
            print(f"{command}: {word!r} is not UTF-8; only text can be given as an argument", file=sys.stderr)
            return 2
    if sys.argv[1:2] == ["prof"]:
        from .prof import prof

        return prof(sys.argv[2:])
    if sys.argv[1:2] == ["doctor"]:
        from .doctor import doctor

        return doctor(sys.argv[2:])
    driven = _core.drive(command, sys.argv[1:], sys.executable)
    if driven.status is not None:
        return int(driven.status)
    os.environ.update(driven.variables)
    _settings.say(command, driven.notes)

    from numloom import _profile

    from .program import run_module, run_script

    if why := _profile.begin_run(command, [driven.program, *driven.arguments]):
        print(f"{command}: {why}", file=sys.stderr)
        return 2

    began = time.perf_counter()
    try:
        (run_module if driven.is_module else run_script)(driven.program, driven.arguments)
    finally:
        if driven.timing:
            print(f"{command}: the program took {time.perf_counter() - began:.3f} s", file=sys.stderr)
    return 0


def _is_text(word: str) -> bool:
    """Whether the bytes of an argument were text; Python keeps those that were not as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in word)
