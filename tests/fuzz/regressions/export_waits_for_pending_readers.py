"""Seed 1, program 113, configuration window-1.

v2: a pending operation saw what NumPy wrote later
"""

import numpy

from tests.fuzz.replay import replay


def program(np, data, read):
    v1 = np.arange(25000, dtype="int32").reshape((25000,))
    v2 = v1 * 3
    numpy.asarray(v1)[:1] = 2
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--window-size 1")
