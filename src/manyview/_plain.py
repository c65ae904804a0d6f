"""Values as JSON knows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """A value as JSON knows it: no NaN and no infinity. What JSON has no word for becomes Python's text for it.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview._plain import plain
    >>> plain({"a": (1, np.float32(0.5), np.nan), "b": np.eye(2), 3: np.bool_(True)})
    {'a': [1, 0.5, None], 'b': [[1.0, 0.0], [0.0, 1.0]], '3': True}
    >>> plain(slice(3))
    'slice(None, 3, None)'
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return repr(value)
