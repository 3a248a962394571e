"""Boolean masks: reading, writing, reading and writing back, selecting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..program import Step
from .operations import half_fits, is_float, is_number, names_of

if TYPE_CHECKING:
    from ..generator import Generator


def a_mask(g: Generator, shape: tuple[int, ...]) -> tuple[str, tuple[str, ...]] | None:
    """A boolean expression of exactly this shape."""
    found = g.fitted(shape, lambda v: v.dtype.kind == "b") if g.rng.random() < 0.5 else None
    if found:
        return found[0], (found[1],)
    found = g.fitted(shape, lambda v: v.dtype.kind in "iuf", exact=True)
    if found is None:
        return None
    return f"({found[0]} {g.rng.choice(['>', '<', '>=', '!='])} {g.rng.choice(['0', '1', '2', '0.5'])})", (found[1],)


def mask_read(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim >= 1)
    if name is None:
        return None
    v, rng = g.scope[name], g.rng
    lead = v.ndim if rng.random() < 0.75 else rng.randint(1, v.ndim)
    mask = a_mask(g, v.shape[:lead])
    if mask is None:
        return None
    new = g.fresh()
    reads = names_of((name,), mask[1])
    if rng.random() < 0.4 and is_number(v) and half_fits(v):
        approx = v.dtype.kind in "fc"
        text = f"{new} = ({name}[{mask[0]}] * 2 + 1).sum()"
        if rng.random() < 0.5:
            # The mask is no longer what it was when the values are looked at.
            keeps, new_mask = rng.choice(["del z", "z = z * 2"]), rng.choice(["True", "False", "~m"])
            text = f"m = np.array({mask[0]}); z = {name}[m]; m[...] = {new_mask}; {new} = (z * 2 + 1).sum(); {keeps}"
        return Step("mask-read", text, reads, defines=new, approx=approx)
    text = rng.choice(
        [
            f"{name}[{mask[0]}]",
            f"{name}[np.nonzero({mask[0]})]",
            f"np.extract({mask[0]}, {name})" if lead == v.ndim else f"{name}[{mask[0]}]",
        ]
    )
    return Step("mask-read", f"{new} = {text}", reads, defines=new)


def mask_write(g: Generator) -> Step | None:
    rng = g.rng
    target = g.pick(lambda v: v.ndim >= 1, writeable=True)
    if target is None:
        return None
    v = g.scope[target]
    mask = a_mask(g, v.shape)
    if mask is None:
        return None
    m, reads = mask[0], names_of((target,), mask[1])
    if numpy.may_share_memory(g.value(m), v):
        # NumPy reads the mask while it writes the target.
        m = f"np.array({m})"
    other = g.operand(v.shape, lambda w: w.shape == v.shape and numpy.can_cast(w.dtype, v.dtype, "same_kind"))
    scalar = rng.choice(["1", "2", "0", "True"])
    options = [
        f"{target}[{m}] = {scalar}",
        f"np.putmask({target}, {m}, {scalar})",
        f"np.copyto({target}, {scalar}, where={m})",
    ]
    if is_number(v):
        options += [
            f"{target}[{m}] {rng.choice(['+=', '-=', '*='])} {scalar}",
            f"{target}[{m}] = {target}[{m}] * 2 - 1",
        ] * 2
        options += [
            f"i = np.nonzero({m}); {target}[i] = {target}[i] + {target}[i]",
            f"m = {m}; {target}[m] = -{target}[m] if {v.dtype.kind != 'u'} else {target}[m]",
        ]
    if is_float(v):
        options += [f"m = {m}; z = {target}[m]; {target}[m] = z * z - z * 0.5"] * 2
    if other and g.value(other[0]) is not None and numpy.shape(g.value(other[0])) == v.shape:
        reads = names_of(reads, other[1])
        options += [
            f"np.putmask({target}, {m}, {other[0]})",
            f"np.copyto({target}, {other[0]}, where={m})",
            f"m = {m}; {target}[m] = ({other[0]})[m]",
        ]
    approx = v.dtype.kind == "c"
    return Step("mask-write", rng.choice(options), reads, target=target, approx=approx)


def select(g: Generator) -> Step | None:
    shape = g.shape()
    mask = a_mask(g, shape)
    a, b = g.operand(shape), g.operand(shape)
    if mask is None or a is None or b is None:
        return None
    new = g.fresh()
    return Step("where", f"{new} = np.where({mask[0]}, {a[0]}, {b[0]})", names_of(mask[1], a[1], b[1]), defines=new)
