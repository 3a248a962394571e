"""Files of text: tables of numbers, read and written by all workers (`crates/text`).

What is plain (numbers in rows of one length, in ASCII) is read and printed in Rust. Everything else, and whatever is
wrong with a file, is NumPy's, from the beginning.
"""

from __future__ import annotations

import codecs
import inspect
import io
import itertools
import os
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy
from numpy.lib.npyio import DataSource

from . import _core
from ._core import Unsupported, is_ours, read_sequence, read_table, settle_mappings, to_numpy, write_table
from ._fallback import direct, on_host
from ._operands import operand

# Encodings whose ASCII is ASCII.
_ASCII = {"ascii", "utf-8", "iso8859-1", "cp1252"}
_STREAMS = (io.StringIO, io.BytesIO, io.TextIOWrapper, io.BufferedReader, io.BufferedRandom)
_COMPRESSED = (".gz", ".bz2", ".xz", ".lzma")
# Characters that NumPy does not take for a delimiter or a comment, or that mean something in numbers.
_NO_MARK = "+-.0123456789eEinfatyINFATY\r\n\"'"


def _is_ascii(encoding: Any) -> bool:
    try:
        return codecs.lookup(encoding).name in _ASCII
    except (LookupError, TypeError):
        return False


class Source:
    """What a reader was given: its text, or the first lines of it, and how to hand it to NumPy as if nobody had read
    it."""

    def __init__(self, given: Any, encoding: Any, lines: int | None) -> None:
        self.given = given
        self._position: Any = None
        if encoding not in (None, "bytes") and not _is_ascii(encoding):
            raise Unsupported("another alphabet")
        if isinstance(given, os.PathLike):
            given = os.fspath(given)
        if isinstance(given, str):
            if not os.path.isfile(given) or given.endswith(_COMPRESSED):
                raise Unsupported("no plain file")
            with open(given, "rb") as file:
                self.text = file.read() if lines is None else b"".join(itertools.islice(file, lines))
        elif lines is not None:
            raise Unsupported("what is not wanted is not read")
        elif type(given) in _STREAMS:
            try:
                self._position = given.tell()
            except OSError:
                raise Unsupported("what is read is gone") from None
            self.text = self._bytes(given.read())
        elif type(given) in (list, tuple) and all(type(line) is str or type(line) is bytes for line in given):
            parts = [self._bytes(line).removesuffix(b"\n") for line in given]
            if any(b"\n" in part for part in parts):
                raise Unsupported("several lines in one")
            self.text = b"\n".join(parts)
        else:
            raise Unsupported("lines that come one by one")

    def _bytes(self, text: str | bytes) -> bytes:
        if isinstance(text, bytes):
            return text
        if not text.isascii():
            self.rewind()
            raise Unsupported("another alphabet")
        return text.encode("ascii")

    def rewind(self) -> None:
        if self._position is not None:
            self.given.seek(self._position)


def _mark(given: Any) -> int | None:
    """A delimiter or a comment of one character, as its code."""
    if given is None:
        return None
    if isinstance(given, bytes):
        given = given.decode("latin1")
    if type(given) is not str or len(given) != 1 or not given.isascii() or given in _NO_MARK:
        raise Unsupported("no plain mark")
    return ord(given)


def _comment(given: Any) -> int | None:
    if isinstance(given, list | tuple):
        if len(given) > 1:
            raise Unsupported("several comments")
        given = given[0] if given else None
    if given in (" ", "\t"):
        raise Unsupported("an error that NumPy words")
    return _mark(given)


def _columns(given: Any) -> list[int] | None:
    if given is None:
        return None
    try:
        chosen = list(given)
    except TypeError:
        chosen = [given]
    if not chosen or any(not isinstance(i, int | numpy.integer) for i in chosen):
        raise Unsupported("columns that NumPy words")
    return [int(i) for i in chosen]


def _shaped(table: Any, ndmin: int) -> Any:
    """As many axes as are needed."""
    if table.ndim > ndmin:
        table = table.squeeze()
    if table.ndim < ndmin:
        table = table.reshape(1) if ndmin == 1 else table.reshape(1, -1).T
    return table


def _plain(
    fname: Any,
    dtype: Any,
    delimiter: Any,
    comments: Any,
    skipped: Any,
    usecols: Any,
    max_rows: Any,
    encoding: Any,
    ndmin: Any,
) -> Any:
    """The table of a plain source, or `Unsupported` with the source as it was."""
    if type(ndmin) is not int or not 0 <= ndmin <= 2 or type(skipped) is not int or skipped < 0:
        raise Unsupported("an error that NumPy words")
    marks = _mark(delimiter), _comment(comments)
    if marks[0] is not None and marks[0] == marks[1]:
        raise Unsupported("an error that NumPy words")
    dtype = numpy.dtype(float if dtype is None else dtype)
    columns = _columns(usecols)
    if max_rows is not None and (type(max_rows) is not int or max_rows < 1):
        raise Unsupported("an error that NumPy words")
    # Of a part of the rows every line is one, or the table is not plain.
    source = Source(fname, encoding, None if max_rows is None else skipped + max_rows)
    try:
        table = read_table(source.text, dtype, *marks, columns, skipped, max_rows)
        if table is None:
            raise Unsupported("not plain")
    except Unsupported:
        source.rewind()
        raise
    return _shaped(table, ndmin)


def loadtxt(
    fname: Any,
    dtype: Any = float,
    comments: Any = "#",
    delimiter: Any = None,
    converters: Any = None,
    skiprows: int = 0,
    usecols: Any = None,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: Any = None,
    max_rows: Any = None,
    *,
    quotechar: Any = None,
    like: Any = None,
) -> Any:
    settle_mappings()
    if converters is None and quotechar is None and like is None:
        try:
            table = _plain(fname, dtype, delimiter, comments, skiprows, usecols, max_rows, encoding, ndmin)
            return table.T if unpack else table
        except Unsupported:
            pass
    named = {
        "converters": converters,
        "skiprows": skiprows,
        "usecols": usecols,
        "unpack": unpack,
        "ndmin": ndmin,
        "encoding": encoding,
        "max_rows": max_rows,
        "quotechar": quotechar,
        **({} if like is None else {"like": like}),
    }
    return on_host(numpy.loadtxt, "", (fname, dtype, comments, delimiter), named)


# With these, `genfromtxt` is asked neither for names nor about values that are missing.
_ORDINARY = {
    "skip_footer": 0,
    "converters": None,
    "missing_values": None,
    "filling_values": None,
    "names": None,
    "usemask": False,
    "like": None,
}


_ARGUMENTS = inspect.signature(numpy.genfromtxt)


def genfromtxt(*args: Any, **kwargs: Any) -> Any:
    settle_mappings()
    try:
        given = _ARGUMENTS.bind(*args, **kwargs)
        given.apply_defaults()
        return _complete(given.arguments)
    except (TypeError, Unsupported):
        pass
    return on_host(numpy.genfromtxt, "", args, kwargs)


def _complete(given: dict[str, Any]) -> Any:
    """What `genfromtxt` gives for a table in which nothing is missing: what `loadtxt` gives."""
    if any(given[name] is not value and given[name] != value for name, value in _ORDINARY.items()):
        raise Unsupported("names, or missing values")
    if given["dtype"] is None or numpy.dtype(given["dtype"]).kind not in "if":
        raise Unsupported("other rules for fields")
    names = ("fname", "dtype", "delimiter", "comments", "skip_header", "usecols", "max_rows", "encoding", "ndmin")
    table = _plain(*[given[name] for name in names])
    return table.T if given["unpack"] else table


def fromstring(string: Any, dtype: Any = float, count: int = -1, sep: str = "", *, like: Any = None) -> Any:
    try:
        return _sequence(string, dtype, count, sep, like)
    except Unsupported:
        named = {"sep": sep} if like is None else {"sep": sep, "like": like}
        return on_host(numpy.fromstring, "", (string, dtype, count), named)


def _sequence(string: Any, dtype: Any, count: Any, sep: Any, like: Any) -> Any:
    if like is not None or type(count) is not int or count == 0 or type(sep) is not str or not sep:
        raise Unsupported("bytes, or an error that NumPy words")
    text = string.encode("ascii") if type(string) is str and string.isascii() else string
    if type(text) is not bytes or (kind := numpy.dtype(dtype)).kind not in "iuf":
        raise Unsupported("another alphabet, or other numbers")
    # Blanks are skipped before a number, so only those before the mark count.
    found = read_sequence(text, kind, _mark(sep.rstrip() or None))
    if found is None or found.size < max(count, 1):
        raise Unsupported("not plain")
    return found if count < 0 else found[:count].copy()


# Writing

_FIELD = re.compile(r"%([-+ 0]*)(\d*)(?:\.(\d+))?([eEfFgGdi])")
# Elements that are printed at a time.
_BLOCK = 1 << 17
_LONGEST = 1000


def savetxt(
    fname: Any,
    X: Any,
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: Any = None,
) -> None:
    settle_mappings()
    words = (fmt, delimiter, newline, header, footer, comments)
    try:
        rows = X if is_ours(X) or type(X) is numpy.ndarray else operand(X)
        pattern = _pattern(rows, fmt, delimiter)
        if not all(type(word) is str for word in words[1:]):
            raise Unsupported("an error that NumPy words")
    except Unsupported:
        return on_host(numpy.savetxt, "", (fname, X, *words, encoding), {})
    if rows.ndim == 1:
        rows = rows.reshape(-1, 1)
    if isinstance(fname, os.PathLike):
        fname = os.fspath(fname)
    if isinstance(fname, str):
        open(fname, "w").close()
        with DataSource(os.curdir).open(fname, "wt", encoding=encoding) as file:
            _write(file.write, rows, pattern, *words[2:])
    elif hasattr(fname, "write"):
        _write(_writer(fname, encoding or "latin1"), rows, pattern, *words[2:])
    else:
        raise ValueError("fname must be a string or file handle")
    return None


def _pattern(rows: Any, fmt: Any, delimiter: Any) -> str:
    """The format of a line; `Unsupported` for what NumPy refuses, and for numbers in several parts."""
    plain = rows.dtype.char in "?bBhHiIlLqQefd" and rows.dtype.isnative
    if rows.ndim not in (1, 2) or not plain or type(delimiter) is not str:
        raise Unsupported("no table of plain numbers")
    columns = 1 if rows.ndim == 1 else rows.shape[1]
    if type(fmt) in (list, tuple):
        if len(fmt) != columns or not all(type(each) is str for each in fmt):
            raise Unsupported("an error that NumPy words")
        return delimiter.join(fmt)
    if not isinstance(fmt, str) or fmt.count("%") not in (1, columns):
        raise Unsupported("an error that NumPy words")
    return delimiter.join([fmt] * columns) if fmt.count("%") == 1 else fmt


def _fields(pattern: str, newline: str) -> tuple[list[tuple[str, str, int, int]], list[bytes]] | None:
    """The conversions of a line and what stands around them; None if Python has to print it."""
    fields, literals, at = [], [], 0
    for found in _FIELD.finditer(pattern):
        flags, width, precision, letter = found.groups()
        numbers = int(width or 0), int(precision or 6)
        if max(numbers) > _LONGEST or (precision and letter in "di"):
            return None
        fields.append((letter, flags, *numbers))
        literals.append(pattern[at : found.start()])
        at = found.end()
    literals.append(pattern[at:] + newline)
    if not fields or any("%" in literal for literal in literals):
        return None
    return fields, [literal.encode() for literal in literals]


def _writer(file: Any, encoding: str) -> Callable[[str], Any]:
    """Writes text to a file of text or of bytes, whichever it turns out to be."""
    takes_bytes = None

    def write(text: str) -> None:
        nonlocal takes_bytes
        if takes_bytes is None:
            try:
                file.write(text)
                takes_bytes = False
            except TypeError:
                takes_bytes = True
                file.write(text.encode(encoding))
        else:
            file.write(text.encode(encoding) if takes_bytes else text)

    return write


def _write(
    write: Callable[[str], Any], rows: Any, pattern: str, newline: str, header: str, footer: str, comments: str
) -> None:
    if header:
        write(comments + header.replace("\n", "\n" + comments) + newline)
    for block in _blocks(rows, pattern, newline):
        write(block)
    if footer:
        write(comments + footer.replace("\n", "\n" + comments) + newline)


def _blocks(rows: Any, pattern: str, newline: str) -> Iterator[str]:
    """The lines, many at a time: only as many elements as these have are brought to the host."""
    fields = _fields(pattern, newline)
    step = max(1, _BLOCK // max(1, rows.shape[1]))
    for start in range(0, rows.shape[0], step):
        block = _core.asarray(rows[start : start + step])
        block = block if block.flags.c_contiguous else block.copy()
        text = None if fields is None else write_table(block, *fields)
        yield _printed(block, pattern, newline) if text is None else text.decode()


def _printed(block: Any, pattern: str, newline: str) -> str:
    try:
        return "".join([pattern % tuple(row) + newline for row in to_numpy(block)])
    except TypeError as error:
        message = f"Mismatch between array dtype ('{block.dtype}') and format specifier ('{pattern}')"
        raise TypeError(message) from error


genfromtxt.__wrapped__ = numpy.genfromtxt  # type: ignore[attr-defined]
for _function in (loadtxt, genfromtxt, fromstring, savetxt):
    direct(_function)
