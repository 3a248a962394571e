"""Arrays put together from parts of others and read at once: rolled, joined, shifted by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step

if TYPE_CHECKING:
    from ..generator import Generator


def patchwork(g: Generator) -> Step | None:
    """Elementwise work on what is put together, and sometimes a write to what it is put together from."""
    rng = g.rng
    into = rng.random() < 0.3
    name = g.pick(lambda v: v.ndim >= 1 and v.size > 0 and v.dtype.kind != "c", writeable=into)
    if name is None:
        return None
    v = g.scope[name]
    parts = [_moved(g, name) for _ in range(rng.randint(1, 4))]
    total = name if rng.random() < 0.5 else parts.pop()
    for part in parts:
        total = f"np.{rng.choice(['add', 'multiply'])}({total}, {part})"
    if into:
        at = "..." if rng.random() < 0.5 else "1:" if v.ndim == 1 else "1:, :-1"
        update = rng.choice([f"{name}[{at}] = ({total})[{at}]", f"np.add({name}, {total}, out={name})"])
        return Step("patchwork", update, (name,), target=name)
    new = g.fresh()
    code = f"{new} = {total}"
    return Step("patchwork", code, (name,), defines=new)


def patchwork_by_hand(g: Generator) -> Step | None:
    """A loop body that shifts an array by slices, reads that, and may change the array before."""
    rng = g.rng
    name = g.pick(lambda v: v.ndim >= 1 and v.size > 3 and v.dtype.kind in "iuf", writeable=True)
    if name is None:
        return None
    v, new = g.scope[name], g.fresh()
    axis = rng.randrange(v.ndim)
    n = v.shape[axis]
    if n < 2:
        return None
    k = rng.randint(1, n - 1)

    def part(text: str) -> str:
        return ", ".join([":"] * axis + [text])

    copies = [
        f"t[{part(f'{k}:')}] = {name}[{part(f':{n - k}')}]",
        f"t[{part(f':{k}')}] = {name}[{part(f'{n - k}:')}]",
    ]
    rng.shuffle(copies)
    between = rng.choice(["", "", f"{name}[{part('1:')}] += 1; ", f"{name}[{part(f'{n - 1}:')}] *= 2; "])
    after = rng.choice(["", "", f"; {name} -= 1"])
    read = rng.choice([f"t + {name}", f"t[{part('1:')}] * {name}[{part(f':{n - 1}')}]", "(t + 1) * 2", "t.sum()"])
    if read == "t.sum()":
        read = f"np.roll(t, 1, axis={axis}) + t"
    code = f"t = np.empty_like({name}); {'; '.join(copies)}; {between}{new} = {read}{after}; del t"
    return Step("patchwork", code, (name,), defines=new, target=name)


def _moved(g: Generator, name: str) -> str:
    rng = g.rng
    v = g.scope[name]
    text = name
    for _ in range(rng.randint(1, 2)):
        axis = rng.randrange(v.ndim)
        shift = rng.choice([1, -1, 0, rng.randint(-7, 7)])
        kind = rng.random()
        if kind < 0.65:
            text = f"np.roll({text}, {shift}, axis={axis})"
        elif kind < 0.8:
            text = f"np.roll({text}, ({shift}, 1), axis=({axis}, 0))"
        else:
            cut = rng.randint(0, v.shape[axis])
            head = ", ".join([":"] * axis + [f":{cut}"])
            tail = ", ".join([":"] * axis + [f"{cut}:"])
            text = f"(lambda y: np.concatenate([y[{tail}], y[{head}]], axis={axis}))({text})"
    return text
