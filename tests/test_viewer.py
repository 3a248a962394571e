"""The profiler's viewer in a real browser: what it shows is compared with the tables it was given."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.viewer import files, story
from tests.viewer.giant import giant
from tests.viewer.page import report
from tests.viewer.runs import Open, Tables, tables

pytest_plugins = ("tests.viewer.fixtures",)


def columns(data: Tables, table: str) -> dict[str, np.ndarray]:
    return {key: np.array(values) for key, values in data[table].items()}


def test_every_lane_with_work_is_there_and_the_empty_ones_are_folded_away(viewer: Open) -> None:
    labels = viewer("orbit").labels()
    for lane in ("CPU", "CPU 0", "CPU 3", "Utility", "IO", "System", "SYSTEM_MEM", "Dependent Partitioning", "Phases"):
        assert lane in labels
    assert "6 empty lanes" in labels and "GPU Device" not in labels
    labels = viewer("gpu").labels()
    for lane in ("GPU Device", "GPU Host", "Channel", "SYSTEM_MEM → FB_MEM 0", "Framebuffer", "Zero Copy"):
        assert lane in labels


def test_unfolding_the_empty_lanes_shows_them(viewer: Open) -> None:
    page = viewer("orbit")
    page.click(40, page.row("n0.empty"))
    assert {"GPU Device", "OpenMP", "Channel"} <= set(page.labels())


def test_lanes_fold_and_unfold_at_their_name(viewer: Open) -> None:
    page = viewer("orbit")
    page.click(60, page.row("n0.cpu"))
    assert "CPU 0" not in page.labels()
    page.click(60, page.row("n0.cpu"))
    assert "CPU 0" in page.labels()


def test_the_average_of_a_lane_is_its_busy_time(viewer: Open) -> None:
    page = viewer("orbit", address="#panel=run")
    spans, processors = columns(tables("orbit"), "spans"), columns(tables("orbit"), "processors")
    workers = processors["id"][processors["kind"] == story.CPU]
    end = tables("orbit")["end"]["time"][0]
    share = spans["ran"][np.isin(spans["processor"], workers)].sum() / (len(workers) * end)
    assert re.search(rf"CPU\s+{round(share * 100)} %", page.panel())


def test_the_wheel_zooms_at_the_pointer(viewer: Open) -> None:
    page = viewer("orbit")
    before = page.window()
    page.page.mouse.move(*page.point(700, 300))
    at = page.ask("a.view.from + (700 - 226) / (a.width - 226) * a.view.span")
    page.page.mouse.wheel(0, -400)
    page.settle()
    after = page.window()
    assert after[1] - after[0] < 0.8 * (before[1] - before[0])
    assert page.ask("a.view.from + (700 - 226) / (a.width - 226) * a.view.span") == pytest.approx(at, rel=1e-6)


def test_dragging_pans_and_with_shift_zooms_into_a_range(viewer: Open) -> None:
    page = viewer("orbit", address="#t=50000000..100000000")
    mouse, keyboard = page.page.mouse, page.page.keyboard
    mouse.move(*page.point(800, 700))
    mouse.down()
    mouse.move(*page.point(700, 700), steps=4)
    mouse.up()
    page.settle()
    panned = page.window()
    assert panned[0] > 50e6 and panned[1] - panned[0] == pytest.approx(50e6)
    times = page.ask("[500, 700].map((x) => a.view.from + (x - 226) / (a.width - 226) * a.view.span)")
    keyboard.down("Shift")
    mouse.move(*page.point(500, 700))
    mouse.down()
    mouse.move(*page.point(700, 700), steps=4)
    mouse.up()
    keyboard.up("Shift")
    page.settle()
    assert page.window() == pytest.approx(times, rel=1e-3)


def test_keys_move_and_undo_and_redo_walk_back_and_forth(viewer: Open) -> None:
    page = viewer("orbit")
    whole = page.window()
    seen = [whole]
    for key in ("+", "ArrowRight", "-"):
        page.page.keyboard.press(key)
        page.settle()
        seen.append(page.window())
    assert len(set(seen)) == 4
    for expected in reversed(seen[:-1]):
        page.page.keyboard.press("u")
        assert page.window() == pytest.approx(expected, abs=1)
    assert page.page.locator("#tool-undo").is_disabled() or page.ask("a.view.canUndo") is False
    for expected in seen[1:]:
        page.page.keyboard.press("r")
        assert page.window() == pytest.approx(expected, abs=1)
    page.page.keyboard.press("0")
    assert page.window() == pytest.approx(whole, abs=1)


def test_hovering_a_box_sums_it_up(viewer: Open) -> None:
    page = viewer("orbit")
    words = page.hover(*page.box("argsort"))
    assert "argsort" in words and "order = np.argsort(w)" in words and "orbit.py:24" in words and "blocked" in words


def test_clicking_a_box_tells_everything(viewer: Open) -> None:
    page = viewer("orbit")
    page.click(*page.box("argsort"))
    words = page.panel()
    data = columns(tables("orbit"), "tasks")
    strings = tables("orbit")["strings"]["text"]
    (row,) = np.flatnonzero(data["name"] == strings.index("argsort") + 1)
    assert "order = np.argsort(w)" in words and "orbit.py:24" in words
    assert "argsort · int64[10000000]" in words
    assert f"{data['created'][row] / 1e6:.2f} ms" in words
    started = data["created"][row] + data["blocked"][row] + data["queued"][row]
    assert f"{started / 1e6:.2f} ms" in words
    assert "38.1 MiB read, 76.3 MiB written" in words
    moved = data["read"][row] + data["written"][row]
    assert f"{moved / data['ran'][row]:.3g} GB/s" in words and "of the machine's 24 GB/s" in words
    for part in ("BEFORE IT ON THIS PROCESSOR", "WAITED FOR", "CRITICAL PATH BEHIND IT", "INSTANCES MADE FOR IT"):
        assert part in words.upper()


def test_a_task_leads_to_its_instances_and_an_instance_to_its_task(viewer: Open) -> None:
    page = viewer("orbit")
    page.click(*page.box("argsort"))
    box = page.ask("a.selected.box")
    made = columns(tables("orbit"), "instances")
    task = page.ask("(() => { const { rank, box } = a.selected; return rank.boxes.subject[box]; })()")
    row = np.flatnonzero(made["task"] == task)[0]
    page.page.locator("#content tr.instance .link").first.click()
    page.settle()
    moment = page.ask("({ id: a.selectedMoment.memory.id, time: a.selectedMoment.time })")
    assert moment == {"id": made["memory"][row], "time": made["born"][row]}
    page.page.locator("#content a", has_text=re.compile(rf"^task {task}$")).first.click()
    page.settle()
    assert page.ask("a.selected.box") == box


def test_the_critical_path_can_be_walked_to_the_start(viewer: Open) -> None:
    """From the end of the run link by link: every step ends no later than the one before it, and the walk ends."""
    page = viewer("better", address="#panel=run")
    tasks = columns(tables("better"), "tasks")
    stops = dict(zip(tasks["id"], tasks["created"] + tasks["blocked"] + tasks["queued"] + tasks["ran"]))
    page.page.get_by_text("Walk the critical path from its end").click()
    links = page.page.locator("#content h3:has-text('Critical path') + ul li:has(.link)")
    selected = "(() => { const { rank, box } = a.selected; return rank.boxes.subject[box]; })()"
    path = [page.ask(selected)]
    assert stops[path[0]] == max(stops.values())
    while links.count():
        links.first.click()
        page.settle()
        path.append(page.ask(selected))
        assert stops[path[-1]] <= stops[path[-2]]
    assert len(path) > 20
    assert tasks["line"][tasks["id"] == path[-1]] == tables("better")["lines"]["line"].index(5) + 1


def test_a_sync_names_the_task_it_waited_for(viewer: Open) -> None:
    page = viewer("orbit")
    page.click(*page.box("sync", nth=12))
    words = page.panel()
    assert "the program waits for a value" in words and "print(w[order[:5]], level)" in words


def test_memory_lanes_tell_the_level_and_the_arrays_by_line(viewer: Open) -> None:
    page = viewer("orbit")
    x, y = 900.0, page.row("n0.system.m0")
    at = page.ask("a.view.from + (argument - 226) / (a.width - 226) * a.view.span", x)
    levels, born = columns(tables("orbit"), "levels"), columns(tables("orbit"), "instances")
    deaths = dict(zip(*(columns(tables("orbit"), "deaths")[key] for key in ("instance", "time"))))
    alive = [row for row in range(len(born["id"])) if born["born"][row] <= at < deaths[born["id"][row]]]
    level = levels["bytes"][levels["time"] <= at][-1]
    words = page.hover(x, y)
    assert f"{level / 2**20:.3g} MiB in SYSTEM_MEM" in words
    assert "x = rng.random(N, dtype=np.float32)" in words
    page.click(x, y)
    assert re.search(rf"Instances · {len(alive)}\b", page.panel(), re.IGNORECASE)
    assert f"high-water mark {levels['peak'].max() / 2**20:.3g} MiB" in page.panel()
    assert "read once" in page.panel()


def test_arrays_that_were_never_freed_say_so(viewer: Open, tmp_path: Path) -> None:
    data = {**tables("orbit"), "deaths": {"instance": [99], "time": [1], "reads": [1]}}
    data["held"] = {"instance": [1, 2], "reads": [3, 0], "last_read": [50_000_000, 0]}
    page = viewer()
    page.open(report(tmp_path / "held.html", files.write(tmp_path / "held.nlprof", data)))
    page.click(900.0, page.row("n0.system.m0"))
    words = page.panel()
    assert "read 3 times, last at 50 ms; never freed" in words and "never read, never freed" in words


def matching(name: str, test: Callable[[str, int], bool]) -> int:
    """Boxes whose name and line (of the program) pass, counted from the tables."""
    data = tables(name)
    strings, lines = ["", *data["strings"]["text"]], [0, *data["lines"]["line"]]
    names = {task: strings[number] for task, number in zip(data["tasks"]["id"], data["tasks"]["name"])}
    places: dict[int, set[int]] = {}
    for task, line in zip(data["operations"]["task"], data["operations"]["line"]):
        places.setdefault(task, set()).add(lines[line])
    spans = data["spans"]
    found = 0
    for kind, subject, line in zip(spans["kind"], spans["subject"], spans["line"]):
        about = {lines[line]} | (places.get(subject, set()) if kind in (0, 1, 16, 22, 40, 50, 51) else set())
        found += any(test(names.get(subject, "") if kind == 0 else "", place) for place in about)
    return found


def test_search_finds_what_the_tables_hold(viewer: Open) -> None:
    page = viewer("orbit")
    assert page.search("line:21") == matching("orbit", lambda _, line: line == 21)
    assert page.search("orbit.py:21") == matching("orbit", lambda _, line: line == 21)
    spans = columns(tables("orbit"), "spans")
    assert page.search("dur>1ms") == (spans["ran"] > 1e6).sum()
    assert page.search("dur<1us") == (spans["ran"] < 1e3).sum()
    assert page.search("name:argsort lane:cpu") == matching("orbit", lambda name, _: name == "argsort")
    assert page.search("lane:utility dur>50us") == ((spans["processor"] == 4) & (spans["ran"] > 50e3)).sum()
    assert page.search("shape:int64 lane:cpu") == matching("orbit", lambda name, _: name == "argsort")
    assert page.search("default_rng") == 0
    assert page.search("np.where lane:cpu") == 4
    assert page.search("nothing-like-this") == 0
    assert page.search("") == -1


def test_matches_can_be_walked_and_the_others_hidden(viewer: Open) -> None:
    page = viewer("orbit")
    page.search("name:argsort lane:cpu")
    page.page.locator("#query").press("Enter")
    page.settle()
    first = page.ask("a.view.selected")
    page.page.locator("#query").press("Enter")
    page.settle()
    assert page.ask("a.view.selected") != first
    page.page.locator("#tabs [data-panel=search]").click()
    page.page.get_by_text("Hide the others").click()
    assert page.ask("a.view.only") is True
    page.page.get_by_label("Longer than").fill("1s")
    page.page.get_by_label("Longer than").press("Enter")
    page.settle()
    assert "0 boxes" in page.panel()


def test_the_panel_by_line_adds_up(viewer: Open) -> None:
    page = viewer("orbit", address="#panel=lines")
    spans = columns(tables("orbit"), "spans")
    tasks = tables("orbit")["tasks"]
    name = dict(zip(tasks["id"], tasks["name"]))
    wanted = tables("orbit")["strings"]["text"].index("argsort") + 1
    time = sum(
        ran
        for kind, subject, ran in zip(spans["kind"], spans["subject"], spans["ran"])
        if kind == 0 and name[subject] == wanted
    )
    row = page.page.locator("#content .row[data-line='24']")
    assert "order = np.argsort(w)" in row.inner_text()
    assert f"{round(time / 1e6)} ms" in row.inner_text()
    waits = spans["ran"][
        (spans["kind"] == 22) & (spans["line"] == tables("orbit")["lines"]["line"].index(21) + 1)
    ].sum()
    assert f"{round(waits / 1e6)} ms" in page.page.locator("#content .row[data-line='21']").inner_text()
    row.click()
    page.settle()
    assert page.ask("a.view.query") == "line:orbit.py:24"


def test_findings_of_the_file_are_shown_with_their_lines(viewer: Open) -> None:
    page = viewer("orbit")
    words = page.panel()
    assert (
        "The program waits inside a loop" in words and "level = float(w.mean()) + level" in words and "29 ms" in words
    )
    assert "Nothing to complain about" in viewer("better", address="#panel=findings").panel()


def test_two_runs_stand_one_above_the_other_with_their_difference_by_line(viewer: Open) -> None:
    page = viewer("orbit", "better")
    assert page.ask("a.rows.filter((row) => row.type === 'run').map((row) => row.label)") == [
        "orbit · orbit.py",
        "better · orbit.py",
    ]
    words = page.panel()
    ends = [tables(name)["end"]["time"][0] for name in ("orbit", "better")]
    assert f"{ends[0] / 1e6:.0f} ms, then {ends[1] / 1e6:.0f} ms" in words
    row = page.page.locator("#content .row[data-line='24']")
    assert "÷1.6" in row.inner_text() and "better" in (row.locator(".cell").last.get_attribute("class") or "")


def test_nodes_have_their_own_lanes_and_share_an_average(viewer: Open) -> None:
    page = viewer("node0", "node1")
    labels = page.labels()
    assert labels[0] == "All nodes" and "Node 0 · node0" in labels and "Node 1 · node1" in labels
    assert len(page.ask("a.session.runs.map((run) => run.title)")) == 1


def test_the_address_restores_the_view(viewer: Open) -> None:
    page = viewer("orbit")
    page.click(60, page.row("n0.utility"))
    page.search("name:mean")
    page.click(*page.box("argsort"))
    page.page.keyboard.press("+")
    page.settle()
    address = page.page.evaluate("location.hash")
    other = viewer("orbit", address=address)
    for state in ("[a.view.from, a.view.to]", "a.view.selected", "a.view.query", "[...a.view.flipped]", "a.view.panel"):
        assert (
            other.ask(state) == pytest.approx(page.ask(state), abs=1)
            if "from" in state
            else other.ask(state) == page.ask(state)
        )
    assert "Utility 0" not in other.labels()


def test_nonsense_in_the_address_is_ignored(viewer: Open) -> None:
    page = viewer("orbit", address="#t=9..x&box=b7.99&fold=?&y=-5&panel=nothing")
    assert page.window()[1] > 1e6 and page.ask("a.selected") is None


def test_light_and_dark_follow_the_system_and_can_be_switched(viewer: Open) -> None:
    theme = "document.documentElement.dataset.theme"
    page = viewer("orbit", scheme="dark")
    assert page.page.evaluate(theme) == "dark"
    page.page.keyboard.press("t")
    assert page.page.evaluate(theme) == "light"
    page.page.emulate_media(color_scheme="light")
    assert page.page.evaluate(theme) == "light"
    assert viewer("orbit").page.evaluate(theme) == "light"


@pytest.mark.parametrize("kind", ["PNG", "SVG"])
def test_the_view_can_be_exported(viewer: Open, kind: str, tmp_path: Path) -> None:
    page = viewer("orbit")
    page.page.locator("#tool-export").click()
    with page.page.expect_download() as waiting:
        page.page.get_by_text(f"Picture as {kind}").click()
    path = tmp_path / "picture"
    waiting.value.save_as(path)
    assert waiting.value.suggested_filename == f"orbit.{kind.lower()}"
    if kind == "PNG":
        assert path.read_bytes().startswith(b"\x89PNG") and path.stat().st_size > 10_000
    else:
        texts = [node.text for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]
        assert {"CPU", "CPU 0", "argsort", "SYSTEM_MEM"} <= set(texts)


def test_keys_are_explained(viewer: Open) -> None:
    page = viewer("orbit")
    page.page.keyboard.press("?")
    assert "critical path of the selected task" in page.page.locator("#help").inner_text()
    page.page.keyboard.press("Escape")
    assert page.page.locator("#help").is_hidden()


def test_work_is_never_an_empty_place(viewer: Open, tmp_path: Path) -> None:
    """Three hundred thousand boxes far below a pixel: every column of pixels in which one lies is painted."""
    page = viewer()
    data = giant(spans=300_000, workers=2)
    page.open(report(tmp_path / "many.html", files.write(tmp_path / "many.nlprof", data)))
    row = page.ask(
        "(() => { const r = a.rows.find((r) => r.label === 'CPU 1'); return 72 + r.y - a.view.scroll + 10; })()"
    )
    page.page.mouse.move(5, 5)
    page.settle()
    pixels = page.ask(
        """(() => { const c = document.getElementById('picture'); const d = window.devicePixelRatio;
             const data = c.getContext('2d').getImageData(0, Math.round(argument * d), c.width, 1).data;
             const sum = (at) => data[at] + data[at + 1] + data[at + 2];
             return Array.from({ length: a.width }, (_, x) => sum(4 * x * d)); })()""",
        row,
    )
    start, stop = page.window()
    mine = data["spans"]["processor"] == 1
    middles = (data["spans"]["started"] + data["spans"]["ran"] / 2)[mine]
    at = 226 + (middles - start) / (stop - start) * (len(pixels) - 226)
    busy = np.unique(at[(at > 228) & (at < len(pixels) - 1)].astype(int))
    assert len(busy) > 300
    assert [x for x in busy if pixels[x] == 3 * 255] == []
    words = page.hover(float(busy[len(busy) // 2]), row)
    assert re.search(r"\d+ boxes merged", words)


def test_what_is_hidden_cannot_be_hit(viewer: Open) -> None:
    page = viewer("orbit", address="#q=name:mean&only=1")
    assert page.hover(*page.box("argsort")) == ""
    assert "mean" in page.hover(*page.box("mean", lane="cpu"))


def test_a_gap_explains_itself(viewer: Open) -> None:
    """Before the first task of a worker nobody had asked for anything: Python was importing."""
    page = viewer("orbit")
    words = page.hover(230, page.row("n0.cpu.p1"))
    assert "Idle for" in words and "nobody had asked for more" in words and "the program: Python at orbit.py:1" in words
    # On the worker's lane the third box is the square root's; the place before it is where it was blocked.
    middle = "(() => { const { start, stop } = a.session.ranks[0].boxes; return (stop[1] + start[2]) / 2; })()"
    x = page.ask(f"226 + ({middle} - a.view.from) * (a.width - 226) / a.view.span")
    words = page.hover(x, page.row("n0.cpu.p0"))
    assert "blocked, waiting for random" in words and "then multiply·add·sqrt" in words
