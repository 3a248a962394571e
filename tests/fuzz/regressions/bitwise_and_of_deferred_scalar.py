"""Seed 1, program 5, configuration unfused.

RecursionError instead of TypeError
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v12 = data(0, (0,), "bool")
    v18 = data(0, (79, 148), "bool")
    v20 = v18.mean(axis=None)
    try:
        v22 = np.bitwise_and(v12, v20)
    except Exception as e:
        read(type(e).__name__)
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--fuse=0 --window-size 1000")
