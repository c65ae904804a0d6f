"""Execution of row-wise work: map over row blocks, sum small results."""

from manyview.engines.dask import DaskRows
from manyview.engines.local import LocalRows, RowThreads
from manyview.engines.rows import BLOCK_ROWS, Block, Rows

__all__ = ["BLOCK_ROWS", "Block", "DaskRows", "LocalRows", "RowThreads", "Rows"]
