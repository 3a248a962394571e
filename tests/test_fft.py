"""Fourier transforms against NumPy: lengths, axes, norms, padding, dtypes, outputs, and mistakes."""

import numpy
import pytest

import numloom
from tests.test_functions import agree, data

ONE_AXIS = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]
DTYPES = ["bool", "int32", "float16", "float32", "float64", "complex64", "complex128"]
LENGTHS = [1, 2, 3, 5, 8, 17, 30, 97, 128, 1009]


def close(got, want, tolerance=64):
    got, want = numpy.asarray(got), numpy.asarray(want)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    eps = numpy.finfo(want.dtype).eps
    scale = float(numpy.max(numpy.abs(want), initial=1))
    numpy.testing.assert_allclose(got, want, rtol=tolerance * eps, atol=tolerance * eps * scale)


@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_shapes(name, dtype):
    for shape in [(), (0,), (1,), (7,), (8,), (3, 4), (2, 0, 3), (2, 3, 5)]:
        agree(lambda np, x: getattr(np.fft, name)(x), data(dtype, shape))


@pytest.mark.parametrize("n", [*range(1, 32), 38, 46])
def test_errors_do_not_add_up(n):
    """There and back within six units in the last place, as NumPy's own tests want it of positive numbers."""
    rng = numpy.random.default_rng(n)
    x = rng.random((200, n)) + 1j * rng.random((200, n))
    back = numloom.fft.fft(numloom.fft.ifft(numloom.array(x)))
    numpy.testing.assert_allclose(back, x, rtol=0, atol=6 * numpy.spacing(1.0))
    half = x[:, : n // 2 + 1].copy()
    half.imag[:, 0] = 0
    if n % 2 == 0:
        half.imag[:, -1] = 0
    back = numloom.fft.rfft(numloom.fft.irfft(numloom.array(half), n=n))
    numpy.testing.assert_allclose(back, half, rtol=0, atol=6 * numpy.spacing(1.0))


@pytest.mark.skipif(numpy.finfo(numpy.longdouble).eps > 1e-18, reason="needs a longer type to compare with")
@pytest.mark.parametrize("n", [13, 19, 23, 26, 38, 46])
def test_prime_lengths_are_accurate(n):
    rng = numpy.random.default_rng(n)
    z = rng.random((100, n)) + 1j * rng.random((100, n))
    spectrum = numpy.fft.rfft(z.real)
    for name, x in [("fft", z), ("ifft", z), ("rfft", z.real), ("irfft", spectrum)]:
        long = numpy.clongdouble if numpy.iscomplexobj(x) else numpy.longdouble
        exact = getattr(numpy.fft, name)(x.astype(long), n=n)
        got = numpy.asarray(getattr(numloom.fft, name)(numloom.array(x), n=n))
        error = numpy.sqrt((abs(got - exact) ** 2).sum() / (abs(exact) ** 2).sum())
        assert error < 0.9 * numpy.finfo(float).eps, name


@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize("n", LENGTHS)
def test_every_length(name, n):
    for dtype in ("float32", "complex64", "float64", "complex128"):
        if name in ("rfft", "ihfft") and dtype.startswith("c"):
            continue
        x = data(dtype, (3, n))
        close(getattr(numloom.fft, name)(numloom.array(x), n=n), getattr(numpy.fft, name)(x, n=n))


@pytest.mark.parametrize("n", [1 << 16, 3 << 15, 100003, 1 << 17])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_long_transforms(n, dtype):
    x = data(dtype, (n,))
    for call in (
        lambda np, x: np.fft.fft(x),
        lambda np, x: np.fft.ifft(x, norm="ortho"),
        lambda np, x: np.fft.fft(x[: n - n // 3], n),
        lambda np, x: np.fft.fft(x[::-2]),
        lambda np, x: np.fft.rfft(x.real),
        lambda np, x: np.fft.irfft(x),
    ):
        close(call(numloom, numloom.array(x)), call(numpy, x))


@pytest.mark.parametrize("name", ONE_AXIS)
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_norms_axes_and_padding(name, norm):
    x = data("float64", (4, 6, 5))
    for axis in (0, 1, 2, -1, -3):
        for n in (None, 1, 3, 6, 9):
            agree(lambda np, x, n=n, axis=axis: getattr(np.fft, name)(x, n=n, axis=axis, norm=norm), x)
            agree(
                lambda np, x, n=n, axis=axis: getattr(np.fft, name)(
                    x.transpose(2, 0, 1)[::-1], n=n, axis=axis, norm=norm
                ),
                x,
            )


@pytest.mark.parametrize("name", SEVERAL)
@pytest.mark.parametrize("dtype", ["int32", "float32", "float64", "complex64", "complex128"])
def test_several_axes(name, dtype):
    for shape in [(4, 6), (2, 5, 4), (3, 1, 7), (2, 0)]:
        x = data(dtype, shape)
        agree(lambda np, x: getattr(np.fft, name)(x), x)
        if 0 in shape and name.startswith("irfft"):
            # NumPy reads what is not there.
            continue
        agree(lambda np, x: getattr(np.fft, name)(x, norm="ortho", axes=(0, 1)), x)
        agree(lambda np, x: getattr(np.fft, name)(x, s=(5, 3), axes=(-1, 0)), x)
        agree(lambda np, x: getattr(np.fft, name)(x, s=(-1, 4), axes=(0, 1)), x)


def test_layouts_are_kept():
    for order in "CF":
        x = numpy.array(data("complex128", (6, 5, 4)), order=order)
        want, got = numpy.fft.fft(x, axis=1), numloom.fft.fft(numloom.array(x, order=order), axis=1)
        assert numpy.asarray(got).strides == want.strides


def test_output_arrays():
    x = data("complex128", (4, 6))
    ours, out = numloom.array(x), numloom.zeros((4, 6), dtype=complex)
    assert numloom.fft.fft(ours, out=out) is out
    close(out, numpy.fft.fft(x))
    assert numloom.fft.fftn(ours, out=ours) is ours
    close(ours, numpy.fft.fftn(x))
    for shape in [(4, 5), (4,), (6, 6)]:
        agree(lambda np, x, shape=shape: np.fft.fft(x, out=np.zeros(shape, dtype=complex)), x)


@pytest.mark.parametrize(
    "call",
    [
        lambda np, x: np.fft.fft(x, n=0),
        lambda np, x: np.fft.fft(x, n=-3),
        lambda np, x: np.fft.fft(x, axis=5),
        lambda np, x: np.fft.fft(x, n=4, axis=5),
        lambda np, x: np.fft.fft(x, norm="backwards"),
        lambda np, x: np.fft.ifft(x, norm="sideways"),
        lambda np, x: np.fft.hfft(x, norm=3),
        lambda np, x: np.fft.rfft(x * 1j),
        lambda np, x: np.fft.fft(x, n=2.5),
        lambda np, x: np.fft.fftn(x, s=(2, 3), axes=(0,)),
        lambda np, x: np.fft.fft("abc"),
        lambda np, x: np.fft.fftfreq(2.5),
        lambda np, x: np.fft.rfftfreq("n"),
    ],
)
def test_mistakes(call):
    agree(call, data("float64", (3, 4)))


def test_frequencies_and_shifts():
    for n in (1, 2, 7, 8):
        agree(lambda np, x, n=n: np.fft.fftfreq(n), data("float64", ()))
        agree(lambda np, x, n=n: np.fft.fftfreq(n, d=0.1), data("float64", ()))
        agree(lambda np, x, n=n: np.fft.rfftfreq(n, 0.5), data("float64", ()))
    for shape in [(5,), (6,), (3, 4), (2, 3, 5)]:
        for axes in (None, 0, -1, (0,)):
            agree(lambda np, x, axes=axes: np.fft.fftshift(x, axes=axes), data("float64", shape))
            agree(lambda np, x, axes=axes: np.fft.ifftshift(x, axes=axes), data("float64", shape))


def test_it_is_deferred_and_native():
    numloom.reset_coverage()
    x = numloom.arange(200_000.0)
    y = numloom.fft.ifft(numloom.fft.fft(x * 2.0)).real + 1.0
    close(y, numpy.arange(200_000.0) * 2.0 + 1.0)
    assert numloom.coverage(as_dict=True)["fallbacks"] == []
