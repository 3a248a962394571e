"""The simulated runs that the viewer's tests look at, by name."""

from __future__ import annotations

import functools
from collections.abc import Callable

from tests.viewer import story
from tests.viewer.browser import Viewer

Tables = dict[str, dict[str, list]]
Open = Callable[..., Viewer]


@functools.cache
def tables(name: str) -> Tables:
    runs: dict[str, Callable[[], Tables]] = {
        "orbit": story.orbit,
        "better": lambda: story.orbit(speed=1.6, chunks=20, name="better", findings=False),
        "gpu": lambda: story.orbit(gpus=2),
        "node0": lambda: story.orbit(rank=0, ranks=2),
        "node1": lambda: story.orbit(rank=1, ranks=2, speed=1.25),
    }
    return runs[name]()
