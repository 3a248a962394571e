"""Methods of `ndarray` that the Rust class leaves to Python, attached when the package is imported."""

from __future__ import annotations

import contextlib
import functools
import os
import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from . import _core, _indexing, _products, _reductions, _rounding, _shape, _sorting
from ._core import Scalar, is_ours, ndarray, to_numpy
from ._fallback import Visit, native_names, on_host
from ._placement import stencil_hint


def _without_axis(error: IndexError) -> IndexError:
    """The error of a line of elements, for an iterator, which has no axes."""
    return IndexError(str(error).replace("axis 0 with size", "size"))


class flatiter:
    """The elements of an array in C order: read, written and iterated through the array's own memory."""

    __module__ = "numloom"
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, base: ndarray) -> None:
        if base.ndim > 32:
            numpy.ndarray.flat.__get__(to_numpy(base))  # raises
        self._base = base

    base = property(lambda self: self._base, doc=numpy.flatiter.base.__doc__)
    index = property(lambda self: self._steps.index, doc=numpy.flatiter.index.__doc__)
    coords = property(lambda self: self._steps.coords, doc=numpy.flatiter.coords.__doc__)

    @functools.cached_property
    def _steps(self) -> Any:
        """NumPy's iterator, once there is a step: what is written to the array meanwhile, it sees."""
        return to_numpy(self._base).flat

    def _rewind(self) -> None:
        """As NumPy's does when it is indexed."""
        self.__dict__.pop("_steps", None)

    def __len__(self) -> int:
        return self._base.size

    def __iter__(self) -> Iterator[Any]:
        return self._steps

    def __next__(self) -> Any:
        return next(self._steps)

    def _is_plain(self, key: Any) -> bool:
        """Whether an index means the same to a flat iterator and to a line of its elements."""
        kind = type(key)
        if kind is ndarray and key.ndim:
            return key.dtype.kind in "iu" or (key.dtype.kind == "b" and key.shape == (self._base.size,))
        return kind is slice or (kind is int and -self._base.size <= key < self._base.size)

    def __getitem__(self, key: Any) -> Any:
        self._rewind()
        key = key.copy() if isinstance(key, flatiter) else key
        if not self._is_plain(key):
            return on_host(lambda base, key: base.flat[key], "flatiter.__getitem__", (self._base, key), {})
        try:
            part = self._base.ravel()[key]
        except IndexError as error:
            raise _without_axis(error) from None
        return part.copy() if is_ours(part) else part

    def __setitem__(self, key: Any, value: Any) -> None:
        if type(key) is int and _core.put_flat(self._base, key, value):
            self._rewind()
            return
        self._rewind()
        key = key.copy() if isinstance(key, flatiter) else key
        plain = type(value) in (bool, int, float, complex)
        if type(value) is Scalar or isinstance(value, numpy.generic):
            # Several elements take a number of NumPy's as an array, whatever a cast loses; one element looks at it.
            plain = value.dtype == self._base.dtype or type(key) is not int
            value = _core.asarray(value) if plain else value
        if plain and self._base.flags.c_contiguous and self._is_plain(key):
            try:
                self._base.reshape(-1)[key] = value
            except ValueError:
                if self._base.flags.writeable:
                    raise
                raise ValueError("underlying array is read-only") from None
            except IndexError as error:
                raise _without_axis(error) from None
            except (OverflowError, TypeError):
                if type(key) is not int:
                    raise
                raise ValueError("Error setting single item of array.") from None
        else:
            visit = Visit()
            base, values = to_numpy(self._base), visit.to_host(value)
            if isinstance(values, numpy.ndarray) and numpy.may_share_memory(base, values):
                values = values.copy()
            base.flat[visit.to_host(key)] = values

    def __delitem__(self, key: Any) -> None:
        del to_numpy(self._base).flat[key]  # type: ignore[attr-defined]  # raises

    def __array__(self, /, dtype: Any = None, *, copy: Any = None) -> Any:
        line = to_numpy(self._base).reshape(-1)
        if not self._base.flags.c_contiguous:
            line.flags.writeable = False
        return line if dtype is None and not copy else numpy.array(line, dtype=dtype, copy=copy)

    def copy(self, /) -> Any:
        return self._base.flatten()

    def _compared(name: str) -> Callable[[flatiter, Any], Any]:  # type: ignore[misc]
        def compare(self: flatiter, other: Any) -> Any:
            return getattr(_core, name)(self._base.ravel(), other.copy() if isinstance(other, flatiter) else other)

        return compare

    __eq__ = _compared("equal")
    __ne__ = _compared("not_equal")
    __lt__ = _compared("less")
    __le__ = _compared("less_equal")
    __gt__ = _compared("greater")
    __ge__ = _compared("greater_equal")


def _set_flat(self: ndarray, value: Any) -> None:
    if not self.flags.writeable:
        raise ValueError("array is read-only")
    flatiter(self)[:] = value


def _keep_flat(self: ndarray) -> None:
    raise AttributeError("Cannot delete array flat iterator")


def repeat(self: ndarray, /, repeats: Any, axis: Any = None) -> Any:
    return _shape.repeat(self, repeats, axis)


def round(self: ndarray, /, decimals: Any = 0, out: Any = None) -> Any:
    return _rounding.round(self, decimals, out)


def trace(self: ndarray, /, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Any:
    return _reductions.trace(self, offset, axis1, axis2, dtype, out)


def dot(self: ndarray, /, b: Any, out: Any = None) -> Any:
    return _products.dot(self, b, out)


def conjugate(self: ndarray, /, *out: Any) -> Any:
    return _core.conjugate(self, *out) if self.dtype.kind == "c" or out else self


def clip(self: ndarray, /, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    return _indexing.clip(self, min, max, out, **kwargs)


def compress(self: ndarray, /, condition: Any, axis: Any = None, out: Any = None) -> Any:
    return _indexing.compress(condition, self, axis, out)


def choose(self: ndarray, /, *choices: Any, out: Any = None, mode: Any = "raise") -> Any:
    from ._places import choose

    if not choices:
        raise TypeError("choose() takes exactly 1 argument (0 given)")
    return choose(self, choices[0] if len(choices) == 1 else choices, out, mode)


def put(self: ndarray, /, indices: Any, values: Any, mode: Any = "raise") -> None:
    from ._places import put

    put(self, indices, values, mode)


def _field(self: ndarray, dtype: Any, offset: Any) -> ndarray | None:
    """The bytes from `offset` on of each element as a view of another type, where they are one of its places."""
    dtype = numpy.dtype(dtype)
    fits = type(offset) is int and dtype.itemsize and not offset % dtype.itemsize
    if not fits or not 0 <= offset <= self.itemsize - dtype.itemsize or self.itemsize % dtype.itemsize:
        return None
    return self[..., None].view(dtype)[..., offset // dtype.itemsize]


def getfield(self: ndarray, /, dtype: Any, offset: Any = 0) -> Any:
    field = _field(self, dtype, offset)
    if field is None:
        return on_host(numpy.ndarray.getfield, "ndarray.getfield", (self, dtype, offset), {})
    return field


def setfield(self: ndarray, /, val: Any, dtype: Any, offset: Any = 0) -> None:
    field = _field(self, dtype, offset)
    if field is None:
        on_host(numpy.ndarray.setfield, "ndarray.setfield", (self, val, dtype, offset), {})
    else:
        field[...] = val


def dumps(self: ndarray, /) -> bytes:
    """The array as a pickle, as `pickle.dumps` makes it."""
    return pickle.dumps(self, protocol=2)


def dump(self: ndarray, /, file: Any) -> None:
    with contextlib.nullcontext(file) if hasattr(file, "write") else open(os.fspath(file), "wb") as to:
        pickle.dump(self, to, protocol=2)


def _repr(self: ndarray, /) -> str:
    from ._printing import array_repr

    return array_repr(self)


def _str(self: ndarray, /) -> str:
    from ._printing import array_str

    return array_str(self)


_COMPOSED = (repeat, round, trace, dot, conjugate, clip, compress, choose, put, getfield, setfield, dump, dumps)


def attach() -> None:
    for function in _COMPOSED:
        _add(function.__name__, function)
    for name, method in _sorting.METHODS.items():
        _add(name, method)
    _add("conj", lambda self, /, *out: conjugate(self, *out))
    for name, method in {"__repr__": _repr, "__str__": _str}.items():
        method.__name__, method.__qualname__ = name, f"ndarray.{name}"
        setattr(ndarray, name, method)
    _add("stencil_hint", stencil_hint)
    _add("flat", property(flatiter, _set_flat, _keep_flat, doc=numpy.ndarray.flat.__doc__))
    for name in dir(ndarray):
        if not name.startswith("_"):
            native_names.add(f"ndarray.{name}")


def _add(name: str, value: Any) -> None:
    if hasattr(ndarray, name):
        return
    if callable(value):
        value.__name__, value.__qualname__ = name, f"ndarray.{name}"
        original = getattr(numpy.ndarray, name, None)
        if original is not None:
            # The signature that `inspect` finds is NumPy's.
            value.__doc__, value.__wrapped__ = original.__doc__, original
    setattr(ndarray, name, value)
