"""Seed 1, program 442, configuration window-7.

np.repeat of one element gave a read-only view
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v5 = data(0, (1,), "bool")
    v7 = np.repeat(v5, 2, axis=0)
    v7[...] = v7
    v9 = np.repeat(np.broadcast_to(np.ones((2, 3), dtype="float32"), (3, 2, 3)), 2, axis=0)
    v9[np.array([3]), 1:5, :] += 0
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--window-size 7 --min-cpu-chunk 16")
