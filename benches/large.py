"""Programs over arrays of megabytes, as people write them: `python benches/large.py`.

Each runs under NumPy and under Numloom in processes of its own, so that the first run is a first run and the peak of
memory is the program's. A program makes its inputs and answers a function that computes its results from them; results
are compared.
"""

from __future__ import annotations

import argparse
import gc
import json
import subprocess
import sys
import time
import tracemalloc

import numpy

PROGRAMS = {}


def program(make):
    PROGRAMS[make.__name__] = make
    return make


@program
def gray_scott(np, rng):
    n = 1024
    u = np.asarray(rng.random((n, n)))
    v = np.asarray(rng.random((n, n)))

    def lap(z):
        return np.roll(z, 1, 0) + np.roll(z, -1, 0) + np.roll(z, 1, 1) + np.roll(z, -1, 1) - 4 * z

    def run():
        a, b = u, v
        for _ in range(10):
            uvv = a * b * b
            a = a + 0.16 * lap(a) - uvv + 0.06 * (1 - a)
            b = b + 0.08 * lap(b) + uvv - 0.12 * b
        return a, b

    return run


@program
def life_roll(np, rng):
    g = np.asarray(rng.random((1024, 1024)) < 0.3)

    def run():
        z = g.astype(np.int32)
        for _ in range(10):
            n = sum(np.roll(np.roll(z, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
            z = ((n == 3) | ((z == 1) & (n == 2))).astype(np.int32)
        return z

    return run


@program
def cavity(np, rng):
    p0 = np.asarray(rng.random((512, 512)))
    b = np.asarray(rng.random((512, 512)))

    def run():
        p = p0.copy()
        for _ in range(50):
            pn = p.copy()
            p[1:-1, 1:-1] = ((pn[1:-1, 2:] + pn[1:-1, :-2]) + (pn[2:, 1:-1] + pn[:-2, 1:-1])) / 4 - b[1:-1, 1:-1]
            p[:, -1] = p[:, -2]
            p[0, :] = p[1, :]
            p[:, 0] = p[:, 1]
            p[-1, :] = 0
        return p

    return run


@program
def wave2d(np, rng):
    a0 = np.asarray(rng.random((1024, 1024)))

    def run():
        u0 = a0.copy()
        u1 = a0.copy()
        for _ in range(20):
            un = np.empty_like(u1)
            un[1:-1, 1:-1] = (
                2 * u1[1:-1, 1:-1]
                - u0[1:-1, 1:-1]
                + 0.1 * (u1[2:, 1:-1] + u1[:-2, 1:-1] + u1[1:-1, 2:] + u1[1:-1, :-2] - 4 * u1[1:-1, 1:-1])
            )
            un[0] = 0
            un[-1] = 0
            un[:, 0] = 0
            un[:, -1] = 0
            u0, u1 = u1, un
        return u1

    return run


@program
def ising(np, rng):
    s0 = np.asarray(numpy.where(rng.random((1024, 1024)) < 0.5, 1, -1))
    r = np.asarray(rng.random((4, 1024, 1024)))

    def run():
        s = s0.copy()
        m = (np.indices(s.shape).sum(0) % 2).astype(bool)
        for k in range(4):
            nb = np.roll(s, 1, 0) + np.roll(s, -1, 0) + np.roll(s, 1, 1) + np.roll(s, -1, 1)
            de = 2 * s * nb
            flip = (r[k] < np.exp(-de * 0.4)) & (m if k % 2 else ~m)
            s = np.where(flip, -s, s)
        return s

    return run


@program
def interp_img(np, rng):
    im = np.asarray(rng.random((1024, 1024)))
    yy = np.asarray(rng.random((1024, 1024)) * 1022)
    xx = np.asarray(rng.random((1024, 1024)) * 1022)

    def run():
        y0 = yy.astype(int)
        x0 = xx.astype(int)
        fy = yy - y0
        fx = xx - x0
        return (
            im[y0, x0] * (1 - fy) * (1 - fx)
            + im[y0 + 1, x0] * fy * (1 - fx)
            + im[y0, x0 + 1] * (1 - fy) * fx
            + im[y0 + 1, x0 + 1] * fy * fx
        )

    return run


@program
def rank_norm(np, rng):
    x = np.asarray(rng.random(1_000_000))

    def run():
        o = np.argsort(x)
        r = np.empty_like(o)
        r[o] = np.arange(len(o))
        return (r + 0.5) / len(r)

    return run


@program
def rbf(np, rng):
    x = np.asarray(rng.random((1500, 8)))

    def run():
        d = (x**2).sum(1)[:, None] + (x**2).sum(1)[None, :] - 2 * x @ x.T
        return np.exp(-0.5 * d)

    return run


@program
def sorts(np, rng):
    x = np.asarray(rng.random(1_000_000))

    def run():
        y = x
        for _ in range(4):
            y = np.sort(y)[::-1] * 1.01
        return y

    return run


@program
def spectra(np, rng):
    x = np.asarray(rng.random(1_000_000))

    def run():
        y = x
        for _ in range(4):
            f = np.fft.rfft(y)
            f[len(f) // 2 :] = 0
            y = np.fft.irfft(f, len(y))
        return y

    return run


@program
def moments(np, rng):
    x = np.asarray(rng.random(1_000_000))

    def run():
        y = x
        out = []
        for _ in range(6):
            c = np.cumsum(y)
            y = (c - c.mean()) / c.std()
            out.append(y.max())
        return np.array([float(v) for v in out])

    return run


@program
def pca(np, rng):
    x = np.asarray(rng.random((200000, 30)))

    def run():
        c = x - x.mean(0)
        cov = c.T @ c / (len(x) - 1)
        _w, v = np.linalg.eigh(cov)
        return np.abs(c @ v[:, -3:])

    return run


@program
def zscore(np, rng):
    x = np.asarray(rng.random((300000, 12)))

    def run():
        return (x - x.mean(axis=0)) / x.std(axis=0)

    return run


@program
def minmax(np, rng):
    x = np.asarray(rng.random((500000, 5)).astype("f4"))

    def run():
        lo, hi = x.min(0), x.max(0)
        return (x - lo) / (hi - lo) * np.arange(1, 6, dtype="f4")

    return run


@program
def kmeans(np, rng):
    x = np.asarray(rng.random((100000, 4)))
    c0 = np.asarray(rng.random((8, 4)))

    def run():
        c = c0
        for _ in range(5):
            d = ((x[:, None, :] - c[None]) ** 2).sum(-1)
            labels = d.argmin(1)
            c = np.stack([x[labels == k].mean(0) for k in range(8)])
        return c

    return run


@program
def nbody(np, rng):
    p0 = np.asarray(rng.random((1000, 3)))
    v0 = np.asarray(rng.random((1000, 3)))
    m = np.asarray(rng.random(1000))

    def run():
        p, v = p0, v0
        for _ in range(3):
            d = p[None] - p[:, None]
            r = np.sqrt((d**2).sum(-1) + 0.01)
            v = v + 0.01 * (d * (m[None, :, None] / r[..., None] ** 3)).sum(1)
            p = p + 0.01 * v
        return p

    return run


@program
def outer_stats(np, rng):
    x = np.asarray(rng.random((800, 500)))

    def run():
        return np.corrcoef(x)

    return run


@program
def heat3d(np, rng):
    a = np.asarray(rng.random((128, 128, 128)))

    def run():
        u = a.copy()
        for _ in range(10):
            around = (
                -6 * u[1:-1, 1:-1, 1:-1]
                + u[2:, 1:-1, 1:-1]
                + u[:-2, 1:-1, 1:-1]
                + u[1:-1, 2:, 1:-1]
                + u[1:-1, :-2, 1:-1]
                + u[1:-1, 1:-1, 2:]
                + u[1:-1, 1:-1, :-2]
            )
            u[1:-1, 1:-1, 1:-1] += 0.1 * around
        return u

    return run


@program
def advect_roll(np, rng):
    a = np.asarray(rng.random(2_000_000))

    def run():
        u = a
        for _ in range(20):
            u = u - 0.3 * (u - np.roll(u, 1))
        return u

    return run


@program
def blur_pad(np, rng):
    im = np.asarray(rng.random((1024, 1024)))

    def run():
        p = np.pad(im, 1, mode="edge")
        out = np.zeros_like(im)
        for i in range(3):
            for j in range(3):
                out += p[i : i + 1024, j : j + 1024] * (1.0 / 9)
        return out

    return run


@program
def lotka(np, rng):
    x0 = np.asarray(rng.random(500000) + 1)
    y0 = np.asarray(rng.random(500000) + 1)

    def run():
        x, y = x0, y0
        for _ in range(50):
            dx = x * (1.1 - 0.4 * y)
            dy = y * (0.1 * x - 0.4)
            x = x + 0.01 * dx
            y = y + 0.01 * dy
        return x + y

    return run


@program
def moving_avg(np, rng):
    x = np.asarray(rng.random(2_000_000))

    def run():
        c = np.cumsum(np.concatenate(([0.0], x)))
        return (c[50:] - c[:-50]) / 50

    return run


@program
def hist(np, rng):
    x = np.asarray(rng.standard_normal(2_000_000))

    def run():
        h, e = np.histogram(x, bins=100)
        return h / h.sum() / np.diff(e)

    return run


@program
def whiten(np, rng):
    x = np.asarray(rng.random((400, 400, 3)))

    def run():
        g = x @ np.array([0.299, 0.587, 0.114])
        y = (x - x.mean((0, 1))) / x.std((0, 1))
        return g[..., None] * y

    return run


@program
def mandel(np, rng):
    def run():
        y, x = np.ogrid[-1.2:1.2:500j, -2:0.6:600j]
        c = x + 1j * y
        z = np.zeros(c.shape, complex)
        n = np.zeros(c.shape, int)
        for _ in range(40):
            m = np.abs(z) <= 2
            z[m] = z[m] ** 2 + c[m]
            n += m
        return n

    return run


@program
def sieve(np, rng):
    def run():
        s = np.ones(2_000_000, bool)
        s[:2] = False
        for i in range(2, 1415):
            if s[i]:
                s[i * i :: i] = False
        return np.flatnonzero(s)

    return run


@program
def floyd(np, rng):
    d0 = np.asarray(rng.random((300, 300)))

    def run():
        d = d0.copy()
        for k in range(300):
            d = np.minimum(d, d[:, k, None] + d[None, k, :])
        return d

    return run


@program
def histeq(np, rng):
    im = np.asarray(rng.integers(0, 256, (1500, 1500)).astype("u1"))

    def run():
        h = np.bincount(im.ravel(), minlength=256)
        c = np.cumsum(h)
        c = c / c[-1]
        return (c[im] * 255).astype("u1")

    return run


@program
def sobel(np, rng):
    im = np.asarray(rng.random((1500, 1500)).astype("f4"))

    def run():
        gx = im[:-2, 2:] + 2 * im[1:-1, 2:] + im[2:, 2:] - im[:-2, :-2] - 2 * im[1:-1, :-2] - im[2:, :-2]
        gy = im[2:, :-2] + 2 * im[2:, 1:-1] + im[2:, 2:] - im[:-2, :-2] - 2 * im[:-2, 1:-1] - im[:-2, 2:]
        m = np.hypot(gx, gy)
        return m > m.mean() + m.std()

    return run


@program
def groupby(np, rng):
    k = np.asarray(rng.integers(0, 1000, 1_000_000))
    v = np.asarray(rng.random(1_000_000))

    def run():
        s = np.bincount(k, weights=v)
        n = np.bincount(k)
        m = s / n
        return m[k] - v

    return run


@program
def uniq(np, rng):
    k = np.asarray(rng.integers(0, 5000, 1_000_000))

    def run():
        u, inv, c = np.unique(k, return_inverse=True, return_counts=True)
        return u, c, (c / c.sum())[inv]

    return run


@program
def knn(np, rng):
    x = np.asarray(rng.random((2000, 16)))
    q = np.asarray(rng.random((500, 16)))

    def run():
        d = ((q[:, None, :] - x[None, :, :]) ** 2).sum(-1)
        i = np.argpartition(d, 5, axis=1)[:, :5]
        return np.sort(np.take_along_axis(d, i, 1), 1)

    return run


@program
def fftfilt(np, rng):
    im = np.asarray(rng.random((1024, 1024)))

    def run():
        f = np.fft.fftshift(np.fft.fft2(im))
        y, x = np.indices(im.shape)
        r = np.hypot(y - 512, x - 512)
        f[r > 100] = 0
        return np.fft.ifft2(np.fft.ifftshift(f)).real

    return run


@program
def finance(np, rng):
    p = np.asarray(100 * numpy.exp(numpy.cumsum(rng.standard_normal((500, 2000)) * 0.01, 0)))

    def run():
        r = np.diff(np.log(p), axis=0)
        v = r.std(0) * np.sqrt(252)
        cum = np.cumprod(1 + r, 0)
        dd = 1 - cum / np.maximum.accumulate(cum, 0)
        w = 1 / v / (1 / v).sum()
        return dd.max(0), (r @ w).std(), np.cov(r[:, :50].T)

    return run


@program
def montepi(np, rng):
    def run():
        g = np.random.default_rng(3)
        x, y = g.random(3_000_000), g.random(3_000_000)
        return np.array(4 * ((x * x + y * y) < 1).mean())

    return run


@program
def rk4(np, rng):
    def run():
        y = np.array([1.0, 0.0, 0.5])
        h = 0.01

        def f(y):
            return np.array([10 * (y[1] - y[0]), y[0] * (28 - y[2]) - y[1], y[0] * y[1] - 8 / 3 * y[2]])

        out = np.empty((1000, 3))
        for i in range(1000):
            k1 = f(y)
            k2 = f(y + h / 2 * k1)
            k3 = f(y + h / 2 * k2)
            k4 = f(y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            out[i] = y
        return out

    return run


@program
def medfilt(np, rng):
    im = np.asarray(rng.random((400, 400)))

    def run():
        w = np.lib.stride_tricks.sliding_window_view(np.pad(im, 1, mode="reflect"), (3, 3))
        return np.median(w, axis=(-1, -2))

    return run


@program
def nmf(np, rng):
    v = np.asarray(rng.random((500, 400)))
    w0 = np.asarray(rng.random((500, 20)))
    h0 = np.asarray(rng.random((20, 400)))

    def run():
        w, h = w0, h0
        for _ in range(30):
            h = h * (w.T @ v) / (w.T @ w @ h + 1e-9)
            w = w * (v @ h.T) / (w @ h @ h.T + 1e-9)
        return w @ h

    return run


@program
def mlp(np, rng):
    X = np.asarray(rng.random((5000, 100)))
    Y = np.asarray(rng.random((5000, 10)))
    w10 = np.asarray(rng.random((100, 64)) - 0.5)
    w20 = np.asarray(rng.random((64, 10)) - 0.5)

    def run():
        w1, w2 = w10.copy(), w20.copy()
        for _ in range(10):
            h = np.tanh(X @ w1)
            o = h @ w2
            e = (o - Y) / len(X)
            g2 = h.T @ e
            g1 = X.T @ ((e @ w2.T) * (1 - h**2))
            w1 -= 0.1 * g1
            w2 -= 0.1 * g2
        return w1, w2

    return run


@program
def kalman(np, rng):
    z = np.asarray(rng.random(2000))

    def run():
        x = np.zeros(2)
        p = np.eye(2)
        a = np.array([[1, 0.1], [0, 1]])
        hh = np.array([[1.0, 0]])
        q = np.eye(2) * 1e-3
        out = []
        for k in range(300):
            x = a @ x
            p = a @ p @ a.T + q
            s = hh @ p @ hh.T + 0.1
            kk = p @ hh.T / s
            x = x + (kk * (z[k] - hh @ x)).ravel()
            p = (np.eye(2) - kk @ hh) @ p
            out.append(float(x[0]))
        return np.array(out)

    return run


@program
def onehot(np, rng):
    labels = np.asarray(rng.integers(0, 50, 200000))

    def run():
        o = np.zeros((len(labels), 50), "f4")
        o[np.arange(len(labels)), labels] = 1
        return o.sum(0), (o * np.arange(50)).sum(1)

    return run


@program
def life_slices(np, rng):
    z0 = np.asarray(rng.integers(0, 2, (1000, 1000)))

    def run():
        z = z0.copy()
        for _ in range(10):
            n = (
                z[:-2, :-2]
                + z[:-2, 1:-1]
                + z[:-2, 2:]
                + z[1:-1, :-2]
                + z[1:-1, 2:]
                + z[2:, :-2]
                + z[2:, 1:-1]
                + z[2:, 2:]
            )
            b = (n == 3) & (z[1:-1, 1:-1] == 0)
            s = ((n == 2) | (n == 3)) & (z[1:-1, 1:-1] == 1)
            z[...] = 0
            z[1:-1, 1:-1][b | s] = 1
        return z

    return run


@program
def autocorr(np, rng):
    x = np.asarray(rng.standard_normal(200000))

    def run():
        y = x - x.mean()
        c0 = (y * y).sum()
        return np.array([float((y[k:] * y[:-k]).sum() / c0) for k in range(1, 100)])

    return run


@program
def burgers(np, rng):
    x = np.asarray(numpy.sin(numpy.linspace(0, 6.28, 400000)))

    def run():
        u = x.copy()
        for _ in range(50):
            un = u.copy()
            u[1:-1] = un[1:-1] - 0.1 * un[1:-1] * (un[1:-1] - un[:-2]) + 0.01 * (un[2:] - 2 * un[1:-1] + un[:-2])
            u[0] = un[0] - 0.1 * un[0] * (un[0] - un[-2])
            u[-1] = u[0]
        return u

    return run


@program
def fdtd(np, rng):
    def run():
        n = 600
        ez = np.zeros((n, n))
        hx = np.zeros((n, n - 1))
        hy = np.zeros((n - 1, n))
        for t in range(60):
            hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
            hy += 0.5 * (ez[1:] - ez[:-1])
            ez[1:-1, 1:-1] += 0.5 * ((hy[1:, 1:-1] - hy[:-1, 1:-1]) - (hx[1:-1, 1:] - hx[1:-1, :-1]))
            ez[300, 300] += np.sin(0.1 * t)
        return ez

    return run


@program
def lstsq(np, rng):
    x = np.asarray(rng.random(200000))
    y = np.asarray(rng.random(200000))

    def run():
        A = np.vstack([x**i for i in range(4)]).T
        c, *_ = np.linalg.lstsq(A, y, rcond=None)
        return c, np.polyfit(x, y, 2)

    return run


@program
def rowsort(np, rng):
    x = np.asarray(rng.random((2000, 500)))

    def run():
        s = np.sort(x, 1)
        return s[:, [25, 250, 475]], np.argsort(x, 1)[:, 0], np.percentile(x, [5, 50, 95], axis=1)

    return run


@program
def einsums(np, rng):
    a = np.asarray(rng.random((100, 50, 60)))
    b = np.asarray(rng.random((100, 60, 40)))

    def run():
        return np.einsum("bij,bjk->bik", a, b), np.einsum("bij->ij", a), np.einsum("bij,bij->b", a, a)

    return run


@program
def texts(np, rng):
    x = np.asarray(rng.random((1000, 1000)))

    def run():
        t = np.triu(x) + np.triu(x, 1).T
        m = np.where(t > 0.5, t, 0)
        i, j = np.nonzero(m > 0.99)
        return m[i, j].sum(), np.diag(t).copy(), np.trace(t), m.argmax(1)

    return run


@program
def percols(np, rng):
    x = np.asarray(rng.random((100000, 20)))

    def run():
        out = []
        for j in range(20):
            c = x[:, j]
            out.append([float(c.mean()), float(c.std()), float(np.median(c)), float(c.max())])
        return np.array(out)

    return run


def outcome(name: str, ours: bool, memory: bool, rounds: int) -> dict[str, float]:
    """What one process finds."""
    if ours:
        import numloom as module
    else:
        module = numpy
    if memory and not ours:
        tracemalloc.start()
    run = PROGRAMS[name](module, numpy.random.default_rng(1))
    gc.collect()
    finish = module.sync if ours else lambda: None
    finish()
    times = []
    for _ in range(1 if memory else rounds):
        # What a round made is gone before the next.
        results = None
        begun = time.perf_counter()
        results = run()
        finish()
        times.append((time.perf_counter() - begun) * 1e3)
    peak = (module.stats()["peak_bytes"] if ours else tracemalloc.get_traced_memory()[1]) if memory else 0
    many = results if isinstance(results, tuple) else (results,)
    total = sum(float(numpy.nan_to_num(numpy.asarray(r).astype("f8")).sum()) for r in many)
    return {"first": times[0], "best": min(times), "peak": peak / 1e6, "total": total}


def measured(name: str, ours: bool, memory: bool, rounds: int) -> dict[str, float]:
    words = [sys.executable, __file__, "--one", name, "--rounds", str(rounds)]
    words += ["--ours"] * ours + ["--memory"] * memory
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="programs whose names contain this")
    parser.add_argument("--rounds", type=int, default=7)
    for hidden in ("--ours", "--memory"):
        parser.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(outcome(given.one, given.ours, given.memory, given.rounds)))
        return
    print("| program | NumPy, ms | Numloom, ms | ratio | of the first run | peak MB, NumPy / Numloom |")
    print("|---|---|---|---|---|---|")
    for name in PROGRAMS:
        if given.only and not any(word in name for word in given.only):
            continue
        theirs, ours = (measured(name, ours, False, given.rounds) for ours in (False, True))
        peaks = [measured(name, ours, True, 1)["peak"] for ours in (False, True)]
        near = abs(theirs["total"] - ours["total"]) <= 1e-6 * abs(theirs["total"]) + 1e-6
        ratio, first = theirs["best"] / ours["best"], theirs["first"] / ours["first"]
        print(
            f"| {name} | {theirs['best']:.1f} | {ours['best']:.1f} | **{ratio:.2f}** | {first:.2f} "
            f"| {peaks[0]:.1f} / {peaks[1]:.1f} |{'' if near else ' WRONG'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
