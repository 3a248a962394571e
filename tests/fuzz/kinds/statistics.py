"""Statistics, differences, interpolation, polynomials and windows; all of them round."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step
from .algebra import is_tame

if TYPE_CHECKING:
    from ..generator import Generator


def statistic(g: Generator) -> Step | None:
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind in "iuf" and v.dtype.itemsize >= 4 and is_tame(v))
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = rng.randrange(v.ndim)
    flat, wide = f"{name}.ravel()[:150]", f"{name}.astype(float)"
    options = [
        f"np.cov(np.atleast_2d({flat}, {flat}[::-1] * 2)[0], bias=True)",
        f"np.cov({wide}.reshape({v.shape[0]}, -1), rowvar={rng.random() < 0.5})"
        if max(v.shape[0], v.size // v.shape[0]) <= 60
        else flat,
        f"np.average({name}, axis={axis}, weights=np.arange(1, {v.shape[axis]} + 1))",
        f"np.convolve({flat}, {flat}[:{rng.randint(1, 9)}], mode={rng.choice(['full', 'same', 'valid'])!r})",
        f"np.correlate({flat}, {flat}[:5], mode={rng.choice(['full', 'same', 'valid'])!r})",
        f"np.trapezoid({wide}, dx=0.5, axis={axis})",
        f"np.interp({flat}, [-3, 0, 0.5, 4], [1.0, -2.0, 3.0, 0.5])",
        f"np.interp(np.linspace(-1, 9, 40), np.arange({min(v.size, 150)}), {flat})",
        f"np.polyval([2, -1, 0.5], {wide})",
        f"np.polyfit(np.arange({min(v.size, 150)}), {flat}, 1)" if v.size > 5 else f"np.sinc({wide})",
        f"np.sinc({wide})",
        f"np.nanmean({wide}, axis={axis})",
        f"np.nanstd({wide}, axis={axis})",
        f"np.nan_to_num({wide} / 2, nan=1.0)",
        f"np.unwrap({wide}, axis={axis})" if not g.is_approx(name) else wide,
        f"np.hanning({rng.randint(1, 30)}) + np.abs({name}).sum()",
        f"np.kaiser({rng.randint(1, 30)}, 3.5) + np.abs({name}).sum()",
        f"np.vander({flat}[:8].astype(float) / 8, 4)",
        f"np.linalg.norm({wide}, axis={axis})",
    ]
    if v.shape[axis] >= 3:
        options += [f"np.gradient({wide}, axis={axis})", f"np.gradient({wide}, 0.5, axis={axis}, edge_order=2)"]
    # What cancels is zero or a rounding error, as the implementation has it: measured by all of them.
    code = f"{rng.choice(options)} + (1 + np.abs({wide}).sum())"
    return Step("statistic", f"{new} = {code}", (name,), defines=new, approx=True)


def percentile(g: Generator) -> Step | None:
    """Order statistics between two elements."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind in "iuf" and v.dtype.itemsize >= 4 and is_tame(v), exact=True)
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = rng.randrange(v.ndim)
    methods = ["linear", "hazen", "weibull", "median_unbiased", "normal_unbiased", "midpoint"]
    methods += ["interpolated_inverted_cdf", "averaged_inverted_cdf", "closest_observation"]
    method = rng.choice(methods)
    weights = f"np.arange(1, {v.shape[axis]} + 1)"
    options = [
        f"np.percentile({name}, [10, 50, {rng.randint(0, 100)}], axis={axis}, method={method!r})",
        f"np.quantile({name}, 0.3, axis=None, method={method!r}, keepdims=True)",
        f"np.nanpercentile({name}, 40, axis={axis}, keepdims=True)",
        f"np.median({name}, axis={axis}, keepdims=True)",
        f"np.nanmedian({name}, axis={axis}, keepdims=True)",
        f"np.quantile({name}, [0.2, 0.7], axis={axis}, weights={weights}, method='inverted_cdf')",
    ]
    return Step("percentile", f"{new} = {rng.choice(options)}", (name,), defines=new, approx=True)
