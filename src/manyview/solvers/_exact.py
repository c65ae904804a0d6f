"""Sums over rows that have the same bits in any order.

Floating point additions round, so a sum depends on the order of its addends, on how rows are cut into blocks, and on
who was ready first. Integers below 2⁵³ are added without rounding. So every addend is first rounded to a multiple of a
common unit, and what is summed is the number of units, kept in doubles; one division at the end takes them back.

The unit follows from a bound b on the sum of the absolute values, known before the first row is looked at: the smallest
power of two that is not less than ``b / 2⁵²``. N addends that are rounded by at most one unit each add up to at most
``2⁵² + N`` units, below 2⁵³ in every partial sum as long as N < 2⁵², with room for bounds that hold but for rounding.

An addend loses what is finer than the unit: in sums of n numbers of at most 1, as degrees of anchors and sums of unit
vectors are, that is 2⁻³² = 2.3e-10 for n = 10⁶, and 2⁻²² = 2.4e-7 for n = 10⁹. A mean over rows is off by no more. The
units of Gram matrices do not depend on n: with three views, 2⁻⁴⁸ = 3.6e-15, and 2⁻⁴⁵ if samples lack some.
"""

from __future__ import annotations

import numpy as np

# Numbers of this size and above are out of the question, and their inverse would be too.
_LARGEST_EXPONENT = 1000


def units_in_one(bound: float) -> float:
    """How many units, a power of two, make 1.0, for sums whose absolute values add up to at most ``bound``.

    >>> units_in_one(1.0) == 2.0**52, units_in_one(1_000_000) == 2.0**32
    (True, True)
    """
    mantissa, exponent = np.frexp(bound)  # bound = mantissa * 2**exponent with 0.5 <= mantissa < 1
    exponent -= mantissa == 0.5
    return float(np.ldexp(1.0, min(52 - int(exponent), _LARGEST_EXPONENT)))
