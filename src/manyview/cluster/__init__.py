"""The estimators: scikit-learn's conventions, with several views instead of one table."""

from manyview.cluster._invariant import InvariantTBGL
from manyview.cluster._tbgl import TBGL

__all__ = ["TBGL", "InvariantTBGL"]
