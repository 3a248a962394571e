"""Seed 1, program 107, configuration mixed-devices.

Two parts of one array lay side by side in a device's memory by chance, and were taken for each other.
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v0 = data(6, (20, 30, 40), "int64")
    v1 = np.full((160, 150), True, dtype="int64")
    v2 = np.floor_divide(v1, v1[0, -97])
    v3 = v0 + (((v0 - (v0 - v0)) + v1[46:134:3, 147:148]) * v0)
    v5 = np.max(v1, axis=1)
    v5[27:48] = np.array(v3[10, -10, 3:24])
    v6 = v5.argmin(axis=0, keepdims=True)
    v7 = v6[(v5[132:131:-2] < 1)]
    read(float(v7.sum()))
    v8 = np.conjugate(v5)
    v9 = (v5[(v8 < 2)] * 2 + 1).sum()
    for i in range(0, 160, 40):
        np.multiply(v2[i : i + 40], v1[i : i + 40], out=v1[i : i + 40])
    v10 = v8.flatten()
    v10 += v8
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--cpus 2 --gpus 2 --gpu-backend sim --fbmem 64 --min-gpu-chunk 64")
