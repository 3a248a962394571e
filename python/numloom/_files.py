"""Files: NumPy's formats, read into our memory, written from it, or mapped.

Headers, text and archives are NumPy's code, so that a written file is byte for byte NumPy's and whatever is wrong
with a file is worded by NumPy. The elements go straight between the file and the array's own memory.
"""

from __future__ import annotations

import contextlib
import io
import math
import operator
import os
from collections.abc import Callable
from typing import Any, BinaryIO

import numpy
from numpy.lib import format as npy
from numpy.lib.npyio import NpzFile

from . import _core
from ._core import Unsupported, memmap, ndarray, over_constant, over_mapping, settle_mappings, to_numpy
from ._fallback import Visit, direct, native_names, on_host

__all__ = ["frombuffer", "fromfile", "load", "memmap", "save", "savez", "savez_compressed"]

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class Archive(NpzFile):
    """An open `.npz` file whose members are our arrays."""

    def __getitem__(self, key: str) -> Any:
        return taken(super().__getitem__(key))


Archive.__name__ = Archive.__qualname__ = NpzFile.__name__


def taken(loaded: Any) -> Any:
    """What NumPy read, as ours: the memory it read into, or the file it mapped."""
    if type(loaded) is numpy.memmap:
        try:
            return over_mapping(loaded)
        except Unsupported:
            return loaded
    return Visit().from_host(loaded)


# Reading into our memory


def _opened(file: Any, stack: contextlib.ExitStack) -> BinaryIO | None:
    """A file of the operating system, by its name or open, that can be read from where it stands; else None."""
    if isinstance(file, (str, bytes, os.PathLike)):
        return stack.enter_context(open(file, "rb")) if os.path.isfile(file) else None
    plain = type(file) in (io.BufferedReader, io.BufferedRandom, io.FileIO) and not file.closed
    return file if plain and file.readable() and file.seekable() else None


def _left(file: BinaryIO) -> int:
    """Bytes from where the file stands to its end."""
    return os.fstat(file.fileno()).st_size - file.tell()


def _read(file: BinaryIO, shape: tuple[int, ...], dtype: Any, order: str = "C") -> ndarray:
    """A new array with the next elements of the file, which are there."""
    made = _core.empty(shape, dtype, order)
    to = memoryview(to_numpy(made).ravel(order="K")).cast("B")
    at = 0
    while at < len(to):
        got = file.readinto(to[at:])  # type: ignore[attr-defined]
        if not got:
            raise Unsupported("the file became shorter while it was read")
        at += got
    return made


def _read_npy(file: BinaryIO, max_header_size: int) -> ndarray:
    """The array of an `.npy` file. `Unsupported` for whatever is not plain and whole: NumPy says what it is."""
    try:
        header = _HEADERS[npy.read_magic(file)]
        shape, fortran, dtype = header(file, max_header_size=max_header_size)
    except Exception as error:
        raise Unsupported("a header that NumPy reads or refuses") from error
    wanted = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not dtype.isnative or any(n < 0 for n in shape) or not 0 < wanted <= _left(file):
        raise Unsupported("elements that NumPy reads or misses")
    return _read(file, shape, dtype, "F" if fortran else "C")


def load(
    file: Any,
    mmap_mode: Any = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: Any = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """NumPy's `load`. With `mmap_mode`, an array over the file: work on it is deferred and goes through the file tile
    by tile, unless the file is mapped for writing, too. A file that is changed in other ways while work on it is
    deferred may be read before or after: `numloom.sync()` settles it."""
    settle_mappings()
    if mmap_mode is None and encoding in ("ASCII", "latin1", "bytes"):
        with contextlib.ExitStack() as stack:
            source = _opened(file, stack)
            if source is not None:
                at = source.tell()
                with contextlib.suppress(Unsupported):
                    return _read_npy(source, max_header_size)
                source.seek(at)
    loaded = numpy.load(file, mmap_mode, allow_pickle, fix_imports, encoding, max_header_size=max_header_size)
    if type(loaded) is NpzFile:
        loaded.__class__ = Archive
        return loaded
    return taken(loaded)


def fromfile(
    file: Any, dtype: Any = float, count: int = -1, sep: str = "", offset: int = 0, *, like: Any = None
) -> Any:
    settle_mappings()
    with contextlib.ExitStack() as stack:
        source = _opened(file, stack) if like is None and sep == "" else None
        if source is not None:
            at = source.tell()
            with contextlib.suppress(Unsupported):
                return _elements(source, numpy.dtype(dtype), operator.index(count), operator.index(offset))
            source.seek(at)
    return on_host(numpy.fromfile, "", (file, dtype, count, sep, offset), {} if like is None else {"like": like})


def _elements(file: BinaryIO, dtype: Any, count: int, offset: int) -> ndarray:
    """As many elements as are asked for and there, `offset` bytes on."""
    if dtype.hasobject or not dtype.isnative or dtype.itemsize == 0 or dtype.subdtype or dtype.names or offset < 0:
        raise Unsupported("elements that NumPy reads or refuses")
    if count * dtype.itemsize >= 1 << 47:
        raise Unsupported("an error that NumPy words")
    file.seek(offset, os.SEEK_CUR)
    if _left(file) < 0:
        raise Unsupported("an error that NumPy words")
    there = _left(file) // dtype.itemsize
    made = _read(file, (there if count < 0 else min(count, there),), dtype)
    if count > there:
        # Part of an element that is not whole was read, too.
        file.seek(0, os.SEEK_END)
    return made


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, *, like: Any = None) -> Any:
    """NumPy's `frombuffer`: an array over the buffer. Only over `bytes`, which never change, is work deferred."""
    if type(buffer) is bytes and like is None:
        try:
            return over_constant(numpy.frombuffer(buffer, dtype, count, offset))
        except Unsupported:
            pass
    named = {"dtype": dtype, "count": count, "offset": offset}
    return on_host(numpy.frombuffer, "", (buffer,), named if like is None else {**named, "like": like})


# Written by NumPy, from our memory


def _writer(name: str) -> Callable[..., Any]:
    """NumPy's function with our arrays lent to it. Mapped files that recorded work still reads are read first: it may
    be one of them that is written."""
    original = getattr(numpy, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        settle_mappings()
        return on_host(original, "", args, kwargs)

    call.__name__ = call.__qualname__ = name
    call.__wrapped__ = original  # type: ignore[attr-defined]
    return direct(call)


save, savez, savez_compressed = map(_writer, ("save", "savez", "savez_compressed"))

for _function in (load, fromfile, frombuffer):
    direct(_function)
native_names.add("memmap")
