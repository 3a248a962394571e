"""Numloom's own counters and explanations, as tests want to read them."""

from __future__ import annotations

import contextlib
import io

from .oracle import np


def counters() -> dict[str, int]:
    """`numloom.stats()` as a plain dictionary with lower-case names."""
    stats = np.stats()
    rows = stats.items() if hasattr(stats, "items") else ((row[0], row[1]) for row in stats)
    return {name.lower(): int(value) for name, value in rows}


class Counted:
    """How much every counter grew inside a with block."""

    def __enter__(self) -> Counted:
        np.sync()
        self.before = counters()
        return self

    def __exit__(self, *_) -> None:
        after = counters()
        self.grew = {name: value - self.before.get(name, 0) for name, value in after.items()}

    def __getitem__(self, name: str) -> int:
        return self.grew[name]


def explained(x) -> str:
    """What `numloom.explain` says, whether it prints or answers."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        answer = np.explain(x)
    return printed.getvalue() + (answer if isinstance(answer, str) else "")
