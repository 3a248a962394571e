"""Seed 1001, program 21675, configuration unfused; other programs in every configuration, once in some ten thousand.

Another thread turns the window into tasks while the program goes on: it records a reader of t in the next window and
drops t. Then t had no handle when the flush looked, and what computes t was left out as dead.
"""

import importlib
import os

import numpy

os.environ.setdefault("NUMLOOM_CONFIG", "--window-size 65")
np = importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom"))

if __name__ == "__main__":
    for _ in range(30):
        x = np.zeros(30_000)
        for _ in range(1500):
            t = x + 1
            x = t + 1
            del t
        numpy.testing.assert_array_equal(numpy.asarray(x), 3000)
