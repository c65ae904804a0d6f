"""What CoTrainingSpectral and CoRegularizedSpectral have in common, and what is their own."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from manyview._utils import machine
from manyview.cluster import CoRegularizedSpectral, CoTrainingSpectral
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError

ESTIMATORS = [
    CoTrainingSpectral(3, random_state=0),
    CoRegularizedSpectral(3, random_state=0),
    CoRegularizedSpectral(3, variant="pairwise", random_state=0),
]
each = pytest.mark.parametrize("model", ESTIMATORS, ids=["training", "centroid", "pairwise"])


@pytest.fixture(scope="module")
def views():
    return make_multiview(90, n_clusters=3, random_state=0)


def with_parameters(model, **changes):
    return type(model)(**{**model.get_params(), **changes})


@each
def test_finds_clear_clusters(model, views):
    assert adjusted_rand_score(views.labels, model.fit_predict(views)) == 1


@each
def test_order_of_the_samples(model, views):
    model = with_parameters(model).fit(views)
    rows = np.random.default_rng(1).permutation(90)
    again = with_parameters(model).fit(views.take(rows))
    assert adjusted_rand_score(model.labels_[rows], again.labels_) == 1
    np.testing.assert_array_equal(again.embedding_, model.embedding_[rows])
    np.testing.assert_array_equal(again.view_embeddings_, model.view_embeddings_[:, rows])


@each
def test_reads_all_views_or_one(model, views):
    learned = with_parameters(model).fit(views)
    one = with_parameters(model, readout_view=1).fit(views)
    named = with_parameters(model, readout_view=views.names[1]).fit(views)
    unit = learned.view_embeddings_[1][:, :3]
    unit = unit / np.linalg.norm(unit, axis=1, keepdims=True)
    np.testing.assert_allclose(one.embedding_, unit)
    np.testing.assert_array_equal(named.embedding_, one.embedding_)
    centroid = getattr(model, "variant", "") == "centroid"
    assert learned.embedding_.shape == (90, 3 if centroid else 9)
    np.testing.assert_allclose(np.linalg.norm(learned.embedding_, axis=1), 1)
    if not centroid:
        joined = np.hstack([u[:, :3] for u in learned.view_embeddings_])
        np.testing.assert_allclose(learned.embedding_, joined / np.linalg.norm(joined, axis=1, keepdims=True))


@each
@pytest.mark.parametrize(("view", "message"), [("colour", "readout_view='colour'"), (3, "readout_view=3")])
def test_a_view_that_is_not_there(model, views, view, message):
    with pytest.raises(ViewsError, match=message):
        with_parameters(model, readout_view=view).fit(views)


@each
def test_refuses_what_does_not_fit_into_memory(model, views, monkeypatch):
    monkeypatch.setattr(machine, "available_memory", lambda: 8 * 90**2 * 3)
    with pytest.raises(MemoryError, match=rf"{type(model).__name__} needs .* for 90 samples and 3 views"):
        with_parameters(model).fit(views)


@each
@pytest.mark.parametrize(("n", "n_clusters"), [(2, 1), (2, 2), (6, 1), (6, 5), (6, 6)])
def test_few_samples(model, n, n_clusters):
    rng = np.random.default_rng(0)
    tiny = [rng.normal(size=(n, 3)), rng.normal(size=(n, 1)), sp.csr_array(rng.normal(size=(n, 2)))]
    labels = with_parameters(model, n_clusters=n_clusters).fit(tiny).labels_
    assert len(set(labels)) == n_clusters


@each
def test_views_with_fewer_different_samples_than_directions(model):
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(3), 20)
    coarse = (groups == 0).astype(float)[:, None]
    fine = rng.normal(size=(3, 2))[groups] * 5 + rng.normal(size=(60, 2))
    learned = with_parameters(model).fit([coarse, fine])
    assert np.isfinite(learned.embedding_).all()
    # Both views see the first group. Co-training forgets the other two, which only one view tells apart.
    assert len(set(learned.labels_[:20])) == 1
    assert learned.labels_[0] not in learned.labels_[20:]


@each
def test_prints_a_line_per_pass(model, views, capsys):
    learned = with_parameters(model, max_iter=3, verbose=True).fit(views)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == learned.n_iter_ == len(next(iter(learned.history_.values())))
    assert all(line.startswith(f"{type(model).__name__} pass ") for line in lines)


@pytest.mark.parametrize(("factor", "n_directions"), [(1.0, 25), (1.5, 38), (2.2, 55), (20, 90)])
def test_directions_to_project_on(views, factor, n_directions):
    model = CoTrainingSpectral(25, projection_factor=factor, n_init=1, random_state=0).fit(views)
    assert model.view_embeddings_.shape == (3, 90, n_directions)
    assert model.embedding_.shape == (90, 75)


def test_objective_never_falls(views):
    for variant in ("centroid", "pairwise"):
        model = CoRegularizedSpectral(4, variant=variant, tol=0.0, random_state=0).fit(views)
        assert (np.diff(model.history_["objective"]) >= -1e-9).all()


def test_co_training_beats_the_best_single_view():
    """Views that blur the same two groups, each with noise of its own."""
    together, alone = [], []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        groups = np.repeat([0, 1], 60)
        blurred = [rng.normal(size=(120, 2)) + np.outer(groups, [2.0, 0.5]) for _ in range(3)]
        model = CoTrainingSpectral(2, max_iter=3, random_state=0).fit(blurred)
        together.append(normalized_mutual_info_score(groups, model.labels_))
        single = [CoRegularizedSpectral(2, agreement_weight=0.0, readout_view=v, random_state=0) for v in range(3)]
        alone.append(max(normalized_mutual_info_score(groups, s.fit(blurred).labels_) for s in single))
    assert np.mean(alone) < 0.5
    assert np.mean(together) > np.mean(alone)
