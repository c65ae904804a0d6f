"""Multi-view clustering: group samples that are described in several ways."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manyview._utils.imports import lazily
from manyview._version import __version__

if TYPE_CHECKING:
    from manyview._utils.progress import set_progress
    from manyview.cluster import TBGL, GraphEnsemble, load, suggest_n_clusters
    from manyview.compose import ViewTransformer
    from manyview.description import describe
    from manyview.exceptions import OrderDependenceWarning
    from manyview.io import open_views, read_views, write_labels
    from manyview.metrics import clustering_scores
    from manyview.views import Views, check_views
    from manyview.views.annotated import to_anndata, to_mudata

__all__ = [
    "TBGL",
    "GraphEnsemble",
    "OrderDependenceWarning",
    "ViewTransformer",
    "Views",
    "__version__",
    "check_views",
    "clustering_scores",
    "describe",
    "load",
    "open_views",
    "read_views",
    "set_progress",
    "suggest_n_clusters",
    "to_anndata",
    "to_mudata",
    "write_labels",
]

# Names are imported when they are first used: the command line starts at once, and numpy, scikit-learn and numba come
# with the first command that computes.
_HOME = {
    "TBGL": "cluster",
    "GraphEnsemble": "cluster",
    "OrderDependenceWarning": "exceptions",
    "ViewTransformer": "compose",
    "Views": "views",
    "check_views": "views",
    "clustering_scores": "metrics",
    "describe": "description",
    "load": "cluster",
    "open_views": "io",
    "read_views": "io",
    "set_progress": "_utils.progress",
    "suggest_n_clusters": "cluster",
    "to_anndata": "views.annotated",
    "to_mudata": "views.annotated",
    "write_labels": "io",
}
_MODULES = (
    "audit",
    "cluster",
    "compose",
    "datasets",
    "description",
    "engines",
    "exceptions",
    "experiments",
    "graphs",
    "io",
    "metrics",
    "plot",
    "proximal",
    "report",
    "solvers",
    "store",
    "tensor",
    "views",
)

__getattr__, __dir__ = lazily(__name__, _HOME, _MODULES)
