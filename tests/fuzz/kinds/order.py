"""Sorting, searching, sets, counts and order statistics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step
from .operations import sorts_well

if TYPE_CHECKING:
    from ..generator import Generator


def order(g: Generator) -> Step | None:
    """A new array that depends on the order of another's elements. Nothing here may depend on a rounding."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.size > 0 and sorts_well(v), exact=True)
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = rng.randrange(-v.ndim, v.ndim)
    k = rng.randrange(v.shape[axis])
    options = [
        f"np.argsort({name}, axis={axis}, kind='stable')",
        f"np.sort({name}, axis=None, kind='stable')",
        f"np.take(np.partition({name}, {k}, axis={axis}), [{k}], axis={axis})",
        f"np.unique({name}, return_counts=True)[1]",
        f"np.unique({name}, return_index=True)[1]",
        f"np.lexsort(({name}, {name} > 0), axis={axis})",
        f"np.searchsorted(np.sort({name}, axis=None), {name}, side={rng.choice(['left', 'right'])!r})",
        f"np.isin({name}, {name}.ravel()[: {rng.randint(0, 9)}])",
        f"np.setdiff1d({name}, {name}.ravel()[::3])",
        f"np.intersect1d({name}, {name}.ravel()[1::2])",
    ]
    options += [
        # All of them again, in an order that nobody promises.
        f"np.sort(np.abs(np.take({name}, np.argpartition({name}, {k}, axis={axis}), axis={axis})))"
        if v.ndim == 1 and v.dtype.kind != "c"
        else name,
        f"np.unique({name}, axis={axis})",
        f"np.unique({name}, return_inverse=True)[1]",
        f"np.union1d({name}, {name}.ravel()[:3])",
        f"np.setxor1d({name}, {name}.ravel()[::2])",
        f"np.unique_counts({name}).counts",
        f"np.sort({name}, axis={axis}, kind='stable')[::-1]",
        f"np.argmax({name}, axis={axis}, keepdims=True)" if not v.dtype.kind == "c" else f"np.unique({name})",
    ]
    if v.dtype.kind in "iuf":
        options += [
            f"np.digitize({name}, [3, 1, 0, -2], right={rng.random() < 0.5})",
            f"np.searchsorted([-1, 0, 0, 2], {name}, side='right')",
            f"np.histogram2d({name}.ravel(), {name}.ravel()[::-1], bins=[[-9, 0, 1, 9], [-9, 0, 9]])[0]",
        ]
    if v.dtype.kind in "iu":
        options += [
            f"np.histogram({name}, bins={rng.randint(1, 20)}, range=(-10, 10))[0]",
            f"np.bincount(({name} % 23).ravel().astype('i8'), minlength={rng.randint(0, 30)})",
            f"np.digitize({name}, [-3, 0, 2, {rng.randint(3, 90)}])",
            f"np.histogram({name}, bins=[-5, 0, 1, {rng.randint(2, 50)}])[0]",
        ]
    if v.dtype.kind in "iuf":
        method = rng.choice(["lower", "higher", "nearest", "inverted_cdf"])
        options += [
            f"np.atleast_1d(np.quantile({name}, {rng.choice([0.0, 0.25, 0.5, 1.0])}, axis={axis}, method={method!r}))",
            f"np.atleast_1d(np.median({name}, axis={axis}))" if v.shape[axis] % 2 else f"np.unique({name})",
        ]
    return Step("order", f"{new} = {rng.choice(options)}", (name,), defines=new)


def sort_in_place(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim >= 1 and sorts_well(v), writeable=True)
    if name is None:
        return None
    axis = g.rng.randrange(-g.scope[name].ndim, g.scope[name].ndim)
    return Step("sort", f"{name}.sort(axis={axis})", (name,), target=name)
