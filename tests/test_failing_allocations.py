"""Every allocation fails in turn: an exception with the account, nothing else lost, and the program runs again."""

from __future__ import annotations

import contextlib
import gc

import numpy
import pytest

from .oracle import np

N = 60_000
RNG = numpy.random.default_rng(0)
X, Y = RNG.random(N), RNG.random(N)


def fused(np, x, y):
    c = x + 1
    d = c * 2 + y
    return c, d, d.sum()


def masked(np, x, y):
    z = x + y
    m = z > 1
    z[m] = z[m] * 2
    return z, m


def packed(np, x, y):
    p = x[x > 0.5]
    return p, p * 2, p.sum()


def reductions(np, x, y):
    return (x * y).sum(), x.reshape(300, -1).mean(axis=0), y.max(), (x - y).std()


def gathers(np, x, y):
    i = np.arange(0, N, 3)
    return x[i] + 1, y[i // 3 * 2]


def scatters(np, x, y):
    z = np.zeros(N)
    z[np.arange(0, N, 2)] = x[: N // 2]
    return z, z * 2


def views(np, x, y):
    v = x[::2]
    w = y.reshape(300, 200).T
    v += 1
    return v, w + 1, x.copy()


def joins(np, x, y):
    return np.concatenate([x, y]), np.stack([x, y]).sum(axis=0)


def products(np, x, y):
    a = x[:40_000].reshape(200, 200)
    return a @ a, a @ a.T, a @ y[:200]


def scans(np, x, y):
    return np.cumsum(x), np.cumprod(y * 0 + 1)


def softmax(np, x, y):
    a = x.reshape(200, 300)
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def nonzero(np, x, y):
    i = np.nonzero(x > 0.5)
    return x[i], i[0]


def slices(np, x, y):
    z = x.copy()
    for s in range(0, N, 5000):
        v = z[s : s + 5000]
        m = v > 0.5
        v[m] = v[m] * 2
    return z


def choices(np, x, y):
    return np.where(x > y, x, y * 2), np.clip(x, 0.2, 0.7)


def updates(np, x, y):
    x += y
    x *= 2
    np.add(x, y, out=y)
    return x, y


def overlapping(np, x, y):
    x[1:] = x[:-1] + 1
    return x, x[::-1] + y


def stencil(np, x, y):
    a = x.reshape(200, 300)
    for _ in range(3):
        a[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])
    return a


def casts(np, x, y):
    return (x * 100).astype("i4"), x.astype("f4") + y.astype("f4"), (x > 0.5).astype("u1")


def outer(np, x, y):
    return np.add.outer(x[:300], y[:300]), np.multiply.outer(x[:250], y[:250]).sum(axis=0)


def broadcasts(np, x, y):
    a = x.reshape(200, 300)
    return a - a.mean(axis=0), a / (a.sum(axis=1)[:, None] + 1), np.tile(y[:300], 200)


def takeovers(np, x, y):
    t, u = np.sort(x), np.cumsum(y)
    return t * 2 + u, t + 1, u - t, t > u


def rolled(np, x, y):
    a = x.reshape(200, 300)
    around = np.roll(a, 1, 0) + np.roll(a, -1, 0) + np.roll(np.roll(a, 1, 1), 2, 0)
    return around - a, around * 2, np.concatenate([y[7:], y[:7]]) - y


def tables(np, x, y):
    a = np.concatenate([x, y]).reshape(-1, 3)
    return a - a.mean(axis=0), a.T @ a, a.std(axis=0), a[np.argsort(y[:400]).astype("i2")]


PROGRAMS = [
    fused, masked, packed, reductions, gathers, scatters, views, joins, products, scans, softmax, nonzero, slices,
    choices, updates, overlapping, stencil, casts, outer, broadcasts,
    takeovers, rolled, tables,
]  # fmt: skip


# Where a statement failed, what it was to update is as it was.
IN_PLACE = [masked, scatters, views, slices, updates, overlapping, stencil]


def run(program, module):
    out = program(module, module.array(X), module.array(Y))
    return out if isinstance(out, tuple) else (out,)


def read(values):
    return [numpy.asarray(v) for v in values]


@pytest.mark.parametrize("on", [False, True], ids=["one", "all from there"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_every_allocation_fails_in_turn(program, on):
    wanted = read(run(program, numpy))
    bystander = np.array(X) * 3
    np.sync()
    for k in range(400):
        np._core._fail_allocation(k, on)
        failures, got = [], None
        try:
            got = run(program, np)
            np.sync()
        except np.OutOfMemoryError as e:
            failures.append(e)
        # What did not depend on it is there and right; the rest says why not.
        results = []
        for value in got or ():
            try:
                results.append(numpy.asarray(value))
            except np.OutOfMemoryError as e:
                failures.append(e)
                results.append(None)
        spent = np._core._fail_allocation(-1) < 0
        if not spent:
            assert not failures
            break
        if on:
            assert failures, f"allocation {k} failed and nobody heard of it"
        elif not failures:
            # The operations of a fused task ran one by one, and that went well.
            assert all(r is not None for r in results)
        for e in failures:
            assert e.report.bytes > 0
            assert "Failed to allocate" in str(e)
            e.__traceback__ = None
        for value, w in zip(results, wanted, strict=False):
            if value is not None and program not in IN_PLACE:
                numpy.testing.assert_allclose(value, w, rtol=1e-9)
        numpy.testing.assert_array_equal(numpy.asarray(bystander), X * 3)
        del failures, got, results
        gc.collect()
        again = read(run(program, np))
        for value, w in zip(again, wanted, strict=True):
            numpy.testing.assert_allclose(value, w, rtol=1e-9)
    else:
        raise AssertionError("the program never came to an end of its allocations")
    assert k > 0


def test_what_was_to_be_updated_is_as_it_was():
    z, y = np.zeros(N), np.array(Y)
    i = np.arange(0, N, 2)
    np.sync()
    np._core._fail_allocation(0, True)
    z[i] = np.sqrt(y[: N // 2]).copy()
    later = z * 2
    with pytest.raises(np.OutOfMemoryError):
        np.sync()
    np._core._fail_allocation(-1)
    assert not numpy.asarray(z).any()
    with pytest.raises(np.OutOfMemoryError):
        numpy.asarray(later)
    z[i] = np.sqrt(y[: N // 2])
    numpy.testing.assert_allclose(numpy.asarray(z[::2]), numpy.sqrt(Y[: N // 2]))


def test_a_failed_update_is_heard_by_whoever_reads():
    """NumPy asks for a buffer first and takes an exception there for a no."""
    x = np.array(X)
    want = X * 2
    want[want > 1] -= X[want > 1]
    heard = 0
    for k in range(12):
        a = x * 2
        m = a > 1
        np.sync()
        np._core._fail_allocation(k)
        try:
            p = a[m]
            p -= x[m]
            p.copy()  # seen by somebody else: it has to exist
            a[m] = p
            got = numpy.asarray(a)
        except np.OutOfMemoryError:
            heard += 1
        else:
            numpy.testing.assert_array_equal(got, want)
        np._core._fail_allocation(-1)
        with contextlib.suppress(np.OutOfMemoryError):
            np.sync()
    assert heard
