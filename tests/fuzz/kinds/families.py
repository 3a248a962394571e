"""The rest of the families: each function once, on part of an array; those that round apart from those that do not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy

from ..program import Step
from .algebra import is_tame

if TYPE_CHECKING:
    from ..generator import Generator

# `{x}`: the array; `{flat}`: some of its elements in a line; `{axis}`, `{n}`: an axis and its length.
MOVED = """
np.argwhere({x}) | np.flatnonzero({x}) | np.compress(np.arange({n}) % 2, {x}, axis={axis})
np.require({x}, None, 'C') | np.choose(({x} > 0).astype('i8'), [{x}, {x}[::-1]])
np.column_stack(({flat}, {flat}[::-1])) | np.dstack(({flat}, {flat})) | np.concat(({x}, {x}), axis={axis})
np.unstack({x}, axis={axis})[0].copy() + 0 | np.array_split({x}, 2, axis={axis})[0] | np.tri(4, 5, {k})
np.stack(np.tril_indices(5, {k})) | np.stack(np.triu_indices(5, {k})) | np.stack(np.diag_indices(4))
np.stack(np.mask_indices(5, np.triu)) | {flat}[np.ix_(np.arange(len({flat})) % 2 == 0)]
np.fromfunction(lambda i, j: i * 3 + j, (4, 5)) | np.fromiter(range({n}), 'i4')
np.vectorize(lambda a: (a, a)[1], otypes=[{x}.dtype])({flat}) | np.asfortranarray({x})
np.broadcast_arrays({x}, {x})[1].copy() | np.rollaxis({x}, {axis}) + 0
np.permute_dims({x}, range({ndim}))[::-1].copy() | np.isclose({x}, {x}) | np.isreal({x})
np.apply_over_axes(np.max, {x}, [{axis}]) | np.frombuffer({x}.tobytes(), dtype={x}.dtype) | np.full_like({x}, 3)
np.identity(3) | np.array([i[0] for i, _ in np.ndenumerate({flat})]) | np.atleast_3d({x})
np.vstack(np.broadcast_arrays({flat}, {flat})) | np.atleast_1d(np.trace(np.resize({x}, (3, 3)) > 0))
np.stack(np.hsplit(np.resize({x}, (2, 4)), 2)) | np.sort_complex({flat} + 0)
np.put_along_axis({new}, np.zeros((1,) * {ndim}, int), 1, {axis}) | np.put({new}, [0, -1], 1)
np.fill_diagonal({new}, 1)
"""
NUMBERS = """
np.sort(np.unique_values({x} + 0)) | np.unique_inverse(np.nan_to_num({x})).inverse_indices | np.unique_all({x}).counts
np.modf({wide})[0] | np.frexp({wide})[0] | np.ldexp({wide}, 2) | np.nextafter({wide}, 0) | np.fix({wide})
np.isneginf({wide}) | np.nanmax({x}, axis={axis}) | np.nanmin({x}, axis={axis}) | np.nanargmax({x}, axis={axis})
np.nanargmin({x}, axis={axis}) | np.histogramdd(np.stack([{flat}, {flat}], 1), bins=[[-9, 0, 9], [-9, 1, 9]])[0]
np.real_if_close({wide} + 0j) | np.angle({wide})
"""
INTEGERS = """
np.left_shift({x}, 1) | np.right_shift({x}, 1) | np.lcm({x} % 9, 6) | np.bitwise_invert({x}) | np.divmod({x}, 3)[1]
"""
ROUNDED = """
np.cumprod(np.clip({wide}, 0.5, 1.25).ravel()[:20]) | np.cumulative_sum({wide}, axis={axis})
np.nancumsum({wide}, axis={axis}) | np.nancumprod(np.clip({wide}, 0.5, 1.25).ravel()[:20])
np.cumulative_prod(np.clip({flat}.astype(float), 0.5, 1.25)[:20]) | np.nansum({wide}, axis={axis})
np.nanvar({wide}, axis={axis}) | np.nanprod(np.clip({wide}, 0.9, 1.1).ravel()[:20])
np.corrcoef(np.stack([{flat}.astype(float), np.arange(len({flat})) * 2.5]) + np.eye(2, len({flat})) * 1000)
np.polyadd({flat}, {flat}[:3]) | np.polysub({flat}[:3], {flat}) | np.polymul({flat}[:9], {flat}[:3])
np.polyder({flat}) | np.polyint({flat}) | np.poly({flat}[:5] / (1 + np.abs({flat}).max()))
np.polydiv({flat}[:6] + 1.0, [1.0, 0.5])[0] | np.poly1d({flat}[:4])(0.5)
np.sort(np.abs(np.roots([1.0, -7, 14, -8]))) | np.bartlett(7) | np.blackman(8) | np.hamming(9)
np.i0({wide} / (1 + np.abs({wide}).max())) | np.geomspace(1, 1000, 7) | np.logspace(0, 2, 5)
np.histogram_bin_edges({wide}, 7) | np.logaddexp2({wide} / 9, 1) | np.radians({wide}) | np.degrees({wide})
np.apply_over_axes(np.sum, {wide}, [{axis}]) | np.nanquantile({wide}, 0.3, axis={axis})
np.vecmat({flat}.astype(float), {flat}[:, None] * 1.0) | np.average({wide}, axis={axis})
"""
FILES = """
np.save(f, {x}); f.seek(0); {new} = np.load(f)
np.savez(f, a={x}); f.seek(0); {new} = np.load(f)['a']
np.savetxt(f, {flat}); f.seek(0); {new} = np.loadtxt(f, ndmin=1)
np.savetxt(f, {flat}, fmt='%.3f', delimiter=','); f.seek(0); {new} = np.genfromtxt(f, delimiter=',', ndmin=1)
"""


def calls(*texts: str) -> list[str]:
    return [call.strip() for text in texts for line in text.splitlines() for call in line.split(" | ") if call.strip()]


def filled(g: Generator, text: str, name: str, new: str) -> str:
    v = g.scope[name]
    axis = g.rng.randrange(v.ndim)
    return text.format(
        x=name,
        new=new,
        flat=f"{name}.ravel()[:40]",
        wide=f"{name}.astype(float)",
        axis=axis,
        n=v.shape[axis],
        ndim=v.ndim,
        k=g.rng.randint(-2, 2),
    )


def exact_family(g: Generator) -> Step | None:
    """Nothing here rounds."""
    name = g.pick(lambda v: v.ndim >= 1 and 0 < v.size <= 2000 and v.dtype.kind != "c", exact=True)
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    options = calls(MOVED)
    if v.dtype.kind in "iuf" and v.dtype.itemsize >= 4 and numpy.isfinite(v).all():
        options += calls(NUMBERS)
    if v.dtype.kind in "iu":
        options += calls(INTEGERS)
    text = filled(g, g.rng.choice(options), name, new)
    in_place = f"({new}," in text
    if in_place and v.ndim < 2 and "diagonal" in text:
        return None
    code = f"{new} = {name}.copy(); {text}" if in_place else f"{new} = np.atleast_1d({text})"
    return Step("family", code, (name,), defines=new)


def rounded_family(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind in "iuf" and v.dtype.itemsize >= 4 and is_tame(v))
    if name is None:
        return None
    new = g.fresh()
    # What cancels is zero or a rounding error, as the implementation has it: measured by all of them.
    text = "np.atleast_1d(" + g.rng.choice(calls(ROUNDED)) + ") + (1 + np.abs({wide}).sum())"
    return Step("family", f"{new} = {filled(g, text, name, new)}", (name,), defines=new, approx=True)


def file(g: Generator) -> Step | None:
    """Written and read again."""
    name = g.pick(lambda v: v.ndim >= 1 and 0 < v.size <= 2000 and v.dtype.kind in "iuf", exact=True)
    if name is None:
        return None
    new = g.fresh()
    text = g.rng.choice(FILES.strip().splitlines())
    return Step("file", f"f = __import__('io').BytesIO(); {filled(g, text, name, new)}", (name,), defines=new)
