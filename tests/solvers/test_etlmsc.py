from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
from threadpoolctl import threadpool_limits

from manyview.engines import RowThreads
from manyview.graphs import gaussian_kernel, largest_eigenvectors
from manyview.io import read_views
from manyview.solvers import etlmsc
from manyview.tensor import schatten_norm

FILES = {"msrc": "MSRC-v5.mat", "3s": "3Sources.mat"}
MODES = {"mode3": "rows", "mode1": "columns", "mode2": "views"}  # the program's names of the axes


@pytest.fixture(autouse=True)
def one_thread():
    """As in the estimators: small decompositions are slower with more."""
    with threadpool_limits(1):
        yield


def stack(views):
    return np.stack([etlmsc.transition_matrix(gaussian_kernel(np.asarray(x, dtype=float))) for x in views])


@pytest.fixture(scope="module")
def views():
    """Three views of 20 samples in 2 groups."""
    rng = np.random.default_rng(0)
    centres = np.repeat(rng.normal(size=(2, 4)) * 2, 10, axis=0)
    return [centres + rng.normal(size=(20, 4)) * (0.5 + v / 2) for v in range(3)]


@pytest.fixture(scope="module")
def walks(views):
    return stack(views)


@pytest.fixture
def state():
    """A state in which nothing is zero, wide enough for more than one block of the engine."""
    rng = np.random.default_rng(1)
    return etlmsc.State(*rng.normal(size=(5, 2, 300, 300)), mu=0.5)


@pytest.fixture
def threads():
    with RowThreads(2) as threads:
        yield threads


def naive_prox(tensor, threshold, axis, *, twice_for_odd=False):
    """Full FFT and SVDs; ``twice_for_odd`` shrinks the middle pair of an odd axis twice, as the program does."""
    slices = np.moveaxis(np.fft.fft(tensor, axis=axis), axis, 0)
    n3 = len(slices)

    def shrink(part):
        u, s, vh = np.linalg.svd(part, full_matrices=False)
        return (u * np.maximum(s - threshold, 0)[:, None]) @ vh

    half = n3 // 2 + 1
    slices[:half] = shrink(slices[:half])
    if twice_for_odd and n3 % 2 and n3 > 1:
        slices[half - 1] = shrink(slices[half - 1][None])[0]
    for i in range(1, half):
        slices[n3 - i] = slices[i].conj()
    return np.fft.ifft(np.moveaxis(slices, 0, axis), axis=axis).real


def naive_run(walks, lam, axis, *, twice_for_odd=False):
    z, e, y = np.zeros((3, *walks.shape))
    mu, residuals = 0.01, []
    for _ in range(200):
        z_before, e_before = z, e
        z = naive_prox(walks - e + y / mu, 1 / mu, axis, twice_for_odd=twice_for_odd)
        target = walks - z + y / mu
        length = np.sqrt((target**2).sum(axis=(0, 1)))
        e = target * np.maximum(1 - lam / mu / length, 0)
        y = y + mu * (walks - z - e)
        residuals.append(max(np.abs(part).max() for part in (walks - z - e, z - z_before, e - e_before)))
        if residuals[-1] < 1e-6:
            break
        mu *= 2
    return z, e, np.array(residuals)


def angle(a, b):
    """Sine of the largest angle between two spaces."""
    return np.sin(scipy.linalg.subspace_angles(a, b).max())


def test_transition_matrices_are_stochastic(walks):
    np.testing.assert_allclose(walks.sum(axis=2), 1)
    assert (walks > 0).all()


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_z_step(threads, axis):
    state = etlmsc.State(*np.random.default_rng(2).normal(size=(5, 3, 13, 13)), mu=0.4)
    before = state.Z.copy()
    expected = naive_prox(state.T - state.E + state.Y / 0.4, 1 / 0.4, axis)
    norm = etlmsc.update_essential(state, axis, threads)
    np.testing.assert_allclose(state.Z, expected, atol=1e-8)
    np.testing.assert_array_equal(state.before, before)
    assert norm == pytest.approx(schatten_norm(expected, 1.0, axis))


def test_e_step(state, threads):
    target = state.T - state.Z + state.Y / 0.5
    expected = np.zeros_like(target)
    total = 0.0
    for j in range(300):
        column = target[:, :, j]
        size = max(np.linalg.norm(column) - 30.0 / 0.5, 0.0)
        expected[:, :, j] = column * size / np.linalg.norm(column)
        total += size
    moved = np.abs(expected - state.E).max()
    length, change = etlmsc.update_errors(state, 30.0, threads)
    assert 0 < np.count_nonzero(np.abs(expected).sum(axis=(0, 1))) < 300
    np.testing.assert_allclose(state.E, expected, atol=1e-12)
    assert length == pytest.approx(total)
    assert change == pytest.approx(moved)


def test_multiplier_step(state, threads):
    gap = state.T - state.Z - state.E
    expected = state.Y + 0.5 * gap
    residual, change = etlmsc.update_multiplier(state, threads)
    np.testing.assert_allclose(state.Y, expected, atol=1e-12)
    assert residual == pytest.approx(np.abs(gap).max())
    assert change == pytest.approx(np.abs(state.Z - state.before).max())


@pytest.mark.parametrize("axis", ["rows", "columns", "views"])
@pytest.mark.parametrize("n", [19, 20])
def test_run_is_the_naive_one(views, axis, n):
    walks = stack([x[:n] for x in views])
    kept = walks.copy()
    found = etlmsc.run(walks, 0.3, tensor_axis=axis)
    z, e, residuals = naive_run(walks, 0.3, etlmsc.TENSOR_AXES[axis])
    np.testing.assert_allclose(found.residual, residuals, atol=1e-8)
    np.testing.assert_allclose(found.walk, z.sum(axis=0), atol=1e-8)
    lengths = np.sqrt((e**2).sum(axis=(0, 1))).sum()
    value = schatten_norm(z, 1.0, etlmsc.TENSOR_AXES[axis]) + 0.3 * lengths
    assert found.objective[-1] == pytest.approx(value, rel=1e-6)
    np.testing.assert_array_equal(walks, kept)


def test_on_pass_is_told_the_objective(walks):
    seen = []
    found = etlmsc.run(walks, 0.3, max_iter=5, on_pass=lambda *line: seen.append(line))
    assert seen == list(enumerate(found.objective, start=1))
    assert len(seen) == found.n_iter == 5


def test_without_errors_the_walks_themselves_are_left(walks):
    found = etlmsc.run(walks, 1.0)
    np.testing.assert_allclose(found.walk, walks.sum(axis=0), atol=1e-5)
    assert found.residual[-1] < 1e-6


def test_errors_for_nothing_leave_nothing(walks):
    assert np.abs(etlmsc.run(walks, 0.01).walk).max() == 0


def test_constant_penalty_reaches_the_minimum_from_anywhere(walks):
    small = walks[:, :8, :8]
    first = etlmsc.run(small, 0.3, penalty=5.0, penalty_growth=1.0, max_iter=1500, tol=1e-9)
    second = etlmsc.run(small, 0.3, penalty=20.0, penalty_growth=1.0, max_iter=1500, tol=1e-9)
    fast = etlmsc.run(small, 0.3)
    assert first.n_iter < 1500
    assert second.n_iter < 1500
    assert first.objective[-1] == pytest.approx(second.objective[-1], rel=1e-6)
    np.testing.assert_allclose(first.walk, second.walk, atol=1e-5)
    assert fast.objective[-1] >= first.objective[-1] * (1 - 1e-6)


@pytest.mark.parametrize("axis", ["rows", "columns"])
def test_which_orders_matter(walks, axis):
    def moved(order):
        return etlmsc.run(walks[:, order][:, :, order].copy(), 0.3, tensor_axis=axis).walk

    plain = etlmsc.run(walks, 0.3, tensor_axis=axis).walk
    for order in (np.roll(np.arange(20), 7), np.arange(20)[::-1]):
        np.testing.assert_allclose(moved(order), plain[order][:, order], atol=1e-8)
    order = np.random.default_rng(0).permutation(20)
    assert np.abs(moved(order) - plain[order][:, order]).max() > 1e-3
    np.testing.assert_allclose(etlmsc.run(walks[::-1].copy(), 0.3, tensor_axis=axis).walk, plain, atol=1e-8)


def test_along_the_views_no_order_matters(walks):
    plain = etlmsc.run(walks, 0.5, tensor_axis="views").walk
    order = np.random.default_rng(0).permutation(20)
    moved = etlmsc.run(walks[:, order][:, :, order].copy(), 0.5, tensor_axis="views").walk
    np.testing.assert_allclose(moved, plain[order][:, order], atol=1e-8)
    np.testing.assert_allclose(etlmsc.run(walks[[2, 0, 1]], 0.5, tensor_axis="views").walk, plain, atol=1e-8)


def test_identical_views_have_identical_parts(walks, threads):
    state = etlmsc.init_state(np.stack([walks[0]] * 3), 1.0)
    for _ in range(5):
        etlmsc.update_essential(state, 1, threads)
        etlmsc.update_errors(state, 0.3, threads)
        etlmsc.update_multiplier(state, threads)
        state.mu *= 2
    assert np.abs(state.Z).max() > 0
    np.testing.assert_allclose(state.Z, state.Z[[1, 2, 0]], atol=1e-10)
    values = np.linalg.svd(np.moveaxis(np.fft.fft(state.Z, axis=1), 1, 0), compute_uv=False)
    assert values[:, 1:].max() < 1e-6


def test_threads_do_not_change_a_bit():
    walks = stack(np.random.default_rng(3).normal(size=(2, 300, 4)))
    first, second = (etlmsc.run(walks, 0.1, n_threads=n, max_iter=8).walk for n in (1, 4))
    np.testing.assert_array_equal(first, second)


def test_perron_vector():
    matrix = np.random.default_rng(0).random((30, 30))
    values, vectors = scipy.linalg.eig(matrix.T)
    expected = vectors[:, np.argmax(values.real)].real
    np.testing.assert_allclose(etlmsc.perron_vector(matrix), expected / expected.sum(), atol=1e-12)
    apart = np.kron(np.eye(2), np.ones((5, 5))) + 1e-12
    assert (etlmsc.perron_vector(apart) > 0).all()


def test_symmetric_walk():
    matrix = np.random.default_rng(0).random((30, 30))
    share = np.diag(etlmsc.perron_vector(matrix))
    root, inverse = np.sqrt(share), np.linalg.inv(np.sqrt(share))
    expected = (root @ matrix @ inverse + inverse @ matrix.T @ root) / 2
    np.testing.assert_allclose(etlmsc.symmetric_walk(matrix), expected, atol=1e-10)
    matrix -= 0.4
    kept = matrix.copy()
    walk = etlmsc.symmetric_walk(matrix)
    np.testing.assert_array_equal(matrix, kept)
    assert np.isfinite(walk).all()
    np.testing.assert_array_equal(walk, walk.T)
    np.testing.assert_allclose(walk, etlmsc.symmetric_walk(np.maximum(matrix, 0)), atol=1e-8)


@pytest.fixture(scope="module")
def published(oracle, data_file):
    """Transition matrices of a dataset in an order of its samples, and what the program made of them."""

    def load(tag, order):
        views = read_views(data_file(FILES[tag]))
        rows = {"file": slice(None), "sorted": np.argsort(views.labels, kind="stable")}.get(order)
        rows = oracle("perms")[tag] if order == "shuf" else rows
        return stack([x[rows] for x in views.arrays]), oracle(f"etlmsc__{tag}__{order}")

    return load


@pytest.mark.parametrize("order", ["file", "shuf"])
def test_parity_with_the_authors_program(published, order):
    """MSRC-v5, whose 210 samples are an even number: residuals of all passes, the walk, its eigenvectors."""
    walks, stored = published("msrc", order)
    for name in ("mode3_lam0.04", "mode1_lam0.1", "mode3_lam0.004"):
        mode, lam = name.split("_lam")
        found = etlmsc.run(walks, float(lam), tensor_axis=MODES[mode])
        np.testing.assert_allclose(found.residual, stored[f"errs_{name}"], atol=1e-8)
        if order == "shuf" or lam == "0.004":  # the walk is then noise, which has no leading eigenvectors
            continue
        if name == "mode3_lam0.04":
            np.testing.assert_allclose(found.walk, stored["S_cfg1"], atol=1e-9)
        symmetric, theirs = etlmsc.symmetric_walk(found.walk), stored[f"U_{name}"]
        values, vectors = np.linalg.eigh(symmetric)
        assert angle(vectors[:, np.argsort(-np.abs(values))[:7]], theirs) < 1e-6
        # Largest in magnitude and largest are the same, but for λ = 0.04.
        ours = largest_eigenvectors(symmetric, 7)[1]
        assert (angle(ours, theirs) < 1e-6) == (lam == "0.1")


@pytest.mark.parametrize("order", ["file", "shuf", "sorted"])
def test_parity_when_hardly_a_slice_is_left(published, order):
    """3Sources has 169 samples, an odd number, but the slices that the program shrinks twice are zero here."""
    walks, stored = published("3s", order)
    found = etlmsc.run(walks, 0.04)
    np.testing.assert_allclose(found.residual, stored["errs_mode3_lam0.04"], atol=1e-8)
    if order == "file":
        np.testing.assert_allclose(found.walk, stored["S_cfg1"], atol=1e-9)


@pytest.mark.parametrize(
    ("tag", "order", "name"),
    [
        ("3s", "file", "mode3_lam0.1"),
        ("3s", "shuf", "mode1_lam0.1"),
        ("3s", "file", "mode2_lam0.5"),
    ],
)
def test_odd_axes_differ_by_the_known_defect_only(published, tag, order, name):
    walks, stored = published(tag, order)
    mode, lam = name.split("_lam")
    axis = etlmsc.TENSOR_AXES[MODES[mode]]
    z, _, residuals = naive_run(walks, float(lam), axis, twice_for_odd=True)
    np.testing.assert_allclose(residuals, stored[f"errs_{name}"], atol=1e-8)
    found = etlmsc.run(walks, float(lam), tensor_axis=MODES[mode])
    assert np.abs(np.array(found.residual) - stored[f"errs_{name}"]).max() > 1e-6
    if order == "file":
        vectors = largest_eigenvectors(etlmsc.symmetric_walk(z.sum(axis=0)), 6)[1]
        assert angle(vectors, stored[f"U_{name}"]) < 1e-6
