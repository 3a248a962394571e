"""Seed 1, program 2865, configuration window-1.

v18: the packed array read as zeros
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v0 = data(5, (5, 30, 38), "uint8")
    v5 = data(0, (389,), "float64")
    v6 = v5[v0 % 6]
    v12 = np.logical_or(v6, v6) != data(0, (5, 30, 38), "float64")
    v18 = data(0, (5, 30, 38), "uint8")
    i = np.nonzero(v12)
    v18[i] = v18[i] + v18[i]
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--window-size 1")
