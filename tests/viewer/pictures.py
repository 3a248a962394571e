"""Makes the pictures of docs/viewer.md, from simulated runs: python -m tests.viewer.pictures."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from playwright.sync_api import Browser, sync_playwright

from tests.viewer import files, story
from tests.viewer.browser import Viewer
from tests.viewer.page import PAGE, chromium, report

IMAGES = PAGE.parents[2] / "docs" / "images"
SIZE = {"width": 1360, "height": 760}


class Picture(NamedTuple):
    name: str
    runs: tuple[str, ...]
    scheme: str
    address: str
    before: Callable[[Viewer], None]


def select_sort(page: Viewer) -> None:
    page.click(*page.box("argsort"))
    page.hover(*page.box("less·multiply·add·where"))


def look_into_memory(page: Viewer) -> None:
    page.hover(430, page.row("n0.fb.m1"))


def nothing(page: Viewer) -> None:
    page.settle()


RUNS: dict[str, Callable[[], dict[str, dict[str, list]]]] = {
    "orbit": story.orbit,
    "better": lambda: story.orbit(speed=1.6, chunks=20, name="without slices", findings=False),
    "gpu": lambda: story.orbit(gpus=2),
}
PICTURES = [
    Picture("viewer-box", ("orbit",), "light", "", select_sort),
    Picture("viewer-lines", ("orbit",), "dark", "#panel=lines&t=-500000..128000000", nothing),
    Picture("viewer-compare", ("orbit", "better"), "light", "", nothing),
    Picture("viewer-memory", ("gpu",), "dark", "#panel=findings&t=-1000000..640000000", look_into_memory),
]


def take(browser: Browser, folder: Path, picture: Picture) -> None:
    profiles = [files.write(folder / f"{name}.nlprof", RUNS[name]()) for name in picture.runs]
    page = Viewer(browser.new_page(viewport=SIZE, color_scheme=picture.scheme))
    page.open(report(folder / "page.html", *profiles), picture.address)
    picture.before(page)
    path = IMAGES / f"{picture.name}.png"
    page.page.screenshot(path=path)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB")
    page.page.close()


def main() -> None:
    IMAGES.mkdir(exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=chromium())
        for picture in PICTURES:
            take(browser, Path(folder), picture)
        browser.close()


if __name__ == "__main__":
    main()
