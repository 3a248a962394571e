"""Seed 1, program 425, configuration window-1.

np.tile of one element gave a read-only view
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v23 = data(0, (1,), "bool")
    v28 = np.tile(v23, 2)
    v28[1:2] += v28[0:1:3]
    v8 = data(0, (1,), "float64")
    v12 = np.tile(v8, 2)
    v8 /= v8
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--window-size 1")
