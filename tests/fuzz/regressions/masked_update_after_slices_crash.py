"""Seed 1, program 2416, configuration default.

crashed
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v0 = data(7, (150, 160), "int8")
    v8 = np.multiply.reduce(v0, axis=0)
    v12 = data(0, (160,), "int64")
    v13 = np.fmod(v8, v12)
    for i in range(0, 160, 3):
        v13[i : i + 3] += v12[i : i + 3]
    v12[(v13 >= 0)] += True
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "")
