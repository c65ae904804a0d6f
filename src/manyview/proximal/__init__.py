"""Proximal operators and projections: pure functions that never change their input."""

from manyview.proximal.quadratic import simplex_qp
from manyview.proximal.shrinkage import prox_l21, prox_lp, prox_squared_l12, soft_threshold
from manyview.proximal.simplex import project_simplex, project_simplex_sparse

__all__ = [
    "project_simplex",
    "project_simplex_sparse",
    "prox_l21",
    "prox_lp",
    "prox_squared_l12",
    "simplex_qp",
    "soft_threshold",
]
