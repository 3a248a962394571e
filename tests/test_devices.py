"""Simulated devices: which memory holds what, what is copied when, and what happens when a device is full."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

DEVICE = "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1000"

START = """
import numpy
import numloom as np
from numloom import offload_to, StoreTarget

MIB = 1 << 20
N = 1 << 17  # a mebibyte of float64


def channel(source, target):
    "Copies and bytes from one kind of memory to another, so far."
    found = [c for c in np.memory().channels if c.source.startswith(source) and c.target.startswith(target)]
    return sum(c.copies for c in found), sum(c.bytes for c in found)


def holders(x):
    "Memories with an instance of an array made at the same line as x: by name."
    np.sync()
    return sorted({i.memory for i in np.memory().instances if i.store_line and i.store_line.endswith(f":{x}")})


def live(kind):
    np.sync()
    return sum(p.live for p in np.memory().pools if p.memory == kind)
"""


def run(code: str, config: str = DEVICE) -> subprocess.CompletedProcess:
    program = START + textwrap.dedent(code)
    environment = {**os.environ, "NUMLOOM_CONFIG": config}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)


def passes(code: str, config: str = DEVICE) -> None:
    done = run(code, config)
    assert done.returncode == 0, done.stderr


def test_memories_are_listed():
    done = run("print(np.memory())", "--gpus 2 --gpu-backend sim --fbmem 32 --zcmem 8 --sysmem 100 --numamem 16")
    rows = {line.rsplit(None, 8)[0] if " MiB" not in line else line[:12].strip() for line in done.stdout.splitlines()}
    assert {"SYSTEM_MEM", "SOCKET_MEM 0", "ZC_MEM", "FB_MEM 0", "FB_MEM 1"} <= rows
    assert "FB_MEM 1           32 MiB" in done.stdout and "ZC_MEM              8 MiB" in done.stdout


def test_an_array_that_numpy_sees_is_not_moved():
    passes("""
    x = np.array(numpy.arange(50_000.0))
    seen = numpy.asarray(x)
    offload_to(x, StoreTarget.FBMEM)
    others = [np.array(numpy.zeros(50_000)) for _ in range(4)]
    assert numpy.array_equal(seen, numpy.arange(50_000.0))
    x += 1
    np.sync()
    assert numpy.array_equal(seen, numpy.arange(1, 50_001.0))
    """)


def test_numpys_index_arrays_do_not_bring_a_device_array_home():
    passes("""
    h = numpy.arange(60_000.0).reshape(200, 300)
    x = np.array(h)
    offload_to(x, StoreTarget.FBMEM)
    i, j = numpy.arange(0, 200, 3)[:, None], numpy.arange(300)[::-7]
    before = channel("FB", "SYS")
    y = x[i, j]
    x[i, j] = -y
    np.sync()
    assert channel("FB", "SYS") == before, channel("FB", "SYS")
    assert numpy.array_equal(y, h[i, j])
    h[i, j] *= -1
    assert numpy.array_equal(x, h)
    """)


def test_numpys_arrays_do_not_bring_a_device_array_home():
    passes("""
    h = numpy.arange(60_000.0).reshape(200, 300)
    x = np.array(h)
    offload_to(x, StoreTarget.FBMEM)
    before = channel("FB", "SYS")
    y = x + h
    y *= h[0]
    y -= numpy.float32(2) * h[::-1]
    y[h > 30_000] = 1.0
    x[:50] = h[50:100]
    z = np.where(h.T > 9, x.T, numpy.broadcast_to(h[0, 0], (300, 200)))
    np.sync()
    assert channel("FB", "SYS") == before, channel("FB", "SYS")
    want = (h + h) * h[0] - 2 * h[::-1]
    want[h > 30_000] = 1.0
    assert numpy.array_equal(y, want)
    g = h.copy()
    g[:50] = h[50:100]
    assert numpy.array_equal(x, g) and numpy.array_equal(z, numpy.where(h.T > 9, g.T, h[0, 0]))
    """)


def test_coverage_names_what_devices_have_no_way_for():
    passes("""
    x = np.array(numpy.arange(6000.0).reshape(60, 100))
    offload_to(x, StoreTarget.FBMEM)
    np.reset_coverage()
    y = np.sort(x * 2j, axis=0)   # the line that is named
    z = np.sort((x + 1).ravel())
    np.linalg.eigvals(x[:60, :60])
    np.sync()
    assert numpy.array_equal(y.imag, numpy.arange(0.0, 12000, 2).reshape(60, 100)) and float(z[-1]) == 6000
    left = {entry["name"]: entry for entry in np.coverage(as_dict=True)["not_on_gpu"]}
    assert set(left) == {"sort", "eigvals"}
    assert left["sort"]["calls"] == 1
    import io
    text = io.StringIO()
    np.coverage(file=text)
    assert "on the CPU, for want of a way on the GPU: 2 calls of 2 operations" in text.getvalue()
    np.reset_coverage()
    assert np.coverage(as_dict=True)["not_on_gpu"] == []
    """)


def test_data_goes_to_the_device_once():
    passes("""
        x = np.array(numpy.arange(float(N)))
        for _ in range(5):
            y = x * 2 + 1
            y += x
        assert float(y[10]) == 31
        assert channel("SYSTEM", "FB") == (1, MIB), np.memory()
        # A value read back is a value copied back, not the array.
        assert channel("FB", "SYSTEM") == (1, 8), np.memory()
    """)


def test_results_stay_on_the_device():
    passes("""
        x = np.ones(N)
        y = np.sqrt(x) + 3
        z = y.sum()
        np.sync()
        assert channel("SYSTEM", "FB") == (0, 0)
        assert channel("FB", "SYSTEM") == (0, 0)
        assert live("SYSTEM_MEM") == 0 and live("FB_MEM") >= 2 * MIB
        assert float(z) == 4 * N
    """)


def test_a_read_brings_only_what_is_read():
    passes("""
        x = np.ones((64, N // 64)) * 2
        rows = numpy.asarray(x[10:12].copy())
        part = x[3:5].tolist()
        assert part == [[2.0] * (N // 64)] * 2
        copies, moved = channel("FB", "SYSTEM")
        assert moved <= 4 * 8 * N // 64, moved
    """)


def test_small_arrays_stay_on_the_host():
    passes("""
        a = np.arange(50.0) * 2
        b = a + 1
        assert float(b.sum()) == 2500
        assert live("FB_MEM") == 0
        # A scalar made on the device stays there for the next operation.
        s = np.ones(N).sum()
        t = np.ones(N) * s
        assert float(t[0]) == N
        assert channel("SYSTEM", "FB") == (0, 0), np.memory()
    """)


def test_a_write_on_the_host_is_seen_on_the_device_and_back():
    passes("""
        h = numpy.arange(float(N))
        x = np.array(h)
        y = x * 2
        view = numpy.asarray(y)
        view[7] = -1
        z = y + 1
        assert float(z[7]) == 0 and float(z[8]) == 17
        del view
        y[3] = 100
        z = y + 1
        assert float(z[3]) == 101
        y *= 2
        assert float(y[3]) == 200 and float(y[7]) == -2
    """)


def test_offload_to_places_and_frees():
    passes("""
        x = np.array(numpy.arange(float(N)))
        y = x + 1
        np.sync()
        offload_to(x, target=StoreTarget.SYSMEM)
        del y
        assert live("FB_MEM") == 0 and live("SYSTEM_MEM") >= MIB
        offload_to(x, target=StoreTarget.FBMEM)
        assert live("FB_MEM") == MIB and live("SYSTEM_MEM") == 0 and live("ZC_MEM") == 0
        offload_to(x, target=StoreTarget.ZCMEM)
        assert live("FB_MEM") == 0 and live("SYSTEM_MEM") == 0 and live("ZC_MEM") == MIB
        assert float((x * 2).sum()) == N * (N - 1)
        offload_to(x, target=StoreTarget.SYSMEM)
        assert live("FB_MEM") == 0 and live("SYSTEM_MEM") == MIB and live("ZC_MEM") == 0
        assert (numpy.asarray(x) == numpy.arange(float(N))).all()
        del x
        import gc; gc.collect()
        assert live("SYSTEM_MEM") == 0
    """)


def test_offload_without_such_a_memory_says_so():
    done = run("offload_to(np.ones(10), target=StoreTarget.FBMEM)", "--cpus 1")
    assert "ValueError: there is no FBMEM in this run: give --gpus to have some" in done.stderr


def test_pressure_moves_arrays_out_and_back():
    passes(
        """
        all = [np.full(N, float(k)) * 1 for k in range(40)]
        for x in all:
            x += 1
        assert [float(x[5]) for x in all] == [k + 1.0 for k in range(40)]
        assert [float(x.sum()) for x in all] == [(k + 1.0) * N for k in range(40)]
        assert np.stats()["evictions"] > 20
        fb, = [p for p in np.memory().pools if p.memory == "FB_MEM"]
        assert fb.peak <= 8 * MIB
        assert [p.peak > 0 for p in np.memory().pools if p.memory == "ZC_MEM"] == [True]
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 8 --zcmem 4 --min-gpu-chunk 1000",
    )


def test_what_is_elsewhere_is_dropped_not_copied():
    passes(
        """
        h = [numpy.full(N, float(k)) for k in range(20)]
        all = [np.array(a) for a in h]
        for x in all:
            assert float(x.sum()) == float(x.sum())
        assert channel("FB", "SYSTEM")[1] <= 40 * 8 and channel("FB", "ZC") == (0, 0), np.memory()
        assert np.stats()["evictions"] > 8
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 4 --min-gpu-chunk 1000",
    )


def test_a_task_too_large_for_the_device_goes_through_it_in_slabs():
    passes(
        """
        h = numpy.random.default_rng(0).random((64, N // 16))
        x, y = np.array(h), np.array(h[::-1])
        z = x * 2 + y          # three arrays of 4 MiB, a device of 8
        w = np.sqrt(z).sum(axis=1)
        assert numpy.allclose(numpy.asarray(z), h * 2 + h[::-1])
        assert numpy.allclose(numpy.asarray(w), numpy.sqrt(h * 2 + h[::-1]).sum(axis=1))
        fb, = [p for p in np.memory().pools if p.memory == "FB_MEM"]
        assert 0 < fb.peak <= 8 * MIB
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 8 --min-gpu-chunk 1000",
    )


def test_what_is_too_large_for_any_memory_says_so_soon():
    """In slabs as large as the device it would be a hundred million."""
    passes(
        """
        x = np.broadcast_to(np.ones(2**10), (2**36, 2**10)) + 1
        try:
            float(x.sum())
        except np.OutOfMemoryError as e:
            assert e.report.bytes == 2**49
        else:
            raise AssertionError("512 TiB")
        assert float((np.arange(4000) * 2).sum()) == 15996000
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 8 --min-gpu-chunk 1000",
    )


def test_a_full_device_gives_the_account():
    passes(
        """
        big = np.ones((600, 600))
        kept = np.arange(5000.0) * 2
        try:
            c = big @ (big + 1)  # three arrays of 2.7 MiB, a device of 6
            np.sync()
        except np.OutOfMemoryError as e:
            report = e.report
        assert report.memory == "FB_MEM" and report.available == 6 * MIB and report.bytes == 600 * 600 * 8
        assert report.operation == "matmul" and report.line, report
        assert {i.memory for i in report.instances} == {"FB_MEM"}
        assert "--fbmem 9" in str(report) and "offload_to" in str(report)
        # Nothing else was lost.
        assert float(big.sum()) == 360000 and float(kept[7]) == 14
        small = np.ones((100, 100))
        assert float((small @ small)[3, 3]) == 100
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 6 --min-gpu-chunk 1000",
    )


def test_several_devices_share_an_array():
    passes(
        """
        h = numpy.random.default_rng(0).random((300, 500))
        x = np.array(h)
        y = x * 2
        np.sync()
        parts = [i for i in np.memory().instances if i.memory == "FB_MEM"]
        assert sorted(i.number for i in parts) == [0, 0, 1, 1, 2, 2], parts
        assert {i.covering() for i in parts} == {"<0,0>..<99,499>", "<100,0>..<199,499>", "<200,0>..<299,499>"}
        # Each got its rows, once.
        assert channel("SYSTEM", "FB") == (3, h.nbytes)
        y += x
        np.sync()
        assert channel("SYSTEM", "FB") == (3, h.nbytes) and channel("FB", "FB") == (0, 0)
        # A stencil reads a row of its neighbours.
        s = y[:-2] + y[1:-1] + y[2:]
        assert numpy.allclose(numpy.asarray(s), 3 * (h[:-2] + h[1:-1] + h[2:]))
        t = numpy.asarray(np.cumsum(y, axis=0))
        assert numpy.allclose(t, numpy.cumsum(3 * h, axis=0))
        """,
        "--cpus 2 --gpus 3 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1000",
    )


def test_rows_are_the_same_on_any_number_of_devices():
    code = """
        h = numpy.random.default_rng(0).random((300, 500))
        x = np.array(h)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        s = e / e.sum(axis=1, keepdims=True)
        print((numpy.asarray(s).tobytes() + numpy.asarray(s.sum()).tobytes()).hex()[-64:])
    """
    said = {run(code, f"--cpus 2 --gpus {n} --gpu-backend sim --min-gpu-chunk 1000").stdout for n in range(4)}
    assert len(said) == 1 and said != {""}


@pytest.mark.parametrize("numamem", [1, 8])
def test_arrays_lie_near_their_socket(numamem):
    passes(
        """
        all = [np.full(N, float(k)) * 1 for k in range(4)]
        np.sync()
        socket = [p for p in np.memory().pools if p.memory == "SOCKET_MEM"]
        assert sum(p.live for p in socket) == min(sum(p.capacity for p in socket), 4 * MIB)
        assert live("SYSTEM_MEM") == 4 * MIB - sum(p.live for p in socket)
        assert [float(x[5]) for x in all] == [0, 1, 2, 3]
        del x
        all.clear()
        assert live("SOCKET_MEM") == 0 and live("SYSTEM_MEM") == 0
        """.replace("del x", "x = None"),
        f"--cpus 2 --numamem {numamem}",
    )


FAILING = """
    x = np.array(numpy.arange(float(N)))
    y = np.array(numpy.arange(float(N)) % 7)

    def program(np):
        a = x * 2 + y
        m = a > 100
        a[m] -= y[m]
        b = a.reshape(256, -1) @ a.reshape(256, -1).T
        return a, a[m], b, np.cumsum(y), (a * y).sum()

    want = [numpy.asarray(v).copy() for v in program(np)]
    k = failed = 0
    while True:
        np._core._fail_allocation(k)
        results, error = None, None
        try:
            results = [numpy.asarray(v).copy() for v in program(np)]
            np.sync()
        except np.OutOfMemoryError as e:
            error = e
        left = np._core._fail_allocation(-1)
        try:
            np.sync()
        except np.OutOfMemoryError:
            pass
        assert (numpy.asarray(x) == numpy.arange(float(N))).all()
        if left >= 0:
            break
        failed += 1
        assert error is None or error.report.bytes > 0
        if error is None:
            for a, b in zip(results, want):
                assert numpy.array_equal(a, b), (k, a.shape, numpy.abs(a - b).max(), numpy.abs(b).max())
        again = [numpy.asarray(v).copy() for v in program(np)]
        assert all(numpy.array_equal(a, b) for a, b in zip(again, want)), k
        k += 1
    assert failed > 8, failed
"""


@pytest.mark.parametrize(
    "config",
    [
        DEVICE,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 5 --zcmem 1 --min-gpu-chunk 1000",
        "--cpus 2 --gpus 2 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1000",
    ],
)
def test_every_allocation_fails_in_turn(config):
    passes(FAILING, config)


@pytest.mark.parametrize(
    "config",
    [
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1 --inline-size 0",
        "--cpus 2 --gpus 3 --gpu-backend sim --fbmem 4 --zcmem 1 --min-gpu-chunk 16 --inline-size 8",
    ],
    ids=["one", "several, nearly full"],
)
@pytest.mark.parametrize("name", ["test_failing_allocations", "test_indexing", "test_views"])
def test_other_tests_on_devices(name, config):
    here = os.path.dirname(__file__)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", f"tests/{name}.py"]
    environment = {**os.environ, "NUMLOOM_CONFIG": config}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, timeout=300, cwd=os.path.dirname(here)
    )
    assert done.returncode == 0, done.stdout[-3000:]


@pytest.mark.parametrize("on", [False, True], ids=["one", "all from there"])
@pytest.mark.parametrize("update", ["x += 1", "x[:, 3:-5] += 1", "x -= x.min(axis=1, keepdims=True) - 1"])
def test_an_update_in_slabs_is_done_or_not_begun(update, on):
    passes(
        f"""
        heard = 0
        before = numpy.zeros((64, N // 16))  # 4 MiB, a device of 5
        x = before.copy()
        {update}
        after = x
        for k in range(80):
            x = np.array(before)
            np.sync()
            np._core._fail_allocation(k, {on})
            try:
                y = x * 2
                {update}
                np.sync()
            except np.OutOfMemoryError:
                heard += 1
            spent = np._core._fail_allocation(-1) < 0
            try:
                np.sync()
            except np.OutOfMemoryError:
                heard += 1
            y = None
            got = numpy.asarray(x)
            assert (got == before).all() or (got == after).all(), (k, numpy.unique(got))
            del got
            if not spent:
                assert (numpy.asarray(x) == after).all(), k
                break
        else:
            raise AssertionError("never came to an end of its allocations")
        assert k > 3 and (heard > 0) == {on}, (k, heard)
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 5 --zcmem 1 --min-gpu-chunk 1000",
    )


def test_an_update_in_slabs_without_room_on_the_host_is_not_begun():
    passes(
        """
        x = np.zeros((64, N // 16))  # 4 MiB each, a device of 5, a host of 6
        x += 1
        y = np.zeros((64, N // 16)) + 5
        np.sync()
        for _ in range(3):
            try:
                x += y
                y -= x
                np.sync()
            except np.OutOfMemoryError as e:
                assert e.report.bytes > 0
        values = numpy.asarray(x).copy()
        assert len(numpy.unique(values)) == 1
        """,
        "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 5 --zcmem 1 --sysmem 9 --min-gpu-chunk 1000",
    )


def test_columns_move_alone():
    passes("""
        h = numpy.random.default_rng(0).random((2000, 500))
        x = np.array(h)
        s = (x[:, 3:5] * 2).sum()
        np.sync()
        assert channel("SYSTEM", "FB") == (1, 2000 * 2 * 8), np.memory()
        # The instance is as large as the columns, and says which they are.
        part, = [i for i in np.memory().instances if i.memory == "FB_MEM" and i.bytes > 1000]
        assert part.covering() == "<0,3>..<1999,4>" and part.bytes == 2000 * 2 * 8, part
        assert abs(float(s) - (h[:, 3:5] * 2).sum()) < 1e-9
        # What is written there is newer in those columns alone.
        x[:, 3:5] += 1
        h[:, 3:5] += 1
        np.sync()
        assert channel("SYSTEM", "FB") == (1, 2000 * 2 * 8)
        before = channel("FB", "SYSTEM")
        assert (numpy.asarray(x) == h).all()
        after = channel("FB", "SYSTEM")
        assert (after[0] - before[0], after[1] - before[1]) == (1, 2000 * 2 * 8)
    """)


def test_planes_of_an_array_of_four_axes():
    passes("""
        h = numpy.random.default_rng(0).random((6, 20, 30, 40))
        x = np.array(h)
        t = x[1:5, :, 7:17, 10:23] + 1
        np.sync()
        assert channel("SYSTEM", "FB") == (1, t.nbytes), np.memory()
        assert {i.covering() for i in np.memory().instances if i.bytes >= t.nbytes and i.memory == "FB_MEM"} >= {
            "<1,0,7,10>..<4,19,16,22>"
        }
        assert (numpy.asarray(t) == h[1:5, :, 7:17, 10:23] + 1).all()
        f = np.array(numpy.asfortranarray(h[0, 0]), order="F").copy(order="F")
        u = f[:, 2:4] * 3
        assert (numpy.asarray(u) == h[0, 0][:, 2:4] * 3).all()
    """)


TWO = "--cpus 2 --gpus 2 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1000"


def test_two_devices_share_an_array_by_columns():
    passes(
        """
        h = numpy.random.default_rng(0).random((2000, 500))
        x = np.array(h)
        z = x.T * 2
        np.sync()
        assert channel("SYSTEM", "FB") == (2, h.nbytes), np.memory()
        mine = {(i.number, i.covering()) for i in np.memory().instances if i.memory == "FB_MEM"}
        assert {(0, "<0,0>..<1999,249>"), (1, "<0,250>..<1999,499>")} <= mine, mine
        assert sum(i.bytes for i in np.memory().instances if i.memory == "FB_MEM") == 2 * h.nbytes
        # Each goes on with its own columns.
        xt = x.T
        xt += z
        np.sync()
        assert channel("SYSTEM", "FB") == (2, h.nbytes) and channel("FB", "FB") == (0, 0), np.memory()
        assert (numpy.asarray(x) == h + h * 2).all()
        """,
        TWO,
    )


def test_rows_and_columns_by_turns():
    passes(
        """
        h = numpy.random.default_rng(0).random((400, 600))
        x = np.array(h)
        for k in range(5):
            x *= 1.5
            h *= 1.5
            t = x.T
            t += 1
            h.T[...] += 1
            x[k : k + 100] -= 2
            h[k : k + 100] -= 2
            x[:, k * 7 : k * 7 + 90] /= 3
            h[:, k * 7 : k * 7 + 90] /= 3
            np.sync()
            assert numpy.array_equal(numpy.asarray(x[5:9, 5:300]), h[5:9, 5:300])
        assert numpy.array_equal(numpy.asarray(x), h)
        # From rows to columns every device gets the quarter that the other has.
        y = np.array(h) + 0
        np.sync()
        across = lambda: channel("FB_MEM 0", "FB_MEM 1")[1] + channel("FB_MEM 1", "FB_MEM 0")[1]
        before = across()
        yt = y.T
        yt += 1
        np.sync()
        assert across() - before == h.nbytes // 2, np.memory()
        assert numpy.array_equal(numpy.asarray(y), h + 1)
        """,
        TWO,
    )


STENCIL = """
        before = numpy.random.default_rng(5).random((500, 700))
        a = np.array(before)
        want = before.copy()
        for _ in range(6):
            a[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            want[1:-1, 1:-1] = 0.2 * (
                want[1:-1, 1:-1] + want[:-2, 1:-1] + want[2:, 1:-1] + want[1:-1, :-2] + want[1:-1, 2:]
            )
        np.sync()
"""


def test_an_array_updated_from_its_neighbourhood_changes_places_with_the_result():
    passes(
        STENCIL
        + """
        copies, copied = channel("FB", "FB")
        edges = 6 * 8 * (2 * 700 + 2 * 498)
        assert copied == edges, (copied, edges)
        assert channel("SYSTEM", "FB")[1] == before.nbytes
        held = [i for i in np.memory().instances if i.memory.startswith("FB_MEM")]
        assert len(held) == 1 and held[0].bytes == before.nbytes, held
        assert numpy.allclose(numpy.asarray(a), want, rtol=1e-14)
    """
    )


@pytest.mark.parametrize(
    "config",
    [
        "--gpus 3 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1000",
        "--gpus 1 --gpu-backend sim --fbmem 7 --min-gpu-chunk 1000",
        "--gpus 1 --gpu-backend sim --fbmem 4 --min-gpu-chunk 1000",
        "--gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 10000000",
        "--gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1000 --window-size 7",
    ],
)
def test_updates_from_a_neighbourhood_wherever_there_is_room(config):
    passes(STENCIL + "        assert numpy.allclose(numpy.asarray(a), want, rtol=1e-14)\n", config)


def test_what_others_see_of_an_updated_array_is_right():
    passes("""
        x = np.array(numpy.arange(float(4 * N)).reshape(4, N))
        edge, middle = x[0], x[1:3]
        for _ in range(4):
            x[:, 1:-1] = x[:, :-2] + x[:, 2:]
            x[1:3] *= 0.5
        y = numpy.arange(float(4 * N)).reshape(4, N)
        for _ in range(4):
            y[:, 1:-1] = y[:, :-2] + y[:, 2:]
            y[1:3] *= 0.5
        assert numpy.array_equal(edge, y[0]) and numpy.array_equal(middle, y[1:3]) and numpy.array_equal(x, y)
        numpy.asarray(x)[2, 5] = 7
        x[:, 1:-1] = x[:, :-2] + x[:, 2:]
        assert float(x[2, 4]) == y[2, 3] + 7
    """)


def test_what_others_see_on_the_device_is_the_array():
    """A simulated device lies in host memory, so ctypes can stand for another library."""
    passes("""
        import ctypes
        from numloom import _core
        x = np.array(numpy.arange(float(N)))
        assert _core.device_interface(x) is None
        y = x * 2
        described, keeper = _core.device_interface(y)
        assert described["shape"] == (N,) and described["typestr"] == "<f8" and described["strides"] is None
        theirs = (ctypes.c_double * N).from_address(described["data"][0])
        assert theirs[10] == 20
        # What they write we read, on the device and at home, again and again.
        theirs[10] = 1
        assert float(y[10]) == 1
        theirs[10] = 2
        assert float(y[10]) == 2 and float((y + 1)[10]) == 3
        # What we write they read, wherever the work was done.
        y += 5
        assert theirs[10] == 7
        y[:10] = numpy.arange(10)
        assert theirs[3] == 3
        y[numpy.array([4, 4, 7])] = -1
        assert theirs[4] == -1 and theirs[7] == -1
        del keeper
        z = y + 1
        assert float(z[7]) == 0
        # A view of it is told as one.
        described, keeper = _core.device_interface(y.reshape(2, -1)[:, ::2])
        assert described["strides"] == (N // 2 * 8, 16)
        assert not hasattr(y, "__cuda_array_interface__"), "only real GPUs have it"
        assert y.__dlpack_device__() == (1, 0)
    """)
