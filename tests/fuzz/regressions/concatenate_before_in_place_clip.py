"""Seed 4, program 1866, configuration default.

v2: a copy saw what was written to its source later
"""

import importlib
import os
import warnings

import numpy

os.environ.setdefault("NUMLOOM_CONFIG", "")
np = importlib.import_module(os.environ.get("NUMLOOM_TEST_MODULE", "numloom"))
APPROXIMATE = []


def data(seed, shape, dtype):
    """Tame, reproducible contents: eighths between -4 and 4, small whole numbers, or coin flips."""
    rng = numpy.random.RandomState(seed)
    dtype = numpy.dtype(dtype)
    if dtype.kind == "b":
        return np.array(rng.randint(0, 2, shape).astype(bool))
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -20
        return np.array(rng.randint(low, 21, shape).astype(dtype))
    values = rng.randint(-32, 33, shape) / 8
    if dtype.kind == "c":
        values = values + 1j * (rng.randint(-32, 33, shape) / 8)
    return np.array(values.astype(dtype))


def program(read):
    numpy.seterr(all="ignore")
    warnings.simplefilter("ignore")
    v1 = data(2, (2, 3, 48, 39), "uint32")
    v2 = np.concatenate([v1, v1], axis=2)
    np.clip(v1, 0, 4, out=v1)
    return {k: v for k, v in locals().items() if k[0] == "v"}


def outcome(module):
    global np
    np = module
    seen = []
    values = program(seen.append)
    values.update((f"read {i}", v) for i, v in enumerate(seen))
    return {k: v if isinstance(v, (str, tuple, list)) else numpy.asarray(v) for k, v in values.items()}


if __name__ == "__main__":
    under_test, expected = np, outcome(numpy)
    actual = outcome(under_test)
    for name, e in expected.items():
        a = actual[name]
        if not isinstance(e, numpy.ndarray):
            assert repr(a) == repr(e), f"{name}: {a!r} instead of {e!r}"
            continue
        assert (a.shape, a.dtype) == (e.shape, e.dtype), f"{name}: {a.shape} {a.dtype} instead of {e.shape} {e.dtype}"
        if name in APPROXIMATE:
            numpy.testing.assert_allclose(a, e, rtol=1e-2 if e.dtype.itemsize == 2 else 1e-4, atol=1e-4, err_msg=name)
        else:
            numpy.testing.assert_array_equal(a, e, err_msg=name)
