"""Einstein's sum convention: the best order of pairwise contractions, each a matrix product or a fused kernel."""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy

from . import _core
from ._core import Unsupported, ndarray
from ._creation import ascontiguousarray
from ._fallback import native, on_host
from ._operands import is_array, operand, result_dtype, target

Labels = tuple[Any, ...]

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
# Up to this many operands every order is tried.
_FEW = 5
# From this many elements on, a sum of products that lie in a row is a dot product.
_LONG = 512


def _refuse() -> Unsupported:
    return Unsupported("an error that NumPy words")


def _spelled(term: str, ndim: int) -> Labels:
    """The labels of one operand; axes that `...` stands for are numbered from the right, from -1."""
    head, dots, tail = term.partition("...")
    letters = head + tail
    if not set(letters) <= _LETTERS:
        raise _refuse()
    hidden = ndim - len(letters)
    if hidden < 0 or (hidden > 0 and not dots):
        raise _refuse()
    return (*head, *range(-hidden, 0), *tail)


def _read(args: tuple[Any, ...]) -> tuple[list[Labels], Labels, list[Any]]:
    """The labels of every operand and of the result, and the operands."""
    if not args:
        raise _refuse()
    if not isinstance(args[0], str):
        return _read_interleaved(args)
    text, operands = args[0].replace(" ", ""), [operand(x) for x in args[1:]]
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(operands) or not operands:
        raise _refuse()
    labels = [_spelled(t, x.ndim) for t, x in zip(terms, operands)]
    hidden = _hidden(labels)
    if arrow:
        head, dots, tail = right.partition("...")
        if not set(head + tail) <= _LETTERS or (hidden and not dots):
            raise _refuse()
        out: Labels = (*head, *(hidden if dots else ()), *tail)
    else:
        out = _implied(labels)
    return labels, out, operands


def _read_interleaved(args: tuple[Any, ...]) -> tuple[list[Labels], Labels, list[Any]]:
    pairs = args[:-1] if len(args) % 2 else args
    operands = [operand(x) for x in pairs[::2]]
    lists = [list(x) for x in pairs[1::2]]
    if not operands:
        raise _refuse()

    def spell(given: list[Any]) -> str:
        if not all(x is Ellipsis or (isinstance(x, int | numpy.integer) and 0 <= x < 52) for x in given):
            raise _refuse()
        letters = sorted(_LETTERS)
        return "".join("..." if x is Ellipsis else letters[int(x)] for x in given)

    text = ",".join(spell(x) for x in lists)
    if len(args) % 2:
        text += "->" + spell(list(args[-1]))
    return _read((text, *operands))


def _hidden(labels: list[Labels]) -> Labels:
    most = max(sum(isinstance(x, int) for x in term) for term in labels)
    return tuple(range(-most, 0))


def _implied(labels: list[Labels]) -> Labels:
    """The result's labels where none are given: the axes of `...`, then every letter that stands once, in order."""
    letters = [x for term in labels for x in term if isinstance(x, str)]
    return (*_hidden(labels), *sorted(x for x in set(letters) if letters.count(x) == 1))


def _sizes(labels: list[Labels], operands: list[ndarray]) -> dict[Any, int]:
    sizes: dict[Any, int] = {}
    for term, x in zip(labels, operands):
        for label, n in zip(term, x.shape):
            if sizes.setdefault(label, n) != n:
                if n != 1 and sizes[label] != 1:
                    raise _refuse()
                sizes[label] = max(n, sizes[label]) if 0 not in (n, sizes[label]) else 0
    return sizes


def _diagonals(x: ndarray, term: Labels, sizes: dict[Any, int]) -> tuple[ndarray, Labels]:
    """A view in which every label stands once, and axes that are only there to be broadcast are gone."""
    if len(set(term)) < len(term):
        strides: dict[Any, int] = {}
        extents: dict[Any, int] = {}
        for label, n, step in zip(term, x.shape, x.strides):
            if extents.setdefault(label, n) != n:
                raise _refuse()
            strides[label] = strides.get(label, 0) + step
        x = _core.strided_view(x, tuple(extents.values()), tuple(strides.values()))
        term = tuple(extents)
    gone = tuple(i for i, (label, n) in enumerate(zip(term, x.shape)) if n == 1 and sizes[label] != 1)
    if gone:
        x = x.squeeze(axis=gone)
        term = tuple(label for i, label in enumerate(term) if i not in gone)
    return x, term


def _sum(x: ndarray, axes: tuple[int, ...]) -> Any:
    if not axes:
        return x
    return x.any(axis=axes) if x.dtype.kind == "b" else x.sum(axis=axes, dtype=x.dtype)


def _reduced(x: ndarray, term: Labels, wanted: set[Any]) -> tuple[Any, Labels]:
    """Sums over the labels that nobody else has."""
    axes = tuple(i for i, label in enumerate(term) if label not in wanted)
    return operand(_sum(x, axes)), tuple(label for label in term if label in wanted)


def _arranged(x: ndarray, term: Labels, *groups: Labels) -> ndarray:
    """The axes in the order of the groups, each group joined to one axis except the first."""
    order = [term.index(label) for group in groups for label in group]
    turned = x.transpose(order)
    head = len(groups[0])
    rest = []
    at = head
    for group in groups[1:]:
        rest.append(math.prod(turned.shape[at : at + len(group)]))
        at += len(group)
    return turned.reshape([*turned.shape[:head], *rest])


def _is_run(x: ndarray, term: Labels, over: Labels) -> bool:
    """Whether the elements of these axes lie one after another and are many: then their sum of products is a dot."""
    if x.dtype.char not in "fdFD":
        return False
    step = x.itemsize
    for axis in (term.index(label) for label in reversed(over)):
        if x.strides[axis] != step:
            return False
        step *= x.shape[axis]
    return step >= _LONG * x.itemsize


def _contract(a: ndarray, ta: Labels, b: ndarray, tb: Labels, kept: set[Any]) -> tuple[Any, Labels]:
    """The product of two, summed over the labels that are not kept."""
    a, ta = _reduced(a, ta, kept | set(tb))
    b, tb = _reduced(b, tb, kept | set(ta))
    shared = [label for label in ta if label in tb]
    over = tuple(label for label in shared if label not in kept)
    batch = tuple(label for label in shared if label in kept)
    rows = tuple(label for label in ta if label not in tb)
    columns = tuple(label for label in tb if label not in ta)
    labels = (*batch, *rows, *columns)
    if over and not (rows or columns) and _is_run(a, ta, over) and _is_run(b, tb, over):
        runs = _core.quiet_matmul(_arranged(a, ta, batch, over)[..., None, :], _arranged(b, tb, batch, over)[..., None])
        return operand(runs)[..., 0, 0], labels
    if not over or not (rows or columns):
        left = _arranged(a, ta, (*batch, *rows, *over))
        right = _arranged(b, tb, (*batch, *columns, *over))
        to_columns, to_rows = len(batch) + len(rows), len(batch)
        left = left.reshape([*left.shape[:to_columns], *[1] * len(columns), *left.shape[to_columns:]])
        right = right.reshape([*right.shape[:to_rows], *[1] * len(rows), *right.shape[to_rows:]])
        product = _core.multiply(left, right)
        return _sum(product, tuple(range(len(labels), len(labels) + len(over)))), labels
    extent = {label: n for x, term in ((b, tb), (a, ta)) for label, n in zip(term, x.shape)}
    shape = [extent[label] for label in labels]
    made = _core.quiet_matmul(_arranged(a, ta, batch, rows, over), _arranged(b, tb, batch, over, columns))
    return operand(made).reshape(shape), labels


@functools.lru_cache(maxsize=256)
def _order(
    terms: tuple[frozenset[Any], ...], out: frozenset[Any], sizes: tuple[tuple[Any, int], ...]
) -> list[tuple[int, int]]:
    """Which two to multiply next, again and again: places in the list, the product goes to its end."""
    extent = dict(sizes)

    def size(labels: frozenset[Any]) -> int:
        return math.prod(extent[label] for label in labels)

    def after(left: tuple[frozenset[Any], ...], i: int, j: int) -> tuple[tuple[frozenset[Any], ...], int, int]:
        rest = tuple(t for k, t in enumerate(left) if k not in (i, j))
        made = (left[i] | left[j]) & frozenset().union(out, *rest)
        return (*rest, made), size(left[i] | left[j]), size(made) - size(left[i]) - size(left[j])

    def best(left: tuple[frozenset[Any], ...]) -> tuple[int, list[tuple[int, int]]]:
        if len(left) == 1:
            return 0, []
        found: tuple[int, list[tuple[int, int]]] | None = None
        for i in range(len(left)):
            for j in range(i + 1, len(left)):
                rest, work, _ = after(left, i, j)
                more, path = best(rest)
                if found is None or work + more < found[0]:
                    found = (work + more, [(i, j), *path])
        return found if found is not None else (0, [])

    path: list[tuple[int, int]] = []
    left = terms
    while len(left) > _FEW:
        pairs = [(i, j) for i in range(len(left)) for j in range(i + 1, len(left))]
        i, j = min(pairs, key=lambda pair: after(left, *pair)[:0:-1])
        path.append((i, j))
        left = after(left, i, j)[0]
    return path + best(left)[1]


@functools.lru_cache(maxsize=1024)
def _product_of(text: str) -> tuple[int, int] | None:
    """How many axes both have, if it spells what `matmul` does with a matrix and a vector, or with two vectors."""
    terms, _, result = text.replace(" ", "").partition("->")
    first, _, second = terms.partition(",")
    if not _LETTERS.issuperset(first + second + result) or len(set(first + second)) != max(len(first), len(second)):
        return None
    spelled = {(2, 1): (first[1:], first[:1]), (1, 2): (second[:1], second[1:]), (1, 1): (second, "")}
    over, left = spelled.get((len(first), len(second)), ("", ""))
    is_product = over and over == (second if len(second) == 1 else first) and result == left and "->" in text
    return (len(first), len(second)) if is_product else None


def _product(text: Any, a: Any, b: Any) -> Any:
    """The product of two arrays that need no reading of their labels; None for any other call."""
    if type(text) is not str or type(a) is not ndarray or type(b) is not ndarray or a.dtype != b.dtype:
        return None
    # An axis of one element would be repeated.
    if a.dtype.kind not in "fc" or _product_of(text) != (a.ndim, b.ndim) or a.shape[-1] != b.shape[0]:
        return None
    return _core.quiet_matmul(a, b)


Order = tuple[int, ...]


class _Recipe(NamedTuple):
    """How a product of two matrices gives a sum: the axes of each operand and its shape then, which comes first, the
    shape of what is made of them, its axes as they are to lie, and back."""

    axes: tuple[Order, Order]
    shapes: tuple[Order, Order]
    swapped: bool
    shape: Order
    to_lie: Order | None
    back: Order | None


def _none_if_plain(order: Order) -> Order | None:
    return None if order == tuple(range(len(order))) else order


@functools.lru_cache(maxsize=1024)
def _recipe(text: str, shapes: tuple[Order, Order], strides: tuple[Order, Order], optimize: bool) -> _Recipe | None:
    """None for whatever is more than one product of (stacks of) matrices."""
    terms, arrow, result = text.replace(" ", "").partition("->")
    ta, comma, tb = terms.partition(",")
    letters = (ta, tb, result)
    if not arrow or not comma or not _LETTERS.issuperset(ta + tb + result) or not set(result) <= set(ta + tb):
        return None
    if any(len(set(x)) < len(x) for x in letters) or (len(ta), len(tb)) != (len(shapes[0]), len(shapes[1])):
        return None
    sizes = dict(zip(ta, shapes[0]))
    if any(sizes.setdefault(label, n) != n for label, n in zip(tb, shapes[1])) or 0 in sizes.values():
        return None
    over = [x for x in ta if x in tb and x not in result]
    batch = [x for x in ta if x in tb and x in result]
    rows, columns = [x for x in ta if x not in tb], [x for x in tb if x not in ta]
    if not over or not (rows or columns) or not set(rows + columns) <= set(result):
        return None
    swapped = bool(columns) and next(x for x in result if x not in batch) in columns
    over.sort(key=(tb if swapped else ta).index)

    def joined(labels: list[str]) -> int:
        return math.prod(sizes[x] for x in labels)

    stack = [sizes[x] for x in batch]
    if swapped:
        first, second = (*batch, *columns, *over), (*batch, *over, *rows)
        axes = (tuple(ta.index(x) for x in second), tuple(tb.index(x) for x in first))
        joints = ((*stack, joined(over), joined(rows)), (*stack, joined(columns), joined(over)))
        made = (*batch, *columns, *rows)
    else:
        first, second = (*batch, *rows, *over), (*batch, *over, *columns)
        axes = (tuple(ta.index(x) for x in first), tuple(tb.index(x) for x in second))
        joints = ((*stack, joined(rows), joined(over)), (*stack, joined(over), joined(columns)))
        made = (*batch, *rows, *columns)
    lie = _choice(text.replace(" ", ""), shapes, strides, optimize) if len(result) > 1 else tuple(range(len(result)))
    return _Recipe(
        axes=axes,
        shapes=joints,
        swapped=swapped,
        shape=tuple(sizes[x] for x in made),
        to_lie=_none_if_plain(tuple(made.index(result[k]) for k in lie)),
        back=_none_if_plain(tuple(lie.index(k) for k in range(len(lie)))),
    )


def _two(text: Any, a: Any, b: Any, optimize: bool) -> Any:
    """The sum of products of two arrays by a recipe; None where there is none."""
    if type(text) is not str or type(a) is not ndarray or type(b) is not ndarray:
        return None
    kind = a.dtype
    if kind is not b.dtype or kind.char not in "fdFD":
        return None
    recipe = _recipe(text, (a.shape, b.shape), (a.strides, b.strides), optimize)
    if recipe is None:
        return None
    left = a.transpose(recipe.axes[0]).reshape(recipe.shapes[0])
    right = b.transpose(recipe.axes[1]).reshape(recipe.shapes[1])
    made = _core.quiet_matmul(right, left) if recipe.swapped else _core.quiet_matmul(left, right)
    made = made.reshape(recipe.shape)
    if recipe.to_lie is not None:
        made = ascontiguousarray(made.transpose(recipe.to_lie))
    return made if recipe.back is None else made.transpose(recipe.back)


@native
def einsum(*operands: Any, out: Any = None, optimize: Any = False, **kwargs: Any) -> Any:
    """As NumPy's. The order of several products is the best one found, unless `optimize` names a path."""
    if len(operands) == 3 and out is None and not kwargs:
        made = _product(*operands)
        if made is not None and (made.ndim or optimize is False):
            return made
        if made is not None and not isinstance(optimize, list | tuple):
            return operand(made) if _stays_array(operands[0], tuple(x.shape for x in operands[1:]), optimize) else made
        if type(optimize) is bool:
            made = _two(*operands, optimize)
            if made is not None:
                return made
    dtype, order = kwargs.pop("dtype", None), kwargs.pop("order", "K")
    casting = kwargs.pop("casting", "safe")
    if kwargs or casting != "safe" or order not in ("K", "C", "A") or isinstance(optimize, list | tuple):
        raise Unsupported("rare modes")
    labels, result, arrays = _read(operands)
    sizes = _sizes(labels, arrays)
    if len(set(result)) < len(result) or not set(result) <= set(sizes):
        raise _refuse()
    kind = result_dtype(*arrays) if dtype is None else numpy.dtype(dtype)
    if kind.kind == "O" or any(not numpy.can_cast(x.dtype, kind, casting) for x in arrays):
        raise _refuse()
    target(out)
    if out is not None and (
        # In an output of another type NumPy multiplies and adds, too.
        out.shape != tuple(sizes[x] for x in result) or out.dtype != kind or not out.flags.writeable
    ):
        raise _refuse()
    parts = [_diagonals(x.astype(kind, copy=False), term, sizes) for x, term in zip(arrays, labels)]
    terms = tuple(frozenset(term) for _, term in parts)
    # NumPy's sums of products warn of nothing.
    with numpy.errstate(all="ignore"):
        for i, j in _order(terms, frozenset(result), tuple(sizes.items())):
            (a, ta), (b, tb) = parts[i], parts[j]
            parts = [part for k, part in enumerate(parts) if k not in (i, j)]
            kept = set(result).union(*[term for _, term in parts])
            parts.append(_contract(a, ta, b, tb, kept))
        made, term = _reduced(*parts[0], set(result))
    made = made.transpose([term.index(label) for label in result])
    if out is not None:
        out[...] = made
        return out
    is_view = len(arrays) == 1 and len(result) == len(set(labels[0]))
    if not is_view and len(result) > 1:
        axes = _axes_in_memory(labels, result, arrays, optimize) if order != "C" else tuple(range(len(result)))
        made = ascontiguousarray(made.transpose(axes)).transpose([axes.index(a) for a in range(len(axes))])
    if made.ndim:
        return made
    if optimize is False or len(arrays) < 2:
        return made[()]
    return made if _stays_array(_text(labels, result), tuple(x.shape for x in arrays), optimize) else made[()]


def _text(labels: list[Labels], result: Labels) -> str:
    """These labels as NumPy takes them, spelled without dots."""
    letters = dict(zip(dict.fromkeys(x for term in labels for x in term), sorted(_LETTERS)))
    return ",".join("".join(letters[x] for x in term) for term in labels) + "->" + "".join(letters[x] for x in result)


@functools.lru_cache(maxsize=1024)
def _stays_array(text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> bool:
    """Whether a result of no axes is an array, which it is after NumPy's products, and not after its sums."""
    small = [numpy.zeros([min(n, 2) for n in shape]) for shape in shapes]
    path = list(_numpys_path(text, shapes, optimize))
    return isinstance(numpy.einsum(text, *small, optimize=path), numpy.ndarray)


def _axes_in_memory(labels: list[Labels], result: Labels, arrays: list[ndarray], optimize: Any) -> tuple[int, ...]:
    """The axes of the result, those that lie farthest apart first, as NumPy would choose them."""
    text = _text(labels, result)
    return _choice(text, tuple(x.shape for x in arrays), tuple(x.strides for x in arrays), optimize)


def _choice(text: str, shapes: tuple[Order, ...], strides: tuple[Order, ...], optimize: Any) -> Order:
    path = _numpys_path(text, shapes, optimize) if optimize else None
    forms = []
    for shape, line in zip(shapes, strides):
        steps = sorted({abs(s) for s in line} - {0})
        ranks = tuple((steps.index(abs(s)) + 1) * (1 if s > 0 else -1) if s else 0 for s in line)
        forms.append((tuple(min(n, 2) for n in shape), ranks))
    return _numpys_choice(text, tuple(forms), path)


@functools.lru_cache(maxsize=1024)
def _numpys_path(text: str, shapes: tuple[tuple[int, ...], ...], optimize: Any) -> tuple[Any, ...]:
    """The order of products that NumPy takes with `optimize`: its result lies as its last product leaves it."""
    stand_ins = [numpy.broadcast_to(numpy.zeros(()), shape) for shape in shapes]
    return tuple(numpy.einsum_path(text, *stand_ins, optimize=optimize)[0])


@functools.lru_cache(maxsize=1024)
def _numpys_choice(
    text: str, forms: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...], path: tuple[Any, ...] | None
) -> tuple[int, ...]:
    """NumPy itself says, of arrays of no more than two elements an axis, with strides in the same order."""
    small = []
    for shape, ranks in forms:
        reach = sum(abs(r) for r in ranks)
        middle = numpy.zeros(2 * reach + 1)[reach:]
        small.append(numpy.lib.stride_tricks.as_strided(middle, shape, [8 * r for r in ranks]))
    strides = numpy.einsum(text, *small, optimize=list(path) if path else False).strides
    return tuple(sorted(range(len(strides)), key=lambda axis: -strides[axis]))


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    stand_ins = [_shape_only(x) for x in operands]
    return on_host(numpy.einsum_path, "", tuple(stand_ins), {"optimize": optimize, "einsum_call": einsum_call})


def _shape_only(x: Any) -> Any:
    """An array of the same shape that has no data: the path depends on nothing else, so nothing is waited for."""
    return numpy.broadcast_to(numpy.zeros((), dtype=x.dtype), x.shape) if is_array(x) else x


einsum_path.__doc__ = numpy.einsum_path.__doc__
