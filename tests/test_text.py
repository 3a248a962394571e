"""Files of text: what NumPy reads and writes, and plain tables without NumPy's reader."""

import contextlib
import gzip
import io
import itertools
import warnings

import numpy
import pytest

import numloom
from numloom import _core, _text

from .oracle import agree


@contextlib.contextmanager
def refused(monkeypatch):
    """NumPy's readers are out of reach."""
    with monkeypatch.context() as patch:
        for name in ("loadtxt", "genfromtxt", "savetxt", "fromstring"):
            patch.setattr(numpy, name, lambda *args, **kwargs: pytest.fail("went to NumPy"))
        yield


def same(theirs, ours):
    """Equal arrays, and of ours wherever we have the type."""
    agree(ours, theirs)
    assert isinstance(ours, numloom.ndarray) or theirs.dtype.kind in "US" or theirs.dtype.names


def compare(theirs, ours):
    same(theirs, ours) if isinstance(theirs, numpy.ndarray) else agree(ours, theirs)


PLAIN = [
    ("1 2 3\n4 5 6\n", {}),
    ("1 2 3\n4 5 6", {"unpack": True}),
    ("# head\n 1.5\t-2e-3 \n\n+inf nan # end\n", {}),
    ("1,2,3\r\n4, 5 ,6\r\n", {"delimiter": ",", "usecols": (2, 0)}),
    ("1,2,3\n4,5,6\n", {"delimiter": b",", "usecols": -1}),
    ("a\tb\n1\t2\n3\t4\n", {"delimiter": "\t", "skiprows": 1}),
    ("1 2\n3 4\n5 6\n", {"max_rows": 2}),
    ("1 2\n3 4\n5 6\n", {"max_rows": 9}),
    ("1 2\n3 4", {"dtype": "i4"}),
    ("1 0\n-3 4", {"dtype": bool}),
    ("0.1 16777217", {"dtype": "f4", "ndmin": 2}),
    ("18446744073709551615", {"dtype": "u8"}),
    ("7", {}),
    ("7", {"ndmin": 1}),
    ("7\n8", {"ndmin": 2}),
    ("7 8", {"ndmin": 2}),
    ("1;2%x\n3;4", {"delimiter": ";", "comments": "%"}),
    ("1 2", {"comments": None}),
    ("1e400 1e-400 4.9406564584124654e-324 0.1234567890123456789012345", {}),
]
# Read by NumPy, or refused by it.
OTHER = [
    ("", {}),
    ("# nothing\n", {}),
    ("1 2\n3\n", {}),
    ("1,,2\n", {"delimiter": ","}),
    ("1 x\n", {}),
    ("1 2.5\n", {"dtype": int}),
    ("300\n", {"dtype": "i1"}),
    ("1 2\n3 4 5\n", {"usecols": (0, 1)}),
    ("1 2\n", {"usecols": 5}),
    ("1 2\n", {"usecols": "a"}),
    ("1 2\n\n3 4\n", {"max_rows": 2}),
    ("1 2\r3 4\r", {}),
    ("1 \xb5\n", {}),
    ("1+2j 3\n", {"dtype": complex}),
    ("1 2\n", {"dtype": "f2"}),
    ("1 2\n", {"dtype": "i4,f8"}),
    ("a 2\n", {"dtype": "U3"}),
    ("'1' '2'\n", {"quotechar": "'"}),
    ("1 2\n", {"converters": lambda x: 7}),
    ("1 2\n", {"delimiter": "#"}),
    ("1 2\n", {"delimiter": "ab"}),
    ("1 2\n", {"comments": ["#", "//"]}),
    ("1 2\n", {"comments": ""}),
    ("1 2\n", {"ndmin": 3}),
    ("1 2\n", {"skiprows": -1}),
    ("1 2\n", {"max_rows": 0}),
    ("1 2\n", {"encoding": "utf-16"}),
    ("1 2\n", {"encoding": "no such"}),
]


def outcome(call, *args, **named):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(*args, **named)
        except Exception as error:
            result = (type(error), str(error))
    return result, [(w.category, str(w.message)) for w in caught]


@pytest.mark.parametrize("text, named", PLAIN + OTHER, ids=repr)
def test_loadtxt(text, named, tmp_path, monkeypatch):
    path = tmp_path / "table.txt"
    path.write_text(text, encoding="utf-8", newline="")
    for source in (lambda: path, lambda: io.StringIO(text, newline=""), lambda: text.splitlines()):
        theirs, said = outcome(numpy.loadtxt, source(), **named)
        with refused(monkeypatch) if (text, named) in PLAIN and source() is path else contextlib.nullcontext():
            ours, also = outcome(numloom.loadtxt, source(), **named)
        assert [c for c, _ in said] == [c for c, _ in also]
        compare(theirs, ours)


@pytest.mark.parametrize("kind", ["path", "binary", "text", "bytes", "gzip", "generator"])
def test_sources(kind, tmp_path):
    text = "1 2\n3 4\n"
    path = tmp_path / ("t.gz" if kind == "gzip" else "t.txt")
    with (gzip.open if kind == "gzip" else open)(path, "wb") as file:
        file.write(text.encode())
    with contextlib.ExitStack() as stack:
        source = {
            "path": lambda: str(path),
            "gzip": lambda: path,
            "binary": lambda: stack.enter_context(open(path, "rb")),
            "text": lambda: stack.enter_context(open(path)),
            "bytes": lambda: io.BytesIO(text.encode()),
            "generator": lambda: (line for line in text.splitlines()),
        }[kind]()
        same(numpy.array([[1.0, 2], [3, 4]]), numloom.loadtxt(source))


def test_a_stream_is_left_where_numpy_leaves_it():
    """With `max_rows` the rest can be read afterwards; a reader that gave up has read nothing."""
    stream = io.StringIO("1 2\n3 4\n5 6\n")
    same(numpy.array([1.0, 2]), numloom.loadtxt(stream, max_rows=1))
    same(numpy.array([[3.0, 4], [5, 6]]), numloom.loadtxt(stream))
    odd = io.StringIO("1 a\n2 b\n")
    assert numloom.loadtxt(odd, dtype="U1").tolist() == [["1", "a"], ["2", "b"]]
    half_read = io.StringIO("1\n2\n3\n")
    next(half_read)
    same(numpy.array([2.0, 3]), numloom.loadtxt(half_read))


def test_many_rows_are_read_in_pieces(tmp_path, monkeypatch):
    table = numpy.random.default_rng(1).normal(size=(60_000, 4)) * 10.0 ** numpy.arange(-150, 250, 100)
    numpy.savetxt(tmp_path / "t", table)
    with refused(monkeypatch):
        same(table, numloom.loadtxt(tmp_path / "t"))
        same(table[:, 1], numloom.genfromtxt(tmp_path / "t", usecols=1))


GENERAL = [
    ("1,2\n3,4\n", {"delimiter": ","}),
    ("# x\n1 2\n3 4\n", {"unpack": True}),
    ("1 2\n3 4\n", {"dtype": int, "skip_header": 1}),
    ("1,,3\n4,5,6\n", {"delimiter": ","}),
    ("a b\n1 2\n", {"names": True}),
    ("1 2\n3 4\n", {"skip_footer": 1}),
    ("1 2\n3\n", {}),
    ("123456", {"delimiter": (2, 2, 2)}),
    ("1 x\n", {}),
    ("1 2\n", {"dtype": None}),
    ("1 2\n", {"max_rows": 0}),
    ("", {}),
]


@pytest.mark.parametrize("text, named", GENERAL, ids=repr)
def test_genfromtxt(text, named):
    theirs, said = outcome(numpy.genfromtxt, io.StringIO(text), **named)
    ours, also = outcome(numloom.genfromtxt, io.StringIO(text), **named)
    assert [c for c, _ in said] == [c for c, _ in also]
    if isinstance(theirs, numpy.ndarray) and theirs.dtype.names is None:
        same(theirs, ours)
    else:
        assert theirs == ours if isinstance(theirs, tuple) else (theirs.dtype == ours.dtype and (theirs == ours).all())


@pytest.mark.parametrize(
    "text, named",
    [
        ("1 2  3\n4", {"sep": " "}),
        ("1, 2,3", {"sep": ","}),
        ("1, 2,3", {"sep": ", ", "dtype": int}),
        (b"1;2", {"sep": ";"}),
        ("1 2 3", {"sep": " ", "count": 2}),
        ("1 ,2", {"sep": ","}),
        ("1,2,", {"sep": ","}),
        ("1 x", {"sep": " "}),
        ("", {"sep": " "}),
        ("1.5 2", {"sep": " ", "dtype": int}),
        ("300", {"sep": " ", "dtype": "i1"}),
        ("1 1", {"sep": " ", "dtype": bool}),
        (b"12345678", {}),
    ],
    ids=repr,
)
def test_fromstring(text, named):
    theirs, said = outcome(numpy.fromstring, text, **named)
    ours, also = outcome(numloom.fromstring, text, **named)
    assert said == also
    compare(theirs, ours)


def written(module, x, **named):
    to = io.StringIO()
    module.savetxt(to, module.asarray(x) if isinstance(x, numpy.ndarray) else x, **named)
    return to.getvalue()


SPREAD = [0.0, -0.0, 1.0, -1.5, 0.1, 1e-300, -1.7976931348623157e308, 5e-324, 123456.789, 999999.5, 2.5, 1e15]
FORMATS = [
    "".join(f) for f in itertools.product("%", ["", "-", "+", " ", "0"], ["", "9", "30.3", ".0", ".12"], "efgEG")
]


def test_every_plain_format_is_as_python_prints_it(monkeypatch):
    """Against Python, number by number; Rust has printed them."""
    x = numpy.array(SPREAD)
    monkeypatch.setattr(_text, "_printed", lambda *args: pytest.fail("printed by Python"))
    for format in ["%.18e", *FORMATS]:
        assert written(numloom, x, fmt=format).splitlines() == [format % v for v in SPREAD], format
    for format in ("%d", "%5i", "%-8d|", "%+d"):
        assert written(numloom, x[:5], fmt=format).splitlines() == [format % v for v in SPREAD[:5]]


def test_random_numbers_are_printed_as_python_prints_them():
    x = numpy.random.default_rng(3).integers(0, 2**63, 20_000, "u8").view("f8")
    x = x[numpy.isfinite(x)]
    for format in ("%.18e", "%.17e", "%.3e", "%.10g"):
        assert written(numloom, x, fmt=format) == "".join([format % v + "\n" for v in x])


TABLES = [
    (numpy.arange(6.0).reshape(2, 3), {}),
    (numpy.arange(6.0).reshape(2, 3).T, {"delimiter": ", ", "newline": "\r\n"}),
    (numpy.arange(6), {"header": "a\nb", "footer": "c", "comments": "//"}),
    (numpy.arange(6).reshape(2, 3), {"fmt": ["%d", "%.2f", "%5d"]}),
    (numpy.arange(6).reshape(2, 3), {"fmt": "%d:%.2f;%5d"}),
    (numpy.array([True, False]), {"fmt": "%d"}),
    (numpy.array([2**64 - 1, 0], "u8"), {"fmt": "%d"}),
    (numpy.array([1.5, numpy.nan, numpy.inf]), {"fmt": "%8.2f"}),
    (numpy.array([1.5, numpy.nan, -numpy.inf]), {"fmt": "%08.2f"}),
    (numpy.array([1.5, 2], "f2"), {}),
    (numpy.array([1.5 + 2j, 2 - 1j]), {"fmt": "%.3f"}),
    (numpy.array([1.5, 2]), {"fmt": "%s"}),
    (numpy.array([1.5, 2]), {"fmt": "%r and"}),
    (numpy.array([1.5, 2]), {"fmt": "%x"}),
    (numpy.array([1e300]), {"fmt": "%d"}),
    (numpy.array([numpy.inf]), {"fmt": "%d"}),
    (numpy.array(3.0), {}),
    (numpy.zeros((2, 2, 2)), {}),
    (numpy.zeros((0, 3)), {}),
    (numpy.zeros((3, 0)), {}),
    (numpy.zeros((2, 2)), {"fmt": ["%d"]}),
    (numpy.zeros((2, 3)), {"fmt": "%d %d"}),
    (numpy.zeros(2), {"fmt": 3}),
    ([[1, 2], [3, 4]], {"fmt": "%d"}),
]


@pytest.mark.parametrize("x, named", TABLES, ids=lambda v: "")
def test_savetxt(x, named, tmp_path):
    theirs, ours = outcome(written, numpy, x, **named), outcome(written, numloom, x, **named)
    assert theirs == ours
    if isinstance(theirs[0], str):
        given = numloom.asarray(x)
        for name in ("a.txt", "b.txt.gz"):
            numpy.savetxt(tmp_path / name, x, **named)
            numloom.savetxt(tmp_path / ("our" + name), given, **named)
            open_it = gzip.open if name.endswith("gz") else open
            assert open_it(tmp_path / name, "rb").read() == open_it(tmp_path / ("our" + name), "rb").read()
        to = io.BytesIO()
        numloom.savetxt(to, given, **named)
        assert to.getvalue().decode("latin1") == theirs[0]


def test_savetxt_to_nothing():
    with pytest.raises(ValueError, match="fname must be a string or file handle"):
        numloom.savetxt(7, numloom.ones(3))


def test_tables_larger_than_a_block():
    x = numpy.random.default_rng(2).normal(size=(70_000, 2))
    assert written(numloom, x, fmt="%.4f") == "".join([f"{a:.4f} {b:.4f}\n" for a, b in x])


def test_rows_must_lie_one_behind_the_other():
    with pytest.raises(_core.Unsupported):
        _core.write_table(numloom.ones((3, 3)).T[:2], [("e", "", 0, 6)] * 3, [b""] * 4)
    assert _core.write_table(numloom.ones((2, 2)), [("e", "", 0, 6)] * 3, [b""] * 4) is None
    assert _core.write_table(numloom.ones((2, 2)), [("x", "", 0, 6)] * 2, [b""] * 3) is None
