"""Seed 1002, programs 11760, 18960, 16551 and 32231; seed 1004, program 2650; and others.

Accumulations, counts and masked reductions are laid out in memory like what they read (NumPy's order 'K'), so that
`ravel` and `reshape` of the results are copies where NumPy's are, and views where NumPy's are.
"""

import importlib
import os

import numpy

np = importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom"))


def layouts(np):
    square = np.arange(24).reshape(4, 6)
    yield "cumsum", np.cumsum(square.T + 1, axis=0)
    yield "accumulate", np.add.accumulate(square.T, axis=1)
    yield "logical accumulate", np.logical_or.accumulate(square.copy("F"), axis=1)
    yield "three axes", np.add.accumulate(np.ones((5, 1, 3), bool).swapaxes(0, 2), axis=0)
    deep = np.broadcast_to(square.T[..., None], (6, 4, 5))
    yield "sum", np.sum(deep, axis=2)
    yield "sum where", np.sum(deep, axis=2, where=np.ones((6, 4, 5), bool))
    yield "count_nonzero", np.count_nonzero(np.broadcast_to(np.arange(18).reshape(2, 9), (2, 2, 9)), axis=2)


if __name__ == "__main__":
    for (name, e), (_, a) in zip(layouts(numpy), layouts(np), strict=True):
        assert a.strides == e.strides, f"{name}: strides {a.strides} instead of {e.strides}"
