"""The built page, with profiles in it."""

from __future__ import annotations

import base64
import shutil
from pathlib import Path

PAGE = Path(__file__).parents[2] / "python" / "numloom" / "viewer.html"
MARK = "<!--NUMLOOM-PROFILE-->"


def chromium() -> str | None:
    """The path of a Chromium on this machine."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    return next((path for name in names if (path := shutil.which(name))), None)


def report(target: Path, *profiles: Path) -> Path:
    """The page with the profiles in it, as tools write it."""
    scripts = "".join(
        f'<script type="application/octet-stream;base64" data-name="{path.name}">'
        f"{base64.b64encode(path.read_bytes()).decode()}</script>"
        for path in profiles
    )
    page = PAGE.read_text()
    assert page.count(MARK) == 1
    target.write_text(page.replace(MARK, scripts))
    return target
