"""Draws are recorded like any operation: the stream owes its state until they have run, and nobody can tell."""

from __future__ import annotations

import gc
import os
import pickle
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest

from .counters import Counted, explained
from .oracle import needs_engine, np

pytestmark = needs_engine
KINDS = ["PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937"]
MANY = 50_000

DRAWS = [
    lambda g: g.standard_normal(MANY),
    lambda g: g.random(MANY, dtype="f4"),
    lambda g: g.integers(0, 1000, MANY),
    lambda g: g.integers(0, 100, 9_999, dtype="i1"),
    lambda g: g.gamma(2.5, size=MANY),
    lambda g: g.random(7),
    lambda g: g.poisson(3.0, size=(100, 101)),
    lambda g: g.normal(numpy.arange(100.0), 2.0, size=(90, 100)),
    lambda g: g.permutation(20_000),
    lambda g: g.multinomial(20, [0.2, 0.3, 0.5], size=5_000),
    lambda g: g.exponential(size=MANY),
    lambda g: g.choice(50_000, 6_000, replace=False),
]


def same_state(ours, theirs):
    def flat(state):
        return {k: flat(v) if isinstance(v, dict) else numpy.asarray(v).tolist() for k, v in state.items()}

    assert flat(ours.bit_generator.state) == flat(theirs.bit_generator.state)


def pair(kind, seed=7):
    return (
        np.random.Generator(getattr(np.random, kind)(seed)),
        numpy.random.Generator(getattr(numpy.random, kind)(seed)),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_draws_that_nobody_reads_between_are_numpys(kind):
    ours, theirs = pair(kind)
    for order in DRAWS, DRAWS[::-1]:
        got, expected = [draw(ours) for draw in order], [draw(theirs) for draw in order]
        for a, b in zip(got, expected):
            assert a.dtype == b.dtype and numpy.array_equal(numpy.asarray(a), b)
    same_state(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_draws_wait_for_a_sync_point(kind):
    ours, theirs = pair(kind)
    np.sync()
    with Counted() as grew:
        x, y = ours.standard_normal(500_000), ours.random(500_000)
        total = (x + y).sum()
        plan = explained(total)
        float(total)
    # Both draws were still to run when the sum was recorded.
    assert plan.count("random") >= 2 and grew["tasks"] >= 3
    expected = (theirs.standard_normal(500_000) + theirs.random(500_000)).sum()
    assert float(total) == pytest.approx(expected, rel=1e-12)


def test_the_state_can_be_read_set_and_shared_in_between():
    ours, theirs = pair("PCG64")
    x, y = ours.standard_normal(MANY), theirs.standard_normal(MANY)
    same_state(ours, theirs)
    kept = ours.bit_generator.state
    again = ours.standard_normal(MANY), ours.random()
    ours.bit_generator.state = kept
    assert numpy.array_equal(ours.standard_normal(MANY), again[0]) and ours.random() == again[1]
    copy = pickle.loads(pickle.dumps(ours))
    assert numpy.array_equal(copy.gamma(3, size=MANY), ours.gamma(3, size=MANY)) and numpy.array_equal(x, y)
    # NumPy's own generator, over the C interface of the same stream.
    ours, theirs = pair("SFC64")
    through = numpy.random.Generator(ours.bit_generator)
    for _ in range(3):
        a, b = ours.normal(size=MANY), through.normal(size=100)
        assert numpy.array_equal(a, theirs.normal(size=MANY)) and numpy.array_equal(b, theirs.normal(size=100))
    words = ours.bit_generator.ctypes
    ours.standard_normal(MANY), theirs.standard_normal(MANY)
    assert words.next_uint64(words.state) == theirs.bit_generator.random_raw()


def test_a_draw_that_is_dropped_moves_the_stream_on():
    ours, theirs = pair("MT19937")
    ours.standard_normal(MANY), ours.random(MANY), ours.permutation(MANY)
    gc.collect()
    theirs.standard_normal(MANY), theirs.random(MANY), theirs.permutation(MANY)
    assert numpy.array_equal(ours.integers(0, 99, MANY), theirs.integers(0, 99, MANY))
    same_state(ours, theirs)


def test_the_legacy_generator_keeps_its_normal():
    ours, theirs = np.random.RandomState(3), numpy.random.RandomState(3)
    for n in MANY + 1, 5, MANY + 2, 1:
        assert numpy.array_equal(ours.standard_normal(n), theirs.standard_normal(n))
        ours.gamma(2.0, size=MANY + 1), theirs.gamma(2.0, size=MANY + 1)
        assert ours.randn() == theirs.randn()
    x = ours.randn(MANY + 1)
    ours.dirichlet([0.5, 2.0, 1.0], size=10_001), theirs.randn(MANY + 1), theirs.dirichlet([0.5, 2.0, 1.0], size=10_001)
    mine, yours = ours.get_state(legacy=False), theirs.get_state(legacy=False)
    assert (mine["has_gauss"], mine["gauss"]) == (yours["has_gauss"], yours["gauss"]) and x.shape == (MANY + 1,)
    assert numpy.array_equal(numpy.asarray(mine["state"]["key"]), yours["state"]["key"])


def test_draws_into_given_arrays_and_shuffles_keep_their_order():
    ours, theirs = pair("Philox")
    x, y = np.zeros(MANY), numpy.zeros(MANY)
    for g, to in (ours, x), (theirs, y):
        g.standard_normal(out=to)
        to += 1
        g.random(out=to[: MANY // 2])
        g.shuffle(to)
        g.standard_exponential(out=to[MANY // 2 :])
    assert numpy.array_equal(x, y)
    same_state(ours, theirs)


def test_threads_share_a_stream():
    ours, theirs = pair("PCG64")
    found = []

    def work():
        for _ in range(20):
            found.append(ours.standard_normal(10_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    expected = {theirs.standard_normal(10_000).tobytes() for _ in range(80)}
    assert {numpy.asarray(x).tobytes() for x in found} == expected
    same_state(ours, theirs)


def run(program, config):
    environment = {**os.environ, "NUMLOOM_CONFIG": config}
    text = textwrap.dedent(program)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, env=environment, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_draw_without_memory_is_told_and_draws_nothing():
    out = run(
        """
        import numpy, numloom as np
        g, h = np.random.default_rng(5), numpy.random.default_rng(5)
        a = g.standard_normal(100_000)
        try:
            b = g.standard_normal(40_000_000)
            float(b.sum())
        except MemoryError as e:
            print("told", "standard_normal(40_000_000)" in str(e) or ":6" in str(e) or "line 6" in str(e))
        b = None
        assert numpy.array_equal(a, h.standard_normal(100_000))
        assert numpy.array_equal(g.standard_normal(100_000), h.standard_normal(100_000))
        print("goes on")
        """,
        "--sysmem 64 --cpus 2",
    )
    assert out.split("\n")[0].startswith("told") and "goes on" in out


def test_a_forked_child_goes_on():
    run(
        """
        import os, numpy, numloom as np
        g, h = np.random.default_rng(5), numpy.random.default_rng(5)
        a = g.standard_normal(100_000)
        h.standard_normal(100_000)
        child = os.fork()
        right = numpy.array_equal(g.standard_normal(50_000), h.standard_normal(50_000))
        if child == 0:
            os._exit(0 if right else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0 and right
        """,
        "--cpus 2",
    )
    run("import numloom as np; g = np.random.default_rng(1); x = g.standard_normal(5_000_000)", "--cpus 2")
