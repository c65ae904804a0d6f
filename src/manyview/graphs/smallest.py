"""The k smallest of many values, in order: values up to a bound are selected, then sorted.

Values are non-negative, infinity included. The bits of such numbers, read as integers, have the same order, so a bound
is found by bisection of integers, for any scale of the values. Kernels get their scratch arrays, and arrays that share
memory as bits and numbers, from Python, as numba takes long to compile such calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numba import int32

from manyview._utils.compiled import njit

# Number of values that are sorted at a time, then merged.
_RUN = 128


@dataclass(frozen=True)
class Scratch:
    """Arrays for up to ``size`` values: those that are marked, their indices, and numbers with their bits."""

    marks: np.ndarray
    words: np.ndarray
    near: np.ndarray
    order: np.ndarray
    spare: np.ndarray
    values: np.ndarray
    bits: np.ndarray

    @classmethod
    def of(cls, size: int) -> Scratch:
        """Return new arrays; there is one mark per value, rounded up to whole words."""
        marks, values = np.zeros(-(-size // 8) * 8, dtype=np.uint8), np.empty(size)
        near, order, spare = np.empty((3, size + 1), dtype=np.int64)
        return cls(marks, marks.view(np.uint64), near, order, spare, values, values.view(np.int64))


@njit(nogil=True, cache=True)
def upper_bound(bits: np.ndarray, k: int) -> int:
    """Return a bound that at least ``k`` of the ``bits``, and few more, do not exceed; or the lowest such bound."""
    few = k + k // 4 + 4  # a tighter bound costs more than sorting some more values
    low, high = bits[0], bits[0]
    for i in range(bits.size):
        low = bits[i] if bits[i] < low else low
        high = bits[i] if bits[i] > high else high
    while low < high:
        middle = low + (high - low) // 2
        count = count_up_to(bits, middle)
        if count < k:
            low = middle + 1
        else:
            high = middle
            if count <= few:
                break
    return high


@njit(nogil=True, cache=True, locals={"count": int32})
def count_up_to(bits: np.ndarray, bound: int) -> np.int32:
    """Return how many of the ``bits`` do not exceed the bound."""
    count = np.int32(0)  # a narrow counter and bound, so that vector units compare twice as many at a time
    highest = bits.dtype.type(bound)
    for i in range(bits.size):
        count += np.int32(bits[i] <= highest)
    return count


@njit(nogil=True, cache=True)
def pack(marks: np.ndarray, words: np.ndarray, indices: np.ndarray) -> int:
    """Write the indices of ``marks`` that are 1 to ``indices``, which has one spare entry; return their number.

    ``words`` are the marks, eight at a time; most are zero.
    """
    count = 0
    for w in range(words.size):
        if words[w]:
            for i in range(8 * w, 8 * w + 8):
                indices[count] = i
                count += marks[i] != 0  # without compilation, a sum of bytes would be a byte
    return count


@njit(nogil=True, cache=True, inline="always")  # one caller: compiled within it alone
def _sort_run(bits: np.ndarray, start: int, order: np.ndarray) -> None:
    """Sort by counting the values before each: quadratic, but without branches."""
    for i in range(bits.size):
        rank = 0
        for j in range(i):
            rank += bits[j] <= bits[i]
        behind = bits[i + 1 :]
        for j in range(behind.size):
            rank += behind[j] < bits[i]
        order[rank] = start + i


@njit(nogil=True, cache=True)
def sort_bits(bits: np.ndarray, size: int, order: np.ndarray, spare: np.ndarray) -> None:
    """Write the indices that sort the first ``bits`` to ``order``; the sort is stable. ``spare`` is scratch."""
    for start in range(0, size, _RUN):
        _sort_run(bits[start : start + _RUN if start + _RUN < size else size], start, order[start:])
    width = _RUN
    while width < size:
        for start in range(0, size - width, 2 * width):
            middle, stop = start + width, start + 2 * width
            stop = stop if stop < size else size
            for i in range(start, middle):
                spare[i] = order[i]
            i, j = start, middle
            while i < middle:
                if j < stop and bits[order[j]] < bits[spare[i]]:
                    order[i + j - middle] = order[j]
                    j += 1
                else:
                    order[i + j - middle] = spare[i]
                    i += 1
        width *= 2
