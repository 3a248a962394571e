"""Seed 1, program 48, configuration default.

v1: the packed array read as zeros
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v1 = np.arange(9998, dtype="float32").reshape((9998,))
    v1[(v1 > 0.5)] = v1[(v1 > 0.5)] * 2 - 1
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "")
