"""Random numbers: the same numbers as NumPy's for the same seed, and the same state afterwards."""

import ctypes
import pickle
import signal
import threading
import time

import numpy
import pytest

from .oracle import agree, needs_engine, np

BIT_GENERATORS = ["PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"]
SIZES = [None, (), 3, (2, 5), 1000, 0]
A = numpy.array([0.5, 1.0, 2.5])
COLUMN = numpy.array([[0.7], [3.0]])

# Method, and arguments; drawn with every size, and by each kind of generator.
CONTINUOUS = [
    ("uniform", ()),
    ("uniform", (-2.0, 5)),
    ("normal", ()),
    ("normal", (1.5, 3)),
    ("exponential", (2.0,)),
    ("gamma", (0.3,)),
    ("gamma", (1, 2.0)),
    ("gamma", (7.5, 0.0)),
    ("standard_gamma", (2.5,)),
    ("standard_gamma", (0.0,)),
    ("beta", (0.5, 0.5)),
    ("beta", (2, 3)),
    ("beta", (1e-200, 1e-200)),
    ("beta", (1e-3, 0.9)),
    ("f", (3, 5)),
    ("noncentral_f", (3, 5, 1.5)),
    ("chisquare", (4,)),
    ("noncentral_chisquare", (4, 2.5)),
    ("noncentral_chisquare", (0.5, 20)),
    ("noncentral_chisquare", (0.5, 0)),
    ("standard_cauchy", ()),
    ("standard_t", (5,)),
    ("vonmises", (0.5, 2)),
    ("vonmises", (1, 1e-9)),
    ("vonmises", (1, 1e-6)),
    ("vonmises", (3, 1e7)),
    ("pareto", (3,)),
    ("weibull", (1.5,)),
    ("weibull", (0,)),
    ("power", (2.5,)),
    ("laplace", (1, 2)),
    ("gumbel", (1, 2)),
    ("logistic", (1, 2)),
    ("lognormal", (1, 0.5)),
    ("rayleigh", (2,)),
    ("wald", (2, 3)),
    ("triangular", (-1, 0.5, 3)),
    ("standard_normal", ()),
    ("standard_exponential", ()),
]
DISCRETE = [
    ("binomial", (10, 0.3)),
    ("binomial", (0, 0.3)),
    ("binomial", (5, 0)),
    ("binomial", (1000, 0.4)),
    ("binomial", (100000, 0.7)),
    ("binomial", (40, 0.9)),
    ("negative_binomial", (5, 0.4)),
    ("poisson", ()),
    ("poisson", (0,)),
    ("poisson", (12.5,)),
    ("poisson", (1e6,)),
    ("zipf", (2.5,)),
    ("zipf", (1.1,)),
    ("geometric", (0.5,)),
    ("geometric", (0.01,)),
    ("hypergeometric", (15, 20, 8)),
    ("hypergeometric", (150, 200, 80)),
    ("hypergeometric", (1500, 200, 1600)),
    ("logseries", (0.6,)),
    ("logseries", (0.999,)),
]
ARRAYS = [
    ("uniform", (0, A)),
    ("normal", (A, COLUMN)),
    ("normal", (A, 2)),
    ("exponential", (A,)),
    ("gamma", (A, COLUMN)),
    ("beta", (A, COLUMN)),
    ("f", (A, 4)),
    ("noncentral_f", (A, COLUMN, 2)),
    ("standard_t", (A,)),
    ("vonmises", (A, COLUMN)),
    ("wald", (A, 2)),
    ("triangular", (-1, A, COLUMN + 3)),
    ("laplace", (A, COLUMN)),
    ("lognormal", (0, A)),
    ("binomial", (numpy.array([5, 100, 1000]), 0.4)),
    ("binomial", (numpy.array([5, 100, 1000]), numpy.array([[0.1], [0.9]]))),
    ("negative_binomial", (A, 0.4)),
    ("poisson", (A * 10,)),
    ("zipf", (A + 1,)),
    ("geometric", (A / 3,)),
    ("hypergeometric", (numpy.array([10, 200, 30]), numpy.array([[30], [400]]), 12)),
    ("logseries", (A / 3,)),
]


def host(x):
    return numpy.asarray(x)


def pair(kind, seed=7):
    """A generator of ours and NumPy's, of the same bit generator and seed."""
    ours = np.random.Generator(getattr(np.random, kind)(seed))
    return ours, numpy.random.Generator(getattr(numpy.random, kind)(seed))


def legacy_pair(seed=7):
    return np.random.RandomState(seed), numpy.random.RandomState(seed)


def same(ours, theirs):
    if isinstance(theirs, numpy.ndarray):
        assert isinstance(ours, np.ndarray), type(ours)
        assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
        numpy.testing.assert_array_equal(host(ours), theirs, strict=True)
    elif isinstance(theirs, bytes | list | tuple):
        assert ours == theirs
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs or (ours != ours and theirs != theirs)


def same_state(ours, theirs):
    if isinstance(theirs, dict):
        assert list(ours) == list(theirs)
        for key in theirs:
            same_state(ours[key], theirs[key])
    elif hasattr(theirs, "shape"):
        numpy.testing.assert_array_equal(host(ours), host(theirs), strict=True)
    else:
        same(ours, theirs)


def both(pair, name, *args, **kwargs):
    same(getattr(pair[0], name)(*args, **kwargs), getattr(pair[1], name)(*args, **kwargs))


def alike(ours, theirs, *args, **kwargs):
    """NumPy's exception in NumPy's words; what it takes after all is taken."""
    try:
        theirs(*args, **kwargs)
    except Exception as expected:
        with pytest.raises(type(expected)) as raised:
            ours(*args, **kwargs)
        assert str(raised.value) == str(expected)
    else:
        ours(*args, **kwargs)


def states(pair):
    if isinstance(pair[1], numpy.random.RandomState):
        return pair[0].get_state(legacy=False), pair[1].get_state(legacy=False)
    return pair[0].bit_generator.state, pair[1].bit_generator.state


@pytest.mark.parametrize("kind", BIT_GENERATORS)
@pytest.mark.parametrize("name, args", CONTINUOUS + DISCRETE)
def test_distributions(kind, name, args):
    generators = pair(kind)
    for size in SIZES:
        both(generators, name, *args, size=size)
        same_state(*states(generators))


@pytest.mark.parametrize("kind", ["PCG64", "MT19937"])
@pytest.mark.parametrize("name, args", ARRAYS)
@pytest.mark.parametrize("size", [None, (4, 2, 3)])
def test_parameters_that_are_arrays(kind, name, args, size):
    for generators in (pair(kind), legacy_pair()):
        both(generators, name, *args, size=size)
        ours = [np.array(a) if isinstance(a, numpy.ndarray) else a for a in args]
        same(getattr(generators[0], name)(*ours, size=size), getattr(generators[1], name)(*args, size=size))
        same_state(*states(generators))


@pytest.mark.parametrize("name, args", CONTINUOUS + DISCRETE)
def test_legacy_distributions(name, args):
    generators = legacy_pair()
    for size in SIZES:
        both(generators, name, *args, size=size)
        same_state(*states(generators))


@pytest.mark.parametrize("kind", BIT_GENERATORS)
@pytest.mark.parametrize("name", ["random", "standard_normal", "standard_exponential"])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_standard_draws(kind, name, dtype):
    generators = pair(kind)
    for size in [*SIZES, 1 << 18, (3, 100_001)]:
        both(generators, name, size, dtype=dtype)
        same_state(*states(generators))
    out, theirs = np.empty((5, 7), dtype), numpy.empty((5, 7), dtype)
    assert getattr(generators[0], name)(dtype=dtype, out=out) is out
    getattr(generators[1], name)(dtype=dtype, out=theirs)
    same(out, theirs)
    # Half a word is left over by floats; doubles do not touch it.
    both(generators, name, 3, dtype="f4")
    both(generators, name, 3, dtype="f8")
    both(generators, name, 200_001, dtype=dtype)
    same_state(*states(generators))


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_large_arrays_are_one_stream(kind):
    """Sizes that are drawn in tiles, where elements reach from one tile into the next."""
    generators = pair(kind, 11)
    for name, args in [("normal", (2, 3)), ("lognormal", ()), ("rayleigh", ()), ("laplace", ()), ("uniform", (1, 4))]:
        both(generators, name, *args, size=700_001)
        same_state(*states(generators))
    for high, dtype in [(1000, "i8"), (3_000_000_000, "i8"), (2**40 + 1, "i8"), (2**63 - 1, "u8"), (77, "i4")]:
        both(generators, "integers", high, size=400_003, dtype=dtype)
        same_state(*states(generators))
    both(generators, "standard_exponential", 600_000, method="inv")
    both(generators, "standard_exponential", 600_000, dtype="f4", method="inv")
    same_state(*states(generators))


INTEGERS = ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"]


@pytest.mark.parametrize("kind", BIT_GENERATORS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers(kind, dtype):
    generators, legacy = pair(kind), legacy_pair()
    limits = (0, 1) if dtype == "bool" else (int(numpy.iinfo(dtype).min), int(numpy.iinfo(dtype).max))
    top = limits[1]
    for low, high in [
        (0, top),
        limits,
        (0, 0),
        (top - 1, top),
        (limits[0], limits[0] + 1),
        (0, min(99, top)),
        (0, top // 3),
    ]:
        for size in [None, 5, (2, 33), 1, 1001, 140_000]:
            both(generators, "integers", low, high, size=size, dtype=dtype, endpoint=True)
            both(generators, "integers", low, high + 1, size=size, dtype=dtype)
            both(legacy, "randint", low, high + 1, size=size, dtype=dtype)
        same_state(*states(generators))
        same_state(*states(legacy))
    low, high = numpy.array([0, 1], dtype), numpy.array([[1], [top]], dtype)
    both(generators, "integers", low, high, dtype=dtype, endpoint=True)
    same_state(*states(generators))


def test_integers_as_python_numbers():
    generators, legacy = pair("PCG64"), legacy_pair()
    both(generators, "integers", 10)
    both(generators, "integers", 10, dtype=int)
    both(generators, "integers", 2, dtype=bool)
    both(legacy, "randint", 10)
    both(legacy, "randint", 10, dtype=numpy.int32)
    both(legacy, "tomaxint")
    both(legacy, "tomaxint", 7)
    for n in (1, 3, 4, 10, 1001):
        both(generators, "bytes", n)
        both(legacy, "bytes", n)
    same_state(*states(generators))
    same_state(*states(legacy))


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_orders(kind):
    generators = pair(kind)
    table = numpy.arange(60.0).reshape(4, 5, 3)
    for _ in range(2):
        both(generators, "permutation", 10)
        both(generators, "permutation", 0)
        both(generators, "permutation", [3, 1, 2])
        both(generators, "permutation", 200_000)
        for axis in (0, 1, -1):
            same(generators[0].permutation(np.array(table), axis), generators[1].permutation(table, axis))
            same(generators[0].permuted(np.array(table), axis=axis), generators[1].permuted(table, axis=axis))
        same(generators[0].permuted(np.array(table)), generators[1].permuted(table))
        same_state(*states(generators))
    for dtype in ("i1", "f4", "f8", "c16"):
        ours, theirs = np.arange(100).astype(dtype), numpy.arange(100).astype(dtype)
        generators[0].shuffle(ours), generators[1].shuffle(theirs)
        same(ours, theirs)
        generators[0].shuffle(ours[::3]), generators[1].shuffle(theirs[::3])
        same(ours, theirs)
    ours, theirs = np.array(table), table.copy()
    for axis in (0, 1, 2):
        generators[0].shuffle(ours, axis), generators[1].shuffle(theirs, axis)
        same(ours, theirs)
    ours, theirs = list(range(20)), list(range(20))
    generators[0].shuffle(ours), generators[1].shuffle(theirs)
    assert ours == theirs
    same_state(*states(generators))


def test_legacy_orders():
    generators = legacy_pair()
    both(generators, "permutation", 10)
    both(generators, "permutation", [3, 1, 2])
    same(
        generators[0].permutation(np.ones((4, 2)) * [[1], [2], [3], [4]]),
        generators[1].permutation(numpy.ones((4, 2)) * [[1], [2], [3], [4]]),
    )
    ours, theirs = np.arange(50), numpy.arange(50)
    generators[0].shuffle(ours), generators[1].shuffle(theirs)
    same(ours, theirs)
    same_state(*states(generators))


CHOICES = [
    (10, {}),
    (10, {"size": 5}),
    (10, {"size": (2, 3), "replace": False}),
    (20_000, {"size": 1000, "replace": False}),
    (20_000, {"size": 15_000, "replace": False}),
    (7, {"size": 20, "p": [0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1]}),
    (7, {"size": 3, "p": [0.1, 0.2, 0.3, 0.1, 0.1, 0.1, 0.1], "replace": False}),
    ([2.5, 3.5, 4.5], {}),
    ([2.5, 3.5, 4.5], {"size": 4}),
    ([2.5, 3.5, 4.5], {"size": ()}),
    ([2.5, 3.5, 4.5], {"size": 2, "replace": False}),
    ([2.5, 3.5, 4.5], {"p": [0.5, 0.25, 0.25]}),
    ([2.5, 3.5, 4.5], {"size": 0}),
    (7, {"size": numpy.array([2, 2])}),
    ([2.5, 3.5, 4.5], {"size": numpy.array([]), "replace": False}),
    (7, {"size": numpy.int64(3), "replace": False}),
]


@pytest.mark.parametrize("a, how", CHOICES)
def test_choice(a, how):
    for kind in BIT_GENERATORS:
        generators = pair(kind)
        both(generators, "choice", a, **how)
        same_state(*states(generators))
    generators = pair("PCG64")
    if how.get("replace") is False and "p" not in how:
        both(generators, "choice", a, shuffle=False, **how)
    both(legacy := legacy_pair(), "choice", a, **how)
    same_state(*states(legacy))


def test_choice_along_axes():
    generators = pair("PCG64")
    table = numpy.arange(24).reshape(2, 3, 4)
    for axis in (0, 1, 2, -1):
        same(generators[0].choice(np.array(table), 5, axis=axis), generators[1].choice(table, 5, axis=axis))
        same(generators[0].choice(np.array(table), axis=axis), generators[1].choice(table, axis=axis))


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_multivariate(kind):
    for generators in (pair(kind), legacy_pair()):
        for size in (None, 3, (2, 2), 0):
            both(generators, "multinomial", 20, [0.2, 0.3, 0.5], size=size)
            both(generators, "multinomial", 2000, [0.2, 0.0, 0.8], size=size)
            both(generators, "dirichlet", [0.5, 1, 2], size=size)
            both(generators, "multivariate_normal", [1, 2], [[2, 0.5], [0.5, 1]], size=size)
        same_state(*states(generators))
    generators = pair(kind)
    both(generators, "dirichlet", [0.01, 0.02, 0.05], size=5)
    both(generators, "dirichlet", [0.0, 0.0], size=5)
    both(generators, "multinomial", numpy.array([5, 6]), [0.2, 0.8])
    for method in ("marginals", "count"):
        for sample in (0, 3, 12, 17):
            both(generators, "multivariate_hypergeometric", [5, 2, 10], sample, size=4, method=method)
            both(generators, "multivariate_hypergeometric", [500, 200, 1000], 10 * sample, method=method)
    same_state(*states(generators))


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_states(kind):
    ours, theirs = getattr(np.random, kind)(5), getattr(numpy.random, kind)(5)
    same_state(ours.state, theirs.state)
    for _ in range(3):
        same(ours.random_raw(), theirs.random_raw())
        same(ours.random_raw(5), theirs.random_raw(5))
        same(ours.random_raw((2, 3)), theirs.random_raw((2, 3)))
        same_state(ours.state, theirs.state)
    state = ours.state
    assert all(isinstance(x, np.ndarray) for x in state["state"].values() if not isinstance(x, int))
    first = ours.random_raw(10)
    ours.state = state
    numpy.testing.assert_array_equal(host(first), host(ours.random_raw(10)))
    copy = pickle.loads(pickle.dumps(ours))
    assert type(copy) is type(ours)
    same_state(copy.state, ours.state)
    assert copy.seed_seq.entropy == 5
    if hasattr(theirs, "jumped"):
        theirs.state = ours.state
        same_state(ours.jumped().state, theirs.jumped().state)
        same_state(ours.jumped(3).state, theirs.jumped(3).state)
    if hasattr(theirs, "advance"):
        numpy.random.Generator(theirs).random(3, dtype="f4"), np.random.Generator(ours).random(3, dtype="f4")
        for delta in (0, 1, 5, 10**30, -3):
            assert ours.advance(delta) is ours
            theirs.advance(delta)
            same_state(ours.state, theirs.state)
        same(ours.random_raw(9), theirs.random_raw(9))
    with pytest.raises(TypeError, match="state must be a dict"):
        ours.state = 3
    with pytest.raises(ValueError, match="state must be for a"):
        ours.state = {"bit_generator": "Other"}


def test_philox_keys_and_counters():
    for how in ({"key": 5}, {"key": 2**100 + 1, "counter": 2**200 + 7}, {"counter": [1, 2, 3, 4]}, {"key": [1, 2]}):
        seed = {} if "key" in how else {"seed": 3}
        ours, theirs = np.random.Philox(**seed, **how), numpy.random.Philox(**seed, **how)
        same_state(ours.state, theirs.state)
        assert (ours.seed_seq is None) == (theirs.seed_seq is None)
    # The counter carries from word to word.
    for counter in (2**64 - 2, 2**128 - 2, 2**256 - 2):
        ours, theirs = np.random.Philox(key=1, counter=counter), numpy.random.Philox(key=1, counter=counter)
        same(ours.random_raw(200), theirs.random_raw(200))
        same_state(ours.state, theirs.state)


@pytest.mark.parametrize("entropy", [0, 5, 2**100, [1, 2, 3], [2**70, 1], (), range(9), numpy.arange(3, dtype="u4")])
@pytest.mark.parametrize("how", [{}, {"spawn_key": (1, 2)}, {"pool_size": 8}, {"spawn_key": (2**40,), "pool_size": 5}])
def test_seed_sequences(entropy, how):
    ours, theirs = np.random.SeedSequence(entropy, **how), numpy.random.SeedSequence(entropy, **how)
    for n in (1, 4, 33):
        numpy.testing.assert_array_equal(ours.generate_state(n), theirs.generate_state(n))
        numpy.testing.assert_array_equal(ours.generate_state(n, "u8"), theirs.generate_state(n, "u8"))
    numpy.testing.assert_array_equal(ours.pool, theirs.pool)
    assert repr(ours) == repr(theirs)
    ours.spawn(2), theirs.spawn(2)
    for a, b in zip(ours.spawn(3), theirs.spawn(3), strict=True):
        assert a.spawn_key == b.spawn_key
        numpy.testing.assert_array_equal(a.spawn(1)[0].generate_state(4), b.spawn(1)[0].generate_state(4))
    assert ours.n_children_spawned == theirs.n_children_spawned


def test_trees_of_generators():
    ours, theirs = np.random.default_rng(3), numpy.random.default_rng(3)
    for a, b in zip(ours.spawn(3), theirs.spawn(3), strict=True):
        assert type(a) is np.random.Generator
        for x, y in zip(a.spawn(2), b.spawn(2), strict=True):
            same(x.random(4), y.random(4))
            same_state(x.bit_generator.state, y.bit_generator.state)


SEEDS = [-1, 1.5, "abc", [1, -2], [[1, 2]], {"a": 1}, object(), [1.5]]


@pytest.mark.parametrize("seed", SEEDS, ids=str)
@pytest.mark.parametrize("what", ["default_rng", "SeedSequence", "PCG64", "MT19937", "RandomState", "seed"])
def test_seeds_that_are_none(seed, what):
    alike(getattr(np.random, what), getattr(numpy.random, what), seed)


BAD = [
    ("normal", (0, -1), {}),
    ("normal", ([1, 2], [1, 2, 3]), {}),
    ("normal", (0, 1), {"size": -1}),
    ("normal", ([1, 2],), {"size": 3}),
    ("normal", ("a",), {}),
    ("uniform", (0, float("inf")), {}),
    ("gamma", (-1,), {}),
    ("gamma", (), {}),
    ("beta", (0, 1), {}),
    ("binomial", (-1, 0.5), {}),
    ("binomial", (3, 1.5), {}),
    ("binomial", (3.5, 0.5), {}),
    ("poisson", (-1,), {}),
    ("poisson", (1e30,), {}),
    ("zipf", (1,), {}),
    ("geometric", (0,), {}),
    ("hypergeometric", (1, 2, 5), {}),
    ("triangular", (3, 2, 1), {}),
    ("multinomial", (3, [0.9, 0.9, 0.1]), {}),
    ("dirichlet", ([-1, 2],), {}),
    ("choice", (0,), {}),
    ("choice", (3,), {"p": [0.5, 0.6, 0.1]}),
    ("choice", (3, 5), {"replace": False}),
    ("choice", (9,), {"size": True, "replace": False}),
    ("choice", (9,), {"size": 2.0}),
    ("choice", (9,), {"size": 2.0, "replace": False}),
    ("choice", (9,), {"size": "a"}),
    ("choice", ([1, 2, 3],), {"size": numpy.array(4), "replace": False}),
    ("permutation", (1.5,), {}),
    ("shuffle", (5,), {}),
    ("bytes", (-1,), {}),
    ("normal", (), {"nothing": 1}),
]


@pytest.mark.parametrize("name, args, kwargs", BAD)
def test_what_is_wrong(name, args, kwargs):
    for ours, theirs in (pair("PCG64"), legacy_pair()):
        alike(getattr(ours, name), getattr(theirs, name), *args, **kwargs)
        same_state(*states((ours, theirs)))


def test_what_only_generators_have():
    ours, theirs = pair("PCG64")
    alike(ours.permutation, theirs.permutation, numpy.arange(5), axis=None)
    alike(ours.multivariate_hypergeometric, theirs.multivariate_hypergeometric, [3, 4], 2, size=numpy.array(4))
    same_state(*states((ours, theirs)))


# Around the number of elements from which on words are made in blocks, and the longest that is made in the call.
@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_few_and_many(kind):
    for generators in (pair(kind), legacy_pair()):
        for n in (1, 10, 127, 128, 129, 1024, 1025, 4097):
            for name, args in [
                ("random", (n,)),
                ("standard_normal", (n,)),
                ("normal", (1.0, 2.0, n)),
                ("exponential", (0.5, n)),
                ("uniform", (numpy.array([[0.5], [1.5]]), 2.0, (2, n))),
                ("poisson", (numpy.full(n, 3.5),)),
                ("binomial", (20, 0.25, (n, 1))),
            ]:
                both(generators, name, *args)
            bounds = "integers" if hasattr(generators[0], "integers") else "randint"
            for dtype in ("bool", "u1", "i2", "u4", "i8"):
                for high in (1, 2) if dtype == "bool" else (1, 11, 64):
                    both(generators, bounds, 0, high, n, dtype)
        same_state(*states(generators))


@pytest.mark.parametrize("n", [4_200_000, 9_000_001])
def test_twisters_in_tiles(n):
    """Tiles of a Mersenne Twister jump to their places: some by a few blocks, some by the polynomial."""
    for generators in (pair("MT19937"), legacy_pair()):
        both(generators, "standard_normal")
        both(generators, "random", n)
        both(generators, "integers" if hasattr(generators[0], "integers") else "randint", 0, 256, n, "u1")
        both(generators, "uniform", 1.0, 3.0, 5)
        same_state(*states(generators))
    generators = pair("MT19937")
    both(generators, "random", n, "f4")
    both(generators, "integers", 1000003, None, n)
    both([g.bit_generator for g in generators], "random_raw", n)
    same_state(*states(generators))


@pytest.mark.parametrize(
    "args, kwargs",
    [
        ((5, 5), {}),
        ((0,), {}),
        ((300,), {"dtype": "i1"}),
        ((3,), {"dtype": "f8"}),
        ((-3, 5), {"dtype": "u1"}),
        (([1, 2], [1, 5]), {}),
    ],
)
def test_wrong_bounds(args, kwargs):
    for (ours, theirs), name in ((pair("PCG64"), "integers"), (legacy_pair(), "randint")):
        alike(getattr(ours, name), getattr(theirs, name), *args, **kwargs)


def test_calls_of_all_kinds_in_turn():
    steps = numpy.random.default_rng(0)
    names = [("random", (300_000,)), ("standard_normal", (5,)), ("random", ()), ("standard_normal", (200_000,))]
    names += [("integers", (7, None, 9)), ("integers", (7, None, 3, "i4")), ("random", (5, "f4")), ("gamma", (2, 1, 4))]
    names += [("permutation", (9,)), ("standard_exponential", (200_000, "f4")), ("poisson", (3, 5))]
    for kind in BIT_GENERATORS:
        generators = pair(kind)
        for _ in range(25):
            name, args = names[steps.integers(len(names))]
            both(generators, name, *args)
        same_state(*states(generators))


def test_kept_normals():
    generators = legacy_pair()
    both(generators, "standard_normal")
    same_state(*states(generators))
    assert generators[0].get_state()[3] == 1
    both(generators, "multivariate_normal", [0, 0, 0], numpy.eye(3))
    both(generators, "standard_normal", 4)
    both(generators, "gamma", 3.0, size=5)
    same_state(*states(generators))
    ours, theirs = legacy_pair(1)
    ours.set_state(generators[0].get_state())
    theirs.set_state(generators[1].get_state())
    both((ours, theirs), "randn", 2, 3)
    copy = pickle.loads(pickle.dumps(ours))
    same_state(copy.get_state(legacy=False), ours.get_state(legacy=False))
    ours.seed(3), theirs.seed(3)
    both((ours, theirs), "standard_normal")
    for seed in ([1, 2, 3], numpy.arange(700), numpy.int64(5)):
        ours.seed(seed), theirs.seed(seed)
        same_state(*states((ours, theirs)))


def test_functions_of_the_module():
    module, theirs = np.random, numpy.random
    before, kept = module.get_state(), theirs.get_state()
    try:
        module.seed(5), theirs.seed(5)
        same(module.rand(3), theirs.rand(3))
        same(module.randn(), theirs.randn())
        same(module.sample(2), theirs.sample(2))
        same(module.ranf(), theirs.ranf())
        same(module.randint(0, 9, 5), theirs.randint(0, 9, 5))
        same(module.normal(1, 2, 5), theirs.normal(1, 2, 5))
        same(module.random((2, 2)), theirs.random((2, 2)))
        same(module.permutation(5), theirs.permutation(5))
        same_state(module.get_state(legacy=False), theirs.get_state(legacy=False))
    finally:
        module.set_state(before), theirs.set_state(kept)


@needs_engine
def test_bit_generators_of_numpy_are_drawn_from():
    for kind in BIT_GENERATORS:
        bits = getattr(numpy.random, kind)(3)
        ours, theirs = np.random.Generator(bits), pair(kind, 3)[1]
        assert ours.bit_generator is bits
        for name, args in [
            ("random", (5,)),
            ("normal", (0, 1, 300_000)),
            ("integers", (9, None, 7)),
            ("random", (3, "f4")),
        ]:
            both((ours, theirs), name, *args)
        both((ours, theirs), "permutation", 20)
        same_state(bits.state, theirs.bit_generator.state)


@needs_engine
def test_numpy_draws_from_ours():
    for kind in BIT_GENERATORS:
        ours, theirs = pair(kind)
        mixed = numpy.random.Generator(ours.bit_generator)
        numpy.testing.assert_array_equal(mixed.standard_normal(100), theirs.standard_normal(100))
        both((ours, theirs), "random", 10)
        numpy.testing.assert_array_equal(mixed.integers(0, 9, 5), theirs.integers(0, 9, 5))
        interface = ours.bit_generator.ctypes
        assert interface.next_uint64(interface.state) == theirs.bit_generator.ctypes.next_uint64(
            theirs.bit_generator.ctypes.state
        )
        assert isinstance(interface.state_address, int | ctypes.c_void_p)
        same_state(*states((ours, theirs)))


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_threads_share_one_generator(kind):
    """Whatever the order, every number of the stream is given once."""
    rng = np.random.Generator(getattr(np.random, kind)(1))
    drawn = []

    def work():
        for _ in range(20):
            drawn.append(rng.random(1000))
            drawn.append(rng.random(100_000))

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    every = numpy.concatenate([host(x) for x in drawn])
    expected = numpy.random.Generator(getattr(numpy.random, kind)(1)).random(every.size)
    numpy.testing.assert_array_equal(numpy.sort(every), numpy.sort(expected))


@needs_engine
def test_uniform_numbers_are_deferred():
    from .counters import counters

    rng = np.random.default_rng(1)
    before = counters()
    x = rng.random(1_000_000) * 2
    y = rng.uniform(1, 2, 1_000_000) + x
    assert rng.bit_generator.state["has_uint32"] == 0
    assert counters()["syncs"] == before["syncs"]
    check = numpy.random.default_rng(1)
    theirs = check.random(1_000_000) * 2
    numpy.testing.assert_array_equal(host(y), check.uniform(1, 2, 1_000_000) + theirs)


@needs_engine
def test_tables_are_numpys():
    """Each table of the ziggurats stands in NumPy's binary as we have it."""
    import re
    from pathlib import Path

    source = Path(__file__).parents[1] / "crates" / "random" / "src" / "ziggurat_tables.rs"
    binary = Path(numpy.random._generator.__file__).read_bytes()
    tables = re.findall(r"const (\w+): \[(u\d+); 256\] = \[(.*?)\];", source.read_text(), re.S)
    assert len(tables) == 12
    for name, kind, text in tables:
        words = numpy.array([int(w, 16) for w in text.split(",")[:-1]], kind.replace("u64", "u8").replace("u32", "u4"))
        assert words.size == 256 and words.tobytes() in binary, name


def test_a_signal_handler_that_draws_draws_before_or_after_never_within():
    """The state is moved on when the draw is over; until then a handler waits, as it does for NumPy's loops."""
    ours, drawn = np.random.default_rng(3), []
    before = signal.signal(signal.SIGALRM, lambda *_: drawn.append(ours.random()))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.004)
        x = ours.standard_normal(3_000_000)
        while not drawn:
            time.sleep(0.001)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    theirs = numpy.random.default_rng(3)
    after = theirs.standard_normal(3_000_000)
    if drawn != [theirs.random()]:
        # The signal came first.
        theirs = numpy.random.default_rng(3)
        assert drawn == [theirs.random()]
        after = theirs.standard_normal(3_000_000)
    agree(x, after)


@pytest.mark.parametrize("kind", BIT_GENERATORS)
def test_small_integers_and_floats_of_every_stream(kind):
    ours = np.random.Generator(getattr(np.random, kind)(8))
    theirs = numpy.random.Generator(getattr(numpy.random, kind)(8))
    for n in (7, 100_000, 300_001):
        for dtype in ("int8", "uint8", "int16", "uint16", "int32", "bool"):
            high = 2 if dtype == "bool" else 100
            agree(ours.integers(0, high, n, dtype=dtype), theirs.integers(0, high, n, dtype=dtype))
        agree(ours.random(n, dtype="float32"), theirs.random(n, dtype="float32"))
        agree(ours.random(n), theirs.random(n))
        assert ours.random() == theirs.random()
