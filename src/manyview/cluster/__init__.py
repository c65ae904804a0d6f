"""The estimators: scikit-learn's conventions, with several views instead of one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manyview._utils.imports import lazily
from manyview.cluster._base import Facts
from manyview.cluster._registry import HOMES, Method, available_methods

if TYPE_CHECKING:
    from manyview.cluster._registry import *  # noqa: F403
    from manyview.cluster._saving import load
    from manyview.ensemble.n_clusters import ClusterCountSuggestion, suggest_n_clusters

__all__ = [
    "ClusterCountSuggestion",
    "Facts",
    "Method",
    "available_methods",
    "load",
    "suggest_n_clusters",
]
__all__ += HOMES

__getattr__, __dir__ = lazily(
    __name__,
    {**HOMES, "load": "_saving"}
    | dict.fromkeys(["ClusterCountSuggestion", "suggest_n_clusters"], ".ensemble.n_clusters"),
)
