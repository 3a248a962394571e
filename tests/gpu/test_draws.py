"""Random numbers that are made on the GPU: NumPy's, to the bit. Run by `python -m tests.gpu`, or alone:
`NUMLOOM_CONFIG="--gpus 1 --min-gpu-chunk 64" python -m pytest -q tests/gpu/test_draws.py`, on a machine with a GPU."""

from __future__ import annotations

import numpy
import pytest

import numloom as np

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)

GENERATORS = ["PCG64", "PCG64DXSM", "Philox"]
DRAWS = {
    "random": lambda g, n: g.random(n),
    "random f4": lambda g, n: g.random(n, dtype="f4"),
    "uniform": lambda g, n: g.uniform(-1.5, 4.25, n),
    "integers": lambda g, n: g.integers(0, 1024, n),
    "integers i4": lambda g, n: g.integers(-8, 8, n, dtype="i4"),
    "many integers": lambda g, n: g.integers(0, 2**40, n),
    "words": lambda g, n: g.integers(0, 2**64 - 1, n, dtype="u8", endpoint=True),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_draws_are_numpys(name):
    mine, theirs = (m.random.Generator(getattr(m.random, name)(7)) for m in (np, numpy))
    order = numpy.random.default_rng(3)
    for n in (100, 777, 65_536, 3_000_001):
        for what in order.permutation(sorted(DRAWS)):
            got, want = DRAWS[what](mine, n), DRAWS[what](theirs, n)
            assert numpy.asarray(got).tobytes() == want.tobytes(), (what, n)
        # In the middle of words and blocks.
        assert float(mine.random(dtype="f4")) == float(theirs.random(dtype="f4"))
        assert float(mine.random()) == float(theirs.random())
        assert numpy.asarray(mine.standard_normal(5)).tobytes() == theirs.standard_normal(5).tobytes()


def test_they_are_made_there():
    x = np.random.default_rng(1).random(2_000_000)
    total = float((x * 2).sum())
    assert abs(total - 2_000_000) < 5_000
    held = [i for i in np.memory().instances if i.memory.startswith("FB_MEM") and i.bytes >= 16_000_000]
    assert held


def test_a_state_with_another_buffer():
    bits = [m.random.Philox(3) for m in (np, numpy)]
    for b in bits:
        state = b.state
        state["buffer"] = numpy.arange(4, dtype="u8")
        state["buffer_pos"] = 1
        b.state = state
    mine, theirs = (m.random.Generator(b) for m, b in zip((np, numpy), bits, strict=True))
    assert numpy.asarray(mine.random(5_000)).tobytes() == theirs.random(5_000).tobytes()
