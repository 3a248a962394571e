"""Calls as a user may write them, one to a line of calls.txt: what they give, raise and warn about is NumPy's."""

import pathlib
import warnings

import numpy
import pytest

from .oracle import NUMPY_2_5, WARNS, agree, np, outcome, same_words

CALLS = pathlib.Path(__file__).with_name("calls.txt").read_text().splitlines()


def names(m) -> dict:
    """What the lines may speak of."""

    def changed(values, change):
        array = m.array(values)
        change(array)
        return array

    def without(array, attribute):
        delattr(array, attribute)

    def in_place(array, operator, other):
        held = {"array": array, "other": other}
        exec(f"array {operator}= other", held)
        return held["array"]

    return {"np": m, "numpy": numpy, "A": changed, "D": without, "I": in_place}


def told(m, call):
    """The outcome of a call, the strides of its result and the warnings it gave, once its values are there."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = outcome(lambda: eval(call, names(m)))
        many = result[1] if isinstance(result[1], tuple) else (result[1],)
        arrays = [x for x in many if hasattr(x, "strides") and numpy.asarray(x).size > 1]
    heard = {(w.category.__name__, str(w.message)) for w in caught if w.category.__name__ != "FallbackWarning"}
    steps = [[step for step, extent in zip(x.strides, x.shape, strict=True) if extent > 1] for x in arrays]
    return result, steps, heard


def promises_too_much():
    """Whether the system gives out more memory than it has: NumPy is ended when it fills a table of terabytes."""
    try:
        return pathlib.Path("/proc/sys/vm/overcommit_memory").read_text().strip() == "1"
    except OSError:
        return False


# As NumPy 2.4 does it.
OLD = [
    "sparse=True,copy=False", "ifft2(np.ones((4,6))", "initial=0", "np.inf, 1, 1]",
    "setattr(a, 'real'", "setattr(a, 'imag'",
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_call_is_numpys(call):
    if NUMPY_2_5 and any(part in call for part in OLD):
        pytest.skip("NumPy 2.5 answers otherwise")
    if "2**42" in call and promises_too_much():
        pytest.skip("NumPy would not survive it")
    (actual, steps, heard), (expected, wanted, said) = told(np, call), told(numpy, call)
    assert heard == said or not WARNS or (NUMPY_2_5 and "prod" in call)
    if expected[0] == "value":
        assert actual[0] == "value", actual
        agree(actual[1], expected[1], what=call)
        assert steps == wanted
    else:
        assert actual[:2] == expected[:2]
        assert same_words(actual[2], expected[2])
