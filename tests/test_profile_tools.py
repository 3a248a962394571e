"""What other tools get of a profile: traces, tables, ranges, and a look at a program while it runs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from tests.commands import environment, numloom, run

PROGRAM = """
import numloom as np

x = np.arange(300_000, dtype=float)
with np.ProfileRange("turns"):
    for k in range(6):
        with np.ProfileRange(f"turn {k}"):
            x = np.sqrt(x) + x[::-1]
            print(float(x.sum()))
m = np.ones((300, 300)) @ np.ones((300, 300))
print(float(m[0, 0]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    (folder / "prog.py").write_text(PROGRAM)
    ended = numloom("--profile", "prog.py", cwd=folder)
    assert ended.status == 0, ended.err
    return folder


def dump(folder: Path) -> dict:
    (profile,) = json.loads(numloom("prof", "dump", "numloom_0.prof", cwd=folder).out)
    return profile


NUMBER = (int, float)
# The fields that the trace event format asks for, by phase; times are microseconds.
PHASES = {
    "M": {"pid": int, "tid": int, "name": str, "args": dict},
    "X": {"pid": int, "tid": int, "name": str, "ts": NUMBER, "dur": NUMBER, "args": dict},
    "C": {"pid": int, "name": str, "ts": NUMBER, "args": dict},
}
METADATA = {"process_name": "name", "thread_name": "name", "thread_sort_index": "sort_index"}


@pytest.mark.parametrize("form", ["chrome", "perfetto"])
def test_traces_are_as_the_trace_event_format_has_them(folder, form):
    ended = numloom("prof", "export", "--format", form, "numloom_0.prof", "-o", f"{form}.json", cwd=folder)
    assert ended.status == 0, ended.err
    trace = json.loads((folder / f"{form}.json").read_text())
    assert trace["displayTimeUnit"] in ("ms", "ns") and isinstance(trace["traceEvents"], list)
    tracks = defaultdict(list)
    for event in trace["traceEvents"]:
        fields = PHASES[event["ph"]]
        assert set(event) == {"ph", *fields}, event
        assert all(isinstance(event[name], kind) for name, kind in fields.items()), event
        if event["ph"] == "M":
            assert METADATA[event["name"]] in event["args"]
        elif event["ph"] == "C":
            assert all(isinstance(value, NUMBER) for value in event["args"].values())
        else:
            assert event["ts"] >= 0 and event["dur"] >= 0
            tracks[event["pid"], event["tid"]].append((event["ts"], -event["dur"]))
    named = {(e["pid"], e["tid"]) for e in trace["traceEvents"] if e["ph"] == "M" and e["name"] == "thread_name"}
    assert set(tracks) <= named
    # Complete events of a track nest: one begins and ends within the one that is open.
    for events in tracks.values():
        open_ends = []
        for start, length in sorted(events):
            while open_ends and open_ends[-1] <= start + 0.002:
                open_ends.pop()
            assert not open_ends or start - length <= open_ends[-1] + 0.002
            open_ends.append(start - length)


def test_a_trace_has_what_the_profile_has(folder):
    profile = dump(folder)
    events = json.loads(numloom("prof", "trace", "numloom_0.prof", cwd=folder).out)["traceEvents"]
    boxes = Counter(e["ph"] for e in events)
    assert boxes["X"] == len(profile["spans"]) + len(profile["copies"]) + len(profile["ranges"])
    assert boxes["C"] == len(profile["levels"])
    assert {e["name"] for e in events if e["ph"] == "X"} >= {"turns", "turn 0", "turn 5", "sync", "matmul"}


def test_parquet_has_every_table_in_words(folder):
    parquet = pytest.importorskip("pyarrow.parquet")
    ended = numloom(
        "prof", "export", "--format", "parquet", "numloom_0.prof", "numloom_0.prof", "-o", "tables", cwd=folder
    )
    assert ended.status == 0, ended.err
    profile = dump(folder)
    files = {Path(line).stem: folder / line for line in ended.out.split()}
    assert set(files) >= {"tasks", "spans", "operations", "edges", "levels", "lines", "strings", "meta", "ranges"}
    read = {name: parquet.read_table(path).to_pylist() for name, path in files.items()}
    for name in ("tasks", "spans", "operations", "edges", "instances", "levels", "ranges"):
        assert len(read[name]) == 2 * len(profile[name]), name
    for row, task in zip(read["tasks"], profile["tasks"]):
        assert (row["rank"], row["id"], row["name"], row["line"]) == (0, task["id"], task["name"], task["line"])
        assert row["created"] + row["blocked"] == task["ready"] and row["read"] == task["read"]
    for row, span in zip(read["spans"], profile["spans"]):
        assert (row["kind"], row["started"], row["ran"]) == (span["what"], span["started"], span["ran"])
    assert {row["key"]: row["value"] for row in read["meta"]}["program"].endswith("prog.py")
    assert any(row["text"] == "float64[300000]" for row in read["strings"])


def test_the_machine_is_in_the_profile(folder):
    profile = dump(folder)
    meta = dict(profile["meta"])
    assert 1e8 < int(meta["bandwidth"]) < 1e14 and 0 < int(meta["fault_ns"]) < 1e6
    counted = {c["name"]: c["value"] for c in profile["counters"]}
    assert counted["page_faults"] > 100
    stats = numloom("prof", "stats", "numloom_0.prof", cwd=folder).out
    assert re.search(rf"page faults: {counted['page_faults']}, about [\d.]+ .s in all; \d+ of them from disk", stats)


def test_a_lane_is_not_busy_with_waiting(folder):
    profile = dump(folder)
    (io,) = [p["id"] for p in profile["processors"] if p["lane"] == "IO"]
    spans = [s for s in profile["spans"] if s["processor"] == io]
    busy = sum(s["ran"] for s in spans if s["what"] not in ("sync", "full"))
    assert busy < sum(s["ran"] for s in spans)
    stats = numloom("prof", "stats", "numloom_0.prof", cwd=folder).out
    told = re.search(r"^  IO +1 +\d+ +.* ([\d.]+)%$", stats, re.MULTILINE)
    assert float(told[1]) == pytest.approx(100 * busy / profile["length"], abs=0.06)


def test_instances_name_the_task_they_were_made_for(folder):
    profile = dump(folder)
    tasks = {task["id"]: task for task in profile["tasks"]}
    made = [i for i in profile["instances"] if i["task"]]
    assert made and all(tasks[i["task"]]["started"] <= i["born"] <= tasks[i["task"]]["stopped"] for i in made)


WATCHED = """
import numloom as np, sys, time
x = np.arange(500_000, dtype=float)
print(float(np.sin(x).sum()), flush=True)
sys.stdin.readline()
for k in range(50):
    x = np.sqrt(x) + 1.0
print(float(x.sum()), flush=True)
sys.stdin.readline()
"""


def test_top_asks_the_program_itself(tmp_path):
    """What a program did just now is on the screen before its file is written by itself, and what it is at."""
    (tmp_path / "prog.py").write_text(WATCHED)
    words = [sys.executable, "-m", "numloom", "--profile", "prog.py"]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stdin=pipe, stdout=pipe, text=True) as program:
        program.stdout.readline()
        top = [sys.executable, "-m", "numloom", "prof", "top", "--interval", "0.05", "numloom_0.prof"]
        with subprocess.Popen(top, cwd=tmp_path, env=environment(), stdout=pipe, text=True) as watcher:

            def go_on() -> None:
                program.stdin.write("\n")
                program.stdin.flush()

            # The program waits in its own code, line 5.
            assert any(re.match(r"  IO 0 \(program\) +Python ", line) for line in watcher.stdout)
            go_on()
            program.stdout.readline()
            assert any("prog.py:7" in line for line in watcher.stdout)
            go_on()
            assert program.wait(30) == 0
            watcher.stdout.read()
    assert watcher.returncode == 0


TOOL = """
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
struct callbacks { size_t size; int (*module)(int, void (****)(void), unsigned *); };
static int push(const char *name) {
    FILE *f = fopen(getenv("HEARD"), "a"); fprintf(f, "push %s\\n", name); fclose(f); return 0;
}
static int pop(void) { FILE *f = fopen(getenv("HEARD"), "a"); fprintf(f, "pop\\n"); fclose(f); return 0; }
int InitializeInjectionNvtx2(const void *(*export)(uint32_t)) {
    const struct callbacks *c = export(1);
    void (***table)(void); unsigned size;
    if (!c || !c->module(1, &table, &size) || size < 12) return 0;
    *table[9] = (void (*)(void))push; *table[11] = (void (*)(void))pop;
    return 1;
}
"""


def test_a_tool_that_listens_to_nvtx_hears_of_ranges_and_tasks(tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    (tmp_path / "tool.c").write_text(TOOL)
    subprocess.run([compiler, "-shared", "-fPIC", "-o", "tool.so", "tool.c"], cwd=tmp_path, check=True)
    (tmp_path / "prog.py").write_text(PROGRAM)
    heard = tmp_path / "heard"
    ended = run(
        sys.executable, "prog.py", cwd=tmp_path, NVTX_INJECTION64_PATH=str(tmp_path / "tool.so"), HEARD=str(heard)
    )
    assert ended.status == 0, ended.err
    lines = heard.read_text().splitlines()
    assert {"push turns", "push turn 0", "push turn 5", "push matmul"} <= set(lines)
    assert lines.count("pop") == sum(line.startswith("push ") for line in lines)
    ended = run(sys.executable, "prog.py", cwd=tmp_path, NVTX_INJECTION64_PATH=str(tmp_path / "nowhere.so"))
    assert ended.status == 0 and ended.err == ""
