"""A GPU that is lost for good, and processes that fork. Run by `python -m tests.gpu`, on a machine with a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

import numloom as np

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)

START = """
import os, sys
import numpy
import numloom as np

N = 1 << 20
H = numpy.arange(float(N))
"""


def run(code: str, config: str | None = None) -> str:
    environment = {**os.environ, **({"NUMLOOM_CONFIG": config} if config else {})}
    program = START + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_a_fault_on_the_gpu_is_told_and_the_cpu_goes_on():
    run("""
        class Nowhere:
            __cuda_array_interface__ = dict(
                shape=(N,), typestr="<f8", data=(0x7000, False), version=3, strides=None
            )

        at_home = np.array(H)
        there = at_home * 2
        try:
            bad = np.asarray(Nowhere()) + 1
            np.sync()
            numpy.asarray(bad)
            sys.exit("nothing was raised")
        except (RuntimeError, MemoryError, ValueError) as e:
            said = str(e)
        print(said)
        # What lies on the host is there; what lay on the GPU alone says why not, or was copied before.
        assert (numpy.asarray(at_home) == H).all()
        for _ in range(3):
            assert (numpy.asarray(np.array(H) * 3 + 1) == H * 3 + 1).all()
            np.sync()
    """)


def test_a_child_of_a_fork_works_on_the_cpu_and_says_why():
    said = run("""
        x = np.array(H)
        np.offload_to(x, np.StoreTarget.FBMEM)
        y = x * 2
        assert float(y[3]) == 6
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                fresh = np.array(H)
                assert (numpy.asarray(fresh * 2 + 1) == H * 2 + 1).all()
                try:
                    numpy.asarray(y + 1)
                    print("nothing was raised")
                except RuntimeError as e:
                    print(str(e).splitlines()[0], flush=True)
                    code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert (numpy.asarray(y + 1) == H * 2 + 1).all()
    """)
    assert "fork()" in said


def test_the_first_small_work_does_not_wait_for_the_compiler():
    # Elements are the same whoever computes them, and the program's data stays where it was.
    code = """
        x = np.array(H[:5000].astype("f4"))
        np.offload_to(x, np.StoreTarget.FBMEM)
        y = x
        for k in range(40):
            y = y * 1.5 + {}
            y = np.where(y > 1024, y - 1024, y)
            y[::3] -= 1
            np.sync()
        z = numpy.asarray(y)
        print(z.tobytes().hex()[-200:], float(numpy.asarray(y, dtype="f8").sum()))
    """
    import random

    number = random.random()
    config = "--gpus 1 --min-gpu-chunk 64 --background-compile="
    said = {run(code.format(number), f"{config}{on}") for on in (1, 0, 1)}
    assert len(said) == 1
