"""Seed 4, program 1866, configuration default.

v2: a copy saw what was written to its source later
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v1 = data(2, (2, 3, 48, 39), "uint32")
    v2 = np.concatenate([v1, v1], axis=2)
    np.clip(v1, 0, 4, out=v1)
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "")
