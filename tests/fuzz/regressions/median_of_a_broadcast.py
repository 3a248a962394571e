"""Seed 201118, program 24342, configuration device.

v6: 2 of 36 elements differ, most at (0, 0, 0): np.float64(-5.0) instead of np.float64(-2.5)
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v2 = data(0, (2, 3, 6), "float64")
    v4 = np.broadcast_to(v2, (3, 2, 3, 6))
    v5 = np.atleast_1d(np.median(v4, axis=-2))
    v6 = np.sort(v5, axis=1)
    v8 = v6.reshape(-1)
    for i in range(0, 2, 3):
        v8[i : i + 3] += v8[i : i + 3]
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--cpus 2 --gpus 1 --gpu-backend sim --fbmem 64 --min-gpu-chunk 1 --inline-size 0")
