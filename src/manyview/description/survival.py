"""Survival by cluster: Kaplan-Meier curves, numbers at risk, medians, and the log-rank test of K groups.

A sample has a time and whether its event was seen then (a death); otherwise it is censored: nothing is known of it
afterwards. At each time t with d_t events among n_t samples at risk, ``S(t) = Π_(s≤t) (1 - d_s/n_s)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas
from scipy.special import chdtrc

from manyview.description.metadata import named_column, sample_name
from manyview.exceptions import ViewsError

# Words of a column of events, in lower case.
_EVENT = {"1", "1.0", "true", "yes", "dead", "deceased", "death", "event", "died", "1:deceased"}
_CENSORED = {"0", "0.0", "false", "no", "alive", "living", "censored", "0:living"}


@dataclass(frozen=True)
class Curve:
    """The survival of a cluster, a step function: ``survival[i]`` from ``times[i]`` on, 1 before.

    ``lower`` and ``upper`` limit it with a confidence of 95 % (Greenwood's variance of log(-log S)). ``censored`` are
    the times at which samples left; ``median`` is NaN if more than half were alive at the end.
    """

    times: np.ndarray
    survival: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    at_risk: np.ndarray
    censored: np.ndarray
    median: float
    n_samples: int
    n_events: int

    def alive(self, times: Sequence[float] | np.ndarray) -> np.ndarray:
        """Return the survival at some times."""
        steps = np.concatenate([[1.0], self.survival])
        return steps[np.searchsorted(self.times, times, side="right")]


@dataclass(frozen=True)
class Survival:
    """Kaplan-Meier curves by cluster, and the log-rank test of all of them."""

    curves: dict[int, Curve]
    statistic: float
    degrees: int
    p: float
    n_missing: int
    time: str
    event: str


def kaplan_meier(times: np.ndarray, events: np.ndarray) -> Curve:
    """Estimate the survival of some samples.

    Parameters
    ----------
    times : ndarray of shape (n,)
    events : ndarray of bool, shape (n,)
        Whether the event was seen at that time.
    """
    times, events = np.asarray(times, dtype=float), np.asarray(events, dtype=bool)
    steps = np.unique(times[events])
    at_risk = len(times) - np.searchsorted(np.sort(times), steps, side="left")
    deaths = np.searchsorted(np.sort(times[events]), steps, side="right") - np.searchsorted(
        np.sort(times[events]), steps, side="left"
    )
    survival = np.cumprod(1 - deaths / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        greenwood = np.cumsum(deaths / (at_risk * (at_risk - deaths)))
        log = np.log(survival)
        width = 1.959963984540054 * np.sqrt(greenwood) / np.abs(log)
        lower, upper = survival ** np.exp(width), survival ** np.exp(-width)
    # Where nobody survives, or everybody does, the variance is not defined.
    lower, upper = (np.where((survival > 0) & (survival < 1), bound, survival) for bound in (lower, upper))
    below = np.flatnonzero(survival <= 0.5 + 1e-12)
    median = float(steps[below[0]]) if below.size else np.nan
    return Curve(steps, survival, lower, upper, at_risk, np.sort(times[~events]), median, len(times), int(events.sum()))


def logrank(times: np.ndarray, events: np.ndarray, groups: np.ndarray) -> tuple[float, int, float]:
    """Test whether groups have the same survival.

    ``O_g - E_g`` is the number of events in group g less the number that is expected if all have the same risk,
    ``Σ_t d_t n_gt/n_t``; its covariance is that of hypergeometric counts, ``Σ_t d_t (n_t - d_t)/(n_t - 1) · n_gt/n_t
    (δ_gh - n_ht/n_t)``. The statistic ``(O - E)ᵀ V⁺ (O - E)`` follows a χ² distribution with one degree of freedom
    less than groups.

    Returns
    -------
    statistic, degrees, p : float, int, float
        NaN, 0, NaN if there are fewer than two groups with samples at risk at some event, or no events.
    """
    times, events = np.asarray(times, dtype=float), np.asarray(events, dtype=bool)
    known, group = np.unique(groups, return_inverse=True)
    steps = np.unique(times[events])
    at_risk = np.empty((len(steps), len(known)))
    deaths = np.empty_like(at_risk)
    for g in range(len(known)):
        own, dead = np.sort(times[group == g]), np.sort(times[(group == g) & events])
        at_risk[:, g] = len(own) - np.searchsorted(own, steps, side="left")
        deaths[:, g] = np.searchsorted(dead, steps, side="right") - np.searchsorted(dead, steps, side="left")
    n, d = at_risk.sum(axis=1), deaths.sum(axis=1)
    share = at_risk / n[:, None]
    gap = (deaths - d[:, None] * share).sum(axis=0)
    factor = np.where(n > 1, d * (n - d) / np.maximum(n - 1, 1), 0.0)
    covariance = np.diag(factor @ share) - (share * factor[:, None]).T @ share
    degrees = int(np.linalg.matrix_rank(covariance)) if len(steps) else 0
    if degrees == 0:
        return np.nan, 0, np.nan
    statistic = float(gap @ np.linalg.pinv(covariance, hermitian=True) @ gap)
    return statistic, degrees, float(chdtrc(degrees, statistic))


def read_survival(frame: pandas.DataFrame | None, wanted: Sequence[str] | str) -> tuple[np.ndarray, np.ndarray]:
    """Return times and events of the metadata, NaN where not known.

    Parameters
    ----------
    frame : DataFrame or None
        The metadata.
    wanted : pair of str, or "TIME,EVENT"
        The names of the columns, see :func:`survival_columns`.
    """
    time, event = survival_columns(wanted)
    times = read_times(named_column(frame, time, "survival"), time)
    events = read_events(named_column(frame, event, "survival"), event)
    if not (np.isfinite(times) & np.isfinite(events)).any():
        raise ViewsError(f"survival: no sample has both {time!r} and {event!r}.")
    return times, events


def survival_columns(wanted: Sequence[str] | str) -> tuple[str, str]:
    """Return the names of the two columns."""
    columns = tuple(part.strip() for part in wanted.split(",")) if isinstance(wanted, str) else tuple(wanted)
    if len(columns) != 2 or not all(columns) or columns[0] == columns[1]:
        raise ViewsError(f"survival: expected two columns, TIME,EVENT, got {wanted!r}.")
    return columns[0], columns[1]


def compare_survival(
    times: np.ndarray, events: np.ndarray, labels: np.ndarray, n_clusters: int, columns: tuple[str, str]
) -> Survival:
    """Estimate the survival of each cluster, and test whether it is the same; samples with NaN are left out."""
    known = np.isfinite(times) & np.isfinite(events)
    times, events, groups = times[known], events[known].astype(bool), labels[known]
    curves = {
        c: kaplan_meier(times[groups == c], events[groups == c]) for c in range(n_clusters) if (groups == c).any()
    }
    return Survival(curves, *logrank(times, events, groups), int((~known).sum()), *columns)


def survival_table(found: Survival, names: Sequence[str]) -> pandas.DataFrame:
    """Return samples, events and median survival of each cluster."""
    rows = [
        {"cluster": c, "name": names[c], "n": curve.n_samples, "events": curve.n_events, "median": curve.median}
        for c, curve in found.curves.items()
    ]
    table = pandas.DataFrame(rows, columns=["cluster", "name", "n", "events", "median"], dtype=object)
    return table.astype({"cluster": int, "n": int, "events": int, "median": float})


def read_events(column: Any, name: str) -> np.ndarray:
    """Return a column of events as 1 (seen), 0 (censored) and NaN (not known); words such as "dead" are understood.

    Raises
    ------
    ViewsError
        A value is neither. The text names the column, the value and the words that are understood.
    """
    values = pandas.Series(column)
    found = np.full(len(values), np.nan)
    for i, (value, missing) in enumerate(zip(values, values.isna(), strict=True)):
        if missing:
            continue
        word = str(value).strip().lower()
        if word in _EVENT or word in _CENSORED:
            found[i] = float(word in _EVENT)
        else:
            raise ViewsError(
                f"survival: column {name!r} has {value!r} in {sample_name(values, i)}; expected 1 or 0, true or false, "
                "yes or no, dead or alive, deceased or living, event or censored, or an empty cell."
            )
    return found


def read_times(column: Any, name: str) -> np.ndarray:
    """Return a column of times, NaN where not known."""
    times = pandas.to_numeric(pandas.Series(column), errors="coerce")
    values = pandas.Series(column)
    bad = np.flatnonzero(times.isna() & values.notna())
    if bad.size:
        raise ViewsError(
            f"survival: column {name!r} has {values.iloc[bad[0]]!r} in {sample_name(values, bad[0])}; expected a time."
        )
    found = times.to_numpy(dtype=float)
    if (found < 0).any():
        row = int(np.flatnonzero(found < 0)[0])
        where = sample_name(values, row)
        raise ViewsError(f"survival: column {name!r} has {found[row]:g} in {where}; times are never negative.")
    return found
