"""Seed 1, program 115, configuration unfused.

crashed
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v1 = data(1, (12499,), "uint16")
    v2 = (v1[(v1 < 1)] * 2 + 1).sum()
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--fuse=0 --window-size 1000")
