"""What a fit has recorded from pass to pass, and what of it says how it came to its end."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

AGREEMENTS = ("agreement", "stability")
"""Records and scores that are between 0 and 1 by nature."""

# What is looked at if there are no agreements: the first of these that there is.
_USUAL = ("objective", "subspace_change")


def is_by_view(history: Mapping[str, np.ndarray]) -> bool:
    """Whether there is a value for each view and not for each pass, as of LMVSC, which solves each view once."""
    return "qp_gap" in history


def steps(history: Mapping[str, np.ndarray], n_iter: int) -> tuple[np.ndarray, str]:
    """The number of each step, and what is counted."""
    if "n_members" in history:
        return history["n_members"], "members"
    return np.arange(1, n_iter + 1), "pass"


def usual_keys(history: Mapping[str, np.ndarray]) -> list[str]:
    """What one looks at first: the agreements of an ensemble, or else the objective, or what stands for it."""
    return [key for key in AGREEMENTS if key in history] or [key for key in _USUAL if key in history][:1]
