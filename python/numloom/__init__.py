"""Numloom: NumPy on a deferred, task-parallel runtime. `import numloom as np`.

What is written here is native: recorded, fused and run on all cores; so are the families that are imported on first
use (`_mirror.LATER`). Everything else in NumPy's namespace is found by `__getattr__` and runs through NumPy on the
host (see `coverage`). No logic lives in this file: NumPy's
`bool`, `sum`, `abs` and their kin become globals of it.
"""

from __future__ import annotations

import sys as _sys

import numpy

from . import _array_type, _core, _json, _methods, _mirror, _settings
from . import _profile as _profiles
from ._core import OutOfMemoryError, Scalar, ndarray, ufunc
from ._creation import (
    arange,
    array,
    asanyarray,
    asarray,
    asarray_chkfinite,
    ascontiguousarray,
    asfortranarray,
    astype,
    bartlett,
    blackman,
    copy,
    diag,
    diagflat,
    empty,
    empty_like,
    eye,
    from_dlpack,
    fromfunction,
    full,
    full_like,
    geomspace,
    hamming,
    hanning,
    identity,
    indices,
    linspace,
    logspace,
    meshgrid,
    ones,
    ones_like,
    tri,
    tril,
    triu,
    vander,
    zeros,
    zeros_like,
)
from ._fallback import FallbackWarning, set_fallback_warnings
from ._files import frombuffer, fromfile, load, memmap, save, savez, savez_compressed
from ._grids import c_, mgrid, ogrid, r_
from ._indexing import (
    argwhere,
    clip,
    compress,
    copyto,
    diff,
    ediff1d,
    extract,
    fill_diagonal,
    flatnonzero,
    ix_,
    nonzero,
    place,
    put_along_axis,
    putmask,
    select,
    take,
    take_along_axis,
    where,
)
from ._iteration import broadcast, ndenumerate, nditer
from ._joining import (
    append,
    block,
    column_stack,
    concat,
    concatenate,
    delete,
    dstack,
    hstack,
    insert,
    pad,
    row_stack,
    stack,
    trim_zeros,
    vstack,
)
from ._logic import (
    allclose,
    angle,
    array_equal,
    array_equiv,
    can_cast,
    common_type,
    imag,
    isclose,
    iscomplex,
    iscomplexobj,
    isfortran,
    isneginf,
    isposinf,
    isreal,
    isrealobj,
    isscalar,
    iterable,
    min_scalar_type,
    real,
    real_if_close,
    result_type,
)
from ._methods import flatiter
from ._placement import StoreTarget, offload_to
from ._products import (
    cross,
    dot,
    inner,
    kron,
    outer,
    tensordot,
    vdot,
)
from ._profile import ProfileRange, profile
from ._reductions import (
    all,
    amax,
    amin,
    any,
    argmax,
    argmin,
    average,
    count_nonzero,
    cumprod,
    cumsum,
    cumulative_prod,
    cumulative_sum,
    max,
    mean,
    min,
    prod,
    ptp,
    std,
    sum,
    trace,
    var,
)
from ._rounding import (
    around,
    fix,
    gradient,
    nan_to_num,
    round,
    sinc,
    trapezoid,
    unwrap,
)
from ._runtime import explain, memory, stats, sync
from ._shape import (
    array_split,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    broadcast_shapes,
    broadcast_to,
    diagonal,
    dsplit,
    expand_dims,
    flip,
    fliplr,
    flipud,
    hsplit,
    matrix_transpose,
    moveaxis,
    ndim,
    permute_dims,
    ravel,
    repeat,
    reshape,
    resize,
    roll,
    rollaxis,
    rot90,
    shape,
    size,
    split,
    squeeze,
    swapaxes,
    tile,
    transpose,
    unstack,
    vsplit,
)
from ._sorting import (
    argpartition,
    argsort,
    digitize,
    lexsort,
    partition,
    searchsorted,
    sort,
    sort_complex,
)

_settings.read()

__version__ = "0.1.0"
__array_api_version__ = numpy.__array_api_version__

globals().update({name: getattr(_core, name) for name in dir(_core) if isinstance(getattr(_core, name), ufunc)})
_own = [
    "FallbackWarning",
    "OutOfMemoryError",
    "coverage",
    "explain",
    "StoreTarget",
    "memory",
    "profile",
    "ProfileRange",
    "offload_to",
    "reset_coverage",
    "timing",
]
__all__ = [*numpy.__all__, *_own, "set_fallback_warnings", "stats", "sync"]
__getattr__, __dir__ = _mirror.mirror(numpy, globals())
_methods.attach()
_core.put_short_ways(_sys.modules[__name__])
_mirror.install()

_core.look_for_cuda_in([_p for _p in _sys.path if _p.endswith(("site-packages", "dist-packages"))])
_profiles.begin_if_asked()
if "numba" in _sys.modules:
    import numloom_numba as _numba

    _numba.register()
