"""`RandomState`: NumPy's legacy generator and its own ways to draw."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any

import numpy
import numpy.random

import numloom
from numloom._core import (
    KeptNormal,
    Unsupported,
    draw_dirichlet,
    draw_distribution,
    draw_integers,
    draw_multinomial,
    draw_standard,
)
from numloom._operands import is_array
from numloom.random import _choice, _multivariate, _orders
from numloom.random._bit_generators import MT19937, stream_of
from numloom.random._drawing import ROWS, distribution, dressed, native, sized, through_twin
from numloom.random._integers import integers

_ORIGINAL = numpy.random.RandomState
_native = native(_ORIGINAL)
_NORMAL = ROWS["legacy_standard_normal"]
_NO_KEYWORDS: dict[str, Any] = {}


class RandomState(_ORIGINAL):
    __doc__ = _ORIGINAL.__doc__
    __module__ = "numloom.random"

    _stream: Any
    _kept: Any

    def __init__(self, seed: Any = None) -> None:
        if hasattr(seed, "capsule"):
            bit_generator = seed
        else:
            bit_generator = MT19937()
            if seed is not None:
                bit_generator._legacy_seeding(seed)
        self._begin(bit_generator)

    def _begin(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self._stream = stream_of(bit_generator)
        self._kept = KeptNormal()

    @contextlib.contextmanager
    def _twin(self) -> Iterator[Any]:
        """NumPy's `RandomState` over the same stream; the normal that was kept goes there and comes back."""
        twin = _ORIGINAL(self._bit_generator)
        state = self._bit_generator.state
        kept = self._kept.get(self._stream)
        twin.set_state({**state, "has_gauss": int(kept is not None), "gauss": kept or 0.0})
        try:
            yield twin
        finally:
            after = twin.get_state(legacy=False)
            self._kept.set(self._stream, after["gauss"] if after["has_gauss"] else None)

    def __reduce__(self) -> Any:
        return _remade, (self._bit_generator,), self.get_state(legacy=False)

    def seed(self, seed: Any = None) -> None:
        if not isinstance(self._bit_generator, MT19937 | numpy.random.MT19937):
            raise TypeError("can only re-seed a MT19937 BitGenerator")
        self._bit_generator._legacy_seeding(seed)
        self._kept.set(self._stream, None)

    def get_state(self, legacy: bool = True) -> Any:
        state: Any = self._bit_generator.state
        if state["bit_generator"] != "MT19937" and legacy:
            warnings.warn(
                "get_state and legacy can only be used with the MT19937 BitGenerator. To silence this warning, "
                "set `legacy` to False.",
                RuntimeWarning,
                stacklevel=2,
            )
            legacy = False
        kept = self._kept.get(self._stream)
        state["has_gauss"], state["gauss"] = int(kept is not None), 0.0 if kept is None else kept
        if legacy and not isinstance(self._bit_generator, MT19937 | numpy.random.MT19937):
            raise ValueError("legacy can only be True when the underlying bitgenerator is an instance of MT19937.")
        if legacy:
            words = state["state"]
            return state["bit_generator"], words["key"], words["pos"], state["has_gauss"], state["gauss"]
        return state

    def set_state(self, state: Any) -> None:
        if isinstance(state, dict):
            if "bit_generator" not in state or "state" not in state:
                raise ValueError("state dictionary is not valid.")
        else:
            if not isinstance(state, tuple | list):
                raise TypeError("state must be a dict or a tuple.")
            if state[0] != "MT19937":
                raise ValueError("set_state can only be used with legacy MT19937 state instances.")
            words = {"bit_generator": state[0], "state": {"key": state[1], "pos": state[2]}}
            if len(state) > 3:
                words["has_gauss"], words["gauss"] = state[3], state[4]
            state = words
        gauss, has_gauss = float(state.get("gauss", 0.0)), int(state.get("has_gauss", 0))
        self._bit_generator.state = state
        self._kept.set(self._stream, gauss if has_gauss else None)

    def __setstate__(self, state: Any) -> None:
        self.set_state(state)

    random_sample = sized(_ORIGINAL, "random_sample", "random")
    random = sized(_ORIGINAL, "random", "random")

    # Without the wrapper of `native`, which takes as long as a few numbers do.
    def rand(self, *args: Any) -> Any:
        try:
            return draw_standard(self._stream, "random", args or None)
        except Unsupported:
            return _rand_by_numpy(self, *args)

    def randn(self, *args: Any) -> Any:
        try:
            return draw_distribution(self._stream, self._kept, _NORMAL, (args or None,), _NO_KEYWORDS)
        except Unsupported:
            return _randn_by_numpy(self, *args)

    @_native
    def standard_exponential(self, size: Any = None) -> Any:
        return _exponential(self, 1.0, size)

    @_native
    def tomaxint(self, size: Any = None) -> Any:
        drawn = draw_integers(self._stream, 0, 2**63 - 1, numpy.dtype(numpy.int64), False, size)
        return int(drawn) if size is None else drawn

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = int) -> Any:
        try:
            return integers(self._stream, low, high, size, dtype, False, True)
        except Unsupported:
            return _randint_by_numpy(self, low, high, size, dtype)

    def random_integers(self, low: Any, high: Any = None, size: Any = None) -> Any:
        first, last = (1, low) if high is None else (low, high)
        said = f"randint({first}, {last} + 1)"
        warnings.warn(f"This function is deprecated. Please call {said} instead", DeprecationWarning, stacklevel=2)
        return self.randint(first, int(last) + 1, size=size, dtype="l")

    @_native
    def bytes(self, length: int) -> bytes:
        if not isinstance(length, int) or length <= 0:
            raise Unsupported("length")
        words = integers(self._stream, 0, 2**32, (length - 1) // 4 + 1, numpy.uint32, False, True)
        return bytes(words.tobytes()[:length])

    @_native
    def choice(self, a: Any, size: Any = None, replace: bool = True, p: Any = None) -> Any:
        a, count = _choice.population(a, 0)
        shape = _choice.shape_of(size)
        is_rare = (p is not None and not replace) or (shape == () and size is not None)
        if count <= 0 or is_rare or (a is not None and a.ndim != 1):
            raise Unsupported("rare, or wrong")
        if not replace:
            return _choice.taken(a, _choice.without_replacement(self._stream, count, shape, None), size, 0)
        if p is None:
            places = integers(self._stream, 0, count, shape, int, False, True)
        else:
            function = _choice.cumulated(p, count)
            places = _choice.with_probabilities(draw_standard(self._stream, "random", shape), function)
        return _choice.taken(a, places, size, 0)

    @_native
    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        if not isinstance(n, int | numpy.integer):
            raise Unsupported("n")
        return draw_multinomial(self._stream, int(n), pvals, size, True)

    @_native
    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        return draw_dirichlet(self._stream, self._kept, alpha, size)

    @_native
    def multivariate_normal(
        self, mean: Any, cov: Any, size: Any = None, check_valid: Any = "warn", tol: float = 1e-8
    ) -> Any:
        given = _multivariate.Normal(mean, cov, size)
        factor = given.factor(check_valid, tol, _multivariate.legacy)
        return given.placed(self.standard_normal(given.shape), factor)

    @_native
    def shuffle(self, x: Any) -> None:
        if is_array(x):
            _orders.shuffle(self._stream, x)
        else:  # its items change places, whatever they are
            _ORIGINAL(self._bit_generator).shuffle(x)

    @_native
    def permutation(self, x: Any) -> Any:
        return _orders.permutation(self._stream, x)


def _remade(bit_generator: Any = "MT19937", constructor: Any = None) -> RandomState:
    """A generator out of a pickle; old ones have names, and a constructor of bit generators."""
    made = getattr(numloom.random, bit_generator)() if isinstance(bit_generator, str) else bit_generator
    return RandomState(made)


_rand_by_numpy = through_twin("rand", "random.RandomState.rand")
_randn_by_numpy = through_twin("randn", "random.RandomState.randn")
_randint_by_numpy = through_twin("randint", "random.RandomState.randint")
for _name in ("rand", "randn", "randint"):
    dressed(getattr(RandomState, _name), _ORIGINAL, _name)
_exponential = distribution(_ORIGINAL, "exponential", "legacy_exponential")

# Where there is no legacy row of the name, both draw alike.
for _row in ROWS:
    _name = _row.removeprefix("legacy_")
    if hasattr(_ORIGINAL, _name) and (_row != _name or "legacy_" + _name not in ROWS):
        setattr(RandomState, _name, distribution(_ORIGINAL, _name, _row))
