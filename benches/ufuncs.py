"""Every ufunc on 10 and on 1,000 elements: `python benches/ufuncs.py [--types dl?fD] [--above 1.0]`.

Microseconds a call. NumPy and Numloom take turns in one process; the best of the rounds counts. Shown are the calls
that take longer than NumPy's on 1,000 elements, and on 10 those that take longer than NumPy's and than 0.6 µs; then how
many there are of each.
"""

from __future__ import annotations

import argparse
import statistics
import timeit
import warnings

import numpy

ROUNDS = 9
LEAST = 1.5e-3  # seconds of one measurement
FEW, MANY = 10, 1000


def ufuncs() -> list[str]:
    """One name of each elementwise ufunc."""
    found: dict[object, str] = {}
    for name in dir(numpy):
        function = getattr(numpy, name)
        if isinstance(function, numpy.ufunc) and not function.signature:
            found.setdefault(function, name)
    return list(found.values())


def operands(name: str, dtype: str, n: int) -> list[numpy.ndarray]:
    rng = numpy.random.default_rng(0)

    def one() -> numpy.ndarray:
        x = rng.random(n) * 0.8 + 0.1
        if name in ("acosh", "arccosh"):
            x = x + 1
        if dtype in "bhilBHIL":
            return (x * 50 + 1).astype(dtype)
        return x > 0.5 if dtype == "?" else x.astype(dtype)

    second = (rng.random(n) * 9).astype("i4") if name == "ldexp" else one()
    return [one(), second][: getattr(numpy, name).nin]


def timer(function: object, args: list[object]) -> tuple[timeit.Timer, int]:
    call = "f(x)" if len(args) == 1 else "f(x, y)"
    made = timeit.Timer(call, globals={"f": function, "x": args[0], "y": args[-1]})
    number = 1
    while made.timeit(number) < LEAST:
        number *= 4
    return made, number


def main() -> None:
    import numloom

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--types", default="dl?fD", help="NumPy's characters for the types to try")
    parser.add_argument("--above", type=float, default=1.0, help="ratios that are shown")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    ratios, few = [], []
    with numpy.errstate(all="ignore"):
        for name in ufuncs():
            for dtype in given.types:
                for n in (FEW, MANY):
                    host = operands(name, dtype, n)
                    try:
                        getattr(numpy, name)(*host)
                    except TypeError:
                        continue
                    ours = [numloom.asarray(x) for x in host]
                    timers = [timer(getattr(numpy, name), host), timer(getattr(numloom, name), ours)]
                    theirs, mine = (1e6 * b for b in best(timers))
                    ratio = mine / theirs
                    if n == MANY:
                        ratios.append(ratio)
                    else:
                        few.append((mine, mine > max(0.6, theirs)))
                    if (n == MANY and ratio > given.above) or (n == FEW and few[-1][1]):
                        print(f"{ratio:5.2f}  {name:<14} {dtype}  {n:>5}  {theirs:8.3f} {mine:8.3f}", flush=True)
    above = [sum(r > limit for r in ratios) for limit in (1, 1.1)]
    print(f"{len(ratios)} calls on {MANY}: {above[0]} above 1, {above[1]} above 1.1, ", end="")
    print(f"the median {statistics.median(ratios):.2f} of NumPy's")
    print(f"{len(few)} calls on {FEW}: {sum(slow for _, slow in few)} above NumPy's and 0.6 µs, ", end="")
    print(f"the median {statistics.median(t for t, _ in few):.2f} µs")


def best(timers: list[tuple[timeit.Timer, int]]) -> list[float]:
    """Seconds a call of each, in turn."""
    found = [float("inf")] * len(timers)
    for _ in range(ROUNDS):
        for k, (made, number) in enumerate(timers):
            found[k] = min(found[k], made.timeit(number) / number)
    return found


if __name__ == "__main__":
    main()
