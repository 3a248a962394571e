"""A shape in boxes: parts of an array that lie one behind the other in C order, each small enough for the host."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy


def boxes(shape: tuple[int, ...], most: int) -> Iterator[tuple[slice, ...]]:
    """Slices that cover `shape` in C order, each with no more than `most` elements; one box if there is no axis."""
    if 0 in shape:
        return
    # The axis that is divided: everything behind it fits into a box.
    axis = next((k for k in range(len(shape)) if math.prod(shape[k + 1 :]) <= most), 0)
    if not shape:
        yield ()
        return
    step = max(1, most // math.prod(shape[axis + 1 :]))
    behind = (slice(None),) * (len(shape) - axis - 1)
    for before in numpy.ndindex(shape[:axis]):
        for start in range(0, shape[axis], step):
            yield (*[slice(i, i + 1) for i in before], slice(start, min(start + step, shape[axis])), *behind)
