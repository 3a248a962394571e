"""NumPy's namespaces, name by name: what is not written here is NumPy's, wrapped for our arrays on first use."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from . import _core
from ._fallback import through_numpy

# Rules about types and shapes, and settings: no array's elements pass through them.
NO_ARRAYS = frozenset(
    """base_repr binary_repr einsum_path format_float_positional format_float_scientific get_include get_printoptions
    getbufsize geterr geterrcall info isdtype issubdtype mintypecode printoptions promote_types set_printoptions
    setbufsize seterr seterrcall show_config show_runtime typename default_rng seed get_state set_state
    get_bit_generator set_bit_generator""".split()
)
# What only looks at types, single numbers, functions or settings is NumPy's own function.
NUMPYS_OWN = frozenset(
    """base_repr binary_repr frompyfunc get_printoptions getbufsize geterr geterrcall isdtype issubdtype mintypecode
    promote_types typename""".split()
)
# What belongs on the host in any case: files and text, objects, other classes of arrays. Not counted as missing.
ON_THE_HOST = NO_ARRAYS | frozenset(
    """array2string array_repr array_str save savez savez_compressed savetxt load loadtxt genfromtxt fromregex fromfile
    frombuffer fromiter fromstring shares_memory may_share_memory asmatrix bmat frompyfunc nested_iters""".split()
)
# Families that not every program uses; each is imported when one of its names is.
LATER = {
    name: module
    for module, names in {
        "_applying": "apply_along_axis apply_over_axes piecewise",
        "_coverage": "coverage reset_coverage",
        "_einsum": "einsum einsum_path",
        "_histograms": "bincount histogram histogram2d histogram_bin_edges histogramdd",
        "_nan": "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum nanvar",
        "_packing": "packbits unpackbits",
        "_places": """choose diag_indices diag_indices_from mask_indices put ravel_multi_index require tril_indices
        tril_indices_from triu_indices triu_indices_from unravel_index""",
        "_poly1d": "poly1d",
        "_polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots",
        "_printing": "array2string array_repr array_str",
        "_quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
        "_sets": """intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts unique_inverse
        unique_values""",
        "_sharing": "may_share_memory shares_memory",
        "_signal": "convolve correlate i0 interp kaiser",
        "_statistics": "corrcoef cov",
        "_text": "fromstring genfromtxt loadtxt savetxt",
        "_vectorizing": "fromiter vectorize",
    }.items()
    for name in names.split()
}
HOST_MODULES = (
    "testing",
    "exceptions",
    "typing",
    "dtypes",
    "f2py",
    "ma",
    "rec",
    "char",
    "strings",
    "ctypeslib",
    "lib.format",
)

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type(numpy.sum))


def wrapped(value: Any, name: str) -> Any:
    """NumPy's object `value`, called `name` (dotted, without `numpy.`), as it stands in our namespace."""
    if isinstance(value, types.ModuleType):
        own = value.__name__.startswith("numpy.") and "._" not in value.__name__
        return importlib.import_module("numloom" + value.__name__[len("numpy") :]) if own else value
    if isinstance(value, numpy.ufunc):
        return getattr(_core, value.__name__, value)
    if name in NUMPYS_OWN:
        return value
    if isinstance(value, _FUNCTIONS) or type(value).__name__ == "cython_function_or_method":
        quiet = name.rpartition(".")[2] in ON_THE_HOST or name.startswith(HOST_MODULES)
        return through_numpy(value, "" if quiet else name)
    return value


def mirror(module: types.ModuleType, namespace: dict[str, Any]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a module of ours that stands for NumPy's `module`."""
    prefix = module.__name__.removeprefix("numpy").lstrip(".")

    def __getattr__(name: str) -> Any:
        if not prefix and name in LATER:
            namespace[name] = made = getattr(importlib.import_module("numloom." + LATER[name]), name)
            return made
        try:
            value = getattr(module, name)
        except AttributeError as error:
            raise AttributeError(str(error).replace(repr(module.__name__), repr(namespace["__name__"]))) from None
        made = wrapped(value, f"{prefix}.{name}" if prefix else name)
        if not name.startswith("__"):
            namespace[name] = made
        return made

    def __dir__() -> list[str]:
        return sorted({*namespace, *dir(module), *(() if prefix else LATER)})

    return __getattr__, __dir__


class _Loader:
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        original = importlib.import_module("numpy" + module.__name__.removeprefix("numloom"))
        module.__doc__ = original.__doc__
        if hasattr(original, "__all__"):
            module.__all__ = original.__all__  # type: ignore[attr-defined]
        module.__getattr__, module.__dir__ = mirror(original, module.__dict__)  # type: ignore[method-assign]


class Finder:
    """Finds `numloom.x.y` where only `numpy.x.y` is written. Stands last, so that our own modules come first."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, rest = name.partition(".")
        if package != "numloom" or not rest or rest.startswith("_"):
            return None
        try:
            found = importlib.util.find_spec("numpy." + rest)
        except ModuleNotFoundError:
            return None
        return None if found is None else importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)  # type: ignore[arg-type]


def install() -> None:
    if not any(finder is Finder for finder in sys.meta_path):
        sys.meta_path.append(Finder)
