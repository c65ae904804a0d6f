"""Third-order tensors: the t-SVD and the Schatten-p quasi-norm. Pure functions."""

from manyview.tensor.schatten import prox_schatten, schatten_norm
from manyview.tensor.tsvd import map_singular_values, tsvd

__all__ = ["map_singular_values", "prox_schatten", "schatten_norm", "tsvd"]
