"""Tables of numbers as text: two hundred thousand rows of ten."""

import atexit
import functools
import io
import os
import tempfile

import numpy

from . import Row


def table(rng):
    return rng.normal(size=(200_000, 10))


def integers(rng):
    return rng.integers(-(10**6), 10**6, (200_000, 10))


@functools.cache
def file(make, fmt, delimiter):
    handle, path = tempfile.mkstemp(suffix=".txt")
    os.close(handle)
    atexit.register(os.remove, path)
    numpy.savetxt(path, make(numpy.random.default_rng(42)), fmt=fmt, delimiter=delimiter)
    return path


def saved(np, x, fmt):
    """How long the text is; that it is NumPy's byte for byte is tested in `tests/test_text.py`."""
    to = io.StringIO()
    np.savetxt(to, x, fmt=fmt)
    return np.asarray(to.tell())


ROWS = [
    Row("loadtxt f64", lambda np: np.loadtxt(file(table, "%.18e", " ")), ()),
    Row("loadtxt f64, commas", lambda np: np.loadtxt(file(table, "%.6f", ","), delimiter=","), ()),
    Row("loadtxt i64", lambda np: np.loadtxt(file(integers, "%d", " "), dtype="i8"), ()),
    Row("savetxt %.18e", lambda np, x: saved(np, x, "%.18e"), (table,)),
    Row("savetxt %.6f", lambda np, x: saved(np, x, "%.6f"), (table,)),
    Row("savetxt %d", lambda np, x: saved(np, x, "%d"), (integers,)),
]
