"""Small calls, NumPy and Numloom side by side: what one call costs where there is next to nothing to compute.

    python benches/small.py [--middling] [--rounds 9] [--only TEXT] [--json FILE]

With --middling calls on thousands of elements, each of which is waited for.

Microseconds, medians over rounds. In a round every call is timed under both modules, one right after the other, so that
what disturbs the machine disturbs both; a ratio is the median over rounds of Numloom's time over NumPy's.
"""

import argparse
import gc
import json
import statistics
import timeit

import numpy

import numloom

SMALL_SIZES = 10, 1000
SMALL = [
    # views
    "a[1:5]",
    "a[:]",
    "a[::-1]",
    "a[i]",
    "A[1]",
    "A[1, 2]",
    "A[:, 1]",
    "A[1:, :-1]",
    "a[None]",
    "a[...]",
    "a.reshape(2, -1)",
    "a.reshape((2, n // 2))",
    "np.reshape(a, (2, -1))",
    "a.T",
    "A.T",
    "A.transpose()",
    "a.ravel()",
    "A.ravel()",
    # elements and attributes
    "a[3]",
    "a[3] = 1.0",
    "a[k]",
    "a[k] = a[k]",
    "A[1, 2] = 1.0",
    "a[1:5] = 1.0",
    "a[1:5] = b[1:5]",
    "a.shape",
    "a.dtype",
    "a.size",
    "len(a)",
    "a.item(3)",
    # copies and selections
    "a.copy()",
    "a.astype(np.float32)",
    "a[x]",
    "a[m]",
    "np.where(m, a, b)",
    "np.asarray(a)",
    # arithmetic
    "a + b",
    "a * 0.5",
    "a > b",
    "-a",
    "np.sqrt(a)",
    "np.exp(a)",
    "np.add(a, b)",
    "np.add(a, b, out=c)",
    "np.negative(a, out=c)",
    "np.maximum(a, b)",
    "a.sum()",
    "np.sum(a)",
    "float(a.sum())",
    "A.sum(axis=0)",
    "a.max()",
    "a.mean()",
    "a.argmax()",
    "a @ b",
    # other types, strides and shapes
    "a + i8",
    "f4 * i8",
    "s * a",
    "numpy_a * a",
    "S.T + S",
    "S[::2, ::2] * 2.0",
    "S * S[0]",
    "S[:, 0] - S[:, 1]",
    "S[:, 0].__iadd__(1.0)",
    "S[1:].__iadd__(S[:-1])",
    "S @ S[0]",
    "S @ S",
    "S.T.copy()",
    "S.argmax(axis=0)",
    "a.dot(b)",
    "a[x] = 1.0",
    "np.arange(0, 1, 0.1)",
    # new arrays
    "np.empty(n)",
    "np.zeros(n)",
    "np.arange(n)",
    # random numbers
    "rng.random()",
    "rng.random(n)",
    "rng.normal(size=n)",
    "rng.integers(0, 10, n)",
    "np.random.rand()",
    "np.random.rand(n)",
    "np.zeros_like(a)",
    "np.ones_like(a)",
    "np.empty_like(a)",
    "np.eye(10)",
    "np.diag(x)",
    # put together
    "np.concatenate([a[:5], b[:5]])",
    "np.hstack([a[:5], b[:5]])",
    "np.vstack([a[:5], b[:5]])",
    "np.stack([a[:5], b[:5]])",
    "np.repeat(x, 2)",
    "np.tile(x, 2)",
    # functions
    "np.interp(1.5, a, b)",
    "np.convolve(a, b[:5])",
    "np.bincount(x)",
    "np.searchsorted(a, 1.5)",
    "np.einsum('i,i->', a, b)",
    "np.linalg.norm(a)",
    "np.percentile(a, 50)",
    "np.nonzero(m)",
    "np.outer(x, x)",
    "np.cross(a[:3], b[:3])",
    "np.linspace(0, 1, 50)",
    "[e for e in a]",
]


MIDDLING_SIZES = 3_000, 20_000, 60_000, 300_000
MIDDLING = [
    "a + b",
    "a * 0.5",
    "a / b",
    "a > b",
    "np.maximum(a, b)",
    "np.clip(a, 1.2, 1.8)",
    "np.where(m, a, b)",
    "np.sqrt(a)",
    "np.exp(a)",
    "np.log(a)",
    "np.sin(a)",
    "a**1.5",
    "y // 3",
    "y % 7",
    "~m",
    "A + A[0]",
    "A * A[:, :1]",
    "A + A.T",
    "float(a.sum())",
    "float(a.min())",
    "float(a.std())",
    "int(a.argmax())",
    "A.sum(axis=0)",
    "A.sum(axis=1)",
    "A.max(axis=1)",
    "int(np.count_nonzero(m))",
    "bool(m.any())",
    "float(a @ b)",
    "float(np.linalg.norm(a))",
    "a.copy()",
    "a.astype(np.float32)",
    "A.T.copy()",
    "a[::2].copy()",
    "a[::-1].copy()",
    "a[m]",
    "a[y]",
    "np.take(a, y)",
    "np.nonzero(m)[0]",
    "np.zeros(n)",
    "np.ones(n)",
    "np.arange(n)",
    "np.concatenate([a, b])",
    "np.roll(a, 5)",
    "np.diff(a)",
    "np.cumsum(a)",
    "np.sort(r)",
    "np.argsort(r)",
    "np.unique(y)",
    "np.bincount(y)",
    "float(np.median(r))",
    "np.histogram(a, 50)[0]",
    "np.convolve(a, b[:9])",
    "np.interp(a, b, a)",
    "np.fft.rfft(a)",
]


def names(module, n):
    side = int(n**0.5)
    a = module.asarray(numpy.linspace(1, 2, n))
    return dict(
        np=module,
        n=n,
        k=n // 2,
        i=slice(1, n - 1),
        a=a,
        A=module.asarray(numpy.linspace(1, 2, n).reshape(2, -1) if n <= 1000 else numpy.ones((side, side))),
        b=module.asarray(numpy.linspace(2, 3, n)),
        c=module.asarray(numpy.zeros(n)),
        S=module.asarray(numpy.linspace(1, 2, side * side).reshape(side, side)),
        i8=module.asarray(numpy.arange(n)),
        f4=module.asarray(numpy.linspace(1, 2, n, dtype="f4")),
        s=numpy.float64(1.5),
        numpy_a=numpy.linspace(1, 2, n),
        m=module.asarray(numpy.arange(n) % 2 == 0),
        x=module.asarray(numpy.arange(5)),
        y=module.asarray(numpy.arange(n) * 7919 % min(n, 1000)),
        r=module.asarray(numpy.random.default_rng(2).random(n)),
        rng=module.random.default_rng(1),
        wait=module.sync if module is numloom else lambda result: result,
    )


def measure(call, sizes, rounds):
    """{size: {module name: microseconds, "ratio": theirs}}."""
    result = {}
    for n in sizes:
        timers = {m.__name__: timeit.Timer(call, globals=names(m, n)) for m in (numpy, numloom)}
        repeats = {}
        for name, timer in timers.items():
            warm = min(1000, timer.autorange()[0])
            repeats[name] = max(warm, int(0.003 / (timer.timeit(warm) / warm)))
        seen = {name: [] for name in timers}
        for _ in range(rounds):
            for name, timer in timers.items():
                seen[name].append(timer.timeit(repeats[name]) / repeats[name] * 1e6)
        result[n] = {name: statistics.median(times) for name, times in seen.items()}
        result[n]["ratio"] = statistics.median(b / a for a, b in zip(seen["numpy"], seen["numloom"], strict=True))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--middling", action="store_true", help="calls on thousands of elements, each waited for")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="only calls that contain this text")
    parser.add_argument("--json", help="write the figures to this file")
    args = parser.parse_args()
    sizes, calls = (MIDDLING_SIZES, MIDDLING) if args.middling else (SMALL_SIZES, SMALL)
    print("| call | " + " | ".join(f"NumPy, {n:,} | Numloom, {n:,} | ratio" for n in sizes) + " |")
    print("|---" * (3 * len(sizes) + 1) + "|")
    figures = {}
    gc.disable()
    for call in calls:
        if args.only not in call:
            continue
        waits = args.middling and not call.startswith(("float(", "int(", "bool("))
        figures[call] = cells = measure(f"wait({call})" if waits else call, sizes, args.rounds)
        row = (f"{cells[n]['numpy']:.3f} | {cells[n]['numloom']:.3f} | {cells[n]['ratio']:.2f}" for n in sizes)
        print(f"| `{call}` | " + " | ".join(row) + " |", flush=True)
    if args.json:
        with open(args.json, "w") as f:
            json.dump(figures, f, indent=1)


if __name__ == "__main__":
    main()
