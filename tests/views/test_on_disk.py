"""Reports, descriptions and audits of views on disk load some samples, and say so."""

from __future__ import annotations

import re
from dataclasses import replace

import dask.array as da
import numpy as np
import pytest

from manyview import GraphEnsemble, Views, describe
from manyview.audit import audit_order
from manyview.datasets import make_multiview
from manyview.report import write_report
from manyview.views import on_disk
from manyview.views.fingerprint import fingerprint

N, MOST = 900, 300


@pytest.fixture(autouse=True)
def few_are_loaded(monkeypatch):
    monkeypatch.setattr(on_disk, "MOST_LOADED", MOST)
    monkeypatch.setattr(on_disk, "_LEAST_OF_CLUSTER", 40)


@pytest.fixture(scope="module")
def views():
    made = make_multiview(N, 3, n_views=2, n_features=[4, 6], noise=0.2, random_state=0).shuffled(0)
    return replace(made, sample_ids=np.array([f"item {i}" for i in range(N)]))


@pytest.fixture(params=["dask", "memmap"])
def opened(request, views, tmp_path):
    arrays = []
    for name, array in views.items():
        np.save(tmp_path / f"{name}.npy", array)
        mapped = np.load(tmp_path / f"{name}.npy", mmap_mode="r")
        arrays.append(da.from_array(mapped, chunks=(250, -1)) if request.param == "dask" else mapped)
    return replace(views, arrays=tuple(arrays))


def fit(views):
    return GraphEnsemble(3, random_state=0, n_members=4, n_anchors=50, learn_on=200).fit(views)


def test_a_report_shows_drawn_samples_and_all_sizes(opened, views, tmp_path):
    model = fit(opened)
    write_report(model, opened, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "<h1>3 clusters of 900 samples</h1>" in page
    assert re.search(r"The views are on disk: \d+ of the 900 samples were drawn at random and loaded\.", page)
    for size in np.bincount(np.asarray(model.labels_)):
        assert f">{size}<" in page or f">{size} " in page
    assert re.search("item [0-9]{3}", page)


def test_a_description_has_the_sizes_of_all_and_the_statistics_of_some(opened, views):
    model, expected = fit(opened), describe(views, fit(views), p_values=False)
    found = describe(opened, model, p_values=False)
    np.testing.assert_array_equal(found.clusters["size"], expected.clusters["size"])
    np.testing.assert_allclose(found.clusters["mean_confidence"], expected.clusters["mean_confidence"])
    assert MOST <= len(found.rows) < N
    labels = np.asarray(model.labels_)
    np.testing.assert_array_equal(found.labels, labels[found.rows])
    assert found.notes[0].startswith(f"The views are on disk: {len(found.rows)} of the 900 samples were drawn")
    for _, typical in found.typical.iterrows():
        assert typical["sample"] == f"item {typical['row']}"
        assert labels[typical["row"]] == typical["cluster"]
    best, same = (table.markers.groupby(["cluster", "view"])["auroc"].max() for table in (found, expected))
    np.testing.assert_allclose(best, same, atol=0.05)


def test_a_description_of_labels_from_elsewhere(opened, views):
    labels = [None if i % 10 == 0 else f"type {label}" for i, label in enumerate(views.labels)]
    found, expected = (describe(given, labels, p_values=False) for given in (opened, views))
    assert found.names == expected.names
    np.testing.assert_array_equal(found.clusters["size"], expected.clusters["size"])
    assert not (found.rows % 10 == 0).any()


def test_few_samples_are_all_loaded(opened, views, monkeypatch):
    monkeypatch.setattr(on_disk, "MOST_LOADED", 10_000)
    model = fit(opened)
    found, expected = describe(opened, model, p_values=False), describe(views, fit(views), p_values=False)
    assert found.markers.equals(expected.markers)
    assert found.notes == expected.notes


def test_an_audit_draws_samples(opened):
    model = GraphEnsemble(3, random_state=0, n_members=4)
    with pytest.warns(UserWarning, match="audit_order: The views are on disk: 300 of the 900 samples were drawn"):
        found = audit_order(model, opened, n_shuffles=1)
    assert found.passed


def test_draws_have_every_cluster():
    labels = np.zeros(5000, dtype=int)
    labels[[7, 2000, 4999]] = 1
    labels[100:200] = 2
    labels[9] = -1  # no cluster
    rows = on_disk.draw_samples(labels, also=[3, 4])
    assert (np.diff(rows) > 0).all()
    assert {3, 4, 7, 2000, 4999} <= set(rows)
    assert np.bincount(labels[rows][labels[rows] >= 0])[1:].tolist() >= [3, 40]
    np.testing.assert_array_equal(rows, on_disk.draw_samples(labels, also=[3, 4]))
    np.testing.assert_array_equal(on_disk.draw_samples(labels[:MOST]), np.arange(MOST))


def test_the_checksum_of_dask_arrays_follows_the_values(views):
    lazy = replace(views, arrays=tuple(da.from_array(array, chunks=(250, -1)) for array in views.arrays))
    other = [array.copy() for array in views.arrays]
    other[1][899, 5] += 1e-12
    changed = replace(views, arrays=tuple(da.from_array(array, chunks=(250, -1)) for array in other))
    assert fingerprint(lazy) == fingerprint(lazy)
    assert fingerprint(lazy) != fingerprint(changed)
    assert re.fullmatch("[0-9a-f]{64}", fingerprint(lazy))


def test_dask_frames_are_views(views):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    frames = [pd.DataFrame(array).add_prefix("gene ") for array in views.arrays]
    lazy = [dd.from_pandas(frame, npartitions=4).clear_divisions() for frame in frames]
    found = Views(lazy, names=["a", "b"])
    assert found.arrays[0].chunks[0] == (225, 225, 225, 225)
    assert found.feature_names[0] == tuple(frames[0].columns)
    for array, frame in zip(found.arrays, frames, strict=True):
        np.testing.assert_array_equal(array.compute(), frame.to_numpy())
    model = fit({"a": lazy[0], "b": lazy[1]})
    assert model.labels_.chunks == ((225, 225, 225, 225),)
    turned = {"b": lazy[1], "a": lazy[0][list(frames[0].columns[::-1])]}
    np.testing.assert_array_equal(model.predict(turned).compute(), model.labels_.compute())
    with pytest.raises(Exception, match=r"views\['view0'\]: expected numeric columns, but 'batch' hold"):
        Views([lazy[0].assign(batch="x"), lazy[1]])
