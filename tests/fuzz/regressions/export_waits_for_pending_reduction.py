"""Seed 1, program 227, configuration unfused.

v16: a pending reduction saw what NumPy wrote later
"""

import numpy

from tests.fuzz.replay import replay


def program(np, data, read):
    v13 = data(0, (2, 6249), "float16")
    v16 = np.max(v13, axis=(1,))
    v22 = np.flip(v13.reshape(2, -1), 1)[::2]
    w = numpy.asarray(v22)
    w[...] = 1
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--fuse=0 --window-size 1000")
