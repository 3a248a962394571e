"""Array programs on a GPU: Numloom, CuPy and JAX in one run, every result held against NumPy in float64.

    python benches/gpu/run.py [--only NAME] [--small] [--json FILE]

A program is written once, for any NumPy-like module; JAX runs it under jit where it can. Times are the median of
several rounds, inputs on the GPU, and the result ready there.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
import time

import numpy

SMALL = "--small" in sys.argv


def seed_efficient(np, x, y):
    z = np.empty_like(x)
    np.add(x, y, out=z)
    cond = (x < 0.25) & (y > 0.5)
    np.putmask(z, cond, x * y + 1.0)
    gt1 = z > 1.0
    z[gt1] += 2.0
    z[~gt1] -= 2.0
    return z


def seed_efficient_jax(np, x, y):
    z = np.where((x < 0.25) & (y > 0.5), x * y + 1.0, x + y)
    return np.where(z > 1.0, z + 2.0, z - 2.0)


def seed_inefficient(np, x, y):
    cond_idx = np.nonzero((x < 0.25) & (y > 0.5))
    z = x + y
    z_alt = x * y + 1.0
    z[cond_idx] = z_alt[cond_idx]
    for s in range(0, x.shape[0], 4096):
        sub = z[s : s + 4096]
        gt1 = sub > 1.0
        sub[gt1] = sub[gt1] + 2.0
        sub[~gt1] = sub[~gt1] - 2.0
    return z


def black_scholes(np, s, k, t):
    r, v = 0.02, 0.3

    def cdf(x):
        q = 1.0 / (1.0 + 0.2316419 * np.abs(x))
        poly = q * (0.319381530 + q * (-0.356563782 + q * (1.781477937 + q * (-1.821255978 + q * 1.330274429))))
        tail = 0.3989422804014327 * np.exp(-0.5 * x * x) * poly
        return np.where(x < 0, tail, 1.0 - tail)

    vt = v * np.sqrt(t)
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / vt
    d2 = d1 - vt
    kd = k * np.exp(-r * t)
    call = s * cdf(d1) - kd * cdf(d2)
    return call, call - s + kd


def chain(np, x, y):
    t = x
    for k in range(20):
        t = t * 0.5 + y
        if k % 4 == 3:
            t = np.maximum(t, 0.1)
    return t


def stencil(np, a):
    a = a.copy()
    for _ in range(10):
        a[1:-1, 1:-1] = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return a


def stencil_jax(np, a):
    for _ in range(10):
        inner = 0.2 * (a[1:-1, 1:-1] + a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
        a = a.at[1:-1, 1:-1].set(inner)
    return a


def statistics_of(np, x):
    return x.sum(), x.mean(), x.var(), x.min(), x.max()


def cumsum(np, x):
    return np.cumsum(x)


def sort(np, x):
    return np.sort(x)


def sort_by_places(np, x):
    return np.take_along_axis(x, np.argsort(x, axis=-1), axis=-1)


def median(np, x):
    return np.median(x, axis=1)


def gathered(np, x, i, j):
    return x[i, j]


def scattered(np, x, i, j):
    z = np.zeros_like(x)
    z[i, j] = x.ravel()
    return z


def scattered_jax(np, x, i, j):
    return np.zeros_like(x).at[i, j].set(x.ravel())


def matmul(np, a, b):
    return a @ b


def cg(np, a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p, rr = r, r @ r
    for _ in range(99):
        ap = a @ p
        alpha = rr / (p @ ap)
        x = x + alpha * p
        r = r - alpha * ap
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return x


def small_operation(np, x):
    for _ in range(1000):
        x = x * 0.999
    return x


RNG = numpy.random.default_rng()


def uniform(*shape):
    return RNG.random(shape, dtype="f4")


def definite(n):
    a = uniform(n, n)
    a = (a + a.T) / (2 * n)
    # Eigenvalues far apart: a hundred iterations are not too many.
    a[numpy.arange(n), numpy.arange(n)] += numpy.linspace(1, 1e4, n, dtype="f4")
    return a, uniform(n)


def options(n):
    return 10 + 40 * uniform(n), 10 + 40 * uniform(n), 0.25 + 2.75 * uniform(n)


def one(n):
    return (uniform(n),)


def two(n):
    return uniform(n), uniform(n)


def rows_of(length, n):
    return (uniform(n // length, length),)


def places(n):
    order = RNG.permutation(n * n)
    return uniform(n, n), order // n, order % n


def square(n):
    return (uniform(n, n),)


def squares(n):
    return uniform(n, n), uniform(n, n)


# name: program, JAX's own version (None: the same; False: not at all), inputs, their size when timed and when checked,
# tolerance
PROGRAMS = {
    "seed efficient": (seed_efficient, seed_efficient_jax, two, 100_000_000, 2_000_000, 1e-5),
    "seed inefficient, loop over 10M": (seed_inefficient, False, two, 10_000_000, 1_000_000, 1e-5),
    "black-scholes": (black_scholes, None, options, 100_000_000, 2_000_000, 2e-4),
    "chain of 40 operations": (chain, None, two, 100_000_000, 2_000_000, 1e-4),
    "stencil, 10 sweeps": (stencil, stencil_jax, square, 16_000, 1_500, 1e-4),
    "sum, mean, var, min, max": (statistics_of, None, one, 100_000_000, 3_000_000, 1e-4),
    "cumsum": (cumsum, None, one, 100_000_000, 3_000_000, 1e-4),
    "sort": (sort, None, one, 100_000_000, 2_000_000, 0),
    "sort, rows of 100": (sort, None, functools.partial(rows_of, 100), 100_000_000, 2_000_000, 0),
    "sort, rows of 100,000": (sort, None, functools.partial(rows_of, 100_000), 100_000_000, 2_000_000, 0),
    "argsort and take, rows of 1,000": (
        sort_by_places,
        None,
        functools.partial(rows_of, 1000),
        20_000_000,
        2_000_000,
        0,
    ),
    "median, rows of 10,000": (median, None, functools.partial(rows_of, 10_000), 100_000_000, 2_000_000, 1e-6),
    "x[i, j]": (gathered, None, places, 5_000, 1_000, 0),
    "z[i, j] = x": (scattered, scattered_jax, places, 5_000, 1_000, 0),
    "matmul (full precision)": (matmul, None, squares, 8192, 1500, 1e-4),
    "CG, dense, 100 iterations": (cg, None, definite, 8192, 1000, 1e-3),
    "1,000 operations on 1,000 elements": (small_operation, None, one, 1000, 1000, 1e-4),
}


def numloom_peer():
    os.environ.setdefault("NUMLOOM_CONFIG", "--gpus 1")
    import numloom

    def put(a):
        x = numloom.array(a)
        numloom.offload_to(x, numloom.StoreTarget.FBMEM)
        return x

    return put, lambda f, own: functools.partial(f, numloom), lambda out: numloom.sync(), numpy.asarray


def cupy_peer():
    import cupy

    put = cupy.asarray
    return put, lambda f, own: functools.partial(f, cupy), lambda out: cupy.cuda.Device().synchronize(), cupy.asnumpy


def jax_peer():
    import jax
    import jax.numpy as jnp

    def make(f, own):
        return None if own is False else jax.jit(functools.partial(own or f, jnp))

    return jnp.asarray, make, jax.block_until_ready, numpy.asarray


PEERS = {"numloom": numloom_peer, "cupy": cupy_peer, "jax": jax_peer}


def close(got, want, tolerance):
    got = got if isinstance(got, tuple) else (got,)
    want = want if isinstance(want, tuple) else (want,)
    for g, w in zip(got, want, strict=True):
        g, w = numpy.asarray(g, dtype="f8"), numpy.asarray(w, dtype="f8")
        if g.shape != w.shape:
            return False
        wrong = numpy.abs(g - w) > max(tolerance, 1e-7) * (numpy.abs(w).max() + 1e-30)
        # In float32 a comparison may fall on the other side of its bound, now and then.
        if numpy.count_nonzero(wrong) > 1e-5 * w.size or not numpy.isfinite(g).all():
            return False
    return True


# Seconds before the first figure: what is compiled in the background is there then.
WARM = 0.5


def measure(name, peer, rounds):
    program, own, inputs, size, checked, tolerance = PROGRAMS[name]
    put, make, ready, back = peer
    call = make(program, own)
    if call is None:
        return None
    host = inputs(checked)
    out = call(*[put(a) for a in host])
    ready(out)
    got = tuple(back(o) for o in out) if isinstance(out, tuple) else back(out)
    right = close(got, program(numpy, *[a.astype("f8") if a.dtype.kind == "f" else a for a in host]), tolerance)
    args = [put(a) for a in inputs(checked if SMALL else size)]
    times = []
    begun = time.perf_counter()
    while time.perf_counter() - begun < WARM:
        ready(call(*args))
    for _ in range(rounds):
        start = time.perf_counter()
        out = call(*args)
        ready(out)
        times.append(time.perf_counter() - start)
        del out
    return statistics.median(times) * 1e3, right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="programs whose names contain this")
    parser.add_argument("--peer", action="append", choices=list(PEERS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--small", action="store_true", help="a hundredth of the size, to try it out")
    parser.add_argument("--json")
    given = parser.parse_args()
    peers = {}
    for name in given.peer or PEERS:
        try:
            peers[name] = PEERS[name]()
        except Exception as e:
            print(f"without {name}: {e}")
    rows = {}
    print(f"{'program':<34}" + "".join(f"{p:>14}" for p in peers))
    for name in PROGRAMS:
        if given.only and not any(word in name for word in given.only):
            continue
        row = {}
        for p, peer in peers.items():
            try:
                row[p] = measure(name, peer, given.rounds)
            except Exception as e:
                row[p] = None
                print(f"  {p}: {type(e).__name__}: {str(e)[:300]}")
        rows[name] = row
        shown = [f"{r[0]:.3f}{'' if r[1] is not False else ' WRONG'}" if r else "-" for r in row.values()]
        print(f"{name:<34}" + "".join(f"{s:>14}" for s in shown), flush=True)
    if given.json:
        with open(given.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
