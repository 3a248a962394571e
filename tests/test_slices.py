"""Loops over slices: the runtime joins neighbouring slices, and must do so only where nobody can tell."""

import os
import random
import subprocess
import sys

import numpy
import pytest

import numloom as np
from tests.counters import Counted, explained
from tests.oracle import agree

LENGTH = 60_000
SHAPES = [(LENGTH,), (300, 200), (40, 30, 50)]


def body(pick: random.Random, axis: int, rank: int) -> list[str]:
    """Lines of a loop's body over `lo` and `hi`."""

    def cut(shift: int = 0) -> str:
        lo, hi = (f"lo + {shift}", f"hi + {shift}") if shift else ("lo", "hi")
        return "[" + ", ".join([":"] * axis + [f"{lo}:{hi}"] + [":"] * pick.choice([0, rank - axis - 1])) + "]"

    def term() -> str:
        name = pick.choice(["x", "y", "z"])
        kinds = ["same"] * 6 + ["value"] * 3 + ["shift", "still", "row", "whole", "temp", "temp"]
        kind = pick.choice(kinds)
        if kind == "value":
            return pick.choice(["2", "0.5", "lo % 3", "1.25"])
        if kind == "shift" and name != "z":
            return f"{name}{cut(pick.choice([-1, 1, 2]))}"
        if kind == "still":
            return "c"
        if kind == "row":
            return "r" if axis > 0 or rank == 1 else "c"
        if kind == "whole":
            return "z.ravel()[7]"
        if kind == "temp" and temps:
            return pick.choice(temps)
        return f"{name}{cut()}"

    lines: list[str] = []
    temps: list[str] = []
    for k in range(pick.randint(1, 6)):
        value = f"{term()} {pick.choice('+-*')} {term()}"
        kind = pick.choice(["temp", "store", "store", "update", "mask", "maskupdate", "where", "keep", "sum"])
        target = f"{pick.choice(['x', 'y', 'z'])}{cut()}"
        if kind == "temp":
            lines.append(f"t{k} = {target} * 1 + {value}")
            temps.append(f"t{k}")
        elif kind == "update":
            lines.append(f"{target} {pick.choice(['+=', '-=', '*='])} {term()}")
        elif kind == "mask":
            lines += [f"m = {target} > 0.5", f"{target}[m] = {target}[m] * 0.5 + 0.25"]
        elif kind == "maskupdate":
            lines += [f"v = {target}", "m = v < 0.3", "v[m] += 0.5", "v[~m] = v[~m] - 0.125"]
        elif kind == "where":
            lines.append(f"{target} = np.where({target} > 0.4, {value}, {target})")
        elif kind == "keep" and pick.random() < 0.3:
            lines.append(f"kept.append({target} + 1)")
        elif kind == "sum" and pick.random() < 0.3:
            lines.append(f"kept.append(({target}).sum())")
        else:
            lines.append(f"{target} = {value}")
    return lines


def program(seed: int) -> tuple[str, tuple[int, ...]]:
    pick = random.Random(seed)
    shape = pick.choice(SHAPES)
    axis = pick.randrange(len(shape))
    n = shape[axis]
    step = pick.choice([max(1, n // 12), max(1, n // 7), max(1, n // 5)])
    stride = pick.choice([step] * 5 + [step + 1, max(1, step - 1)])
    order = pick.choice(["0, n - 2"] * 5 + ["2, n - 2"])
    if pick.random() < 0.1:
        stride, order = 1, "0, 8"
    head = pick.choice(["", "z[:] = x * 2 + y", "z += 1", "z = x + y"])
    lines = body(pick, axis, len(shape))
    text = f"n = {n}\nkept = []\n{head}\nfor lo in range({order}, {stride}):\n    hi = min(lo + {step}, n - 2)\n"
    text += "".join(f"    {line}\n" for line in lines)
    if pick.random() < 0.3:
        text += "    del m\n" if any(line.startswith("m =") for line in lines) else ""
    text += pick.choice(["", "z = z * 2\n", "x[:] = z\n", "kept.append(z.sum())\n"])
    return text, shape


def run(text: str, module, shape: tuple[int, ...]) -> list:
    rng = numpy.random.default_rng(7)
    names = {"np": module}
    for name in "xyz":
        names[name] = module.array(rng.random(shape))
    names["c"] = module.array(0.75)
    names["r"] = module.array(rng.random(1 if len(shape) == 1 else shape[-1:]))
    try:
        exec(text, names)
    except (ValueError, IndexError) as e:
        return [type(e).__name__]
    # The last slice's temporaries outlive the loop.
    rest = sorted(n for n in names if n in ("m", "v") or (n[0] == "t" and n[1:].isdigit()))
    return [names[n] for n in "xyz"] + names["kept"] + [names[n] for n in rest]


def same(text: str, shape: tuple[int, ...], seed: int) -> None:
    """A program's results are NumPy's."""
    said = f"seed {seed}\n{text}"
    want, got = run(text, numpy, shape), run(text, np, shape)
    assert len(want) == len(got), said
    for w, g in zip(want, got, strict=True):
        if isinstance(w, str):
            assert w == g, said
        else:
            assert numpy.allclose(numpy.asarray(g), w, rtol=1e-9, atol=1e-12, equal_nan=True), said


@pytest.mark.parametrize("shape", [(3, 100_000), (5, 50_000), (200, 1000), (20, 50, 500), (20, 30, 100)])
@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize(
    "line",
    ["x[i : i + w] = x[i : i + w] + 1", "x[i : i + w] += 1", "t = x[i : i + w] * 2; x[i : i + w] = x[i : i + w] + t"],
)
def test_slices_that_begin_in_the_one_before_stay_apart(shape, width, line):
    # One row further is also as many elements further as a row has: joined along it, rows would be written by two at
    # once.
    x, expected = (
        np.arange(float(numpy.prod(shape))).reshape(shape),
        numpy.arange(float(numpy.prod(shape))).reshape(shape),
    )
    body = compile(line, "<body>", "exec")
    for array in (x, expected):
        for i in range(min(shape[0] - width + 1, 40)):
            exec(body, {"x": array, "i": i, "w": width})
    agree(x, expected)


@pytest.mark.parametrize("block", range(20))
def test_random_loops_over_slices(block):
    for seed in range(block * 30, block * 30 + 30):
        same(*program(seed), seed)


def test_the_random_loops_do_join():
    """The test above is worth something only if many of its loops are joined."""
    joined = 0
    for seed in range(60):
        text, shape = program(seed)
        np.sync()
        with Counted() as grew:
            run(text, np, shape)
            np.sync()
        joined += grew["tasks"] * 4 < grew["operations"]
    assert joined >= 15


def test_a_long_loop_is_one_task():
    n = 2_000_000
    x = np.ones(n, dtype="float32")
    np.sync()
    with Counted() as grew:
        z = x + 1
        for s in range(0, n, 256):
            v = z[s : s + 256]
            big = v > 1.5
            v[big] = v[big] * 2
            v[~big] = v[~big] - 2
        np.sync()
    # A window that stood still for a while is launched: a slow machine makes a few more.
    assert grew["tasks"] <= 20
    assert grew["operations"] > 60_000
    agree(z, numpy.full(n, 4, dtype="float32"))


def test_slices_that_read_their_neighbour_stay_apart():
    n = 50_000
    x, e = np.arange(n) * 1.0, numpy.arange(n) * 1.0
    for s in range(1000, n - 1000, 1000):
        x[s : s + 1000] = x[s - 1 : s + 999] + 1
        e[s : s + 1000] = e[s - 1 : s + 999] + 1
    agree(x, e)


def test_kept_slices_keep_their_values():
    n = 40_000
    x, e = np.arange(n) * 1.0, numpy.arange(n) * 1.0
    kept, want = [], []
    for s in range(0, n, 4000):
        kept.append(x[s : s + 4000] * 2)
        x[s : s + 4000] += 1
        want.append(e[s : s + 4000] * 2)
        e[s : s + 4000] += 1
    for a, b in zip(kept, want, strict=True):
        agree(a, b)
    agree(x, e)


def test_explain_counts_slices():
    n = 1_000_000
    # The runtime takes a window that stands still for a while, which a loaded machine can make of this one.
    for _ in range(5):
        x = np.ones(n)
        np.sync()
        for s in range(0, n, 10_000):
            x[s : s + 10_000] = x[s : s + 10_000] * 3
        text = explained(x)
        agree(x, numpy.full(n, 3.0))
        if "100 slices" in text:
            return
    raise AssertionError(text)


def row_program(seed: int) -> tuple[str, tuple[int, ...]]:
    """A loop over rows, planes, or parts of them, beside some that stay the same."""
    pick = random.Random(seed)
    shape = pick.choice([(40, 300), (30, 200), (12, 20, 30), (24, 6, 40)])
    rank = len(shape)
    part = pick.choice(["", "", ", 3:", ", :-2", ", ::2", ", ::-1", ", 1:5"])
    still = pick.choice(["0", "1", "7", "-1", "5"])
    rows = pick.choice(["range(1, n - 1)", "range(0, n, 2)", "range(n - 2, 0, -1)", "range(2, n - 1, 3)", "range(n)"])

    def term() -> str:
        name = pick.choice("xyz")
        return pick.choice(
            [f"{name}[i{part}]"] * 4
            + [f"{name}[{still}{part}]"] * 3
            + [
                f"{name}[i // 2 * 2{part}]",
                f"{name}[(i * 2) % n{part}]",
                f"{name}[i - 1{part}]",
                f"{name}[n - 1 - i{part}]",
            ]
            + [
                "2.5",
                "c",
                f"{name}[i, :1]" if rank == 2 else f"{name}[i, :1, :1]",
                "x.T[0, i : i + 1]",
                "r" if rank == 2 and not part else "c",
            ]
        )

    lines = []
    for _ in range(pick.randint(1, 4)):
        target = f"{pick.choice('xyz')}[{pick.choice(['i'] * 6 + [still, 'i // 2'])}{part}]"
        kind = pick.choice(["store", "store", "update", "update", "temp", "where", "mask"])
        value = f"{term()} {pick.choice('+-*')} {term()}"
        if kind == "update":
            lines.append(f"{target} {pick.choice(['+=', '-=', '*='])} {term()}")
        elif kind == "temp":
            lines += [f"t = {target} * 0.5 + {value}", f"{target} = t - {term()}"]
        elif kind == "where":
            lines.append(f"{target} = np.where({target} > 0.4, {value}, {target})")
        elif kind == "mask":
            lines.append(f"np.add({target}, {term()}, out={target}, where={target} > 0.5)")
        else:
            lines.append(f"{target} = {value}")
    text = f"n = {shape[0]}\nkept = []\nfor i in {rows}:\n" + "".join(f"    {line}\n" for line in lines)
    return text + pick.choice(["", "z = z * 2\n", "kept.append(z.sum())\n", "kept.append(x[3] + y[2])\n"]), shape


@pytest.mark.parametrize("block", range(20))
def test_random_loops_over_rows(block):
    for seed in range(block * 40, block * 40 + 40):
        same(*row_program(seed), seed)


@pytest.mark.parametrize(
    ("line", "tasks"),
    [
        ("x[i] -= y[0]", 3),
        ("x[i, :9000] -= y[i, 1000:]", 3),
        ("x[i, :9000] = x[i, :9000] * z[2, 1000:] + y[i, :9000]", 3),
        ("t = x[i] * y[0]; x[i] = t + z[i]", 3),
        ("x[i] -= x[0]", 3),
        # Each goes on from the one before.
        ("x[i] = x[i - 1] * 0.5 + y[0]", None),
    ],
)
def test_rows_beside_what_stays_are_joined(line, tasks):
    rng = numpy.random.default_rng(3)
    given = {name: rng.random((120, 10_000)) for name in "xyz"}
    ours = {name: np.array(a) for name, a in given.items()}
    body = compile(line, "<body>", "exec")
    np.sync()
    with Counted() as grew:
        for i in range(1, 120):
            exec(body, {**ours, "i": i})
        np.sync()
    for i in range(1, 120):
        exec(body, {**given, "i": i})
    for name in "xyz":
        agree(ours[name], given[name])
    assert tasks is None or grew["tasks"] <= tasks


RECORDED = "--inline-size 16"


@pytest.mark.skipif(RECORDED in os.environ.get("NUMLOOM_CONFIG", ""), reason="this is that process")
def test_the_same_where_slices_are_recorded():
    """Most slices here are small enough to be computed at once; in another process none is."""
    environment = {**os.environ, "NUMLOOM_CONFIG": RECORDED}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-3000:]
