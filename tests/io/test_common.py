from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.io._common import checked_csr


@pytest.mark.parametrize(
    "indptr",
    [[0, 2, 1, 2, 2], [0, 2**63 - 1, -(2**63), -1, 2]],
    ids=["back and forth", "differences overflow"],
)
def test_index_pointers_must_not_decrease(indptr):
    matrix = sp.csr_array((4, 3))
    matrix.data, matrix.indices = np.ones(2), np.array([0, 1], dtype=np.int64)
    matrix.indptr = np.array(indptr, dtype=np.int64)
    with pytest.raises(ValueError, match=r"index pointers must not decrease|indptr"):
        checked_csr(matrix, "file", 10**9)
