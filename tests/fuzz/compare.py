"""Compares two outcomes of one program."""

from __future__ import annotations

import numpy

from . import execute
from .program import Program

# Disturbed runs, and how many more if the outcome lies outside what those reach: rounding may swallow a few.
RUNS = 5
MORE_RUNS = 60


def same(a: numpy.ndarray, b: numpy.ndarray) -> bool:
    if a.dtype.kind == "c":
        return same(a.real, b.real) and same(a.imag, b.imag)
    if a.dtype.kind == "f":
        return bool(numpy.array_equal(a, b, equal_nan=True))
    return bool(numpy.array_equal(a, b))


def near(expected: numpy.ndarray, actual: numpy.ndarray, shaken: list[numpy.ndarray]) -> bool:
    """Whether actual is as close to expected as the disturbed runs are, with a generous factor."""
    if expected.dtype.kind not in "fc":
        return False
    # Whether an operation on infinite parts of complex numbers gives infinity or NaN is not specified.
    ok = numpy.isfinite(expected)
    if not numpy.array_equal(ok, numpy.isfinite(actual)):
        return any(not numpy.array_equal(ok, numpy.isfinite(s)) for s in shaken) or at_the_edge(expected)
    size = numpy.where(ok, numpy.abs(expected), 0)
    if expected.dtype.kind == "f":
        return near_real(expected, actual, shaken, ok, size)
    parts = [(p(expected), p(actual), [p(s) for s in shaken]) for p in (numpy.real, numpy.imag)]
    return all(near_real(e, a, s, ok, size) for e, a, s in parts)


def at_the_edge(x: numpy.ndarray) -> bool:
    """Values so close to the largest float that rounding decides between it and infinity."""
    x = numpy.abs(x[numpy.isfinite(x)])
    return bool(x.size and x.max() > 0.9 * numpy.finfo(x.dtype).max)


def near_real(expected, actual, shaken, ok, size) -> bool:
    info = numpy.finfo(expected.dtype)
    wide = [x.astype(numpy.float64) for x in (expected, actual, *shaken)]
    e, a = wide[:2]
    moved = numpy.zeros_like(e)
    with numpy.errstate(invalid="ignore"):
        for s in wide[2:]:
            d = numpy.abs(s - e)
            moved = numpy.maximum(moved, numpy.where(numpy.isfinite(d), d, 0))
    moved = numpy.where(ok, moved, 0)
    tolerance = 64 * moved + 64 * float(info.eps) * size.astype(numpy.float64) + 4 * float(info.smallest_normal)
    if moved.size:
        # Rounding may swallow a disturbance in most elements, not in all.
        tolerance = tolerance + 64 * numpy.mean(moved)
    with numpy.errstate(invalid="ignore"):
        return bool(numpy.all((numpy.abs(a - e) <= tolerance) | ~ok))


class Comparison:
    """One comparison of a program's outcomes; disturbed runs are made only when somebody asks."""

    def __init__(self, program: Program, expected: execute.Outcome, actual: execute.Outcome) -> None:
        self.program, self.expected, self.actual = program, expected, actual
        self._shaken: list[execute.Outcome] = []

    def shaken(self, runs: int) -> list[execute.Outcome]:
        for seed in range(len(self._shaken), runs):
            self._shaken.append(execute.run(self.program, numpy, execute.PerturbedExecutor(seed)))
        return self._shaken[:runs]

    def difference(self) -> str | None:
        """The first thing that differs, in words, or None."""
        return self._errors() or self._reads() or self._values()

    def _errors(self) -> str | None:
        e = [(i, kind) for i, kind, _ in self.expected.errors]
        a = [(i, kind) for i, kind, _ in self.actual.errors]
        if e == a:
            return None
        said = dict.fromkeys([x for x in self.actual.errors if x[:2] not in e])
        missing = [x for x in self.expected.errors if x[:2] not in a]
        return f"errors differ: raised {list(said)}, NumPy raised {missing}"

    def _reads(self) -> str | None:
        if [i for i, _ in self.expected.reads] != [i for i, _ in self.actual.reads]:
            return "different reads were reached"
        for k, ((i, e), (_, a)) in enumerate(zip(self.expected.reads, self.actual.reads, strict=True)):
            step = self.program.steps[i]
            if isinstance(e, numpy.ndarray) and isinstance(a, numpy.ndarray):
                approx = step.approx or step.tainted
                if approx and e.dtype == a.dtype == numpy.float64:
                    # `float(x)` of a narrower x: compared in single precision.
                    e, a = e.astype(numpy.float32), a.astype(numpy.float32)
                wrong = self._arrays(e, a, approx, lambda o, k=k: o.reads[k][1] if k < len(o.reads) else None)
            else:
                wrong = None if repr(e) == repr(a) else f"{a!r} instead of {e!r}"
            if wrong:
                return f"read in step {i} ({step.code}): {wrong}"
        return None

    def _values(self) -> str | None:
        if self.expected.values.keys() != self.actual.values.keys():
            return f"different names live: {sorted(self.expected.values.keys() ^ self.actual.values.keys())}"
        for name, (e, e_array) in self.expected.values.items():
            a, a_array = self.actual.values[name]
            if e_array != a_array:
                return f"{name} is {'an array' if a_array else 'a scalar'}, under NumPy it is not"
            wrong = self._arrays(
                e, a, name in self.program.approx_names, lambda o, name=name: o.values.get(name, (None,))[0]
            )
            if wrong:
                return f"{name}: {wrong}"
        return None

    def _arrays(self, e, a, approx: bool, find) -> str | None:
        if e.shape != a.shape:
            return f"shape {a.shape} instead of {e.shape}"
        if e.dtype != a.dtype:
            return f"dtype {a.dtype} instead of {e.dtype}"
        if same(e, a):
            return None
        for runs in (RUNS, MORE_RUNS) if approx else ():
            shaken = [find(o) for o in self.shaken(runs)]
            if any(s is None or s.shape != e.shape for s in shaken) or near(e, a, shaken):
                return None
        return describe(e, a)


def describe(e: numpy.ndarray, a: numpy.ndarray) -> str:
    """The element that is furthest away, or the first where no distance can be told."""
    if e.ndim == 0:
        return f"{a[()]!r} instead of {e[()]!r}"
    with numpy.errstate(all="ignore"):
        wrong = ~((e == a) | ((e != e) & (a != a)))
        if e.dtype.kind in "fc":
            far = numpy.abs(a - e) / numpy.abs(e)
            far = numpy.where(wrong, numpy.where(numpy.isfinite(far), far, numpy.inf), -1)
        else:
            far = wrong
    at = tuple(map(int, numpy.unravel_index(numpy.argmax(far), e.shape))) if wrong.any() else ()
    return f"{int(wrong.sum())} of {e.size} elements differ, most at {at}: {a[at]!r} instead of {e[at]!r}"
