"""Every name of NumPy's is there, under NumPy's signature, and importing stays cheap."""

import datetime
import importlib
import inspect
import subprocess
import sys
import types

import numpy
import pytest

import numloom
from numloom._fallback import native_names

PUBLIC = [name for name in dir(numpy) if not name.startswith("_")]
FUNCTIONS = [n for n in PUBLIC if callable(getattr(numpy, n)) and not isinstance(getattr(numpy, n), type | numpy.ufunc)]


def test_dir_covers_numpys():
    assert set(dir(numpy)) <= set(dir(numloom)) | {"_core"}


@pytest.mark.parametrize("name", PUBLIC)
def test_name_exists(name):
    getattr(numloom, name)


@pytest.mark.parametrize("module", ["linalg", "fft", "random", "polynomial", "lib", "testing", "exceptions", "strings"])
def test_submodules_cover_numpys(module):
    theirs, ours = getattr(numpy, module), getattr(numloom, module)
    assert isinstance(ours, types.ModuleType)
    for name in theirs.__all__ if hasattr(theirs, "__all__") else dir(theirs):
        if not name.startswith("_"):
            assert hasattr(ours, name), name


def below(theirs, ours, path, seen):
    """Every name under a module of NumPy's that is missing or no module under ours."""
    for name in dir(theirs):
        if name.startswith("_") or not hasattr(theirs, name):
            continue
        value = getattr(theirs, name)
        if not hasattr(ours, name):
            yield f"{path}.{name}"
        elif isinstance(value, types.ModuleType) and value.__name__.startswith("numpy.") and value not in seen:
            seen.add(value)
            yield from below(value, getattr(ours, name), f"{path}.{name}", seen)


def test_no_name_is_missing_at_any_depth():
    modules = "numpy.lib.stride_tricks numpy.polynomial.chebyshev numpy.ma.extras numpy.ctypeslib numpy.f2py numpy.rec"
    for name in [*modules.split(), "numpy.typing", "numpy.char", "numpy.dtypes", "numpy.testing", "numpy.strings"]:
        theirs, ours = (importlib.import_module(name.replace("numpy", root, 1)) for root in ("numpy", "numloom"))
        assert list(below(theirs, ours, name, {theirs})) == []
    assert list(below(numpy, numloom, "numpy", {numpy})) == []


def test_submodules_of_submodules_import():
    from numloom.lib.stride_tricks import sliding_window_view
    from numloom.polynomial import Polynomial

    assert Polynomial is numpy.polynomial.Polynomial
    assert sliding_window_view(numloom.arange(4), 2).shape == (3, 2)
    with pytest.raises(ImportError):
        importlib.import_module("numloom.no_such_module")


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="numloom"):
        _ = numloom.no_such_function


# Keywords of the array API standard that NumPy has not.
BEYOND = ("descending",)


def parameters(function):
    all_of_them = inspect.signature(function).parameters.values()
    return [(p.name, p.kind, repr(p.default)) for p in all_of_them if p.name not in BEYOND]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature_is_numpys(name):
    try:
        theirs = parameters(getattr(numpy, name))
    except ValueError:
        pytest.skip("NumPy does not tell")
    if name == "nditer":
        return
    ours = getattr(numloom, name)
    assert parameters(ours) == theirs
    # What is written under the decorator, not what it shows.
    assert parameters(getattr(ours, "__wrapped__", ours)) == theirs


def test_signatures_and_docs_show_as_numpys():
    for name in ("inner", "where", "dot", "copyto", "putmask", "can_cast", "result_type", "bincount"):
        assert inspect.signature(getattr(numloom, name)) == inspect.signature(getattr(numpy, name))
    for name in ("arange", "frombuffer", "fromiter", "promote_types", "from_dlpack"):
        assert getattr(numloom, name).__text_signature__ == getattr(numpy, name).__text_signature__
    for name in ("repeat", "round", "trace", "dot", "compress", "sort", "argsort", "put", "resize", "choose"):
        ours, theirs = getattr(numloom.ndarray, name), getattr(numpy.ndarray, name)
        assert next(iter(inspect.signature(ours).parameters.values())).kind is inspect.Parameter.POSITIONAL_ONLY
        if name != "resize":
            assert parameters(ours) == parameters(theirs)
            assert ours.__doc__ == theirs.__doc__
    assert (numloom.arange(stop=3) == numpy.arange(3)).all()
    assert (numloom.arange(start=1, stop=3) == numpy.arange(1, 3)).all()


@pytest.mark.parametrize("name", sorted(n for n in native_names if n.startswith("linalg.")))
def test_signature_in_linalg_is_numpys(name):
    name = name.removeprefix("linalg.")
    assert parameters(getattr(numloom.linalg, name)) == parameters(getattr(numpy.linalg, name))


def test_types_and_constants_are_numpys():
    for name in ("float32", "int64", "complex128", "bool", "dtype", "finfo", "errstate", "generic", "newaxis", "pi"):
        assert getattr(numloom, name) is getattr(numpy, name)


def test_ufuncs_are_ours():
    for name in PUBLIC:
        if isinstance(getattr(numpy, name), numpy.ufunc):
            assert isinstance(getattr(numloom, name), numloom.ufunc), name


def test_methods_cover_numpys():
    ours = set(dir(numloom.ndarray))
    assert {n for n in dir(numpy.ndarray) if not n.startswith("_")} <= ours | {"ctypes"}


def test_import_time(capsys):
    code = "import time, numpy; t = time.perf_counter(); import numloom; print((time.perf_counter() - t) * 1e3)"
    times = [
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    ]
    with capsys.disabled():
        print(f"\n  import numloom over import numpy: {min(times):.1f} ms")


def test_names_that_numpy_drops():
    """NumPy 2.5 has no `row_stack` and others that warned for long; importing must not depend on them."""
    code = """
import warnings, numpy
warnings.simplefilter("ignore")
gone = [n for n in ("row_stack", "in1d", "trapz", "disp", "safe_eval", "fix", "msort", "alltrue") if hasattr(numpy, n)]
for name in gone:
    vars(numpy).pop(name, None)
real = numpy.__getattr__
numpy.__getattr__ = lambda name: (_ for _ in ()).throw(AttributeError(name)) if name in gone else real(name)
import numloom as np
assert np.vstack([np.ones(2)] * 2).shape == (2, 2)
for name in gone:
    getattr(np, name, None)
np.coverage(as_dict=True)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_arrays_of_any_type_are_arrays_to_a_program_that_asks():
    for x in (["a", "b"], [None, {}], [datetime.date(2020, 1, 1)], [1, 2], 3.0, numpy.ma.masked_array([1, 2], [0, 1])):
        assert isinstance(numloom.array(x), numloom.ndarray)
    for x in ([1, 2], 3, numloom.ones(30_000).sum(), numpy.float64(3), "a", None):
        assert not isinstance(x, numloom.ndarray)
    assert type(numloom.ones(3)) is numloom.ndarray
    assert numloom._core.is_ours(numloom.ones(3)) and not numloom._core.is_ours(numpy.ones(3))
