"""Seed 3, program 2711, configuration tiny-tiles.

v6: a copy saw what was written to its source later
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v0 = data(1, (79, 148), "float64")
    v2 = data(0, (79, 148), "float64")
    v2 /= v0
    v6 = data(0, (79, 148), "float64")
    v6[...] = v2
    np.clip(v2, -4, 4, out=v2)
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--cpus 2 --min-cpu-chunk 16 --window-size 1000")
