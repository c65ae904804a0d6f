"""How many clusters the views speak for."""

from __future__ import annotations

import json

import numpy as np
import pytest

from manyview import Views
from manyview.cluster import suggest_n_clusters
from manyview.datasets import make_multiview
from manyview.ensemble import n_clusters as module
from manyview.exceptions import ViewsError

FEW = range(2, 9)


@pytest.mark.parametrize(
    "options",
    [
        {"n_clusters": 2, "n_noise_views": 1},
        {"n_clusters": 5, "noise": 0.2},
        {"n_clusters": 7, "n_noise_views": 1, "sizes": np.geomspace(1, 4, 7).tolist()},
    ],
)
def test_finds_the_number_of_generated_clusters(options):
    views = make_multiview(240, random_state=11, **options)
    found = suggest_n_clusters(views, FEW, random_state=0)
    assert found.n_clusters == options["n_clusters"]
    assert found.sure
    assert found.candidates == (options["n_clusters"],)


def test_is_unsure_about_a_cloud():
    rng = np.random.default_rng(5)
    cloud = rng.normal(size=(250, 5))  # its spectrum drops after six values, as that of six clusters would
    views = [cloud @ np.linalg.qr(rng.normal(size=(12, 5)))[0].T + rng.normal(0, 0.05, (250, 12)) for _ in range(3)]
    found = suggest_n_clusters(views, FEW, random_state=0)
    assert not found.sure
    assert found.candidates[0] == found.n_clusters
    assert len(found.candidates) > 1
    assert found.reason.startswith("No number of clusters stands out")


def test_is_unsure_about_noise():
    views = make_multiview(200, n_views=0, n_noise_views=3, random_state=0)
    assert not suggest_n_clusters(views, FEW, random_state=0).sure


def test_says_that_the_number_is_not_among_the_choices():
    found = suggest_n_clusters(make_multiview(300, 8, random_state=1), range(2, 7), random_state=0)
    assert not found.sure
    assert "drops most after 8 values, and 8 is not a choice" in found.reason


def test_does_not_depend_on_the_order_of_samples_or_views():
    views = make_multiview(100, 3, n_noise_views=1, noise=0.3, random_state=2)
    shuffled = views.shuffled(3)
    turned = Views(shuffled.arrays[::-1], names=shuffled.names[::-1])
    one, other = (suggest_n_clusters(v, range(2, 6), random_state=7) for v in (views, turned))
    assert str(one) == str(other)
    for name, values in one.curve.items():
        np.testing.assert_array_equal(values, other.curve[name], err_msg=name)


def test_a_part_of_many_samples_is_chosen_by_content(monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 120)
    views = make_multiview(200, 3, random_state=2)
    one, other = (suggest_n_clusters(v, (2, 3, 4), random_state=0) for v in (views, views.shuffled(1)))
    assert one.n_clusters == 3
    np.testing.assert_array_equal(one.curve["stability"], other.curve["stability"])


def test_an_int_seed_repeats_the_result_and_another_one_does_not():
    views = make_multiview(100, 3, noise=0.3, random_state=0)
    one, same, other = (suggest_n_clusters(views, (2, 3), random_state=seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one.curve["score"], same.curve["score"])
    assert not np.array_equal(one.curve["eigengap"], other.curve["eigengap"])


def test_counts_are_compared_with_counts():
    rng = np.random.default_rng(0)
    topic = np.repeat(np.arange(3), 50)
    views = [rng.poisson(np.where(np.arange(90) // 30 == topic[:, None], 0.3, 0.02)) for _ in range(2)]
    found = suggest_n_clusters(views, range(2, 7), scaling="counts", random_state=0)
    assert (found.n_clusters, found.sure) == (3, True)


def test_the_curve_can_be_stored_as_json():
    found = suggest_n_clusters(make_multiview(80, 2, random_state=0), [4, 2, 3, 3], random_state=0)
    stored = json.loads(json.dumps({name: values.tolist() for name, values in found.curve.items()}))
    gaps = {"eigengap", "graph_eigengap", "reference_eigengap", "reference_graph_eigengap"}
    assert set(stored) == {"n_clusters", "stability", "score", *gaps}
    assert stored["n_clusters"] == [2, 3, 4]
    json.dumps([found.n_clusters, found.sure, found.candidates])


def test_printing_shows_the_verdict_and_marks_the_number():
    text = str(suggest_n_clusters(make_multiview(160, 3, random_state=0), (2, 3, 4), random_state=0))
    lines = text.splitlines()
    assert lines[0].startswith("3 clusters: the spectrum drops by")
    assert [line.split()[0] for line in lines if line.endswith("<-")] == ["3"]


@pytest.mark.parametrize(
    ("n_samples", "most"), [(8, 2), (40, 8), (100, 20), (400, 20), (401, 21), (900, 30), (1600, 40), (10**6, 40)]
)
def test_the_default_range_follows_from_the_number_of_samples(n_samples, most):
    """Five samples per cluster; the square root, between 20 and 40."""
    assert module._check_range(None, Views([np.zeros((n_samples, 1))])) == tuple(range(2, most + 1))


@pytest.mark.parametrize(
    ("k_range", "text"),
    [
        ([], "k_range: expected at least one number, got none"),
        (5, r"k_range: expected several whole numbers, for example range\(2, 11\), got 5"),
        ("2-9", "k_range: expected several whole numbers.*got '2-9'"),
        ([2, 2.5], "k_range: expected whole numbers, got 2.5"),
        ([True, 2], "k_range: expected whole numbers, got True"),
        ([1, 2], "k_range: expected numbers of at least 2, got 1. If there are no clusters at all"),
        ([2, 41], "k_range: 41 is more than there are samples: n_samples=40"),
    ],
)
def test_says_what_is_wrong_with_the_range(k_range, text):
    with pytest.raises(ViewsError, match=text):
        suggest_n_clusters(make_multiview(40, 2, random_state=0), k_range)


def test_says_that_too_few_samples_differ():
    with pytest.raises(ViewsError, match="n_clusters=4 is more than there are different samples"):
        suggest_n_clusters([np.repeat(np.eye(3), 10, axis=0)], [4])


def test_says_which_view_cannot_be_used():
    with pytest.raises(ViewsError, match="view1"):
        suggest_n_clusters([np.eye(20), np.full((20, 2), np.nan)])
    with pytest.raises(ViewsError, match="scaling: there is no view 'colour'"):
        suggest_n_clusters([np.eye(20)], scaling={"colour": "unit"})
    with pytest.raises(ViewsError, match=r"scaling of view 'view0': expected one of auto, .*got 'fancy'"):
        suggest_n_clusters([np.eye(20)], scaling="fancy")


def test_progress_is_printed_on_demand(capsys):
    views = make_multiview(40, 2, random_state=0)
    suggest_n_clusters(views, [2], random_state=0)
    assert capsys.readouterr().out == ""
    suggest_n_clusters(views, [2], random_state=0, verbose=True)
    assert "measured reference 3 of 3" in capsys.readouterr().out
