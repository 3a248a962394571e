"""Loops that carry arrays from round to round: what is made when is the runtime's affair, the values are NumPy's."""

import random

import numpy
import pytest

import numloom as np
from tests.oracle import agree

# Large enough for the runtime to think about when it makes them; whole numbers, so that every order gives the same.
LENGTH = 132_000
NAMES = "abcd"


def statement(pick: random.Random) -> str:
    x, y, z = (pick.choice(NAMES) for _ in range(3))
    forms = [
        f"{x} = {x} * {pick.randint(2, 5)}",
        f"{x} = {x} + {pick.randint(1, 9)}",
        f"{x} = np.maximum({x} - {y}, {z})",
        f"{x} = {x} * 3 + {y}",
        f"{x} = ({y} ^ {z}) - ({y} & {x})",
        f"{x} = np.roll({x}, {pick.choice([1, -3, 70_000])}) + {y}",
        f"{x} = np.concatenate([{y}[1:], {x}[:1]]) - {z}",
        f"{x} = np.cumsum({x}) + {y}",
        f"{x} = {x}[::-1] + {y}",
        f"{x} = {y}[index] + {x}",
        f"{x} = np.sort({y}) - {z}",
        f"{x} = {x} - {x}.sum() + {y}",
        f"{x} = np.where({y} > {z}, {x}, {y}) + k",
        f"{x} = {y} * (k + 1) + {x}[::-1]",
        f"{x}[1:-1] = {x}[:-2] + {x}[2:] - {y}[1:-1]",
        f"{x}[{y} > {z}] += 1",
        f"{x} += {y}",
        f"{x}[5:] = {y}[:-5]",
        f"{x}, {y} = {y}, {x}",
        f"t = {x} * 2 - 1; {y} = t + {z}; {x} = t - {z}",
        f"sums.append(({x} * {y}).sum())",
        f"kept.append({x} + {y})",
        f"del {x}; {x} = {y if y != x else NAMES[(NAMES.index(x) + 1) % 4]} + 1",
        f"{x} = {x}.reshape(-1, 100)[:, ::-1].reshape(-1) + {y}",
    ]
    return pick.choice(forms)


def program(seed: int) -> str:
    pick = random.Random(seed)
    body = [statement(pick) for _ in range(pick.randint(2, 6))]
    copies = [f"{x} = {x}.copy()" for x in NAMES]
    loop = "\n".join(f"    {line}" for line in body)
    return "\n".join(copies) + f"\nfor k in range({pick.choice([2, 3, 5, 9])}):\n{loop}\n"


def run(text: str, module) -> list:
    rng = numpy.random.default_rng(5)
    names = {"np": module, "kept": [], "sums": [], "index": module.asarray(rng.permutation(LENGTH))}
    for name in NAMES:
        names[name] = module.asarray(rng.integers(-1000, 1000, LENGTH))
    exec(compile(text, "<rounds>", "exec"), names)
    return [names[x] for x in NAMES] + names["kept"] + names["sums"]


@pytest.mark.parametrize("block", range(6))
def test_random_rounds(block):
    for seed in range(block * 10, block * 10 + 10):
        text = program(seed)
        for got, expected in zip(run(text, np), run(text, numpy), strict=True):
            agree(got, expected, what=f"seed {seed}\n{text}")
