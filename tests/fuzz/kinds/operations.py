"""What the kinds of statements know about operations: which round, which jump, which may meet which types."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import numpy

if TYPE_CHECKING:
    from ..generator import Generator

DTYPES = [
    "bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16", "float32",
    "float64", "complex64", "complex128",
]  # fmt: skip

# Correctly rounded in every implementation.
EXACT_UNARY = [
    "negative", "positive", "absolute", "sign", "square", "sqrt", "floor", "ceil", "trunc", "rint",
    "conjugate", "invert", "isfinite", "isnan", "isinf", "logical_not", "signbit", "fabs", "spacing",
    "reciprocal",
]  # fmt: skip
APPROX_UNARY = [
    "exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tanh", "arctan", "arcsinh", "cbrt",
    "exp2", "sinh", "tan", "deg2rad",
]  # fmt: skip
EXACT_BINARY = [
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "fmod", "maximum", "minimum",
    "fmax", "fmin", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and",
    "logical_or", "logical_xor", "bitwise_and", "bitwise_or", "bitwise_xor", "copysign", "gcd", "heaviside",
]  # fmt: skip
APPROX_BINARY = ["hypot", "arctan2", "logaddexp", "float_power", "power"]

# Where a unit in the last place decides: only exact values may go in.
DISCONTINUOUS = {
    "sign", "floor", "ceil", "trunc", "rint", "floor_divide", "remainder", "fmod", "copysign", "heaviside",
    "signbit", "spacing", "arctan2",
}  # fmt: skip

# On complex numbers these compare real parts first.
ORDERED = {"maximum", "minimum", "fmax", "fmin"}

# NumPy itself uses fused multiply-adds in some of its complex loops.
COMPLEX_APPROX = {"multiply", "divide", "square", "reciprocal", "absolute", "sqrt", "sign", "remainder"}

OPERATORS = {
    "+": "add",
    "-": "subtract",
    "*": "multiply",
    "/": "divide",
    "//": "floor_divide",
    "%": "remainder",
    "&": "bitwise_and",
    "|": "bitwise_or",
    "^": "bitwise_xor",
    "<": "less",
    "<=": "less_equal",
    ">": "greater",
    ">=": "greater_equal",
    "==": "equal",
    "!=": "not_equal",
}


def is_number(v) -> bool:
    return v.dtype.kind in "iufc"


def is_float(v) -> bool:
    return v.dtype.kind == "f"


def python_scalar(rng: random.Random) -> str:
    return rng.choice(
        [
            "2",
            "3",
            "-1",
            "0",
            "7",
            "0.5",
            "-1.25",
            "2.0",
            "True",
            "np.float32(1.5)",
            "np.int8(3)",
            "np.uint8(2)",
            "1j",
            "0.125",
        ]
    )


def names_of(*parts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(itertools.chain(*parts)))


def kind_of(g: Generator, *expressions: str) -> str:
    """The highest dtype kind among expressions: one of b, i, f, c."""
    kinds = {numpy.asarray(g.value(e)).dtype.kind.replace("u", "i") for e in expressions}
    return next(k for k in "cfib" if k in kinds)


def rounds(g: Generator, op: str, *expressions: str) -> bool:
    if op in APPROX_UNARY or op in APPROX_BINARY:
        return True
    return op in COMPLEX_APPROX and kind_of(g, *expressions) == "c"


# The sign of a NaN that an operation made is not defined.
SIGN_OF_NAN = {"signbit", "copysign"}


def has_nan(v) -> bool:
    return v.dtype.kind in "fc" and bool(numpy.isnan(v).any())


def has_negative_zero(v) -> bool:
    """Which of two zeros is the larger, or comes first when sorted, depends on NumPy's vector loop."""
    if v.dtype.kind == "c":
        return has_negative_zero(v.real) or has_negative_zero(v.imag)
    return v.dtype.kind == "f" and bool((numpy.signbit(v) & (v == 0)).any())


def sorts_well(v) -> bool:
    """Whether NumPy's default sort answers what every sort does: of long float16 it is out of order with AVX-512."""
    return not has_negative_zero(v) and (v.dtype != numpy.float16 or v.size < 100)


# Where they are near zero, a rounding of the operand decides about everything: infinity, or a large number.
DIVIDING = {"divide", "reciprocal", "log", "log2", "log10", "sqrt", "cbrt"}


def is_steep(g: Generator, op: str, names: tuple[str, ...], denominator: str) -> bool:
    """Whether the operation would magnify the roundings in its (last) operand beyond measure."""
    if op not in DIVIDING or not any(g.is_approx(n) for n in names):
        return False
    v = numpy.asarray(g.value(denominator))
    return v.dtype.kind in "fc" and bool((numpy.abs(v) < 1e-3).any())


def defined(g: Generator, op: str, *expressions: str) -> bool:
    """Whether NumPy defines the operation's result on these operands."""
    if op in SIGN_OF_NAN:
        return not any(has_nan(numpy.asarray(g.value(e))) for e in expressions)
    if op in ORDERED or op in ("min", "max"):
        return not any(has_negative_zero(numpy.asarray(g.value(e))) for e in expressions)
    return True


def result_dtype(g: Generator, expression: str) -> numpy.dtype | None:
    """The dtype NumPy computes an expression in; None if it raises."""
    try:
        return numpy.asarray(g.value(expression)).dtype
    except Exception:
        return None


def half_fits(v: numpy.ndarray) -> bool:
    """Whether a half's partial sums stay exact enough: NumPy adds up halves as halves, with one rounding an element."""
    if v.dtype != numpy.float16:
        return True
    with numpy.errstate(all="ignore"):
        return v.size <= 64 and float((v.astype(numpy.float64) ** 2).sum()) < 2000


def must_be_exact(op: str) -> bool:
    return (
        op in DISCONTINUOUS
        or (op in OPERATORS.values() and op.endswith(("equal", "less", "greater")))
        or op.startswith(("is", "logical"))
    )
