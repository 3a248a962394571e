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
