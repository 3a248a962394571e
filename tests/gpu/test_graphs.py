"""Small kernels that go to a GPU together, as CUDA graphs. Run by `python -m tests.gpu`, or alone:
`NUMLOOM_CONFIG="--gpus 1" python -m pytest -q tests/gpu/test_graphs.py`, on a machine with a GPU."""

from __future__ import annotations

import time

import numpy
import pytest

import numloom as np
from tests.commands import python

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)


def on_gpu(a):
    x = np.array(a)
    np.offload_to(x, np.StoreTarget.FBMEM)
    return x


def counts() -> tuple[int, int]:
    s = np.stats()
    return s["graphs_built"], s["graphs_replayed"]


def scaled(np, x, rounds):
    """Reductions feed elementwise work: two kernels a round, none of which can join the next."""
    for _ in range(rounds):
        x = x / x.sum() + 1
    return x


def swept(np, a, rounds):
    a = a.copy()
    for _ in range(rounds):
        a[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return a


PROGRAMS = {
    "scaled": (scaled, numpy.linspace(1, 2, 3001)),
    "swept": (swept, numpy.random.default_rng(1).random((200, 300))),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_that_comes_again_is_replayed_and_right(name):
    program, start = PROGRAMS[name]
    want = program(numpy, start, 20)
    x = on_gpu(start)
    # Until its kernels are compiled, the CPU may do their work.
    before, until = counts()[1], time.monotonic() + 20
    while counts()[1] < before + 10 and time.monotonic() < until:
        numpy.testing.assert_allclose(program(np, x, 20), want, rtol=1e-12)
    built, replayed = counts()
    for _ in range(5):
        numpy.testing.assert_allclose(program(np, x, 20), want, rtol=1e-12)
    assert counts()[0] - built <= 2, "the same sequences again need few new graphs"
    assert counts()[1] - replayed >= 5, "they are replayed"


def test_arguments_change_from_one_replay_to_the_next():
    """Every round's result is kept, so each has other addresses; and other numbers go in."""
    rng = numpy.random.default_rng(2)
    inputs = [rng.random(n) + 1 for n in [1000, 1000, 1000, 5000, 5000, 1000, 5000, 1000]]
    kept = [scaled(np, on_gpu(a), 12) * (k + 2) for k, a in enumerate(inputs)]
    again = [scaled(np, on_gpu(a), 12) * (k + 2) for k, a in enumerate(inputs)]
    for k, a in enumerate(inputs):
        want = scaled(numpy, a, 12) * (k + 2)
        numpy.testing.assert_allclose(kept[k], want, rtol=1e-12)
        numpy.testing.assert_array_equal(numpy.asarray(kept[k]), numpy.asarray(again[k]))


def test_what_else_touches_the_stream_keeps_its_turn():
    """Copies, library operations and reads from the host between small kernels."""
    rng = numpy.random.default_rng(3)
    start = rng.random((64, 64))

    def mixed(np, x):
        seen = []
        for k in range(6):
            x = x / x.sum()
            x = x - x.mean(axis=0)
            x[k] = 1.5
            x = np.sort((x @ x.T + np.abs(np.fft.fft(x)[0])).ravel()).reshape(64, 64)
            seen.append(float(x[3, 5]))
            x = np.where(x > seen[-1], x / x.max(), x + numpy.arange(64.0) / 64)
        return x, np.array(seen)

    want = mixed(numpy, start)
    for _ in range(4):
        for got, right in zip(mixed(np, on_gpu(start)), want, strict=True):
            numpy.testing.assert_allclose(got, right, rtol=1e-9)


def test_an_error_among_them_takes_nothing_else_along():
    x = on_gpu(numpy.linspace(1, 2, 2000))
    wrong = on_gpu(numpy.array([1, 5000]))
    want = scaled(numpy, numpy.linspace(1, 2, 2000), 10)
    for _ in range(4):
        y = scaled(np, x, 10)
        with pytest.raises(IndexError, match="5000 is out of bounds"):
            np.sync(np.take(y, wrong))
        z = scaled(np, x, 10)
        numpy.testing.assert_allclose(y, want, rtol=1e-12)
        numpy.testing.assert_allclose(z, want, rtol=1e-12)


def test_a_profile_sees_every_kernel_by_itself(tmp_path):
    x = on_gpu(numpy.linspace(1, 2, 2000))
    for _ in range(3):
        np.sync(scaled(np, x, 10))
    with np.profile(tmp_path / "one.prof"):
        before = counts()
        y = scaled(np, x, 10)
        np.sync()
        assert counts() == before
    numpy.testing.assert_allclose(y, scaled(numpy, numpy.linspace(1, 2, 2000), 10), rtol=1e-12)


def test_they_can_be_switched_off():
    program = """
import numloom as np
x = np.linspace(1, 2, 200_000)
np.offload_to(x, np.StoreTarget.FBMEM)
for _ in range(5):
    y = x
    for _ in range(20):
        y = y / y.sum() + 1
    np.sync()
print(np.stats()["graphs_replayed"], float(y.sum()).hex())
"""
    on, off = (python(program, NUMLOOM_CONFIG=f"--gpus 1 --cuda-graphs={k}").out.split() for k in (1, 0))
    assert int(on[0]) > 0 and int(off[0]) == 0
    assert on[1] == off[1]
