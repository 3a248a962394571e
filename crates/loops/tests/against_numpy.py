"""Compares every loop, fold and cast with NumPy: values, and the exceptions NumPy warns about.

python crates/loops/tests/against_numpy.py path/to/examples/oracle [operation ...]
"""

import itertools
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np

RNG = np.random.default_rng(1)
FLAGS = {1: "divide", 2: "over", 4: "under", 8: "invalid"}
TABLE = Path(__file__).parents[2] / "ir" / "src" / "scalar_op.rs"
DTYPES = "?bBhHiIlLefdFD"
FOLDS_GIVING_BOOL = {"logical_and", "logical_or", "logical_xor"}

# Functions that may differ by some units in the last place; all others must agree in every bit.
INEXACT = {
    "power",
    "float_power",
    "cbrt",
    "exp",
    "exp2",
    "expm1",
    "log",
    "log2",
    "log10",
    "log1p",
    "logaddexp",
    "logaddexp2",
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "arctan2",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arccosh",
    "arctanh",
    "hypot",
}
# NumPy fuses these products, or computes complex64 in single precision, where these loops do not.
INEXACT_IN_COMPLEX = {"multiply", "square", "sqrt", "absolute"}
# Units in the last place allowed, and a share of the result where an exponent magnifies errors.
ULPS = {"real": 4, "D": 32, "F": 64}
POWERS = {"power", "float_power", "exp2"}
# Where NumPy 2.4 cannot be the oracle: its vector loop reduces wrongly.
NO_FOLD_ORACLE = {"arctan2", "power", "float_power"}
SIGNED_ZERO_VARIES = {"maximum", "minimum", "fmax", "fmin"}


def operations():
    text = TABLE.read_text()
    lists = {
        m[1]: re.findall(r'"([^"]+)"', m[2]) for m in re.finditer(r"const (\w+): &\[&str\] =\s*&\[(.*?)\];", text, re.S)
    }
    for m in re.finditer(r'^    \w+ "(\w+)" \d \d (\w+|&\[.*?\]), ', text, re.M):
        loops = lists[m[2]] if m[2] in lists else re.findall(r'"([^"]+)"', m[2])
        yield m[1], [loop.split(">") for loop in loops]


def specials(code):
    dtype = np.dtype(code)
    if code == "?":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        near = [
            0,
            1,
            2,
            3,
            5,
            7,
            8,
            16,
            31,
            32,
            63,
            64,
            100,
            info.max,
            info.max - 1,
            info.max // 2,
            info.min,
            info.min + 1,
        ]
        if dtype.kind == "i":
            near += [-1, -2, -3, -7, -8, -64]
        return np.array(near, dtype)
    real = np.dtype(code.lower())
    info = np.finfo(real)
    near = [
        0,
        1,
        2,
        3,
        0.5,
        0.25,
        1.5,
        2.5,
        1 / 3,
        10,
        100,
        1e-3,
        0.75,
        65504,
        1e4,
        info.max,
        info.tiny,
        info.smallest_subnormal,
        info.eps,
        20,
        88,
        700,
        np.inf,
        np.pi,
        np.pi / 2,
        7.25,
    ]
    near = np.array(near, np.float64).astype(real)
    near = np.concatenate([near, -near, np.array([np.nan], real)])
    if dtype.kind == "f":
        return near
    few = np.concatenate([near[[0, 1, 4, 2, 9, 15, 16, 17, 20, 21, 22]], -near[[0, 1, 4, 2, 20, 22]], near[-1:]])
    pairs = np.array(list(itertools.product(few, few)), real)
    return pairs.reshape(-1).view(code)


def randoms(code, n):
    dtype = np.dtype(code)
    if code == "?":
        return RNG.random(n) < 0.5
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = RNG.integers(info.min, info.max, n, dtype, endpoint=True)
        small = RNG.integers(max(info.min, -9), 9, n).astype(dtype)
        return np.where(RNG.random(n) < 0.5, wide, small)
    real = np.dtype(code.lower())
    parts = (RNG.standard_normal(2 * n) * 10.0 ** RNG.uniform(-3, 2, 2 * n)).astype(real)
    return parts[:n] if dtype.kind == "f" else parts.view(code)


def inputs(op, codes):
    if len(codes) == 1:
        values = [np.concatenate([specials(codes[0]), randoms(codes[0], 200)])]
    else:
        a, b = specials(codes[0]), specials(codes[1])
        if len(a) * len(b) > 4000:
            a, b = RNG.choice(a, 3000), RNG.choice(b, 3000)
        else:
            a, b = np.repeat(a, len(b)), np.tile(b, len(a))
        values = [np.concatenate([a, randoms(codes[0], 300)]), np.concatenate([b, randoms(codes[1], 300)])]
    if op in ("power", "float_power") and values[1].dtype.kind in "i":
        values[1] = np.abs(np.where(values[1] == np.iinfo(values[1].dtype).min, 0, values[1]))
    return values


class Oracle:
    def __init__(self, path):
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, line, arrays, outs):
        self.process.stdin.write(line.encode() + b"\n" + b"".join(a.tobytes() for a in arrays))
        self.process.stdin.flush()
        results = [np.frombuffer(self.process.stdout.read(n * np.dtype(c).itemsize), c) for c, n in outs]
        return results, self.process.stdout.read(1)[0]


def with_flags(function):
    seen = set()
    note = lambda kind, _flag: seen.add(
        {"divide by zero": "divide", "overflow": "over", "underflow": "under", "invalid value": "invalid"}[kind]
    )
    with np.errstate(all="call", call=note):
        result = function()
    return result, seen


def real_parts(a):
    return a.view(a.real.dtype).reshape(-1, 2) if a.dtype.kind == "c" else a.reshape(-1, 1)


def agree(ours, theirs, ulps, zeros_vary=False):
    if ours.dtype.kind not in "fc":
        return ours == theirs
    ok = np.ones(len(ours), bool)
    magnitude = np.abs(theirs.astype("D")) if ours.dtype.kind == "c" else None
    for k in range(real_parts(ours).shape[1]):
        x, y = real_parts(ours)[:, k], real_parts(theirs)[:, k]
        with np.errstate(all="ignore"):
            same = (x == y) & ((np.signbit(x) == np.signbit(y)) | zeros_vary) | np.isnan(x) & np.isnan(y)
            if ulps:
                unit = np.abs(np.spacing(y))
                if magnitude is not None:
                    unit = np.maximum(unit, np.spacing(np.minimum(magnitude, np.finfo(y.dtype).max).astype(y.dtype)))
                same |= np.abs(x.astype("d") - y.astype("d")) <= ulps * unit.astype("d")
        ok &= same
    return ok


class Report:
    def __init__(self):
        self.mismatches = 0

    def values(self, title, arrays, ours, theirs, ok):
        if ok.all():
            return
        self.mismatches += 1
        bad = np.flatnonzero(~ok)
        print(f"{title}: {len(bad)} of {len(ok)} differ")
        for i in bad[:4]:
            print("   ", *(repr(a[i % len(a)]) for a in arrays), "-> ours", repr(ours[i]), "NumPy", repr(theirs[i]))

    def flags(self, title, arrays, ours, theirs):
        ours = {name for bit, name in FLAGS.items() if ours & bit}
        missing, extra = theirs - ours - {"under"}, ours - theirs - {"under"}
        if missing or extra:
            self.mismatches += 1
            print(f"{title}: flags missing {missing or '-'}, spurious {extra or '-'};", *(a[:1] for a in arrays))


def check_block(oracle, report, op, lp, types):
    ins, outs = types
    ufunc = getattr(np, op)
    arrays = inputs(op, ins)
    signature = f"{ins}->{outs}"
    title = f"{op} {signature}"
    kind = ins[0] if ins[0] in "FD" else "real"
    ulps = ULPS[kind] if op in INEXACT or kind != "real" and op in INEXACT_IN_COMPLEX else 0
    if kind != "real" and op in POWERS:
        ulps = 600_000  # the exponent magnifies the logarithm's last place
    if op in ("logaddexp", "logaddexp2"):
        ulps = 4000  # NumPy cancels where these are near zero
    numpy_signature = (
        signature.replace("l", "q").replace("L", "Q") if len(set(ins)) == 2 and set(ins) == {"l", "L"} else signature
    )
    for start in range(0, len(arrays[0]), 1000):
        part = [a[start : start + 1000] for a in arrays]
        n = len(part[0])
        forms = [part] + (
            [[part[0], part[1][k : k + 1]] for k in (0, 3)] + [[part[0][3:4], part[1]]]
            if len(part) == 2
            else [[part[0][5 % n : 5 % n + 1]]]
        )
        for form in forms:
            with np.errstate(all="ignore"):
                whole = [np.broadcast_to(a, n).copy() for a in form]
                theirs = ufunc(*whole, signature=numpy_signature)
            theirs = theirs if isinstance(theirs, tuple) else (theirs,)
            steps = " ".join(str(a.itemsize if len(a) == n else 0) for a in form)
            ours, _ = oracle.ask(f"block {op} {lp} {n} {steps}", form, [(c, n) for c in outs])
            for x, y in zip(ours, theirs):
                ok = agree(x, y, ulps, op in SIGNED_ZERO_VARIES)
                if kind != "real" and op == "log1p":
                    # NumPy rounds 1 + z first; these loops do not lose what that takes.
                    with np.errstate(all="ignore"):
                        ok |= np.abs(x - y) <= 4 * np.finfo(y.dtype).eps
                if kind != "real" and ulps and op in POWERS | {"multiply", "square"}:
                    with np.errstate(all="ignore"):
                        ok |= ~np.isfinite(y) | ~np.isfinite(x) | (np.abs(whole[0]) > 1e30)
                report.values(title, form, x, y, ok)
    if np.dtype(ins[0]).kind == "c" and op in INEXACT | INEXACT_IN_COMPLEX or op in ("logaddexp", "logaddexp2"):
        return
    for i in range(0, len(arrays[0]), 7 if len(arrays) == 2 else 1):
        single = [a[i : i + 1] for a in arrays]
        _, seen = with_flags(lambda: ufunc(*single, signature=numpy_signature))
        steps = " ".join(str(a.itemsize) for a in single)
        _, flags = oracle.ask(f"block {op} {lp} 1 {steps}", single, [(c, 1) for c in outs])
        before = report.mismatches
        report.flags(title, single, flags, seen)
        if report.mismatches - before and report.mismatches > 400:
            return


def complex_points(n):
    """Numbers of double precision by region: where formulas for complex functions lose digits, and elsewhere."""
    sign = lambda: RNG.choice([-1.0, 1.0], n)
    size = lambda low, high: sign() * 10.0 ** RNG.uniform(low, high, n)

    def point(re, im):
        z = np.empty(n, "D")
        z.real, z.imag = re, im
        return z

    angle = RNG.uniform(0, 2 * np.pi, n)
    ordinary = lambda: np.where(RNG.random(n) < 0.5, size(-10, 10), RNG.uniform(-3, 3, n))
    return {
        "square": point(RNG.uniform(-2, 2, n), RNG.uniform(-2, 2, n)),
        "wide": point(size(-20, 20), size(-20, 20)),
        "wider": point(size(-150, 150), size(-150, 150)),
        "widest": point(size(-307, 307), size(-307, 307)),
        "real axis": point(ordinary(), sign() * 0.0),
        "imaginary axis": point(sign() * 0.0, ordinary()),
        "near 1": point(sign() + size(-17, -1), size(-17, -1)),
        "beside 1": point(sign() + size(-17, -1), size(-160, -10)),
        "near i": point(size(-17, -1), sign() + size(-17, -1)),
        "beside i": point(size(-160, -10), sign() + size(-17, -1)),
        "unit circle": point(np.cos(angle), np.sin(angle)),
    }


def part_errors(results, exact):
    """Units in the last place of each part; zero where the exact one is not an ordinary number."""
    errors = []
    for x, y in ((results.real, exact.real), (results.imag, exact.imag)):
        near = y.astype("d")
        ordinary = np.isfinite(near) & (np.abs(near) > 1e-290)
        unit = np.spacing(np.abs(np.where(ordinary, near, 1.0)))
        error = np.where(ordinary, np.abs(x.astype("g") - y) / unit, 0)
        errors.append(np.where(np.isnan(error), np.inf, error))
    return np.array(errors)


def check_complex(oracle, report, op, lp):
    """Each part of a function in double precision against NumPy's in extended precision: to few units in the last place,
    or nearly as well as NumPy's own does in that region."""
    ufunc = getattr(np, op)
    least = 6 if op in ("tan", "tanh") else 4  # NumPy's own reach 5.7
    for region, points in complex_points(500).items():
        with np.errstate(all="ignore"):
            exact, theirs = ufunc(points.astype("G")), ufunc(points)
            (ours,), _ = oracle.ask(f"block {op} {lp} {len(points)} 16", [points], [("D", len(points))])
            allowed = np.maximum(least, 1.5 * part_errors(theirs, exact).max(axis=1, keepdims=True))
            ok = (part_errors(ours, exact) <= allowed).all(axis=0)
            for x, y in ((ours.real, theirs.real), (ours.imag, theirs.imag)):
                ok &= (x != 0) | (y != 0) | (np.signbit(x) == np.signbit(y))
        report.values(f"{op} D, {region}", [points], ours, theirs, ok)


def check_fold(oracle, report, op, lp, types):
    ins, outs = types
    if len(ins) != 2 or len(outs) != 1 or ins[0] != ins[1]:
        return
    if not (ins[0] == outs or op in FOLDS_GIVING_BOOL) or op in NO_FOLD_ORACLE:
        return
    whole = np.dtype(ins[0]).kind in "?biu"
    for n in (1, 2, 3, 7, 8, 9, 64, 100, 129, 200, 1000, 1024):
        a = randoms(ins[0], n) if op != "power" or not whole else RNG.integers(0, 3, n).astype(ins[0])
        with np.errstate(all="ignore"):
            theirs = np.array([getattr(np, op).reduce(a, dtype="?" if op in FOLDS_GIVING_BOOL else ins[0])])
        ours, _ = oracle.ask(f"fold {op} {lp} {n}", [a], [(outs, 1)])
        ok = agree(ours[0], theirs, 0)
        if not whole and not ok.all():
            with np.errstate(all="ignore"):
                ok = np.isclose(
                    ours[0], theirs, rtol={"e": 0.02, "f": 1e-4, "F": 1e-4}.get(ins[0], 1e-11), equal_nan=True
                )
                if op == "add":
                    ok |= np.abs(ours[0] - theirs) <= np.abs(a).sum(dtype="d") * np.finfo(ins[0]).eps * 4
        report.values(f"fold {op} {ins} n={n}", [a], ours[0], theirs, ok)


def check_casts(oracle, report):
    for x, y in itertools.product(DTYPES, DTYPES):
        a = np.concatenate([specials(x), randoms(x, 100)])
        if np.dtype(x).kind in "fc":
            more = np.array(
                [2.0**k * s + d for k in (7, 8, 15, 16, 31, 32, 63, 64) for s in (1, -1) for d in (-1, -0.5, 0, 0.5, 1)]
            )
            with np.errstate(all="ignore"):
                a = np.concatenate([a, more.astype(x)])
        a = a[:1024]
        with np.errstate(all="ignore"):
            theirs = a.astype(y)
        names = np.dtype(x).name, np.dtype(y).name
        ours, _ = oracle.ask(f"cast {names[0]} {names[1]} {len(a)}", [a], [(y, len(a))])
        report.values(f"cast {names[0]} to {names[1]}", [a], ours[0], theirs, agree(ours[0], theirs, 0))
        for i in range(len(a)):
            _, seen = with_flags(lambda: np.repeat(a[i : i + 1], 8).astype(y))
            _, flags = oracle.ask(f"cast {names[0]} {names[1]} 1", [a[i : i + 1]], [(y, 1)])
            report.flags(f"cast {names[0]} to {names[1]}", [a[i : i + 1]], flags, seen)


def main():
    warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
    oracle, report, chosen = Oracle(sys.argv[1]), Report(), sys.argv[2:]
    for op, loops in operations():
        if chosen and op not in chosen:
            continue
        for lp, types in enumerate(loops):
            check_block(oracle, report, op, lp, types)
            check_fold(oracle, report, op, lp, types)
            # The real part of expm1 cancels, as NumPy's does.
            if types == ["D", "D"] and op in INEXACT - {"expm1"} | {"sqrt"}:
                check_complex(oracle, report, op, lp)
    if not chosen or "cast" in chosen:
        check_casts(oracle, report)
    print(f"{report.mismatches} mismatches")
    return report.mismatches > 0


if __name__ == "__main__":
    sys.exit(main())
