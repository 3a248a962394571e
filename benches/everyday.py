"""Programs as people write them, under NumPy and under Numloom by turns: `python benches/everyday.py`.

They are of middling size, with loops, element reads and in-place updates, and none was written for this library.
Results are compared. Best of the rounds, each in one process for both, so that both see the same machine.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy

RANDOM = numpy.random.default_rng(0)
SQUARE = RANDOM.random((250, 250))
POINTS = RANDOM.random((20_000, 2))
BODIES = RANDOM.random((300, 3))
LINE = RANDOM.random(200_000)
CELLS = (RANDOM.random((500, 500)) < 0.3).astype("int8")
IMAGE = RANDOM.integers(0, 256, (600, 800))
WORDS = RANDOM.integers(0, 4, 600), RANDOM.integers(0, 4, 600)
LINKS = RANDOM.random((600, 600)) < 0.02


def heat(np):
    u = np.zeros((1024, 1024))
    u[256:512, 256:512] = 100.0
    for _ in range(60):
        u[1:-1, 1:-1] += 0.1 * (
            u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1]
        )  # fmt: skip
    return u.sum()


def fdtd(np):
    n = 400
    ez, hx, hy = np.zeros((n, n)), np.zeros((n, n - 1)), np.zeros((n - 1, n))
    for t in range(200):
        hx -= 0.5 * (ez[:, 1:] - ez[:, :-1])
        hy += 0.5 * (ez[1:, :] - ez[:-1, :])
        ez[1:-1, 1:-1] += 0.5 * ((hy[1:, 1:-1] - hy[:-1, 1:-1]) - (hx[1:-1, 1:] - hx[1:-1, :-1]))
        ez[n // 2, n // 2] += np.exp(-(((t - 30) / 10.0) ** 2))
    return (ez**2).sum()


def wave(np):
    u = np.zeros(20_000)
    u[9_000:11_000] = np.sin(np.linspace(0, math.pi, 2_000))
    before = u.copy()
    for _ in range(300):
        after = 2 * u - before
        after[1:-1] += 0.25 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, u = u, after
    return (u**2).sum()


def nbody(np):
    p, v, m = np.array(BODIES), np.zeros(BODIES.shape), np.array(BODIES[:, 0])
    for _ in range(30):
        d = p[None, :, :] - p[:, None, :]
        r2 = (d**2).sum(-1) + 0.01
        v += (d * (m[None, :] / r2**1.5)[:, :, None]).sum(1) * 0.01
        p += v * 0.01
    return p.sum()


def kmeans(np):
    x = np.array(POINTS)
    c = x[:8].copy()
    for _ in range(15):
        nearest = ((x[:, None, :] - c[None, :, :]) ** 2).sum(-1).argmin(1)
        for j in range(8):
            mine = nearest == j
            if mine.any():
                c[j] = x[mine].mean(0)
    return c.sum()


def life(np):
    g = np.array(CELLS)
    for _ in range(40):
        s = sum(np.roll(np.roll(g, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j)
        g = ((s == 3) | ((g == 1) & (s == 2))).astype("int8")
    return g.sum()


def lorenz(np):
    x, y, z = (np.array(LINE[k : k + 20_000]) for k in (0, 20_000, 40_000))
    for _ in range(200):
        dx, dy, dz = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        x, y, z = x + dx * 0.005, y + dy * 0.005, z + dz * 0.005
    return x.sum() + y.sum() + z.sum()


def sieve(np):
    s = np.ones(2_000_000, dtype=bool)
    s[:2] = False
    for i in range(2, 1415):
        if s[i]:
            s[i * i :: i] = False
    return s.sum()


def floyd(np):
    d = np.array(SQUARE)
    for k in range(250):
        d = np.minimum(d, d[:, k : k + 1] + d[k : k + 1, :])
    return d.sum()


def edit_distance(np):
    a, b = (np.array(w) for w in WORDS)
    row = np.arange(601)
    places = np.arange(601)
    for i in range(600):
        other = np.empty(601, dtype=row.dtype)
        other[0] = i + 1
        other[1:] = np.minimum(row[1:] + 1, row[:-1] + (b != a[i]))
        row = np.minimum.accumulate(other - places) + places
    return row[-1]


def gram_schmidt(np):
    q = np.array(LINE[:100_000]).reshape(1000, 100).copy()
    for j in range(100):
        for i in range(0, j, 10):
            q[:, j] -= (q[:, i] @ q[:, j]) * q[:, i]
        q[:, j] /= np.linalg.norm(q[:, j])
    return abs(q).sum()


def mandelbrot(np):
    x, y = np.meshgrid(np.linspace(-2, 0.5, 400), np.linspace(-1.2, 1.2, 400))
    c = x + 1j * y
    z, count = np.zeros_like(c), np.zeros(c.shape, dtype=int)
    for _ in range(40):
        inside = np.abs(z) < 2
        z[inside] = z[inside] ** 2 + c[inside]
        count += inside
    return count.sum()


def logistic_map(np):
    r, x = np.linspace(2.5, 4, 100_000), np.full(100_000, 0.3)
    for _ in range(100):
        x = r * x * (1 - x)
    return np.round(x, 3)[:30_000].sum()


def pi(np):
    g = np.random.default_rng(1)
    inside = 0
    for _ in range(10):
        x, y = g.random(200_000), g.random(200_000)
        inside += int((x * x + y * y < 1).sum())
    return inside


def rolling(np):
    x = np.array(LINE)
    sums = np.cumsum(np.concatenate([np.zeros(1), x]))
    squares = np.cumsum(np.concatenate([np.zeros(1), x * x]))
    out = 0.0
    for w in (10, 50, 250, 1000):
        mean = (sums[w:] - sums[:-w]) / w
        out += np.sqrt(np.maximum((squares[w:] - squares[:-w]) / w - mean**2, 0)).mean()
    return out


def pagerank(np):
    a = np.array(LINKS).astype(float)
    a /= np.maximum(a.sum(0), 1)
    r = np.full(600, 1 / 600)
    for _ in range(100):
        new = 0.15 / 600 + 0.85 * (a @ r)
        if np.abs(new - r).sum() < 1e-14:
            break
        r = new
    return r.sum()


def network(np):
    x, y = np.array(POINTS[:2000]), np.array((POINTS[:2000].sum(1) > 1).astype(float))[:, None]
    w1, w2 = np.array(SQUARE[:2, :32]) - 0.5, np.array(SQUARE[:32, :1]) - 0.5
    for _ in range(100):
        h = np.tanh(x @ w1)
        p = 1 / (1 + np.exp(-(h @ w2)))
        e = (p - y) / len(x)
        g2, back = h.T @ e, (e @ w2.T) * (1 - h**2)
        w1 -= 0.5 * (x.T @ back)
        w2 -= 0.5 * g2
    return p.mean()


def group_by(np):
    keys, values = np.array(IMAGE.ravel()), np.array(LINE)
    values = np.concatenate([values, values, values[: keys.size - 2 * values.size]])
    total = np.bincount(keys, weights=values, minlength=256)
    largest = np.zeros(256)
    np.maximum.at(largest, keys, values)
    order = np.argsort(keys, kind="stable")
    return total.sum() + largest.sum() + values[order][:1000].sum()


def fft_filter(np):
    x = np.array(LINE)
    spectrum = np.fft.rfft(x)
    spectrum[np.abs(spectrum) < 200] = 0
    return np.abs(np.fft.irfft(spectrum, x.size)).sum()


def distances(np):
    p = np.array(POINTS[:1500])
    d = np.sqrt(((p[:, None, :] - p[None, :, :]) ** 2).sum(-1))
    np.fill_diagonal(d, np.inf)
    return d.min(1).sum() + np.argmin(d, 1).sum()


def equalised(np):
    image = np.array(IMAGE)
    counts = np.bincount(image.ravel(), minlength=256)
    cdf = np.cumsum(counts)
    table = np.round((cdf - cdf.min()) / (image.size - cdf.min()) * 255).astype(np.uint8)
    return table[image].astype(int).sum()


def fits(np):
    x = np.linspace(-1, 1, 5_000)
    y = np.array(LINE[:5_000]) * 0.1 + x**3
    return sum(np.polyval(np.polyfit(x, y, k), 0.5) for k in range(1, 9))


def particles(np):
    p, v = np.array(POINTS), np.array(POINTS[::-1]) - 0.5
    for _ in range(100):
        p += v * 0.01
        outside = (p < 0) | (p > 1)
        v[outside] *= -1
        np.clip(p, 0, 1, out=p)
    return p.sum()


def tridiagonal(np):
    n = 2_000
    a, b, c, d = (np.array(LINE[k * n : (k + 1) * n]) + 1 for k in range(4))
    b = b + 4
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x.sum()


PROGRAMS = [
    heat, fdtd, wave, nbody, kmeans, life, lorenz, sieve, floyd, edit_distance, gram_schmidt, mandelbrot,
    logistic_map, pi, rolling, pagerank, network, group_by, fft_filter, distances, equalised, fits,
    particles, tridiagonal,
]  # fmt: skip


def main() -> None:
    import numloom

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="programs whose names contain this")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print(f"{'program':<16}{'NumPy, ms':>12}{'Numloom, ms':>14}{'ratio':>8}")
    for program in PROGRAMS:
        if given.only and not any(word in program.__name__ for word in given.only):
            continue
        best, results = {}, {}
        for _ in range(given.rounds):
            for module in (numpy, numloom):
                begun = time.perf_counter()
                results[module] = float(program(module))
                took = (time.perf_counter() - begun) * 1e3
                best[module] = min(best.get(module, took), took)
        right = math.isclose(results[numpy], results[numloom], rel_tol=1e-9)
        mine, theirs = best[numloom], best[numpy]
        wrong = "" if right else "  WRONG"
        print(f"{program.__name__:<16}{theirs:>12.2f}{mine:>14.2f}{theirs / mine:>8.2f}{wrong}", flush=True)


if __name__ == "__main__":
    main()
