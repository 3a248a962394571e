"""Making arrays: from values, by shape, by range."""

from __future__ import annotations

import builtins
import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import _core
from ._core import Scalar, Unsupported, is_ours, ndarray
from ._fallback import direct, native, on_host
from ._operands import AT_ONCE, NoValue, is_array, is_foreign, is_truth, operand, result_dtype, settled, whole

_INT64, _FLOAT64 = numpy.dtype(numpy.int64), numpy.dtype(numpy.float64)


def _check(device: Any = None, like: Any = None, dtype: Any = None) -> None:
    if like is not None or device not in (None, "cpu"):
        raise Unsupported("another kind of array was asked for")
    if is_ours(dtype):
        raise Unsupported("an array is no type: an error that NumPy words")


def _same_shaped(items: Any) -> bool:
    """Whether a sequence holds only arrays (or scalars) of ours of one shape: then it can be stacked, deferred."""
    if type(items) not in (list, tuple) or not items or not all(is_array(item) for item in items):
        return False
    return all(item.shape == items[0].shape for item in items)


def _array(
    object: Any,
    dtype: Any = None,
    *,
    copy: Any = True,
    order: Any = "K",
    subok: bool = False,
    ndmin: int = 0,
    ndmax: int = 0,
    like: Any = None,
) -> Any:
    _check(like=like, dtype=dtype)
    if ndmax or (subok and isinstance(object, numpy.ndarray) and type(object) is not numpy.ndarray):
        raise Unsupported("a subclass or a bounded depth was asked for")
    copy = copy if copy is True else _core.copy_mode(copy)
    if copy is not False and ndmin <= 64 and _same_shaped(object) and (order is None or order in _STACKED):
        return _stack(object, dtype, ndmin, order)
    return _core.asarray(object, dtype=dtype, copy=copy, order=order or "K", ndmin=ndmin)


_array.__qualname__ = "array"  # as Python calls it where an argument is wrong


@direct
def array(object: Any, dtype: Any = None, **settings: Any) -> Any:
    if not settings and type(object) in AT_ONCE and type(dtype) is not ndarray:
        made = _core.from_items(object, dtype)
        if made is not None:
            return made
    if dtype is None and not settings and type(object) is range and object:
        made = _core.arange_ints(object.start, object.stop, object.step)
        if made is not None:
            return made
    try:
        return _array(object, dtype, **settings)
    except (Unsupported, ValueError):  # or a mixture that NumPy reads, or words the error of
        pass
    return on_host(numpy.array, "array", (object, dtype), settings)


_STACKED = ("K", "C", "A", "F", "k", "c", "a", "f")
"""The orders of what is made of a list: C but for the one that is Fortran's."""


def _stack(items: Sequence[Any], dtype: Any, ndmin: int, order: Any) -> ndarray:
    # One after another, as NumPy finds the type of a list: not that of `result_type`.
    kinds = (item.dtype for item in items)
    dtype = functools.reduce(numpy.promote_types, kinds) if dtype is None else numpy.dtype(dtype)
    how = "F" if order in ("F", "f") else "C"
    stacked = _core.empty((len(items), *items[0].shape), dtype=dtype, order=how)
    for i, item in enumerate(items):
        # A 0-d target is addressed through a one-element slice, so that nothing is read.
        stacked[i : i + 1] = item if type(item) is Scalar else item[None]
    while stacked.ndim < ndmin:
        stacked = stacked[None]
    return stacked


@native
def asarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    if dtype is None and order is None and copy is None and is_ours(a):
        return a
    if (
        type(a) in (list, tuple)
        and type(dtype) is not ndarray
        and order is like is device is None
        and copy is not False
    ):
        made = _core.from_items(a, dtype)
        if made is not None:
            return made
    if type(a) is range and a and dtype is order is device is copy is like is None:
        made = _core.arange_ints(a.start, a.stop, a.step)
        if made is not None:
            return made
    _check(device, like, dtype)
    copy = _core.copy_mode(copy)
    if copy is not False and _same_shaped(a) and (order is None or order in _STACKED):
        return _stack(a, dtype, 0, order)
    try:
        return _core.asarray(a, dtype=dtype, copy=copy, order=order or "K")
    except ValueError:
        raise Unsupported("a mixture that NumPy reads, or words the error of") from None


@native
def asanyarray(
    a: Any, dtype: Any = None, order: Any = None, *, device: Any = None, copy: Any = None, like: Any = None
) -> Any:
    if isinstance(a, numpy.ndarray) and type(a) is not numpy.ndarray:
        raise Unsupported("NumPy's subclasses stay NumPy's")
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


@native
def ascontiguousarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    _check(like=like, dtype=dtype)
    return _core.asarray(a, dtype=dtype, order="C", ndmin=1)


@native
def asfortranarray(a: Any, dtype: Any = None, *, like: Any = None) -> Any:
    _check(like=like, dtype=dtype)
    return _core.asarray(a, dtype=dtype, order="F", ndmin=1)


@native
def asarray_chkfinite(a: Any, dtype: Any = None, order: Any = None) -> Any:
    a = asarray(a, dtype=dtype, order=order)
    if a.dtype.kind in "fcd" and not _core.isfinite(a).all():
        raise ValueError("array must not contain infs or NaNs")
    return a


@native
def copy(a: Any, order: Any = "K", subok: bool = False) -> Any:
    if is_foreign(a) or not (order is None or type(order) is str):
        raise Unsupported("an array of another class, or an error that NumPy words")
    return array(a, order=order, subok=subok, copy=True)


@native
def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Any:
    if not is_array(x):
        raise Unsupported("not an array of ours")
    _check(device)
    return x.astype(dtype, copy=copy)


_ORDERS = ("C", "F", "c", "f", None)
"""The orders that what is made anew may have."""


def _maker(name: str) -> Callable[..., Any]:
    """`empty`, `zeros` or `ones`: one body, and no call in between."""
    make, host = getattr(_core, name), getattr(numpy, name)

    def made(shape: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None) -> Any:
        plain = like is None and (device is None or device == "cpu") and type(dtype) is not ndarray
        if plain and (order == "C" or order in _ORDERS):
            try:
                return make(shape, dtype, order)
            except TypeError:  # Unsupported, or an error that NumPy words
                pass
        return on_host(host, name, (shape, dtype, order), {"device": device, "like": like})

    made.__name__ = made.__qualname__ = name
    return direct(made)


empty, zeros, ones = _maker("empty"), _maker("zeros"), _maker("ones")


@native
def full(
    shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C", *, device: Any = None, like: Any = None
) -> Any:
    _check(device, like, dtype)
    if order != "C" and order not in _ORDERS:
        raise Unsupported("an error that NumPy words")
    try:
        made = _core.full(shape, fill_value, dtype, order)
        _check_truth(made, fill_value)
        return made
    except (OverflowError, TypeError, ValueError):
        if dtype is None:
            raise Unsupported("an error that NumPy words") from None
    return _filled(_core.empty(shape, dtype, order), fill_value)


def _check_truth(made: ndarray, value: Any) -> None:
    """Even where it asks for truth only, NumPy makes a number of one of Python's first."""
    if type(value) is int and not -(1 << 63) <= value < 1 << 63 and made.dtype == bool:
        raise Unsupported("an error that NumPy words")


def _filled(made: ndarray, value: Any) -> ndarray:
    """With a value that an element does not hold as it is: NumPy casts it all the same, and warns."""
    try:
        _core.copyto(made, _core.asarray(value) if isinstance(value, numpy.generic) else value, casting="unsafe")
    except (OverflowError, TypeError, ValueError):
        raise Unsupported("an error that NumPy words") from None
    return made


@native
def empty_like(
    prototype: Any, /, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    _check(device, dtype=dtype)
    return _core.empty_like(operand(prototype), dtype=dtype, order=order, shape=shape)


@native
def zeros_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _full_like(a, 0, dtype, order, shape, device)


@native
def ones_like(
    a: Any, dtype: Any = None, order: Any = "K", subok: bool = True, shape: Any = None, *, device: Any = None
) -> Any:
    return _full_like(a, 1, dtype, order, shape, device)


@native
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    return _full_like(a, fill_value, dtype, order, shape, device)


def _full_like(a: Any, value: Any, dtype: Any, order: Any, shape: Any, device: Any) -> ndarray:
    _check(device, dtype=dtype)
    made = _core.empty_like(operand(a), dtype=dtype, order=order, shape=shape)
    _check_truth(made, value)
    try:
        made[...] = value
    except (OverflowError, TypeError, ValueError):
        return _filled(made, value)
    return made


@direct
def arange(
    start_or_stop: Any = NoValue,
    /,
    stop: Any = None,
    step: Any = 1,
    dtype: Any = None,
    *,
    device: Any = None,
    like: Any = None,
    start: Any = NoValue,
) -> Any:
    if start_or_stop is NoValue or start is not NoValue:
        bounds = (start_or_stop,) if start_or_stop is not NoValue else ()
        given = {"start": start, "stop": NoValue if stop is None else stop, "step": step, "dtype": dtype}
        given = {key: value for key, value in given.items() if value is not NoValue}
        return on_host(numpy.arange, "arange", bounds, {**given, "device": device, "like": like})
    if dtype is None and device is None and like is None:
        made = _core.arange_ints(start_or_stop, stop, step)
        if made is not None:
            return made
    try:
        return _arange(start_or_stop, stop, step, dtype, device, like)
    except Unsupported:
        pass
    chosen = {"dtype": dtype, "device": device, "like": like}
    return on_host(numpy.arange, "arange", (start_or_stop, stop, step), chosen)


# The signature that NumPy shows; it takes `start=` and `stop=` alone besides.
arange.__wrapped__ = numpy.arange  # type: ignore[attr-defined]


FEW = 256
"""So many elements that depend on numbers alone are sooner taken over from NumPy than said how to compute."""


_TOO_MANY = 1 << 63
_WHOLE = frozenset((int, numpy.int64))


def _arange(start_or_stop: Any, stop: Any, step: Any, dtype: Any, device: Any, like: Any) -> Any:
    _check(device, like, dtype)
    start, stop = (0, start_or_stop) if stop is None else (start_or_stop, stop)
    if dtype is None and _WHOLE.issuperset(map(type, (start, stop, step))):
        # Nothing overflows between numbers of this size.
        if builtins.max(start, stop, step) < 1 << 62 and builtins.min(start, stop, step) > -(1 << 62):
            start, stop, step = int(start), int(stop), int(step)
    if dtype is None and type(start) is type(stop) is type(step) is int and step:
        if builtins.max(start, stop, step) >= 1 << 63 or builtins.min(start, stop, step) < -(1 << 63):
            raise Unsupported("larger integers")
        return _core.iota(start, step, builtins.max(0, -((start - stop) // step)), _INT64)
    bounds = (start, stop, step)
    if not all(type(x) in (int, float) for x in bounds):
        numbers = tuple(_number(x) for x in bounds)
        # NumPy starts from its default integer, so small types widen.
        dtype = numpy.result_type(numpy.int64, start, stop, step) if dtype is None else dtype
        # Of whole numbers the differences are exact; those of others are rounded in their own type, as NumPy's are.
        if {int}.issuperset(map(type, numbers)):
            _check_differences(start, stop, step)
            start, stop, step = numbers
    if dtype is None:
        dtype = numpy.int64 if all(type(x) is int for x in bounds) else numpy.float64
    dtype = numpy.dtype(dtype)
    if dtype.kind not in "iuf" or step == 0:
        raise Unsupported("a range that NumPy makes or words the error of")
    quotient = float((stop - start) / step)
    if not math.isfinite(quotient):
        raise Unsupported("an error that NumPy words")
    count = math.ceil(quotient)
    if abs(count) >= _TOO_MANY:
        raise Unsupported("an error that NumPy words")
    if count <= 0:
        return _core.empty(0, dtype=dtype)
    # As NumPy: the step is the difference of the first two elements after their cast.
    with numpy.errstate(all="ignore"):
        first = numpy.asarray(start).astype(dtype)[()]
        second = numpy.asarray(start + step).astype(dtype)[()]
        if first.item() != start or second.item() != start + step:
            _check_bounds(start, start + step, dtype)
        return _core.iota(first, second - first, count, dtype)


def _check_bounds(first: Any, second: Any, dtype: numpy.dtype[Any]) -> None:
    """NumPy refuses whole numbers that the type does not hold, and warns of others."""
    limits: Any = numpy.iinfo(dtype) if dtype.kind in "iu" else numpy.finfo(dtype)
    low, high = (limits.min, limits.max) if dtype.kind in "iu" else (float(limits.min), float(limits.max))
    if builtins.min(first, second) < low or builtins.max(first, second) > high:
        raise Unsupported("an error or a warning of NumPy's")


def _check_differences(start: Any, stop: Any, step: Any) -> None:
    """NumPy computes with the whole numbers that it is given: where their type is too small, its range is another."""
    try:
        with numpy.errstate(over="raise"):
            exact = stop - start == int(stop) - int(start) and start + step == int(start) + int(step)
    except (ArithmeticError, TypeError):
        exact = False
    if not exact:
        raise Unsupported("numbers that overflow")


def _number(x: Any) -> Any:
    if isinstance(x, numpy.bool | bool) or not isinstance(x, int | float | numpy.integer | numpy.floating):
        raise Unsupported("a range over something else than real numbers")
    return x.item() if hasattr(x, "item") else x


@native
def linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    _check(device, dtype=dtype)
    num = operator.index(num)
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    if num >= _TOO_MANY or any(type(x) is int and not -_TOO_MANY <= x < _TOO_MANY for x in (start, stop)):
        raise Unsupported("an error that NumPy words")
    divisions = num - 1 if endpoint else num
    plain = type(start) in (int, float) and type(stop) in (int, float)
    if plain:
        start, stop = numpy.float64(start), numpy.float64(stop)
        computed = start.dtype
    else:
        # Python's numbers take the type of what stands beside them.
        weak = [x if type(x) in (int, float, complex) else operand(x) for x in (start, stop)]
        computed = result_dtype(*weak, float(num))
        start, stop = operand(start) * 1.0, operand(stop) * 1.0
    dtype = computed if dtype is None else numpy.dtype(dtype)
    if dtype.kind not in "biufc":
        raise Unsupported("steps of time")
    # The dtype argument keeps float16 bounds from overflowing in the difference, as NumPy's does.
    delta = stop - start if plain else _core.subtract(stop, start, dtype=computed)
    shape = () if plain else delta.shape
    y = _core.iota(0, 1, num, computed if computed.kind == "f" else numpy.dtype("f8")).astype(computed, copy=False)
    y = y.reshape((-1,) + (1,) * len(shape))
    step: Any = numpy.nan
    if divisions > 0:
        step = delta / divisions
        if plain:
            y = y * step if step != 0 else (y / divisions) * delta
        else:
            y = _core.where((step == 0).any(), (y / divisions) * delta, y * step)
    else:
        y = y * delta
    y += start
    if endpoint and num > 1:
        y[-1, ...] = stop
    if axis != 0:
        y = _axis_from_front(y, axis)
    if dtype.kind in "iu":
        _core.floor(y, out=y)
    y = y.astype(dtype, copy=False)
    return (y, step) if retstep else y


def _axis_from_front(y: ndarray, axis: int) -> Any:
    from ._shape import moveaxis

    return moveaxis(y, 0, axis)


@native
def logspace(
    start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None, axis: int = 0
) -> Any:
    if not isinstance(base, int | float) or is_foreign(start) or is_foreign(stop):
        raise Unsupported("one base per element, or an array of another class")
    y = linspace(start, stop, num=num, endpoint=endpoint, axis=axis)
    y = _core.power(base, y)
    return y if dtype is None else y.astype(dtype, copy=False)


@native
def eye(
    N: int,
    M: int | None = None,
    k: int = 0,
    dtype: Any = float,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    _check(device, like)
    if is_truth(N) or is_truth(M):
        raise Unsupported("an error that NumPy words")
    rows = operator.index(N)
    columns = rows if M is None else operator.index(M)
    # Beyond the last column any number will do.
    k = columns if k >= columns else operator.index(k)
    if order == "F":
        return eye(columns, rows, -k, dtype).T
    made = zeros((rows, columns), dtype=dtype, order=order)
    if not is_ours(made) or made.ndim != 2:
        raise Unsupported("a dtype of NumPy's")
    set_diagonal(made, k, 1)
    return made


def set_diagonal(matrix: ndarray, k: int, value: Any) -> None:
    """Writes the k-th diagonal of a C-contiguous matrix, as a slice of its flat view."""
    rows, columns = matrix.shape
    if k >= columns or -k >= rows:
        return
    first = k if k >= 0 else -k * columns
    last_row = builtins.min(rows, columns - k)
    matrix.reshape(-1)[first : last_row * columns : columns + 1] = value


@native
def identity(n: int, dtype: Any = None, *, like: Any = None) -> Any:
    _check(like=like)
    return eye(n, dtype=float if dtype is None else dtype)


@native
def diag(v: Any, k: int = 0) -> Any:
    v = operand(v)
    if v.ndim == 2:
        return v.diagonal(k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    k = whole(k)
    n = v.shape[0] + builtins.abs(k)
    made = zeros((n, n), dtype=v.dtype)
    set_diagonal(made, k, v)
    return made


@native
def diagflat(v: Any, k: int = 0) -> Any:
    if isinstance(k, numpy.uint64):
        raise Unsupported("an error that NumPy words")
    return diag(operand(v).ravel(), k)


@native
def tri(N: int, M: int | None = None, k: int = 0, dtype: Any = float, *, like: Any = None) -> Any:
    _check(like=like, dtype=dtype)
    if not builtins.all(isinstance(x, int | numpy.integer) for x in (N, N if M is None else M, k)):
        raise Unsupported("an error that NumPy words")
    return _triangle(N, N if M is None else M, k).astype(dtype, copy=False)


def _triangle(rows: Any, columns: Any, k: Any) -> Any:
    """Truth up to the k-th diagonal."""
    if not isinstance(k, int | numpy.integer) or (isinstance(k, numpy.unsignedinteger) and k):
        raise Unsupported("between two diagonals, or a number that has no negative")
    if builtins.max(-int(k), int(columns) - int(k)) >= 1 << 63:
        raise Unsupported("an error that NumPy words")
    return _core.greater_equal(arange(rows)[:, None], arange(-k, columns - k))


@native
def tril(m: Any, k: int = 0) -> Any:
    m = operand(m)
    return _core.where(_lower(m, settled(k)), m, _nothing(m))


@native
def triu(m: Any, k: int = 0) -> Any:
    m = operand(m)
    return _core.where(_lower(m, settled(k) - 1), _nothing(m), m)


def _nothing(m: ndarray) -> Any:
    """A zero of Python's that leaves the type of `m` as it is."""
    return 0.0 if m.dtype.kind == "f" else False


def _lower(m: ndarray, k: int) -> Any:
    if m.ndim == 0 or (type(k) is int and not -_TOO_MANY <= k < _TOO_MANY):
        raise Unsupported("an error that NumPy words")
    rows, columns = (m.shape[0],) * 2 if m.ndim == 1 else m.shape[-2:]
    return _triangle(rows, columns, k)


@native
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:
    x = operand(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    N = len(x) if N is None else N
    made = empty((len(x), N), dtype=numpy.promote_types(x.dtype, int))
    powers = made if increasing else made[:, ::-1]
    if N > 0:
        powers[:, 0] = 1
    for j in range(1, N):
        powers[:, j] = powers[:, j - 1] * x
    return made


@native
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    grids = [operand(x).reshape((1,) * i + (-1,) + (1,) * (ndim - i - 1)) for i, x in enumerate(xi)]
    if indexing == "xy" and ndim > 1:
        grids[0] = grids[0].reshape((1, -1) + (1,) * (ndim - 2))
        grids[1] = grids[1].reshape((-1, 1) + (1,) * (ndim - 2))
    if not sparse:
        shape = numpy.broadcast_shapes(*[g.shape for g in grids])
        grids = [_core.broadcast_to(g, shape) for g in grids]
    if copy:
        grids = [g.copy() for g in grids]
    # A list where NumPy has neither spread nor copied.
    return tuple(grids) if copy or not sparse else grids


@native
def indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Any:
    dimensions = tuple(dimensions)
    if not {int}.issuperset(map(type, dimensions)):
        if any(is_truth(n) for n in dimensions):
            raise Unsupported("an error that NumPy words")
        dimensions = tuple(whole(n) for n in dimensions)
    if (
        not sparse
        and dtype in (int, float)
        and math.prod(dimensions) <= FEW
        and builtins.all(n > 0 for n in dimensions)
    ):
        return _core.adopt_numpy(numpy.indices(dimensions, dtype))
    ndim = len(dimensions)
    ranges = [
        arange(size, dtype=dtype).reshape((1,) * i + (-1,) + (1,) * (ndim - i - 1)) for i, size in enumerate(dimensions)
    ]
    if sparse:
        return tuple(ranges)
    made = empty((ndim, *dimensions), dtype=dtype)
    for i, r in enumerate(ranges):
        made[i] = r
    return made


@native
def fromfunction(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    _check(like=like)
    return function(*indices(shape, dtype=dtype), **kwargs)


@native
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    return _core.from_dlpack(x, device=device, copy=copy)


@native
def geomspace(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0) -> Any:
    if not all(type(x) in (int, float) and x > 0 for x in (start, stop)):
        raise Unsupported("signs and complex spirals")
    num = operator.index(num)
    made = logspace(math.log10(start), math.log10(stop), num=num, endpoint=endpoint, base=10.0)
    if num > 0:
        made[0] = start
        if num > 1 and endpoint:
            made[-1] = stop
    return made if dtype is None else made.astype(dtype, copy=False)


def _window(count: Any) -> tuple[float, ndarray]:
    wide = numpy.array([0.0, count])
    if wide.dtype != numpy.float64:
        raise Unsupported("extended precision")
    size = float(wide[1])
    return size, arange(1 - size, size, 2)


def _taper(function: Callable[[float, ndarray], Any]) -> Callable[[Any], Any]:
    """A window function of M points: empty below one, a single one at one."""

    few: Callable[[int], Any] = getattr(numpy, function.__name__)

    def window(M: Any) -> Any:
        if type(M) is int and M <= FEW:
            return _core.adopt_numpy(few(M))
        size, n = _window(M)
        if size < 1:
            return empty(0, dtype=numpy.result_type(size, 0.0))
        return ones(1, dtype=numpy.result_type(size, 0.0)) if size == 1 else function(size, n)

    window.__name__ = window.__qualname__ = function.__name__
    return native(window)


@_taper
def bartlett(size: float, n: ndarray) -> Any:
    return _core.where(
        _core.less_equal(n, 0), _core.add(1, _core.divide(n, size - 1)), _core.subtract(1, _core.divide(n, size - 1))
    )


@_taper
def hanning(size: float, n: ndarray) -> Any:
    return 0.5 + 0.5 * _core.cos(_core.multiply(numpy.pi, n) / (size - 1))


@_taper
def hamming(size: float, n: ndarray) -> Any:
    return 0.54 + 0.46 * _core.cos(_core.multiply(numpy.pi, n) / (size - 1))


@_taper
def blackman(size: float, n: ndarray) -> Any:
    return 0.42 + 0.5 * _core.cos(numpy.pi * n / (size - 1)) + 0.08 * _core.cos(2.0 * numpy.pi * n / (size - 1))
