"""Seed 1, program 67, configuration unfused.

crashed
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v0 = data(11, (40000,), "float64")
    v1 = np.zeros((160, 150), dtype="float64")
    v2 = ((v1 - ((v1 * v1) - v0[-5728])) + v1) * -1
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--fuse=0 --window-size 1000")
