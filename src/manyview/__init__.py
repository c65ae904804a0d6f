"""Multi-view clustering: group samples that are described in several ways."""

from manyview.cluster import TBGL, InvariantTBGL
from manyview.exceptions import OrderDependenceWarning
from manyview.io import read_views
from manyview.metrics import clustering_scores
from manyview.views import Views, check_views

__version__ = "0.1.0.dev0"

__all__ = [
    "TBGL",
    "InvariantTBGL",
    "OrderDependenceWarning",
    "Views",
    "__version__",
    "check_views",
    "clustering_scores",
    "read_views",
]
