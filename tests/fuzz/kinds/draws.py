"""Random numbers: the same for the same seed, and the same state afterwards, to the last bit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program import Step

if TYPE_CHECKING:
    from ..generator import Generator

BIT_GENERATORS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]

# With `{s}` for the size.
OF_BOTH = [
    "uniform(-2, 3, {s})", "normal(1, 2, {s})", "exponential(1.5, {s})", "gamma(2.5, size={s})", "beta(2, 3, {s})",
    "binomial(20, 0.3, {s})", "poisson(4.5, {s})", "chisquare(3, {s})", "laplace(0, 1, {s})", "geometric(0.2, {s})",
    "lognormal(0, 0.5, {s})", "standard_t(4, {s})", "triangular(0, 1, 3, {s})", "weibull(1.5, {s})",
    "vonmises(0.5, 2, {s})", "hypergeometric(9, 7, 5, {s})", "negative_binomial(3, 0.4, {s})", "zipf(2.5, {s})",
    "gumbel(0, 1, {s})", "logistic(0, 1, {s})", "logseries(0.4, {s})", "noncentral_chisquare(3, 1, {s})",
    "f(3, 4, {s})", "noncentral_f(3, 4, 1, {s})", "pareto(2, {s})", "rayleigh(1.5, {s})", "standard_cauchy({s})",
    "wald(1, 2, {s})", "standard_gamma(2, {s})", "power(2, {s})",
    "multivariate_normal([1, 2], [[2, 0.5], [0.5, 1]], 5)", "binomial(500, 0.4, {s})", "choice(17, {s})",
    "permutation(50)", "multinomial(9, [0.2, 0.3, 0.5], 4)", "dirichlet([1, 2, 3], 5)",
]  # fmt: skip
OF_GENERATOR = [
    "random({s})", "random({s}, dtype=np.float32)", "standard_normal({s})", "standard_normal({s}, dtype=np.float32)",
    "integers(0, 7, {s})", "integers(-5, 5, {s}, dtype=np.int8)", "integers(0, 2**40, {s})", "integers(0, 2, {s}) > 0",
    "integers(0, 60000, {s}, dtype=np.uint16)", "standard_exponential({s})", "permuted(np.arange(12))",
    "choice(9, {s}, p=[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.2])", "choice(40, 20, replace=False)",
]  # fmt: skip
OF_STATE = ["random_sample({s})", "randint(-3, 11, {s})", "randn(6)", "rand(5)", "tomaxint({s})"]


def draw(g: Generator) -> Step:
    rng, new = g.rng, g.fresh()
    seed = rng.randint(0, 9)
    if rng.random() < 0.7:
        maker = f"np.random.Generator(np.random.{rng.choice(BIT_GENERATORS)}({seed}))"
        call = rng.choice(OF_BOTH + OF_GENERATOR)
        after = "r.integers(0, 99, 3).tolist()"
    else:
        maker = f"np.random.RandomState({seed})"
        call = rng.choice(OF_BOTH + OF_STATE)
        after = "r.randint(0, 99, 3).tolist()"
    call = call.replace("{s}", str(g.shape()))
    return Step("draw", f"r = {maker}; {new} = np.asarray(r.{call}); read({after})", defines=new)


def shuffle(g: Generator) -> Step | None:
    name = g.pick(lambda v: v.ndim >= 1 and v.dtype.kind != "c", writeable=True)
    if name is None:
        return None
    seed = g.rng.randint(0, 9)
    way = g.rng.choice([f"np.random.default_rng({seed})", f"np.random.RandomState({seed})"])
    return Step("shuffle", f"{way}.shuffle({name})", (name,), target=name)
