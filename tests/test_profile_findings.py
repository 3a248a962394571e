"""What is found in programs with one fault each, in the seeds' two programs, and in programs without fault."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from .commands import environment, numloom, run

SEEDS = Path(__file__).parent / "seeds"


def found(folder: Path, code: str, *flags: str) -> list[tuple[str, int]]:
    """The kinds and lines of what the doctor finds."""
    (folder / "prog.py").write_text("import numloom as np\n" + code)
    ended = numloom("doctor", *flags, "prog.py", cwd=folder)
    assert ended.status == 0, ended.err
    return pairs(ended.out)


def pairs(out: str) -> list[tuple[str, int]]:
    heads = re.findall(r"^([a-z0-9-]+): .*\n(?:    \S+\.py:(\d+)  )?", out, re.MULTILINE)
    return [(kind, int(line or 0)) for kind, line in heads if kind != "prog"]


def expect(folder: Path, expected: list[tuple[str, int]], code: str, *flags: str) -> None:
    """What is found. On a machine that does other things, too, time is lost that is not the program's: a run counts in
    which it was left alone."""
    for _ in range(3):
        if (everything := found(folder, code, *flags)) == expected:
            return
    assert everything == expected


FAULTS = {
    "tiny-tasks": (
        """
x = np.zeros(4_000_000)
for s in range(0, 4_000_000, 4096):
    x[s:s + 4096] += np.sin(x[s:s + 4096])
np.sync()
""",
        ["--fuse=0", "--window-size", "1"],
        5,
    ),
    "small-operations": (
        """
x = np.ones(10)
for k in range(60_000):
    x = x * 1.0
""",
        [],
        5,
    ),
    "sync-in-loop": (
        """
x = np.ones(1_000_000)
for k in range(40):
    x *= 0.5
    if float(x.sum()) < 0:
        break
""",
        [],
        6,
    ),
    "value-read-back": (
        """
x = np.arange(100_000.0)
rows = [float(x[k::100].sum()) for k in range(100)]
y = np.array(rows)
np.sync(y + 1)
""",
        [],
        5,
    ),
    "fallback": (
        """
x = np.arange(2_000_000.0)
y = np.lib.scimath.sqrt(x)
np.sync(y)
""",
        [],
        4,
    ),
    "scalar-indexing": (
        """
x = np.zeros(5_000)
for k in range(5_000):
    x[k] = k * 2
""",
        [],
        5,
    ),
    "scalar-indexing, few": (
        """
pc = np.ones((200, 3)) * 2.0
total = 0.0
for i in range(200):
    total += float(pc[i, 0])
""",
        [],
        6,
    ),
    "iteration": (
        """
x = np.arange(5_000.0)
total = 0.0
for value in x:
    total += 1.0
""",
        [],
        5,
    ),
    "index-arrays": (
        """
x = np.arange(3_000_000.0)
chosen = np.nonzero(x > 10.0)
print(len(chosen[0]), int(chosen[0].sum()))
""",
        [],
        4,
    ),
    "temporaries": (
        """
x = np.ones(1_000_000)
for k in range(30):
    x = x + 1.0
print(float(x.sum()))
""",
        ["--fuse=0"],
        5,
    ),
    "stacking-in-loop": (
        """
x = np.ones(10_000)
for k in range(30):
    x = np.concatenate([x, np.ones(10_000)])
np.sync(x)
""",
        [],
        5,
    ),
    "casts": (
        """
x = np.arange(24_000_000.0)
np.sync(x)
y = x.astype(np.float32)
print(float(y.sum()))
""",
        [],
        5,
    ),
    "transposed-access": (
        """
x = np.ones((3000, 3000))
np.sync(x)
y = np.ascontiguousarray(x.T)
print(float(y.sum()))
""",
        [],
        5,
    ),
    "repartitioning": (
        """
x = np.ones(2_000_000)
for k in range(30):
    y = x[::-1] * 0.5
    x += y
print(float(x.sum()))
""",
        ["--cpus", "2", "--gpus", "2", "--gpu-backend", "sim", "--fbmem", "256", "--min-gpu-chunk", "1000"],
        5,
    ),
    "memory-peak": (
        """
kept = []
for k in range(6):
    kept.append(np.ones(1_000_000))
    np.sync(kept[-1])
""",
        ["--sysmem", "48"],
        5,
    ),
    "unread-arrays": (
        """
import time
x = np.ones(5_000_000)
np.sync(x)
time.sleep(0.3)
""",
        [],
        4,
    ),
    "python-bound": (
        """
import time
x = np.ones(1_000_000)
for k in range(10):
    x += 1.0
    time.sleep(0.05)
print(float(x.sum()))
""",
        [],
        6,
    ),
    "utility-bound": (
        """
rows = [np.full(9_000, 1.0 + k, "f4") for k in range(97)]
for k in range(96_000):
    np.add(rows[k * 7 % 97], rows[k * k * k % 97], out=rows[k * k % 97])
print(float(rows[0].sum()))
""",
        ["--cpus", "2", "--window-size", "512"],
        5,
    ),
    "imbalance": (
        """
x = np.linspace(0.0, 1.0, 4_000_000)
y = np.logaddexp.accumulate(x)
print(float(y[-1]))
""",
        ["--cpus", "2"],
        4,
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found_on_its_line_and_nothing_else(tmp_path, name):
    code, flags, line = FAULTS[name]
    expect(tmp_path, [(name.split(",")[0], line)], code, *flags)


CLEAN = {
    "stencil": """
grid = np.zeros((1200, 1200))
grid[0, :] = 1.0
for step in range(60):
    average = 0.25 * (grid[:-2, 1:-1] + grid[2:, 1:-1] + grid[1:-1, :-2] + grid[1:-1, 2:])
    grid[1:-1, 1:-1] = average
print(float(grid.sum()))
""",
    "black-scholes": """
rng = np.random.default_rng(1)
price, strike = rng.uniform(10.0, 50.0, 1_000_000), rng.uniform(10.0, 50.0, 1_000_000)
years = rng.uniform(1.0, 2.0, 1_000_000)
def cdf(x):
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))))
    tail = 0.39894228 * np.exp(-x * x / 2.0) * series
    return np.where(x < 0, tail, 1.0 - tail)
d1 = (np.log(price / strike) + 0.12 * years) / (0.2 * np.sqrt(years))
d2 = d1 - 0.2 * np.sqrt(years)
call = price * cdf(d1) - strike * np.exp(-0.1 * years) * cdf(d2)
print(float(call.mean()))
""",
    "conjugate gradients": """
rng = np.random.default_rng(2)
v = rng.random(3000)
a = np.outer(v, v) + 3000.0 * np.diag(rng.random(3000) + 1.0)
x = np.zeros(3000)
r = np.ones(3000)
p = r.copy()
rho = r @ r
for k in range(60):
    q = a @ p
    alpha = rho / (p @ q)
    x += alpha * p
    r -= alpha * q
    last, rho = rho, r @ r
    p = r + (rho / last) * p
    if k % 20 == 19 and float(rho) < 1e-30:
        break
print(float(x.sum()))
""",
    "softmax": """
x = np.random.default_rng(3).standard_normal((2000, 1000))
for k in range(20):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    x = e / e.sum(axis=1, keepdims=True)
print(float(x.sum()))
""",
    "logistic regression": """
x = np.random.default_rng(4).standard_normal((100_000, 32))
y = (x[:, 0] > 0).astype(np.float64)
w = np.zeros(32)
for k in range(50):
    p = 1.0 / (1.0 + np.exp(-(x @ w)))
    w -= 0.1 / len(y) * (x.T @ (p - y))
print(float(np.abs(w).sum()))
""",
}


@pytest.mark.parametrize("name", CLEAN)
def test_nothing_is_said_against_a_clean_program(tmp_path, name):
    expect(tmp_path, [], CLEAN[name])


def test_builtins_over_arrays_and_mpi4py(tmp_path):
    (tmp_path / "mpi4py.py").write_text("")
    everything = found(tmp_path, "\nimport mpi4py\nx = np.arange(4_000.0)\ny = sum(x)\n")
    assert {("iteration", 5), ("mpi4py", 0)} <= set(everything)


def test_the_inefficient_program_of_the_seeds(tmp_path):
    code = (SEEDS / "inefficient.py").read_text().replace("import cupynumeric as np", "import numloom as np")
    (tmp_path / "prog.py").write_text(code)
    ended = numloom("doctor", "--fuse=0", "--window-size", "1", "prog.py", cwd=tmp_path)
    lines = code.splitlines()
    loop = next(k for k, text in enumerate(lines) if text.startswith("for s in range"))
    nonzero = next(k for k, text in enumerate(lines) if "np.nonzero" in text)
    everything = pairs(ended.out)
    assert any(kind == "tiny-tasks" and loop < line - 1 <= loop + 4 for kind, line in everything), ended.out
    assert ("index-arrays", nonzero + 1) in everything
    assert f"in the loop of line {loop + 1}: for s in range(0, N, CHUNK):" in ended.out


def test_an_event_takes_eight_bytes_at_most(tmp_path):
    (tmp_path / "prog.py").write_text("import numloom as np" + FAULTS["tiny-tasks"][0])
    assert numloom("--profile", "--fuse=0", "--window-size", "1", "prog.py", cwd=tmp_path).status == 0
    (profile,) = json.loads(numloom("prof", "dump", "numloom_0.prof", cwd=tmp_path).out)
    names = ("tasks", "spans", "operations", "edges", "instances", "deaths", "levels", "small", "copies")
    rows = sum(len(profile[name]) for name in names)
    assert rows > 5_000 and (tmp_path / "numloom_0.prof").stat().st_size <= 8 * rows


def test_the_efficient_program_of_the_seeds(tmp_path):
    code = (SEEDS / "efficient.py").read_text().replace("import cupynumeric as np", "import numloom as np")
    (tmp_path / "prog.py").write_text(code)
    ended = numloom("doctor", "prog.py", cwd=tmp_path)
    assert ended.status == 0 and "nothing to complain about" in ended.out, ended.out


def test_the_doctor_passes_the_programs_status_on(tmp_path):
    (tmp_path / "prog.py").write_text("import sys, numloom; sys.exit(7)")
    assert numloom("doctor", "prog.py", cwd=tmp_path).status == 7
    assert numloom("doctor").status == 2


def test_comparing_and_exporting(tmp_path):
    for name, times in (("a", 3), ("b", 30)):
        (tmp_path / "prog.py").write_text(
            f"import numloom as np\nx = np.ones(500_000)\nfor k in range({times}):\n    x = np.sin(x)\n    np.sync(x)\n"
        )
        assert numloom("--profile", "--profile-name", name, "prog.py", cwd=tmp_path).status == 0
    ended = numloom("prof", "compare", "a_0.prof", "b_0.prof", cwd=tmp_path)
    assert ended.status == 0 and re.search(r"prog.py:4 .*x = np.sin\(x\)", ended.out)
    ended = numloom("prof", "export", "--format", "chrome", "a_0.prof", "b_0.prof", "-o", "t.json", cwd=tmp_path)
    assert ended.status == 0, ended.err
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert {e["ph"] for e in events} >= {"M", "X", "C"}
    assert all(e["dur"] >= 0 and e["ts"] >= 0 for e in events if e["ph"] == "X")
    ended = numloom("prof", "top", "a_0.prof", cwd=tmp_path)
    assert ended.status == 0 and "prog.py:4" in ended.out


def test_reports_and_the_server(tmp_path):
    """With a page that stands for the viewer's: what is put into it, and what the server answers."""
    (tmp_path / "prog.py").write_text("import numloom as np\nnp.sync(np.ones(100_000) + 1)\n")
    assert numloom("--profile", "prog.py", cwd=tmp_path).status == 0
    (tmp_path / "page.html").write_text("<html><!--NUMLOOM-PROFILE--></html>")
    tool = (
        "import sys, pathlib, numloom._core as c; "
        "sys.exit(c.prof(False, sys.argv[1:], pathlib.Path('page.html') if 'none' not in sys.argv else None))"
    )
    ended = run(sys.executable, "-c", tool, "html", "numloom_0.prof", "-o", "r.html", cwd=tmp_path)
    assert ended == (0, "r.html\n", "")
    page = (tmp_path / "r.html").read_text()
    form = r'<script type="application/octet-stream;base64" data-name="numloom_0.prof">([A-Za-z0-9+/=]+)</script>'
    embedded = base64.b64decode(re.search(form, page)[1])
    assert embedded.startswith((tmp_path / "numloom_0.prof").read_bytes())
    ended = run(sys.executable, "-c", tool, "html", "none", cwd=tmp_path)
    assert ended.status == 1 and "viewer.html" in ended.err

    words = [sys.executable, "-c", tool, "serve", "."]
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True) as server:
        try:
            url = server.stdout.readline().split()[0]
            assert url.startswith("http://127.0.0.1:")
            (listed,) = json.loads(urllib.request.urlopen(url + "files.json").read())
            assert listed["name"] == "numloom_0.prof"
            assert urllib.request.urlopen(url + listed["url"]).read() == embedded
            assert b"data-served" in urllib.request.urlopen(url).read()
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(url + "profile/7")
        finally:
            server.kill()


def test_a_few_values_read_back_are_not_worth_a_word(tmp_path):
    code = """
a = np.arange(100_000.0)
few = [float(a[k]) for k in (1, 2, 3)]
print(np.array(few).sum())
"""
    assert found(tmp_path, code) == []
