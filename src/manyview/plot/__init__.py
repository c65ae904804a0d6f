"""Figures of fitted models and of studies, on matplotlib axes.

Every function draws on ``ax``, or on a new figure, and returns the axes; none shows or saves a figure or changes
matplotlib's settings. Needs ``pip install "manyview[plot]"``.
"""

from manyview.plot._audit import audit
from manyview.plot._convergence import convergence
from manyview.plot._description import markers, metadata, survival
from manyview.plot._embedding import embedding
from manyview.plot._graph import graph
from manyview.plot._n_clusters import n_clusters
from manyview.plot._sweep import sweep
from manyview.plot._view_weights import view_weights

__all__ = [
    "audit",
    "convergence",
    "embedding",
    "graph",
    "markers",
    "metadata",
    "n_clusters",
    "survival",
    "sweep",
    "view_weights",
]
