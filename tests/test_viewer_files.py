"""Files that the viewer is given: chosen, served, cut off, damaged, newer than it, nonsense."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from pathlib import Path

import numpy as np
import pytest

from tests.viewer import files, story
from tests.viewer.browser import Viewer
from tests.viewer.page import MARK, PAGE, report
from tests.viewer.runs import Open, tables

pytest_plugins = ("tests.viewer.fixtures",)


def choose(page: Viewer, path: Path) -> str:
    page.page.goto(PAGE.as_uri())
    assert "Drop profile files here" in page.page.locator("#start").inner_text()
    page.page.locator("#files").set_input_files(path)
    page.page.wait_for_function("window.numloom || document.querySelector('#message.bad')")
    return page.page.locator("#message").inner_text() if page.page.locator("#message").is_visible() else ""


def test_a_bare_file_is_looked_through_by_the_page(viewer: Open, tmp_path: Path) -> None:
    page = viewer()
    page.page.goto(PAGE.as_uri())
    path = files.write(tmp_path / "bare.nlprof", story.orbit(findings=False))
    page.page.locator("#files").set_input_files(path)
    page.ready()
    page.page.locator("#tabs [data-panel=findings]").click()
    words = page.panel()
    assert "waits again and again" in words and "Many tiny tasks from one line" in words


def test_a_second_run_can_be_added_to_compare(viewer: Open, tmp_path: Path) -> None:
    page = viewer("orbit")
    page.page.locator("#files").set_input_files(files.write(tmp_path / "better.nlprof", tables("better")))
    page.page.wait_for_function("window.numloom.session.runs.length === 2")
    page.settle()
    assert "A against B, by line" in page.panel()
    boxes = [len(tables(name)["spans"]["ran"]) for name in ("orbit", "better")]
    assert page.ask("a.session.ranks.map((rank) => rank.boxes.start.length)") == boxes
    page.page.keyboard.press("+")
    page.settle()
    assert page.ask("a.view.canUndo") is True
    (tmp_path / "bad.nlprof").write_bytes(b"no profile")
    page.page.locator("#files").set_input_files(tmp_path / "bad.nlprof")
    page.page.wait_for_selector("#message.bad")
    page.page.locator("#start").click()
    assert page.page.locator("#start").is_hidden() and page.ask("a.session.runs.length") == 2


def test_damage_is_reported_with_its_place(viewer: Open, tmp_path: Path) -> None:
    path = files.write(tmp_path / "orbit.nlprof", tables("orbit"))
    whole = path.read_bytes()
    page = viewer()
    path.write_bytes(whole[:60] + bytes([whole[60] ^ 255]) + whole[61:])
    assert "orbit.nlprof: damaged at byte 16" in choose(page, path)
    path.write_bytes(b"something else entirely")
    assert "not a profile" in choose(page, path)
    path.write_bytes(files.header(major=2) + whole[16:])
    assert "version 2 of the format" in choose(page, path)


def test_random_damage_never_hangs_or_breaks_the_page(viewer: Open, tmp_path: Path) -> None:
    whole = files.write(tmp_path / "orbit.nlprof", tables("orbit")).read_bytes()
    random = np.random.default_rng(3)
    page = viewer()
    for _ in range(12):
        data = bytearray(whole)
        for at in random.integers(0, len(data), 3):
            data[at] = random.integers(0, 256)
        (tmp_path / "orbit.nlprof").write_bytes(data)
        assert choose(page, tmp_path / "orbit.nlprof") != "" or page.ask("a.rows.length") > 0


def test_a_file_cut_off_shows_what_it_has(viewer: Open, tmp_path: Path) -> None:
    path = files.write(tmp_path / "orbit.nlprof", tables("orbit"))
    path.write_bytes(path.read_bytes()[:-30])
    page = viewer()
    assert choose(page, path) == ""
    page.page.locator("#tabs [data-panel=run]").click()
    assert "not yet written whole" in page.panel() and "the file ends before the run did" in page.panel()


def test_newer_chunks_and_columns_are_skipped_with_a_note(viewer: Open, tmp_path: Path) -> None:
    path = files.write(tmp_path / "orbit.nlprof", tables("orbit"))
    extra = files.column(99, files.VARINT, np.array([1]))
    path.write_bytes(
        path.read_bytes()
        + files.chunk(777, 1, b"?")
        + files.chunk(20, 1, files.column(1, files.VARINT, np.array([9])) + extra)
    )
    page = viewer()
    assert choose(page, path) == ""
    page.page.locator("#tabs [data-panel=run]").click()
    assert "kind 777" in page.panel() and "column 99 of end" in page.panel()


@pytest.mark.parametrize("encoding", [files.BYTES, files.VARINT, files.DELTA, files.SAME])
def test_numbers_come_in_every_encoding(viewer: Open, tmp_path: Path, encoding: int) -> None:
    values = {files.BYTES: [7, 200, 0], files.SAME: [2**40 + 5] * 3}.get(encoding, [2**52 + 1, 3, 2**31 + 7])
    coded = {
        files.BYTES: lambda: bytes(values),
        files.VARINT: lambda: files.varints(np.array(values)),
        files.DELTA: lambda: files.varints(files.zigzag(np.array(values))),
        files.SAME: lambda: files.varints(np.array(values[:1])),
    }
    body = coded[encoding]()
    levels = files.column(1, files.VARINT, [0, 0, 0]) + files.column(2, files.DELTA, [1, 2, 3])
    raw = levels + bytes([3, encoding]) + len(body).to_bytes(4, "little") + body
    path = tmp_path / "levels.nlprof"
    memory = files.table("memories", {"id": [0], "kind": [0], "index": [0], "capacity": [0], "name": [0]})
    path.write_bytes(
        files.header() + memory + files.chunk(14, 3, raw, deflate=False) + files.table("end", {"time": [10]})
    )
    page = viewer()
    assert choose(page, path) == ""
    assert page.ask("Array.from(a.session.ranks[0].memories[0].bytes)") == values


def test_nonsense_in_whole_tables_never_breaks_the_page(viewer: Open, tmp_path: Path) -> None:
    """Rows that name what is not there, times out of order, numbers far too large: with the right checksums."""
    random = np.random.default_rng(11)
    page = viewer()
    for turn in range(10):
        most = [3, 300, 2**31, 2**52][turn % 4]
        data: dict[str, dict[str, list | np.ndarray]] = {}
        for name, (_, known) in files.TABLES.items():
            rows = int(random.integers(1, 200))
            data[name] = {
                key: [f"{key}{k % 7}" for k in range(rows)]
                if encoding == files.TEXT
                else random.integers(0, 256 if encoding == files.BYTES else most, rows)
                for key, (_, encoding) in known.items()
            }
        path = files.write(tmp_path / "nonsense.nlprof", data)
        if choose(page, path) == "":
            page.settle()
            page.search("add dur>1us")
            for panel in ("run", "lines", "findings", "search", "box"):
                page.page.locator(f"#tabs [data-panel={panel}]").click()
            for y in range(80, 860, 60):
                page.click(600, y)


def test_work_of_a_processor_that_is_not_listed_is_shown(viewer: Open, tmp_path: Path) -> None:
    listed = {key: values[1:] for key, values in tables("orbit")["processors"].items()}
    path = files.write(tmp_path / "unlisted.nlprof", {**tables("orbit"), "processors": listed})
    page = viewer()
    page.open(report(tmp_path / "unlisted.html", path))
    assert "processor 0" in page.labels()
    assert page.search('lane:"processor 0"') > 0


def serve(folder: Path) -> http.server.ThreadingHTTPServer:
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


@pytest.mark.parametrize("way", ["marker", "address"])
def test_a_served_page_fetches_its_files(viewer: Open, tmp_path: Path, way: str) -> None:
    files.write(tmp_path / "p0", tables("orbit"))
    page = PAGE.read_text()
    (tmp_path / "index.html").write_text(
        page.replace(MARK, "<script data-served></script>") if way == "marker" else page
    )
    (tmp_path / "files.json").write_text(json.dumps([{"name": "orbit.nlprof", "url": "p0"}]))
    server = serve(tmp_path)
    opened = viewer().open(f"http://127.0.0.1:{server.server_port}/index.html", "#served" if way == "address" else "")
    assert "CPU 0" in opened.labels()
    opened.settle()
    if way == "address":
        opened.page.reload()
        assert "CPU 0" in opened.ready().labels()
    server.shutdown()
