"""`Generator`: NumPy's, with every draw from our own streams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy
import numpy.random

import numloom
from numloom._core import (
    Unsupported,
    copyto,
    draw_dirichlet,
    draw_from_urn,
    draw_gamma_f32,
    draw_multinomial,
    draw_standard,
    is_ours,
)
from numloom._operands import is_array
from numloom.random import _choice, _multivariate, _orders
from numloom.random._bit_generators import PCG64, stream_of
from numloom.random._drawing import ROWS, distribution, dressed, native, standard, through_twin
from numloom.random._integers import integers

_ORIGINAL = numpy.random.Generator
_native = native(_ORIGINAL)


class Generator(_ORIGINAL):
    __doc__ = _ORIGINAL.__doc__
    __module__ = "numloom.random"

    # Only `RandomState` keeps normals.
    _kept = None

    def __init__(self, bit_generator: Any) -> None:
        super().__init__(bit_generator)
        self._stream = stream_of(bit_generator)

    @contextlib.contextmanager
    def _twin(self) -> Iterator[Any]:
        yield _ORIGINAL(self.bit_generator)

    def __reduce__(self) -> Any:
        return _remade, (self.bit_generator,), None

    def __setstate__(self, bit_generator: Any) -> None:
        if isinstance(bit_generator, dict):
            self.bit_generator.state = bit_generator

    def spawn(self, n_children: int) -> list[Any]:
        return [type(self)(child) for child in self.bit_generator.spawn(n_children)]

    random = standard(_ORIGINAL, "random", "random")
    standard_normal = standard(_ORIGINAL, "standard_normal", "normal")

    @_native
    def standard_exponential(
        self, size: Any = None, dtype: Any = numpy.float64, method: str = "zig", out: Any = None
    ) -> Any:
        name = "exponential" if method == "zig" else "exponential_inv"
        return draw_standard(self._stream, name, size, dtype, out)

    @_native
    def standard_gamma(self, shape: Any, size: Any = None, dtype: Any = numpy.float64, out: Any = None) -> Any:
        if out is not None:
            raise Unsupported("out")
        if numpy.dtype(dtype) == numpy.float64:
            return _standard_gamma(self, shape, size)
        if numpy.dtype(dtype) != numpy.float32 or not isinstance(shape, float | int) or not shape >= 0:
            raise Unsupported("single precision of an array")
        return draw_gamma_f32(self._stream, shape, size)

    # Without the wrapper of `native`, which takes as long as a few numbers do.
    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = numpy.int64, endpoint: bool = False
    ) -> Any:
        try:
            return integers(self._stream, low, high, size, dtype, bool(endpoint), False)
        except Unsupported:
            return _integers_by_numpy(self, low, high, size, dtype, endpoint)

    @_native
    def bytes(self, length: int) -> bytes:
        if not isinstance(length, int) or length <= 0:
            raise Unsupported("length")
        words = integers(self._stream, 0, 2**32, (length - 1) // 4 + 1, numpy.uint32, False, False)
        return bytes(words.tobytes()[:length])

    @_native
    def choice(
        self, a: Any, size: Any = None, replace: bool = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        a, count = _choice.population(a, axis)
        shape = _choice.shape_of(size)
        if count <= 0 or (p is not None and not replace) or (shape == () and size is not None):
            raise Unsupported("rare, or wrong")
        if not replace:
            return _choice.taken(a, _choice.without_replacement(self._stream, count, shape, bool(shuffle)), size, axis)
        if p is None:
            places = integers(self._stream, 0, count, shape, numpy.int64, False, False)
        else:
            function = _choice.cumulated(p, count)
            places = _choice.with_probabilities(draw_standard(self._stream, "random", shape), function)
        return _choice.taken(a, places, size, axis)

    @_native
    def multinomial(self, n: Any, pvals: Any, size: Any = None) -> Any:
        if not isinstance(n, int | numpy.integer):
            raise Unsupported("arrays of trials")
        return draw_multinomial(self._stream, int(n), pvals, size)

    @_native
    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        return draw_dirichlet(self._stream, None, alpha, size)

    @_native
    def multivariate_hypergeometric(
        self, colors: Any, nsample: Any, size: Any = None, method: str = "marginals"
    ) -> Any:
        colors = numpy.asarray(colors)
        if colors.ndim != 1 or colors.dtype.kind not in "iu" or method not in ("marginals", "count"):
            raise Unsupported("colors")
        if not (size is None or isinstance(size, int | numpy.integer | tuple | list)):
            raise Unsupported("size")
        if not isinstance(nsample, int | numpy.integer) or not 0 <= nsample < 2**63 or (colors > 2**62).any():
            raise Unsupported("nsample")
        return draw_from_urn(self._stream, colors.tolist(), int(nsample), size, method == "count")

    @_native
    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: Any = "warn",
        tol: float = 1e-8,
        *,
        method: str = "svd",
    ) -> Any:
        given = _multivariate.Normal(mean, cov, size)
        factor = given.factor(check_valid, tol, _multivariate.METHODS.get(method))
        return given.placed(draw_standard(self._stream, "normal", given.shape), factor)

    # As for `integers`.
    def shuffle(self, x: Any, axis: int = 0) -> None:
        if not is_array(x):  # its items change places, whatever they are
            return _ORIGINAL(self.bit_generator).shuffle(x, axis)
        try:
            _orders.shuffle(self._stream, x, axis)
        except Unsupported:
            _shuffle_by_numpy(self, x, axis)

    def permutation(self, x: Any, axis: int = 0) -> Any:
        try:
            return _orders.permutation(self._stream, x, axis)
        except Unsupported:
            return _permutation_by_numpy(self, x, axis)

    @_native
    def permuted(self, x: Any, *, axis: Any = None, out: Any = None) -> Any:
        if out is None:
            return _orders.permuted(self._stream, x, axis)
        if not is_ours(out) or not is_ours(x) or out.shape != x.shape or out.dtype != x.dtype:
            raise Unsupported("out")
        if not out.flags.writeable or not out.flags.c_contiguous:
            raise Unsupported("out")
        copyto(out, _orders.permuted(self._stream, x, axis))
        return out


_integers_by_numpy = through_twin("integers", "random.Generator.integers")
_shuffle_by_numpy = through_twin("shuffle", "random.Generator.shuffle")
_permutation_by_numpy = through_twin("permutation", "random.Generator.permutation")
for _name in ("integers", "shuffle", "permutation"):
    dressed(getattr(Generator, _name), _ORIGINAL, _name)
_standard_gamma = distribution(_ORIGINAL, "standard_gamma", "standard_gamma")

for _name in ROWS:
    if not _name.startswith("legacy_") and _name != "standard_gamma":
        setattr(Generator, _name, distribution(_ORIGINAL, _name, _name))


def _remade(bit_generator: Any, constructor: Any = None) -> Generator:
    """A generator out of a pickle; old ones have names, and a constructor of bit generators."""
    made = getattr(numloom.random, bit_generator)() if isinstance(bit_generator, str) else bit_generator
    return Generator(made)


def default_rng(seed: Any = None) -> Generator:
    """A new `Generator` with NumPy's default bit generator (PCG64); a `Generator` is handed back as it is."""
    if isinstance(seed, Generator):
        return seed
    if hasattr(seed, "capsule"):
        return Generator(seed)
    if isinstance(seed, numpy.random.Generator):
        return Generator(seed.bit_generator)
    if isinstance(seed, numpy.random.RandomState):
        return Generator(seed._bit_generator)
    return Generator(PCG64(seed))
