"""The estimators."""

from manyview.cluster._tbgl import TBGL

__all__ = ["TBGL"]
