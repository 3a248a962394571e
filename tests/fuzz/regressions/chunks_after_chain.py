"""Seed 4, program 918, configuration default.

v9: the second chunk is wrong
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v1 = np.ones((12499,), dtype="uint8")
    v3 = data(0, (12499,), "float64")
    v5 = np.concatenate([v3, v1], axis=0)
    v9 = ((v5 * v5) - 3) * v5
    for i in range(0, 24999, 12499):
        v9[i : i + 12499] = v5[i : i + 12499] * 2 + v9[i : i + 12499]
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "")
