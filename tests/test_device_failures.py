"""Devices that fail: a kernel that cannot be compiled or launched, a device that is lost. An exception with the line at
the next sync point, everything that did not depend on it intact, and the next program works. On a simulated device, and
on a GPU where the suite runs on one."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

SIMULATED = "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 64"
GIVEN = os.environ.get("NUMLOOM_CONFIG", "")
CONFIG = GIVEN if "--gpus" in GIVEN and "--gpus 0" not in GIVEN else SIMULATED

START = """
import numpy
import numloom as np

N = 1 << 14
H = numpy.arange(float(N)) + 1
x, y = np.array(H), np.array(H % 7)
bystander = x * 3
np.sync()


def program():
    z = np.ones(N)
    a = x * 2 + y
    z[:] = a * y
    m = a > 100
    a[m] -= y[m]
    return a, z, np.cumsum(y), (a * y).sum(), a.reshape(128, -1) @ y[:128]


def values(results):
    return [numpy.asarray(v).copy() for v in results]


def same(results, others):
    return all(numpy.allclose(a, b, rtol=1e-12) for a, b in zip(results, others, strict=True))


want = values(program())
"""


def passes(code: str) -> None:
    environment = {**os.environ, "NUMLOOM_CONFIG": CONFIG}
    program = START + textwrap.dedent(code)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("what, said", [("compile", "could not be compiled"), ("launch", "could not be launched")])
def test_every_kernel_fails_in_turn(what, said):
    passes(f"""
        for k in range(100):
            np._core._fail_device({what!r}, k)
            heard = None
            try:
                values(program())
                np.sync()
            except RuntimeError as e:
                heard = str(e)
            spent = np._core._fail_device({what!r}, -1) < 0
            try:
                np.sync()
            except RuntimeError:
                pass
            if not spent:
                break
            assert heard and {said!r} in heard and "<string>:" in heard, heard
            assert (numpy.asarray(bystander) == H * 3).all() and (numpy.asarray(x) == H).all()
            assert same(values(program()), want), k
        assert 3 <= k < 100, k
    """)


def test_what_was_to_be_written_is_as_it_was():
    passes("""
        z = np.array(H)
        np._core._fail_device("compile", 0)
        z[:] = x * 5 + y
        try:
            np.sync()
            raise SystemExit("nothing was raised")
        except RuntimeError as e:
            assert "could not be compiled" in str(e)
        assert (numpy.asarray(z) == H).all()
        z[:] = x * 5 + y
        assert (numpy.asarray(z) == H * 5 + H % 7).all()
    """)


def test_results_of_what_failed_say_so_and_others_do_not():
    passes("""
        np._core._fail_device("launch", 0)
        a = x * 2 + y
        b = np.exp(a[: N // 2])
        for failed in (a, b, a):
            try:
                numpy.asarray(failed)
                raise SystemExit("nothing was raised")
            except RuntimeError as e:
                assert "could not be launched" in str(e) and "<string>:" in str(e)
        assert (numpy.asarray(y - 1) == H % 7 - 1).all() and (numpy.asarray(bystander) == H * 3).all()
    """)


def test_after_a_loss_the_cpu_goes_on():
    passes("""
        kept = numpy.asarray(x).copy()
        np._core._fail_device("loss", 0)
        a = x * 2 + y
        try:
            numpy.asarray(a)
            raise SystemExit("nothing was raised")
        except RuntimeError as e:
            assert "the GPU was lost" in str(e), e
        np.sync()
        fresh = np.array(kept)
        before = [c.copies for c in np.memory().channels if c.target.startswith("FB")]
        assert (numpy.asarray(fresh * 2 + 1) == kept * 2 + 1).all()
        assert float(np.exp(fresh * 0).sum()) == N
        assert [c.copies for c in np.memory().channels if c.target.startswith("FB")] == before
    """)
