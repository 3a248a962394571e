"""`poly1d`: a polynomial as an object, over our arrays of coefficients and the functions of `_polynomials`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy

from . import _polynomials as functions
from ._core import Unsupported, to_numpy
from ._creation import array, zeros
from ._fallback import native_names
from ._joining import concatenate
from ._logic import isscalar
from ._operands import operand
from ._shape import atleast_1d

# Its annotations are narrower than what it takes.
_ORIGINAL: Any = numpy.poly1d


class poly1d(_ORIGINAL):
    """NumPy's `poly1d` with coefficients of ours. Those of other types (objects) stay NumPy's."""

    __module__ = "numloom"
    __hash__ = None  # type: ignore[assignment]

    def __new__(cls, c_or_r: Any, r: bool = False, variable: Any = None) -> Any:
        try:
            made = object.__new__(cls)
            made._begin(c_or_r, r, variable)
        except Unsupported:
            return numpy.poly1d(c_or_r, r, variable)
        return made

    def __init__(self, c_or_r: Any, r: bool = False, variable: Any = None) -> None:
        """Done by `__new__`."""

    def _begin(self, given: Any, are_roots: bool, variable: Any) -> None:
        if isinstance(given, numpy.poly1d):
            self._variable = given.variable if variable is None else variable
            self._coeffs = operand(given.coeffs)
            if type(given) is poly1d and set(given.__dict__) - set(self.__dict__):
                # NumPy warns about what the other one has beyond this, and takes it over.
                numpy.poly1d.__init__(self, given, variable=variable)
            return
        given = atleast_1d(operand(functions.poly(given) if are_roots else given))
        if given.ndim > 1:
            raise ValueError("Polynomial must be 1d only.")
        present = given.nonzero()[0]
        # How many zeros stand in front depends on the values, as in NumPy.
        self._coeffs = given[int(present[0]) :] if present.shape[0] else array([0], dtype=given.dtype)
        self._variable = "x" if variable is None else variable

    @property
    def roots(self) -> Any:
        """The roots of the polynomial, where self(x) == 0"""
        return functions.roots(self._coeffs)

    r = roots

    def __array__(self, t: Any = None, copy: Any = None) -> Any:
        return numpy.asarray(to_numpy(self._coeffs), t, copy=copy)

    def __str__(self) -> str:
        return str(numpy.poly1d(to_numpy(self._coeffs), variable=self._variable))

    def __call__(self, val: Any) -> Any:
        return functions.polyval(self._coeffs, val)

    def __neg__(self) -> Any:
        return poly1d(-self._coeffs)

    def _scaled(change: Callable[[Any, Any], Any], whole: Callable[[Any, Any], Any]) -> Any:
        """An operation with a number, coefficient by coefficient, or with a polynomial."""

        def operation(self: poly1d, other: Any) -> Any:
            return poly1d(change(self._coeffs, other)) if isscalar(other) else whole(self, poly1d(other))

        return operation

    __mul__ = _scaled(lambda c, x: c * x, lambda a, b: functions.polymul(a, b))
    __rmul__ = _scaled(lambda c, x: x * c, lambda a, b: functions.polymul(a, b))
    __truediv__ = _scaled(lambda c, x: c / x, lambda a, b: functions.polydiv(a, b))
    __rtruediv__ = _scaled(lambda c, x: x / c, lambda a, b: functions.polydiv(b, a))

    def __add__(self, other: Any) -> Any:
        return functions.polyadd(self, poly1d(other))

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return functions.polysub(self, poly1d(other))

    def __rsub__(self, other: Any) -> Any:
        return functions.polysub(poly1d(other), self)

    def __pow__(self, val: Any) -> Any:
        if not isscalar(val) or int(val) != val or val < 0:
            raise ValueError("Power to non-negative integers only.")
        made = poly1d([1])
        for _ in range(val):
            made = functions.polymul(self, made)
        return made

    def __eq__(self, other: Any) -> Any:
        if not isinstance(other, numpy.poly1d):
            return NotImplemented
        coefficients: Any = other.coeffs
        return self._coeffs.shape == coefficients.shape and (self._coeffs == coefficients).all()

    def __ne__(self, other: Any) -> Any:
        same = self.__eq__(other)
        return same if same is NotImplemented else not same

    def __setitem__(self, key: Any, val: Any) -> None:
        if key < 0:
            raise ValueError("Does not support negative powers.")
        if key > self.order:
            self._coeffs = concatenate((zeros(key - self.order, self._coeffs.dtype), self._coeffs))
        self._coeffs[self.order - key] = val

    def __iter__(self) -> Iterator[Any]:
        return iter(self._coeffs)

    def __reduce__(self) -> Any:
        return poly1d, (self._coeffs, False, self._variable)

    def integ(self, m: int = 1, k: Any = 0) -> Any:
        return poly1d(functions.polyint(self._coeffs, m=m, k=k))

    def deriv(self, m: int = 1) -> Any:
        return poly1d(functions.polyder(self._coeffs, m=m))


native_names.add("poly1d")
