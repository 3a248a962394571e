"""Three array programs, unchanged, under NumPy and under Numloom: equal results, both times, and what was fused.

Run by `make demo`; `python examples/demo.py --size 0.1` for a smaller one.
"""

import argparse
import time

import numpy

import numloom


def inefficient(np, x, y):
    """The seeds' first program: packed copies through index arrays, and a loop over small slices."""
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


def efficient(np, x, y):
    """The seeds' second program: the same by masks over whole arrays."""
    z = np.empty_like(x)
    np.add(x, y, out=z)
    cond = (x < 0.25) & (y > 0.5)
    np.putmask(z, cond, x * y + 1.0)
    gt1 = z > 1.0
    z[gt1] += 2.0
    z[~gt1] -= 2.0
    return z


def jacobi(np, grid):
    """Ten sweeps of a five-point stencil."""
    a, b = grid.copy(), grid.copy()
    for _ in range(5):
        for src, dst in ((a, b), (b, a)):
            dst[1:-1, 1:-1] = 0.2 * (src[1:-1, 1:-1] + src[1:-1, :-2] + src[1:-1, 2:] + src[2:, 1:-1] + src[:-2, 1:-1])
    return a


def best_time(program, module, inputs, repetitions):
    """The shortest run in milliseconds, and the last result as a NumPy array."""
    best, result = float("inf"), None
    for _ in range(repetitions):
        start = time.perf_counter()
        result = numpy.asarray(program(module, *inputs))
        best = min(best, time.perf_counter() - start)
    return best * 1e3, result


def counted(program, inputs):
    """How many operations one run records, and how many tasks they become."""
    numloom.sync()
    before = numloom.stats()
    numpy.asarray(program(numloom, *inputs))
    after = numloom.stats()
    return tuple(after.get(name, 0) - before.get(name, 0) for name in ("operations", "tasks"))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--size", type=float, default=1.0, help="scale of the arrays (1 is 10 million elements)")
    arguments.add_argument("--repeat", type=int, default=5, help="runs of each program; the best counts")
    options = arguments.parse_args()
    g = numpy.random.default_rng(42)
    n, side = max(4096, int(10_000_000 * options.size)), max(16, int(3000 * options.size**0.5))
    x, y, grid = g.random(n, dtype="f4"), g.random(n, dtype="f4"), g.random((side, side))
    programs = [
        ("seed, inefficient", inefficient, (x, y)),
        ("seed, efficient", efficient, (x, y)),
        ("2-D Jacobi stencil", jacobi, (grid,)),
    ]
    print(f"{'program':<20}{'NumPy ms':>10}{'Numloom ms':>12}{'speed-up':>10}{'operations':>12}{'tasks':>8}  results")
    failed = False
    for name, program, inputs in programs:
        theirs, want = best_time(program, numpy, inputs, options.repeat)
        lent = [numloom.array(a) for a in inputs]
        ours, got = best_time(program, numloom, lent, options.repeat)
        operations, tasks = counted(program, lent)
        equal = got.dtype == want.dtype and numpy.allclose(got, want, rtol=1e-6, atol=1e-8)
        failed |= not equal
        print(
            f"{name:<20}{theirs:>10.1f}{ours:>12.1f}{theirs / ours:>9.2f}x{operations:>12}{tasks:>8}  "
            f"{'equal' if equal else 'DIFFERENT'}"
        )
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
