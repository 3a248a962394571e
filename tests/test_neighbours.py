"""Other libraries given our arrays: they work, and read our memory instead of a copy where they read memory at all."""

import importlib
import os
import subprocess
import sys
from importlib.metadata import entry_points

import numpy
import pytest

import numloom as np


def neighbour(name):
    return pytest.importorskip(name, reason=f"{name} is not installed")


@pytest.fixture
def x():
    return np.linspace(0.0, 1.0, 1000) ** 2


@pytest.fixture
def m():
    g = numpy.random.default_rng(3)
    return np.array(g.normal(size=(200, 4)))


def shares(ours, theirs):
    return numpy.shares_memory(numpy.asarray(ours), numpy.asarray(theirs))


def close(got, want):
    numpy.testing.assert_allclose(numpy.asarray(got), numpy.asarray(want), rtol=1e-9, atol=1e-12)


def test_the_memory_is_lent(x):
    lent = numpy.asarray(x)
    assert shares(x, lent) and shares(x, numpy.frombuffer(memoryview(x))) and shares(x, numpy.from_dlpack(x))
    lent[3] = 7
    assert x[3] == 7


def test_scipy(x, m):
    optimize, signal, stats = (neighbour(f"scipy.{part}") for part in ("optimize", "signal", "stats"))
    linalg, sparse, integrate = (neighbour(f"scipy.{part}") for part in ("linalg", "sparse", "integrate"))
    on_host = numpy.asarray(m)
    close(signal.convolve(x, x[:9]), signal.convolve(numpy.asarray(x), numpy.asarray(x[:9])))
    close(linalg.solve(m[:4].T @ m[:4], m[0]), linalg.solve(on_host[:4].T @ on_host[:4], on_host[0]))
    close(stats.zscore(m, axis=0), stats.zscore(on_host, axis=0))
    close(integrate.simpson(x), integrate.simpson(numpy.asarray(x)))
    found = optimize.minimize(lambda p: float(((np.array(p) - 3) ** 2).sum()), np.zeros(3))
    numpy.testing.assert_allclose(found.x, 3, atol=1e-4)
    close(sparse.csr_matrix(m) @ m[0], on_host @ on_host[0])


def test_scipys_ufuncs_give_our_arrays(x):
    special = neighbour("scipy.special")
    close(special.expit(x), special.expit(numpy.asarray(x)))
    close(special.gammaln(x + 1), special.gammaln(numpy.asarray(x) + 1))


def test_pandas(x, m):
    pandas = neighbour("pandas")
    series = pandas.Series(x, copy=False)
    close(series.sum(), x.sum())
    assert shares(x, series.to_numpy())
    frame = pandas.DataFrame(m, columns=list("abcd"))
    close(frame.mean(), m.mean(axis=0))
    close(frame.groupby(frame["a"] > 0)["b"].sum().sum(), m[:, 1].sum())
    close(np.array(frame), m)
    frame["e"] = m[:, 0] * 2
    close(frame["e"], m[:, 0] * 2)


def test_matplotlib(x, m, tmp_path):
    matplotlib = neighbour("matplotlib")
    matplotlib.use("Agg")
    pyplot = importlib.import_module("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3)
    (line,) = axes[0].plot(x, np.sqrt(x))
    close(line.get_ydata(), np.sqrt(x))
    axes[0].scatter(x, x, c=x)
    counts, _, _ = axes[1].hist(x, bins=10)
    assert counts.sum() == x.size
    image = axes[2].imshow(m)
    close(image.get_array(), m)
    figure.savefig(tmp_path / "figure.png", dpi=40)
    pyplot.close(figure)


def test_scikit_learn(m):
    neighbour("sklearn")
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.preprocessing import StandardScaler

    on_host = numpy.asarray(m)
    y = m @ np.array([1.0, 2.0, 3.0, 4.0])
    fitted = LinearRegression().fit(m, y)
    close(fitted.coef_, [1, 2, 3, 4])
    close(fitted.predict(m), y)
    close(StandardScaler().fit_transform(m), StandardScaler().fit_transform(on_host))
    close(PCA(2).fit(m).explained_variance_, PCA(2).fit(on_host).explained_variance_)
    assert LogisticRegression().fit(m, y > 0).score(m, y > 0) > 0.9
    assert KMeans(2, n_init=1, random_state=0).fit(m).labels_.shape == (200,)


BY_ARRAY_API = """
import numpy, numloom as np, sklearn
from scipy import special, stats
from scipy.cluster.vq import whiten
from sklearn.metrics import mean_squared_error
from sklearn.preprocessing import MinMaxScaler, StandardScaler
m = np.array(numpy.random.default_rng(3).normal(size=(200, 4)))
calls = [
    special.expit,
    whiten,
    lambda x: stats.zscore(x, axis=0),
    lambda x: special.logsumexp(x, axis=0),
    lambda x: MinMaxScaler().fit_transform(x),
    lambda x: StandardScaler().fit_transform(x),
]
with sklearn.config_context(array_api_dispatch=True):
    for call in calls:
        made = call(m)
        assert isinstance(made, np.ndarray), type(made)
        numpy.testing.assert_allclose(numpy.asarray(made), call(numpy.asarray(m)), rtol=1e-9)
    assert abs(float(mean_squared_error(m[:, 0], m[:, 1])) - float(((m[:, 0] - m[:, 1]) ** 2).mean())) < 1e-12
print("ours")
"""


def test_array_api_dispatch_gives_our_arrays():
    for name in ("scipy", "sklearn"):
        neighbour(name)
    command = [sys.executable, "-W", "ignore", "-c", BY_ARRAY_API]
    chosen = {**os.environ, "SCIPY_ARRAY_API": "1"}
    ended = subprocess.run(command, capture_output=True, text=True, env=chosen)
    assert ended.stdout == "ours\n", ended.stderr


def test_numba(x, m):
    numba = neighbour("numba")
    if not any(e.module.startswith("numloom") for e in entry_points(group="numba_extensions")):
        pytest.skip("Numloom is on the path but not installed, so Numba is not told of it")

    @numba.njit
    def doubled(a):
        for i in range(a.shape[0]):
            a[i] *= 2
        return a.sum()

    before = float(x.sum())
    close(doubled(x), 2 * before)
    close(x.sum(), 2 * before)
    close(doubled(x[::2]), x[::2].sum())

    @numba.njit
    def weighted(a):
        total = 0.0
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                total += i * a[i, j]
        return total

    for view in (m, m.T, m[::-1, ::2], np.broadcast_to(m[0], (3, 4))):
        close(weighted(view), (view * np.arange(view.shape[0])[:, None]).sum())
    close(numba.njit(lambda a: numpy.sin(a) + a[0])(m), np.sin(m) + m[0])
    with pytest.raises(numba.core.errors.TypingError):
        doubled(np.broadcast_to(x, (2, 1000))[0])

    @numba.vectorize(["float64(float64, float64)"])
    def product(a, b):
        return a * b

    close(product(m, m), m * m)


# As a user writes it, with NumPy and with us: each gives the same.
PANDAS = {
    "masked rows": "df[m].values, df.loc[m].values, df.iloc[m].values, df.loc[m, 'x'].values",
    "masked items": "s[m].values, s.iloc[m].values, s.index[m].values, df.drop(df.index[m]).values",
    "masked writes": "[s.__setitem__(m, 9), df.loc.__setitem__((m, 'x'), 7.0), s.values, df.values]",
    "groups": "df.groupby(np.arange(6) % 2).sum().values, df.groupby([np.arange(6) % 2, 'y']).sum().values",
    "tables and matrices": "(df * np.ones((6, 2))).values, (np.arange(6.0)[:, None] + df).values",
    "compared": "(df > np.ones((6, 2))).values, (df == np.arange(12.0).reshape(6, 2)).values",
    "ufuncs": "np.maximum(s, np.ones(6)), np.hypot(s, np.ones(6))",
    "codes": "pd.factorize(np.array([3, 1, 3])), pd.unique(np.array([2, 1, 2])), pd.cut(np.arange(6.0), 3).codes",
    "membership": "s.isin(np.array([1.0, 2.0])).values, pd.Index(np.arange(3)).get_indexer(np.array([2, 0]))",
    "what is missing": "np.mean(gaps), np.sum(gaps), np.std(gaps), np.mean(pd.DataFrame({0: gaps}), axis=0)",
    "methods": "np.clip(s, 1, 3), np.round(s / 3, 1), np.cumsum(s), np.argsort(-s)",
    "inside are arrays of NumPy's": "type(s._values), type(s.index._values), type((s + np.ones(6))._values)",
}


@pytest.mark.parametrize("name", PANDAS)
def test_pandas_as_with_numpy(name):
    pd = neighbour("pandas")

    def told(module):
        names = {"np": module, "pd": pd, "m": module.array([False] * 3 + [True] * 3)}
        names["s"] = pd.Series(module.arange(6.0), index=module.arange(6) * 2)
        names["df"] = pd.DataFrame({"x": module.arange(6.0), "y": module.arange(6) % 2})
        names["gaps"] = pd.Series([1.0, numpy.nan, 4.0])
        return [told_of(x) for x in eval(PANDAS[name], names)]

    def told_of(x):
        if isinstance(x, pd.Series):
            return type(x), x.index.tolist(), x.values.tolist()
        return [told_of(y) for y in x] if isinstance(x, tuple) else numpy.asarray(x).tolist()

    assert told(np) == told(numpy)


def test_libraries_that_compute_with_numpy_get_its_arrays():
    optimize, sparse, signal = (neighbour(f"scipy.{part}") for part in ("optimize", "sparse", "signal"))
    linalg = neighbour("scipy.sparse.linalg")
    for method in "L-BFGS-B", "SLSQP", "TNC", "BFGS":
        found = optimize.minimize(
            lambda p: ((p - np.arange(3.0)) ** 2).sum(),
            np.zeros(3),
            jac=lambda p: 2 * (p - np.arange(3.0)),
            method=method,
        )
        numpy.testing.assert_allclose(found.x, [0, 1, 2], atol=1e-4)
    square = sparse.csr_array(numpy.eye(3))
    assert (square + np.ones((3, 3))).tolist() == (numpy.eye(3) + 1).tolist()
    assert numpy.asarray(square == np.eye(3)).all() and numpy.asarray(square < np.full((3, 3), 2)).all()
    close(linalg.cg(np.eye(3) * 2, np.ones(3))[0], [0.5] * 3)
    wave = numpy.sin(numpy.arange(30.0))
    assert (signal.find_peaks(np.array(wave), height=np.zeros(30))[0] == signal.find_peaks(wave)[0]).all()


def test_grids_of_parameters():
    search, svm = neighbour("sklearn.model_selection"), neighbour("sklearn.svm")
    x = np.array(numpy.random.default_rng(0).normal(size=(60, 3)))
    found = search.GridSearchCV(svm.SVC(), {"C": np.logspace(-1, 1, 3)}).fit(x, (x[:, 0] > 0).astype(int))
    assert found.best_score_ > 0.8
