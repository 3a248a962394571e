"""Arrays as text. Of a long array only what is printed comes to the host: its edges, as a small array in which one
element stands for all that is left out. NumPy prints that."""

from __future__ import annotations

from typing import Any

import numpy

from ._core import is_ours, ndarray, to_numpy
from ._fallback import direct, on_host
from ._joining import concatenate


def _edges(x: ndarray, threshold: Any = None, edgeitems: Any = None) -> numpy.ndarray[Any, Any] | None:
    """What stands for `x` if it is to be shortened; None if it is printed whole, or NumPy has to say why not."""
    options = numpy.get_printoptions()
    threshold = options["threshold"] if threshold is None else threshold
    edge = options["edgeitems"] if edgeitems is None else edgeitems
    if type(threshold) not in (int, float) or type(edge) is not int or edge < 1 or not x.size > threshold:
        return None
    for axis, n in enumerate(x.shape):
        if n > 2 * edge + 1:
            before = (slice(None),) * axis
            ends = (x[(*before, slice(edge + 1))], x[(*before, slice(n - edge, n))])
            x = concatenate(ends, axis)
    return to_numpy(x)


def array2string(a: Any, *args: Any, **kwargs: Any) -> str:
    short = _edges(a, kwargs.get("threshold"), kwargs.get("edgeitems")) if is_ours(a) else None
    if short is None:
        return on_host(numpy.array2string, "", (a, *args), kwargs)
    return numpy.array2string(short, *args, **{**kwargs, "threshold": 0})


def array_str(a: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    if not is_ours(a) or a.ndim == 0:
        return on_host(numpy.array_str, "", (a, max_line_width, precision, suppress_small), {})
    return array2string(a, max_line_width, precision, suppress_small, " ", "")


def array_repr(arr: Any, max_line_width: Any = None, precision: Any = None, suppress_small: Any = None) -> str:
    options: Any = numpy.get_printoptions()
    special = options["legacy"] is not False or options["override_repr"] is not None
    if special or not is_ours(arr) or (type(arr) is ndarray and not arr.size > options["threshold"]):
        return on_host(numpy.array_repr, "", (arr, max_line_width, precision, suppress_small), {})
    name = "array" if type(arr) is ndarray else type(arr).__name__
    text = array2string(arr, max_line_width, precision, suppress_small, ", ", name + "(", suffix=")")
    extras = _extras(arr, options["threshold"])
    if not extras:
        return f"{name}({text})"
    head, tail = f"{name}({text},", ", ".join(extras) + ")"
    width = options["linewidth"] if max_line_width is None else max_line_width
    fits = len(head) - (head.rfind("\n") + 1) + len(tail) + 1 <= width
    return head + (" " if fits else "\n" + " " * (len(name) + 1)) + tail


def _extras(x: ndarray, threshold: Any) -> list[str]:
    """What cannot be told from the elements that are printed."""
    extras = []
    if (x.size == 0 and x.shape != (0,)) or x.size > threshold:
        extras.append(f"shape={x.shape}")
    # NumPy's way to say a dtype, and whether it has to be said, as it says that of a small array.
    with numpy.printoptions(threshold=1000):
        said = numpy.array_repr(numpy.zeros(min(x.size, 1), x.dtype))
    if "dtype=" in said:
        extras.append("dtype=" + said.partition("dtype=")[2].removesuffix(")"))
    return extras


_function: Any
for _function in (array2string, array_repr, array_str):
    _function.__wrapped__ = getattr(numpy, _function.__name__)
    direct(_function)
