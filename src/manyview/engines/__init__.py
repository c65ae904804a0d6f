"""Running row-wise work: map over row blocks, sum small results."""

from manyview.engines.local import LocalRows, RowThreads
from manyview.engines.rows import BLOCK_ROWS, Block, Rows

__all__ = ["BLOCK_ROWS", "Block", "LocalRows", "RowThreads", "Rows"]
