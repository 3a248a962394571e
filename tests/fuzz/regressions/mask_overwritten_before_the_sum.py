"""Seed 201118, program 72308, configuration full-device.

v21: np.uint64(1) instead of np.uint64(0)
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v13 = data(0, (1,), "uint32")
    v15 = data(0, (1,), "bool")
    v16 = np.extract(v15, v13)
    v15[:] = np.array(-1.25)
    v21 = np.add.reduce(v16, axis=0)
    del v16
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 4 --min-gpu-chunk 1 --inline-size 0")
