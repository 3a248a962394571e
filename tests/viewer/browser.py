"""A page of the viewer in a real browser, driven the way one uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Page

# Overview and ruler, above the first row.
TOP = 72


class Viewer:
    """What the tests ask of a page; coordinates are those of the timeline."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.problems: list[str] = []
        self.requests: list[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda words: self.problems.append(words.text) if words.type == "error" else None)
        page.on("request", lambda request: self.requests.append(request.url))

    def open(self, url: Path | str, address: str = "") -> Viewer:
        self.page.goto((url.as_uri() if isinstance(url, Path) else url) + address)
        return self.ready()

    def ready(self) -> Viewer:
        self.page.wait_for_function("window.numloom && window.numloom.drawn.frames > 0", timeout=60_000)
        return self

    def ask(self, script: str, argument: Any = None) -> Any:
        """Runs a function of the page's state `a`."""
        return self.page.evaluate(f"(argument) => {{ const a = window.numloom; return ({script}); }}", argument)

    def settle(self) -> None:
        """Waits until the view is drawn and the address holds it."""
        self.ask("new Promise((done) => { a.view.settle(); requestAnimationFrame(() => setTimeout(done)); })")

    def window(self) -> tuple[float, float]:
        return tuple(self.ask("[a.view.from, a.view.to]"))

    def labels(self) -> list[str]:
        return self.ask("a.rows.map((row) => row.label)")

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A place of the timeline as one of the page."""
        stage = self.page.locator("#overlay").bounding_box()
        assert stage is not None
        return stage["x"] + x, stage["y"] + y

    def box(self, name: str, lane: str = "", nth: int = 0) -> tuple[float, float]:
        """Where the nth box of a name stands."""
        found = self.ask(
            """(() => { for (const rank of a.session.ranks) { let seen = 0;
                 for (let box = 0; box < rank.boxes.start.length; box++) {
                   if (a.session.names.texts[rank.nameOf(box)] !== argument[0]) continue;
                   if (argument[1] && rank.trackOf(box).lane !== argument[1]) continue;
                   if (seen++ === argument[2]) return a.positionOf({ rank, box }); } } })()""",
            [name, lane, nth],
        )
        assert found, f"no box {name}"
        return found["x"], found["y"]

    def row(self, key: str) -> float:
        """The middle of a row, by its key."""
        found = "a.rows.filter((r) => r.key === argument).map((r) => [r.y, r.height, a.view.scroll])[0]"
        y, height, scroll = self.ask(found, key)
        return TOP + y - scroll + height / 2

    def click(self, x: float, y: float) -> None:
        self.page.mouse.click(*self.point(x, y))
        self.settle()

    def hover(self, x: float, y: float) -> str:
        self.page.mouse.move(*self.point(x, y))
        self.settle()
        tip = self.page.locator("#tip")
        return tip.inner_text() if tip.is_visible() else ""

    def panel(self) -> str:
        return self.page.locator("#content").inner_text()

    def search(self, words: str) -> int:
        """Types into the search box; gives how many boxes match."""
        self.page.locator("#query").fill(words)
        self.page.wait_for_function("(words) => window.numloom.view.query === words", arg=words)
        self.settle()
        return self.ask("a.matches ? [...a.matches.values()].reduce((sum, m) => sum + m.ids.length, 0) : -1")
