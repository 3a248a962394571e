"""`python -m numloom`: the command `numloom`."""

from __future__ import annotations

import sys

from numloom_driver import main

sys.exit(main())
