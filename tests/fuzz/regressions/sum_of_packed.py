"""Seed 1, program 42, configuration window-7.

v3: the sum of another packed array
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v1 = data(8, (18, 28, 18), "int16")
    v2 = np.extract((v1 != 1), v1)
    v3 = (v1[(v1 >= 1)] * 2 + 1).sum()
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--window-size 7 --min-cpu-chunk 16")
