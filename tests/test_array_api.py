"""The array API standard as programs use it: the namespace, what it says of itself, and its functions."""

import inspect

import numpy
import pytest

import numloom as np

from .test_functions import agree

FUNCTIONS = """abs acos acosh add all any arange argmax argmin argsort asarray asin asinh astype atan atan2 atanh
bitwise_and bitwise_invert bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor broadcast_arrays broadcast_to
can_cast ceil clip concat conj copysign cos cosh count_nonzero cumulative_prod cumulative_sum diff divide empty
empty_like equal exp expand_dims expm1 eye finfo flip floor floor_divide from_dlpack full full_like greater
greater_equal hypot iinfo imag isdtype isfinite isinf isnan less less_equal linspace log log10 log1p log2 logaddexp
logical_and logical_not logical_or logical_xor matmul matrix_transpose max maximum mean meshgrid min minimum moveaxis
multiply negative nextafter nonzero not_equal ones ones_like permute_dims positive pow prod real reciprocal remainder
repeat reshape result_type roll round searchsorted sign signbit sin sinh sort sqrt square squeeze stack std subtract sum
take take_along_axis tan tanh tensordot tile tril triu trunc unique_all unique_counts unique_inverse unique_values
unstack var vecdot where zeros zeros_like""".split()
CONSTANTS = ["e", "inf", "nan", "newaxis", "pi"]
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
LINALG = """cholesky cross det diagonal eigh eigvalsh inv matmul matrix_norm matrix_power matrix_rank matrix_transpose
outer pinv qr slogdet solve svd svdvals tensordot trace vecdot vector_norm""".split()
FFT = "fft ifft fftn ifftn rfft irfft rfftn irfftn hfft ihfft fftfreq rfftfreq fftshift ifftshift".split()


def test_the_namespace_is_whole():
    x = np.arange(3.0)
    namespace = x.__array_namespace__()
    assert namespace is np and x.__array_namespace__(api_version="2024.12") is np
    assert np.__array_api_version__ == numpy.__array_api_version__ >= "2024.12"
    for name in FUNCTIONS + CONSTANTS + DTYPES:
        assert hasattr(namespace, name), name
    for module, names in ((np.linalg, LINALG), (np.fft, FFT)):
        assert [name for name in names if not callable(getattr(module, name, None))] == []


@pytest.mark.parametrize("version", ["2021.12", "2022.12", "2023.12", "2024.12", None, "1999.01"])
def test_versions_are_numpys(version):
    def answer(module):
        try:
            return module.arange(3).__array_namespace__(api_version=version).__name__
        except Exception as error:
            return type(error)

    theirs = answer(numpy)
    assert answer(np) == ("numloom" if theirs == "numpy" else theirs)


def test_what_the_namespace_says_of_itself():
    info = np.__array_namespace_info__()
    assert info.capabilities() == numpy.__array_namespace_info__().capabilities()
    assert info.default_device() in info.devices()
    assert info.default_dtypes()["real floating"] == np.float64
    assert set(info.dtypes()) == set(DTYPES)
    assert set(info.dtypes(kind="signed integer")) == {"int8", "int16", "int32", "int64"}


def test_device():
    x = np.arange(4.0)
    assert x.device == "cpu" and x.to_device("cpu") is x
    with pytest.raises(ValueError):
        x.to_device("moon")
    for make in (lambda d: np.zeros(3, device=d), lambda d: np.asarray([1], device=d), lambda d: np.eye(2, device=d)):
        assert make("cpu").device == "cpu"
        with pytest.raises(ValueError):
            make("moon")


@pytest.mark.parametrize("method", ["__dlpack__", "__dlpack_device__", "__array_namespace__", "to_device"])
def test_methods_can_be_inspected(method):
    ours = inspect.signature(getattr(np.ndarray, method)).parameters
    wanted = {"__dlpack__": {"stream", "max_version", "dl_device", "copy"}, "__array_namespace__": {"api_version"}}
    assert wanted.get(method, set()) <= set(ours)


CALLS = {
    "unique_all": lambda np, x: tuple(np.unique_all(x.astype("i8"))),
    "unique_counts": lambda np, x: tuple(np.unique_counts(x.astype("i8"))),
    "unique_inverse": lambda np, x: tuple(np.unique_inverse(x.astype("i8"))),
    "unique_values": lambda np, x: np.sort(np.unique_values(x.astype("i8"))),
    "unique_all names": lambda np, x: np.unique_all(x)._fields,
    "matrix_transpose": lambda np, x: (np.matrix_transpose(x), x.mT, np.linalg.matrix_transpose(x)),
    "vecdot": lambda np, x: (np.vecdot(x, x), np.linalg.vecdot(x, x), np.linalg.vecdot(x, x, axis=0)),
    "vecdot outside": lambda np, x: np.linalg.vecdot(x, x, axis=5),
    "cumulative": lambda np, x: (np.cumulative_sum(x, axis=0), np.cumulative_prod(x, axis=1, include_initial=True)),
    "take_along_axis": lambda np, x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0),
    "count_nonzero": lambda np, x: np.count_nonzero(x, axis=0, keepdims=True),
    "diff": lambda np, x: np.diff(x, n=2, axis=0, prepend=x[:1], append=x[-1:]),
    "nextafter": lambda np, x: np.nextafter(x, x + 1),
    "isdtype": lambda np, x: [np.isdtype(x.dtype, kind) for kind in ("integral", "real floating", ("bool", "numeric"))],
    "astype": lambda np, x: np.astype(x, np.float32, copy=False, device="cpu"),
    "tensordot": lambda np, x: np.linalg.tensordot(x, x, axes=((0,), (0,))),
    "norms": lambda np, x: (np.linalg.vector_norm(x, axis=(0, 1)), np.linalg.matrix_norm(x, keepdims=True)),
    "unstack": lambda np, x: np.unstack(x, axis=1),
    "permute_dims": lambda np, x: np.permute_dims(x, (1, 0)),
    "searchsorted": lambda np, x: np.searchsorted(np.arange(4.0), x, side="right"),
    "std": lambda np, x: (np.std(x, correction=1), np.var(x, axis=0, correction=0.5, keepdims=True)),
    "bit names": lambda np, x: np.bitwise_left_shift(x.astype("i8"), 2) + np.bitwise_invert(x.astype("i8")),
    "trace": lambda np, x: np.linalg.trace(x, offset=1, dtype="c16"),
    "result_type": lambda np, x: np.result_type(x, np.float32, 1j),
}


@pytest.mark.parametrize("name", CALLS)
def test_functions(name):
    agree(CALLS[name], numpy.random.default_rng(5).integers(-3, 4, (5, 6)).astype(float))


def test_descending_keeps_equal_elements_in_order():
    x = numpy.random.default_rng(2).integers(0, 4, (6, 9))
    ours = np.array(x)
    for axis in (0, 1, -1, None):
        last = 0 if axis is None else axis
        wanted = numpy.flip(numpy.sort(x, axis), last)
        assert (np.sort(ours, axis=axis, descending=True) == wanted).all()
        assert (np.argsort(ours, axis=axis, descending=True) == numpy.argsort(-x, axis, stable=True)).all()
    assert np.sort(np.array([3, 1, 2]), descending=False).tolist() == [1, 2, 3]
    with pytest.raises(ValueError, match="axis 7"):
        np.sort(ours, axis=7, descending=True)


def test_frequencies_of_a_type():
    for name in ("fftfreq", "rfftfreq"):
        made = getattr(np.fft, name)(8, d=0.5, dtype=np.float32)
        assert made.dtype == np.float32 and (made == getattr(numpy.fft, name)(8, d=0.5).astype("f4")).all()


def test_exchange_shares_memory():
    x = np.arange(6.0)
    y = numpy.from_dlpack(x)
    assert numpy.shares_memory(y, numpy.asarray(x))
    z = np.from_dlpack(numpy.arange(3))
    assert isinstance(z, np.ndarray) and z.tolist() == [0, 1, 2]
    assert not numpy.shares_memory(numpy.from_dlpack(x, copy=True), numpy.asarray(x))
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))
