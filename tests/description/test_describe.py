"""Descriptions of clusters: from estimators and from labels, with names, metadata and survival."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble, Views
from manyview.cluster import LMVSC, SMSC, ConcatKMeans
from manyview.datasets import drop_views, make_multiview
from manyview.description import describe, markers
from manyview.description.markers import relearned
from manyview.description.samples import centre_distances, typical_samples
from manyview.exceptions import ViewsError
from manyview.graphs.scaling import learn_scaling


@pytest.fixture(scope="module")
def blobs():
    views = make_multiview(120, 3, n_views=3, n_features=[6, 4, 5], noise=0.3, random_state=0)
    features = [[f"{name}_{j}" for j in range(width)] for name, width in zip("abc", views.n_features, strict=True)]
    return Views(views.arrays, ("a", "b", "c"), sample_ids=[f"s{i}" for i in range(120)], feature_names=features)


@pytest.fixture(scope="module")
def model(blobs):
    return GraphEnsemble(3, n_members=12, random_state=0).fit(blobs)


@pytest.fixture(scope="module")
def found(blobs, model):
    rng = np.random.default_rng(0)
    clinical = pd.DataFrame(
        {
            "batch": np.array(["x", "y", "z"])[model.labels_],
            "age": rng.normal(60, 8, size=120),
            "days": rng.exponential(100 * (1 + model.labels_)),
            "dead": rng.random(120) < 0.8,
        }
    )
    return describe(blobs, model, clinical, survival="days,dead", rename={0: "first", 2: "last"})


def test_tables_have_a_row_for_each_finding(found, model):
    assert found.names == ("first", "cluster 1", "last")
    assert found.clusters["size"].tolist() == np.bincount(model.labels_).tolist()
    assert found.clusters["mean_confidence"].between(0, 1).all()
    counts = found.markers.groupby(["cluster", "view"]).size()
    assert counts.to_dict() == {(c, v): n for c in range(3) for v, n in (("a", 6), ("b", 4), ("c", 5))}
    assert set(found.typical["role"]) == {"typical", "doubtful"}
    assert (found.typical.groupby(["cluster", "role"]).size() == 5).all()
    assert found.profiles.shape == (15, 5)


def test_markers_are_ranked_by_how_far_the_auroc_is_from_one_half(found):
    for _, rows in found.markers.groupby(["cluster", "view"]):
        away = (rows["auroc"] - 0.5).abs().to_numpy()
        assert (np.diff(away) <= 1e-12).all()
        assert rows["rank"].tolist() == list(range(1, len(rows) + 1))
        assert ((rows["auroc"] >= 0.5) == (rows["direction"] == "high")).all()


def test_profiles_are_z_scores_of_means(found, blobs, model):
    row = found.profiles[found.profiles["feature"] == "b_2"].iloc[0]
    column = blobs["b"][:, 2]
    for cluster, name in enumerate(found.names):
        expected = (column[model.labels_ == cluster].mean() - column.mean()) / column.std()
        np.testing.assert_allclose(row[name], expected)


def test_clear_clusters_are_found_without_each_view_and_tested_there(found):
    assert (found.markers["overlap"] > 0.7).all()
    strong = found.markers[(found.markers["auroc"] - 0.5).abs() > 0.4]
    assert len(strong)
    assert (strong["p_corrected"] < 1e-6).all()
    assert (found.markers["p_corrected"] >= found.markers["p"] - 1e-15).all()


def test_metadata_goes_with_the_clusters_or_does_not(found):
    table = found.metadata.set_index("column")
    assert table.loc["batch", "effect"] == pytest.approx(1)
    assert table.loc["batch", "note"] == "may be an artefact"
    assert table.loc["age", "p_corrected"] > 0.01
    assert "days" not in table.index


def test_survival_is_compared(found):
    assert found.survival["n"].sum() == 120
    assert found.survival_curves.degrees == 2
    assert found.survival_curves.p < 0.05


def test_a_description_is_text_html_and_plain_values(found):
    text = repr(found)
    assert "first: " in text
    assert "batch (V 1.00" in text
    assert "log-rank" in text
    shown = found._repr_html_()
    assert "<strong>3 clusters of 120 samples</strong>" in shown
    assert "<td>first</td>" in shown
    for table in ("markers", "typical", "metadata", "survival"):
        assert f"<details><summary>{table}, " in shown
    values = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert values["markers"][0]["view"] == "a"
    assert values["log_rank"]["degrees"] == 2


def test_labels_from_elsewhere_have_effects_and_no_p_values(blobs):
    labels = np.where(np.arange(120) < 60, "early", "late").astype(object)
    labels[5] = None
    found = describe(blobs, labels)
    assert found.names == ("early", "late")
    assert found.clusters["size"].tolist() == [59, 60]
    assert found.markers["p"].isna().all()
    assert found.markers["auroc"].notna().all()
    assert any("without an estimator" in note for note in found.notes)
    assert any("1 samples without a label" in note for note in found.notes)
    assert "s5" not in set(found.typical["sample"])


@pytest.mark.parametrize(
    ("estimator", "n_views", "tested"), [(SMSC, 1, False), (SMSC, 2, True), (LMVSC, 2, False), (GraphEnsemble, 2, True)]
)
def test_p_values_need_views_enough(blobs, estimator, n_views, tested):
    views = Views(blobs.arrays[:n_views])
    found = describe(views, estimator(3, random_state=0).fit(views))
    assert found.markers["p"].notna().all() == tested
    assert any("No p values" in note for note in found.notes) != tested


def test_clusters_that_need_a_view_are_pointed_out(blobs):
    rng = np.random.default_rng(0)
    only = np.repeat(np.eye(3) * 9, 40, axis=0)[rng.permutation(120)] + rng.normal(size=(120, 3))
    noise = [rng.normal(size=(120, 4)) for _ in range(2)]
    model = GraphEnsemble(3, n_members=8, random_state=0).fit([only, *noise])
    model.labels_ = only.argmax(axis=1)
    found = describe([only, *noise], model)
    assert any(note.startswith("Learned without view0, these are other clusters") for note in found.notes)
    assert found.markers[found.markers["view"] == "view0"]["p"].min() > 1e-4


def test_one_cluster_is_described_without_comparisons(blobs):
    found = describe(blobs, np.zeros(120, dtype=int))
    assert len(found.markers) == 0
    assert found.typical["role"].unique().tolist() == ["typical"]


def test_other_estimators_are_described_as_well(blobs):
    found = describe(blobs, ConcatKMeans(3, random_state=0).fit(blobs))
    assert found.clusters["mean_confidence"].isna().all()
    assert found.markers["p"].notna().all()


def test_missing_views_do_not_count(blobs):
    gaps = drop_views(blobs, 0.3, random_state=0)
    model = GraphEnsemble(3, n_members=8, random_state=0).fit(gaps)
    found = describe(gaps, model)
    present = gaps.has_view(1)
    row = found.markers[(found.markers["view"] == "b") & (found.markers["cluster"] == 0)].iloc[0]
    column = gaps["b"][:, int(row["feature"].split("_")[1])]
    inside = present & (model.labels_ == 0)
    np.testing.assert_allclose(row["mean"], column[inside].mean())
    assert found.markers["p"].notna().all()


def test_sparse_views_are_described_as_dense_ones(blobs):
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.4, size=(120, 30)).astype(float)
    labels = rng.integers(0, 3, size=120)
    dense, sparse = (describe([table, blobs["a"]], labels) for table in (counts, sp.csr_array(counts)))
    pd.testing.assert_frame_equal(dense.markers, sparse.markers)
    pd.testing.assert_frame_equal(dense.profiles, sparse.profiles)


def test_order_of_rows_does_not_matter(blobs):
    labels = np.arange(120) % 3
    order = np.random.default_rng(0).permutation(120)
    one, two = describe(blobs, labels), describe(blobs.take(order), labels[order])
    pd.testing.assert_frame_equal(one.markers, two.markers)
    pd.testing.assert_frame_equal(one.typical.drop(columns="row"), two.typical.drop(columns="row"))


def test_names_come_from_a_file_and_mistakes_are_named(blobs, tmp_path):
    labels = np.arange(120) % 2
    path = tmp_path / "names.csv"
    path.write_text("cluster,name\n0,Basal-like\n1,LumA-like\n")
    assert describe(blobs, labels, rename=path).names == ("Basal-like", "LumA-like")
    for text, message in (
        ("cluster,name\n0,a\n2,b\n", "no cluster '2'; the clusters are 0, 1"),
        ("zero,name\n1,b\n", "no cluster 'zero'"),
        ("0\n1\n", "one column in line 1"),
        ("cluster,name\n", "has no names"),
        ("0,a\n0,b\n", "names cluster '0' 2 times"),
        ("0,view\n", "cannot be called 'view'"),
    ):
        path.write_text(text)
        with pytest.raises(ViewsError, match=message):
            describe(blobs, labels, rename=path)
    with pytest.raises(ViewsError, match="there is no cluster '7'; the clusters are 0, 1"):
        describe(blobs, labels, rename={7: "x"})
    with pytest.raises(ViewsError, match="two clusters are called 'x'"):
        describe(blobs, labels, rename={0: "x", 1: "x"})
    with pytest.raises(ViewsError, match=r"expected one per sample \(120\), got 3"):
        describe(blobs, [0, 1, 2])
    frame = pd.DataFrame({"days": np.ones(120)})
    with pytest.raises(ViewsError, match=r"no column 'dead'\. Its columns are days"):
        describe(blobs, labels, frame, survival=("days", "dead"))
    with pytest.raises(ViewsError, match="there is none"):
        describe(blobs, labels, survival="days,dead")


def test_texts_and_pictures_stand_beside_typical_samples(blobs, tmp_path):
    labels = np.where(np.arange(120) < 60, 0.0, 1.0)
    labels[:10] = np.nan
    for i in range(120):
        (tmp_path / f"{i}.png").write_bytes(b"")
    paths = [None if i % 7 == 0 else str(tmp_path / f"{i}.png") for i in range(120)]
    frame = pd.DataFrame({"file": paths, "said": [f"text {i}" for i in range(120)], "age": np.arange(120.0)})
    found = describe(blobs, labels, frame, pictures="file", texts="said")
    assert found.rows.tolist() == list(range(10, 120))
    assert found.labels.tolist() == [0] * 50 + [1] * 60
    assert found.typical["sample"].tolist() == [f"s{row}" for row in found.typical["row"]]
    assert found.typical["text"].tolist() == [f"text {row}" for row in found.typical["row"]]
    assert found.pictures == {row: paths[row] for row in found.typical["row"] if row % 7}
    assert found.metadata["column"].tolist() == ["age"]
    plain = found.without_sample_names()
    assert plain.typical["sample"].tolist() == plain.typical["row"].tolist()
    assert plain.pictures == {}
    assert not any(name in repr(plain) + plain._repr_html_() + json.dumps(plain.to_dict()) for name in ("text 1", "s1"))


def test_pictures_may_be_arrays(blobs):
    images = np.arange(120 * 4 * 5, dtype=np.uint8).reshape(120, 4, 5)
    found = describe(blobs, np.arange(120) % 2, pictures=images, texts=["a"] * 119 + [None])
    assert set(found.pictures) == set(found.typical["row"])
    for row, image in found.pictures.items():
        np.testing.assert_array_equal(image, images[row])
    assert set(found.typical["text"]) <= {"a", None}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"texts": "comment"}, "texts: column 'comment' is looked for in the metadata; there is none"),
        ({"texts": ["a"]}, r"texts: expected one per sample \(120\), got 1"),
        ({"pictures": np.zeros((120, 8))}, r"pictures: expected numbers of shape .* got float64 of shape \(120, 8\)"),
        ({"pictures": np.zeros((3, 8, 8))}, r"pictures: expected one per sample \(120\), got 3"),
        ({"pictures": ["none.png"] * 120}, "pictures: there is no file 'none.png', which row 0 names"),
        ({"pictures": [1.0] * 120}, "pictures: expected paths of files, got 1.0 for row 0"),
        ({"texts": "commend", "metadata": pd.DataFrame({"comment": ["a"] * 120})}, "Did you mean 'comment'"),
        ({"metadata": pd.DataFrame(np.ones((120, 2)), columns=["a", "a"])}, "2 columns are called 'a'"),
        ({"metadata": pd.DataFrame({"a": [1]})}, r"metadata: expected one row per sample \(120\), got 1"),
        ({"survival": "days"}, "survival: expected two columns, TIME,EVENT, got 'days'"),
    ],
)
def test_annotations_that_are_not_there_are_named(blobs, given, message):
    with pytest.raises(ViewsError, match=message):
        describe(blobs, np.arange(120) % 2, **given)


def test_survival_names_the_sample_of_a_wrong_cell(blobs):
    frame = pd.DataFrame({"days": ["12"] * 120, "dead": ["perhaps"] * 120}, index=blobs.sample_ids)
    with pytest.raises(ViewsError, match="column 'dead' has 'perhaps' in sample 's0'"):
        describe(blobs, np.arange(120) % 2, frame, survival="days,dead")


def test_an_estimator_that_cannot_be_learned_again_leaves_a_note(blobs):
    class Once(ConcatKMeans):
        def fit(self, views, y=None):
            if views.n_views < 3:
                raise ValueError("three views, please")
            return super().fit(views, y)

    found = describe(blobs, Once(3, random_state=0).fit(blobs))
    assert found.markers["p"].isna().all()
    assert found.notes[0] == "No p values for a: learning without it failed. three views, please"


def test_centres_are_those_of_the_other_samples():
    rng = np.random.default_rng(0)
    table, labels = rng.normal(size=(9, 2)), np.array([0, 0, 0, 0, 1, 1, 1, 1, 2])
    distance = centre_distances(Views([table]), labels, 3)
    scaled = learn_scaling(table, "auto")[1]
    apart = np.empty((9, 3))
    for i in range(9):
        for c in range(3):
            others = (labels == c) & ((np.arange(9) != i) | (labels == 2))  # a sample alone is its own mean
            apart[i, c] = ((scaled[i] - scaled[others].mean(axis=0)) ** 2).sum()
    usual = apart[np.arange(9), labels].mean()
    np.testing.assert_allclose(distance, apart / usual, atol=1e-12)


def test_typical_samples_are_confident_and_central():
    distances = np.array([[1.0, 9.0], [2.0, 3.0], [0.5, 9.0], [9.0, 1.0]])
    table = typical_samples(distances, np.array([0, 0, 0, 1]), np.array([1.0, 0.6, 0.9996, 1.0]), 1)
    first = table[table["cluster"] == 0].set_index("role")
    assert first["row"].to_dict() == {"typical": 2, "doubtful": 1}
    assert first.loc["doubtful", "next_cluster"] == 1
    np.testing.assert_allclose(first.loc["doubtful", "margin"], (3 - 2) / 5)


def test_an_estimator_is_learned_again_with_what_was_found(blobs):
    model = GraphEnsemble("auto", scaling={"a": "unit"}, n_members=4, random_state=3).fit(blobs)
    fresh = relearned(model, 2, "a")
    assert (fresh.n_clusters, fresh.scaling, fresh.random_state) == (2, {}, 3)
    fresh = relearned(GraphEnsemble(2, scaling=["unit", "max", "none"]).fit(blobs), 2, "b")
    assert list(fresh.scaling) == ["unit", "none"]


def test_of_many_samples_some_are_learned_again(monkeypatch):
    """A third of the samples, within bounds, which do not depend on the number of views."""
    views = make_multiview(90, 3, n_views=2, noise=0.2, random_state=0)
    model = ConcatKMeans(3, random_state=0).fit(views)
    sizes = []

    def fit(self, given, y=None):
        sizes.append(given.n_samples)
        self.labels_ = np.arange(given.n_samples) % 3
        return self

    monkeypatch.setattr(ConcatKMeans, "fit", fit)
    for bounds, expected in (((1000, 4000), 90), ((10, 4000), 30), ((10, 20), 20)):
        monkeypatch.setattr(markers, "_MIN_TESTED", bounds[0])
        monkeypatch.setattr(markers, "_MAX_TESTED", bounds[1])
        describe(views, model)
        assert sizes == [expected] * 2
        sizes.clear()
