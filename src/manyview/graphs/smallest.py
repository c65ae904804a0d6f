"""The k smallest of many values, in order: values up to a bound are selected, then sorted.

Values are non-negative, infinity included. The bits of such numbers, read as integers, have the same order, so a bound
is found by bisection of integers, for any scale of the values.
"""

from __future__ import annotations

import numpy as np
from numba import int32

from manyview._utils.compiled import njit

# Number of values that are sorted at a time, then merged.
_RUN = 128


@njit(nogil=True, cache=True)
def smallest(values: np.ndarray, k: int, order: np.ndarray, marks: np.ndarray) -> None:
    """Write the indices of the ``k`` smallest values, ascending, to ``order[:k]``; the sort is stable.

    ``order`` has one entry more than there are values. ``marks``, one byte per value rounded up to whole words, is
    overwritten.
    """
    bits = values.view(np.int64)
    if bits.size <= k + k // 2 + 8:
        _sort(bits, order)
        return
    _mark_first_within(bits, upper_bound(bits, k), k, marks)
    indices = order[: pack(marks, order)].copy()
    _sort(bits[indices], order)
    for i in range(indices.size):
        order[i] = indices[order[i]]


@njit(nogil=True, cache=True)
def upper_bound(bits: np.ndarray, k: int) -> int:
    """Return a bound that at least ``k`` of the ``bits``, and few more, do not exceed; or the lowest such bound."""
    few = k + k // 4 + 4  # a tighter bound costs more than sorting some more values
    low, high = bits[0], bits[0]
    for i in range(bits.size):
        low, high = min(low, bits[i]), max(high, bits[i])
    while low < high:
        middle = low + (high - low) // 2
        count = _count_up_to(bits, middle)
        if count < k:
            low = middle + 1
        else:
            high = middle
            if count <= few:
                break
    return high


@njit(nogil=True, cache=True, locals={"count": int32})
def _count_up_to(bits: np.ndarray, bound: int) -> np.int32:
    count = np.int32(0)  # a narrow counter, so that vector units compare twice as many at a time
    highest = bits.dtype.type(bound)
    for i in range(bits.size):
        count += np.int32(bits[i] <= highest)
    return count


@njit(nogil=True, cache=True)
def _mark_first_within(bits: np.ndarray, bound: int, k: int, marks: np.ndarray) -> None:
    """Mark all ``bits`` below the bound and the first ones equal to it, ``k`` in total."""
    marks[:] = 0
    room = k - _count_up_to(bits, bound - 1)
    for i in range(bits.size):
        marks[i] = bits[i] < bound
    for i in range(bits.size):
        if room <= 0:
            break
        if bits[i] == bound:
            marks[i] = 1
            room -= 1


@njit(nogil=True, cache=True)
def pack(marks: np.ndarray, indices: np.ndarray) -> int:
    """Write the indices of ``marks`` that are 1 to ``indices``, which has one spare entry; return their number."""
    words = marks.view(np.uint64)  # most are zero
    count = 0
    for w in range(words.size):
        if words[w]:
            for i in range(8 * w, 8 * w + 8):
                indices[count] = i
                count += int(marks[i])  # without compilation, a sum of bytes would be a byte
    return count


@njit(nogil=True, cache=True)
def _sort(bits: np.ndarray, order: np.ndarray) -> None:
    """Write the indices that sort the bits to ``order``; the sort is stable."""
    size = bits.size
    for start in range(0, size, _RUN):
        _sort_run(bits[start : start + _RUN], start, order[start:])
    width = _RUN
    while width < size:
        for start in range(0, size - width, 2 * width):
            _merge(bits, order[start : min(start + 2 * width, size)], width)
        width *= 2


@njit(nogil=True, cache=True)
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
def _merge(bits: np.ndarray, order: np.ndarray, width: int) -> None:
    """Merge the sorted ``order[:width]`` and ``order[width:]``."""
    left = order[:width].copy()
    i, j = 0, width
    while i < width:
        if j < order.size and bits[order[j]] < bits[left[i]]:
            order[i + j - width] = order[j]
            j += 1
        else:
            order[i + j - width] = left[i]
            i += 1
