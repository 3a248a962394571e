"""Seed 1, program 67, configuration unfused.

IndexError; NumPy takes an empty mask of any length
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v3 = data(0, (2,), "float64")
    m = np.zeros(0, dtype=bool)
    v3[m] = v3[m]
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--fuse=0 --window-size 1000")
