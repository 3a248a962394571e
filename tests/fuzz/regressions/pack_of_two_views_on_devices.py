"""Seed 1, program 1450, configuration full-devices.

The mask was held on a device to be counted, then read where only a part of its array was held.
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v15 = data(0, (2382,), "bool")
    v16 = v15[823:1712:2]
    v17 = v16[np.nonzero(v15[1786:2231])]
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--gpus 3 --gpu-backend sim --fbmem 4 --min-gpu-chunk 8 --inline-size 16")
