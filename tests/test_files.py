"""Files: written byte for byte as NumPy writes them, read as NumPy reads them, mapped without being held."""

import io
import os
import re
import struct
import textwrap

import numpy
import pytest

from .commands import numloom
from .oracle import DTYPES, agree, mine, needs_engine, np, values

SHAPES = [(), (1,), (0,), (7,), (5, 6), (0, 3), (3, 4, 5)]
MODES = ["r", "r+", "c"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_save_writes_numpys_bytes(tmp_path, dtype):
    for k, shape in enumerate(SHAPES):
        for x in (values(dtype, shape), values(dtype, shape).T.copy("K"), values(dtype, (8, *shape))[::2]):
            np.save(tmp_path / f"ours{k}", mine(x))
            numpy.save(tmp_path / f"theirs{k}", mine(x) if np is numpy else numpy.asarray(mine(x)))
            written = (tmp_path / f"ours{k}.npy").read_bytes()
            assert written == (tmp_path / f"theirs{k}.npy").read_bytes()
            loaded = np.load(tmp_path / f"ours{k}.npy")
            agree(loaded, x)
            assert loaded.flags.f_contiguous == numpy.load(io.BytesIO(written)).flags.f_contiguous
            agree(np.load(io.BytesIO(written)), x)


def test_archives_and_raw_elements_are_numpys_bytes(tmp_path):
    x, y = values("float64", (5, 6)), values("int16", 40)
    for name in ("savez", "savez_compressed"):
        getattr(np, name)(tmp_path / "ours", mine(x), y=mine(y))
        getattr(numpy, name)(tmp_path / "theirs", x, y=y)
        with np.load(tmp_path / "ours.npz") as ours, np.load(tmp_path / "theirs.npz") as theirs:
            assert ours.files == theirs.files
            for key in ours.files:
                agree(ours[key], numpy.asarray(theirs[key]))
                assert isinstance(ours[key], np.ndarray)
    mine(x).T.tofile(tmp_path / "ours.raw")
    x.T.tofile(tmp_path / "theirs.raw")
    assert (tmp_path / "ours.raw").read_bytes() == (tmp_path / "theirs.raw").read_bytes()
    np.savetxt(tmp_path / "ours.txt", mine(x), fmt="%.7g", header="a b")
    numpy.savetxt(tmp_path / "theirs.txt", x, fmt="%.7g", header="a b")
    assert (tmp_path / "ours.txt").read_bytes() == (tmp_path / "theirs.txt").read_bytes()
    agree(np.loadtxt(tmp_path / "ours.txt"), numpy.loadtxt(tmp_path / "theirs.txt"))
    agree(np.genfromtxt(tmp_path / "ours.txt"), numpy.genfromtxt(tmp_path / "theirs.txt"))


def test_fromfile_reads_from_where_the_file_stands(tmp_path):
    file = tmp_path / "raw"
    file.write_bytes(bytes(range(100)))
    for arguments in (
        {"dtype": "u1"}, {"dtype": "i4", "count": 3}, {"dtype": "f8", "count": 99}, {"dtype": "i2", "offset": 7},
        {"dtype": "u1", "offset": 300}, {"dtype": ">i4"}, {"dtype": "u1", "count": 0}, {"dtype": "i8", "offset": -1},
    ):  # fmt: skip
        assert outcome(lambda m, a=arguments: m.fromfile(file, **a)) == outcome(
            lambda m, a=arguments: m.fromfile(file, **a), numpy
        )
        with file.open("rb") as ours, file.open("rb") as theirs:
            ours.seek(3)
            theirs.seek(3)
            first = outcome(lambda m, a=arguments, f=ours: m.fromfile(f, **a))
            assert first == outcome(lambda m, a=arguments, f=theirs: m.fromfile(f, **a), numpy)
            assert ours.tell() == theirs.tell()
    assert outcome(lambda m: m.fromfile(tmp_path / "none")) == outcome(lambda m: m.fromfile(tmp_path / "none"), numpy)
    agree(np.fromstring("1 2 3", sep=" "), numpy.array([1.0, 2, 3]))


def outcome(work, module=np):
    """What a reader answers, or the exception and its words."""
    try:
        found = numpy.asarray(work(module))
        return found.dtype, found.shape, found.tobytes()
    except Exception as error:
        return type(error), re.sub("0x[0-9a-f]+", "", str(error))


def header(text: str, version: tuple[int, int] = (1, 0), length: int | None = None) -> bytes:
    body = text.encode() + b"\n"
    size = len(body) if length is None else length
    return b"\x93NUMPY" + bytes(version) + struct.pack("<H" if version == (1, 0) else "<I", size) + body


GOOD = "{'descr': '<f8', 'fortran_order': False, 'shape': (4,), }"
BAD = {
    "empty": b"",
    "magic alone": b"\x93NUMPY",
    "another magic": b"\x93NUMPX\x01\x00" + b" " * 90,
    "a version to come": header(GOOD, (9, 0)),
    "no elements": header(GOOD),
    "few elements": header(GOOD) + bytes(24),
    "a short header": header(GOOD, length=500),
    "a huge header": header(GOOD, (2, 0), 2**32 - 1),
    "a header over the limit": header(GOOD + " " * 20_000, (2, 0)) + bytes(32),
    "no dictionary": header("[1, 2]") + bytes(32),
    "code": header("__import__('os').abort()") + bytes(32),
    "an open bracket": header("{'descr': '<f8', (") + bytes(32),
    "a key too few": header("{'descr': '<f8', 'shape': (4,), }") + bytes(32),
    "a key too many": header(GOOD[:-1] + "'more': 1}") + bytes(32),
    "no dtype": header(GOOD.replace("<f8", "<q9")) + bytes(32),
    "objects": header(GOOD.replace("<f8", "|O")) + bytes(32),
    "exabytes": header(GOOD.replace("(4,)", f"({2**62},)")) + bytes(32),
    "more than there are": header(GOOD.replace("(4,)", f"({2**62}, {2**62})")) + bytes(32),
    "a negative length": header(GOOD.replace("(4,)", "(-4,)")) + bytes(32),
    "two negative lengths": header(GOOD.replace("(4,)", "(-2, -2)")) + bytes(32),
    "no shape": header(GOOD.replace("(4,)", "4")) + bytes(32),
    "a pickle": b"\x80\x04N.",
    "no archive": b"PK\x03\x04" + bytes(30),
}


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("name", BAD)
def test_what_is_no_array_is_refused_in_numpys_words(tmp_path, name):
    file = tmp_path / "x.npy"
    file.write_bytes(BAD[name])
    kept = mine(values("float64", 10)) + 1
    for mode in (None, "r", "r+", "c"):
        assert outcome(lambda m, mode=mode: m.load(file, mmap_mode=mode)) == outcome(
            lambda m, mode=mode: m.load(file, mmap_mode=mode), numpy
        )
    with file.open("rb") as ours, file.open("rb") as theirs:
        assert outcome(lambda m: m.load(ours)) == outcome(lambda m: m.load(theirs), numpy)
    stream = lambda m: m.load(io.BytesIO(BAD[name]))  # noqa: E731
    assert outcome(stream) == outcome(stream, numpy)
    agree(kept, values("float64", 10) + 1)


def test_a_whole_array_before_more_is_read_and_the_rest_left(tmp_path):
    file = tmp_path / "two"
    with file.open("wb") as f:
        np.save(f, mine(values("int32", (3, 4))))
        np.save(f, mine(values("float32", 5)))
    with file.open("rb") as f:
        agree(np.load(f), values("int32", (3, 4)))
        agree(np.load(f), values("float32", 5))
        assert outcome(lambda m: m.load(f))[0] is EOFError


@pytest.mark.parametrize("mode", MODES)
def test_mapped_files_are_arrays_over_the_file(tmp_path, mode):
    file, x = tmp_path / "x.npy", values("float64", (50, 40))
    numpy.save(file, x)
    m = np.load(file, mmap_mode=mode)
    assert isinstance(m, np.ndarray) and isinstance(m, np.memmap)
    assert (m.mode, os.fspath(m.filename), m.offset) == (mode, os.fspath(file), 128)
    assert m.flags.writeable == (mode != "r") and not m.flags.owndata
    agree(m, x)
    agree(m[3:9, ::2] * 2 + m.T[:20, 3:9].T, x[3:9, ::2] * 2 + x.T[:20, 3:9].T)
    agree(np.sort(m, axis=None), numpy.sort(x, axis=None))
    if mode == "r":
        with pytest.raises(ValueError, match="read-only"):
            m[0] = 1
        return
    m[0] = 7
    m[1] += m[0]
    x[1] += 7
    x[0] = 7
    agree(m, x)
    m.flush()
    on_disk = numpy.load(file)
    assert numpy.array_equal(on_disk, x) == (mode == "r+")


def test_a_mapping_that_writes_is_seen_by_others_at_once(tmp_path):
    """Everyone sees what NumPy's mappings would show: what was recorded before is not changed by it."""
    file = tmp_path / "x.npy"
    np.save(file, np.zeros(200_000))
    reading = np.load(file, mmap_mode="r")
    before = reading + 1
    writing = np.load(file, mmap_mode="r+")
    writing[:] = 5
    assert float(before.sum()) == 200_000
    assert float((reading + 1).sum()) == 1_200_000
    assert numpy.load(file).sum() == 1_000_000
    late = np.load(file, mmap_mode="c")
    after = late * 2
    writing[:] = 6
    assert float(after.sum()) == 2_000_000
    del reading, writing, late, after, before
    agree(np.load(file), numpy.full(200_000, 6.0))


def test_writing_a_mapped_file_in_another_way_comes_after_what_reads_it(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.ones(100_000))
    mapped = np.load(file, mmap_mode="r")
    total = mapped + 1
    with file.open("r+b") as f:
        np.save(f, np.zeros(100_000))
    assert float(total.sum()) == 200_000


def test_memmap_makes_and_opens_files(tmp_path):
    file = tmp_path / "raw"
    m = np.memmap(file, dtype="float32", mode="w+", shape=(30, 20))
    assert isinstance(m, np.ndarray)
    m[...] = np.arange(600).reshape(30, 20)
    m.flush()
    agree(np.memmap(file, "float32", "r", 80, (20, 29), "F"), numpy.memmap(file, "float32", "r", 80, (20, 29), "F"))
    assert m.shape == (30, 20) and float(m.sum()) == 600 * 599 / 2
    opened = np.lib.format.open_memmap(tmp_path / "y.npy", "w+", "int16", (9,))
    opened[:] = 3
    opened.flush()
    agree(np.load(tmp_path / "y.npy"), numpy.full(9, 3, "int16"))
    for arguments in (("none",), (file, "f4", "q"), (file, "f4", "r", 0, (10**9,)), (file, "f4", "r", 3)):
        assert outcome(lambda m, a=arguments: m.memmap(*a)) == outcome(lambda m, a=arguments: m.memmap(*a), numpy)
    records = np.memmap(file, dtype=[("a", "f4"), ("b", "i4")], mode="r")
    assert records["a"][1] == 2


def test_a_mapping_outlives_its_handle_and_its_name(tmp_path):
    file = tmp_path / "x.npy"
    np.save(file, np.ones(300_000))
    total = np.load(file, mmap_mode="r") * 3
    part = np.load(file, mmap_mode="r")[5:9]
    file.unlink()
    assert float(total.sum()) == 900_000
    agree(part, numpy.ones(4))


def test_bytes_are_shared_and_not_written():
    data = bytes(values("float64", 1000))
    x = np.frombuffer(data)
    agree(x * 2, numpy.frombuffer(data) * 2)
    assert x.base is data and not x.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    changing = bytearray(data)
    y = np.frombuffer(changing)
    z = y + 1
    changing[:8] = struct.pack("d", 9.0)
    assert y[0] == 9 and z[0] == numpy.frombuffer(data)[0] + 1
    agree(np.frombuffer(data, "i2", 5, 3), numpy.frombuffer(data, "i2", 5, 3))
    for arguments in ((b"abc", "f8"), (b"",), (b"abcd", "i4", 2), (data, "O"), (data, "f8", -1, 8001)):
        assert outcome(lambda m, a=arguments: m.frombuffer(*a)) == outcome(
            lambda m, a=arguments: m.frombuffer(*a), numpy
        )


LARGER_THAN_MEMORY = """
    import numpy, numloom as np
    m = np.load("x.npy", mmap_mode="r")
    assert m.nbytes == 96 << 20
    assert float(m.sum()) == float(ROWS * (ROWS - 1) // 2 * 1024)
    assert float((np.sqrt(m * 2 + 1) > 3).sum()) == (ROWS - 5) * 1024
    rows = (m - m.mean(axis=1)[:, None]).max(axis=1)
    assert rows.shape == (ROWS,) and float(rows.sum()) == 0
    peak = next(p for p in np.memory().pools if p.name.startswith("SYSTEM")).peak
    assert peak < 8 << 20, peak
    try:
        copy = m + 1
        np.sync()
    except np.OutOfMemoryError:
        print("refused")
    assert float(m[-1].sum()) == (ROWS - 1) * 1024
"""


@needs_engine
def test_a_file_larger_than_memory_goes_through_tile_by_tile(tmp_path):
    rows = 12 * 1024
    numpy.save(tmp_path / "x.npy", numpy.repeat(numpy.arange(rows, dtype="f8"), 1024).reshape(rows, 1024))
    (tmp_path / "program.py").write_text(textwrap.dedent(LARGER_THAN_MEMORY).replace("ROWS", str(rows)))
    done = numloom("--cpus", "2", "--sysmem", "16", "program.py", cwd=tmp_path)
    assert (done.status, done.out) == (0, "refused\n"), done.err


@needs_engine
def test_load_counts_what_it_reads(tmp_path):
    numpy.save(tmp_path / "x.npy", numpy.ones(4 << 20))
    program = """
        import numloom as np
        try:
            np.load("x.npy")
        except np.OutOfMemoryError as e:
            print(e.report.memory)
    """
    (tmp_path / "program.py").write_text(textwrap.dedent(program))
    done = numloom("--sysmem", "16", "program.py", cwd=tmp_path)
    assert (done.status, done.out) == (0, "SYSTEM_MEM\n"), done.err
