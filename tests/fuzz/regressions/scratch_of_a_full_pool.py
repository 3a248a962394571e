"""Seed 2026, program 8801, configuration spilling.

The scratch of a library operation was refused where the pool had no address space left.
"""

import tempfile

from tests.fuzz.replay import replay


def program(np, data, read):
    v4 = data(0, (39999,), "float64")
    v7 = np.unique(v4, return_index=True)[1]
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, f"--cpus 2 --sysmem 1 --spill {tempfile.gettempdir()}")
