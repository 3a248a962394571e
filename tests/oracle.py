"""The module under test, beside NumPy, and what it means for their results to agree.

`NUMLOOM_TEST_MODULE=numpy` runs every test with NumPy in Numloom's place: a test that fails then is wrong itself.
"""

from __future__ import annotations

import importlib
import os
import warnings

import numpy
import pytest

MODULE = os.environ.get("NUMLOOM_TEST_MODULE", "numloom")
# Where arrays are on a GPU, which raises no floating-point flags (docs/gpu.md).
WARNS = "--gpus 1" not in os.environ.get("NUMLOOM_CONFIG", "")
# Its products of floats go in parts and do not warn of what a product from the left would.
NUMPY_2_5 = numpy.lib.NumpyVersion(numpy.__version__) >= "2.5.0"
np = importlib.import_module(MODULE)

needs_engine = pytest.mark.skipif(MODULE != "numloom", reason="about Numloom's own engine")

BOOL = ["bool"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTEGER = SIGNED + UNSIGNED
FLOAT = ["float16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
DTYPES = BOOL + INTEGER + FLOAT + COMPLEX

# Units in the last place that elementary functions may be away from NumPy's own.
ULPS = {"float16": 2, "float32": 8, "float64": 8, "complex64": 32, "complex128": 32}


def values(dtype: str, shape: tuple[int, ...] | int, seed: int = 0, special: bool = False) -> numpy.ndarray:
    """Reproducible contents of any dtype; with special values mixed in if asked."""
    rng = numpy.random.default_rng(seed)
    kind = numpy.dtype(dtype).kind
    if kind == "b":
        return numpy.asarray(rng.integers(0, 2, shape)).astype(bool)
    if kind in "iu":
        info = numpy.iinfo(dtype)
        out = numpy.asarray(rng.integers(0 if kind == "u" else -12, 13, shape)).astype(dtype)
        extremes = numpy.array([info.min, info.max, 0, 1, info.max - 1, info.min + 1], dtype=dtype)
    else:
        out = rng.uniform(-3, 3, shape)
        if kind == "c":
            out = out + 1j * rng.uniform(-3, 3, shape)
        out = numpy.asarray(out).astype(dtype)
        info = numpy.finfo(dtype)
        extremes = numpy.array(
            [0.0, -0.0, 1, -1, numpy.inf, -numpy.inf, numpy.nan, 0.5, -2.5, info.tiny, -info.smallest_subnormal]
        )
        extremes = numpy.append(extremes, [info.max, info.eps, 1.5, 2.5]).astype(dtype)
    if special and out.ndim and out.size >= extremes.size:
        out.reshape(-1)[: extremes.size] = extremes
    return out


def mine(x: numpy.ndarray):
    """The module's copy of a NumPy array, with the same strides order."""
    return np.array(x)


def to_numpy(x):
    """What a result looks like in NumPy, all the way down."""
    if isinstance(x, (tuple, list)):
        return type(x)(map(to_numpy, x)) if type(x) in (tuple, list) else tuple(map(to_numpy, x))
    if isinstance(x, (np.ndarray, numpy.ndarray, numpy.generic)):
        return numpy.asarray(x)
    return x


def agree(actual, expected, ulps: float = 0, what: str = "") -> None:
    """Equal shape, dtype and values; floats may be some units in the last place away if ulps are given."""
    if isinstance(expected, (tuple, list)):
        assert isinstance(actual, (tuple, list)), f"{what}: {type(actual)} instead of a sequence"
        assert len(actual) == len(expected), f"{what}: {len(actual)} results instead of {len(expected)}"
        for i, (a, e) in enumerate(zip(actual, expected, strict=True)):
            agree(a, e, ulps, f"{what}[{i}]")
        return
    if not isinstance(expected, (numpy.ndarray, numpy.generic)):
        assert type(actual) is type(expected), f"{what}: {type(actual)} instead of {type(expected)}"
        assert repr(actual) == repr(expected), f"{what}: {actual!r} instead of {expected!r}"
        return
    is_array = isinstance(actual, (np.ndarray, numpy.ndarray))
    assert is_array == isinstance(expected, numpy.ndarray), f"{what}: {type(actual)} instead of {type(expected)}"
    a, e = numpy.asarray(actual), numpy.asarray(expected)
    assert a.shape == e.shape, f"{what}: shape {a.shape} instead of {e.shape}"
    assert a.dtype == e.dtype, f"{what}: dtype {a.dtype} instead of {e.dtype}"
    if e.dtype.kind not in "fc" or not ulps:
        numpy.testing.assert_array_equal(a, e, err_msg=what)
        return
    with numpy.errstate(all="ignore"):
        if e.dtype.kind == "c":
            # A part is measured against the whole number; which part is infinite or NaN is left open.
            finite = numpy.isfinite(e)
            numpy.testing.assert_array_equal(numpy.isfinite(a), finite, err_msg=f"{what}: finite elements")
            size = numpy.abs(e.astype(complex))[finite]
            distance = numpy.abs(a.astype(complex) - e.astype(complex))[finite]
        else:
            finite = numpy.isfinite(e)
            numpy.testing.assert_array_equal(a[~finite], e[~finite], err_msg=f"{what}: infinite or NaN elements")
            size, distance = (
                numpy.abs(e[finite].astype(float)),
                numpy.abs(a[finite].astype(float) - e[finite].astype(float)),
            )
        info = numpy.finfo(e.dtype)
        bound = ulps * (float(info.eps) * size + float(info.smallest_subnormal))
        wrong = ~(distance <= bound)
        first = f"{a[finite][wrong][:3]} instead of {e[finite][wrong][:3]}"
        assert not wrong.any(), f"{what}: {int(wrong.sum())} of {e.size} too far away: {first}"


def outcome(function, *args, **kwargs):
    """('value', result) or ('error', class name, words)."""
    try:
        return ("value", function(*args, **kwargs))
    except Exception as e:
        return ("error", type(e).__name__, str(e))


def agree_in_outcome(mine_does, numpy_does, ulps: float = 0, words: bool = True, what: str = "") -> None:
    """Both give agreeing results, or both raise the same error with the same words."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        actual, expected = outcome(mine_does), outcome(numpy_does)
        if expected[0] == "error":
            assert actual[0] == "error", f"{what}: no error, NumPy raises {expected[1]}: {expected[2]}"
            assert actual[1] == expected[1], f"{what}: {actual[1:]} instead of {expected[1:]}"
            if words:
                assert same_words(actual[2], expected[2]), f"{what}: {actual[2]!r} instead of {expected[2]!r}"
            return
        assert actual[0] == "value", f"{what}: raised {actual[1:]}"
        agree(actual[1], expected[1], ulps, what)


def same_words(actual: str, expected: str) -> bool:
    """Numloom may add the line of a deferred operation; names of the package may differ."""
    return actual.split("\n  in ")[0].replace("numloom.", "numpy.").strip() == expected.strip()
