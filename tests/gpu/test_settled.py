"""Kernels with their parameters compiled in give what they gave before. Run by `python -m tests.gpu`, or alone:
`NUMLOOM_CONFIG="--gpus 1" python -m pytest -q tests/gpu/test_settled.py`, on a machine with a GPU."""

from __future__ import annotations

import time

import numpy
import pytest

import numloom as np

pytestmark = pytest.mark.skipif(
    not any(p.name.startswith("FB_MEM") for p in np.memory().pools), reason="this machine, or this run, has no GPU"
)

SIZE = 5_000_001
# Now and then one that divisions, roots and logarithms have a long way for.
UNUSUAL = numpy.array(
    [0.0, -0.0, numpy.inf, -numpy.inf, numpy.nan, 1e-45, -1e-40, 3e38, -2.5, 1e-20, 1e20, 1.1754944e-38], "f4"
)


def data(seed):
    a = numpy.random.default_rng(seed).uniform(0.01, 100, SIZE).astype("f4")
    few = a[::1001]
    few[:] = UNUSUAL[numpy.arange(few.size) % UNUSUAL.size]
    x = np.array(a)
    np.offload_to(x, np.StoreTarget.FBMEM)
    return x


def divided(np, s, k, t, c):
    a = np.sqrt(s) / 3.7 + 2.5 / k - np.log(t) * c
    b = np.where(a > 1.5, 1 / (a + 0.1), np.exp(-a * 0.2))
    return a, b, ((b * 1.5 + 0.25) / 7.0 + 0.5 * a) * 0.3


def doubled(np, s, k, t, c):
    x = s.astype("f8")
    y = (x / 3.3 + np.sqrt(x) * 1.5 - 2.25) * c
    return y, ((y * 0.1 + 1.5) / (x + 0.001) - 0.5) * 1.25 + np.exp(-y * 0.001)


def folded(np, s, k, t, c):
    q = (np.abs(s * 10) * 0.5 + 3) / (k + 1.5)
    q = q * q * 0.25 + c
    return (np.log(q / 0.7) * 2.5 + 0.1) / 1.9, q.sum(), (q * 0.1 + 0.3).max()


@pytest.mark.parametrize("program", [divided, doubled, folded])
def test_settled_parameters_change_nothing(program):
    arrays = [data(seed) for seed in range(3)]

    def bits(c):
        return [numpy.asarray(x).tobytes() for x in program(np, *arrays, c)]

    with numpy.errstate(all="ignore"):
        first, other = bits(1.25), bits(0.75)
        assert first != other
        before = np.stats()["settled"]
        until = time.monotonic() + 20
        while np.stats()["settled"] == before and time.monotonic() < until:
            assert bits(1.25) == first
        assert np.stats()["settled"] > before, "compiled for twenty seconds"
        assert bits(1.25) == first
        # Other parameters do not get the ones that were compiled in.
        assert bits(0.75) == other and bits(1.25) == first
