"""`benchmark_log(name, columns)`: a table of measurements, below a head that says how they were made."""

from __future__ import annotations

import csv
import datetime
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TextIO

from .has_started import runtime_has_started
from .info import as_lines, info

__all__ = ["BenchmarkLog", "BenchmarkLogFromFilename", "benchmark_log"]


class BenchmarkLog:
    """A table that `log` adds rows to. A subclass says in `_log_metadata`, `_log_columns`, `_log_row` what becomes
    of the head, the names of the columns and a row."""

    def __init__(
        self, name: str, uid: int, columns: Sequence[str], file: TextIO, metadata: Mapping[str, Any] | None = None
    ) -> None:
        self.name = name
        self.uid = uid
        self.columns = list(columns)
        self.file = file
        self.metadata = metadata

    def __enter__(self) -> Self:
        began = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        facts = info() if self.metadata is None else self.metadata
        this = {"Name": self.name, "ID": f"{self.uid:016x}", "Began": began}
        self._log_metadata("\n".join(as_lines({"Benchmark": this, **facts})))
        self._log_columns(self.columns)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def log(self, **row: Any) -> None:
        """Add a row: a value for each column, by its name."""
        self._log_row([str(row.get(column, "(missing)")) for column in self.columns])

    def _log_metadata(self, metadata: str) -> None:
        raise NotImplementedError

    def _log_columns(self, columns: list[str]) -> None:
        raise NotImplementedError

    def _log_row(self, row: list[str]) -> None:
        raise NotImplementedError


class _Csv(BenchmarkLog):
    """The table as lines of values between commas, the head as comments."""

    def _log_metadata(self, metadata: str) -> None:
        rule = "#" * 80
        self.file.write("\n".join([rule, *(f"# {line}" for line in metadata.splitlines()), rule, ""]))

    def _log_columns(self, columns: list[str]) -> None:
        self._log_row(columns)

    def _log_row(self, row: list[str]) -> None:
        csv.writer(self.file, lineterminator="\n").writerow(row)


class BenchmarkLogFromFilename:
    """A log into a file that is open while the block runs."""

    def __init__(self, file_name: os.PathLike[str], constructor: Callable[[TextIO], BenchmarkLog]) -> None:
        self.file_name = file_name
        self.constructor = constructor

    def __enter__(self) -> BenchmarkLog:
        self._file = Path(self.file_name).open("w")
        try:
            self._log = self.constructor(self._file)
            return self._log.__enter__()
        except BaseException:
            self._file.close()
            raise

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._file:
            self._log.__exit__(kind, error, trace)


def benchmark_log(
    name: str,
    columns: Sequence[str],
    *,
    out: TextIO | None = None,
    metadata: Mapping[str, Any] | None = None,
    start_runtime: bool = True,
) -> BenchmarkLog | BenchmarkLogFromFilename:
    """A table of this name and these columns, for a `with` statement; what it gives has the method `log`.

    It is written to `out`, or to where LEGATE_BENCHMARK_OUT says: `stdout`, which it is if not given, or a directory,
    where every table gets a file of its own. `metadata`, by default `info()`, is the head.
    """
    uid = secrets.randbits(64)
    if metadata is None:
        metadata = info(start_runtime=start_runtime)
    place = os.environ.get("LEGATE_BENCHMARK_OUT", "stdout")
    if out is not None or place == "stdout":
        return _Csv(name, uid, columns, out or sys.stdout, metadata)
    file = Path(place) / f"{name.replace(' ', '')}_{uid:016x}.{_rank(start_runtime)}.csv"
    return BenchmarkLogFromFilename(file, lambda opened: _Csv(name, uid, columns, opened, metadata))


def _rank(start_runtime: bool) -> int:
    if not (start_runtime or runtime_has_started()):
        return 0
    from legate.core import get_legate_runtime

    return get_legate_runtime().node_id
