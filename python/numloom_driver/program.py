"""A Python program in this interpreter, as if `python` had started it: its `sys.argv`, `sys.path[0]`, `__main__`,
tracebacks and exit status."""

from __future__ import annotations

import os
import runpy
import sys
import types
from collections.abc import Callable, Sequence
from importlib.machinery import SourceFileLoader
from typing import Any

# Modules die with their last reference, and the command's own `__main__` is still running.
_kept: list[types.ModuleType] = []


def run_script(file: str, arguments: Sequence[str]) -> None:
    path = os.path.join(os.getcwd(), file)
    main = _new_main()
    main.__file__ = path
    main.__loader__ = SourceFileLoader("__main__", path)
    main.__dict__["__cached__"] = None
    sys.argv = [file, *arguments]
    _set_first_path(os.path.dirname(os.path.realpath(path)))

    def body() -> None:
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec", dont_inherit=True)
        exec(code, main.__dict__)

    _run(body, frames=2)


def run_module(name: str, arguments: Sequence[str]) -> None:
    _new_main()
    sys.argv = ["-m", *arguments]
    _set_first_path(os.getcwd())
    # What `python -m` itself calls; its public kin puts the old `__main__` back while the program's objects live on.
    _run(lambda: runpy._run_module_as_main(name), frames=2)  # type: ignore[attr-defined]


def _new_main() -> types.ModuleType:
    _kept.append(sys.modules["__main__"])
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = sys.modules["builtins"]
    sys.modules["__main__"] = main
    return main


def _set_first_path(directory: str) -> None:
    """Put the program's directory where the command's own is, unless Python was told to keep such out."""
    if not sys.flags.safe_path:
        sys.path[0] = directory


def _run(body: Callable[[], Any], frames: int) -> None:
    """Run `body`; an exception is shown without the `frames` that are ours, and then ends the interpreter as ever."""
    try:
        body()
    except SystemExit:
        raise
    except BaseException as error:
        trace = error.__traceback__
        for _ in range(frames):
            trace = trace.tb_next if trace is not None else None
        sys.excepthook(type(error), error.with_traceback(trace), trace)
        sys.excepthook = lambda *shown: None
        raise
