"""Pools that are too small: the account, what helps, what is left intact."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import textwrap

import numpy
import pytest

from .oracle import np

MIB = 1 << 20

DEMO = """\
import numloom as np

# allocation site, not instantiated yet
a = np.ones((1024 * 1024 - 2,))

# allocation site, not instantiated yet
b = np.zeros((1024 * 1024,))

# use only a slice of b; causes b#1
b[1:-1] = a

# use full b; causes instance b#2
c = b + 2

# will fail
d = c + 3
"""


def run(code: str, config: str, tmp_path, name: str = "program.py") -> subprocess.CompletedProcess:
    path = tmp_path / name
    path.write_text(textwrap.dedent(code))
    environment = {**os.environ, "NUMLOOM_CONFIG": config}
    return subprocess.run([sys.executable, str(path)], capture_output=True, text=True, env=environment, timeout=120)


def test_one_instance_serves_slice_and_whole(tmp_path):
    done = run(DEMO, "--cpus 1 --sysmem 40 --show-memory-usage", tmp_path)
    assert done.returncode == 0, done.stderr
    table = done.stderr
    assert "SYSTEM_MEM" in table
    assert table.splitlines()[1].split()[-1] == "4"  # a, b, c and d: no second instance of b


@pytest.mark.parametrize("config", ["", " --fuse=0 --window-size 1"])
def test_the_account_names_the_lines(tmp_path, config):
    done = run(DEMO, "--cpus 1 --sysmem 24" + config, tmp_path)
    path = tmp_path / "program.py"
    assert done.returncode == 1
    for words in (
        "Failed to allocate 8388608 bytes",
        "of kind SYSTEM_MEM",
        f"for add at {path}:16",
        f"allocated at {path}:16",
        "reserving 25165824 of the available 25165824 bytes",
        f"LogicalStore allocated at {path}:7:",
        f"LogicalStore allocated at {path}:13:",
        f"LogicalStore allocated at {path}:4:",
        "of size 8388592 covering elements <0>..<1048573>",
        "--sysmem 32",
    ):
        assert words in done.stderr, (words, done.stderr)


REMEDIES = {
    "a larger pool": ("", "32"),
    "stencil_hint": ("b.stencil_hint(low_offsets=(1,), high_offsets=(1,))", "32"),
    "whole-array touch": ("np.multiply(b, 1, out=b)", "32"),
}


@pytest.mark.parametrize("remedy", REMEDIES)
def test_remedies_of_the_seeds(tmp_path, remedy):
    line, pool = REMEDIES[remedy]
    code = DEMO.replace("# use only a slice", line + "\n# use only a slice") + "print(float(d.sum()))\n"
    done = run(code, f"--cpus 1 --sysmem {pool}", tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, str(5.0 * 1024 * 1024 + 1024 * 1024 - 2)), done.stderr


@pytest.mark.parametrize(
    "free",
    ["del a", "a = None", "a = None; import gc; gc.collect()", "c = None; c = b; c += 2", "np.offload_to(b)\ndel a"],
)
def test_letting_go_makes_room(tmp_path, free):
    code = DEMO.replace("# use full b", free + "\n# use full b") if "c = b" not in free else DEMO
    code = code.replace("c = b + 2", "c = b; c += 2") if "c = b" in free else code
    done = run(code + "print(float(d.sum()))\n", "--cpus 1 --sysmem 24", tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, str(5.0 * 1024 * 1024 + 1024 * 1024 - 2)), done.stderr


def test_the_program_catches_it_and_goes_on(tmp_path):
    done = run(
        """
        import numloom as np
        kept = [np.full(1 << 20, float(i)) for i in range(3)]
        np.sync()
        try:
            x = kept[0] + kept[1]
            print(float(x.sum()))
        except np.OutOfMemoryError as e:
            assert isinstance(e, MemoryError)
            r = e.report
            print(r.memory, r.bytes, r.available, len(r.instances), r.line.rsplit(":", 1)[1])
            print(sorted(i.shape for i in r.instances) == [(1 << 20,)] * 3, r.advice[0].split(":")[1].strip())
        print([float(k[5]) for k in kept])
        del kept[2]
        x = kept[0] + kept[1]
        print(float(x[7]))
        """,
        "--sysmem 24",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:4] == [
        "SYSTEM_MEM 8388608 25165824 3 6",
        "True --sysmem 32",
        "[0.0, 1.0, 2.0]",
        "1.0",
    ]


def test_what_fits_of_a_fused_task_is_there(tmp_path):
    done = run(
        """
        import numloom as np
        a = np.ones(1 << 20); np.sync()
        c = a + 2
        d = c * 3
        try:
            np.sync()
        except np.OutOfMemoryError as e:
            print(e.report.line.rsplit(":", 1)[1])
        print(float(c[3]))
        try:
            float(d[0])
        except np.OutOfMemoryError:
            print("no d")
        """,
        "--sysmem 16",
        tmp_path,
    )
    assert done.stdout.split("\n")[:3] == ["5", "3.0", "no d"], done.stderr


def test_a_chain_streams_through_a_small_pool(tmp_path):
    """Ten operations over arrays of twice the pool: only the sum is ever there."""
    done = run(
        """
        import numloom as np
        def chain(x):
            for _ in range(9):
                x = x * 0.5 + 1
            return x
        print(float(chain(np.arange(8 << 20)).sum()))
        print(np.memory().pools[0].peak < 4 << 20)
        """,
        "--sysmem 32",
        tmp_path,
    )
    expected = numpy.arange(8 << 20)
    for _ in range(9):
        expected = expected * 0.5 + 1
    assert done.returncode == 0, done.stderr
    total, small = done.stdout.split()
    assert abs(float(total) / float(expected.sum()) - 1) < 1e-12
    assert small == "True"


SPILLED = """
import numloom as np
kept = [np.arange(1 << 20) + float(i) for i in range(10)]
np.sync()
total = sum(float(k.sum()) for k in kept)
y = np.arange(4 << 20) * 1.0
for _ in range(4):
    y = np.sqrt(y * y) + 1
    y[::2] += 1
print(total, float(y[5]), float(kept[3][100]), kept[7][3:6] + 1)
pools = {p.memory: p for p in np.memory().pools}
print(pools["SYSTEM_MEM"].peak <= 24 << 20, pools["SPILL_FILE"].peak > 0)
"""


def test_spilling(tmp_path):
    done = run(SPILLED, f"--sysmem 24 --spill {tmp_path}", tmp_path)
    plain = run(SPILLED.replace("SPILL_FILE", "SYSTEM_MEM"), "--sysmem 400", tmp_path, "plain.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[:-2] == plain.stdout.split("\n")[:-2]
    assert done.stdout.split("\n")[-2] == "True True"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["plain.py", "program.py"]


def test_memory_in_words():
    x = np.ones(300_000)
    np.sync()
    use = np.memory()
    assert use.pools[0].memory == "SYSTEM_MEM"
    assert use.pools[0].live >= x.nbytes
    assert any(i.shape == (300_000,) and "test_memory.py" in (i.store_line or "") for i in use.instances)
    assert "test_memory.py" in str(use)


def test_the_time_before_work_that_runs_at_once():
    """With one core nobody but the caller takes the time: it was taken where it was read, after the work."""
    text = "import time, numloom.timing as t; s = t.time(); time.sleep(0.02); e = t.time(); print(int(e - s))"
    plain = {**os.environ, "NUMLOOM_CONFIG": "--cpus 1"}
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, env=plain)
    assert int(done.stdout) >= 20_000


def test_time_in_the_stream():
    from numloom import timing

    start = timing.time()
    x = np.ones(3_000_000)
    for _ in range(3):
        x = np.exp(np.sin(x))
    x.sum()
    end = timing.time("us")
    took = end - start
    assert 0 < int(took) < 60_000_000
    assert int(timing.time("ns")) > 1000
    with pytest.raises(ValueError, match="units"):
        timing.time("s")


def test_bad_hints_and_places():
    x = np.ones((4, 5))
    with pytest.raises(ValueError, match="dimensions"):
        x.stencil_hint((1,), (1,))
    with pytest.raises(ValueError, match="negative"):
        x.stencil_hint((1, -1), (1, 1))
    with pytest.raises(ValueError, match="no FBMEM in this run"):
        np.offload_to(x, np.StoreTarget.FBMEM)
    with pytest.raises(TypeError):
        np.offload_to(numpy.ones(3))
    np.offload_to(x)


def test_progress_on_long_work(tmp_path):
    code = """
    import numloom as np
    x = np.ones(4_000_000)
    for _ in range(60):
        x = np.sin(x) + np.exp(-x)
        np.maximum(x, 0.5, out=x)
    print(float(x[5]) > 0)
    """
    done = run(code, "--show-progress --fuse=0", tmp_path)
    assert done.stdout.strip() == "True"
    assert "tasks to go" in done.stderr
    assert "tasks to go" not in run(code, "--fuse=0", tmp_path).stderr


def test_garbage_makes_room(tmp_path):
    """Arrays that only a cycle holds do not stand in the way."""
    code = """
    import gc
    import numloom as np
    gc.disable()
    class Node: pass
    for i in range(3):
        n = Node()
        n.self, n.array = n, np.full(1 << 20, float(i))
        np.sync()
    del n
    x = np.ones(1 << 20) * 2
    y = np.ones(1 << 20) * 3
    print(float((x + y)[5]), float(y[1]), float(x[2]))
    """
    done = run(code, "--sysmem 32", tmp_path)
    assert (done.returncode, done.stdout.strip()) == (0, "5.0 3.0 2.0"), done.stderr


def test_duplicate_instances_are_pointed_out():
    from numloom._memory import Instance, Report

    def instance(id, store, low, high):
        shape, line = (1000, 10), "p.py:3"
        n = (high - low + 1) * 80
        return Instance(id, store, "FB_MEM", 0, n, "float64", shape, (low, 0), (high, 9), line, "add", "p.py:4")

    def report(*instances):
        return Report(8000, "FB_MEM", 0, 90_000, 100_000, 0, "add", "p.py:5", "p.py:5", instances)

    twins = report(instance(1, 7, 0, 998), instance(2, 7, 1, 999), instance(3, 8, 0, 999))
    assert [[i.id for i in found] for found in twins.duplicates] == [[1, 2]]
    assert any("p.py:3 lies there 2 times" in words and "stencil_hint" in words for words in twins.advice)
    parts = report(instance(1, 7, 0, 499), instance(2, 7, 500, 999))
    assert parts.duplicates == () and not any("stencil_hint" in words for words in parts.advice)


def test_of_one_array_the_program_is_told_once(tmp_path):
    """What updates an array that found no room fails with it, and says nothing where another one is read."""
    done = run(
        """
        import numloom as np
        for fill in (lambda x: x.__setitem__(np.arange(5), 1), lambda x: (x.__setitem__(7, 1), x.__setitem__(9, 2))):
            x = np.zeros(8_000_000)
            fill(x)
            try:
                print(float(x[7]))
            except np.OutOfMemoryError as e:
                print("told of", e.report.bytes)
            print(float((np.arange(200_000.0) + 1).sum()))
        """,
        "--cpus 2 --sysmem 40",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.startswith("told of 64") for line in lines] == [True, False] * 2, done.stdout
    assert lines[1] == lines[3] == "20000100000.0"


@pytest.mark.parametrize("config", ["", "--sysmem 1800"])
def test_limited_address_space_is_shared_with_the_rest_of_the_process(config):
    """`ulimit -v` counts what is reserved: there the pool is a part of it."""
    code = "import numloom as np; a = np.ones((300, 300)); print(float((a @ a).sum()), float(np.arange(300_000.0)[-1]))"
    command = f"ulimit -v 6000000; exec {shlex.quote(sys.executable)} -c {shlex.quote(code)}"
    environment = {**os.environ, "NUMLOOM_CONFIG": config}
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=120, env=environment)
    assert done.stdout.split() == ["27000000.0", "299999.0"], done.stderr


@pytest.mark.parametrize("config", ["", " --window-size 7", " --window-size 1", " --fuse 0"])
def test_of_what_found_no_room_the_program_hears_once(tmp_path, config):
    """Not once for every array of the same list, while others are read."""
    done = run(
        """
        import numloom as np
        kept, told, later = [], 0, 0
        try:
            for i in range(100):
                kept.append(np.full(131072, i))
            float(kept[0][0]), np.sync()
        except MemoryError:
            told += 1
        half = len(kept) // 2
        kept = kept[half:]
        for k in range(60):
            x = np.arange(20000) * 1.0
            try:
                assert float(x[:3].sum()) == 3.0
            except MemoryError:
                later += 1
        # What has no contents says so whenever it is read.
        lost = 0
        for x in kept:
            try:
                float(x[0])
            except MemoryError:
                lost += 1
        print(told, later, 0 < lost <= half)
        """,
        "--sysmem 48" + config,
        tmp_path,
    )
    assert (done.returncode, done.stdout.split()) == (0, ["1", "0", "True"]), done.stdout + done.stderr
