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
