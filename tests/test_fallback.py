"""What Numloom has not runs through NumPy: right results, shared memory, one warning a line, counted."""

import io
import pickle
import warnings

import numpy
import pytest

import numloom as np
from numloom import FallbackWarning


@pytest.fixture(autouse=True)
def fresh_counts():
    before = np.set_fallback_warnings(True)
    np.reset_coverage()
    yield
    np.set_fallback_warnings(before)
    np.reset_coverage()


def host(x):
    return numpy.asarray(x)


def calls_of(name):
    return sum(entry["calls"] for entry in np.coverage(as_dict=True)["fallbacks"] if entry["name"] == name)


def test_results_are_ours_and_numpys_numbers():
    x = numpy.random.default_rng(0).random((4, 4)) + numpy.eye(4)
    inverse = np.linalg.inv(np.array(x))
    assert isinstance(inverse, np.ndarray)
    numpy.testing.assert_allclose(host(inverse), numpy.linalg.inv(x))


def test_named_tuples_keep_their_type():
    result = np.linalg.eigh(np.eye(3))
    assert type(result).__name__ == "EighResult"
    assert isinstance(result.eigenvalues, np.ndarray)


def test_tuples_and_lists():
    counts, edges = np.histogram(np.array([1.0, 2.0, 2.5]), bins=2)
    assert isinstance(counts, np.ndarray) and isinstance(edges, np.ndarray)
    assert host(counts).tolist() == [1, 2]


def test_out_is_written_and_returned():
    x, out = np.array([3.0, 1.0, 2.0]), np.empty(3)
    result = np.quantile(x, [0.0, 0.5, 1.0], out=out)
    assert result is out
    assert host(out).tolist() == [1.0, 2.0, 3.0]


def test_in_place_methods_share_memory():
    x = np.array([3, 1, 2])
    x.sort()
    assert host(x).tolist() == [1, 2, 3]
    np.random.default_rng(0).shuffle(x)
    assert sorted(host(x).tolist()) == [1, 2, 3]
    plain = [1, 2, 3, 4, 5]
    np.random.default_rng(3).shuffle(plain)
    expected = [1, 2, 3, 4, 5]
    numpy.random.default_rng(3).shuffle(expected)
    assert plain == expected


def test_warns_once_per_line():
    x = np.array([3.0, 1.0])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(3):
            np.lib.scimath.sqrt(x)
    seen = [w for w in seen if w.category is FallbackWarning]
    assert len(seen) == 1
    assert seen[0].filename == __file__
    assert "lib.scimath.sqrt" in str(seen[0].message)
    assert calls_of("lib.scimath.sqrt") == 3


def test_warnings_can_be_switched_off():
    assert np.set_fallback_warnings(False) is True
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        np.lib.scimath.sqrt(np.array([0, 1, 1]))
    assert calls_of("lib.scimath.sqrt") == 1


def test_coverage_names_the_lines():
    x = np.array([0, 1, 1])
    for _ in range(2):
        np.lib.scimath.sqrt(x)
    np.lib.scimath.sqrt(x)
    (entry,) = [e for e in np.coverage(as_dict=True)["fallbacks"] if e["name"] == "lib.scimath.sqrt"]
    assert entry["calls"] == 3
    assert [at["calls"] for at in entry["lines"]] == [2, 1]
    text = io.StringIO()
    np.coverage(file=text)
    assert "lib.scimath.sqrt" in text.getvalue() and f"{__file__}:" in text.getvalue()


def test_native_calls_are_not_counted():
    x = np.arange(6.0).reshape(2, 3)
    np.concatenate([x, x])
    np.where(x > 1, x, 0).sum()
    assert np.coverage(as_dict=True)["fallbacks"] == []
    assert {"concatenate", "add", "where", "linalg.norm"} <= set(np.coverage(as_dict=True)["native"]) | {"linalg.norm"}


def test_dtypes_that_are_not_ours_stay_numpys():
    text = np.array(["a", "b"])
    assert type(text) is numpy.ndarray
    assert type(np.concatenate([text, text])) is numpy.ndarray
    assert type(np.zeros(3, dtype=object)) is numpy.ndarray
    assert np.array(["2020-01-01"], dtype="M8[D]").dtype.kind == "M"
    assert np.coverage(as_dict=True)["fallbacks"] == []


def test_functions_that_take_functions():
    x = np.arange(6.0).reshape(2, 3)
    assert host(np.apply_along_axis(np.sum, 1, x)).tolist() == [3.0, 12.0]
    assert host(np.apply_along_axis(lambda row: row * 2, 1, x)).tolist() == (host(x) * 2).tolist()
    assert host(np.vectorize(lambda v: v + 1)(x)).tolist() == (host(x) + 1).tolist()
    assert host(np.fromfunction(lambda i, j: i + j, (2, 2))).tolist() == [[0.0, 1.0], [1.0, 2.0]]
    assert host(np.piecewise(x, [x < 2, x >= 2], [lambda v: -v, 7.0])).tolist() == [[0.0, -1.0, 7.0], [7.0, 7.0, 7.0]]
    assert isinstance(np.vectorize(abs)(x), np.ndarray)


def test_errors_are_numpys():
    with pytest.raises(numpy.linalg.LinAlgError, match="Singular"):
        np.linalg.inv(np.zeros((2, 2)))
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        np.concatenate([])


@pytest.mark.parametrize("seed", [0, 42])
def test_random_streams_are_numpys(seed):
    ours, theirs = np.random.default_rng(seed), numpy.random.default_rng(seed)
    for name, args in [
        ("random", (5,)),
        ("standard_normal", ((2, 3),)),
        ("integers", (0, 9, 4)),
        ("permutation", (6,)),
    ]:
        drawn = getattr(ours, name)(*args)
        assert isinstance(drawn, np.ndarray)
        numpy.testing.assert_array_equal(host(drawn), getattr(theirs, name)(*args))
    assert isinstance(ours.random(), float)
    chosen = np.random.default_rng(seed).choice(np.arange(10), 3)
    numpy.testing.assert_array_equal(host(chosen), numpy.random.default_rng(seed).choice(numpy.arange(10), 3))


def test_legacy_random():
    np.random.seed(5)
    drawn = np.random.rand(3)
    numpy.random.seed(5)
    numpy.testing.assert_array_equal(host(drawn), numpy.random.rand(3))
    state = np.random.RandomState(1)
    assert isinstance(state.normal(size=2), np.ndarray)
    numpy.testing.assert_array_equal(host(np.random.RandomState(1).rand(2)), numpy.random.RandomState(1).rand(2))


def test_generators_pickle_and_spawn():
    rng = np.random.default_rng(1)
    copy = pickle.loads(pickle.dumps(rng))
    assert type(copy) is np.random.Generator
    numpy.testing.assert_array_equal(host(copy.random(3)), host(rng.random(3)))
    assert all(isinstance(child, np.random.Generator) for child in rng.spawn(2))
    assert np.random.default_rng(rng) is rng
    state = pickle.loads(pickle.dumps(np.random.RandomState(3)))
    numpy.testing.assert_array_equal(host(state.rand(3)), numpy.random.RandomState(3).rand(3))


def test_files(tmp_path):
    x = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "x.npy", x)
    assert isinstance(np.load(tmp_path / "x.npy"), np.ndarray)
    np.savez(tmp_path / "x.npz", x=x, y=x + 1)
    with np.load(tmp_path / "x.npz") as archive:
        assert isinstance(archive["y"], np.ndarray)
        numpy.testing.assert_array_equal(host(archive["y"]), host(x) + 1)
    np.savetxt(tmp_path / "x.txt", x)
    numpy.testing.assert_array_equal(host(np.loadtxt(tmp_path / "x.txt")), host(x))
    assert np.coverage(as_dict=True)["fallbacks"] == []


def test_masked_arrays_and_matrices_stay_numpys():
    masked = numpy.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    assert float(np.sum(masked)) == 4.0
    assert isinstance(np.multiply.outer(np.arange(2), np.arange(2)), np.ndarray)
    assert np.concatenate([numpy.matrix([[1]]), numpy.matrix([[2]])]).shape == (2, 1)


def test_flat():
    x = np.arange(6).reshape(2, 3)
    assert [int(v) for v in x.flat] == list(range(6))
    x.flat[::2] = 9
    assert host(x).tolist() == [[9, 1, 9], [3, 9, 5]]
    x.T.flat[1] = 7
    assert host(x).tolist() == [[9, 1, 9], [7, 9, 5]]
    x.flat = [1, 2]
    assert host(x).tolist() == [[1, 2, 1], [2, 1, 2]]
    assert len(x.flat) == 6 and int(x.flat[4]) == 1


def test_iteration_objects():
    x = np.arange(4).reshape(2, 2)
    assert [(i, int(v)) for i, v in np.ndenumerate(x)] == [((0, 0), 0), ((0, 1), 1), ((1, 0), 2), ((1, 1), 3)]
    with np.nditer(x, op_flags=["readwrite"]) as it:
        for v in it:
            v[...] = 2 * v
    assert host(x).tolist() == [[0, 2], [4, 6]]
    assert host(np.r_[x[0], 5]).tolist() == [0, 2, 5]
    assert host(np.mgrid[0:2, 0:2]).tolist() == numpy.mgrid[0:2, 0:2].tolist()


@pytest.mark.parametrize("dtype", ["object", "longdouble"])
def test_in_place_products_into_numpys_arrays(dtype):
    a = numpy.arange(4).reshape(2, 2).astype(dtype)
    expected = a @ a
    given = a
    a @= np.array([[0, 1], [2, 3]])
    assert a is given
    assert (a == expected).all()


def test_arrays_of_other_dtypes_are_numpys():
    for made in (np.ndarray(3, dtype=object), np.ndarray(2, "S2", b"abcd"), np.ndarray((2,), ">i4", bytes(8))):
        assert type(made) is numpy.ndarray
    assert np.ndarray(3, dtype=object).tolist() == [None] * 3
