"""The page that is shipped is the one that its sources make."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.viewer.page import MARK, PAGE

SOURCES = PAGE.parents[2] / "viewer"
ANSWERS_WITHIN = 180


def test_the_page_in_the_package_is_the_one_its_sources_make(tmp_path: Path) -> None:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        pytest.skip("no Node on this machine: the built page is not compared with its sources")
    if not (SOURCES / "node_modules" / "esbuild").exists():
        try:
            subprocess.run([npm, "install"], cwd=SOURCES, capture_output=True, timeout=ANSWERS_WITHIN, check=True)
        except (subprocess.SubprocessError, OSError):
            pytest.skip("esbuild could not be installed: the built page is not compared with its sources")
    built = tmp_path / "viewer.html"
    subprocess.run([node, "build.mjs", str(built)], cwd=SOURCES, check=True, timeout=ANSWERS_WITHIN)
    assert built.read_text() == PAGE.read_text(), "run `npm run build` in viewer/ and commit the page"


def test_the_page_needs_nothing_but_itself() -> None:
    page = PAGE.read_text()
    assert page.count(MARK) == 1
    assert re.findall(r"""(?:src|href)=["'](?!data:)[^"']+""", page) == []
    assert [url for url in re.findall(r"https?://[^\s\"'`)]+", page) if "www.w3.org/2000/svg" not in url] == []
