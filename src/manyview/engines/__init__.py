"""Running row-wise work: map over row blocks, sum small results."""

from manyview.engines.local import LocalRows, RowThreads
from manyview.engines.rows import Block, Rows

__all__ = ["Block", "LocalRows", "RowThreads", "Rows"]
