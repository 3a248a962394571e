"""`numloom prof …` and `legate_prof …`: what is made of profiles."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path


def prof(words: Sequence[str], *, legate: bool = False) -> int:
    """Do what the words say; the exit status."""
    import numloom
    from numloom import _core

    page = Path(numloom.__file__).with_name("viewer.html")
    return _core.prof(legate, list(words), page if page.exists() else None)
