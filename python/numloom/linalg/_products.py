"""Norms and products, composed of native operations."""

from __future__ import annotations

import itertools
import math
import operator
from typing import Any

import numpy
import numpy.linalg

from numloom import _core, _products, _reductions, _shape
from numloom._core import Unsupported, ndarray
from numloom._creation import identity
from numloom._fallback import native_in
from numloom._operands import normalize_axis_tuple, operand, settled, target
from numloom.linalg._factors import svd
from numloom.linalg._solvers import inv

native = native_in("linalg.", numpy.linalg)


def _inexact(x: Any) -> ndarray:
    x = operand(x)
    return x if x.dtype.kind in "fc" else x.astype(numpy.float64)


def _squares(x: ndarray) -> Any:
    return _core.square(x.real) + _core.square(x.imag) if x.dtype.kind == "c" else _core.square(x)


@native
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    x, ord = _inexact(x), settled(ord)
    if type(axis) is int and ord is None and keepdims is False and -x.ndim <= axis < x.ndim:
        return _core.sqrt(_squares(x).sum(axis=axis))
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2) or (ord == 2 and x.ndim == 1)):
        return _core.sqrt(_squares(x).sum(keepdims=keepdims))
    if axis is None:
        axes = tuple(range(x.ndim))
    else:
        axes = _given_axes(axis, x.ndim)
    if len(axes) == 1:
        return _vector(x, ord, axes[0], keepdims)
    if len(axes) == 2:
        return _matrix(x, ord, axes[0], axes[1], keepdims)
    raise ValueError("Improper number of dimensions to norm.")


def _given_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    if not isinstance(axis, int | numpy.integer | tuple):
        raise Unsupported("an error that NumPy words")
    try:
        return normalize_axis_tuple(axis, ndim)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise Unsupported("an error that NumPy words") from None


def _vector(x: ndarray, ord: Any, axis: int, keepdims: bool) -> Any:
    if isinstance(ord, str):
        raise ValueError(f"Invalid norm order '{ord}' for vectors")
    if ord is None or ord == 2:
        return _core.sqrt(_squares(x).sum(axis=axis, keepdims=keepdims))
    if ord == 0:
        return (x != 0).astype(x.real.dtype).sum(axis=axis, keepdims=keepdims)  # type: ignore[attr-defined]
    sizes = _core.absolute(x)
    if ord == numpy.inf:
        return sizes.max(axis=axis, keepdims=keepdims, initial=0)
    if ord == -numpy.inf:
        return sizes.min(axis=axis, keepdims=keepdims)
    if ord == 1:
        return sizes.sum(axis=axis, keepdims=keepdims)
    if type(ord) in (int, float):
        total = (sizes**ord).sum(axis=axis, keepdims=keepdims)
        return total ** total.dtype.type(1 / ord)
    # In place: the type stays that of `x`, whatever that of `ord`.
    sizes **= ord
    total = sizes.sum(axis=axis, keepdims=keepdims)
    return total ** numpy.reciprocal(ord, dtype=total.dtype)


def _matrix(x: ndarray, ord: Any, row: int, column: int, keepdims: bool) -> Any:
    if ord in (None, "fro", "f"):
        return _core.sqrt(_squares(x).sum(axis=(row, column), keepdims=keepdims))
    if ord in (2, -2, "nuc"):
        return _singular(x, ord, row, column, keepdims)
    if ord not in (1, -1, numpy.inf, -numpy.inf):
        raise ValueError("Invalid norm order for matrices.")
    over = row if ord in (1, -1) else column
    other = row + column - over
    sums = _core.absolute(x).sum(axis=over, keepdims=True)
    made = sums.max(axis=other, keepdims=True, initial=0) if ord > 0 else sums.min(axis=other, keepdims=True)
    return made if keepdims else made.squeeze(axis=(row, column))[()]


def _singular(x: ndarray, ord: Any, row: int, column: int, keepdims: bool) -> Any:
    values = operand(svd(_shape.moveaxis(x, (row, column), (-2, -1)), compute_uv=False))
    if ord == "nuc":
        made = values.sum(axis=-1)
    else:
        made = values.max(axis=-1, initial=0) if ord == 2 else values.min(axis=-1)
    if not keepdims:
        return made
    return operand(made).reshape([1 if axis in (row, column) else n for axis, n in enumerate(x.shape)])


@native
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    x = operand(x)
    if isinstance(axis, tuple):
        return _over_axes(x, normalize_axis_tuple(axis, x.ndim), keepdims, ord)
    if axis is not None:
        return norm(x, axis=axis, keepdims=keepdims, ord=ord)
    made = norm(x.ravel(), axis=0, ord=ord)
    return operand(made).reshape((1,) * x.ndim) if keepdims and x.ndim else made


def _over_axes(x: ndarray, axes: tuple[int, ...], keepdims: bool, ord: Any) -> Any:
    rest = [i for i in range(x.ndim) if i not in axes]
    lanes = x.transpose([*axes, *rest]).reshape([math.prod(x.shape[i] for i in axes), *[x.shape[i] for i in rest]])
    made = norm(lanes, axis=0, ord=ord)
    if not keepdims or x.ndim == 0:
        return made
    return operand(made).reshape([1 if i in axes else n for i, n in enumerate(x.shape)])


@native
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(operand(x), axis=(-2, -1), keepdims=keepdims, ord=ord)


@native
def matmul(x1: Any, x2: Any, /) -> Any:
    return _core.matmul(operand(x1), operand(x2))


@native
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if isinstance(axis, bool) or not isinstance(axis, int | numpy.integer):
        raise Unsupported("an error that NumPy words")
    if axis == -1:
        return _core.vecdot(x1, x2)
    if not all(-x.ndim <= axis < x.ndim for x in (x1, x2)):
        raise Unsupported("an error that NumPy words")
    x1, x2 = (_shape.moveaxis(x, axis, -1) for x in (x1, x2))
    try:
        return _core.vecdot(x1, x2)
    except ValueError:
        raise Unsupported("an error that NumPy words") from None


@native
def outer(x1: Any, x2: Any, /) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"Input arrays must be one-dimensional, but they are x1.ndim={x1.ndim} and x2.ndim={x2.ndim}.")
    return _products.outer(x1, x2)


@native
def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    return _products.tensordot(operand(x1), operand(x2), axes=axes)


@native
def matrix_transpose(x: Any, /) -> Any:
    return _shape.matrix_transpose(operand(x))


@native
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    return _shape.diagonal(operand(x), offset, axis1=-2, axis2=-1)


@native
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return _reductions.trace(operand(x), offset, axis1=-2, axis2=-1, dtype=dtype)


@native
def cross(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    x1, x2 = operand(x1), operand(x2)
    if not x1.ndim or not x2.ndim:
        raise Unsupported("an error that NumPy words")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, "
            f"but they are {x1.shape[axis]} and {x2.shape[axis]} dimensional instead."
        )
    return _products.cross(x1, x2, axis=axis)


@native
def multi_dot(arrays: Any, *, out: Any = None) -> Any:
    if len(arrays) < 2:
        raise ValueError("Expecting at least two arrays.")
    factors = [a if type(a) is ndarray else operand(a) for a in arrays]
    if len(factors) == 3 and out is None and all(a.ndim == 2 for a in factors):
        # The commonest, without a search for the best order.
        a, b, c = factors
        (rows, left), (right, columns) = a.shape, c.shape
        if b.shape != (left, right):
            raise Unsupported("an error that NumPy words")
        if rows * right * (left + columns) < left * columns * (right + rows):
            return _core.matmul(_core.matmul(a, b), c)
        return _core.matmul(a, _core.matmul(b, c))
    first, last = factors[0].ndim, factors[-1].ndim
    if first == 1:
        factors[0] = factors[0][None, :]
    if last == 1:
        factors[-1] = factors[-1][:, None]
    if any(a.ndim != 2 for a in factors):
        raise Unsupported("an error that NumPy words, or a product of two of any shape")
    if any(a.shape[1] != b.shape[0] for a, b in itertools.pairwise(factors)):
        raise Unsupported("an error that NumPy words")
    made = _chain(factors, _best_splits([a.shape[0] for a in factors] + [factors[-1].shape[1]]), 0, len(factors) - 1)
    if first == 1 and last == 1:
        made = made[0, 0]
    elif first == 1 or last == 1:
        made = made.ravel()
    if out is None:
        return made
    if target(out).shape != made.shape or out.dtype != made.dtype:
        raise Unsupported("an error that NumPy words")
    out[...] = made
    return out


def _best_splits(sides: list[int]) -> dict[tuple[int, int], int]:
    """Where to split the product of matrices i to j, so that the fewest multiplications are made."""
    count = len(sides) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            options = [cost[i, k] + cost[k + 1, j] + sides[i] * sides[k + 1] * sides[j + 1] for k in range(i, j)]
            cost[i, j] = min(options)
            split[i, j] = i + options.index(cost[i, j])
    return split


def _chain(factors: list[ndarray], split: dict[tuple[int, int], int], i: int, j: int) -> Any:
    if i == j:
        return factors[i]
    k = split[i, j]
    return _core.matmul(_chain(factors, split, i, k), _chain(factors, split, k + 1, j))


@native
def matrix_power(a: Any, n: Any) -> Any:
    a = operand(a)
    if a.ndim < 2 or a.shape[-1] != a.shape[-2]:
        raise Unsupported("an error that NumPy words")
    try:
        n = operator.index(n)
    except TypeError as error:
        raise TypeError("exponent must be an integer") from error
    if n == 0:
        made = _core.empty_like(a)
        made[...] = identity(a.shape[-1], dtype=a.dtype)
        return made
    if n < 0:
        a, n = inv(a), -n
    if n == 3:
        return _core.matmul(_core.matmul(a, a), a)
    result = None
    while n:
        if n & 1:
            result = a if result is None else _core.matmul(result, a)
        n >>= 1
        if n:
            a = _core.matmul(a, a)
    return result
