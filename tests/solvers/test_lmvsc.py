from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import scipy.optimize
import scipy.sparse as sp

from manyview import read_views
from manyview.solvers import lmvsc
from manyview.solvers.lmvsc import embed, relative_ridge, represent, run


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    return rng.normal(size=(40, 6)) + 5, rng.normal(size=(12, 6)) + 5


def values(view, anchors, ridge, coefficients):
    return ((view - coefficients @ anchors) ** 2).sum(axis=1) + ridge * (coefficients**2).sum(axis=1)


@pytest.mark.parametrize("ridge", [1e-3, 0.3, 5.0, 1000.0])
def test_rows_are_those_of_a_general_solver(problem, ridge):
    view, anchors = problem
    solved = represent(view, anchors, ridge)
    for x, z in zip(view[:5], solved.coefficients, strict=False):
        expected = scipy.optimize.minimize(
            lambda w, x=x: float(np.sum((x - w @ anchors) ** 2) + ridge * w @ w),
            np.full(12, 1 / 12),
            jac=lambda w, x=x: 2 * anchors @ (w @ anchors - x) + 2 * ridge * w,
            method="SLSQP",
            bounds=[(0, 1)] * 12,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(12)},
            options={"ftol": 1e-14, "maxiter": 1000},
        ).x
        np.testing.assert_allclose(z, expected, atol=2e-6)
    np.testing.assert_allclose(solved.values, values(view, anchors, ridge, solved.coefficients), rtol=1e-10)


@pytest.mark.parametrize("shift", [0.0, 1e4])
@pytest.mark.parametrize("ridge", [1e-5, 0.01, 1.0, 100.0])
def test_certificate_of_many_anchors(shift, ridge):
    """On the simplex and with a gap below the tolerance, computed here with loops, however small the ridge is."""
    rng = np.random.default_rng(1)
    view, anchors = 10 * rng.normal(size=(60, 20)) + shift, 10 * rng.normal(size=(100, 20)) + shift
    solved = represent(view, anchors, ridge)
    assert (solved.coefficients >= 0).all()
    np.testing.assert_allclose(solved.coefficients.sum(axis=1), 1, atol=1e-12)
    assert solved.gaps.max() <= 1e-8
    assert solved.n_steps < 200
    origin = anchors.mean(axis=0)
    for x, z, gap in zip(view - origin, solved.coefficients, solved.gaps, strict=True):
        a = anchors - origin
        gradient = 2 * (a @ (z @ a - x) + ridge * z)
        scale = x @ x + max(row @ row for row in a) + ridge
        assert gap == pytest.approx((gradient @ z - gradient.min()) / scale, abs=1e-12)


def test_limits_of_the_ridge(problem):
    view, anchors = problem
    np.testing.assert_allclose(represent(view, anchors, 1e12).coefficients, 1 / 12, atol=1e-9)
    few = anchors[:5]  # in general position: each can only be had from itself
    np.testing.assert_allclose(represent(few, few, 1e-10).coefficients, np.eye(5), atol=1e-8)


def test_a_shift_changes_nothing(problem):
    view, anchors = problem
    shift = np.linspace(-100, 100, 6)
    moved = represent(view + shift, anchors + shift, 0.1)
    np.testing.assert_allclose(moved.coefficients, represent(view, anchors, 0.1).coefficients, atol=1e-10)


def test_equal_anchors_share(problem):
    view, anchors = problem
    doubled = represent(view, np.vstack([anchors, anchors]), 0.2).coefficients
    np.testing.assert_allclose(doubled[:, :12], doubled[:, 12:], atol=1e-10)
    np.testing.assert_allclose(doubled[:, :12] * 2, represent(view, anchors, 0.1).coefficients, atol=1e-10)


def test_a_ridge_that_rounding_swallows():
    rng = np.random.default_rng(5)
    view, anchors = 1e3 * rng.normal(size=(60, 3)), 1e3 * rng.normal(size=(10, 3))
    solved = represent(view, np.vstack([anchors, anchors, anchors + 1e-7]), 1e-13)
    assert np.isfinite(solved.coefficients).all()
    assert solved.gaps.max() <= 1e-8


def test_one_anchor(problem):
    view, anchors = problem
    np.testing.assert_array_equal(represent(view, anchors[:1], 0.1).coefficients, np.ones((40, 1)))


def test_sparse_views(problem):
    view, anchors = problem
    view = np.where(view > 5, view, 0.0)
    dense, sparse = represent(view, anchors, 0.1), represent(sp.csr_array(view), anchors, 0.1)
    np.testing.assert_allclose(sparse.coefficients, dense.coefficients, atol=1e-10)
    np.testing.assert_allclose(sparse.values, dense.values, rtol=1e-10)


def test_too_few_steps_show_in_the_gap(problem):
    solved = represent(*problem, 0.01, max_iter=1)
    assert solved.n_steps == 1
    assert solved.gaps.max() > 1e-3
    np.testing.assert_allclose(solved.coefficients.sum(axis=1), 1)


def test_threads_and_order_of_samples_do_not_matter():
    rng = np.random.default_rng(2)
    view, anchors = rng.normal(size=(700, 5)), rng.normal(size=(20, 5))
    one, two = represent(view, anchors, 0.1, n_threads=1), represent(view, anchors, 0.1, n_threads=2)
    np.testing.assert_array_equal(one.coefficients, two.coefficients)
    turned = represent(view[::-1], anchors, 0.1)
    np.testing.assert_allclose(turned.coefficients[::-1], one.coefficients, atol=1e-12)


def test_relative_ridge_is_free_of_units(problem):
    view, anchors = problem
    spread = sum(((a - anchors.mean(axis=0)) ** 2).sum() for a in anchors) / 12
    assert relative_ridge(anchors, 0.5) == pytest.approx(0.5 * spread)
    assert relative_ridge(anchors[[0, 0]], 0.5) == 0.5
    plain = represent(view, anchors, relative_ridge(anchors, 0.5))
    scaled = represent(1000 * view, 1000 * anchors, relative_ridge(1000 * anchors, 0.5))
    np.testing.assert_allclose(scaled.coefficients, plain.coefficients, atol=1e-10)


@pytest.mark.parametrize("degree_normalize", [False, True])
def test_embedding_is_that_of_the_dense_matrix(degree_normalize):
    rng = np.random.default_rng(3)
    coefficients = rng.dirichlet(np.ones(8), size=30)
    joint = coefficients / np.sqrt(2)
    if degree_normalize:
        joint = joint @ np.diag(joint.sum(axis=0) ** -0.5)
    u, values, _ = np.linalg.svd(joint)
    embedding, singular_values = embed(coefficients, 2, 3, degree_normalize=degree_normalize)
    np.testing.assert_allclose(embedding.T @ embedding, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(singular_values, values[:3], atol=1e-10)
    assert scipy.linalg.subspace_angles(embedding, u[:, :3]).max() < 1e-8


def test_views_can_be_repeated_and_swapped():
    rng = np.random.default_rng(4)
    views = [rng.normal(size=(50, 4)), rng.normal(size=(50, 7))]
    anchors = [rng.normal(size=(9, 4)), rng.normal(size=(5, 7))]
    seen: list[tuple[int, float]] = []
    once = run(views, anchors, 3, ridges=[0.1, 0.2], on_pass=lambda *report: seen.append(report))
    assert seen == [(1, once.objective[0]), (2, once.objective[1])]
    twice = run(views[::-1] * 2, anchors[::-1] * 2, 3, ridges=[0.2, 0.1] * 2)
    assert scipy.linalg.subspace_angles(once.embedding, twice.embedding).max() < 1e-8
    np.testing.assert_allclose(twice.singular_values, once.singular_values)
    np.testing.assert_allclose(twice.objective[:2], once.objective[::-1])


@pytest.mark.parametrize("ridge", ["0.01", "1", "100"])
def test_parity_with_the_authors_program(oracle, data_file, ridge):
    """With their anchors: the same coefficients and the same subspace."""
    stored, fixed = oracle("lmvsc_max__msrc__file"), oracle("lmvsc_aseeds__msrc__file")
    views = [np.asarray(x, dtype=float) for x in read_views(data_file("MSRC-v5.mat")).arrays]
    views = [x / x.max() for x in views]
    anchors = [stored[f"H_v{v}"] for v in range(1, 6)]
    solved = run(views, anchors, 7, ridges=[float(ridge)] * 5)
    expected = np.hstack([stored[f"Z_a{ridge}_v{v}"].T for v in range(1, 6)])
    np.testing.assert_allclose(solved.coefficients, expected, atol=1e-10)
    assert scipy.linalg.subspace_angles(solved.embedding, fixed[f"Ufix_a{ridge}"]).max() < 1e-8
    assert isinstance(solved, lmvsc.Subspace)
