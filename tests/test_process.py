"""Threads, forks, signals and the end of the process, with work pending."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pytest

from .oracle import MODULE, agree, np


def start(code: str, **kwargs) -> subprocess.Popen:
    # What is started in the background of a shell ignores Ctrl-C, and so do its children.
    heard = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    code = f"{heard}import {MODULE} as np\n" + textwrap.dedent(code)
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs
    )


def finish(process: subprocess.Popen, seconds: float = 60) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        pytest.fail(f"did not end within {seconds} s\n{out}\n{err}")
    return process.returncode, out.strip(), err.strip()


def test_exit_with_work_pending():
    code, out, err = finish(
        start("""
        x = np.ones(3_000_000)
        for _ in range(50):
            x = np.sin(x) * 1.5 + x
        y = x[x > 0.5].sum()
        print("end")
    """)
    )
    assert (code, out, err) == (0, "end", "")


def test_exit_by_exception_with_work_pending():
    code, _, err = finish(
        start("""
        x = np.ones(3_000_000)
        y = np.exp(np.sin(x) * 2)
        raise SystemExit(7)
    """)
    )
    assert (code, err) == (7, "")


@pytest.mark.skipif(MODULE == "numpy", reason="NumPy has nothing pending")
@pytest.mark.parametrize("asked, ended", [("", 1), ("raise SystemExit(0)", 1), ("raise SystemExit(3)", 3)])
def test_exit_with_work_that_fails(asked, ended, tmp_path):
    """It is told and seen in the status; what the program does at its end is done all the same."""
    kept = tmp_path / "kept"
    code, out, err = finish(
        start(f"""
        class Told:
            def __del__(self):
                print("gone")

        told, file = Told(), open({str(kept)!r}, "w")
        file.write("all of it")
        x = np.arange(100_000.0)
        y = x[np.arange(100_000) + (x.astype(int) > 99_990) * 10]
        {asked}
    """)
    )
    assert (code, out, kept.read_text()) == (ended, "gone", "all of it")
    assert "work that was pending at exit failed\nIndexError: index 100001" in err


def test_exit_from_a_thread_and_at_exit_handlers():
    code, out, err = finish(
        start("""
        import atexit, threading
        x = np.ones(500_000)
        atexit.register(lambda: print("late", float((x * 2).sum())))
        t = threading.Thread(target=lambda: print("thread", float(np.sin(x * 0).sum())))
        t.start()
    """)
    )
    assert (code, out, err) == (0, "thread 0.0\nlate 1000000.0", "")


def test_arrays_in_globals_at_exit():
    code, out, err = finish(
        start("""
        class Holder:
            def __init__(self):
                self.x = np.ones(200_000) * 3
            def __del__(self):
                float(self.x[0])
        h = Holder()
        cycle = [h]
        cycle.append(cycle)
        print("end")
    """)
    )
    assert (code, out) == (0, "end")
    assert "panic" not in err


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork_with_work_pending():
    code, out, err = finish(
        start("""
        import os
        x = np.arange(300_000) * 1.0
        y = np.sqrt(x) + 1
        pid = os.fork()
        if pid == 0:
            z = float((y * 2).sum())
            os._exit(0 if abs(z - float(((x ** 0.5 + 1) * 2).sum())) < 1e-3 else 3)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), round(float(y[4])))
    """)
    )
    assert (code, out) == (0, "0 3"), err


def test_multiprocessing_by_fork_and_spawn():
    code, out, err = finish(
        start("""
        import multiprocessing, sys
        def work(x):
            return (x * 2 + np.arange(x.size)).sum().item()
        if __name__ == "__main__":
            x = np.ones(100_000)
            np.sin(x)
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, [x, x + 1]))
    """)
    )
    n = 100_000
    base = n * (n - 1) // 2
    assert (code, out) == (0, str([2.0 * n + base, 4.0 * n + base])), err


def test_many_threads_calling_in():
    results, errors = {}, []

    def work(k: int) -> None:
        try:
            total = 0.0
            for i in range(30):
                size = 50_000 if i % 3 == 0 else 40
                x = np.arange(size) * (k + 1)
                x[x > 10] -= 1
                total += float((x * 2).sum())
            results[k] = total
        except Exception as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    assert not errors
    for k in range(8):
        expected = 0.0
        for i in range(30):
            x = numpy.arange(50_000 if i % 3 == 0 else 40) * (k + 1)
            x[x > 10] -= 1
            expected += float((x * 2).sum())
        assert results[k] == expected


def test_threads_on_one_array():
    x = np.zeros(80_000)
    lock = threading.Lock()

    def work():
        for _ in range(20):
            with lock:
                global_add(x)

    def global_add(x):
        x += 1
        x[::2] += 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
    expected = numpy.full(80_000, 80.0)
    expected[::2] += 80
    agree(x, expected)


def test_arrays_dropped_on_another_thread():
    made = [np.ones(60_000) * i for i in range(20)]
    seen = []

    def drop():
        while made:
            seen.append(float(made.pop()[0]))

    t = threading.Thread(target=drop)
    t.start()
    t.join(60)
    assert seen == [float(i) for i in reversed(range(20))]


def test_the_gil_is_free_while_waiting():
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    x = np.ones(4_000_000)
    float(x[0])
    t = threading.Thread(target=tick)
    t.start()
    for _ in range(4):
        y = x
        for _ in range(10):
            y = np.sin(y)
        float(y.sum())
    stop.set()
    t.join()
    gaps = numpy.diff(ticks)
    assert len(ticks) > 10
    assert gaps.max() < 5


LONG_WORK = """
        x = np.ones(20_000_000)
        for _ in range(400):
            x = np.sin(x) * 1.0001 + np.cos(x)
        print("waiting", flush=True)
"""


@pytest.mark.skipif(MODULE != "numloom", reason="NumPy does not check signals inside a call")
def test_ctrl_c_during_a_long_wait():
    process = start(
        LONG_WORK
        + """
        import sys
        try:
            float(x.sum())
            print("finished", flush=True)
        except KeyboardInterrupt:
            print("interrupted", flush=True)
        y = np.arange(10) + 1
        print(int(y.sum()), flush=True)
        sys.stdout.flush()
        import os
        os._exit(0)
    """
    )
    assert process.stdout.readline().strip() == "waiting"
    time.sleep(1.0)
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    said = process.stdout.readline().strip()
    took = time.monotonic() - begun
    after = process.stdout.readline().strip()
    process.wait(120)
    assert said == "interrupted", (said, process.stderr.read())
    assert took < 3
    assert after == "55"


@pytest.mark.skipif(MODULE != "numloom", reason="NumPy has no work pending")
@pytest.mark.parametrize("caught", [False, True])
def test_ctrl_c_ends_a_program_with_work_pending(caught):
    """The first one where the program does not catch it, and else one while the rest is waited for at exit."""
    process = start(
        LONG_WORK
        + f"""
        try:
            float(x.sum())
        except KeyboardInterrupt:
            print("interrupted", flush=True)
            if not {caught}:
                raise
    """
    )
    assert process.stdout.readline().strip() == "waiting"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert process.stdout.readline().strip() == "interrupted"
    if caught:
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
    begun = time.monotonic()
    process.wait(120)
    assert time.monotonic() - begun < 5
    said = process.stderr.read()
    assert "pending" not in said and ("KeyboardInterrupt" in said) != caught


def test_generators_and_recursion_keep_no_arrays():
    """Frames that come and go while operations are recorded in them."""

    def steps(n):
        x = np.ones(30_000)
        for i in range(n):
            x = x + i
            yield x

    *_, last = steps(50)
    agree(last, numpy.full(30_000, 1.0 + sum(range(50))))

    def deep(k):
        return np.zeros(3) if k == 0 else deep(k - 1) + 1

    agree(deep(200), numpy.full(3, 200.0))


def test_soak_in_small():
    """`tests/soak.py`, scaled down: memory stays flat."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-m", "tests.soak", "--small", "200000", "--large", "2000", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=root, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_forks_in_a_row():
    """A lock held by one of our threads at the wrong moment stays locked in the child for ever."""
    code, out, err = finish(
        start("""
        import os
        x = np.arange(300_000) * 1.0
        for i in range(60):
            y = np.sqrt(x) + i
            pid = os.fork()
            if pid == 0:
                os._exit(0 if float((y * 2).sum()) > 0 else 3)
            _, status = os.waitpid(pid, 0)
            assert status == 0
        print(round(float(y[4])))
    """)
    )
    assert (code, out) == (0, "61"), err


@pytest.mark.parametrize("config", ["", "--cpus 1 --window-size 3"])
def test_forks_beside_a_thread_that_works(config):
    """Another thread may be anywhere in the runtime, with its locks; the child has the locks and not the thread."""
    code, out, err = finish(
        start(
            """
        import os, threading
        working = True
        def work():
            while working:
                float((np.arange(50_000.0) * 2 + 1).sum())
        thread = threading.Thread(target=work)
        thread.start()
        x = np.arange(300_000.0)
        failed = 0
        for k in range(300):
            y = x * k + 1
            pid = os.fork()
            if pid == 0:
                os._exit(0 if float((y[:100_000] * 2).max()) == (99_999 * k + 1) * 2 else 3)
            failed += os.waitpid(pid, 0)[1] != 0
        working = False
        thread.join()
        print(failed, float(y[1]))
    """,
            env={**os.environ, "NUMLOOM_CONFIG": config},
        )
    )
    assert (code, out) == (0, "0 300.0"), err


def test_a_hook_of_a_fork_may_use_arrays():
    code, out, err = finish(
        start("""
        import os
        x = np.arange(300_000.0)
        say = lambda k: print(float((x + k).max()))
        os.register_at_fork(before=lambda: say(1), after_in_parent=lambda: say(2))
        pid = os.fork()
        if pid == 0:
            os._exit(0)
        os.waitpid(pid, 0)
    """)
    )
    assert (code, out) == (0, "300000.0\n300001.0"), err


@pytest.mark.parametrize(
    "read",
    ["numpy.asarray(y)", "numpy.array(y)", "numpy.float64(y.sum())", "numpy.array([y.sum(), 1])", "memoryview(y)"],
)
@pytest.mark.parametrize("handler", ["signal.default_int_handler", "handler"])
def test_ctrl_c_is_heard_where_numpy_asks_for_the_array(read, handler):
    """NumPy forgets an exception of the buffer protocol and asks again: what ended the first wait ends the second."""
    _, out, err = finish(
        start(f"""
        import numpy, os, signal, threading, time
        def handler(*_):
            raise KeyboardInterrupt
        signal.signal(signal.SIGINT, {handler})
        y = np.arange(3_000_000.0)
        for _ in range(400):
            y = np.sort(np.sin(y))
        threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
        begun = time.time()
        try:
            {read}
            time.sleep(2)
            print("nothing was heard")
        except KeyboardInterrupt:
            print(time.time() - begun < 1.5)
        del y
        print(float(np.ones(30_000).sum()), flush=True)
        os._exit(0)
        """)
    )
    assert out.split() == ["True", "30000.0"], (out, err)
