"""Multi-view clustering: group samples that are described in several ways."""

from manyview._version import __version__
from manyview.cluster import TBGL, InvariantTBGL, load, suggest_n_clusters
from manyview.compose import ViewTransformer
from manyview.exceptions import OrderDependenceWarning
from manyview.io import open_views, read_views
from manyview.metrics import clustering_scores
from manyview.views import Views, check_views

__all__ = [
    "TBGL",
    "InvariantTBGL",
    "OrderDependenceWarning",
    "ViewTransformer",
    "Views",
    "__version__",
    "check_views",
    "clustering_scores",
    "load",
    "open_views",
    "read_views",
    "suggest_n_clusters",
]
