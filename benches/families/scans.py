"""Running sums and products, ten million elements or a plane along either axis."""

from . import N, Row, short, uniform


def integers(rng):
    return rng.integers(-100, 100, N)


def near_one(rng):
    return rng.uniform(0.999, 1.001, N)


def near_one_short(rng):
    return near_one(rng).astype("f4")


def plane(rng):
    return rng.uniform(0.99, 1.01, (3000, 3000))


def short_plane(rng):
    return plane(rng).astype("f4")


def close(got, want):
    """Long running sums and products in single precision differ by their order."""
    return got.dtype == want.dtype and abs(got / want - 1).max() < 1e-2


ROWS = [
    Row("cumsum f64", lambda np, x: np.cumsum(x), (uniform,)),
    Row("cumsum f32", lambda np, x: np.cumsum(x), (short,), close),
    Row("cumsum i64", lambda np, x: np.cumsum(x), (integers,)),
    Row("cumprod f64", lambda np, x: np.cumprod(x), (near_one,)),
    Row("cumprod f32", lambda np, x: np.cumprod(x), (near_one_short,), close),
    Row("cumsum f64 axis 0", lambda np, x: np.cumsum(x, axis=0), (plane,)),
    Row("cumsum f64 axis 1", lambda np, x: np.cumsum(x, axis=1), (plane,)),
    Row("cumsum f32 axis 0", lambda np, x: np.cumsum(x, axis=0), (short_plane,)),
    Row("cumsum f32 axis 1", lambda np, x: np.cumsum(x, axis=1), (short_plane,)),
    Row("cumprod f64 axis 0", lambda np, x: np.cumprod(x, axis=0), (plane,)),
    Row("cumprod f64 axis 1", lambda np, x: np.cumprod(x, axis=1), (plane,)),
    Row("maximum.accumulate f64", lambda np, x: np.maximum.accumulate(x), (uniform,)),
]
