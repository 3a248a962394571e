"""Fourier transforms: one long lane, many short ones, lengths that are prime."""

from . import Row


def long(rng):
    return rng.random(1 << 20) + 1j * rng.random(1 << 20)


def long_real(rng):
    return rng.random(1 << 20)


def long_single(rng):
    return (rng.random(1 << 20) + 1j * rng.random(1 << 20)).astype("c8")


def half(rng):
    return rng.random((1 << 19) + 1) + 0j


def prime(rng):
    return rng.random(1_000_003) + 0j


def plane(rng):
    return rng.random((2048, 2048)) + 0j


def real_plane(rng):
    return rng.random((2048, 2048))


def rows(rng):
    return rng.random((4000, 1000)) + 0j


def prime_rows(rng):
    return rng.random((1000, 1009)) + 0j


ROWS = [
    Row("fft 2^20", lambda np, x: np.fft.fft(x), (long,)),
    Row("fft 2^20 complex64", lambda np, x: np.fft.fft(x)[0], (long_single,)),
    Row("fft 2^20 of reals", lambda np, x: np.fft.fft(x), (long_real,)),
    Row("rfft 2^20", lambda np, x: np.fft.rfft(x), (long_real,)),
    Row("irfft 2^20", lambda np, x: np.fft.irfft(x), (half,)),
    Row("fft 1,000,003", lambda np, x: np.fft.fft(x), (prime,)),
    Row("fft2 2048^2", lambda np, x: np.fft.fft2(x), (plane,)),
    Row("rfft2 2048^2", lambda np, x: np.fft.rfft2(x), (real_plane,)),
    Row("fft of 4,000 rows", lambda np, x: np.fft.fft(x), (rows,)),
    Row("fft of 4,000 columns", lambda np, x: np.fft.fft(x, axis=0), (rows,)),
    Row("fft of rows of 1,009", lambda np, x: np.fft.fft(x), (prime_rows,)),
]
