from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import make_multiview
from manyview.graphs import SCALERS, neighbor_graph, normalize_graph
from manyview.io import read_views
from manyview.solvers import smsc
from manyview.solvers.smsc import Settings, fill_empty, largest_entry_signs


@pytest.fixture(scope="module")
def similarities():
    """Three views of 150 samples in 4 clusters that overlap."""
    views = make_multiview(150, 4, n_views=3, noise=0.4, random_state=0)
    return [normalize_graph(neighbor_graph(view, 8)) for view in views.arrays]


@pytest.fixture
def state(similarities):
    """Frames and weights in the middle of a run, and the Y and the images that belong to them."""
    found = smsc.run(similarities, smsc.frames_of_spectra(similarities, 4), max_iter=4)
    images = [s @ r for s, r in zip(similarities, found.frames, strict=True)]
    return found, images


def weighted_loss(similarities, embedding, frames, weights):
    return sum(
        p * np.sum((s.toarray() - embedding @ r.T) ** 2) for p, s, r in zip(weights, similarities, frames, strict=True)
    )


def random_frame(rng):
    return np.linalg.qr(rng.normal(size=(150, 4)))[0]


def test_y_step_is_the_minimum(similarities, state):
    found, images = state
    mean = smsc.mean_image(images, found.weights)
    expected = sum(p * (s.toarray() @ r) for p, s, r in zip(found.weights, similarities, found.frames, strict=True))
    np.testing.assert_allclose(mean, expected / found.weights.sum(), atol=1e-12)
    best = smsc.embedding_step(mean)
    assert (best >= 0).all()
    assert (best == 0).any()
    lowest = weighted_loss(similarities, best, found.frames, found.weights)
    rng = np.random.default_rng(0)
    for scale in (1e-3, 1e-2, 1.0):
        other = np.maximum(best + scale * rng.normal(size=best.shape), 0)
        assert weighted_loss(similarities, other, found.frames, found.weights) > lowest
    assert weighted_loss(similarities, best / 3, found.frames, found.weights) > lowest


def test_r_step_is_the_minimum(similarities, state):
    embedding, rng = state[0].embedding, np.random.default_rng(0)
    for similarity in similarities:
        best = smsc.frame_step(similarity, embedding)
        np.testing.assert_allclose(best.T @ best, np.eye(4), atol=1e-12)
        lowest = weighted_loss([similarity], embedding, [best], [1.0])
        for scale in (1e-3, 1e-1, 10.0):
            other = np.linalg.qr(best + scale * random_frame(rng))[0]
            other = other * np.sign(np.sum(other * best, axis=0))
            assert weighted_loss([similarity], embedding, [other], [1.0]) > lowest


def test_r_step_completes_a_lost_column(similarities, state):
    embedding = state[0].embedding.copy()
    embedding[:, 2] = 0
    frame = smsc.frame_step(similarities[0], embedding)
    np.testing.assert_allclose(frame.T @ frame, np.eye(4), atol=1e-10)


def test_residuals_without_an_n_by_n_matrix(similarities, state):
    found, images = state
    total = np.zeros(150)
    for s, r, image, p in zip(similarities, found.frames, images, found.weights, strict=True):
        dense = s.toarray() - found.embedding @ r.T
        assert smsc.squared_residual(s, image, found.embedding) == pytest.approx(np.sum(dense**2))
        total += p * np.sum(dense**2, axis=1)
    np.testing.assert_allclose(smsc.misfits(similarities, images, found.embedding, found.weights), total)


@pytest.mark.parametrize("start", ["labels", "spectra"])
def test_invariants_of_a_run(similarities, start):
    rng = np.random.default_rng(0)
    frames = smsc.frames_of_spectra(similarities, 4)
    if start == "labels":
        frames = smsc.frames_of_labels(similarities, rng.integers(4, size=150), 4)
    before, seen = [s.toarray() for s in similarities], []
    found = smsc.run(similarities, frames, on_pass=lambda n, value: seen.append((n, value)))
    assert 3 < len(found.objective) < 200
    assert found.n_reseeds == 0
    assert (np.diff(found.objective) <= 1e-12).all()
    assert (found.embedding >= 0).all()
    for r in found.frames:
        np.testing.assert_allclose(r.T @ r, np.eye(4), atol=1e-10)
    dense = [np.linalg.norm(s - found.embedding @ r.T) for s, r in zip(before, found.frames, strict=True)]
    np.testing.assert_allclose(found.residuals[-1], dense)
    np.testing.assert_allclose(found.weights, 1 / (2 * np.array(dense)))
    np.testing.assert_allclose(found.objective, found.residuals.sum(axis=1))
    assert seen == list(enumerate(found.objective, start=1))
    np.testing.assert_array_equal(found.labels, found.embedding.argmax(axis=1))
    for s, old in zip(similarities, before, strict=True):
        np.testing.assert_array_equal(s.toarray(), old)


def test_cliques_have_a_closed_form():
    """K equal cliques of m samples: Y is 1/√m in its block, and |S - YRᵀ|² = K/(m - 1)."""
    m, n_clusters = 12, 4
    clique = (np.ones((m, m)) - np.eye(m)) / (m - 1)
    similarity = sp.csr_array(sp.block_diag([clique] * n_clusters))
    truth = np.repeat(np.arange(n_clusters), m)
    found = smsc.run([similarity] * 2, smsc.frames_of_labels([similarity] * 2, truth, n_clusters))
    np.testing.assert_array_equal(found.labels, truth)
    np.testing.assert_allclose(found.embedding, np.eye(n_clusters)[truth] / np.sqrt(m), atol=1e-12)
    assert found.objective[-1] == pytest.approx(2 * np.sqrt(n_clusters / (m - 1)))


def test_perfect_fit_has_finite_weights():
    similarity = sp.csr_array(np.array([[0.0, 1], [1, 0]]))
    found = smsc.run([similarity], smsc.frames_of_labels([similarity], np.array([0, 1]), 2))
    assert np.isfinite(found.weights).all()
    assert set(found.labels) == {0, 1}
    assert found.residuals[-1, 0] < 1e-7


def test_identical_views_are_one_view(similarities):
    frames = smsc.frames_of_spectra(similarities[:1], 4)
    single = smsc.run(similarities[:1], frames)
    triple = smsc.run([similarities[0]] * 3, frames * 3)
    np.testing.assert_array_equal(triple.weights, triple.weights[0])
    np.testing.assert_allclose(triple.embedding, single.embedding, atol=1e-10)


def test_row_without_positive_entries_still_gets_a_label():
    """Zero after clipping: the entry that is least negative decides."""
    similarity = sp.csr_array(np.array([[0.0, 1, 0], [1, 0, 0], [0, 0, 1]]))
    frame = np.array([[1.0, 0], [0, 1], [0, 0]])
    frame[2] = [-0.5, -0.2]
    found = smsc.run([similarity], [frame], max_iter=1)
    assert (found.embedding[2] == 0).all()
    assert found.labels[2] == 1


def test_start_from_spectra(similarities):
    for s, frame in zip(similarities, smsc.frames_of_spectra(similarities, 4), strict=True):
        expected = np.linalg.eigh(s.toarray())[1][:, -4:]
        np.testing.assert_allclose(frame @ frame.T, expected @ expected.T, atol=1e-10)
        assert (frame.max(axis=0) == np.abs(frame).max(axis=0)).all()


def test_start_from_labels(similarities):
    labels = np.random.default_rng(0).integers(4, size=150)
    indicator = np.eye(4)[labels] / np.sqrt(np.bincount(labels))
    np.testing.assert_allclose(indicator.T @ indicator, np.eye(4), atol=1e-12)
    for s, frame in zip(similarities, smsc.frames_of_labels(similarities, labels, 4), strict=True):
        np.testing.assert_allclose(frame, smsc.frame_step(s, indicator))


def test_points_for_the_start_are_spectra_of_the_mean(similarities):
    points = smsc.common_eigenvectors(similarities, 4)
    expected = np.linalg.eigh(sum(s.toarray() for s in similarities))[1][:, -4:]
    np.testing.assert_allclose(points @ points.T, expected @ expected.T, atol=1e-10)
    turned = smsc.common_eigenvectors(similarities[::-1], 4)
    np.testing.assert_allclose(turned @ turned.T, expected @ expected.T, atol=1e-10)


def test_lost_clusters_are_brought_back():
    """Nearly as many clusters as samples: some get lost on the way, and most of these are found again."""
    lost, found_again = 0, 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n = int(rng.integers(6, 20))
        n_clusters = int(rng.integers(n // 2, n + 1))
        graphs = [normalize_graph(neighbor_graph(rng.normal(size=(n, 2)), 3)) for _ in range(2)]
        frames = smsc.frames_of_labels(graphs, rng.integers(n_clusters, size=n), n_clusters)
        found = smsc.run(graphs, frames, max_iter=100)
        assert set(found.labels) == set(range(n_clusters))
        assert np.count_nonzero(np.diff(found.objective) > 1e-6) <= found.n_reseeds
        lost += found.n_reseeds > 0
        found_again += found.n_reseeds > 0 and found.n_filled == 0
    assert lost > 3
    assert found_again >= lost / 2


def test_labels_name_all_clusters_even_after_one_pass(similarities):
    frames = smsc.frames_of_labels(similarities, np.zeros(150, dtype=int), 4)
    for frame in frames:
        frame[:, 1:] = 0
    found = smsc.run(similarities, frames, max_iter=1)
    assert found.n_filled == 3
    assert set(found.labels) == {0, 1, 2, 3}


# --- what the authors' program returns --------------------------------------------------------------------------------

SETS = ["msrc", "3s"]


def program(oracle, tag):
    stored = oracle(f"smsc__{tag}__file")
    graphs = [sp.csr_array(stored[name]) for name in sorted(stored) if name.startswith("St_")]
    return stored, graphs, [stored[name] for name in sorted(stored) if name.startswith("F0_")]


@pytest.mark.parametrize("tag", SETS)
def test_parity_with_the_authors_program(oracle, tag):
    """With its slip, from its singular vectors: the same embedding, squared residuals and labels."""
    stored, graphs, frames = program(oracle, tag)
    found = smsc.run(graphs, frames, settings=Settings(scale_slip=True), max_iter=60, tol=0)
    np.testing.assert_allclose(found.embedding, stored["Y"], atol=1e-10)
    np.testing.assert_allclose((found.residuals**2).sum(axis=1), stored["obj"], atol=1e-8)
    np.testing.assert_array_equal(found.labels + 1, stored["labels__default"])


@pytest.mark.parametrize("tag", SETS)
def test_without_the_slip_it_fits_better_with_the_same_labels(oracle, tag):
    stored, graphs, frames = program(oracle, tag)
    found = smsc.run(graphs, frames, max_iter=60, tol=0)
    assert (found.residuals[-1] ** 2).sum() < 0.95 * stored["obj"][-1]
    assert (np.diff(found.objective) <= 1e-12).all()
    np.testing.assert_array_equal(found.labels + 1, stored["labels__default"])


def test_graphs_are_the_programs(oracle, data_file):
    _, graphs, _ = program(oracle, "msrc")
    for view, expected in zip(read_views(data_file("MSRC-v5.mat")).arrays, graphs, strict=True):
        ours = normalize_graph(neighbor_graph(SCALERS["row-standardized"](view), 10))
        np.testing.assert_allclose(ours.toarray(), expected.toarray(), atol=1e-10)


def test_graphs_are_the_programs_but_for_duplicates(oracle, data_file):
    """In 3Sources it links one of two equal samples with itself and drops that edge; without it, all agree."""
    _, graphs, _ = program(oracle, "3s")
    for view, expected in zip(read_views(data_file("3Sources.mat")).arrays, graphs, strict=True):
        scaled = SCALERS["row-standardized"](view)
        one_way = neighbor_graph(scaled, 10, symmetric=False).toarray()
        pairs = [(i, j) for i, j in np.argwhere(one_way > 0) if (scaled[i] == scaled[j]).all()]
        found = []
        for dropped in pairs:
            thinned = one_way.copy()
            thinned[dropped] = 0
            ours = normalize_graph(sp.csr_array((thinned + thinned.T) / 2))
            found.append(np.abs(ours - expected).max())
        assert len(pairs) == 2
        assert min(found) < 1e-10


def test_signs_of_the_largest_entries():
    assert largest_entry_signs(np.array([[0.1, -0.9], [-0.8, 0.2]])).tolist() == [-1, -1]


def test_lost_clusters_get_half_of_the_one_that_fits_worst():
    """Two pairs of blobs: the pair with the larger misfit is cut between its blobs."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), 30)
    points = np.array([[0, 0], [4, 0], [0, 40], [4, 40]])[truth] + rng.normal(size=(120, 2))
    graph = normalize_graph(neighbor_graph(points, 8))
    misfit = np.where(truth < 2, 1.0, 2.0)
    labels = fill_empty(np.where(truth < 2, 0, 3), 4, graph, misfit)
    assert set(labels[truth < 2]) <= {0, 2}
    assert set(labels) == {0, 1, 2, 3}
    table = np.zeros((4, 4), dtype=int)
    np.add.at(table, (labels, truth), 1)
    assert table.max(axis=0).sum() >= 116


@pytest.mark.parametrize("n", [2, 3, 7])
def test_every_sample_can_become_a_cluster(n):
    graph = sp.csr_array(np.ones((n, n)) - np.eye(n))
    labels = fill_empty(np.zeros(n, dtype=int), n, graph, np.zeros(n))
    assert sorted(labels) == list(range(n))
    labels = fill_empty(np.zeros(n, dtype=int), n, sp.csr_array((n, n)), np.arange(n))
    assert sorted(labels) == list(range(n))
