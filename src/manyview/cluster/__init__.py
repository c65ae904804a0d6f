"""The estimators: scikit-learn's conventions, with several views instead of one table."""

from manyview.cluster._base import Facts
from manyview.cluster._clr import CLR
from manyview.cluster._invariant import InvariantTBGL
from manyview.cluster._registry import Method, available_methods
from manyview.cluster._tbgl import TBGL

__all__ = ["CLR", "TBGL", "Facts", "InvariantTBGL", "Method", "available_methods"]
