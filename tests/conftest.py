"""Settings for all tests."""

from __future__ import annotations

import os

os.environ.setdefault("NUMLOOM_FALLBACK_WARNINGS", "0")
