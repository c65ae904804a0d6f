"""What goes with the clusters: columns that are known about the samples and were not used to cluster.

Categories: χ² test of independence and Cramér's V, by permutations where expected counts are small. Numbers:
Kruskal-Wallis test and η², the share of the variance of the ranks that the clusters explain. p values are corrected
over the columns.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from scipy.special import chdtrc
from scipy.stats import rankdata

from manyview._utils.text import did_you_mean
from manyview.description.statistics import corrected
from manyview.exceptions import ViewsError

# A column of numbers with at most this many different whole values is taken as categories.
_FEW_VALUES = 6
# A column with more categories than this share of its samples names samples rather than groups.
_NAMES_SHARE = 0.5
# Expected counts below which the χ² distribution is not trusted (Cochran), and the number of permutations instead.
_SMALL_COUNT = 5.0
_PERMUTATIONS = 9_999
# Columns about how samples were handled; the clusters should not follow them.
_HANDLING = re.compile(
    r"(^|[^a-z])(batch|plate|lane|run|chip|site|centre|center|operator|technician|scanner|slide|array|kit|date|well|"
    r"library|sequenc\w*|tss|lab)([^a-z]|$)"
)
# Effect size from which such a column is pointed out.
_ARTEFACT_EFFECT = 0.3
ARTEFACT = "may be an artefact"


@dataclass(frozen=True)
class Association:
    """How a column goes with the clusters.

    ``kind`` is "categories" or "numbers", or "left out" with the ``reason``. ``effect`` is Cramér's V or η², from 0 to
    1. ``table`` has a row per cluster: counts of each category, or number of values, quartiles and mean.
    """

    column: str
    kind: str
    test: str
    statistic: float
    p: float
    effect: float
    n_missing: int
    table: pandas.DataFrame
    reason: str = ""

    @property
    def may_be_artefact(self) -> bool:
        """Whether the column is about how samples were handled, and explains the clusters well."""
        words = re.sub(r"([a-z])([A-Z])", r"\1 \2", self.column).lower()
        return self.kind != "left out" and self.effect >= _ARTEFACT_EFFECT and bool(_HANDLING.search(words))


def associations(frame: pandas.DataFrame, labels: np.ndarray, n_clusters: int, seed: int = 0) -> list[Association]:
    """Compare every column with the clusters, in the order of the columns."""
    return [associate(frame[name], labels, n_clusters, seed) for name in frame.columns]


def summary(found: list[Association]) -> pandas.DataFrame:
    """Return a row per column, strongest effect first, with p values corrected for the number of columns."""
    rows = [
        {
            "column": each.column,
            "kind": each.kind,
            "test": each.test,
            "effect": each.effect,
            "statistic": each.statistic,
            "p": each.p,
            "n_missing": each.n_missing,
            "note": ARTEFACT if each.may_be_artefact else each.reason,
        }
        for each in found
    ]
    columns = ["column", "kind", "test", "effect", "statistic", "p", "p_corrected", "n_missing", "note"]
    frame = pandas.DataFrame(rows, columns=[name for name in columns if name != "p_corrected"])
    frame["p_corrected"] = corrected(frame["p"].to_numpy(dtype=float))
    return frame[columns].sort_values("effect", ascending=False, kind="stable", na_position="last", ignore_index=True)


def associate(column: pandas.Series, labels: np.ndarray, n_clusters: int, seed: int = 0) -> Association:
    """Compare a column with the clusters; missing cells are counted and left out."""
    name, known = str(column.name), column.notna().to_numpy()
    values, groups, n_missing = column[known], labels[known], int((~known).sum())
    if _is_number(values):
        return _numbers(name, values.to_numpy(dtype=float), groups, n_clusters, n_missing)
    categories, codes = np.unique(values.astype(str).to_numpy(dtype=object).astype(str), return_inverse=True)

    def left_out(reason: str) -> Association:
        empty = pandas.DataFrame(index=range(n_clusters))
        return Association(name, "left out", "", np.nan, np.nan, np.nan, n_missing, empty, reason)

    if len(categories) < 2:
        return left_out("no value" if not len(categories) else f"only one value, {categories[0]!r}")
    if len(categories) > max(20, _NAMES_SHARE * len(values)):
        return left_out(f"{len(categories)} different values for {len(values)} samples")
    counts = np.zeros((n_clusters, len(categories)))
    np.add.at(counts, (groups, codes), 1)
    statistic, degrees, effect, expected = chi_square(counts)
    table = pandas.DataFrame(counts.astype(int), index=range(n_clusters), columns=categories)
    if degrees == 0:
        return Association(name, "categories", "", np.nan, np.nan, np.nan, n_missing, table, "samples of one cluster")
    if (expected < _SMALL_COUNT).mean() > 0.2 or expected.min() < 1:
        test, p = "χ², permutations", _permuted(groups, codes, counts.shape, statistic, seed)
    else:
        test, p = "χ²", float(chdtrc(degrees, statistic))
    return Association(name, "categories", test, statistic, p, effect, n_missing, table)


def chi_square(counts: np.ndarray) -> tuple[float, int, float, np.ndarray]:
    """Compute the χ² statistic of a table, degrees of freedom, Cramér's V, and expected counts.

    Empty rows and columns do not count.
    """
    used = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    rows, columns = used.shape
    if rows < 2 or columns < 2:
        return np.nan, 0, np.nan, np.ones((1, 1))
    n = used.sum()
    expected = np.outer(used.sum(axis=1), used.sum(axis=0)) / n
    statistic = float(((used - expected) ** 2 / expected).sum())
    return statistic, (rows - 1) * (columns - 1), float(np.sqrt(statistic / n / (min(rows, columns) - 1))), expected


def _permuted(groups: np.ndarray, codes: np.ndarray, shape: tuple[int, int], statistic: float, seed: int) -> float:
    """Return the share of random orders whose statistic is as large, the given one included."""
    rng = np.random.default_rng(seed)
    n_clusters, n_categories = shape
    sizes = np.outer(np.bincount(groups, minlength=n_clusters), np.bincount(codes, minlength=n_categories))
    inverse = np.divide(1.0, sizes, out=np.zeros(sizes.shape), where=sizes > 0).ravel()
    n, cells = len(groups), n_clusters * n_categories
    # χ² = n(Σ counts²/(row sum · column sum) - 1): only the counts change.
    goal = (statistic / n + 1) * (1 - 1e-12)
    exceeding, left = 1, _PERMUTATIONS
    while left:
        size = min(left, max(1, 2_000_000 // max(n, 1)))
        shuffled = rng.permuted(np.broadcast_to(codes, (size, n)), axis=1)
        cell = groups * n_categories + shuffled + np.arange(size)[:, None] * cells
        counts = np.bincount(cell.ravel(), minlength=size * cells).reshape(size, cells).astype(float)
        exceeding += int((counts**2 @ inverse >= goal).sum())
        left -= size
    return exceeding / (_PERMUTATIONS + 1)


def _is_number(values: pandas.Series) -> bool:
    if (
        values.empty
        or pandas.api.types.is_bool_dtype(values.dtype)
        or not pandas.api.types.is_numeric_dtype(values.dtype)
    ):
        return False
    numbers = values.to_numpy(dtype=float)
    few = len(np.unique(numbers)) <= _FEW_VALUES
    return not (few and np.array_equal(numbers, np.round(numbers)))


def _numbers(name: str, values: np.ndarray, groups: np.ndarray, n_clusters: int, n_missing: int) -> Association:
    per_cluster = [values[groups == cluster] for cluster in range(n_clusters)]
    table = pandas.DataFrame(
        [
            [
                len(own),
                *(np.quantile(own, [0.25, 0.5, 0.75]) if len(own) else [np.nan] * 3),
                own.mean() if len(own) else np.nan,
            ]
            for own in per_cluster
        ],
        columns=["n", "lower quartile", "median", "upper quartile", "mean"],
    )
    statistic, degrees, effect = kruskal_wallis(values, groups)
    if degrees == 0:
        reason = "samples of one cluster" if len(np.unique(groups)) < 2 else "only one value"
        return Association(name, "numbers", "", np.nan, np.nan, np.nan, n_missing, table, reason)
    p = float(chdtrc(degrees, statistic))
    return Association(name, "numbers", "Kruskal-Wallis", statistic, p, effect, n_missing, table)


def kruskal_wallis(values: np.ndarray, groups: np.ndarray) -> tuple[float, int, float]:
    """Compute H, corrected for ties, degrees of freedom, and η² of the ranks: H / (n - 1)."""
    n = len(values)
    ranks = rankdata(values)
    known, group = np.unique(groups, return_inverse=True)
    between = float(((ranks - ranks.mean()) ** 2).sum())
    if len(known) < 2 or between == 0:
        return np.nan, 0, np.nan
    sizes = np.bincount(group)
    means = np.bincount(group, weights=ranks) / sizes
    explained = float((sizes * (means - ranks.mean()) ** 2).sum()) / between
    return (n - 1) * explained, len(known) - 1, explained


def as_frame(metadata: Any, n_samples: int) -> pandas.DataFrame:
    """Return metadata as a data frame with a row per sample, and names of columns that are different texts."""
    frame = metadata if isinstance(metadata, pandas.DataFrame) else pandas.DataFrame(metadata)
    if len(frame) != n_samples:
        raise ViewsError(f"metadata: expected one row per sample ({n_samples}), got {len(frame)}.")
    names = [str(name) for name in frame.columns]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ViewsError(f"metadata: {names.count(twice[0])} columns are called {twice[0]!r}; rename them.")
    return frame.set_axis(names, axis="columns")


def named_column(frame: pandas.DataFrame | None, name: str, asked_by: str) -> pandas.Series:
    """Return a column of the metadata; the error for one that is not there names those that are.

    Parameters
    ----------
    frame : DataFrame or None
        The metadata.
    name : str
        The column.
    asked_by : str
        The parameter that named it, for the error.
    """
    if frame is None:
        raise ViewsError(f"{asked_by}: column {name!r} is looked for in the metadata; there is none.")
    if name not in frame.columns:
        known = list(frame.columns)
        raise ViewsError(
            f"{asked_by}: the metadata has no column {name!r}.{did_you_mean(name, known)} Its columns are "
            f"{', '.join(known)}."
        )
    return frame[name]


def sample_name(values: pandas.Series, row: int) -> str:
    """Return how errors name the sample in a row: by its id, if the metadata has them, or by its number."""
    counted = isinstance(values.index, pandas.RangeIndex)
    return f"row {row}" if counted else f"sample {values.index[row]!r}"
