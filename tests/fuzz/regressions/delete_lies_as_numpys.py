"""Seed 81600, program 10843, configuration unfused-tiny-tiles.

What `delete` answered lay along the axes of the array it was made from. In NumPy it lies in C order where one place is
deleted, so that `ascontiguousarray` is the same array, and writing to that writes to both.
"""

import importlib
import os

import numpy

np = importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom"))


def run(np):
    spread = np.broadcast_to(np.arange(15, dtype="int8").reshape(5, 1, 3) + np.int8(1), (3, 5, 1, 3))
    column = np.asfortranarray(np.arange(12.0).reshape(3, 4))
    made = [np.delete(spread, place, axis=3) for place in (1, [1], [0, 1], slice(0, 2))]
    made += [np.delete(column, place, axis=axis) for place in (1, [0, 2], slice(0, 2)) for axis in (0, 1)]
    for x in made:
        dense = np.ascontiguousarray(x)
        dense -= x
    return made


if __name__ == "__main__":
    for actual, expected in zip(run(np), run(numpy), strict=True):
        numpy.testing.assert_array_equal(numpy.asarray(actual), expected)
        assert actual.flags.c_contiguous == expected.flags.c_contiguous
        assert actual.flags.f_contiguous == expected.flags.f_contiguous
