"""Benchmarks by family of functions, NumPy and Numloom in one run.

A file of this folder is a family: its table `ROWS` has a line for each measurement.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Row(NamedTuple):
    name: str
    call: Callable[..., Any]
    """Takes the array module and the inputs."""
    inputs: tuple[Callable[[Any], Any], ...]
    """Each makes an array of NumPy's from a generator of random numbers."""
    same: Callable[[Any, Any], bool] | None = None
    """Whether a result of Numloom's is NumPy's; equal within rounding unless said otherwise."""


N = 10_000_000


def uniform(rng: Any) -> Any:
    return rng.random(N)


def short(rng: Any) -> Any:
    return rng.random(N, dtype="f4")
