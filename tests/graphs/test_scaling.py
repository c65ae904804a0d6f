from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.graphs import SCALERS


@pytest.mark.parametrize("name", SCALERS)
def test_sparse_equals_dense_and_input_is_kept(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.6)
    x[3] = 0
    before = x.copy()
    scaled = SCALERS[name](x)
    np.testing.assert_allclose(SCALERS[name](sp.csr_array(x)).toarray(), scaled, atol=1e-15)
    np.testing.assert_array_equal(x, before)
    assert np.isfinite(scaled).all()


def test_max_divides_by_the_largest_value():
    assert SCALERS["max"](np.array([[2.0, -8.0], [4.0, 1.0]])).max() == 1
    assert SCALERS["max"](np.array([[-2.0, -8.0]])).min() == -1
    assert (SCALERS["max"](np.zeros((2, 2))) == 0).all()


def test_unit_rows():
    scaled = SCALERS["unit"](np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(scaled, [[0.6, 0.8], [0.0, 0.0]])
