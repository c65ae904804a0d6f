"""What goes with the clusters: columns that are known about the samples and were not used to cluster.

Categories: χ² test of independence and Cramér's V, by permutations where expected counts are small. Numbers and dates:
Kruskal-Wallis test and η², the share of the variance of the ranks that the clusters explain. p values are corrected
over the columns. Columns that name samples are left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from scipy.special import chdtrc

from manyview._utils.text import did_you_mean
from manyview.description.statistics import corrected
from manyview.exceptions import ViewsError

# A column of numbers with at most this many different whole values is taken as categories.
_FEW_VALUES = 6
# A column with more categories than this share of its samples names samples rather than groups; and so does a column of
# different whole numbers that follow each other, or whose name ends so.
_NAMES_SHARE = 0.5
_IDENTIFIER = re.compile(r"(^|[^a-z])(ids?|identifier|barcode|patient|sample|subject|index|row|unnamed|nr|no)[^a-z]*$")
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
# Expected counts below which the χ² distribution is not trusted (Cochran), and the number of permutations instead.
_SMALL_COUNT = 5.0
_PERMUTATIONS = 9_999
# Columns about how samples were handled; the clusters should not follow them.
_HANDLING = re.compile(
    r"(^|[^a-z])(batch|plate|lane|run|chip|site|centre|center|operator|technician|scanner|slide|array|kit|date|well|"
    r"library|sequenc\w*|tss|lab)([^a-z]|$)"
)
# Effect size from which such a column is pointed out, as a correlation, and the largest p value.
_ARTEFACT_EFFECT = 0.3
_ARTEFACT_P = 0.05
ARTEFACT = "may be an artefact"


@dataclass(frozen=True)
class Association:
    """How a column goes with the clusters.

    ``kind`` is "categories" or "numbers", or "left out" with the ``reason``. ``effect`` is Cramér's V or η², from 0 to
    1. ``beyond_chance`` is V² or η² less what is expected of columns that have nothing to do with the clusters, which
    is much with many categories: Bergsma's correction of V², and ε². ``table`` has a row per cluster: counts of each
    category, or number of values, quartiles and mean.
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
    beyond_chance: float = np.nan

    @property
    def may_be_artefact(self) -> bool:
        """Whether the column is about how samples were handled, and explains the clusters well."""
        strong = self.beyond_chance >= _ARTEFACT_EFFECT**2 and self.p <= _ARTEFACT_P
        return strong and _about_handling(self.column)


def _about_handling(name: str) -> bool:
    return bool(_HANDLING.search(_words(name)))


def _words(name: str) -> str:
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower()


def associations(frame: pandas.DataFrame, labels: np.ndarray, n_clusters: int, seed: int = 0) -> list[Association]:
    """Compare every column with the clusters, in the order of the columns."""
    return [associate(frame[name], labels, n_clusters, seed) for name in frame.columns]


def summary(found: list[Association]) -> pandas.DataFrame:
    """Return a row per column, with p values corrected for the number of columns.

    The order is that of effects beyond chance, so that V and η², few and many categories can be compared.
    """
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
    strength = pandas.Series([each.beyond_chance for each in found], dtype=float)
    order = strength.sort_values(ascending=False, kind="stable", na_position="last").index
    return frame[columns].iloc[order].reset_index(drop=True)


def associate(column: pandas.Series, labels: np.ndarray, n_clusters: int, seed: int = 0) -> Association:
    """Compare a column with the clusters; missing cells are counted and left out."""
    name = str(column.name)
    values, known = _typed(column.reset_index(drop=True))
    groups, n_missing = labels[known], len(column) - len(values)

    def left_out(reason: str) -> Association:
        empty = pandas.DataFrame(index=range(n_clusters))
        return Association(name, "left out", "", np.nan, np.nan, np.nan, n_missing, empty, reason)

    categories, codes = np.unique(values.astype(str).to_numpy(dtype=object).astype(str), return_inverse=True)
    if len(categories) < 2:
        return left_out("no value" if not len(categories) else f"only one value, {str(categories[0])!r}")
    if len(np.unique(groups)) < 2:
        return left_out("samples of one cluster")
    if _is_number(values, name):
        numbers = values.to_numpy(dtype=float)
        if _counts_samples(numbers, name):
            return left_out("a different whole number for each sample")
        return _numbers(name, numbers, groups, n_clusters, n_missing)
    if len(categories) == len(values) or len(categories) > max(20, _NAMES_SHARE * len(values)):
        return left_out(f"{len(categories)} different values for {len(values)} samples")
    counts = np.zeros((n_clusters, len(categories)))
    np.add.at(counts, (groups, codes), 1)
    statistic, degrees, effect, expected = chi_square(counts)
    table = pandas.DataFrame(counts.astype(int), index=range(n_clusters), columns=categories)
    if (expected < _SMALL_COUNT).mean() > 0.2 or expected.min() < 1:
        test, p = "χ², permutations", _permuted(counts, statistic, seed)
    else:
        test, p = "χ²", float(chdtrc(degrees, statistic))
    return Association(
        name, "categories", test, statistic, p, effect, n_missing, table, beyond_chance=_corrected_v(counts, statistic)
    )


def _typed(column: pandas.Series) -> tuple[pandas.Series, np.ndarray]:
    """Return the values that are known, and their rows.

    Texts that are all numbers become numbers, and dates years, unless they are so few that they name groups. Infinite
    numbers are not known.
    """
    values = column.dropna().infer_objects()
    if pandas.api.types.infer_dtype(values) == "string":
        texts = values.astype(str).str.strip()
        values = texts[texts != ""]
        if len(values) and values.str.fullmatch(_ISO_DATE).all():
            dates = pandas.to_datetime(values, errors="coerce", format="ISO8601", utc=True)
            values = values if dates.isna().any() else dates
        elif not values.str.match(r"[+-]?0\d").any():  # 0042 is a code
            numbers = pandas.to_numeric(values, errors="coerce")
            values = values if numbers.isna().any() else numbers
    if isinstance(values.dtype, pandas.PeriodDtype):
        values = values.dt.to_timestamp()
    if pandas.api.types.is_datetime64_any_dtype(values.dtype):
        dates = values.dt
        if values.nunique() > _FEW_VALUES:
            days = dates.day_of_year - 1 + (values - dates.normalize()) / pandas.Timedelta(days=1)
            values = dates.year + days / (365 + dates.is_leap_year)
        else:
            values = dates.strftime("%Y-%m-%d" if (values == dates.normalize()).all() else "%Y-%m-%d %H:%M:%S")
    elif pandas.api.types.is_timedelta64_dtype(values.dtype):
        values = values / pandas.Timedelta(days=1)
    if pandas.api.types.is_float_dtype(values.dtype):
        values = values[np.isfinite(values.to_numpy(dtype=float))]
        if _whole(values.to_numpy(dtype=float)):
            values = values.astype(np.int64)  # 2, and not 2.0, is the name of a category
    return values, values.index.to_numpy(dtype=np.int64)


def _whole(numbers: np.ndarray) -> bool:
    return bool((np.abs(numbers) < 2**53).all()) and np.array_equal(numbers, np.round(numbers))


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


def _corrected_v(counts: np.ndarray, statistic: float) -> float:
    """Return V² without its bias (Bergsma 2013): about 0 if columns and clusters are independent."""
    n, used = counts.sum(), np.array([(counts.sum(axis=axis) > 0).sum() for axis in (0, 1)])
    surplus = max(statistic / n - np.prod(used - 1) / (n - 1), 0.0)
    least = float((used - (used - 1) ** 2 / (n - 1)).min())
    return surplus / (least - 1) if least > 1 else 0.0


def _permuted(counts: np.ndarray, statistic: float, seed: int) -> float:
    """Return the share of random tables with the same sums whose statistic is as large, the given one included.

    These are the tables of samples in random order, drawn without the samples (Patefield's algorithm).
    """
    from scipy.stats import random_table

    rows, columns = (counts.sum(axis=axis) for axis in (1, 0))
    rows, columns = rows[rows > 0].astype(np.int64), columns[columns > 0].astype(np.int64)
    n, tables = rows.sum(), random_table(rows, columns, seed=np.random.default_rng(seed))
    inverse = (1.0 / np.outer(rows, columns)).ravel()
    # χ² = n(Σ counts²/(row sum · column sum) - 1): only the counts change.
    goal = (statistic / n + 1) * (1 - 1e-12)
    exceeding, left = 1, _PERMUTATIONS
    while left:
        size = min(left, max(1, 2_000_000 // inverse.size))
        drawn = tables.rvs(size).reshape(size, -1)
        exceeding += int((drawn**2 @ inverse >= goal).sum())
        left -= size
    return exceeding / (_PERMUTATIONS + 1)


def _is_number(values: pandas.Series, name: str) -> bool:
    """Tell numbers from categories, which numbers may stand for: few whole ones, or those of plates and the like."""
    if pandas.api.types.is_bool_dtype(values.dtype) or not pandas.api.types.is_numeric_dtype(values.dtype):
        return False
    numbers = values.to_numpy(dtype=float)
    return not (_whole(numbers) and (len(np.unique(numbers)) <= _FEW_VALUES or _about_handling(name)))


def _counts_samples(numbers: np.ndarray, name: str) -> bool:
    if not _whole(numbers) or len(np.unique(numbers)) < len(numbers):
        return False
    return np.ptp(numbers) == len(numbers) - 1 or bool(_IDENTIFIER.search(_words(name)))


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
    p = float(chdtrc(degrees, statistic))
    left = len(values) - degrees - 1
    surplus = max((statistic - degrees) / left, 0.0) if left else 0.0
    return Association(name, "numbers", "Kruskal-Wallis", statistic, p, effect, n_missing, table, beyond_chance=surplus)


def kruskal_wallis(values: np.ndarray, groups: np.ndarray) -> tuple[float, int, float]:
    """Compute H, corrected for ties, degrees of freedom, and η² of the ranks: H / (n - 1)."""
    from scipy.stats import rankdata

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


def in_sample_order(table: Any, sample_ids: np.ndarray | None, what: str) -> Any:
    """Return a series or frame with its rows in the order of the samples, which its index names.

    Nothing changes if samples have no names, or if the rows are only numbered, from 0 on, or not a pandas object:
    then the order is taken for that of the samples.

    Raises
    ------
    ViewsError
        Some sample is not in the index, or more than once. ``what`` names the parameter.
    """
    if (
        sample_ids is None
        or not isinstance(table, pandas.Series | pandas.DataFrame)
        or table.index.equals(pandas.RangeIndex(len(table)))
    ):
        return table
    index, ids = table.index.map(str), [str(each) for each in sample_ids]
    rows, known = table.set_axis(index), set(index)
    missing = [each for each in ids if each not in known]
    if len(missing) == len(ids) and len(index):
        raise ViewsError(
            f"{what}: its index names none of the samples: they are called {ids[0]!r} and so on, its rows "
            f"{str(index[0])!r} and so on. Give it the ids of the samples as index, or, if its rows are in their "
            "order, drop the index: reset_index(drop=True)."
        )
    if missing:
        raise ViewsError(
            f"{what}: no row for sample {missing[0]!r} ({len(missing)} of {len(ids)} samples have none). Add "
            "empty rows: reindex(ids of the samples)."
        )
    twice = rows.index[rows.index.duplicated()].intersection(ids)
    if len(twice):
        raise ViewsError(f"{what}: more than one row for sample {twice[0]!r}; keep one.")
    return table if list(index) == ids else rows.loc[ids]


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
