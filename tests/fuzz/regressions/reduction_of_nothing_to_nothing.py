"""Seed 1002, program 877, configuration tiny-tiles.

Folding an axis of extent 0 without an identity raises even where there is no result: maximum over (0, 0) along axis 0.
"""

import importlib
import os

np = importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom"))


def raised(function):
    try:
        function()
    except Exception as e:
        return type(e).__name__
    return None


if __name__ == "__main__":
    for dtype in ("bool", "int8", "float64"):
        x = np.zeros((0, 0), dtype)
        for name, function in {
            "maximum.reduce": lambda x=x: np.maximum.reduce(x, axis=0),
            "min": lambda x=x: x.min(axis=1),
            "ptp": lambda x=x: np.ptp(x, axis=0),
        }.items():
            assert raised(function) == "ValueError", f"{name} of {dtype}: {raised(function)} instead of ValueError"
        assert np.maximum.reduce(np.zeros((3, 0), dtype), axis=0).shape == (0,)
