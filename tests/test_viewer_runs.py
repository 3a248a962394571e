"""From a program to the page: recorded, reported, and looked at in a browser."""

from __future__ import annotations

import re
from pathlib import Path

from tests import commands
from tests.viewer.runs import Open

pytest_plugins = ("tests.viewer.fixtures",)

PROGRAM = """\
import numloom as np

a = np.ones((1500, 1500))
with np.ProfileRange("smoothing"):
    for _ in range(8):
        a[1:-1, 1:-1] = (a[:-2, 1:-1] + a[2:, 1:-1]) * 0.5
        if float(a.max()) < 0.5:
            break
b = np.sort(a, axis=None)
print(float(b[-1]))
"""


def recorded(folder: Path, name: str, *words: str) -> Path:
    """The report of a run of the program above."""
    (folder / "smooth.py").write_text(PROGRAM)
    ended = commands.run("numloom", "--profile", "--profile-name", name, *words, "smooth.py", cwd=folder)
    assert ended.status == 0, ended.err
    return folder / f"{name}_prof" / "index.html"


def test_the_report_of_a_run_shows_its_lines_phases_and_findings(viewer: Open, tmp_path: Path) -> None:
    page = viewer().open(recorded(tmp_path, "run"), "#panel=lines")
    assert {"CPU", "IO", "System", "Phases"} <= set(page.labels())
    assert page.ask("a.session.runs[0].title").endswith("smooth.py")
    assert page.page.locator(".row[data-line='7']").inner_text().strip().startswith("7")
    assert "float(a.max()) < 0.5" in page.page.locator(".row[data-line='7']").inner_text()
    phases = "a.session.ranks[0].tables.ranges"
    assert page.ask(f"a.session.ranks[0].string({phases}.name[0])") == "smoothing"
    page.page.locator("#tabs [data-panel=findings]").click()
    found = page.ask("Array.from(a.session.ranks[0].tables.findings.title)")
    assert all(title.lower() in page.panel().lower() for title in found)
    assert found or "Nothing to complain about" in page.panel()
    assert page.ask("a.session.ranks[0].file.notes") == []


def test_a_box_of_a_run_leads_to_the_line_that_asked_for_it(viewer: Open, tmp_path: Path) -> None:
    page = viewer().open(recorded(tmp_path, "run"))
    page.search("name:max lane:cpu")
    page.page.locator("#query").press("Enter")
    page.settle()
    # Found, and brought to where it can be seen: now with the mouse.
    place = page.ask("a.positionOf(a.selected)")
    page.page.keyboard.press("Escape")
    page.page.locator("#stage").press("Escape")
    page.settle()
    assert page.ask("a.selected") is None
    page.click(place["x"], place["y"])
    words = page.panel()
    assert "if float(a.max()) < 0.5:" in words and "smooth.py:7" in words
    assert re.search(r"started\s+[\d.]+ (s|ms)", words) and "CRITICAL PATH" in words.upper()
    # What it read is told beside what was made for it.
    assert "INSTANCES IT READ" in words.upper() and "float64[1500,1500]" in words


def test_every_box_of_a_run_is_in_order_and_every_edge_leads_back(viewer: Open, tmp_path: Path) -> None:
    page = viewer().open(recorded(tmp_path, "run", "--fuse", "0"))
    overlaps = """a.session.ranks[0].tracks.filter(({ first, last }) => {
      const { start, stop } = a.session.ranks[0].boxes;
      for (let i = first + 1; i < last; i++) if (start[i] < stop[i - 1]) return true;
      return false;
    }).length"""
    assert page.ask(overlaps) == 0
    late = """(() => { const rank = a.session.ranks[0], { tasks, edges } = rank.tables;
      const begin = (row) => tasks.created[row] + tasks.blocked[row] + tasks.queued[row];
      const both = Array.from(edges.task.keys(), (e) => [rank.taskRow(edges.task[e]), rank.taskRow(edges.from[e])]);
      const known = both.filter(([task, from]) => task >= 0 && from >= 0);
      return known.filter(([task, from]) => begin(from) + tasks.ran[from] > begin(task)).length;
    })()"""
    assert page.ask("a.session.ranks[0].tables.edges.rows") > 8
    assert page.ask(late) == 0
