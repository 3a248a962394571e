"""`make order`: writes crates/python/hot_functions.txt, the functions that ordinary programs run.

Each program runs in a process of its own with a breakpoint at the start of every function of the built library.
Functions that most programs run come first. For x86-64 Linux; needs `nm` and a C compiler.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LIST = ROOT / "crates/python/hot_functions.txt"
MARKS = "numloom_hot_begin", "numloom_hot_end"
CONSTANTS = "NUMLOOM_CONSTANTS_BEGIN"

PREAMBLE = """
SIDE, LENGTH = 2048, 2048 * 2048
generator = numpy.random.default_rng(3)
def random(shape, dtype=None):
    host = generator.random(shape, dtype=dtype or "{dtype}")
    made = np.asarray(host)
    numpy.asarray(made)
    return made
"""

CONFIG = {"NUMLOOM_CONFIG": "--cpus 2"}

# What the programs of tests/test_peak_memory.py leave out.
MORE = {
    "small": """
        a, b = random(10), random(1000)
        for _ in range(3):
            c = a + 1.0; d = a * c - b[:10]; e = b[::2].sum(); f = np.sqrt(abs(d)); a[2:5] = f[0]; g = a[3] > 0.5
            if g or float(e) > 0: b[a[0] < b] += 1
        float(np.maximum(a * 0.5, c).sum()); np.asarray([1.5, 2.0]); isinstance(c, (tuple, list)) or len(c)
        h = np.zeros((3, 4)); h[1] = 2; h.T.reshape(-1); np.arange(5).max(); np.ones(3, dtype="i4") @ np.arange(3)
    """,
    "tall": """
        x = random((8 * SIDE * 16, 50)); w = np.zeros(50, dtype=x.dtype); y = random(x.shape[0]); rr = y @ y
        for _ in range(3):
            p = 1.0 / (1.0 + np.exp(-(x @ w))); w = w - 0.1 / len(y) * (x.T @ (p - y))
            a = rr / (y @ p); rr = a * rr + 1 - a
        numpy.asarray(w)
    """,
    "deferred cg": """
        a, b = random((4 * SIDE, 4 * SIDE)) + 4 * SIDE * numpy.eye(4 * SIDE), random(4 * SIDE)
        for again in range(3):
            x = np.zeros_like(b); r = b - a @ x; p, rr = r, r @ r
            for _ in range(19):
                q = a @ p; alpha = rr / (p @ q); x = x + alpha * p; r = r - alpha * q; new = r @ r
                p = r + (new / rr) * p; rr = new
            numpy.asarray(x)
    """,
    "random": """
        z = np.random.default_rng(7).standard_normal(LENGTH)
        s = 100 * np.exp(0.2 * z - 0.02); (np.maximum(s - 105, 0).mean() * 0.95, z.std(), np.sort(z), z[z > 1].sum())
    """,
}


def functions(library: Path) -> dict[int, str]:
    lines = subprocess.run(["nm", "-S", library], capture_output=True, text=True, check=True).stdout.splitlines()
    parts = [line.split() for line in lines]
    return {int(p[0], 16): p[3] for p in parts if len(p) == 4 and p[2] in "tTwW" and p[3] not in MARKS}


def trace(breakpoints: str, library: str, program: str) -> None:
    """Runs a program given as text and prints the functions it ran."""
    import numpy

    names = functions(Path(library))
    loaded = ctypes.CDLL(library)  # kept: breakpoints go in before the module is imported
    base = next(int(line.split("-")[0], 16) for line in open("/proc/self/maps") if library in line)
    places = sorted(names)
    starts = (ctypes.c_uint64 * len(places))(*[base + place for place in places])
    tracer = ctypes.CDLL(breakpoints)
    end = ctypes.c_uint64(base + places[-1] + 64)
    if tracer.set_breakpoints(starts, ctypes.c_size_t(len(places)), end):
        sys.exit("the library's code could not be changed")
    import numloom

    for dtype in "f8", "f4":
        exec(PREAMBLE.format(dtype=dtype) + program, {"numpy": numpy, "np": numloom})
        numloom.sync()
    found = (ctypes.c_uint32 * len(places))()
    many = tracer.functions_hit(found)
    print(json.dumps([names[places[k]] for k in found[:many]]), flush=True)
    os._exit(0 if loaded else 1)  # what runs at exit is not worth a place


def programs() -> dict[str, str]:
    sys.path.insert(0, str(ROOT))
    from tests.test_peak_memory import PROGRAMS

    out = {name: textwrap.dedent(text) for name, text in MORE.items()}
    for name, text in PROGRAMS.items():
        inputs, body = textwrap.dedent(text).split("---\n")
        again = "for again in range(3):\n" + textwrap.indent(body, "    ") + "    [numpy.asarray(r) for r in results]\n"
        out[name] = inputs + again
    return out


def main() -> int:
    from numloom import _core

    ran: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as scratch:
        breakpoints = f"{scratch}/breakpoints.so"
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", breakpoints, HERE / "breakpoints.c"], check=True)
        for name, text in programs().items():
            command = [sys.executable, __file__, breakpoints, _core.__file__, text]
            done = subprocess.run(command, capture_output=True, text=True, env=os.environ | CONFIG)
            if done.returncode:
                sys.exit(f"{name}: {done.stderr[-2000:] or done.returncode}")
            names = json.loads(done.stdout.splitlines()[-1])
            print(f"{name}: {len(names)} functions", flush=True)
            for function in names:
                ran[function] = ran.get(function, 0) + 1
    ordered = sorted(ran, key=lambda function: -ran[function])  # stable: as they came
    LIST.write_text("\n".join([CONSTANTS, MARKS[0], *ordered, MARKS[1]]) + "\n")
    print(f"{len(ordered)} functions in {LIST.relative_to(ROOT)}; build again for them to lie so")
    return 0


if __name__ == "__main__":
    if len(sys.argv) == 4:
        trace(*sys.argv[1:])
    sys.exit(main())
