"""The command `legate_prof`: Numloom's `numloom prof`, with the names of Legate's own."""

from __future__ import annotations

import sys

from numloom_driver.prof import prof


def main() -> int:
    return prof(sys.argv[1:], legate=True)
