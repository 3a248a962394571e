"""Profiles: sessions for a whole run or a part of it, and phases that the program names."""

from __future__ import annotations

import functools
import os
import platform
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar

from . import _core

F = TypeVar("F", bound=Callable[..., Any])

_lock = threading.Lock()
# Larger profiles are not put into a page at exit: `numloom prof view` serves them.
_LARGEST_EMBEDDED = 64 << 20
# The process whose run is profiled, for those it starts.
PROFILED = "NUMLOOM_PROFILED"
# The report that the session of the whole run ends with: its directory, and the command to speak as.
_report: tuple[Path, str] | None = None


class profile:
    """Write a profile of the block: `with numloom.profile("part.prof"): ...`.

    Without a path the file is named as the settings say (`--profile-name`, `--logdir`), and an earlier one of that
    name is kept beside it. Everything recorded before the block is waited for first, and what the block recorded
    before the file is closed. While the whole run is profiled, the block is a range in that profile.
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, *, name: str = "") -> None:
        self.path: Path | None = None if path is None else Path(path)
        self.name = name
        self._range: ProfileRange | None = None

    def __enter__(self) -> profile:
        if _core._profiling():
            self._range = ProfileRange(self.name or "profile")
            self._range.__enter__()
            return self
        _core.sync(None)
        if self.path is None:
            _, name, folder, rank, _ = _core._profile_settings()
            self.path = Path(folder) / f"{name}_{rank}.prof"
        _start(self.path, [*sys.argv], self.name)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._range is not None:
            self._range.__exit__(kind, error, trace)
            self._range = None
            return
        try:
            _core.sync(None)
        finally:
            _stop()


class ProfileRange:
    """A phase of the program, shown by its name in profiles: a context manager, or a decorator."""

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self._started: list[int] = []

    def __enter__(self) -> ProfileRange:
        self._started.append(_core._range_begin(self.name))
        return self

    def __exit__(self, *raised: Any) -> None:
        _core._range_end(self.name, self._started.pop())

    def __call__(self, function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with ProfileRange(self.name):
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def begin_run(command: str, program: Sequence[str]) -> str | None:
    """Profile the whole run, if the settings ask for it. Where that cannot be, a sentence says why."""
    global _report
    asked, name, folder, rank, ranks = _core._profile_settings()
    own = str(os.getpid())
    # What a profiled process starts is not part of its run, and must not take its files.
    if not asked or _core._profiling() or os.environ.get(PROFILED, own) != own:
        return None
    os.environ[PROFILED] = own
    folder = Path(folder)
    path = folder / f"{name}_{rank}.prof"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _start(path, program, "", rank=rank, ranks=ranks)
    except OSError as error:
        why = error.strerror or str(error).removeprefix(f"{path}: ")
        return f"--profile: {path} cannot be written: {why} (see --logdir and --profile-name)"
    if rank == 0:
        _report = (folder / f"{name}_prof", command)
    return None


def begin_if_asked() -> None:
    """At import: nothing is looked up where the environment does not speak of profiles."""
    if any("--profile" in os.environ.get(name, "") for name in ("NUMLOOM_CONFIG", "LEGATE_CONFIG")):
        if why := begin_run("numloom", sys.argv):
            print(f"numloom: {why}; the program runs without", file=sys.stderr)


def _start(path: Path, program: Sequence[str], name: str, rank: int = 0, ranks: int = 1) -> None:
    with _lock:
        _keep(path)
        _core._profile_start(
            path,
            [
                ("program", program[0] if program else ""),
                ("command", " ".join(sys.orig_argv)),
                ("name", name),
                ("host", platform.node()),
                ("rank", str(rank)),
                ("ranks", str(ranks)),
                ("pid", str(os.getpid())),
                ("python", platform.python_version()),
                ("started", str(time.time_ns())),
                ("tick_ns", "1"),
            ],
        )


def _keep(path: Path) -> None:
    """Move an earlier run's file or report aside: `NAME.1`, `NAME.2`, …, which no pattern for profiles matches."""
    if path.exists():
        number = 1
        while (earlier := path.with_name(f"{path.name}.{number}")).exists():
            number += 1
        path.rename(earlier)


def _stop() -> Path | None:
    if "mpi4py" in sys.modules:
        _core._profile_use(11, "mpi4py", 0)
    return _core._profile_stop()


def _write_report(folder: Path, profile: Path) -> Path | None:
    """The page with the profile in it; none where this installation has no viewer, or the profile is for a server."""
    viewer = Path(__file__).with_name("viewer.html")
    if not viewer.exists() or profile.stat().st_size > _LARGEST_EMBEDDED:
        return None
    _keep(folder)
    folder.mkdir()
    page = folder / "index.html"
    _core._profile_report(viewer, [profile], page)
    return page


def finish() -> None:
    """At exit: the file is closed, and it is said where it is and how to open it. Never fails the program."""
    global _report
    report, _report = _report, None
    try:
        path = _stop()
        if path is None or report is None or os.environ.get("NUMLOOM_PROFILE_REPORT") == "0":
            return
        folder, command = report
        tool = "legate_prof" if command == "legate" else "numloom prof"
        said = f"{command}: the profile is in {path}; {tool} view {path} shows it"
        page = _write_report(folder, path)
        said += f", and so does {page}" if page is not None else ""
        print(said, file=sys.stderr, flush=True)
    except Exception as error:
        print(f"numloom: no profile: {error}", file=sys.stderr, flush=True)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_core._profile_forget)
