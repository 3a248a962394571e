"""The command `legate`: Numloom's, under this name."""

from __future__ import annotations

import numloom_driver


def main() -> int:
    return numloom_driver.main("legate")
