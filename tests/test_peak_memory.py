"""Arrays never take more memory than under NumPy: small copies of the benchmarks, each in processes of its own.

NumPy's peak is that of `tracemalloc`, which NumPy tells of every array. Numloom's is that of its pool, which counts
arrays of more than a kilobyte and the scratch of library operations from 64 KiB on. Both count the inputs.

Code counts, too: what ordinary programs run lies together and comes in at import (crates/python/build.rs).
"""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SIDE = 1024
LENGTH = SIDE * SIDE

PROGRAMS = {
    "seed_inefficient": """
        x, y = random(LENGTH, "f4"), random(LENGTH, "f4")
        ---
        chosen = np.nonzero((x < 0.25) & (y > 0.5))
        z = x + y
        other = x * y + 1.0
        z[chosen] = other[chosen]
        for s in range(0, LENGTH, 4096):
            part = z[s : s + 4096]
            above = part > 1.0
            part[above] = part[above] + 2.0
            part[~above] = part[~above] - 2.0
        results = z,
    """,
    "seed_efficient": """
        x, y = random(LENGTH, "f4"), random(LENGTH, "f4")
        ---
        z = np.empty_like(x)
        np.add(x, y, out=z)
        np.putmask(z, (x < 0.25) & (y > 0.5), x * y + 1.0)
        above = z > 1.0
        z[above] += 2.0
        z[~above] -= 2.0
        results = z,
    """,
    "black_scholes": """
        s, k, t = random(LENGTH) + 10, random(LENGTH) + 10, random(LENGTH) + 0.25
        ---
        def cdf(x):
            q = 1.0 / (1.0 + 0.2316419 * np.abs(x))
            tail = 0.3989422804 * np.exp(-0.5 * x * x) * (q * (0.31938153 + q * (-0.356563782 + q * 1.330274429)))
            return np.where(x < 0, tail, 1.0 - tail)
        vt = 0.3 * np.sqrt(t)
        d1 = (np.log(s / k) + 0.065 * t) / vt
        d2 = d1 - vt
        kd = k * np.exp(-0.02 * t)
        call = s * cdf(d1) - kd * cdf(d2)
        results = call, call - s + kd
    """,
    "chain": """
        x, y = random(LENGTH, "f4"), random(LENGTH, "f4")
        ---
        t = np.abs((x * 1.5 + 0.5) ** 2 - x)
        t = np.sqrt(t + 1.0) / (1.0 + x * x)
        t = np.minimum(np.maximum(t, 0.1), y) - 0.25 * y
        results = np.where(t > 0.0, t, -t) + x * y,
    """,
    "jacobi": """
        a, b = random((SIDE, SIDE)), random((SIDE, SIDE))
        ---
        for _ in range(10):
            b[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
            a, b = b, a
        results = a,
    """,
    "softmax": """
        x, = random((SIDE, SIDE)),
        ---
        x = (x - x.mean(axis=1, keepdims=True)) / np.sqrt(x.var(axis=1, keepdims=True) + 1e-5)
        e = np.exp(x - x.max(axis=1, keepdims=True))
        results = e / e.sum(axis=1, keepdims=True),
    """,
    "reductions": """
        x, = random((SIDE, SIDE)),
        ---
        results = x.mean(axis=0), x.var(axis=1), x.min(axis=0), x.max(axis=1), x.std(), np.argmax(x, axis=1)
    """,
    "scan": """
        x, = random((SIDE, SIDE)),
        ---
        results = np.cumsum(x), np.cumsum(x, axis=0), np.diff(x, axis=1)
    """,
    "cg": """
        a, b = random((SIDE, SIDE)) + SIDE * numpy.eye(SIDE), random(SIDE)
        ---
        x, r = np.zeros_like(b), b
        p, rr = r, float(b @ b)
        for _ in range(20):
            q = a @ p
            alpha = rr / float(p @ q)
            x, r = x + alpha * p, r - alpha * q
            rr, old = float(r @ r), rr
            p = r + rr / old * p
        results = x,
    """,
    "logreg": """
        x, y = random((8 * SIDE, SIDE // 8)), random(8 * SIDE)
        ---
        w = np.zeros(SIDE // 8)
        for _ in range(20):
            p = 1.0 / (1.0 + np.exp(-(x @ w)))
            w = w - 0.1 / len(y) * (x.T @ (p - y))
        results = w,
    """,
    "matmul_chain": """
        a, b, c = (random((SIDE, SIDE)) for _ in range(3))
        ---
        results = a @ b @ c,
    """,
    "sorting": """
        x, i = random(LENGTH), random(LENGTH).argsort()
        ---
        results = np.sort(x), x[i]
    """,
    "gray_scott": """
        u, v = random((SIDE, SIDE)), random((SIDE, SIDE))
        ---
        def around(z):
            return np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4 * z
        for _ in range(10):
            uvv = u * v * v
            u = u + 0.16 * around(u) - uvv + 0.06 * (1 - u)
            v = v + 0.08 * around(v) + uvv - 0.12 * v
        results = u, v
    """,
    "life": """
        x, = random((SIDE, SIDE)),
        ---
        z = (x < 0.3).astype(np.int32)
        for _ in range(6):
            n = sum(np.roll(np.roll(z, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
            z = ((n == 3) | ((z == 1) & (n == 2))).astype(np.int32)
        results = z,
    """,
    "cavity": """
        b, p = random((SIDE, SIDE)), random((SIDE, SIDE))
        ---
        p = p.copy()
        for _ in range(20):
            q = p.copy()
            p[1:-1, 1:-1] = (q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1]) / 4 - b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        results = p,
    """,
    "wave": """
        x, = random((SIDE, SIDE)),
        ---
        old, now = x.copy(), x.copy()
        for _ in range(10):
            new = np.empty_like(now)
            around = now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
            new[1:-1, 1:-1] = 2 * now[1:-1, 1:-1] - old[1:-1, 1:-1] + 0.1 * around
            new[0] = 0
            new[-1] = 0
            new[:, 0] = 0
            new[:, -1] = 0
            old, now = now, new
        results = now,
    """,
    "upwind": """
        x, = random(LENGTH),
        ---
        for _ in range(20):
            x = x - 0.3 * (x - np.roll(x, 1))
        results = x,
    """,
    "rescaled": """
        x, = random(LENGTH),
        ---
        for _ in range(6):
            c = np.cumsum(x)
            x = (c - c.mean()) / c.std()
        results = np.abs(x),
    """,
    "groups": """
        k, v = generator.integers(0, 1000, LENGTH), random(LENGTH)
        ---
        means = np.bincount(k, weights=v) / np.bincount(k)
        results = np.abs(means[k] - v),
    """,
    "standardised": """
        x, = random((LENGTH // 16, 12)),
        ---
        results = np.abs((x - x.mean(axis=0)) / x.std(axis=0)),
    """,
    "distances": """
        x, = random((SIDE, 8)),
        ---
        squares = (x**2).sum(1)
        results = np.exp(-0.5 * (squares[:, None] + squares[None, :] - 2 * x @ x.T)),
    """,
    "damped_roll": """
        a, b = random(LENGTH), random(LENGTH)
        ---
        for _ in range(40):
            a = np.roll(a, 1) * 0.5 + b
            b = b * 0.99
        results = a,
    """,
    "damped_smoothing": """
        a, b = random(LENGTH), random(LENGTH)
        ---
        a = a.copy()
        for _ in range(40):
            a[1:-1] = (a[:-2] + a[2:]) * 0.5 + b[1:-1]
            b = b * 0.99
        results = a,
    """,
    "damped_product": """
        a, b, c = (random((SIDE // 2, SIDE // 2)) for _ in range(3))
        ---
        for _ in range(20):
            a = c @ a
            a = a / a.max() + b
            b, c = b * 0.5, c * 0.9
        results = a,
    """,
    "driven_wave": """
        u, v, f = (random((SIDE, SIDE)) for _ in range(3))
        ---
        for _ in range(30):
            around = np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u
            v = v + 0.1 * around + f
            u = u + 0.1 * v
            f = f * 0.97
        results = u, v
    """,
    "sum_of_waves": """
        a, x = random(LENGTH), random(LENGTH)
        ---
        for k in range(20):
            a = 0.5 * (np.roll(a, 1) + np.roll(a, -1)) + np.sin(x * k) * x
        results = a,
    """,
    "moments": """
        x, = random(LENGTH),
        ---
        p, sums = np.ones(LENGTH), []
        for _ in range(20):
            p = p * x
            sums.append((p * np.cumsum(p)).mean())
        results = np.array([float(each) for each in sums]),
    """,
    "sorted_again": """
        x, = random(LENGTH),
        ---
        for _ in range(4):
            x = np.sort(x)[::-1] * 1.01
        results = x,
    """,
}

HARNESS = """
import gc, json, sys, tracemalloc
import numpy
SIDE, LENGTH = {side}, {length}
generator = numpy.random.default_rng(3)
def random(shape, dtype="f8"):
    return generator.random(shape, dtype=dtype)
ours = {ours}
if ours:
    import numloom as np
else:
    np = numpy
    tracemalloc.start()
{inputs}
if ours:
    for name, value in list(globals().items()):
        if type(value) is numpy.ndarray:
            globals()[name] = np.asarray(value)
    del value
    gc.collect()
else:
    tracemalloc.reset_peak()
def run({names}):
{body}
    return [numpy.asarray(r) for r in results]
results = run({names})
peak = np.stats()["peak_bytes"] if ours else tracemalloc.get_traced_memory()[1]
print(json.dumps([peak, [float(r.astype("f8").sum()) for r in results]]))
"""


def measure(name, ours):
    inputs, body = textwrap.dedent(PROGRAMS[name]).split("---\n")
    names = inputs.split("=")[0].strip().rstrip(",")
    text = HARNESS.format(
        side=SIDE, length=LENGTH, ours=ours, inputs=inputs, names=names, body=textwrap.indent(body, "    ")
    )
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True, timeout=120)
    return json.loads(done.stdout)


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_more_memory_than_numpy(name):
    (ours, values), (numpys, expected) = measure(name, True), measure(name, False)
    assert values == pytest.approx(expected, rel=1e-4)
    assert ours <= numpys, f"{ours / 2**20:.2f} MiB against {numpys / 2**20:.2f}"


FUNCTIONS = Path(__file__).parents[1] / "crates/python/hot_functions.txt"
GROWTH = """
import re
def mapped():
    return int(re.search(r"RssFile:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = mapped()
run({names})
print(mapped() - before)
"""


def is_laid_out():
    """Whether the list of functions names those of this build: other compilers give other names."""
    from numloom import _core

    listed = set(FUNCTIONS.read_text().split())
    try:
        names = subprocess.run(["nm", _core.__file__], capture_output=True, text=True).stdout.split()
    except FileNotFoundError:
        return False
    return len(listed.intersection(names)) > len(listed) / 2


@pytest.mark.parametrize("name", ["seed_efficient", "black_scholes", "jacobi", "reductions", "scan", "cg", "logreg"])
def test_code_comes_in_at_import(name):
    """A program read in 2 to 5 MiB of code when it ran it first. A failure after changes: `make order`."""
    if "avx512f" not in Path("/proc/cpuinfo").read_text():
        pytest.skip("the list was recorded where loops are AVX-512's")
    if not is_laid_out():
        pytest.skip("hot_functions.txt is another compiler's: `make order` makes one for this")
    inputs, body = textwrap.dedent(PROGRAMS[name]).split("---\n")
    names = inputs.split("=")[0].strip().rstrip(",")
    fields = {"side": SIDE, "length": LENGTH, "ours": True, "inputs": inputs, "names": names}
    text = HARNESS.format(**fields, body=textwrap.indent(body, "    ")).split("results = run(")[0]
    text += GROWTH.format(names=names)
    plain = {**os.environ, "NUMLOOM_CONFIG": "--cpus 2"}  # without what conftest.py asks for
    command = [sys.executable, "-c", text]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=plain)
    assert int(done.stdout) < 1024, f"{done.stdout.strip()} KiB of code read in"


PROCESS = """
import json, re, sys
def peak(reset=False):
    if reset:
        open("/proc/self/clear_refs", "w").write("5")
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
[numpy.asarray(x) for x in ({names},)]
before = peak(reset=True)
for _ in range(4):
    run({names})
print(peak() - before)
"""


@pytest.mark.parametrize("name", ["cg", "logreg"])
def test_the_process_grows_by_no_more_than_with_numpy(name):
    """What deferred operations, tasks and plans take counts, too: in `cg` it was 1 MiB, and NumPy's 0.3."""
    if "avx512f" not in Path("/proc/cpuinfo").read_text() or not is_laid_out():
        pytest.skip("hot_functions.txt is another machine's: `make order` makes one for this")
    inputs, body = textwrap.dedent(PROGRAMS[name]).split("---\n")
    names = inputs.split("=")[0].strip().rstrip(",")
    grew = {}
    for ours in True, False:
        fields = {"side": SIDE, "length": LENGTH, "ours": ours, "inputs": inputs, "names": names}
        text = HARNESS.format(**fields, body=textwrap.indent(body, "    ")).split("results = run(")[0]
        text = text.replace("tracemalloc.start()", "") + PROCESS.format(names=names)
        plain = {**os.environ, "NUMLOOM_CONFIG": "--cpus 2"}
        command = [sys.executable, "-c", text]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120, env=plain)
        grew[ours] = int(done.stdout)
    assert grew[True] <= grew[False] + 256, f"{grew[True]} KiB against {grew[False]}"
