"""Finding the price of a wrong number of components at which a learned graph has the right one."""

from __future__ import annotations

import numpy as np

# The price is bracketed when it is known to this ratio.
_BRACKETED = 1.001


class WeightSearch:
    """The price λ: doubled while there are too few components, halved while too many, bisected between the two.

    The graph depends on more than λ: on the embedding, which changes whenever there were too few components. So both
    ends of a bracket may be out of date. When it closes without success, the search goes on from there anew.

    Parameters
    ----------
    first : float
        The first price, positive.

    Examples
    --------
    >>> search = WeightSearch(1.0)
    >>> for too_few in (True, True, False):
    ...     search.move(too_few)
    >>> search.weight  # 2 was too low, 4 too high
    2.8284271247461903
    """

    def __init__(self, first: float) -> None:
        self.weight = first
        self._too_low, self._too_high = 0.0, np.inf

    def move(self, too_few: bool) -> None:
        """Choose the next price, knowing that the present one gave too few components, or too many."""
        if too_few:
            self._too_low = self.weight
        else:
            self._too_high = self.weight
        if self._too_high <= _BRACKETED * self._too_low:
            self._too_low, self._too_high = (self.weight, np.inf) if too_few else (0.0, self.weight)
        if self._too_high == np.inf:
            self.weight = 2 * self._too_low
        elif self._too_low == 0:
            self.weight = self._too_high / 2
        else:
            self.weight = float(np.sqrt(self._too_low * self._too_high))
