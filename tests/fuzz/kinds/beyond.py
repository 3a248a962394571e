"""Functions composed of others or run by NumPy, and NumPy arrays that share our memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step
from .operations import is_number, sorts_well

if TYPE_CHECKING:
    from ..generator import Generator


def function(g: Generator) -> Step | None:
    """A library function that moves elements about."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind != "c")
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = rng.randrange(v.ndim)
    options = [
        f"np.roll({name}, {rng.randint(-5, 5)}, axis={axis})",
        f"np.repeat({name}, 2, axis={axis})",
        f"np.tile({name}, 2)",
        f"np.diff({name}, axis={axis})",
        f"np.moveaxis({name}, {axis}, 0).copy()",
        f"np.expand_dims({name}, {axis})",
        f"np.pad({name}, 1)",
        f"np.append({name}, {name})",
        f"np.outer({name}.ravel()[:20], {name}.ravel()[:9])",
        f"np.array_split({name}, 3)[1]",
        f"np.zeros_like({name})",
        f"np.atleast_2d({name})",
        f"np.trim_zeros({name})" if v.ndim == 1 and not g.is_approx(name) else f"np.ones_like({name})",
        f"np.flipud({name})",
    ]
    if sorts_well(v):
        options.append(f"np.sort({name}, axis={axis})")
        if not g.is_approx(name):
            options.append(f"np.unique({name})")
    return Step("function", f"{new} = {rng.choice(options)}", (name,), defines=new)


def helper(g: Generator) -> Step | None:
    """Bits, triangles, diagonals, grids and places."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.size > 0 and v.dtype.kind != "c", exact=True)
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis, k = rng.randrange(v.ndim), rng.randint(-2, 2)
    truth = f"({name} > 0)"
    # Of a line they are a square.
    plane = name if v.ndim > 1 else f"{name}[:60]"
    options = [
        f"np.packbits({truth}, axis={axis}, bitorder={rng.choice(['big', 'little'])!r})",
        f"np.unpackbits(np.packbits({truth}), count={rng.randint(1, 12)})",
        f"np.bitwise_count({name})" if v.dtype.kind in "iu" else f"np.ediff1d({name})",
        f"np.tril({plane}, {k})",
        f"np.triu({plane}, {k})",
        f"np.diag({name}.ravel()[:30], {k})",
        f"np.diagflat({name}.ravel()[:12], {k})",
        f"np.diff({name}, n=2, axis={axis}, prepend=0)",
        f"np.meshgrid({name}.ravel()[:9], {name}.ravel()[-5:], indexing='ij')[{rng.randrange(2)}]",
        f"np.stack(np.unravel_index(np.arange({v.size}), {v.shape}))",
        f"np.ravel_multi_index(np.indices({v.shape}), {v.shape})",
        f"np.take_along_axis({name}, np.argsort({name}, axis={axis}, kind='stable'), axis={axis})",
        f"np.insert({name}, 0, 3, axis={axis})",
        f"np.delete({name}, {rng.randrange(v.shape[axis])}, axis={axis})",
        f"np.delete({name}, slice(0, None, 2), axis={axis})",
        f"np.rot90({name})" if v.ndim >= 2 else f"np.flip({name})",
        f"np.pad({name}, 1, mode={rng.choice(['edge', 'symmetric', 'wrap', 'constant'])!r})",
        f"np.apply_along_axis(lambda x: x[::-1], {axis}, {name})"
        if v.size < 500
        else f"np.fliplr(np.atleast_2d({name}))",
        f"np.select([{name} > 1, {name} < 0], [{name}, -1], 7)" if v.dtype.kind != "u" else f"np.resize({name}, 13)",
        f"np.piecewise({name}.astype(float), [{name} < 0, {name} >= 0], [-1, lambda x: x * 2])",
        f"np.extract({name} > 0, {name})",
        f"np.lib.stride_tricks.sliding_window_view({name}, 1, axis={axis}).copy()",
        f"np.roll({name}, ({k}, 1), axis=(0, {axis}))",
        f"np.block([[np.atleast_2d({name}.ravel()[:5])], [np.atleast_2d({name}.ravel()[:5])]])",
    ]
    return Step("helper", f"{new} = {rng.choice(options)}", (name,), defines=new)


def shared_with_numpy(g: Generator) -> Step | None:
    """NumPy holds on to our memory: later writes on either side are seen by the other."""
    rng = g.rng
    name = g.pick(lambda v: is_number(v) and v.ndim >= 1, writeable=True)
    if name is None:
        return None
    code = rng.choice(
        [
            f"w = numpy.asarray({name}); {name} += 1; read(w.copy())",
            f"w = numpy.asarray({name}); w[...] = 1",
            f"w = numpy.asarray({name}[::2]); w += 1; {name}[1:] += {name}[:-1]; read(w.copy())",
            f"numpy.add({name}, 1, out={name})",
            f"numpy.asarray({name})[:1] = 2",
        ]
    )
    return Step("shared", code, (name,), target=name)
