"""Ufuncs, operators, chains, in-place updates, stencils and loops over slices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..program import Step
from .arrays import basic_index
from .operations import (
    APPROX_BINARY,
    APPROX_UNARY,
    EXACT_BINARY,
    EXACT_UNARY,
    OPERATORS,
    ORDERED,
    defined,
    is_float,
    is_number,
    is_steep,
    kind_of,
    must_be_exact,
    names_of,
    result_dtype,
    rounds,
)

if TYPE_CHECKING:
    from ..generator import Generator


def unary(g: Generator) -> Step | None:
    rng = g.rng
    op = rng.choice(EXACT_UNARY + APPROX_UNARY)
    exact = must_be_exact(op)
    name = g.pick(arrays=rng.random() < 0.9, exact=exact)
    if name is None:
        return None
    argument = name
    if op in APPROX_UNARY:
        # Transcendental functions of a complex argument have branch cuts where a rounding decides.
        if g.scope[name].dtype.kind == "c":
            return None
        argument = f"np.clip({name}, 0, 3)" if op.startswith(("log", "cbrt")) else f"np.clip({name}, -1, 1)"
        if g.scope[name].dtype.kind == "b":
            argument = name
    if op == "sqrt" and g.scope[name].dtype.kind == "c" and g.is_approx(name):
        # Its branch cut lies along the negative real numbers.
        return None
    if not defined(g, op, argument) or is_steep(g, op, (name,), argument):
        return None
    new = g.fresh()
    approx = rounds(g, op, argument)
    if rng.random() < 0.2 and op in ("negative", "absolute", "square", "sqrt", "exp", "sin", "conjugate"):
        target = g.pick(lambda v: v.shape == g.scope[name].shape, writeable=True)
        # Rounded in a narrower type than it is stored in, a result would be compared too strictly.
        if target and (not approx or result_dtype(g, f"np.{op}({argument})") == g.scope[target].dtype):
            return Step(
                "unary-out",
                f"np.{op}({argument}, out={target})",
                names_of((name, target)),
                target=target,
                approx=approx,
            )
    return Step("unary", f"{new} = np.{op}({argument})", (name,), defines=new, approx=approx)


def binary(g: Generator) -> Step | None:
    rng = g.rng
    op = rng.choice(EXACT_BINARY * 3 + APPROX_BINARY)
    exact = must_be_exact(op)
    left = g.pick(arrays=rng.random() < 0.9, exact=exact)
    if left is None:
        return None
    shape = g.scope[left].shape
    other = g.operand(shape, exact=exact)
    if other is None:
        return None
    a, b = (left, other[0]) if rng.random() < 0.75 else (other[0], left)
    if op in ORDERED and kind_of(g, a, b) == "c" and any(g.is_approx(n) for n in names_of((left,), other[1])):
        return None
    if op in APPROX_BINARY:
        if kind_of(g, a, b) == "c":
            return None
        if op.endswith("power"):
            if kind_of(g, a, b) != "f":
                return None
            a, b = f"(np.abs({a}) + 0.5)", f"np.clip({b}, -2, 2)"
    if not defined(g, op, a, b) or is_steep(g, op, names_of((left,), other[1]), b):
        return None
    approx = rounds(g, op, a, b)
    reads = names_of((left,), other[1])
    new = g.fresh()
    extra = ""
    roll = rng.random()
    # NumPy 2.4 crashes in np.greater_equal(uint64 array, -1, out=..., where=mask).
    if roll < 0.15 and not op.endswith(("equal", "less", "greater")):
        target = g.pick(lambda v: v.shape == shape, writeable=True)
        result = result_dtype(g, f"np.{op}({a}, {b})")
        if target and (not approx or result == g.scope[target].dtype):
            where = ""
            if rng.random() < 0.5:
                mask = g.operand(shape, lambda v: v.dtype.kind == "b", scalars=False)
                # An output that overlaps an operand is a copy in the loop's dtype, which NumPy writes back
                # with the elements that were not selected.
                apart = not any(numpy.may_share_memory(g.value(e), g.scope[target]) for e in (a, b))
                if mask and (apart or result == g.scope[target].dtype):
                    where, reads = f", where={mask[0]}", names_of(reads, mask[1])
            code = (
                f"np.{op}({a}, {b}, out={target}{where}, casting='unsafe')"
                if kind_of(g, target) in "fc"
                else f"np.{op}({a}, {b}, out={target}{where})"
            )
            return Step("binary-out", code, names_of(reads, (target,)), target=target, approx=approx)
    elif roll < 0.22 and op in ("add", "subtract", "multiply", "maximum"):
        kind = rng.choice(["float64", "float32", "complex128"])
        extra = f", dtype={kind!r}"
        approx = approx or (kind == "complex128" and op == "multiply")
    return Step("binary", f"{new} = np.{op}({a}, {b}{extra})", reads, defines=new, approx=approx)


def operator(g: Generator) -> Step | None:
    rng = g.rng
    sign = rng.choice(list(OPERATORS))
    op = OPERATORS[sign]
    exact = must_be_exact(op)
    left = g.pick(arrays=rng.random() < 0.85, exact=exact)
    if left is None:
        return None
    other = g.operand(g.scope[left].shape, exact=exact)
    if other is None:
        return None
    a, b = (left, other[0]) if rng.random() < 0.7 else (other[0], left)
    if is_steep(g, op, names_of((left,), other[1]), b):
        return None
    new = g.fresh()
    return Step(
        "operator", f"{new} = {a} {sign} {b}", names_of((left,), other[1]), defines=new, approx=rounds(g, op, a, b)
    )


def chain(g: Generator) -> Step | None:
    """Several operations in one expression: their temporaries die at once."""
    rng = g.rng
    first = g.pick(is_number)
    if first is None:
        return None
    shape = g.scope[first].shape
    text, reads = first, (first,)
    for _ in range(rng.randint(2, 5)):
        other = g.operand(shape, is_number)
        if other is None:
            return None
        sign = rng.choice(["+", "-", "*"])
        text = f"({text} {sign} {other[0]})" if rng.random() < 0.7 else f"({other[0]} {sign} {text})"
        reads = names_of(reads, other[1])
    new = g.fresh()
    return Step("chain", f"{new} = {text}", reads, defines=new, approx=kind_of(g, *reads) == "c" or "1j" in text)


def in_place(g: Generator) -> Step | None:
    """An in-place operator on a view, often overlapping what it reads."""
    rng = g.rng
    target = g.pick(writeable=True)
    if target is None:
        return None
    v = g.scope[target]
    left = target if v.ndim == 0 or rng.random() < 0.4 else f"{target}[{basic_index(g, v)}]"
    piece = g.value(left)
    if v.ndim == 0:
        left, piece = f"{target}[...]", v
    if not isinstance(piece, numpy.ndarray):
        return None
    same = g.fitted(piece.shape, lambda w: w is v, exact=False) if rng.random() < 0.5 else None
    other = (same[0], (same[1],)) if same else g.operand(piece.shape)
    if other is None:
        return None
    sign = rng.choice(["+", "+", "-", "*", "/", "//", "%", "&", "|", "^", "**"])
    if sign == "**":
        other = ("2", ())
        op = "square"
    else:
        op = OPERATORS[sign]
    names = names_of((target,), other[1])
    if (must_be_exact(op) and any(map(g.is_approx, names))) or is_steep(g, op, names, other[0]):
        return None
    return Step(
        "in-place",
        f"{left} {sign}= {other[0]}",
        names,
        target=target,
        approx=rounds(g, op, left, other[0]),
    )


def stencil(g: Generator) -> Step | None:
    """Shifted slices in, an inner slice out."""
    rng = g.rng
    source = g.pick(lambda v: v.ndim in (1, 2) and is_float(v) and all(e >= 3 for e in v.shape))
    if source is None:
        return None
    v = g.scope[source]
    if v.ndim == 1:
        inner, pieces = "1:-1", [":-2", "2:", "1:-1"]
    else:
        inner, pieces = "1:-1, 1:-1", [":-2, 1:-1", "2:, 1:-1", "1:-1, :-2", "1:-1, 2:"]
    total = " + ".join(f"{source}[{p}]" for p in pieces)
    if rng.random() < 0.5:
        target = g.pick(lambda w: w.shape == v.shape and w.dtype == v.dtype, writeable=True)
        if target:
            sign = rng.choice(["=", "+=", "-="])
            return Step(
                "stencil", f"{target}[{inner}] {sign} ({total}) * 0.25", names_of((source, target)), target=target
            )
    new = g.fresh()
    return Step("stencil", f"{new} = 0.25 * ({total})", (source,), defines=new)


def chunks(g: Generator) -> Step | None:
    """A loop over adjacent slices of the first axis, as programs tile by hand."""
    rng = g.rng
    target = g.pick(lambda v: v.ndim >= 1 and v.shape[0] >= 4 and is_number(v), writeable=True)
    if target is None:
        return None
    v = g.scope[target]
    n = v.shape[0]
    size = max(1, n // rng.choice([2, 3, 4, 7, 16]))
    source = g.pick(lambda w: w.shape == v.shape and numpy.can_cast(w.dtype, v.dtype, "same_kind"))
    if source is None:
        return None
    cut = f"[i:i + {size}]"
    # A product of complex numbers rounds differently, which a difference of near equals would show.
    last = "x - y * x" if kind_of(g, target, source) != "c" else "y * x"
    body = rng.choice([
        f"{target}{cut} = {source}{cut} * 2 + {target}{cut}",
        f"{target}{cut} += {source}{cut}",
        f"np.multiply({source}{cut}, {target}{cut}, out={target}{cut})",
        f"{target}{cut} = {source}{cut}[::-1]",
        f"x = {source}{cut}; y = x + 1; {target}{cut} = {last}",
    ])  # fmt: skip
    approx = kind_of(g, target, source) == "c"
    # Now and then each begins in the middle of the one before.
    places = f"0, {n}, {size}" if rng.random() < 0.8 else f"0, {min(n, 5)}"
    loop = f"for i in range({places}): {body}"
    return Step("chunks", loop, names_of((target, source)), target=target, approx=approx)
