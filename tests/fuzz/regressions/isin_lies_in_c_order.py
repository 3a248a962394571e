"""Seed 71600, program 669, configuration mixed-devices.

`isin` of a transposed array lay as that did, NumPy's lies in C order: `ravel` of it was a copy.
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v6 = data(0, (1, 5, 1, 2), "float64")
    v10 = v6.T
    v15 = np.isin(v10, v10.ravel()[:7])
    v19 = np.deg2rad(v15)
    v21 = v19.ravel()
    v24 = np.flip(v21, 0)
    v24[1:-1] -= (v24[:-2] + v24[2:] + v24[1:-1]) * 0.25
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--cpus 2 --gpus 2 --gpu-backend sim --fbmem 64 --min-gpu-chunk 64")
