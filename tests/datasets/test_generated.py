"""Generated views: what they know, and what they do not."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score

from manyview import check_views
from manyview.datasets import make_multiview
from manyview.datasets.generated import SHAPES


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_names_labels(shape):
    views = make_multiview(101, 4, shape=shape, n_views=2, n_noise_views=2, n_features=[3, 7, 2, 5], random_state=0)
    assert views.names == ("view0", "view1", "noise0", "noise1")
    assert views.n_features == (3, 7, 2, 5)
    assert sorted(np.bincount(views.labels)) == [25, 25, 25, 26]
    check_views(views)  # finite, not constant


@pytest.mark.parametrize("shape", SHAPES)
def test_the_same_seed_gives_the_same_data(shape):
    one, two, other = (make_multiview(60, shape=shape, random_state=seed) for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one.arrays, two.arrays, strict=True))
    assert np.array_equal(one.labels, two.labels)
    assert not np.array_equal(one.arrays[0], other.arrays[0])


@pytest.mark.parametrize("shape", SHAPES)
def test_rows_are_shuffled(shape):
    labels = make_multiview(200, shape=shape, random_state=0).labels
    assert np.count_nonzero(np.diff(labels)) > 80


@pytest.mark.parametrize("n_features", [10, 3])
def test_informative_blobs_tell_and_noise_does_not(n_features):
    views = make_multiview(400, 4, n_noise_views=2, n_features=n_features, random_state=0)
    for name in views.names:
        found = KMeans(4, n_init=3, random_state=0).fit_predict(views[name])
        score = adjusted_rand_score(views.labels, found)
        assert abs(score) < 0.05 if name.startswith("noise") else score > 0.8


@pytest.mark.parametrize("shape", ["rings", "moons"])
def test_rings_and_moons_are_connected_shapes_and_no_blobs(shape):
    views = make_multiview(600, 3, shape=shape, noise=0.03, n_features=4, n_noise_views=1, random_state=0)
    chains = AgglomerativeClustering(3, linkage="single")
    for name in ("view0", "view1", "view2"):
        assert adjusted_rand_score(views.labels, chains.fit_predict(views[name])) > 0.99
    assert abs(adjusted_rand_score(views.labels, chains.fit_predict(views["noise0"]))) < 0.05
    round_groups = KMeans(3, n_init=3, random_state=0).fit_predict(views["view0"])
    assert adjusted_rand_score(views.labels, round_groups) < 0.9


@pytest.mark.parametrize("shape", ["rings", "moons"])
def test_without_noise_every_view_keeps_all_distances(shape):
    views = make_multiview(80, 3, shape=shape, noise=0.0, n_features=[2, 9, 4], random_state=0)
    for view in views.arrays:
        np.testing.assert_allclose(pdist(view), pdist(views.arrays[0]), atol=1e-7)  # values have eight decimals
    assert not np.allclose(views.arrays[0], views.arrays[1][:, :2])


@pytest.mark.parametrize("shape", ["rings", "moons"])
def test_clusters_are_one_apart(shape):
    labels = np.repeat(np.arange(4), 2000)
    positions = SHAPES[shape](labels, 4, np.random.RandomState(0))
    apart = squareform(pdist(positions[::4]))[labels[::4, None] != labels[::4]]
    assert 0.99 < apart.min() < 1.1


def test_noise_views_are_on_the_scale_of_the_others():
    views = make_multiview(2000, n_noise_views=1, n_features=[10, 10, 10, 6], random_state=0)
    assert views["noise0"].var(axis=0).sum() == pytest.approx(views["view0"].var(axis=0).sum(), rel=0.2)


def test_more_noise_is_harder():
    scores = []
    for noise in (0.1, 1.0):
        views = make_multiview(300, noise=noise, random_state=0)
        labels = KMeans(3, n_init=3, random_state=0).fit_predict(views.arrays[0])
        scores.append(adjusted_rand_score(views.labels, labels))
    assert scores[0] > scores[1] + 0.2


@pytest.mark.parametrize(
    ("n", "sizes", "expected"),
    [(100, [8, 1, 1], [80, 10, 10]), (10, [1000, 1, 1], [8, 1, 1]), (7, [0.5, 0.25, 0.25], [3, 2, 2])],
)
def test_sizes_are_proportions(n, sizes, expected):
    counts = np.bincount(make_multiview(n, 3, sizes=sizes, random_state=0).labels)
    assert counts.sum() == n
    assert np.abs(counts - expected).max() <= 1
    assert counts.min() >= 1


def test_only_noise_and_only_one_cluster_are_possible():
    assert make_multiview(20, n_views=0, n_noise_views=2, random_state=0).names == ("noise0", "noise1")
    assert set(make_multiview(20, 1, random_state=0).labels) == {0}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"shape": "stars"}, "shape: expected one of 'blobs', 'rings', 'moons', got 'stars'"),
        ({"n_clusters": 0}, "n_clusters: expected at least 1, got 0"),
        ({"n_samples": 2}, "n_samples: expected at least 3, got 2"),
        ({"noise": -1}, "noise: expected at least 0, got -1"),
        ({"noise": np.nan}, "noise: expected at least 0, got nan"),
        ({"n_views": -1}, "n_views: expected at least 0, got -1"),
        ({"n_views": 0}, "n_views: expected at least one view"),
        ({"n_features": [3, 3]}, r"n_features: expected one number or one per view \(3\), got 2"),
        ({"n_features": 1, "shape": "rings"}, "n_features: expected at least 2 for this shape, got 1"),
        ({"sizes": [1, 2]}, "sizes: expected 3 positive numbers"),
        ({"sizes": [1, 0, 2]}, "sizes: expected 3 positive numbers"),
    ],
)
def test_bad_parameters_are_named(arguments, text):
    with pytest.raises(ValueError, match=text):
        make_multiview(**arguments)
