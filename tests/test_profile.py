"""Profiles against what the runtime counts itself: operations, bytes, levels, order in time."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.commands import environment, numloom, run

PROGRAM = """
import numloom as np

x = np.arange(200_000, dtype=float)
for k in range(5):
    y = x * k + 1.0
    x = np.sqrt(y) + x[::-1]
    print(float(x.sum()))
s = np.ones(8)
for k in range(1000):
    s = s + 1.0
with np.ProfileRange("last"):
    m = np.ones((300, 300)) @ np.ones((300, 300))
    print(float(m[0, 0]))
del y
np.sync()
"""


def profiled(folder, code, *flags, name="prog.py"):
    """Run a program with a profile; what it printed, and the profile as JSON."""
    (folder / name).write_text(code)
    ended = numloom("--profile", *flags, name, cwd=folder)
    assert ended.status == 0, ended.err
    return ended.out, dump(folder / "numloom_0.prof")


def dump(file):
    ended = numloom("prof", "dump", str(file))
    assert ended.status == 0, ended.err
    (profile,) = json.loads(ended.out)
    return profile


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    folder = tmp_path_factory.mktemp("profile")
    out, profile = profiled(folder, PROGRAM + "\nprint(np.stats())")
    stats = eval(out.splitlines()[-1])
    return folder, profile, stats


def counters(profile):
    return {c["name"]: c["value"] for c in profile["counters"]}


def test_counts_are_the_runtimes(example):
    _, profile, stats = example
    recorded = sum(o["times"] for o in profile["operations"])
    small = sum(s["count"] for s in profile["small"])
    assert recorded + small + stats["eliminated"] == stats["operations"]
    assert small == stats["inline"]
    assert len(profile["tasks"]) == stats["tasks"]
    assert sum(t["read"] for t in profile["tasks"]) == stats["bytes_read"]
    assert sum(t["written"] for t in profile["tasks"]) == stats["bytes_written"]
    last = counters(profile)
    for name in ("operations", "inline", "tasks", "windows", "kernels", "fused"):
        assert last[name] == stats[name], name


def test_levels_are_the_memorys(example):
    _, profile, stats = example
    system = next(m["id"] for m in profile["memories"] if m["name"] == "SYSTEM_MEM")
    levels = [level for level in profile["levels"] if level["memory"] == system]
    assert max(level["peak"] for level in levels) == stats["peak_bytes"]
    assert max(level["bytes"] for level in levels) <= stats["peak_bytes"]
    dead = {instance for instance, _ in profile["deaths"]}
    alive = sum(i["bytes"] for i in profile["instances"] if i["id"] not in dead)
    # Small instances, and the room that blocks are rounded up to, are in the level alone.
    assert 0 <= stats["live_bytes"] - alive < 1 << 20


def test_processors_do_one_thing_at_a_time(example):
    _, profile, _ = example
    until = {}
    for span in profile["spans"]:
        assert span["started"] >= until.get(span["processor"], 0), span
        until[span["processor"]] = span["started"] + span["ran"]


def test_time_goes_forward(example):
    _, profile, _ = example
    tasks = {task["id"]: task for task in profile["tasks"]}
    for task in tasks.values():
        assert task["created"] <= task["ready"] <= task["started"] <= task["stopped"] <= profile["length"]
    assert profile["edges"]
    for earlier, later in profile["edges"]:
        assert tasks[earlier]["stopped"] <= tasks[later]["started"]
    for span in profile["spans"]:
        if span["what"] == "task":
            task = tasks[span["subject"]]
            assert task["started"] <= span["started"] and span["started"] + span["ran"] <= task["stopped"]


def test_tasks_name_the_instances_they_read(example):
    _, profile, _ = example
    instances = {i["id"]: i for i in profile["instances"]}
    read = {}
    for task, instance in profile["reads"]:
        read.setdefault(task, []).append(instances[instance])
    (product,) = [t for t in profile["tasks"] if "matmul" in t["name"]]
    factors = [i for i in read[product["id"]] if i["task"] != product["id"]]
    assert [i["shape"] for i in factors] == ["float64[300,300]"] * 2
    roots = [t["id"] for t in profile["tasks"] if "sqrt" in t["name"]]
    assert len(roots) == 5 and all(any(i["bytes"] == 1_600_000 for i in read[t]) for t in roots)
    ended = {t["id"]: t["stopped"] for t in profile["tasks"]}
    assert all(i["born"] <= ended[task] for task in read for i in read[task])


def test_the_critical_path_is_between_the_longest_task_and_the_run(example):
    _, profile, _ = example
    longest = max(task["stopped"] - task["started"] for task in profile["tasks"])
    assert longest <= profile["critical_path"] <= profile["length"]


def test_lines_shapes_ranges_and_waits(example):
    folder, profile, _ = example
    lines = {o["line"] for o in profile["operations"]}
    assert {"prog.py:6", "prog.py:7", "prog.py:8"} <= lines
    assert any(o["name"] == "sqrt" and o["shape"] == "float64[200000]" for o in profile["operations"])
    assert {s["line"]: s["count"] for s in profile["small"] if s["name"] == "add"} == {"prog.py:11": 1000}
    assert [r["name"] for r in profile["ranges"]] == ["last"]
    syncs = [s for s in profile["spans"] if s["what"] == "sync" and s["line"] == "prog.py:8"]
    assert len(syncs) == 5 and all(s["subject"] in {t["id"] for t in profile["tasks"]} for s in syncs)
    assert numloom("prof", "stats", "numloom_0.prof", cwd=folder).out.count("prog.py:7") >= 1


def test_the_driver_says_where_the_files_are_and_keeps_earlier_ones(tmp_path):
    (tmp_path / "prog.py").write_text("import numloom as np; np.sync(np.ones(100_000) + 1)")
    for _ in range(3):
        ended = numloom("--profile", "--profile-name", "run", "--logdir", "logs", "prog.py", cwd=tmp_path)
        assert ended.status == 0 and "logs/run_0.prof" in ended.err
    files = sorted(path.name for path in (tmp_path / "logs").iterdir() if path.is_file())
    assert files == ["run_0.prof", "run_0.prof.1", "run_0.prof.2"]


def test_the_environment_and_the_context_manager(tmp_path):
    code = "import numloom as np; x = np.ones(100_000) + 1; np.sync()"
    ended = run(sys.executable, "-c", code, cwd=tmp_path, LEGATE_CONFIG="--profile --profile-name legate")
    assert ended.status == 0 and (tmp_path / "legate_0.prof").exists()
    code = """
import numloom as np
x = np.ones(100_000) + 1
for name in ("a.prof", "b.prof"):
    with np.profile(name) as p:
        y = x * 2
    assert str(p.path) == name
with np.profile("c.prof"):
    with np.profile("nested"):
        y = x * 3
"""
    ended = run(sys.executable, "-c", code, cwd=tmp_path)
    assert ended.status == 0, ended.err
    for name in ("a.prof", "b.prof"):
        assert [o["name"] for o in dump(tmp_path / name)["operations"]] == ["multiply"]
    assert [r["name"] for r in dump(tmp_path / "c.prof")["ranges"]] == ["profile"]
    assert not (tmp_path / "nested").exists()


def test_a_killed_run_can_be_read(tmp_path):
    (tmp_path / "prog.py").write_text(
        "import numloom as np\nx = np.ones(1_000_000)\nprint('on', flush=True)\n"
        "while True:\n    x = x * 0.5\n    np.sync(x)\n"
    )
    words = [sys.executable, "-m", "numloom", "--profile", "prog.py"]
    process = subprocess.Popen(words, cwd=tmp_path, env=environment(), stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "on\n"
    time.sleep(2.0)
    process.send_signal(signal.SIGKILL)
    process.wait()
    profile = dump(tmp_path / "numloom_0.prof")
    assert len(profile["tasks"]) > 10 and any("did not end" in note for note in profile["notes"])


def test_children_write_nothing_into_the_runs_files(tmp_path):
    code = """
import multiprocessing, os, numloom as np
def f(k):
    np.sync(np.ones(100_000) + k)
    return os.getpid()
if __name__ == "__main__":
    for how in ("spawn", "fork"):
        with multiprocessing.get_context(how).Pool(1) as pool:
            pool.map(f, [1, 2])
    np.sync(np.ones(100_000) + 1)
"""
    _, profile = profiled(tmp_path, code)
    assert [path.name for path in tmp_path.glob("*.prof*")] == ["numloom_0.prof"]
    assert len(profile["tasks"]) == 1 and profile["notes"] == []


def test_without_profiles_nothing_is_written(tmp_path):
    (tmp_path / "prog.py").write_text(
        "import numloom as np\nwith np.ProfileRange('x'):\n    np.sync(np.ones(100_000) + 1)"
    )
    assert numloom("prog.py", cwd=tmp_path) == (0, "", "")
    assert os.listdir(tmp_path) == ["prog.py"]


@pytest.mark.parametrize(
    "words", [["prof"], ["prof", "stats"], ["prof", "nonsense"], ["prof", "stats", "--wrong", "x"]]
)
def test_wrong_words_are_told_how_it_is_used(words):
    ended = numloom(*words)
    assert ended.status == 2 and "usage: numloom prof" in ended.out + ended.err


def test_what_is_no_profile_is_told(tmp_path):
    (tmp_path / "text.prof").write_text("no profile")
    ended = numloom("prof", "stats", "text.prof", "gone.prof", cwd=tmp_path)
    assert (ended.status, ended.err) == (1, "numloom prof: text.prof: this is no profile of Numloom\n")
