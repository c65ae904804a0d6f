"""Views with gaps, to see what a method makes of samples that lack some of their views."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.utils import check_random_state

from manyview.views import Views, check_views

Pattern = Callable[[int, int, np.random.RandomState], np.ndarray]
"""From the number of samples, how many of them to pick and a random state to the picked ones."""


def drop_views(
    views: Views,
    rate: float,
    *,
    pattern: str = "random",
    random_state: int | np.random.RandomState | None = None,
) -> Views:
    """Take views away from samples.

    Each view loses the same share of the samples. A sample that has lost all of its views gets one of them back, drawn
    at random, so at high rates less is missing than was asked for: ``1 - present.mean()`` is what it came to.

    Parameters
    ----------
    views : Views, or sequence or mapping of arrays
        Complete, or with samples that lack views already; these stay missing.
    rate : float
        The share of the samples that each view loses, from 0 to 1.
    pattern : {"random", "blocks"}, default="random"
        Which samples a view loses. ``"random"``: any, drawn for each view on its own. ``"blocks"``: neighbouring rows,
        from a first one that is drawn for each view, going on with row 0 after the last. Shuffle the rows first
        unless their order means something.
    random_state : int, RandomState or None
        Pass an int for the same gaps every time.

    Returns
    -------
    Views
        With the mask in ``present``, or None there if nothing is missing. The rows that are missing are zero: nothing
        is left of their values.

    Examples
    --------
    >>> from manyview.datasets import drop_views, make_multiview
    >>> views = make_multiview(100, n_views=2, random_state=0)
    >>> drop_views(views, 0.3, random_state=0)
    Views(100 samples; view0: 10, view1: 10; 3 classes; 26% missing)
    """
    if pattern not in PATTERNS:
        raise ValueError(f"pattern: expected one of {', '.join(map(repr, PATTERNS))}, got {pattern!r}.")
    if not 0 <= rate <= 1:  # also true of NaN
        raise ValueError(f"rate: expected a share from 0 to 1, got {rate}.")
    checked = check_views(views)
    n_samples, n_views = checked.n_samples, checked.n_views
    before = np.ones((n_samples, n_views), dtype=bool) if checked.present is None else checked.present

    random = check_random_state(random_state)
    present = before.copy()
    for v in range(n_views):
        present[PATTERNS[pattern](n_samples, round(rate * n_samples), random), v] = False
    for sample in np.flatnonzero(~present.any(axis=1)):
        present[sample, random.choice(np.flatnonzero(before[sample]))] = True

    return check_views(checked, present=present)


def _random(n_samples: int, n_picked: int, random: np.random.RandomState) -> np.ndarray:
    return random.choice(n_samples, n_picked, replace=False)


def _blocks(n_samples: int, n_picked: int, random: np.random.RandomState) -> np.ndarray:
    return (random.randint(n_samples) + np.arange(n_picked)) % n_samples


PATTERNS: dict[str, Pattern] = {"random": _random, "blocks": _blocks}
"""How the samples that lose a view can lie."""
