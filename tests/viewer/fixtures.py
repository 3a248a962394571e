"""Fixtures of the viewer's tests: a browser, reports of simulated runs, and pages that must stay without error."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viewer import files
from tests.viewer.browser import Viewer
from tests.viewer.page import chromium, report
from tests.viewer.runs import Open, tables

WITHIN = ("file:", "data:", "blob:", "http://127.0.0.1")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Not longer than a module: while it is open, an event loop counts as running in this thread."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: the viewer is not tested")
    path = chromium()
    if path is None:
        pytest.skip("no Chromium on this machine: the viewer is not tested")
    with api.sync_playwright() as playwright:
        try:
            launched = playwright.chromium.launch(executable_path=path)
        except api.Error as error:
            pytest.skip(f"{path} does not start, the viewer is not tested: {error}")
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def stories(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A report of simulated runs, made once for each set of them."""
    folder = tmp_path_factory.mktemp("profiles")

    @functools.cache
    def made(*names: str) -> Path:
        paths = [files.write(folder / f"{name}.nlprof", tables(name)) for name in names]
        return report(folder / f"{'-'.join(names)}.html", *paths)

    return made


@pytest.fixture
def viewer(browser: Any, stories: Callable[..., Path]) -> Iterator[Open]:
    """Opens a report; afterwards the page must have had no error and must not have asked anyone for anything."""
    opened: list[Viewer] = []
    contexts = []

    def open_page(*names: str, address: str = "", scheme: str = "light") -> Viewer:
        size = {"width": 1440, "height": 900}
        context = browser.new_context(viewport=size, color_scheme=scheme, accept_downloads=True)
        contexts.append(context)
        page = Viewer(context.new_page())
        opened.append(page)
        return page.open(stories(*names), address) if names else page

    yield open_page
    for page in opened:
        assert page.problems == []
        assert [url for url in page.requests if not url.startswith(WITHIN)] == []
    for context in contexts:
        context.close()
