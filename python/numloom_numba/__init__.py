"""Our arrays as arguments of functions compiled by Numba: typed as NumPy's arrays, read and written in place.

A package of its own, because Numba looks for extensions in every program: it may not import Numloom there.
"""

from __future__ import annotations

import sys
from typing import Any

_registered = False


def init() -> None:
    """What Numba calls when it first compiles. Where Numloom is imported later, it calls `register` itself."""
    if "numloom" in sys.modules:
        register()


def register() -> None:
    """Makes our arrays known to Numba."""
    global _registered
    if _registered:
        return
    from numba.core import boxing, types
    from numba.core.typing.typeof import typeof_impl
    from numba.extending import box, models, register_model, unbox

    from numloom._core import ndarray, to_numpy

    class Lent(types.Array):
        """An array whose memory is lent for the call. What is made of it is NumPy's."""

        def __init__(self, dtype: Any, ndim: int, layout: str, readonly: bool) -> None:
            name = f"numloom.array({dtype}, {ndim}d, {layout}, {'read-only' if readonly else 'writable'})"
            super().__init__(dtype, ndim, layout, readonly=readonly, name=name)

    @typeof_impl.register(ndarray)
    def typed(value: Any, context: Any) -> Any:
        plain = typeof_impl(to_numpy(value), context)
        return Lent(plain.dtype, plain.ndim, plain.layout, not plain.mutable)

    register_model(Lent)(models.ArrayModel)
    unbox(Lent)(boxing.unbox_buffer)
    box(Lent)(boxing.box_array)
    _registered = True
