from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import read_views
from manyview.graphs import gaussian_kernel
from manyview.graphs.kernels import median_bandwidth
from manyview.graphs.neighbours import squared_distances

VIEW = np.random.default_rng(0).random((15, 4))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_against_loops(make):
    distances = np.array([[np.linalg.norm(a - b) for b in VIEW] for a in VIEW])
    sigma = np.median(distances)
    np.testing.assert_allclose(gaussian_kernel(make(VIEW)), np.exp(-(distances**2) / (2 * sigma**2)), rtol=1e-10)
    np.testing.assert_allclose(gaussian_kernel(make(VIEW), 0.5), np.exp(-(distances**2) / 0.5), rtol=1e-10)


def test_symmetric_with_ones_on_the_diagonal():
    kernel = gaussian_kernel(VIEW * 1e6)
    np.testing.assert_array_equal(kernel, kernel.T)
    np.testing.assert_array_equal(np.diag(kernel), 1.0)


def test_does_not_depend_on_the_unit():
    np.testing.assert_allclose(gaussian_kernel(VIEW), gaussian_kernel(1e-3 * VIEW + 7), rtol=1e-8)


def test_mostly_duplicates_take_the_median_of_the_other_distances():
    view = np.vstack([np.zeros((9, 1)), [[3.0]], [[4.0]]])
    assert median_bandwidth((view - view.T) ** 2) == pytest.approx(3.0)
    turned = np.hstack([view, np.full((11, 2), 1 / 3)]) @ np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    assert median_bandwidth(squared_distances(turned, turned)) == pytest.approx(3.0)  # though duplicates are apart
    assert median_bandwidth(np.zeros((3, 3))) == 1.0


@pytest.mark.parametrize(("name", "tag"), [("MSRC-v5", "msrc"), ("3Sources", "3s")])
def test_bandwidth_of_the_authors(oracle, data_file, name, tag):
    expected = oracle(f"coreg__{tag}__file")["sigma"].ravel()
    found = [median_bandwidth(squared_distances(view, view)) for view in read_views(data_file(f"{name}.mat")).arrays]
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_distances_whose_squares_have_no_inverse():
    x = np.array([[0.0], [1.0], [3.0]])
    np.testing.assert_allclose(gaussian_kernel(x * 2.0**-518), gaussian_kernel(x), rtol=1e-2)  # few digits are left
