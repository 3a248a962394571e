"""`json.dumps` of a number that is still to come.

NumPy's float64 is a float of Python's, which the encoder writes as it is. It does not know our `Scalar` and asks
`default`, as it does for whatever it cannot write.
"""

from __future__ import annotations

from json import JSONEncoder
from typing import Any

from ._core import Scalar

_refuse = JSONEncoder.default


def _default(self: JSONEncoder, o: Any) -> Any:
    if type(o) is Scalar and isinstance(value := o.item(), float) and o.itemsize == 8:
        return value
    return _refuse(self, o)


JSONEncoder.default = _default  # type: ignore[method-assign]
