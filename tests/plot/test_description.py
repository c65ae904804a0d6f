"""Figures of what clusters are."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from manyview import Views, describe, plot
from manyview.exceptions import PlotError, ViewsError


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    labels = np.repeat([0, 1, 2], 20)
    tables = [rng.normal(size=(60, 4)) + labels[:, None], rng.normal(size=(60, 3))]
    views = Views(tables, ("rna", "protein"), feature_names=[list("abcd"), list("xyz")])
    clinical = pd.DataFrame(
        {
            "days": rng.exponential(50, size=60),
            "dead": rng.random(60) < 0.7,
            "age": rng.normal(size=60),
            "sex": rng.choice(["f", "m"], size=60),
        }
    )
    return describe(views, labels, clinical, survival="days,dead", rename={1: "middle"})


def test_the_heat_map_of_samples_has_z_scores_by_cluster(ax):
    rng = np.random.default_rng(0)
    labels = np.array([0, 1, 2, None] * 15, dtype=object)  # some have none
    numbers = np.arange(60) % 4
    arrays = [rng.normal(size=(60, 4)) + np.array(numbers)[:, None], rng.poisson(numbers[:, None] + 1.0, size=(60, 3))]
    views = Views([arrays[0], sp.csr_array(arrays[1])], ("rna", "counts"), feature_names=[list("abcd"), list("xyz")])
    found = describe(views, labels)
    plot.markers(found, n_markers=2, samples=views, ax=ax)
    image = ax.images[0].get_array()
    rows = [text.get_text().removesuffix(")").split(" (") for text in ax.get_yticklabels()]
    assert image.shape == (len(rows), 45)
    known = numbers < 3
    for (feature, view), line in zip(rows, image, strict=True):
        own = arrays[0][:, "abcd".index(feature)] if view == "rna" else arrays[1][:, "xyz".index(feature)]
        scores = (own[known] - own[known].mean()) / own[known].std()
        for cluster in range(3):
            expected = np.sort(scores[numbers[known] == cluster])
            np.testing.assert_allclose(np.sort(line[15 * cluster : 15 * cluster + 15]), expected)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["cluster 0", "cluster 1", "cluster 2"]
    with pytest.raises(ViewsError, match=r"that were described, with at least 59 samples, got Views\(10"):
        plot.markers(found, samples=views.take(np.arange(10)), ax=ax)
    with pytest.raises(ViewsError, match="expected those that were described, with a view 'counts'"):
        plot.markers(found, samples={"rna": arrays[0]}, ax=ax)
    with pytest.raises(PlotError, match="max_samples: expected at least 1, got 0"):
        plot.markers(found, samples=views, max_samples=0, ax=ax)


def test_of_features_with_one_name_the_marker_is_drawn(ax):
    labels = np.repeat([0, 1], 20)
    noise = np.random.default_rng(0).normal(size=(40, 2))
    views = Views([np.column_stack([noise[:, 0], 10 * labels + noise[:, 1]])], feature_names=[["same", "same"]])
    plot.markers(describe(views, labels), n_markers=1, samples=views, ax=ax)
    (line,) = ax.images[0].get_array()
    assert line[:20].max() < 0 < line[20:].min()


def test_the_heat_map_shows_each_marker_once(found, ax):
    plot.markers(found, n_markers=2, ax=ax)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == len(set(names))
    assert all(name.endswith(("(rna)", "(protein)")) for name in names)
    image = ax.images[0].get_array()
    scores = found.profiles.set_index(["view", "feature"])
    feature, view = names[0].removesuffix(")").split(" (")
    np.testing.assert_allclose(image[0], scores.loc[(view, feature), list(found.names)].to_numpy(dtype=float))
    assert [text.get_text() for text in ax.get_xticklabels()] == ["cluster 0", "middle", "cluster 2"]


def test_the_heat_map_of_one_view(found, ax):
    plot.markers(found, view="protein", ax=ax)
    assert {text.get_text() for text in ax.get_yticklabels()} <= {"x", "y", "z"}
    with pytest.raises(PlotError, match="no view 'dna'"):
        plot.markers(found, view="dna", ax=ax)


def test_survival_curves_fall_from_one(found, ax):
    plot.survival(found, ax=ax)
    curves = ax.lines[::2]
    assert len(curves) == 3
    for line in curves:
        heights = line.get_ydata()
        assert heights[0] == 1
        assert (np.diff(heights) <= 0).all()
    assert "log-rank p = " in ax.get_title()


def test_metadata_by_cluster(found, ax):
    plot.metadata(found, "sex", ax=ax)
    widths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 3)
    np.testing.assert_allclose(widths.sum(axis=0), 1)
    assert ax.get_title().startswith("sex: V ")
    other = plot.metadata(found, "age", ax=ax.figure.add_subplot())
    assert other.get_title().startswith("age: η² ")
    with pytest.raises(PlotError, match="no column 'days' was compared"):
        plot.metadata(found, "days", ax=ax)


def test_the_legend_of_metadata_covers_nothing(found):
    figure = Figure(figsize=(6, 2.6), layout="constrained")
    ax = plot.metadata(found, "sex", ax=figure.subplots())
    FigureCanvasAgg(figure).draw()
    box = ax.get_legend().get_window_extent()
    others = [ax.xaxis.label, ax.title, *ax.get_xticklabels(), *ax.get_yticklabels(), *ax.patches]
    assert not any(box.overlaps(other.get_window_extent()) for other in others)


def test_what_is_not_there_is_not_drawn(ax):
    alone = describe([np.arange(8.0).reshape(4, 2), np.ones((4, 1)) * np.arange(4)[:, None]], [0, 0, 0, 0])
    with pytest.raises(PlotError, match="no survival"):
        plot.survival(alone, ax=ax)
    with pytest.raises(PlotError, match="no markers"):
        plot.markers(alone, ax=ax)
    with pytest.raises(PlotError, match=r"expected the result of manyview\.describe"):
        plot.markers(3, ax=ax)
