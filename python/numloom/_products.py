"""Products of vectors and matrices."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy

from . import _core
from ._core import Unsupported, ndarray
from ._creation import array
from ._fallback import native
from ._operands import is_truth, normalize_axis_index, operand, target
from ._shape import moveaxis, repeat, tile

_UNTYPED = "a sequence of nothing, which takes the type of the other factor"


@native
def dot(a: Any, b: Any, out: Any = None) -> Any:
    x, y = operand(a), operand(b)
    if (x is not a and not x.size) or (y is not b and not y.size):
        raise Unsupported(_UNTYPED)
    return _core.dot(x, y) if out is None else _core.dot(x, y, out=target(out))


@native
def inner(a: Any, b: Any, /) -> Any:
    x, y = operand(a), operand(b)
    if (x is not a and not x.size) or (y is not b and not y.size):
        raise Unsupported(_UNTYPED)
    return _core.inner(x, y) if x.ndim and y.ndim else _core.dot(x, y)


@native
def vdot(a: Any, b: Any, /) -> Any:
    return _core.vdot(operand(a), operand(b))


@native
def outer(a: Any, b: Any, out: Any = None) -> Any:
    return _core.multiply(operand(a).ravel()[:, None], operand(b).ravel()[None, :], out=target(out))


@native
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    a, b = operand(a), operand(b)
    if type(axes) is int and 0 <= axes <= a.ndim and axes <= b.ndim:
        # The last axes of the one with the first of the other: both lie as they are multiplied.
        outer, inner, rest = a.shape[: a.ndim - axes], b.shape[:axes], b.shape[axes:]
        if a.shape[a.ndim - axes :] != inner:
            raise ValueError("shape-mismatch for sum")
        depth = math.prod(inner)
        made = _core.dot(a.reshape(math.prod(outer), depth), b.reshape(depth, math.prod(rest)))
        return made.reshape(outer + rest)
    try:
        left, right = axes
    except TypeError:
        if is_truth(axes):
            raise Unsupported("an error that NumPy words") from None
        count = operator.index(axes)
        left, right = list(range(-count, 0)), list(range(count))
    over_a = [left] if isinstance(left, int | numpy.integer) else list(left)
    over_b = [right] if isinstance(right, int | numpy.integer) else list(right)
    if any(len(set(over)) < len(over) for over in (over_a, over_b)):
        raise ValueError("duplicate axes are not allowed in tensordot")
    if len(over_a) != len(over_b):
        raise ValueError("shape-mismatch for sum")
    if any(not -x.ndim <= i < x.ndim for x, at in ((a, over_a), (b, over_b)) for i in at):
        raise Unsupported("an error that NumPy words")
    over_a, over_b = [i % a.ndim for i in over_a], [i % b.ndim for i in over_b]
    if [a.shape[i] for i in over_a] != [b.shape[i] for i in over_b]:
        raise ValueError("shape-mismatch for sum")
    free_a = [i for i in range(a.ndim) if i not in over_a]
    free_b = [i for i in range(b.ndim) if i not in over_b]
    depth = math.prod(a.shape[i] for i in over_a)
    rows = a.transpose(free_a + over_a).reshape(math.prod(a.shape[i] for i in free_a), depth)
    columns = b.transpose(over_b + free_b).reshape(depth, math.prod(b.shape[i] for i in free_b))
    made = _core.dot(rows, columns)
    return operand(made).reshape([a.shape[i] for i in free_a] + [b.shape[i] for i in free_b])


@native
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = operand(a), operand(b)
    if a.ndim < 1 or b.ndim < 1:
        raise Unsupported("an error that NumPy words")
    axisa = normalize_axis_index(axisa, a.ndim, "axisa")
    axisb = normalize_axis_index(axisb, b.ndim, "axisb")
    if a.shape[axisa] != 3 or b.shape[axisb] != 3:
        raise Unsupported("vectors in the plane, or an error that NumPy words")
    kind = numpy.promote_types(a.dtype, b.dtype)
    a = moveaxis(a, axisa, -1).astype(kind, copy=False)
    b = moveaxis(b, axisb, -1).astype(kind, copy=False)
    made = _core.empty((*numpy.broadcast_shapes(a.shape[:-1], b.shape[:-1]), 3), dtype=kind)
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        # Arrays, even of no axes: whole numbers that overflow do so without a word.
        made[..., i] = operand(a[..., j] * b[..., k]) - operand(a[..., k] * b[..., j])
    return moveaxis(made, -1, normalize_axis_index(axisc, made.ndim, "axisc"))


_SHORT = 32
"""Rows of fewer elements are multiplied slowly; rows of a row of products are longer."""


def _kron_of_rows(a: ndarray, b: ndarray) -> Any:
    """By whole rows of the result: each element of `a` repeated over a row of `b`, and that as often as `a` has any."""
    n, m = a.shape[-1], b.shape[-1]
    sides = [side for k in a.shape[:-1] for side in (k, 1)], [side for k in b.shape[:-1] for side in (1, k)]
    wide_a = repeat(a, m, axis=-1).reshape(*sides[0], n * m)
    wide_b = tile(b, n).reshape(*sides[1], n * m)
    return _core.multiply(wide_a, wide_b).reshape([i * j for i, j in zip(a.shape, b.shape)])


@native
def kron(a: Any, b: Any) -> Any:
    b = operand(b)
    a = array(operand(a), copy=None, ndmin=b.ndim)
    if a.ndim == 0 or b.ndim == 0:
        return _core.multiply(a, b)
    b = array(b, copy=None, ndmin=a.ndim)
    if b.shape[-1] < _SHORT and a.size and b.size and max(a.shape[:-1], default=0) > 1 and max(b.shape[:-1]) > 1:
        return _kron_of_rows(a, b)
    wide_a = a.reshape([side for n in a.shape for side in (n, 1)])
    wide_b = b.reshape([side for n in b.shape for side in (1, n)])
    return _core.multiply(wide_a, wide_b).reshape([m * n for m, n in zip(a.shape, b.shape)])
