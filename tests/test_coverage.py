"""What `coverage` counts as native is: every such name is called, and nothing goes through NumPy on its way."""

import contextlib
import io
import sys
import warnings

import numpy
import pytest

import numloom
from numloom import _core
from numloom._coverage import coverage, public, table

TABLE = table()
NATIVE = [(place, name) for place, row in TABLE.items() for name in row["native"]]
SIZE = 4096
# Elements that may pass through a NumPy array on the way: bounds of bins, positions to insert at, a seed.
FEW = 256

# Arguments by name; a name that is not here is called with the first of USUAL that NumPy takes.
USUAL = ["x", "x, x", "m", "m, m", "n", "x, n % 4096", "5", "", "m, 1", "x, 2", "m, 0, 1", "[x, x]"]
UFUNC = ["x", "n", "x, x", "n, n", "m, m", "x, n % 5", "z", "t, t"]
ARGUMENTS = {
    "numpy": {
        "apply_along_axis": "np.sum, 0, m",
        "apply_over_axes": "np.sum, m, [0, 1]",
        "arange": "4096",
        "array_split": "x, 3",
        "average": "x, 0, x",
        "block": "[[m, m], [m, m]]",
        "broadcast_shapes": "(3, 1), (1, 4)",
        "broadcast_to": "x, (2, 4096)",
        "can_cast": "x.dtype, 'c16'",
        "choose": "n % 2, [x, x]",
        "compress": "t, x",
        "copyto": "x.copy(), x",
        "clip": "x, 0, 1",
        "cross": "x[:4095].reshape(-1, 3), x[:4095].reshape(-1, 3)",
        "delete": "x, slice(3, 9)",
        "diag_indices": "64",
        "digitize": "x, np.linspace(-3, 3, 20)",
        "dsplit": "x.reshape(16, 16, 16), 2",
        "einsum": "'ij,jk->ik', m, m",
        "empty": "4096",
        "expand_dims": "x, 0",
        "extract": "t, x",
        "eye": "64",
        "fill_diagonal": "m.copy(), 3",
        "from_dlpack": "x",
        "fromfunction": "lambda i, j: i + j, (64, 64)",
        "full": "4096, 1.5",
        "full_like": "x, 1.5",
        "geomspace": "1, 1000, 4096",
        "histogram2d": "x, x",
        "histogramdd": "x.reshape(-1, 2)",
        "hsplit": "m, 2",
        "identity": "64",
        "indices": "(64, 64)",
        "insert": "x, 5, 1.0",
        "interp": "x, np.arange(5.0), np.arange(5.0)",
        "isclose": "x, x",
        "ix_": "n, n",
        "kaiser": "4096, 8.6",
        "kron": "m, np.ones((2, 2))",
        "lexsort": "(x, n)",
        "linspace": "0, 1, 4096",
        "logspace": "0, 1, 4096",
        "mask_indices": "64, np.triu",
        "matrix_transpose": "m",
        "memmap": None,
        "meshgrid": "x, x",
        "moveaxis": "m, 0, 1",
        "ndarray": "(4096,)",
        "ones": "4096",
        "packbits": "t",
        "pad": "x, 3",
        "partition": "x, 7",
        "argpartition": "x, 7",
        "percentile": "x, [25, 50]",
        "nanpercentile": "x, [25, 50]",
        "quantile": "x, [0.25, 0.5]",
        "nanquantile": "x, [0.25, 0.5]",
        "piecewise": "x, [x < 0, x >= 0], [lambda v: -v, 1]",
        "place": "x.copy(), t, 1.0",
        "polydiv": "x, x[:9]",
        "polyfit": "x, x, 3",
        "polyint": "x",
        "polyval": "x[:5], x",
        "poly": "x[:20]",
        "roots": "x[:20]",
        "put": "x.copy(), n % 4096, x",
        "put_along_axis": "x.copy(), n % 4096, x, 0",
        "putmask": "x.copy(), t, x",
        "ravel_multi_index": "(n % 64, n % 64), (64, 64)",
        "repeat": "x, 2",
        "reshape": "x, (64, 64)",
        "resize": "x, (64, 65)",
        "roll": "x, 5",
        "rollaxis": "m, 1",
        "searchsorted": "np.arange(9.0), x",
        "select": "[x < 0, x > 1], [x, x * 2]",
        "split": "x, 4",
        "swapaxes": "m, 0, 1",
        "take": "x, n % 4096",
        "take_along_axis": "x, n % 4096, 0",
        "tile": "x, 2",
        "tri": "64",
        "tril_indices": "64",
        "triu_indices": "64",
        "trim_zeros": "x[:200]",
        "ufunc": None,
        "flatiter": None,
        "unpackbits": "n.astype('u1')",
        "unravel_index": "n % 4096, (64, 64)",
        "vander": "x[:60]",
        "vsplit": "m, 2",
        "where": "t, x, 0",
        "zeros": "4096",
        "astype": "x, 'f4'",
        "polyder": "x",
        "matvec": "m, m[0]",
        "vecmat": "m[0], m",
        "bincount": "n",
        "ldexp": "x, n % 5",
        "load": None,
        "save": None,
        "savez": None,
        "savez_compressed": None,
        "savetxt": "io.StringIO(), x",
        "loadtxt": "io.StringIO('1.5 2\\n' * 2048)",
        "genfromtxt": "io.StringIO('1.5 2\\n' * 2048)",
        "fromstring": "'1 2 ' * 2048, sep=' '",
        "fromfile": None,
        "frombuffer": None,
        "fromiter": "range(4096), float",
        "array2string": "x",
        "array_repr": "x",
        "array_str": "x",
        "broadcast": "x, x",
        "may_share_memory": "x, x[:5]",
        "shares_memory": "x, x[:5]",
        "poly1d": "x",
    },
    "ndarray": {
        "argpartition": "7",
        "astype": "'f4'",
        "choose": "[x, x]",
        "clip": "0, 1",
        "compress": "t",
        "dot": "x",
        "fill": "2.0",
        "getfield": "'f4', 4",
        "item": "5",
        "partition": "7",
        "put": "n % 4096, x",
        "repeat": "2",
        "reshape": "64, 64",
        "resize": "4096",
        "searchsorted": "x",
        "setfield": "1, 'f4', 4",
        "setflags": "",
        "swapaxes": "0, 0",
        "take": "n % 4096",
        "to_device": "'cpu'",
        "tofile": None,
        "dump": "io.BytesIO()",
        "view": "'i8'",
        "diagonal": None,
        "trace": None,
    },
    "linalg": {
        "cross": "x[:4095].reshape(-1, 3), x[:4095].reshape(-1, 3)",
        "cholesky": "s",
        "matrix_power": "m, 3",
        "multi_dot": "[m, m, m]",
        "tensorinv": "s.reshape(8, 8, 8, 8)",
        "tensorsolve": "s.reshape(8, 8, 64), m[0].reshape(8, 8)",
        "lstsq": "s, m[0]",
        "solve": "s, m",
    },
    "fft": {"fftfreq": "4096", "rfftfreq": "4096"},
    "random": {
        "beta": "2, 3, 4096",
        "binomial": "9, 0.5, 4096",
        "bytes": "4096",
        "chisquare": "2, 4096",
        "choice": "x, 4096",
        "default_rng": "3",
        "dirichlet": "[1, 2, 3], 4096",
        "exponential": "1.0, 4096",
        "f": "2, 3, 4096",
        "gamma": "2, 1, 4096",
        "geometric": "0.4, 4096",
        "gumbel": "0, 1, 4096",
        "hypergeometric": "9, 9, 5, 4096",
        "laplace": "0, 1, 4096",
        "logistic": "0, 1, 4096",
        "lognormal": "0, 1, 4096",
        "logseries": "0.4, 4096",
        "multinomial": "9, [0.2, 0.8], 4096",
        "multivariate_normal": "[0, 0], [[1, 0], [0, 1]], 20000",
        "negative_binomial": "9, 0.5, 4096",
        "noncentral_chisquare": "2, 3, 4096",
        "noncentral_f": "2, 3, 1, 4096",
        "normal": "0, 1, 4096",
        "pareto": "2, 4096",
        "permutation": "x",
        "poisson": "2, 4096",
        "power": "2, 4096",
        "rand": "4096",
        "randint": "0, 9, 4096",
        "randn": "4096",
        "random": "4096",
        "random_integers": None,
        "random_sample": "4096",
        "ranf": "4096",
        "rayleigh": "2, 4096",
        "sample": "4096",
        "seed": "3",
        "set_state": "np.random.get_state()",
        "get_bit_generator": "",
        "set_bit_generator": "np.random.MT19937(3)",
        **dict.fromkeys(("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64", "RandomState", "SeedSequence"), "3"),
        "Generator": "np.random.PCG64(3)",
        "shuffle": "x.copy()",
        "standard_cauchy": "4096",
        "standard_exponential": "4096",
        "standard_gamma": "2, 4096",
        "standard_normal": "4096",
        "standard_t": "2, 4096",
        "triangular": "0, 1, 2, 4096",
        "uniform": "0, 1, 4096",
        "vonmises": "0, 1, 4096",
        "wald": "1, 1, 4096",
        "weibull": "2, 4096",
        "zipf": "2, 4096",
    },
}
# Their purpose is to hand elements out, or a state in.
HANDED_OUT = {"tolist", "tobytes", "item", "bytes", "set_state", "dump", "dumps"}


def samples(module):
    g = numpy.random.default_rng(7)
    square = g.normal(size=(64, 64))
    arrays = {
        "x": g.normal(size=SIZE),
        "n": g.integers(0, 50, SIZE),
        "t": g.random(SIZE) < 0.5,
        "m": square,
        "s": square @ square.T + 64 * numpy.eye(64),
        "z": g.normal(size=SIZE) + 1j,
    }
    return {"np": module, "io": io, **{key: module.array(value) for key, value in arrays.items()}}


def called(module, place, name, arguments):
    given = samples(module)
    if place == "ndarray":
        function = getattr(given["n"] % 2 if name == "choose" else given["x"], name)
    else:
        function = getattr(module if place == "numpy" else getattr(module, place), name)
    words = eval(f"(lambda *args, **named: (args, named))({arguments})", given)
    return function, words


def takes(place, name, arguments):
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function, (words, named) = called(numpy, place, name, arguments)
        function(*words, **named)
        return True
    return False


def chosen(place, name):
    if name in ARGUMENTS[place]:
        return ARGUMENTS[place][name]
    usual = USUAL if place != "ndarray" else ["", "x", "0"]
    usual = UFUNC if isinstance(getattr(numpy, name, None), numpy.ufunc) and place == "numpy" else usual
    return next(arguments for arguments in usual if takes(place, name, arguments))


class Watch:
    """Sees every array that our package makes a NumPy array of."""

    def __init__(self, monkeypatch):
        self.seen = []
        real = _core.to_numpy

        def to_numpy(x, *args, **kwargs):
            made = real(x, *args, **kwargs)
            self.seen.append(getattr(made, "size", 0))
            return made

        for module in [m for name, m in sys.modules.items() if name.split(".")[0] == "numloom"]:
            if getattr(module, "to_numpy", None) is real:
                monkeypatch.setattr(module, "to_numpy", to_numpy)

        given = numloom.ndarray.__array__

        def __array__(x, *args, **kwargs):
            self.seen.append(x.size)
            return given(x, *args, **kwargs)

        monkeypatch.setattr(numloom.ndarray, "__array__", __array__)


@pytest.mark.parametrize("place, name", NATIVE, ids=lambda v: v)
def test_native_stays_native(place, name, monkeypatch):
    arguments = chosen(place, name)
    if arguments is None:
        pytest.skip("a class, or a file: tested where it is")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        function, (words, named) = called(numloom, place, name, arguments)
        numloom.reset_coverage()
        watch = Watch(monkeypatch)
        function(*words, **named)
        numloom.sync()
        monkeypatch.undo()
    assert numloom.coverage(as_dict=True)["fallbacks"] == []
    if name not in HANDED_OUT:
        assert all(size <= FEW for size in watch.seen), f"{max(watch.seen)} elements went through a NumPy array"


def test_every_callable_is_counted_once():
    for place, row in TABLE.items():
        assert sorted(name for names in row.values() for name in names) == sorted(public(place))
    assert {place: sum(map(len, row.values())) for place, row in TABLE.items()}["linalg"] == 32
    assert not TABLE["linalg"]["through NumPy"] and not TABLE["fft"]["through NumPy"]


def test_enough_is_native():
    native = sum(len(row["native"]) for row in TABLE.values())
    through = sum(len(row["through NumPy"]) for row in TABLE.values())
    # NumPy 2.5 has one name less.
    assert native >= 525 and through <= 15


def test_the_report_has_the_table():
    out = io.StringIO()
    coverage(file=out)
    text = out.getvalue()
    assert text.startswith(f"NumPy {numpy.__version__}") and "in all" in text and "random" in text


@pytest.mark.skipif(not numpy.__version__.startswith("2.4."), reason="counted as NumPy 2.4 has them")
def test_at_least_560_are_native():
    assert sum(len(row["native"]) for row in TABLE.values()) >= 560
