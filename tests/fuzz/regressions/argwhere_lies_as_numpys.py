"""Seed 61600, programs 37844 and 47889, configurations window-7 and spilling.

`argwhere` gave rows one after another, NumPy's has columns: what is a view of it and what a copy differed.
"""

from tests.fuzz.replay import replay


def program(np, data, read):
    v14 = data(0, (4, 6), "bool")
    v16 = np.argwhere(v14)
    v21 = np.ascontiguousarray(v16)
    v22 = v16.reshape(-1)
    v16[:, ::-2] = np.array(0)
    return {k: v for k, v in locals().items() if k[0] == "v"}


if __name__ == "__main__":
    replay(program, "--window-size 7 --min-cpu-chunk 16")
