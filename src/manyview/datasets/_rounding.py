"""The same numbers on every machine."""

from __future__ import annotations

import numpy as np

_DECIMALS = 8


def rounded(values: np.ndarray) -> np.ndarray:
    """Without the last digits, in which processors differ, so that computed data have the same bits on all of them.

    Methods that draw by the content of the samples would draw otherwise for any other bit.
    """
    return np.round(values, _DECIMALS)
