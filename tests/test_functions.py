"""Every composed function against NumPy, over dtypes and shapes: values, dtype and shape, or the same error."""

import warnings

import numpy
import pytest

import numloom

DTYPES = ["bool", "int8", "uint8", "int32", "int64", "float16", "float32", "float64", "complex64", "complex128"]
SHAPES = [(), (0,), (1,), (7,), (3, 4), (0, 3), (2, 3, 4)]


def data(dtype, shape, seed=0):
    g = numpy.random.default_rng(seed)
    if dtype == "bool":
        return g.random(shape) < 0.5 if shape else numpy.array(True)
    if numpy.dtype(dtype).kind in "iu":
        return numpy.asarray(g.integers(0, 20, shape)).astype(dtype)
    x = numpy.asarray(g.normal(size=shape) * 2)
    if numpy.dtype(dtype).kind == "c":
        x = x + 1j * numpy.asarray(g.normal(size=shape))
    return numpy.asarray(x).astype(dtype)


def outcome(call, module, *arrays):
    """What a call gives: ("ok", value) or ("raised", type)."""
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return "ok", call(module, *arrays)
        except Exception as error:
            return "raised", type(error)


def same(got, want, path="result"):
    if isinstance(want, tuple | list):
        assert type(got) is type(want) and len(got) == len(want), path
        for i, (g, w) in enumerate(zip(got, want)):
            same(g, w, f"{path}[{i}]")
        return
    if want is None or isinstance(want, bool | str | int | numpy.dtype | type):
        assert got == want, f"{path}: {got!r}, want {want!r}"
        return
    ours = numpy.asarray(got)
    want = numpy.asarray(want)
    assert ours.shape == want.shape, f"{path}: shape {ours.shape}, want {want.shape}"
    assert ours.dtype == want.dtype, f"{path}: dtype {ours.dtype}, want {want.dtype}"
    if want.dtype.kind in "fc":
        eps = numpy.finfo(want.dtype).eps
        scale = numpy.max(numpy.abs(want[numpy.isfinite(want)]), initial=1)
        numpy.testing.assert_allclose(ours, want, rtol=64 * eps, atol=16 * eps * float(scale), err_msg=path)
    else:
        numpy.testing.assert_array_equal(ours, want, err_msg=path)


def agree(call, *arrays):
    kind, want = outcome(call, numpy, *[a.copy() for a in arrays])
    ours, got = outcome(call, numloom, *[numloom.array(a) for a in arrays])
    assert ours == kind, f"{ours} {got!r}, want {kind} {want!r}"
    if kind == "raised":
        assert issubclass(got, want) or issubclass(want, got), f"{got}, want {want}"
    else:
        same(got, want)


UNARY = {
    name: (lambda np, x, name=name: getattr(np, name)(x))
    for name in """copy asarray asanyarray array ascontiguousarray asfortranarray zeros_like ones_like ravel transpose
    permute_dims matrix_transpose squeeze atleast_1d atleast_2d atleast_3d flip fliplr flipud rot90 nonzero
    flatnonzero argwhere diag diagflat tril triu sum prod max amax min amin any all mean var std ptp argmax argmin
    count_nonzero cumsum cumprod average median trace diagonal nansum nanprod nancumsum nancumprod nanmin nanmax
    nanargmin nanargmax nanmean nanvar nanstd nanmedian isreal iscomplex real imag angle iscomplexobj isrealobj
    real_if_close isscalar isposinf isneginf result_type common_type round around fix nan_to_num sinc unwrap
    gradient trapezoid ediff1d diff vander meshgrid ndim shape size sort argsort unique isfortran trim_zeros
    cumulative_sum cumulative_prod atleast_1d broadcast_arrays unstack ix_ cov asarray_chkfinite min_scalar_type
    iterable column_stack dstack hstack vstack stack concatenate block""".split()
}

CALLS = {
    "full_like": lambda np, x: np.full_like(x, 3),
    "empty_like": lambda np, x: (lambda e: (e.shape, e.dtype))(np.empty_like(x)),
    "zeros_like dtype": lambda np, x: np.zeros_like(x, dtype="f4", order="F"),
    "ones_like shape": lambda np, x: np.ones_like(x, shape=(2, 2, 2, 2)),
    "astype": lambda np, x: np.astype(x, "c16"),
    "array of arrays": lambda np, x: np.array([x, x]),
    "array of scalars": lambda np, x: np.array([x.sum(), x.max()]),
    "array ndmin": lambda np, x: np.array(x, ndmin=4),
    "reshape": lambda np, x: np.reshape(x, -1),
    "reshape F": lambda np, x: np.reshape(x, (-1, 2), order="F"),
    "ravel F": lambda np, x: np.ravel(x, "F"),
    "transpose axes": lambda np, x: np.transpose(x, (1, 0)),
    "moveaxis": lambda np, x: np.moveaxis(x, 0, -1),
    "moveaxis many": lambda np, x: np.moveaxis(x, [0, 1], [-1, 0]),
    "rollaxis": lambda np, x: np.rollaxis(x, 1),
    "swapaxes": lambda np, x: np.swapaxes(x, 0, -1),
    "squeeze axis": lambda np, x: np.squeeze(x, 0),
    "expand_dims": lambda np, x: np.expand_dims(x, (0, -1)),
    "broadcast_to": lambda np, x: np.broadcast_to(x, (2, *x.shape)),
    "broadcast_to bad": lambda np, x: np.broadcast_to(x, (5, 5)),
    "broadcast_arrays": lambda np, x: np.broadcast_arrays(x, np.ones((2, *x.shape))),
    "flip axis": lambda np, x: np.flip(x, -1),
    "rot90 3": lambda np, x: np.rot90(x, 3, (-1, 0)),
    "rot90 2": lambda np, x: np.rot90(x, 2),
    "roll": lambda np, x: np.roll(x, 2),
    "roll axis": lambda np, x: np.roll(x, -1, axis=-1),
    "roll axes": lambda np, x: np.roll(x, (1, 2), axis=(0, 1)),
    "repeat": lambda np, x: np.repeat(x, 2),
    "repeat axis": lambda np, x: np.repeat(x, 3, axis=-1),
    "repeat counts": lambda np, x: np.repeat(x, [2] * (x.shape[0] if x.ndim else 1), axis=0),
    "tile": lambda np, x: np.tile(x, 2),
    "tile many": lambda np, x: np.tile(x, (2, 1, 3)),
    "resize": lambda np, x: np.resize(x, (3, 5)),
    "array_split": lambda np, x: np.array_split(x, 3),
    "split": lambda np, x: np.split(x, [1, 2], axis=-1),
    "split even": lambda np, x: np.split(x, 2, axis=-1),
    "hsplit": lambda np, x: np.hsplit(x, 2),
    "vsplit": lambda np, x: np.vsplit(x, [1]),
    "dsplit": lambda np, x: np.dsplit(x, 2),
    "concatenate": lambda np, x: np.concatenate([x, x]),
    "concatenate none": lambda np, x: np.concatenate([x, x], axis=None),
    "concatenate mixed": lambda np, x: np.concatenate([x, x.astype("f4")], axis=-1),
    "concatenate dtype": lambda np, x: np.concatenate([x, x], dtype="f8"),
    "concatenate bad": lambda np, x: np.concatenate([x, np.ones((5, 5, 5))]),
    "concat": lambda np, x: np.concat((x, x, x), -1),
    "stack": lambda np, x: np.stack([x, x], axis=-1),
    "vstack": lambda np, x: np.vstack([x, x]),
    "hstack": lambda np, x: np.hstack([x, x]),
    "dstack": lambda np, x: np.dstack([x, x]),
    "column_stack": lambda np, x: np.column_stack([x, x]),
    "block": lambda np, x: np.block([[x, x], [x, x]]),
    "append": lambda np, x: np.append(x, [1, 2]),
    "append axis": lambda np, x: np.append(x, x, axis=0),
    "delete": lambda np, x: np.delete(x, 1),
    "delete axis": lambda np, x: np.delete(x, slice(0, 2), axis=0),
    "delete list": lambda np, x: np.delete(x, [0, 1], axis=-1),
    "insert": lambda np, x: np.insert(x, 1, 5),
    "insert axis": lambda np, x: np.insert(x, 0, 5, axis=-1),
    "insert row": lambda np, x: np.insert(x, 1, x[0], axis=0),
    "insert many": lambda np, x: np.insert(x, [0, 1], 7),
    "pad": lambda np, x: np.pad(x, 2),
    "pad value": lambda np, x: np.pad(x, (1, 2), constant_values=3),
    "pad edge": lambda np, x: np.pad(x, 2, mode="edge"),
    "pad reflect": lambda np, x: np.pad(x, 3, mode="reflect"),
    "pad symmetric": lambda np, x: np.pad(x, 3, mode="symmetric"),
    "pad wrap": lambda np, x: np.pad(x, (2, 1), mode="wrap"),
    "pad ramp": lambda np, x: np.pad(x, 2, mode="linear_ramp", end_values=1),
    "pad mean": lambda np, x: np.pad(x, 1, mode="mean"),
    "where": lambda np, x: np.where(x > 1, x, 0),
    "where mixed": lambda np, x: np.where(x > 1, x, x.astype("f4")),
    "where one": lambda np, x: np.where(x > 1),
    "take": lambda np, x: np.take(x, [0, 1]),
    "take axis": lambda np, x: np.take(x, [[0, -1]], axis=-1),
    "take wrap": lambda np, x: np.take(x, [5, -9], mode="wrap"),
    "take clip": lambda np, x: np.take(x, [50, -9], axis=0, mode="clip"),
    "take_along_axis": lambda np, x: np.take_along_axis(x, np.argsort(x, axis=-1), axis=-1),
    "compress": lambda np, x: np.compress([True, False, True], x, axis=0),
    "compress flat": lambda np, x: np.compress([True, False, True], x),
    "extract": lambda np, x: np.extract(x > 0, x),
    "select": lambda np, x: np.select([x > 2, x > 0], [x, x * 2], 7),
    "choose": lambda np, x: np.choose((x > 0).astype(int), [x, x + x]),
    "clip": lambda np, x: np.clip(x, 1, 3),
    "clip none": lambda np, x: np.clip(x, None, 3),
    "clip min": lambda np, x: np.clip(x, min=1),
    "diff 2": lambda np, x: np.diff(x, n=2, axis=0),
    "diff edges": lambda np, x: np.diff(x, prepend=0, append=x),
    "ediff1d edges": lambda np, x: np.ediff1d(x, to_begin=x.ravel()[:1], to_end=x.ravel()[:2]),
    "gradient axis": lambda np, x: np.gradient(x, 0.5, axis=0),
    "gradient edge 2": lambda np, x: np.gradient(x, 2, edge_order=2),
    "gradient uneven": lambda np, x: np.gradient(x, np.arange(x.shape[0]) ** 2.0, axis=0),
    "searchsorted": lambda np, x: np.searchsorted(np.sort(x.ravel()), x),
    "cumsum axis": lambda np, x: np.cumsum(x, axis=-1, dtype="f8"),
    "cumulative_sum initial": lambda np, x: np.cumulative_sum(x, axis=-1, include_initial=True),
    "sum axis": lambda np, x: np.sum(x, axis=0, keepdims=True),
    "sum axes": lambda np, x: np.sum(x, axis=(0, -1), dtype="f8"),
    "sum where": lambda np, x: np.sum(x, where=x > 1, initial=2),
    "max axis": lambda np, x: np.max(x, axis=-1, initial=3),
    "mean axis": lambda np, x: np.mean(x, axis=-1, keepdims=True),
    "var ddof": lambda np, x: np.var(x, axis=0, ddof=1),
    "std correction": lambda np, x: np.std(x, correction=1),
    "ptp axis": lambda np, x: np.ptp(x, axis=-1),
    "argmax axis": lambda np, x: np.argmax(x, axis=-1, keepdims=True),
    "count_nonzero axis": lambda np, x: np.count_nonzero(x, axis=0),
    "average weights": lambda np, x: np.average(x, weights=np.ones(x.shape) * 2, returned=True),
    "average axis": lambda np, x: np.average(x, axis=0, weights=np.arange(1, x.shape[0] + 1)),
    "percentile": lambda np, x: np.percentile(x.real, [25, 50]),
    "nansum axis": lambda np, x: np.nansum(x, axis=-1, keepdims=True),
    "nanmean axis": lambda np, x: np.nanmean(x, axis=0),
    "nanvar axis": lambda np, x: np.nanvar(x, axis=-1, ddof=1, keepdims=True),
    "nanmin axis": lambda np, x: np.nanmin(x, axis=0),
    "isclose": lambda np, x: np.isclose(x, x + 1e-9),
    "isclose scalar": lambda np, x: np.isclose(x, 1),
    "isclose nan": lambda np, x: np.isclose(x, x * np.nan, equal_nan=True),
    "allclose": lambda np, x: np.allclose(x, x),
    "array_equal": lambda np, x: (np.array_equal(x, x), np.array_equal(x, x[..., None]), np.array_equal(x, x + x)),
    "array_equiv": lambda np, x: (np.array_equiv(x, x[None]), np.array_equiv(x, np.ones((9, 9)))),
    "angle deg": lambda np, x: np.angle(x, deg=True),
    "round 2": lambda np, x: np.round(x, 2),
    "round -1": lambda np, x: np.round(x, -1),
    "unwrap period": lambda np, x: np.unwrap(x, period=4),
    "trapezoid x": lambda np, x: np.trapezoid(x, np.arange(x.shape[-1]) ** 2),
    "polyval": lambda np, x: np.polyval([1, 2, 3], x),
    "vander": lambda np, x: np.vander(x, 4, increasing=True),
    "diag k": lambda np, x: (np.diag(x, 1), np.diag(x, -2)),
    "tril k": lambda np, x: (np.tril(x, 1), np.triu(x, -1)),
    "trace k": lambda np, x: np.trace(x, 1),
    "diagonal k": lambda np, x: np.diagonal(x, -1, -1, 0),
    "dot": lambda np, x: np.dot(x, x.T),
    "inner": lambda np, x: np.inner(x, x),
    "outer": lambda np, x: np.outer(x, x),
    "vdot": lambda np, x: np.vdot(x, x),
    "tensordot": lambda np, x: np.tensordot(x, x, axes=([0], [0])),
    "tensordot 0": lambda np, x: np.tensordot(x, x, axes=0),
    "kron": lambda np, x: np.kron(x, np.array([[1, 2]])),
    "einsum": lambda np, x: np.einsum("...i,...i->...", x, x),
    "norm": lambda np, x: np.linalg.norm(x),
    "norm axis": lambda np, x: (np.linalg.norm(x, axis=-1), np.linalg.norm(x, 1, axis=0, keepdims=True)),
    "norm inf": lambda np, x: (np.linalg.norm(x, np.inf), np.linalg.norm(x, 3, axis=-1)),
    "result_type": lambda np, x: (np.result_type(x, 1), np.result_type(x, "f4"), np.can_cast(x.dtype, "f8")),
    "meshgrid": lambda np, x: np.meshgrid(x, x[:3] if x.ndim else x, indexing="ij", sparse=True),
    "method round": lambda np, x: x.round(1),
    "method clip": lambda np, x: x.clip(0, 2),
    "method repeat": lambda np, x: x.repeat(2),
    "method trace": lambda np, x: x.trace(),
    "method dot": lambda np, x: x.dot(x.T),
    "method conj": lambda np, x: x.conj(),
    "method compress": lambda np, x: x.compress([True, False], axis=0),
    "method argsort": lambda np, x: x.argsort(axis=-1),
    "method searchsorted": lambda np, x: np.sort(x.ravel()).searchsorted(x),
    "sliding_window_view": lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 2, axis=-1),
    "sliding_window_view all": lambda np, x: np.lib.stride_tricks.sliding_window_view(x, (2,) * x.ndim),
    "sliding_window_view bad": lambda np, x: np.lib.stride_tricks.sliding_window_view(x, 90),
    "as_strided": lambda np, x: np.lib.stride_tricks.as_strided(x, (3, *x.shape), (0, *x.strides)),
    "method byteswap": lambda np, x: x.byteswap(),
}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", [*UNARY, *CALLS])
def test_one_array(name, shape):
    failures = []
    for dtype in DTYPES:
        try:
            agree(CALLS.get(name) or UNARY[name], data(dtype, shape))
        except AssertionError as error:
            failures.append(f"{dtype}: {error}")
    assert not failures, "\n".join(failures)


STRIDED = [
    "sum axis",
    "roll",
    "concatenate",
    "pad edge",
    "diff 2",
    "round 2",
    "repeat axis",
    "tile many",
    "nansum axis",
]


@pytest.mark.parametrize("name", STRIDED)
@pytest.mark.parametrize(
    "view", [lambda x: x.T, lambda x: x[::-1, ::2], lambda x: x[:, 1]], ids=["T", "steps", "column"]
)
def test_strided(name, view):
    agree(lambda np, x: CALLS[name](np, view(x)), data("float64", (5, 6)))


CREATION = {
    "arange": lambda np: [
        np.arange(5),
        np.arange(2, 9, 3),
        np.arange(5, 0, -2),
        np.arange(0.0, 1.0, 0.1),
        np.arange(0),
    ],
    "arange dtype": lambda np: [np.arange(5, dtype="f4"), np.arange(0, 1, 0.3, dtype="i8"), np.arange(3, dtype="u1")],
    "arange scalars": lambda np: [np.arange(np.int8(4)), np.arange(np.float32(0), np.float32(2), np.float32(0.5))],
    "arange step 0": lambda np: np.arange(0, 5, 0),
    "arange keywords": lambda np: np.arange(1, stop=4, step=2),
    "arange long": lambda np: np.arange(100_000) * 2,
    "linspace": lambda np: [np.linspace(0, 1), np.linspace(2.5, -1, 7), np.linspace(0, 10, 4, endpoint=False)],
    "linspace few": lambda np: [np.linspace(1, 2, 0), np.linspace(1, 2, 1), np.linspace(3, 3, 4)],
    "linspace dtype": lambda np: [np.linspace(0, 5, 4, dtype="i4"), np.linspace(0, 1, 3, dtype="f4")],
    "linspace step": lambda np: np.linspace(0, 1, 5, retstep=True),
    "linspace arrays": lambda np: np.linspace(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 5, axis=1),
    "linspace complex": lambda np: np.linspace(0j, 1 + 1j, 5),
    "linspace negative": lambda np: np.linspace(0, 1, -3),
    "logspace": lambda np: [np.logspace(0, 2, 5), np.logspace(0, 3, 4, base=2, dtype="i8")],
    "geomspace": lambda np: [np.geomspace(1, 1000, 4), np.geomspace(-1, -8, 4), np.geomspace(1, 256, 9, dtype=int)],
    "eye": lambda np: [
        np.eye(3),
        np.eye(3, 4, 1),
        np.eye(4, 2, -1, dtype="i4"),
        np.eye(2, k=5),
        np.eye(0),
        np.eye(3, order="F"),
    ],
    "identity": lambda np: np.identity(3, dtype="c8"),
    "zeros": lambda np: [np.zeros(3), np.zeros((2, 0)), np.zeros((2, 3), "i2", order="F"), np.zeros(())],
    "ones": lambda np: [np.ones(3), np.ones((2, 3), bool)],
    "full": lambda np: [np.full(3, 2), np.full((2, 2), 1.5, "f4"), np.full((2, 2), [1, 2]), np.full(2, True)],
    "full bad": lambda np: np.full((2, 2), [1, 2, 3]),
    "negative": lambda np: np.zeros(-1),
    "tri": lambda np: [np.tri(3), np.tri(3, 5, 1, dtype="i4"), np.tri(2, 2, -1)],
    "indices": lambda np: [np.indices((2, 3)), np.indices((2,), dtype="f4"), np.indices((2, 3), sparse=True)],
    "fromfunction": lambda np: np.fromfunction(lambda i, j: i * 2 + j, (3, 2), dtype=int),
    "frombuffer": lambda np: np.frombuffer(b"\x01\x02\x03\x04", dtype="u1"),
    "fromiter": lambda np: np.fromiter(range(4), dtype="i4"),
    "meshgrid": lambda np: np.meshgrid([1, 2, 3], [4.0, 5.0]),
    "ix_": lambda np: np.ix_([0, 1], [True, False, True]),
    "mgrid": lambda np: [np.mgrid[0:3, 0:2], np.mgrid[0:1:5j]],
    "ogrid": lambda np: np.ogrid[0:3, 0:2],
    "r_": lambda np: np.r_[1:4, 0, [5.0]],
    "windows": lambda np: [
        getattr(np, w)(m) for w in ("bartlett", "hanning", "hamming", "blackman") for m in (0, 1, 5)
    ],
    "tril_indices": lambda np: np.tril_indices(3, 1),
    "broadcast_shapes": lambda np: np.broadcast_shapes((3, 1), (4,)),
    "array copy": lambda np: np.array([1, 2], copy=False),
    "array lists": lambda np: [
        np.array([[1, 2], [3, 4.5]]),
        np.array(3),
        np.array([]),
        np.array([True, 2]),
        np.array([1, 2j]),
    ],
    "array dtype": lambda np: [np.array([1.7, -2.2], dtype="i4"), np.array([1, 2], dtype=np.float16, ndmin=2)],
    "cross": lambda np: np.cross(np.arange(6.0).reshape(2, 3), [1, 2, 3]),
    "matrix_power": lambda np: [np.linalg.matrix_power(np.array([[1, 1], [1, 0]]), n) for n in (0, 1, 5, 8)],
    "inv": lambda np: np.linalg.inv(np.array([[2.0, 1.0], [1.0, 3.0]])),
    "fft": lambda np: np.fft.fft(np.arange(8.0)),
    "size": lambda np: [np.size([[1, 2], [3, 4]]), np.size(np.ones((2, 3)), 1), np.ndim(3), np.shape([[1]])],
}


@pytest.mark.parametrize("name", CREATION)
def test_creation(name):
    agree(CREATION[name])


def written(call):
    """A call that writes into its argument: the argument is the result."""

    def run(np, x):
        call(np, x)
        return x

    return run


WRITES = {
    "putmask": lambda np, x: np.putmask(x, x > 1, 0),
    "putmask values": lambda np, x: np.putmask(x, x > 1, [1, 2, 3]),
    "copyto": lambda np, x: np.copyto(x, 1, where=x > 1),
    "copyto bad": lambda np, x: np.copyto(x, 1.5j),
    "place": lambda np, x: np.place(x, x > 1, 1),
    "place values": lambda np, x: np.place(x, x > 1, [1, 0]),
    "put": lambda np, x: np.put(x, [0, -1], [1, 0]),
    "put_along_axis": lambda np, x: np.put_along_axis(x, np.argmax(x, axis=-1, keepdims=True), 1, axis=-1),
    "fill_diagonal": lambda np, x: np.fill_diagonal(x, 1),
    "fill_diagonal wrap": lambda np, x: np.fill_diagonal(x.T, 1, wrap=True),
    "nan_to_num": lambda np, x: np.nan_to_num(x, copy=False),
    "method sort": lambda np, x: x.sort(),
    "method put": lambda np, x: x.put([0], 1),
    "flat": lambda np, x: x.flat.__setitem__(slice(None, None, 2), 1),
    "out sum": lambda np, x: np.cumsum(x, axis=0, out=x),
    "out clip": lambda np, x: np.clip(x, 0, 2, out=x),
    "out round": lambda np, x: np.round(x, 1, out=x),
}


@pytest.mark.parametrize("shape", [(7,), (3, 4), (4, 4)], ids=str)
@pytest.mark.parametrize("dtype", ["bool", "int32", "float32", "complex128"])
@pytest.mark.parametrize("name", WRITES)
def test_writes(name, dtype, shape):
    agree(written(WRITES[name]), data(dtype, shape))


NAN = numpy.array([[1.0, numpy.nan, 3.0], [numpy.nan, numpy.nan, numpy.nan], [4.0, 5.0, numpy.inf]])


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
@pytest.mark.parametrize("name", [n for n in dir(numpy) if n.startswith("nan") and n not in ("nan", "nan_to_num")])
def test_nan(name, dtype, axis):
    x = NAN.astype(dtype)
    if name in ("nanquantile", "nanpercentile"):
        agree(lambda np, a: getattr(np, name)(a.real, 0.5, axis=axis), x)
    else:
        agree(lambda np, a: getattr(np, name)(a, axis=axis), x)
    agree(lambda np, a: np.nan_to_num(a, posinf=7), x)


@pytest.mark.parametrize("name", ["nanmean", "nanmin", "nanvar"])
def test_nan_warnings(name):
    with pytest.warns(RuntimeWarning) as ours:
        getattr(numloom, name)(numloom.array(NAN), axis=1)
    with pytest.warns(RuntimeWarning) as theirs:
        getattr(numpy, name)(NAN, axis=1)
    assert str(ours[0].message) == str(theirs[0].message)
    assert ours[0].filename == __file__


def test_views_stay_views():
    x = numloom.arange(24).reshape(2, 3, 4)
    for view in (
        numloom.transpose(x),
        numloom.moveaxis(x, 0, 2),
        numloom.expand_dims(x, 1),
        numloom.flip(x, 1),
        numloom.rot90(x),
        numloom.split(x, 2)[1],
        numloom.unstack(x)[0],
        numloom.atleast_3d(x),
        numloom.reshape(x, (6, 4)),
    ):
        before = numpy.asarray(view).copy()
        x += 1
        numpy.testing.assert_array_equal(numpy.asarray(view), before + 1)


DEFERRED = """copy ravel transpose atleast_2d flip rot90 diag tril triu sum prod max min any all mean var std ptp argmax
    count_nonzero cumsum average trace diagonal nansum nanprod nancumsum isreal real imag angle isposinf round fix
    nan_to_num sinc unwrap gradient trapezoid diff zeros_like meshgrid result_type""".split()
DEFERRED_CALLS = """roll;roll axis;repeat;tile;resize;array_split;concatenate;stack;vstack;hstack;block;append;pad;
    pad edge;where;take;select;clip;diff 2;sum axis;mean axis;var ddof;isclose;round 2;dot;outer;norm;array of arrays;
    array of scalars;polyval;kron""".split(";")


@pytest.mark.parametrize("name", [*DEFERRED, *[call.strip() for call in DEFERRED_CALLS]])
def test_nothing_waits(name):
    x = numloom.array(data("float64", (200, 300)))
    call = CALLS.get(name) or UNARY[name]
    if name in ("kron", "outer", "vander"):
        x = x[:3]
    x = x + 1
    before = syncs()
    call(numloom, x)
    assert syncs() == before


def syncs():
    return numloom.stats()["syncs"]
