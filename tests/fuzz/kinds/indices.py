"""Integer arrays as indices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step
from .operations import is_number, names_of

if TYPE_CHECKING:
    from ..generator import Generator


def index_text(g: Generator, extent: int, count: int) -> str:
    values = [g.rng.randint(-extent, extent - 1) for _ in range(count)]
    kind = g.rng.choice(["int64", "int64", "int32", "uint8", "int8"])
    if kind[0] == "u":
        values = [x % min(extent, 256) for x in values]
    if kind == "int8":
        values = [max(-128, min(127, x)) for x in values]
    return f"np.array({values}, dtype={kind!r})"


def gather(g: Generator) -> Step | None:
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.size > 0)
    if name is None:
        return None
    v = g.scope[name]
    source = name
    if v.ndim >= 2 and rng.random() < 0.3:
        source, v = f"{name}.T", v.T
    count = rng.randint(1, 6)
    parts = [index_text(g, e, count) if rng.random() < 0.5 else g.slice_text(e) for e in v.shape]
    if all("np" not in p for p in parts):
        parts[0] = index_text(g, v.shape[0], count)
    if len(parts) > 1 and rng.random() < 0.2:
        at = rng.randrange(len(parts))
        parts[at] = str(rng.randrange(v.shape[at]))
    text = f"{source}[{', '.join(parts)}]"
    if rng.random() < 0.2:
        axis = rng.randrange(v.ndim)
        text = f"np.take({source}, {index_text(g, v.shape[axis], count)}, axis={axis})"
    new = g.fresh()
    return Step("gather", f"{new} = {text}", (name,), defines=new)


def gather_by_array(g: Generator) -> Step | None:
    """Indices that an earlier operation computed, as long as the array itself."""
    name = g.pick(lambda v: v.ndim == 1 and v.size > 0)
    index = g.pick(lambda v: v.dtype.kind in "iu" and v.ndim >= 1, exact=True)
    if name is None or index is None:
        return None
    new, n = g.fresh(), g.scope[name].shape[0]
    return Step("gather", f"{new} = {name}[{index} % {min(n, 100)}]", names_of((name, index)), defines=new)


def scatter(g: Generator) -> Step | None:
    rng = g.rng
    target = g.pick(lambda v: v.ndim >= 1 and v.size > 0, writeable=True)
    if target is None:
        return None
    v = g.scope[target]
    source = target
    if v.ndim >= 2 and rng.random() < 0.3:
        source, v = f"{target}.T", v.T
    count = min(rng.randint(1, 6), v.shape[0])
    first = f"np.array({rng.sample(range(v.shape[0]), count)})"
    rest = [g.slice_text(e) if rng.random() < 0.7 else str(rng.randrange(e)) for e in v.shape[1:]]
    index = ", ".join([first, *rest])
    value = rng.choice(["1", "0", "True"])
    sign = rng.choice(["=", "+=", "-=", "*="]) if is_number(v) else "="
    code = f"{source}[{index}] {sign} {value}"
    if rng.random() < 0.15 and is_number(v) and v.ndim == 1:
        # A plain 1 is an int64 here, and NumPy adds uint64 and int64 as floats.
        code = f"np.add.at({source}, {index_text(g, v.shape[0], count)}, np.{v.dtype.name}(1))"
    return Step("scatter", code, (target,), target=target)
