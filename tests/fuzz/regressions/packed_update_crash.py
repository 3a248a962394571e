"""Seed 1, program 152, configuration default.

crashed
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v8 = data(1, (24998,), "float64")
    v16 = data(0, (24998,), "float64")
    v21 = (v16 - (v8 + (v16 - (-1 + v16)))) + v8
    v23 = np.logical_xor(v8, v8)
    v21[v23] = v21[v23] * 2 - 1
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "")
