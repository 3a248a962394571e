"""Floating-point warnings name the operation that raised them, and its line, whatever it was fused with."""

import random
import warnings

import numpy
import pytest

import numloom as np

LENGTH = 50_000
SPECIAL = [0.0, -1.0, numpy.inf, -numpy.inf, 1e200, 1e-200, 710.0, -0.5, 2.0]

IN_PLACE = [
    "{a} /= {b}",
    "{a} *= {b}",
    "{a} -= {b}",
    "{a} += {b}",
    "{a} *= 1e150",
    "{a} **= 2",
    "np.sqrt({a}, out={a})",
    "np.log({a}, out={a})",
    "np.exp({a}, out={a})",
    "np.divide(1.0, {a}, out={a})",
    "{a}[...] = {a} - {a}",
    "{a} //= {b}",
    "np.arctanh({a}, out={a})",
    "{a} = {a} * {b} - {a}",
    "{a} = np.sqrt({a}) + np.log({b})",
    "{a}[1:] /= {b}[1:]",
    "{a}[::2] *= {a}[::2]",
]
FOLDS = ["t = {a}.sum()", "t = ({a} * {b}).sum()", "t = np.log({a}).sum() + {b}.prod()", "t = {a}.max()"]
MASKED = ["{a}[{b} > 0] = 1 / {a}[{b} > 0]", "{a}[{b} < 1] **= 2"]


def heard(module, text, length=LENGTH, seed=0):
    """(message, line) of all warnings of a program, with its values afterwards."""
    rng = numpy.random.default_rng(seed)
    host = {}
    for name in "xyz":
        values = rng.uniform(0.25, 2, length)
        places = rng.integers(0, length, 3)
        values[places] = rng.choice(SPECIAL, 3)
        host[name] = values
    names = {"np": module, **{k: module.array(v) for k, v in host.items()}}
    code = compile(text, "<program>", "exec")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exec(code, names)
        values = [numpy.asarray(names[k]) for k in (*"xyz", "t") if k in names]
    # NumPy places what a reduction raises in a file of its own.
    return sorted({(str(w.message), w.lineno if w.filename == "<program>" else 0) for w in caught}), values


def program(seed, lines):
    rng = random.Random(seed)
    text = []
    for _ in range(rng.randint(2, 7)):
        a, b = rng.sample("xyz", 2)
        text.append(rng.choice(lines).format(a=a, b=b))
    return "\n".join(text)


@pytest.mark.parametrize("seed", range(150))
def test_in_place_chains(seed):
    text = program(seed, IN_PLACE)
    assert heard(np, text, seed=seed)[0] == heard(numpy, text, seed=seed)[0], text


@pytest.mark.parametrize("seed", range(60))
def test_chains_that_end_in_a_reduction(seed):
    """Whether infinities of both signs or a NaN meet first in a sum depends on its order, so those are left out."""
    text = program(seed, IN_PLACE) + "\n" + random.Random(seed).choice(FOLDS).format(a="x", b="y")
    ours, theirs = ([w for w in heard(module, text, seed=seed)[0] if "in reduce" not in w[0]] for module in (np, numpy))
    assert ours == theirs, text


@pytest.mark.parametrize("seed", range(40))
def test_chains_with_masks(seed):
    text = program(seed, IN_PLACE + 3 * MASKED)
    assert heard(np, text, seed=seed)[0] == heard(numpy, text, seed=seed)[0], text


def test_both_of_two_divisions():
    """One raises in the first block, the other in the last."""
    text = "x[:] = 1; y[:] = 1; x[0] = 0; y[-1] = 0\nnp.sync() if hasattr(np, 'sync') else None\n"
    text += "z /= x\nz /= y\nx *= 1e300\nx *= 1e10"
    expected = [("divide by zero encountered in divide", 3), ("divide by zero encountered in divide", 4)]
    expected += [("overflow encountered in multiply", 6)]
    assert heard(np, text)[0] == heard(numpy, text)[0] == expected


def test_a_sum_that_overflows_beside_a_product_that_does_not():
    text = "x[:] = 1e307\nx *= 1.5\nx *= 1.1\nt = x.sum()"
    assert heard(numpy, text)[0] == [("overflow encountered in reduce", 0)]
    assert heard(np, text)[0] == [("overflow encountered in reduce", 4)]


def test_filters_count_from_when_an_operation_was_written():
    """What a program ignores in a block stays ignored when the work is done after it."""
    x = np.arange(float(LENGTH))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            quiet = np.sqrt(-x) + 1 / x
        quiet.tolist()
        assert not heard
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="divide by zero")
            half, rest = 1 / x, np.log(-x - 1)
        half.tolist(), rest.tolist()
        assert [str(w.message) for w in heard] == ["invalid value encountered in log"]
        loud = 1 / (x - 1)
        loud.tolist()
        assert [str(w.message) for w in heard[1:]] == ["divide by zero encountered in divide"]


@pytest.mark.parametrize("length", [10, LENGTH])
def test_a_warning_that_is_to_be_an_error_is_one_in_the_call(length):
    x = np.arange(float(length))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in divide"):
            1 / x
    (x + 1).tolist()


def test_casts_of_what_is_the_same_everywhere_are_heard_of():
    text = "x = np.full(50_000, 1e300) * 2\ny = x.astype('i4')\nz = (np.ones(50_000) * np.nan).astype('i8')"
    expected = [("invalid value encountered in cast", 2), ("invalid value encountered in cast", 3)]
    assert heard(np, text)[0] == heard(numpy, text)[0] == expected
