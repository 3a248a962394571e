"""Functions of the caller's over parts of arrays."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy

from ._core import Unsupported, is_ours, ndarray, to_numpy
from ._creation import array, empty, zeros_like
from ._fallback import native
from ._operands import is_array, is_truth, normalize_axis_index, operand
from ._shape import expand_dims


@native
def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy's, and `func1d` is given our arrays; what it answers may still be deferred."""
    a = operand(arr)
    axis = normalize_axis_index(axis, a.ndim)
    lines = a.transpose([*range(axis), *range(axis + 1, a.ndim), axis])
    outer = lines.shape[:-1]
    if not all(outer):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    places = itertools.product(*map(range, outer))
    results = [func1d(lines[next(places)], *args, **kwargs)]
    if isinstance(results[0], numpy.ndarray) and type(results[0]) is not numpy.ndarray:
        raise Unsupported("results of a class that NumPy puts together")
    results += [func1d(lines[place], *args, **kwargs) for place in places]
    # The first result says what type and shape all have.
    first = array(results[0])
    shape = first.shape
    if not is_ours(first):
        made = numpy.zeros_like(first, shape=outer + shape)
        for place, result in zip(numpy.ndindex(outer), results):
            made[(*place, ...)] = to_numpy(result) if is_array(result) else numpy.asanyarray(result)
    elif all(_shape_of(result) == shape for result in results[1:]):
        made = array(results).astype(first.dtype, copy=False).reshape(outer + shape)
    else:
        made = empty(outer + shape, dtype=first.dtype)
        for place, result in zip(numpy.ndindex(outer), results):
            made[(*place, ...)] = result
    order = list(range(made.ndim))
    inner = made.ndim - len(shape)
    return made.transpose(order[:axis] + order[inner:] + order[axis:inner])


def _shape_of(result: Any) -> tuple[int, ...]:
    return result.shape if is_array(result) or isinstance(result, numpy.generic) else numpy.shape(result)


@native
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    value = operand(a)
    ndim = value.ndim
    chosen = [axes] if (axes.ndim if is_array(axes) else numpy.ndim(axes)) == 0 else list(axes)
    for axis in chosen:
        if is_truth(axis):
            raise Unsupported("an error that NumPy words")
        axis = int(axis)
        axis = axis + ndim if axis < 0 else axis
        made = operand(func(value, axis))
        if made.ndim != value.ndim:
            made = expand_dims(made, axis)
            if made.ndim != value.ndim:
                raise ValueError("function is not returning an array of the correct shape")
        value = made
    return value


@native
def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    x = operand(x)
    count = len(funclist)
    # One condition may stand without its list, as in NumPy.
    single = numpy.isscalar(condlist) or (not isinstance(condlist[0], list | numpy.ndarray | ndarray) and x.ndim != 0)
    conditions = [operand(c).astype(bool, copy=False) for c in ([condlist] if single else condlist)]
    if any(c.shape != x.shape for c in conditions):
        raise Unsupported("conditions that are spread")
    if len(conditions) == count - 1:
        rest = ~conditions[0]
        for condition in conditions[1:]:
            rest = rest & ~condition
        conditions.append(rest)
    elif len(conditions) != count:
        n = len(conditions)
        raise ValueError(f"with {n} condition(s), either {n} or {n + 1} functions are expected")
    y = zeros_like(x)
    for condition, function in zip(conditions, funclist):
        if not callable(function):
            y[condition] = function
            continue
        chosen = x[condition]
        if chosen.size:
            y[condition] = function(chosen, *args, **kw)
    return y
