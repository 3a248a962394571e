"""Functions that look for a few elements first: these calls, and those beside them, give what NumPy gives."""

import warnings

import numpy
import pytest

import numloom as np

from .oracle import agree, agree_in_outcome

DTYPES = "?bBhHiIlLefdFD"
SHAPES = [(0,), (1,), (7,), (2, 3), (0, 3), (2, 3, 2), ()]


def pair(shape, dtype="d", seed=0):
    with numpy.errstate(invalid="ignore"):
        host = numpy.asarray(numpy.random.default_rng(seed).normal(size=shape) * 20).astype(dtype)
    return host, np.asarray(host)


def compare(call, host, ours, ulps=0, what=""):
    agree_in_outcome(lambda: call(np, ours), lambda: call(numpy, host), ulps, what=what)


def laid(x):
    """How an array lies, where it is of no matter for none of its axes, and the array."""
    return x.strides if min(x.shape, default=0) > 1 else None, x


CALLS = {
    "size": lambda m, x: (m.size(x), m.ndim(x), m.shape(x), m.isscalar(x)),
    "size axis": lambda m, x: m.size(x, 0),
    "squeeze": lambda m, x: m.squeeze(x),
    "squeeze axis": lambda m, x: m.squeeze(x, axis=0),
    "expand_dims": lambda m, x: [m.expand_dims(x, axis) for axis in (0, -1, (0, 2))],
    "expand_dims far": lambda m, x: m.expand_dims(x, 5),
    "expand_dims far back": lambda m, x: m.expand_dims(x, -6),
    "atleast": lambda m, x: (m.atleast_1d(x), m.atleast_2d(x), m.atleast_1d(x, 1), m.atleast_2d([1], x)),
    "flip": lambda m, x: m.flip(x[None]),
    "flip axis": lambda m, x: m.flip(x, 0),
    "roll": lambda m, x: [m.roll(x, by) for by in (0, 1, -3, 100, True)],
    "roll axis": lambda m, x: m.roll(x, 1, 0),
    "tril": lambda m, x: [m.tril(x, k) for k in (-1, 0, 2)],
    "triu": lambda m, x: [m.triu(x, k) for k in (-1, 0, 2)],
    "argmax": lambda m, x: m.argmax(x),
    "argmin axis": lambda m, x: m.argmin(x, 0),
    "argmax axis kept": lambda m, x: m.argmax(x, axis=-1, keepdims=True),
    "argmin far": lambda m, x: m.argmin(x, 7),
    "flatnonzero": lambda m, x: m.flatnonzero(x > 1),
    "argwhere": lambda m, x: m.argwhere(x > 1),
    "ptp": lambda m, x: m.ptp(x),
    "ptp kept": lambda m, x: m.ptp(x, keepdims=True),
    "round": lambda m, x: [m.round(x, decimals) for decimals in (-1, 0, 1)],
    "clip": lambda m, x: m.clip(x, 1, 3),
    "sum": lambda m, x: m.sum(x),
    "nansum": lambda m, x: m.nansum(x),
    "nanmean": lambda m, x: m.nanmean(x),
    "nanmax": lambda m, x: (m.nanmax(x), m.nanmin(x)),
    "nanmax axis": lambda m, x: m.nanmax(x, axis=0),
    "delete": lambda m, x: [m.delete(x, at) for at in (0, -1, 1)],
    "delete far": lambda m, x: m.delete(x, 50),
    "delete axis": lambda m, x: m.delete(x, 0, 0),
    "insert": lambda m, x: [m.insert(x, at, 3) for at in (0, -1, 1)],
    "insert a float": lambda m, x: m.insert(x, 1, 2.5),
    "insert far": lambda m, x: m.insert(x, 50, 1.0),
    "insert axis": lambda m, x: m.insert(x, 0, 1, axis=0),
    "append": lambda m, x: (m.append(x, 2), m.append(x, 2.5), m.append(x, True), m.append(x, x)),
    "append a large number": lambda m, x: m.append(x, 1 << 63),
    "column_stack": lambda m, x: (m.column_stack((x, x)), m.column_stack([x])),
    "column_stack of two types": lambda m, x: m.column_stack((x, x.astype("f4"))),
    "tensordot": lambda m, x: [m.tensordot(x, x.T, axes) for axes in range(x.ndim + 1)],
    "tensordot of others": lambda m, x: m.tensordot(x, x, 1),
    "tensordot of too many": lambda m, x: m.tensordot(x, x, 4),
    "where": lambda m, x: (m.where(x > 1), m.where(x), m.where(x[x > 0])),
    "where of two": lambda m, x: (m.where(x > 1, x, 0), m.where(x > 1, 7, x), m.where(x > 1, -1, x), m.where(x, x, x)),
    "where of what does not fit": lambda m, x: m.where(x > 1, x, 1 << 40),
    "column_stack of many": lambda m, x: m.column_stack([x, x + x, x[::-1]]),
    "partition of many": lambda m, x: [m.sort(m.partition(m.tile(x.ravel(), 90), k)[:k]) for k in (0, 5, 9)],
    "lexsort": lambda m, x: m.lexsort((x, x.astype("i1") // 9)),
    "lexsort of lists": lambda m, x: m.lexsort([x.tolist(), x]),
    "partition": lambda m, x: (m.partition(x.ravel(), 0)[0], m.argpartition(x.ravel(), -1)[-1]),
    "partition far": lambda m, x: m.partition(x, 9),
    "digitize": lambda m, x: (m.digitize(x, m.array([-3, 1, 4])), m.digitize(x, m.array([4, 1, 1]), right=True)),
    "digitize without order": lambda m, x: m.digitize(x, m.array([1, 3, 2])),
    "digitize by one": lambda m, x: m.digitize(x, m.array([1.5])),
    "result_type": lambda m, x: [str(m.result_type(x, m.arange(3).astype(d))) for d in DTYPES],
    "result_type of others": lambda m, x: (str(m.result_type(x)), str(m.result_type(x, 1.5, "f4"))),
    "two results": lambda m, x: (m.divmod(x, 3), divmod(x, x), divmod(7, x), m.modf(x), m.frexp(x)),
    "two results of two types": lambda m, x: m.divmod(x, m.arange(x.size).reshape(x.shape).astype("f4")),
    "power": lambda m, x: (x**2, m.power(x, 3), m.power(x, abs(x) % 5), x ** m.arange(x.size).reshape(x.shape)),
    "power of negatives": lambda m, x: (x**-1, m.power(x, m.ones_like(x) - 2)),
    "ldexp": lambda m, x: (m.ldexp(x, 2), m.ldexp(x, x.astype("i4")), m.ldexp(x, -1080), m.ldexp(x, 5000)),
    "cumsum": lambda m, x: (x.cumsum(), m.cumsum(x), m.cumsum(x, axis=0), x.cumsum(dtype="f4")),
    "cumprod": lambda m, x: (x.cumprod(), m.cumprod(x), x.cumprod(axis=-1)),
    "accumulate": lambda m, x: (m.add.accumulate(x), m.maximum.accumulate(x), m.minimum.accumulate(x, 0)),
    "accumulate with others": lambda m, x: (m.subtract.accumulate(x), m.logical_or.accumulate(x)),
    "clip to numbers": lambda m, x: (x.clip(1, 3), x.clip(-1.5, 2.5), m.clip(x, 3, 1), x.clip(m.nan, 2)),
    "clip to what does not fit": lambda m, x: (x.clip(-1, 1 << 40), m.clip(x, None, 3), x.clip(True, False)),
    "conj": lambda m, x: (x.conj(), x.conjugate(), m.conj(x)),
    "parts": lambda m, x: (x.real, x.imag, x.real.dtype.char),
    "tolist": lambda m, x: (x.tolist(), [type(v).__name__ for v in x.ravel().tolist()]),
    "argmin of columns": lambda m, x: [m.tile(x.ravel(), (9, 20)).argmin(axis=axis) for axis in (0, 1, -2)],
    "argmax of rows": lambda m, x: m.tile(x.ravel(), (40, 3)).T.argmax(axis=0),
    "argpartition": lambda m, x: m.take(x.ravel(), m.argpartition(x.ravel(), 1))[1],
    "matrix and vector": lambda m, x: (m.outer(x, x) @ x.ravel(), m.outer(x, x).dot(x.ravel()[::-1])),
    "vector and matrix": lambda m, x: (x.ravel() @ m.outer(x, x), m.outer(x, x).T[::2] @ x.ravel()),
    "einsum": lambda m, x: (m.einsum("ij,j->i", m.outer(x, x), x.ravel()), m.einsum("ij,kj,j->ki", *[x[None]] * 2, x)),
    "columns by columns": lambda m, x: [laid(y) for y in (x.T + x.T, x.T * 2, x.T + x.T.astype("f4"))],
    "apply_along_axis": lambda m, x: m.apply_along_axis(m.sum, 0, x),
    "apply_along_axis of lines": lambda m, x: m.apply_along_axis(lambda line: line[:2] * 2, -1, x),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_plain_calls(call, dtype):
    for shape in SHAPES:
        host, ours = pair(shape, dtype)
        compare(CALLS[call], host, ours, 64, f"{shape}")
        compare(CALLS[call], host.T, ours.T, 64, f"{shape}")
        if shape:
            compare(CALLS[call], host[::-1], ours[::-1], 64, f"{shape}")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.parametrize("axis", [0, -1, 7])
@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 3, 2)])
def test_norms_and_transforms_of_a_few(shape, axis, dtype):
    host, ours = pair(shape, dtype)
    calls = [lambda m, x: m.linalg.norm(x, axis=axis), lambda m, x: m.fft.fft(x, axis=axis)]
    calls += [lambda m, x: m.fft.rfft(x, 4, axis), lambda m, x: m.fft.irfft(x, axis=axis, norm="ortho")]
    for call in calls:
        compare(call, host, ours, 64)
        compare(call, host.T, ours.T, 64)


def shown(call, x):
    """The result of a call, and what it warned about, underflow too."""
    with numpy.errstate(under="warn"), warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        made = call(x)
    return made, [(w.category, str(w.message)) for w in seen]


@pytest.mark.parametrize("dtype", "efdF")
@pytest.mark.parametrize("name", ["nansum", "nanmean", "nanmax", "nanmin"])
def test_nan_among_a_few(name, dtype):
    nan, inf = numpy.nan, numpy.inf
    rows = [[1, nan, 2], [nan, nan], [1, inf], [inf, -inf], [-0.0, 0.0], [-0.0], [nan, -inf], [1e30, 1e30], [3]]
    for row in rows:
        with numpy.errstate(over="ignore"):
            host = numpy.array(row).astype(dtype)
        ours = np.asarray(host)
        expected, theirs = shown(getattr(numpy, name), host)
        got, mine = shown(getattr(np, name), ours)
        agree(got, expected, what=str(row))
        assert mine == theirs, row


COEFFICIENTS = [[1.5, -2, 0.25], [-0.0], [0.0, -0.0], [1e308, 1e308, 1], [5e-324, 0.1], [], [1, numpy.nan], [numpy.inf]]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16"])
@pytest.mark.parametrize("x", [2.0, -2.0, 0.0, 3, -3, 0, 1e200, 1 << 60, numpy.inf, True, numpy.float32(3), 1j])
def test_polynomials_at_a_number(x, dtype):
    for row in COEFFICIENTS:
        if dtype == "i8" and not numpy.isfinite(row).all():
            continue
        with numpy.errstate(all="ignore"):
            host = numpy.array(row).astype(dtype)
        ours = np.asarray(host)
        with numpy.errstate(all="ignore"):
            expected, got = numpy.polyval(host, x), np.polyval(ours, x)
        agree(got, expected, what=str(row))
        zero = numpy.asarray(got) == 0
        assert (numpy.signbit(numpy.real(got)) == numpy.signbit(numpy.real(expected)))[zero].all(), row


def test_polynomials_at_a_number_raise():
    rows = [
        ([1e200, 1.0, 1.0], 1e200, "over"),
        ([1e-200, 0.0, 1.0], 1e-200, "under"),
        ([1.0, 1.0], numpy.inf, "invalid"),
    ]
    for row, x, what in rows:
        for m in (numpy, np):
            with numpy.errstate(**{what: "raise"}), pytest.raises(FloatingPointError):
                float(m.polyval(m.array(row), x))


@pytest.mark.parametrize("dtype", "fd")
def test_ldexp_of_many(dtype):
    rng = numpy.random.default_rng(1)
    info = numpy.finfo(dtype)
    for by in ("i4", "i8"):
        host = rng.normal(size=400).astype(dtype)
        wild = host.copy()
        wild[::37] = [0, -0.0, numpy.inf, -numpy.inf, numpy.nan, info.max, info.tiny, info.smallest_subnormal, 1, 1, 1]
        for x in (host, wild, wild[::-1]):
            for reach in (3, 200, 2000, 40_000):
                at = rng.integers(-reach, reach, x.size).astype(by)
                with numpy.errstate(all="ignore"):
                    agree(np.ldexp(np.asarray(x), np.asarray(at)), numpy.ldexp(x, at), what=f"{by} {reach}")
                    agree(np.ldexp(np.asarray(x), int(at[0])), numpy.ldexp(x, at[0]), what=f"{by} {reach}")


def test_fill():
    for dtype in DTYPES:
        for value in (1, 2.5, 1 << 40, -1, numpy.nan, 1j, True, numpy.float32(3), [1], "x"):
            host, ours = pair((4, 3), dtype)
            host = host.copy()

            def call(m, x, value=value):
                x.fill(value)
                x[::2].fill(value)

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compare(call, host, ours, what=f"{dtype} {value}")
            agree(ours, host)
    ours.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        ours.fill(1.0)


@pytest.mark.parametrize("dtype", "bBlLfdD")
@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "maximum", "minimum", "divide", "negative"])
def test_updates_by_index(name, dtype):
    rows = [[0, 2, 0], [-1, -5], [], [5], [-6, 0], [[0, 1], [1, 1]]]
    for row in rows:
        for value in (3, 2.5, True, numpy.float32(2), "one each", "of a type"):
            host, ours = pair((5,), dtype)
            host = host.copy()

            def call(m, x, row=row, value=value):
                at = m.array(row, dtype=int)
                each = m.arange(at.size).reshape(at.shape)
                values = {"one each": each.astype(x.dtype), "of a type": each}.get(value, value)
                getattr(m, name).at(x, at, *([] if name == "negative" else [values]))

            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                compare(call, host, ours, what=f"{row} {value}")
            agree(ours, host, what=f"{row} {value}")


def test_updates_by_index_of_what_overlaps():
    for start in (0, 1):
        host = numpy.arange(6)
        ours = np.asarray(host.copy())
        for m, x in ((numpy, host), (np, ours)):
            m.add.at(x, m.array([0, 0, 3]), x[start : start + 3].copy())
            m.add.at(x[::-2], x[:2] % 3, 1)
        agree(ours, host)


@pytest.mark.parametrize("n", [0, 1, 2, 5, 32, 33, 1000])
def test_shuffles_of_a_few(n):
    for dtype in "?hfdD":
        for seed in range(3):
            host, ours = pair((n,), dtype)
            host = host.copy()
            theirs, mine = numpy.random.default_rng(seed), np.random.default_rng(seed)
            for _ in range(2):
                theirs.shuffle(host)
                mine.shuffle(ours)
                agree(ours, host)
                agree(mine.permutation(ours), theirs.permutation(host))
                agree(mine.permutation(ours[::-1]), theirs.permutation(host[::-1]))
                theirs.shuffle(host[::2])
                mine.shuffle(ours[::2])
                agree(ours, host)
            assert mine.bit_generator.state == theirs.bit_generator.state
    ours.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        np.random.default_rng(0).shuffle(ours)


def test_warnings_of_short_ways():
    huge, nan, zero = numpy.array([1e308, 1e308, 1.0]), numpy.array([numpy.inf, numpy.nan]), numpy.array([0, 3])
    half = numpy.array([60000, 1], dtype="f2")
    calls = [
        (huge, lambda m, x: x.cumsum()),
        (huge, lambda m, x: m.multiply.accumulate(x)),
        (huge, lambda m, x: m.ldexp(x, 10)),
        (huge, lambda m, x: m.ldexp(x, -2080)),
        (half, lambda m, x: m.ldexp(x, 20)),
        (nan.astype("f2"), lambda m, x: (m.frexp(x), m.modf(x), m.ldexp(x, 3))),
        (nan, lambda m, x: (m.frexp(x), m.modf(x), m.ldexp(x, 3))),
        (nan, lambda m, x: m.divmod(x, 2.0)),
        (nan, lambda m, x: (m.maximum.accumulate(x), x.clip(0.0, 1.0))),
        (zero, lambda m, x: m.divmod(x, 0)),
        (zero, lambda m, x: m.divmod(x, m.zeros(2, dtype=int))),
        (huge, lambda m, x: m.multiply.at(x, m.array([0, 0]), 10.0)),
    ]
    small = numpy.array([1.5, 2.0**-1000, 3 * 2.0**-1074, 0.0])
    calls += [(small, lambda m, x, by=by: m.ldexp(x, by)) for by in (-74, -75, -1073, -1074, -1075, -2000, 5)]
    for host, call in calls:
        expected, theirs = shown(lambda x, call=call: call(numpy, x), host.copy())
        got, mine = shown(lambda x, call=call: call(np, x), np.asarray(host))
        agree(got, expected)
        assert mine == theirs


def test_put():
    calls = [
        lambda m, x: x.put(m.array([0, 2, -1]), 5),
        lambda m, x: m.put(x, m.array([0, 2, -1]), 1.5),
        lambda m, x: m.put(x, m.array([9, 0]), 5),
        lambda m, x: m.put(x, m.array([0, 9]), 5, mode="wrap"),
        lambda m, x: m.put(x, m.array([], dtype=int), 5),
        lambda m, x: m.put(x[:0], m.array([1]), 5),
        lambda m, x: m.put(x[:0], m.array([], dtype=int), 5),
        lambda m, x: m.put(x[::-2], m.array([1, 1]), 7),
        lambda m, x: m.put(x, m.array([1.0]), 5),
        lambda m, x: m.put(x, m.array([True]), 5),
    ]
    for dtype in ("d", "l", "b", "D"):
        for call in calls:
            host, ours = pair((5,), dtype)
            host = host.copy()
            compare(call, host, ours)
            agree(ours, host)
    host, ours = pair((5,))
    host.flags.writeable = ours.flags.writeable = False
    agree_in_outcome(lambda: np.put(ours, np.array([1]), 2.0), lambda: numpy.put(host, [1], 2.0))


@pytest.mark.parametrize("index", [(1, 1), (1, 2), (-1, 0), (1,), (), (True, 1), (1, 1.5), [1, 1], (1, 1, 1)])
@pytest.mark.parametrize("shape", [(2, 2), [2, 2], (2, 1 << 62), (), 4, (2, 0)])
def test_places_in_shapes(index, shape):
    for order in "CFX":
        for mode in ("raise", "wrap"):
            compare(lambda m, x: m.ravel_multi_index(*x), *[(index, shape, mode, order)] * 2)
        for at in (0, 3, 4, -1, True, 1.5, 1 << 70):
            compare(lambda m, x: m.unravel_index(*x), *[(at, shape, order)] * 2)


@pytest.mark.parametrize("x", [1, 1.5, 1j, True, "a", b"a", None, [1], (), numpy.float32(1), numpy.array(1), object()])
def test_scalars(x):
    assert np.isscalar(x) is numpy.isscalar(x)
    assert not np.isscalar(np.array(1.0)) and np.isscalar(np.array([1.0])[0])


def test_rules_about_types_are_numpys():
    assert np.promote_types("f4", "i4") == numpy.float64 and np.promote_types is numpy.promote_types
    assert np.issubdtype(np.zeros(3).dtype, np.floating)


def test_large_columns():
    host, ours = pair((3, 5000))
    agree(np.column_stack(list(ours)), numpy.column_stack(list(host)))


def test_what_still_waits_stays_deferred():
    x = (np.ones(300_000) * 2 + 1).reshape(-1, 10)[:5].ravel()
    assert np.polyval(x[:3], 2.0) == numpy.polyval([3.0, 3, 3], 2.0)
    x = np.ones(300_000) * 2 + 1
    assert np.nansum(x[:5]) == 15 and np.nanmean(x[:5]) == 3 and np.nanmax(x[:5]) == 3
