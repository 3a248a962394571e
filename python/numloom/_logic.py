"""Comparisons of whole arrays, tests of elements and types."""

from __future__ import annotations

import builtins
import warnings
from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, is_ours, ndarray
from ._fallback import direct, native
from ._operands import dtype_of, is_array, is_foreign, operand, result_dtype, target


@native
def isclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> Any:
    x, y, atol, rtol = (v if _is_pythons(v) else operand(v) for v in (a, b, atol, rtol))
    if is_ours(y):
        y = y.astype(numpy.result_type(y.dtype, 1.0), copy=False)
    elif isinstance(y, int):
        y = float(y)
    if not _tolerances_finite(atol, rtol):
        message = f"One of rtol or atol is not valid, atol: {atol}, rtol: {rtol}"
        handling = numpy.geterr()["invalid"]
        if handling == "raise":
            raise FloatingPointError(message)
        if handling == "warn":
            warnings.warn(message, RuntimeWarning, stacklevel=3)
        elif handling == "print":
            print(message)
    with numpy.errstate(invalid="ignore"):
        near = _core.less_equal(_core.absolute(_core.subtract(x, y)), atol + rtol * builtins.abs(y))
        result = (near & _core.isfinite(y)) | _core.equal(x, y)
        if equal_nan:
            result = result | (_core.isnan(x) & _core.isnan(y))
    return result


def _is_pythons(x: Any) -> bool:
    """Whether `x` is a number of Python's, truth values among them, which takes the type of what stands beside it."""
    return isinstance(x, int | float | complex) and not isinstance(x, numpy.generic)


def _tolerances_finite(*values: Any) -> bool:
    return builtins.all(
        numpy.isfinite(v) if isinstance(v, int | float) else bool(_core.isfinite(v).all()) for v in values
    )


@native
def allclose(a: Any, b: Any, rtol: Any = 1.0e-5, atol: Any = 1.0e-8, equal_nan: bool = False) -> bool:
    if is_foreign(a) or is_foreign(b):
        raise Unsupported("an array of another class")
    return bool(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan).all())


@native
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> bool:
    try:
        a, b = operand(a1), operand(a2)
    except ValueError:
        return False
    if a.shape != b.shape:
        return False
    same = _core.equal(a, b)
    if equal_nan:
        same = same | (_core.isnan(a) & _core.isnan(b))
    return bool(same.all())


@native
def array_equiv(a1: Any, a2: Any) -> bool:
    try:
        a, b = operand(a1), operand(a2)
        numpy.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        return False
    return bool(_core.equal(a, b).all())


@native
def isreal(x: Any) -> Any:
    if is_foreign(x):
        raise Unsupported("an array of another class")
    part = imag(x)
    if not is_array(part) and numpy.asarray(part).dtype.kind not in "biufc":
        raise Unsupported("elements that are compared only by NumPy")
    return _core.equal(part, 0) if is_array(part) else part == 0


@native
def iscomplex(x: Any) -> Any:
    x = operand(x)
    return _core.not_equal(x.imag, 0) if x.dtype.kind == "c" else _core.not_equal(_zeros(x), 0)


def _zeros(x: ndarray) -> Any:
    made = _core.empty(x.shape, dtype=bool)
    made[...] = False
    return made


@native
def real(val: Any) -> Any:
    return val.real if type(val) is ndarray or (hasattr(val, "real") and not is_foreign(val)) else operand(val).real


@native
def imag(val: Any) -> Any:
    return val.imag if type(val) is ndarray or (hasattr(val, "imag") and not is_foreign(val)) else operand(val).imag


@native
def angle(z: Any, deg: bool = False) -> Any:
    z = operand(z)
    if z.dtype.kind == "c":
        a = _core.arctan2(z.imag, z.real)
    else:
        a = _core.arctan2(0, z)
    return a * (180 / numpy.pi) if deg else a


@native
def iscomplexobj(x: Any) -> bool:
    return x.dtype.kind == "c" if is_array(x) else numpy.iscomplexobj(x)


@native
def isrealobj(x: Any) -> bool:
    if is_foreign(x):
        raise Unsupported("an array of another class")
    return not iscomplexobj(x)


@native
def real_if_close(a: Any, tol: Any = 100) -> Any:
    a = operand(a)
    if a.dtype.kind != "c":
        return a
    if tol > 1:
        tol = numpy.finfo(a.dtype.type).eps * tol
    return a.real if (_core.absolute(a.imag) < tol).all() else a


_SCALARS = frozenset(numpy.ScalarType)


@direct
def isscalar(element: Any) -> bool:
    if type(element) in _SCALARS:
        return True
    return type(element) is Scalar or (not is_ours(element) and numpy.isscalar(element))


@native
def isfortran(a: Any) -> bool:
    return a.flags.fnc


@native
def iterable(y: Any) -> bool:
    return numpy.iterable(y)


@native
def isposinf(x: Any, out: Any = None) -> Any:
    return _signed_infinity(x, False, out)


@native
def isneginf(x: Any, out: Any = None) -> Any:
    return _signed_infinity(x, True, out)


def _signed_infinity(x: Any, negative: bool, out: Any) -> Any:
    x = operand(x)
    if x.dtype.kind == "c":
        raise TypeError(f"This operation is not supported for {x.dtype} values because it would be ambiguous.")
    infinite = _core.isinf(x)
    sign = _core.signbit(x)
    return _core.logical_and(infinite, sign if negative else _core.logical_not(sign), out=target(out))


# The type rules look at dtypes only: nothing waits for a value.


@direct
def result_type(*arrays_and_dtypes: Any) -> Any:
    if len(arrays_and_dtypes) == 2:
        a, b = arrays_and_dtypes
        if type(a) is ndarray and type(b) is ndarray:
            return numpy.promote_types(a.dtype, b.dtype)
    return result_dtype(*arrays_and_dtypes)


@native
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    return numpy.can_cast(dtype_of(from_), dtype_of(to), casting)


@native
def min_scalar_type(a: Any, /) -> Any:
    if is_ours(a) and a.ndim:
        return a.dtype
    return numpy.min_scalar_type(_core.to_numpy(a)[()] if is_array(a) else a)


@native
def common_type(*arrays: Any) -> Any:
    return numpy.common_type(*[numpy.empty(0, a.dtype) if is_array(a) else a for a in arrays])
