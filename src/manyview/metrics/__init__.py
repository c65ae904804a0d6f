"""Scores that compare a clustering with known classes.

:func:`clustering_scores` gives the seven that the multi-view literature prints; each is also there alone. All
of them come from one sparse contingency table: memory follows the number of samples, and nothing of size
n x n or classes x clusters exists.
"""

from manyview.metrics.matching import match_labels
from manyview.metrics.scores import (
    SCORE_TITLES,
    SCORES,
    PairScores,
    accuracy,
    adjusted_rand,
    clustering_scores,
    normalized_mutual_info,
    pair_scores,
    purity,
)
from manyview.metrics.table import Contingency, contingency

__all__ = [
    "SCORES",
    "SCORE_TITLES",
    "Contingency",
    "PairScores",
    "accuracy",
    "adjusted_rand",
    "clustering_scores",
    "contingency",
    "match_labels",
    "normalized_mutual_info",
    "pair_scores",
    "purity",
]
