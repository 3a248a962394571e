"""Runs one program under NumPy and under the module, and fails if they differ: what kept programs are made of."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy


def contents(seed: int, shape: tuple[int, ...], dtype: str) -> numpy.ndarray:
    """Tame, reproducible numbers: eighths between -4 and 4, small whole numbers, or coin flips."""
    rng = numpy.random.RandomState(seed)
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return rng.randint(0, 2, shape).astype(bool)
    if kind in "iu":
        return rng.randint(0 if kind == "u" else -20, 21, shape).astype(dtype)
    values = rng.randint(-32, 33, shape) / 8
    if kind == "c":
        values = values + 1j * (rng.randint(-32, 33, shape) / 8)
    return values.astype(dtype)


def outcome(program: Callable, np: Any) -> dict[str, Any]:
    """What the program defines and what it reads on the way."""
    seen: list[Any] = []
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        values = program(np, lambda *key: np.array(contents(*key)), seen.append)
        values.update((f"read {i}", v) for i, v in enumerate(seen))
        return {k: v if isinstance(v, (str, tuple, list)) else numpy.asarray(v) for k, v in values.items()}


def replay(program: Callable, config: str = "", approximate: Iterable[str] = ()) -> None:
    """`program(np, data, read)` answers its values by name. `approximate` names those that may round differently."""
    os.environ.setdefault("NUMLOOM_CONFIG", config)
    expected = outcome(program, numpy)
    actual = outcome(program, importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom")))
    for name, e in expected.items():
        a = actual[name]
        if not isinstance(e, numpy.ndarray):
            assert repr(a) == repr(e), f"{name}: {a!r} instead of {e!r}"
            continue
        assert (a.shape, a.dtype) == (e.shape, e.dtype), f"{name}: {a.shape} {a.dtype} instead of {e.shape} {e.dtype}"
        if name in approximate:
            numpy.testing.assert_allclose(a, e, rtol=1e-2 if e.dtype.itemsize == 2 else 1e-4, atol=1e-4, err_msg=name)
        else:
            numpy.testing.assert_array_equal(a, e, err_msg=name)
