"""Reductions, scans, joins and products."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..program import Step
from .masks import a_mask
from .operations import defined, half_fits, is_number, kind_of, names_of

if TYPE_CHECKING:
    from ..generator import Generator


def axis_text(g: Generator, v: numpy.ndarray) -> str:
    if v.ndim == 0 or g.rng.random() < 0.35:
        return "None"
    if v.ndim > 1 and g.rng.random() < 0.3:
        return str(tuple(sorted(g.rng.sample(range(v.ndim), g.rng.randint(1, v.ndim)))))
    return str(g.rng.randrange(-v.ndim, v.ndim))


HALF_FOLDS = ("sum", "mean", "var", "std", "prod")


def reduce(g: Generator) -> Step | None:
    rng = g.rng
    op = rng.choice(
        [
            "sum",
            "sum",
            "prod",
            "min",
            "max",
            "any",
            "all",
            "mean",
            "var",
            "std",
            "argmin",
            "argmax",
            "count_nonzero",
            "ptp",
        ]
    )
    exact = op in ("any", "all", "argmin", "argmax", "count_nonzero")
    name = g.pick(lambda v: v.dtype.kind != "c" or op in ("sum", "mean"), exact=exact)
    if name is None:
        return None
    v = g.scope[name]
    if not defined(g, op, name) or (op in HALF_FOLDS and not half_fits(v)):
        return None
    extra = ""
    if op.startswith("arg"):
        axis = rng.choice(["None", str(rng.randrange(v.ndim))]) if v.ndim else "None"
    else:
        axis = axis_text(g, v)
    if op == "prod" and v.dtype.kind == "f":
        # No partial product may overflow or vanish, whatever the order; many factors must not round.
        name_text = f"np.clip({name}, 0.5, 1.25)"
        if v.size > 64:
            if g.is_approx(name):
                return None
            name_text = f"np.where({name} > 0, np.{v.dtype.name}(-1), np.{v.dtype.name}(1))"
    else:
        name_text = name
    if rng.random() < 0.3:
        extra += ", keepdims=True"
    reads: tuple[str, ...] = (name,)
    # NumPy adds masked floats one after another and loses digits that pairs keep.
    sums_far = op in ("sum", "mean") and v.dtype.kind in "fc" and v.size > 1000
    if op in ("sum", "min", "max", "any", "mean") and not sums_far and rng.random() < 0.25:
        mask = a_mask(g, v.shape)
        if mask:
            extra += f", where={mask[0]}"
            reads = names_of(reads, mask[1])
            if op in ("min", "max"):
                extra += f", initial={rng.choice(['0', '3'])}"
    if op == "sum" and rng.random() < 0.2:
        # Not narrower than the operand: how far its disturbance moves the result would be measured too finely.
        extra += f", dtype={'complex128' if v.dtype.kind == 'c' else numpy.result_type(v, numpy.float32).name!r}"
    approx = op in ("sum", "prod", "mean", "var", "std") and (
        "dtype" in extra or v.dtype.kind in "fc" or op in ("mean", "var", "std")
    )
    if approx and v.dtype.kind in "iu" and v.size and float(numpy.abs(v.astype(numpy.float64)).max()) > 2**40:
        # Whole numbers that wrapped around cancel in a sum of floats, and disturbing floats would not tell.
        return None
    call = f"np.{op}({name_text}, axis={axis}{extra})"
    if rng.random() < 0.4 and op != "count_nonzero" and op != "ptp":
        call = f"{name_text}.{op}(axis={axis}{extra})"
    new = g.fresh()
    return Step("reduce", f"{new} = {call}", reads, defines=new, approx=approx)


def ufunc_reduce(g: Generator) -> Step | None:
    rng = g.rng
    op = rng.choice(["add", "maximum", "minimum", "logical_or", "bitwise_xor", "multiply"])
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind in "iub", exact=True)
    if name is None:
        return None
    new = g.fresh()
    v = g.scope[name]
    axis = rng.randrange(v.ndim)
    method = rng.choice(["reduce", "accumulate"])
    return Step("reduce", f"{new} = np.{op}.{method}({name}, axis={axis})", (name,), defines=new)


def cumulate(g: Generator) -> Step | None:
    name = g.pick(lambda v: is_number(v) and half_fits(v))
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = g.rng.randrange(v.ndim) if v.ndim and g.rng.random() < 0.7 else None
    approx = v.dtype.kind in "fc"
    return Step("cumsum", f"{new} = np.cumsum({name}, axis={axis})", (name,), defines=new, approx=approx)


def join(g: Generator) -> Step | None:
    rng = g.rng
    first = g.pick(lambda v: v.ndim >= 1)
    if first is None:
        return None
    shape = g.scope[first].shape
    second = g.fitted(shape)
    if second is None:
        return None
    new = g.fresh()
    axis = rng.randrange(len(shape))
    parts = f"[{first}, {second[0]}]"
    text = rng.choice(
        [
            f"np.concatenate({parts}, axis={axis})",
            f"np.stack({parts}, axis={axis})",
            f"np.hstack({parts})",
            f"np.vstack({parts})",
        ]
    )
    return Step("join", f"{new} = {text}", names_of((first,), (second[1],)), defines=new)


def matmul(g: Generator) -> Step | None:
    # Whether zero times infinity is looked at is up to the BLAS.
    a = g.pick(lambda v: v.ndim in (1, 2) and 0 < v.size <= 2000 and numpy.isfinite(v).all())
    if a is None:
        return None
    v = g.scope[a]
    b = g.pick(
        lambda w: (
            w.ndim in (1, 2)
            and 0 < w.size <= 2000
            and numpy.isfinite(w).all()
            and (w.shape[0] == v.shape[-1] or w.shape[-1] == v.shape[-1])
        )
    )
    if b is None:
        return None
    other = b if g.scope[b].shape[0] == v.shape[-1] else f"{b}.T"
    approx = kind_of(g, a, b) in "fc"
    if approx and any(w.dtype.kind in "iu" and numpy.abs(w.astype("f8")).max() > 1e9 for w in (v, g.scope[b])):
        # What is left of large numbers that cancel each other depends on their order.
        return None
    new = g.fresh()
    sign = g.rng.choice([f"{a} @ {other}", f"np.dot({a}, {other})", f"np.matmul({a}, {other})"])
    return Step("matmul", f"{new} = {sign}", names_of((a, b)), defines=new, approx=approx)
