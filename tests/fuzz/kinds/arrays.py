"""Arrays from nothing, views, copies and plain assignment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..program import Step
from .operations import names_of

if TYPE_CHECKING:
    from ..generator import Generator


def create(g: Generator, shape=None) -> Step:
    shape = g.shape() if shape is None else shape
    name, dtype, rng = g.fresh(), g.dtype(), g.rng
    roll = rng.random()
    if roll < 0.7:
        code = f"data({rng.randint(0, 40)}, {shape}, {dtype!r})"
    elif roll < 0.8:
        code = f"np.{rng.choice(['zeros', 'ones'])}({shape}, dtype={dtype!r})"
    elif roll < 0.87:
        code = f"np.full({shape}, {rng.choice(['3', 'True', '1'])}, dtype={dtype!r})"
    else:
        size = int(numpy.prod(shape))
        kind = rng.choice(["int32", "float64", "float32", "int64"])
        code = f"np.arange({size}, dtype={kind!r}).reshape({shape})"
    return Step("create", f"{name} = {code}", defines=name)


def create_more(g: Generator) -> Step | None:
    return create(g) if len(g.names()) < 8 else None


def basic_index(g: Generator, v: numpy.ndarray) -> str:
    parts = []
    for extent in v.shape:
        roll = g.rng.random()
        if roll < 0.12 and extent:
            parts.append(str(g.rng.randint(-extent, extent - 1)))
        elif roll < 0.2:
            parts += ["None", g.slice_text(extent)]
        else:
            parts.append(g.slice_text(extent))
    if len(parts) > 1 and g.rng.random() < 0.15:
        at = g.rng.randint(0, len(parts) - 1)
        parts[at:] = ["..."]
    return ", ".join(parts) or g.rng.choice(["...", "()", "None"])


def view(g: Generator) -> Step | None:
    name = g.pick()
    if name is None:
        return None
    v, rng = g.scope[name], g.rng
    options = [f"[{basic_index(g, v)}]"] * 6 + [".T", ".ravel()", ".reshape(-1)", ".squeeze()"]
    if v.ndim:
        options += [f"[{rng.choice(['::-1', '::2', '1:', ':-1', '...'])}]"] * 2
    if v.ndim >= 2:
        i, j = rng.randrange(v.ndim), rng.randrange(v.ndim)
        axes = rng.sample(range(v.ndim), v.ndim)
        options += [
            f".swapaxes({i}, {j})",
            f".transpose({axes})",
            ".diagonal()",
            f".reshape({v.shape[0]}, -1)" if v.size else ".T",
        ]
    if v.dtype.kind == "c":
        options += [".real", ".imag"] * 2
    code = f"{name}{rng.choice(options)}"
    if rng.random() < 0.12:
        more = tuple(rng.choice([1, 2, 3]) for _ in range(1)) + v.shape
        code = f"np.broadcast_to({name}, {more})"
    elif rng.random() < 0.08 and v.ndim:
        code = f"np.flip({name}, {rng.randrange(v.ndim)})"
    new = g.fresh()
    return Step("view", f"{new} = {code}", (name,), defines=new)


def assign(g: Generator) -> Step | None:
    rng = g.rng
    target = g.pick(writeable=True)
    if target is None:
        return None
    v = g.scope[target]
    index = "..." if rng.random() < 0.25 else basic_index(g, v)
    piece = numpy.asarray(g.value(f"{target}[{index}]"))
    other = g.operand(piece.shape, lambda w: numpy.can_cast(w.dtype, v.dtype, "same_kind"))
    if other is None:
        return None
    # NumPy reads elements it has just written when the 1-d strides of overlapping views differ: copied first.
    code = f"{target}[{index}] = np.array({other[0]})"
    return Step("assign", code, names_of((target,), other[1]), target=target)


def convert(g: Generator) -> Step | None:
    rng = g.rng
    name = g.pick(exact=True)
    if name is None:
        return None
    v, new, dtype = g.scope[name], g.fresh(), g.dtype()
    source = name
    kind = numpy.dtype(dtype).kind
    if v.dtype.kind == "c" and kind != "c":
        source = f"{name}.real"
    if v.dtype.kind in "fc" and kind in "iu":
        # What an out-of-range float becomes is not specified.
        source = f"np.clip(np.where(np.isfinite({source}), {source}, 0), {0 if kind == 'u' else -100}, 100)"
    text = rng.choice(
        [
            f"{source}.astype({dtype!r})",
            f"np.array({source}, dtype={dtype!r})",
            f"{source}.astype({dtype!r}).copy()",
            f"np.{dtype}({source}).copy()",
        ]
    )
    return Step("astype", f"{new} = {text}", (name,), defines=new)


def copy(g: Generator) -> Step | None:
    name = g.pick()
    if name is None:
        return None
    new = g.fresh()
    text = g.rng.choice(
        [
            f"{name}.copy()",
            f"{name}.copy('F')",
            f"{name}.flatten()",
            f"np.array({name})",
            f"np.ascontiguousarray({name})",
        ]
    )
    return Step("copy", f"{new} = {text}", (name,), defines=new)


def clip(g: Generator) -> Step | None:
    """Keeps magnitudes in bounds, so that long programs stay finite."""
    name = g.pick(lambda v: v.dtype.kind in "iuf" and v.size > 0, writeable=True)
    if name is None:
        return None
    low = "0" if g.scope[name].dtype.kind == "u" else "-4"
    return Step("clip", f"np.clip({name}, {low}, 4, out={name})", (name,), target=name)
