"""`runtime_has_started()`."""

from __future__ import annotations

import sys

__all__ = ["runtime_has_started"]


def runtime_has_started() -> bool:
    """Whether Numloom has been imported, which is when it reads its settings. Asking does not import it."""
    return "numloom" in sys.modules
