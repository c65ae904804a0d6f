"""Running row-wise work: map over row blocks, sum small results."""

from manyview.engines.local import RowThreads

__all__ = ["RowThreads"]
