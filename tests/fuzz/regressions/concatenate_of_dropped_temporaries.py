"""Seed 1001, program 23538, configuration window-7.

The second half of v14 is garbage. Both pieces are made by tasks of the window before, have no memory yet and no handle
any more, and were taken for temporaries of the two copies, which then merged into one copy of the first piece.
"""

import importlib
import os

import numpy

os.environ.setdefault("NUMLOOM_CONFIG", "--window-size 7 --min-cpu-chunk 16")
np = importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom"))

SOURCE = numpy.sin(numpy.arange(149 * 160.0)).reshape(149, 160)


def program(np):
    v1 = np.array(SOURCE)
    v9 = np.tanh(np.clip(v1 * 2, -1, 1))
    v11 = v9[5:32, np.array([14, 55, 5, -3])]
    return numpy.asarray(np.concatenate((v11.ravel(), v11.ravel())))


if __name__ == "__main__":
    expected = program(numpy)
    for _ in range(100):
        numpy.testing.assert_allclose(program(np), expected, rtol=1e-12)
