"""Reading values, dropping names, failing on purpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step
from .operations import half_fits, is_float

if TYPE_CHECKING:
    from ..generator import Generator


def read(g: Generator) -> Step | None:
    rng = g.rng
    roll = rng.random()
    if roll < 0.35:
        name = g.pick(lambda v: v.dtype.kind in "iufb" and half_fits(v))
        if name is None:
            return None
        # A half stays a half, so that it is compared as one.
        total = f"numpy.float16({name}.sum())" if g.scope[name].dtype == "float16" else f"float({name}.sum())"
        return Step("read", f"read({total})", (name,), approx=is_float(g.scope[name]))
    if roll < 0.6:
        name = g.pick(lambda v: v.size <= 40, exact=True)
        return name and Step("read", f"read({name}.tolist())" if roll < 0.5 else f"read(repr({name}))", (name,))
    if roll < 0.75:
        name = g.pick(lambda v: v.size > 0 and v.dtype.kind != "c", exact=True)
        if name is None:
            return None
        index = ", ".join(str(rng.randrange(e)) for e in g.scope[name].shape) or "()"
        return Step("read", f"read({name}[{index}])", (name,))
    if roll < 0.85:
        name = g.pick(exact=True)
        return name and Step("read", f"read(bool(({name} == {name}).all()))", (name,))
    name = g.pick()
    return name and Step("read", f"read(({name}.shape, {name}.ndim, {name}.size, {name}.dtype.name))", (name,))


def drop(g: Generator) -> Step | None:
    names = g.names()
    if len(names) < 3:
        return None
    name = g.rng.choice(names)
    return Step("drop", f"del {name}")


def error(g: Generator) -> Step | None:
    """Must raise the same exception type under both; reads its result so that a deferred one is seen here."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1)
    if name is None:
        return None
    v = g.scope[name]
    n = v.shape[0]
    options = [
        f"read({name}[{n + rng.randint(0, 3)}])",
        f"read({name}[{', '.join(['0'] * (v.ndim + 1))}])",
        f"read(numpy.asarray({name}[np.array([0, {n}])]))",
        # A last axis of one would broadcast, to something huge.
        f"read({name} + np.ones({n + 2}, dtype='int8'))" if n > 1 < v.shape[-1] else f"read({name}[{n + 1}])",
        f"read({name}.reshape({v.size + 1}))",
        f"read({name}[0.5])",
        f"read({name}.sum(axis={v.ndim}))",
        f"read(np.zeros({n + 1}, dtype=bool)[np.zeros({n + 3}, dtype=bool)])",
        f"read({name}.astype('no such type'))",
        f"read(np.concatenate([{name}, np.zeros((1,) * {v.ndim + 1})]))",
        f"read({name}.transpose(0, 0))",
        f"read(bool(np.zeros(({n + 2},))))",
    ]
    if v.flags.writeable and v.ndim == 1:
        options += [
            f"{name}[:] = np.zeros({n + 2})",
            f"{name}[{n + 5}] = 1",
            f"{name}[np.zeros({n + 1}, dtype=bool)] = 1",
        ]
    return Step("error", rng.choice(options), (name,))
