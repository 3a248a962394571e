"""Random numbers, ten million each unless said otherwise; the results are NumPy's to the last bit."""

import numpy

from . import Row

N = 10_000_000


def same(got, want):
    return got.dtype == want.dtype and numpy.array_equal(got, want)


def row(name, draw, legacy=False, bits="PCG64"):
    """A draw from a generator that is seeded anew in every call."""

    def call(np):
        return draw(np.random.RandomState(7) if legacy else np.random.Generator(getattr(np.random, bits)(7)))

    return Row(name, call, (), same)


ROWS = [
    row("uniform f64", lambda g: g.random(N)),
    row("uniform f32", lambda g: g.random(N, dtype="f4")),
    row("uniform(1, 3)", lambda g: g.uniform(1, 3, N)),
    row("integers below 1000", lambda g: g.integers(0, 1000, N)),
    row("integers below 1024", lambda g: g.integers(0, 1024, N)),
    row("integers i32", lambda g: g.integers(0, 1000, N, dtype="i4")),
    row("integers u8", lambda g: g.integers(0, 100, N, dtype="u1")),
    row("integers below 2^40", lambda g: g.integers(0, 2**40 + 3, N)),
    row("normal f64", lambda g: g.standard_normal(N)),
    row("normal f32", lambda g: g.standard_normal(N, dtype="f4")),
    row("normal(1, 2)", lambda g: g.normal(1, 2, N)),
    row("exponential", lambda g: g.standard_exponential(N)),
    row("lognormal", lambda g: g.lognormal(0, 1, N)),
    row("laplace", lambda g: g.laplace(0, 1, N)),
    row("gamma", lambda g: g.gamma(2.5, 1, N)),
    row("beta, 2.5M", lambda g: g.beta(2.5, 1, N // 4)),
    row("poisson, 2.5M", lambda g: g.poisson(30, N // 4)),
    row("binomial, 2.5M", lambda g: g.binomial(100, 0.4, N // 4)),
    row("permutation, 2.5M", lambda g: g.permutation(N // 4)),
    row("choice", lambda g: g.choice(1000, N)),
    row("uniform f64, MT19937", lambda g: g.random(N), bits="MT19937"),
    row("uniform f32, MT19937", lambda g: g.random(N, dtype="f4"), bits="MT19937"),
    row("uniform f64, SFC64", lambda g: g.random(N), bits="SFC64"),
    row("RandomState.rand", lambda g: g.rand(N), legacy=True),
    row("RandomState.randn", lambda g: g.randn(N), legacy=True),
    row("RandomState.randint", lambda g: g.randint(0, 1000, N), legacy=True),
]
