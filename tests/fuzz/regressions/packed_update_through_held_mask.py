"""Seed 1, program 552, configuration default.

v21: the packed array read as zeros
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v21 = data(0, (9998,), "float64")
    v26 = data(0, (9998,), "float64")
    m = v26 > 0.5
    z = v21[m]
    v21[m] = z * z - z * 0.5
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "")
