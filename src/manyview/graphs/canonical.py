"""An order of samples and views that follows from their content alone.

With the data in this order, all later steps, random draws included, give the same result to the last bit for any
order of samples and views. Each view is projected on a fixed direction, and samples are ranked by the projection. Ranks
do not change when a view is given in another unit (``a·x + b`` with ``a > 0``), so neither does the order. Ties are
broken by comparing all values. Views that hold the same values in another order of the samples are told apart by what
the samples have in the other views. (Where two views can be exchanged, together with some samples, such that the data
stay the same, nothing tells them apart but their positions.)
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from manyview._utils.compiled import njit
from manyview.exceptions import ViewsError
from manyview.graphs.neighbours import row_blocks
from manyview.views import Array, Views

# Two views are equal, up to their unit, if no standardised value differs by more than this.
_SAME = {np.dtype(np.float64): 1e-9, np.dtype(np.float32): 1e-5}
# Deviations from the mean below this, relative to the values, are rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class CanonicalOrder:
    """Canonical positions of samples and views.

    ``rows[p]`` is the given row at position p, ``views`` lists the different views in their order, and ``source[v]`` is
    the index in ``views`` of the view with the content of the given view v. ``twin[p]`` is the first position with the
    same content as position p.
    """

    rows: np.ndarray
    views: tuple[int, ...]
    source: tuple[int, ...]
    twin: np.ndarray


def canonical_order(
    arrays: Sequence[Array], tags: Sequence[str] | None = None, present: np.ndarray | None = None
) -> CanonicalOrder:
    """Order samples and views by content.

    Parameters
    ----------
    arrays : sequence of arrays of shape (n, d_v)
        Dense, or CSR in canonical format.
    tags : sequence of str, optional
        Views with different tags are different, whatever their content.
    present : ndarray of bool, shape (n, n_views), optional
        Which views each sample has; a missing row differs from every row that is present.
    """
    n = arrays[0].shape[0]
    tags = tags or [""] * len(arrays)
    there = [np.ones(n, dtype=bool) if present is None else present[:, v] for v in range(len(arrays))]
    values = [_projections(array) for array in arrays]
    ranks = [_ranks(value, rows) for value, rows in zip(values, there, strict=True)]
    groups: list[list[int]] = []  # views with the same content up to their unit
    for v, array in enumerate(arrays):
        alike = (own for own in groups if tags[own[0]] == tags[v] and np.array_equal(ranks[own[0]], ranks[v]))
        group = next((own for own in alike if _same_content(arrays[own[0]][there[v]], array[there[v]])), None)
        if group is None:
            groups.append([v])
        else:
            group.append(v)
    # Of copies in several units, not the first is kept, which would depend on the order of the views.
    kept = [
        own[0] if len(own) == 1 else min(own, key=lambda v: _digest(np.sort(values[v][there[v]] + 0.0)))
        for own in groups
    ]
    same_as = {v: first for first, own in zip(kept, groups, strict=True) for v in own}

    signature = {v: (arrays[v].shape[1], tags[v], _signature(values[v][there[v]])) for v in kept}
    if len(set(signature.values())) < len(kept):
        signature = _told_apart(signature, ranks)
    kept.sort(key=signature.__getitem__)
    keys = _sample_keys(signature, ranks)
    content = [arrays[v] for v in kept] + ([] if present is None else [present[:, kept].astype(float)])
    rows, twin_rows = _order_rows(keys, content)
    views = sorted(kept, key=lambda v: (*signature[v], _digest(ranks[v][rows]), _digest_rows(arrays[v], rows)))
    index = {v: i for i, v in enumerate(views)}
    return CanonicalOrder(rows, tuple(views), tuple(index[same_as[v]] for v in range(len(arrays))), twin_rows)


_Signatures = dict[int, tuple[int, str, bytes]]


def _sample_keys(signature: _Signatures, ranks: Sequence[np.ndarray]) -> np.ndarray:
    """Return a number for each sample that follows from its ranks in all views."""
    keys = np.zeros(len(ranks[0]), dtype=np.uint64)
    for v, (_, _, digest) in signature.items():
        # A sum does not depend on the order of the views; the signature distinguishes them.
        keys += mix(ranks[v] + np.frombuffer(digest, dtype=np.uint64)[0])
    return keys


def _told_apart(signature: _Signatures, ranks: Sequence[np.ndarray]) -> _Signatures:
    """Return signatures that also differ where views have the same values in another order of the samples.

    Those of views that are alike get a digest of their ranks and of the keys of the samples, as pairs in any order. The
    keys then differ more, too: it is repeated until no more views are told apart (colour refinement).
    """
    n_different = 0
    while n_different < len(set(signature.values())) < len(signature):
        n_different = len(set(signature.values()))
        times, keys = Counter(signature.values()), _sample_keys(signature, ranks)
        refined = {}
        for v, (n_columns, tag, digest) in signature.items():
            if times[n_columns, tag, digest] > 1:
                order = np.lexsort((keys, ranks[v]))
                digest = _digest(np.concatenate([ranks[v][order], keys[order]]))
            refined[v] = n_columns, tag, digest
        signature = refined
    return signature


def check_n_clusters(views: Views, n_clusters: int) -> None:
    """Raise an error if there are fewer different samples than clusters."""
    if n_clusters > views.n_samples:
        raise ViewsError(f"n_clusters={n_clusters} is more than there are samples: n_samples={views.n_samples}.")
    arrays = views.arrays if views.present is None else (*views.arrays, views.present.astype(float))
    distinct = _count_distinct_rows(arrays, at_least=n_clusters)
    if distinct < n_clusters:
        raise ViewsError(
            f"n_clusters={n_clusters} is more than there are different samples: all but {distinct} of the "
            f"{views.n_samples} rows are duplicates."
        )


def _count_distinct_rows(arrays: Sequence[Array], at_least: int) -> int:
    """Return the number of different samples, exact below ``at_least``, where the search stops."""
    seen: set[bytes] = set()
    step = 4 * at_least
    for start in range(0, arrays[0].shape[0], step):
        parts = [array[start : start + step] for array in arrays]
        block = np.hstack([part if isinstance(part, np.ndarray) else part.toarray() for part in parts])
        seen.update(row.tobytes() for row in block + 0.0)  # + 0.0 turns -0.0 into 0.0
        if len(seen) >= at_least:
            break
    return len(seen)


def unit_of(copy: Array, original: Array) -> tuple[float, np.ndarray]:
    """Return factor and offset: ``factor·x + offset`` turns the values of a copy into those of the original."""
    if isinstance(copy, np.ndarray) and isinstance(original, np.ndarray):
        copy, original = copy.astype(np.float64, copy=False), original.astype(np.float64, copy=False)
        centre, other = copy.mean(axis=0), original.mean(axis=0)
        factor = float(np.abs(original - other).max() / np.abs(copy - centre).max())
        return factor, other - factor * centre
    return float(np.abs(original).max() / np.abs(copy).max()), np.zeros(copy.shape[1])


def _projections(array: Array) -> np.ndarray:
    """Return each row's product with a fixed direction, summed in an order that does not depend on its position."""
    direction = np.random.default_rng(0).standard_normal((1, array.shape[1]))[0]
    if isinstance(array, np.ndarray):
        with np.errstate(over="ignore", invalid="ignore"):  # rows of infinite projections are ties
            return np.concatenate([_summed(array[rows] * direction) for rows in row_blocks(*array.shape)])
    return _project_sparse(array.data, array.indices, array.indptr, direction)


def _summed(terms: np.ndarray) -> np.ndarray:
    """Return the sum of each row, added from the first column to the last."""
    return np.add.accumulate(terms, axis=1)[:, -1] + 0.0  # + 0.0 turns -0.0 into 0.0


@njit(nogil=True, cache=True)
def _project_sparse(data: np.ndarray, columns: np.ndarray, starts: np.ndarray, direction: np.ndarray) -> np.ndarray:
    value = np.zeros(starts.size - 1)
    for i in range(value.size):
        for e in range(starts[i], starts[i + 1]):
            value[i] += data[e] * direction[columns[e]]
    return value


def _ranks(values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """Return the ranks of the values that are present; missing ones come last."""
    ranks = np.full(len(values), len(values), dtype=np.uint64)
    ranks[present] = np.unique(values[present], return_inverse=True)[1]
    return ranks


def _signature(values: np.ndarray) -> bytes:
    """Return a digest of the distribution of projections, the same for any order of the samples and any unit."""
    spread = np.sort(values)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = (spread - spread[0]) / ((spread[-1] - spread[0]) or 1.0)
    return _digest(np.nan_to_num(spread).round(6) + 0.0)


def _order_rows(keys: np.ndarray, arrays: Sequence[Array]) -> tuple[np.ndarray, np.ndarray]:
    """Return rows sorted by key, equal keys by content, and for every position the first one with its content."""
    rows = np.argsort(keys, kind="stable")
    twin = np.arange(len(rows))
    new = np.flatnonzero(np.diff(keys[rows], prepend=keys[rows[0]] ^ np.uint64(1)))
    for start, stop in zip(new, [*new[1:], len(rows)], strict=True):
        if stop - start == 1:
            continue
        content = {int(row): [_row_bytes(array, row) for array in arrays] for row in rows[start:stop]}
        tied = sorted(content, key=content.__getitem__)
        rows[start:stop] = tied
        for p in range(start + 1, stop):
            if content[tied[p - start]] == content[tied[p - start - 1]]:
                twin[p] = twin[p - 1]
    return rows, twin


def _row_bytes(array: Array, row: int) -> bytes:
    values = array[[row]]
    dense = values if isinstance(values, np.ndarray) else values.toarray()
    return bytes((dense + 0.0).tobytes())  # + 0.0 turns -0.0 into 0.0


def _digest(numbers: np.ndarray) -> bytes:
    return hashlib.blake2b(numbers.tobytes(), digest_size=16).digest()


def _digest_rows(array: Array, rows: np.ndarray) -> bytes:
    """Return a digest of the content in a given order of the rows, equal for dense and sparse copies."""
    table = sp.csr_array(array)[rows]
    table.sum_duplicates()
    table.eliminate_zeros()
    digest = hashlib.blake2b(digest_size=16)
    for part in (table.indptr.astype(np.int64), table.indices.astype(np.int64), table.data):
        digest.update(part.tobytes())
    return digest.digest()


def _same_content(a: Array, b: Array) -> bool:
    """Return whether two views with equally ranked samples hold the same values, up to their unit."""
    if a.shape != b.shape:
        return False
    same = max(_SAME[a.dtype], _SAME[b.dtype])
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.abs(_standardized(a) - _standardized(b)).max() <= same)
    a, b = sp.csr_array(a), sp.csr_array(b)
    scale_a, scale_b = np.abs(a).max() or 1.0, np.abs(b).max() or 1.0
    return bool(np.abs(a / scale_a - b / scale_b).max() <= same)


def _standardized(view: np.ndarray) -> np.ndarray:
    centred = view - view.mean(axis=0, dtype=np.float64)
    largest = np.abs(centred).max()
    return centred / largest if largest > _ROUNDING * np.abs(view).max() else np.zeros_like(centred)


def mix(numbers: np.ndarray) -> np.ndarray:
    """Apply the splitmix64 finaliser, which spreads consecutive integers over all of 64 bits."""
    z = numbers * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
