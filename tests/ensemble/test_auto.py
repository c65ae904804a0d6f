"""GraphEnsemble(n_clusters="auto")."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import manyview
from manyview import GraphEnsemble
from manyview.datasets import drop_views, make_multiview
from manyview.exceptions import ClusterCountWarning, ViewsError


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(400, 4, noise=0.1, random_state=0)


@pytest.fixture(scope="module")
def model(blobs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return GraphEnsemble("auto", n_members=8, random_state=0).fit(blobs)


def test_the_number_that_is_suggested_is_taken(blobs, model):
    assert model.n_clusters == "auto"
    assert model.n_clusters_ == model.suggestion_.n_clusters == 4
    assert model.suggestion_.reason.startswith("4 clusters: the spectrum drops by")
    given = GraphEnsemble(4, n_members=8, random_state=0).fit(blobs)
    np.testing.assert_array_equal(model.labels_, given.labels_)
    assert (given.n_clusters_, given.suggestion_) == (4, None)


def test_the_number_is_chosen_from_the_range(blobs, tmp_path):
    model = GraphEnsemble("auto", k_range=range(3, 7), n_members=8, random_state=0).fit(blobs)
    assert model.n_clusters_ == 4
    assert model.suggestion_.curve["n_clusters"].tolist() == [3, 4, 5, 6]
    model.save(tmp_path / "model")
    assert manyview.load(tmp_path / "model").k_range == range(3, 7)


def test_a_range_is_for_auto_only(blobs):
    with pytest.raises(
        ViewsError, match=r"k_range: is for n_clusters='auto', but n_clusters=4\. Leave out one of both"
    ):
        GraphEnsemble(4, k_range=[3, 4]).fit(blobs)
    with pytest.raises(ViewsError, match="k_range: expected numbers of at least 2, got 1"):
        GraphEnsemble("auto", k_range=[1, 4]).fit(blobs)
    with pytest.raises(ValueError, match="'k_range' parameter of GraphEnsemble must be None or an array-like"):
        GraphEnsemble("auto", k_range="2:6").fit(blobs)


def test_a_weak_guess_warns_with_the_reason_and_the_candidates():
    noise = make_multiview(80, n_views=0, n_noise_views=2, random_state=0)
    with pytest.warns(ClusterCountWarning, match=r"n_clusters='auto' took \d+\. .*Candidates: "):
        model = GraphEnsemble("auto", n_members=8, random_state=0).fit(noise)
    assert not model.suggestion_.sure
    assert len(np.unique(model.labels_)) == model.n_clusters_ == model.suggestion_.candidates[0]


def test_samples_may_lack_views(blobs):
    model = GraphEnsemble("auto", n_members=8, random_state=0).fit(drop_views(blobs, 0.2, random_state=0))
    assert model.n_clusters_ == 4


def test_the_suggestion_is_kept_in_a_file(model, blobs, tmp_path):
    model.save(tmp_path / "model")
    loaded = manyview.load(tmp_path / "model")
    assert str(loaded.suggestion_) == str(model.suggestion_)
    np.testing.assert_array_equal(loaded.predict(blobs), model.labels_)
