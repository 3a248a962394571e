"""Why a test of the suite fails: each reason, and the tests it is about."""

import re

REASONS = [
    (
        "Floor division by and of infinities is NumPy's, and Python's: `inf // 2` is NaN, `1 // -inf` is -1.",
        r"floor_?div",
    ),
    (
        "Complex `expm1` and `tanh` at infinities and signed zeros are NumPy's.",
        r"test_unary\[(expm1|tanh)\(",
    ),
    (
        "`meshgrid` and `broadcast_arrays` answer a tuple, as NumPy's do; so does the standard from 2025.12 on.",
        r"test_(meshgrid|broadcast_arrays)$",
    ),
    (
        "`finfo` is NumPy's: its limits are scalars of the type, not Python floats.",
        r"test_finfo\[",
    ),
    (
        "`iinfo` and `finfo` of an array: NumPy takes types only.",
        r"test_iinfo\[",
    ),
    (
        "`clip(a, a_min, a_max)` is NumPy's signature; `min` and `max` are keywords.",
        r"test_func_signature\[clip\]",
    ),
]
UNEXPLAINED = "not explained"


def reason(test: str) -> str:
    return next((words for words, pattern in REASONS if re.search(pattern, test)), UNEXPLAINED)
