"""Datasets of experiments: every kind of source, absent files, and checksums that notice every change."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import Views
from manyview.datasets import load_digits_views, make_multiview
from manyview.exceptions import DatasetError, SpecError
from manyview.experiments import Store, load_spec, run
from manyview.experiments._datasets import facts, load


def test_fetch(data_file, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(data_file("MSRC-v5.mat").parent))
    views = load({"fetch": "MSRC-v5"})
    assert views.names == ("cm", "hog", "gist", "lbp", "cent")
    assert facts("MSRC-v5", views).sorted_by_class


def test_read(tmp_path):
    path = tmp_path / "mine.npz"
    np.savez(path, view0=np.eye(4), view1=np.ones((4, 2)), labels=[0, 0, 1, 1])
    views = load({"read": str(path)})
    np.testing.assert_array_equal(views.arrays[0], np.eye(4))
    assert facts("mine", views).sorted_by_class


def test_read_with_options(tmp_path):
    for name, ids in (("a", "xyz"), ("b", "zyw")):
        lines = [f"{id},{i},{i + 1}" for i, id in enumerate(ids)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["flower,u,v", *lines]))
    paths = [str(tmp_path / "a.csv"), str(tmp_path / "b.csv")]
    views = load({"read": paths, "options": {"id_column": "flower", "join": "outer"}})
    assert views.sample_ids.tolist() == ["x", "y", "z", "w"]
    assert views.present.tolist() == [[True, False], [True, True], [True, True], [False, True]]
    with pytest.raises(DatasetError, match=r"there is no file .*c\.csv"):
        load({"read": [*paths, str(tmp_path / "c.csv")]})


def test_read_one_table_as_several_views(tmp_path):
    np.savez(tmp_path / "mine.npz", X=np.arange(20.0).reshape(4, 5), labels=[0, 0, 1, 1])
    views = load({"read": str(tmp_path / "mine.npz"), "view_sizes": [2, 3]})
    assert views.n_features == (2, 3)
    np.testing.assert_array_equal(views.arrays[1], np.arange(20.0).reshape(4, 5)[:, 2:])
    assert views.labels.tolist() == [0, 0, 1, 1]


def test_load_and_cut():
    views = load({"load": "digits", "first": 50})
    np.testing.assert_array_equal(views["pixels"], load_digits_views()["pixels"][:50])
    assert not facts("digits", views).sorted_by_class


def test_generate():
    arguments = {"n_samples": 40, "n_clusters": 4, "random_state": 3}
    plain = make_multiview(**arguments)
    views = load({"generate": {**arguments, "dtype": "float32", "sorted": True}})
    rows = np.argsort(plain.labels, kind="stable")
    np.testing.assert_array_equal(views.arrays[0], plain.arrays[0][rows].astype(np.float32))
    np.testing.assert_array_equal(views.labels, np.repeat(np.arange(4), 10))
    assert facts("x", views).sorted_by_class
    unsorted = load({"generate": arguments})
    np.testing.assert_array_equal(unsorted.arrays[1], plain.arrays[1])
    assert not facts("x", unsorted).sorted_by_class


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            {"fetch": "NUS-WIDE"},
            r"^dataset not found: NUS-WIDE\. The data come from .* as NUS-WIDE\.mat, .*MANYVIEW_DATA",
        ),
        ({"read": "none.npz"}, r"^dataset not found: there is no file none\.npz\. Paths are relative to"),
        ({"load": "mnist"}, r"^dataset not found: MNIST63k\. Make MNIST63k\.npz from .*MANYVIEW_DATA"),
    ],
)
def test_absent_file(source, text, monkeypatch, tmp_path):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=text) as error:
        load(source)
    assert str(tmp_path) not in str(error.value)


def test_facts():
    views = Views([np.zeros((4, 2)), np.ones((4, 3))], names=["a", "b"], labels=["y", "x", "x", "y"])
    found = facts("mine", views)
    assert (found.name, found.n_samples, found.views) == ("mine", 4, (("a", 2), ("b", 3)))
    assert found.classes.tolist() == [1, 0, 0, 1]
    assert not found.sorted_by_class
    assert facts("mine", views.take([1, 2, 0, 3])).sorted_by_class


def test_facts_with_some_classes():
    """A missing class is no class of its own, neither for their number nor for their order."""
    views = Views([np.zeros((5, 2))], labels=np.array(["y", None, "y", "x", None], dtype=object))
    found = facts("mine", views)
    assert found.classes.tolist() == [1, -1, 1, 0, -1]
    assert found.n_classes == 2
    assert found.sorted_by_class


def test_facts_without_classes():
    found = facts("mine", Views([np.zeros((3, 1))]))
    assert (found.n_samples, found.classes, found.sorted_by_class) == (3, None, None)
    with pytest.raises(DatasetError, match="mine: has no known classes, so no clustering of it can be scored"):
        found.known_classes  # noqa: B018


def views_to_change():
    table = sp.csr_array(np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]]))
    return Views([np.arange(6.0).reshape(2, 3), table], names=["a", "b"], labels=[0, 1])


def changed_dense(change):
    views = views_to_change()
    return replace(views, arrays=(change(views.arrays[0]), views.arrays[1]))


def changed_sparse(change):
    views = views_to_change()
    return replace(views, arrays=(views.arrays[0], change(views.arrays[1])))


@pytest.mark.parametrize(
    "other",
    [
        replace(views_to_change(), names=("a", "c")),
        replace(views_to_change(), labels=np.array([0, 0])),
        changed_dense(lambda table: table.astype(np.float32)),
        changed_dense(lambda table: np.nextafter(table, 9)),
        changed_dense(lambda table: table[:, ::-1]),
        replace(views_to_change(), present=np.array([[True, False], [True, True]])),
        views_to_change().take([1, 0]),
        changed_sparse(lambda table: table.toarray()),
        changed_sparse(lambda table: table * 2),
        changed_sparse(lambda table: table[:, [1, 0, 2]]),
        changed_sparse(lambda table: sp.csr_array((table.data, table.indices, table.indptr), shape=(2, 4))),
    ],
    ids=["name", "class", "type", "value", "columns", "missing", "rows", "dense", "values", "places", "width"],
)
def test_fingerprint_notices_every_change(other):
    assert facts("x", other).fingerprint != facts("x", views_to_change()).fingerprint


def test_fingerprint_does_not_depend_on_how_the_values_are_stored():
    expected = facts("x", views_to_change()).fingerprint
    assert facts("x", changed_sparse(sp.csc_array)).fingerprint == expected
    views = views_to_change()
    assert (
        facts("x", replace(views, arrays=(np.asfortranarray(views.arrays[0]), views.arrays[1]))).fingerprint == expected
    )


def test_generated_data_are_the_same_in_every_process():
    one, other = (load({"generate": {"n_samples": 20}}) for _ in range(2))
    np.testing.assert_array_equal(one.arrays[0], other.arrays[0])


# Files that a spec names


SPEC = """
kind = "table"
title = "Files"
methods = ["ConcatKMeans"]
protocols = ["shuffled"]
seeds = 1
scores = ["acc"]
"""
READING = """
[[dataset]]
name = "flowers"
read = ["petals.csv", "sepals.csv"]
id = "flower"
labels = "species.csv:species"
"""


@pytest.fixture
def folder(tmp_path):
    """A folder beside the current one, with two tables whose rows are in different orders, and one of classes."""
    folder = tmp_path / "specs"
    folder.mkdir()
    views = make_multiview(30, 3, n_views=2, noise=0.1, random_state=0)
    ids = np.array([f"F{i}" for i in range(30)])
    for name, array, rows in zip(("petals", "sepals"), views.arrays, (slice(None), slice(None, None, -1)), strict=True):
        table = pd.DataFrame(array[rows], columns=[f"x{i}" for i in range(array.shape[1])])
        table.insert(0, "flower", ids[rows])
        table.to_csv(folder / f"{name}.csv", index=False)
    pd.DataFrame({"flower": ids, "species": views.labels, "site": "A"}).to_csv(folder / "species.csv", index=False)
    return folder


def spec_of(folder, dataset):
    (folder / "mine.toml").write_text(SPEC + dataset, encoding="utf-8")
    return load_spec(folder / "mine.toml")


def test_a_spec_reads_files_of_its_folder_with_ids_and_labels(folder, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (cell,) = spec_of(folder, READING).cells
    options = {"id_column": "flower", "labels": "species.csv:species"}
    assert cell.source == {"read": ["petals.csv", "sepals.csv"], "options": options}
    views = load(cell.source, cell.folder)
    made = make_multiview(30, 3, n_views=2, noise=0.1, random_state=0)
    np.testing.assert_allclose(views.arrays[1], made.arrays[1])
    assert np.array_equal(views.labels.astype(int), made.labels)
    moved = folder.rename(tmp_path / "moved")
    assert load_spec(moved / "mine.toml").cells[0].key == cell.key
    (plain,) = spec_of(moved, '[[dataset]]\nname = "m"\nread = "m.npz"\n').cells
    assert plain.source == {"read": "m.npz"}  # as in stores from before


@pytest.mark.parametrize(
    ("lines", "source"),
    [
        ("id = false\njoin = 'inner'", {"options": {"id_column": False, "join": "inner"}}),
        ("id = ['a', 'b']\nmatch_ids = 'loose'", {"options": {"id_column": ["a", "b"], "match_ids": "loose"}}),
        ("transpose = ['x.csv']\nheader = false", {"options": {"transpose": ["x.csv"], "header": False}}),
        ("views_key = 'X'\nlabels_key = 'y'", {"options": {"views_key": "X", "labels_key": "y"}}),
        ("names = ['a']\nlabel_column = 'c'", {"options": {"names": ["a"], "label_column": "c"}}),
        ("view_sizes = [2, 3]\nfirst = 5", {"view_sizes": [2, 3], "first": 5}),
        ("views_from_prefix = '__'", {"view_sizes": "__"}),
    ],
)
def test_all_options_of_reading(folder, lines, source):
    (cell,) = spec_of(folder, f"[[dataset]]\nname = 'm'\nread = 'm.csv'\n{lines}\n").cells
    assert cell.source == {"read": "m.csv"} | source


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ("read = 3", "read: expected a text or a list of texts, got 3"),
        ("read = []", r"read: expected a text or a list of texts, got \[\]"),
        ("read = 'm.csv'\nid = true", "id: expected the name of a column, or false"),
        ("read = 'm.csv'\njoin = 'left'", "join: expected one of exact, inner, outer; got 'left'"),
        ("read = 'm.csv'\nview_sizes = 0", "view_sizes: expected a whole number from 1 on"),
        ("read = 'm.csv'\nview_sizes = 2\nviews_from_prefix = '_'", "views_from_prefix: expected either this or"),
        ("read = 'm.csv'\nlabel = 'm.csv'", "label: no such key; .* Did you mean 'labels'"),
        ("load = 'digits'\nid = 'a'", "id: says how files are read, but there is no read beside it"),
    ],
)
def test_options_that_make_no_sense(folder, lines, text):
    with pytest.raises(SpecError, match=rf"mine.toml: \[dataset 'm'\] {text}"):
        spec_of(folder, f"[[dataset]]\nname = 'm'\n{lines}\n")


BROKEN = """
[[dataset]]
name = "gone"
read = "gone.csv"
[[dataset]]
name = "no classes"
read = ["petals.csv", "sepals.csv"]
[[dataset]]
name = "wrong column"
read = "petals.csv"
labels = "species.csv:kind"
[[dataset]]
name = "wrong id"
read = ["petals.csv", "sepals.csv"]
id = "plant"
"""


def test_datasets_that_cannot_be_read_are_reported_once_before_anything_runs(folder, tmp_path):
    spec = spec_of(folder, READING + BROKEN)
    with Store(tmp_path / "s.sqlite", create=True) as store:
        with pytest.raises(DatasetError) as raised:
            run(spec, store)
        assert (store.runs(), store.starts(), store.datasets()) == ([], [], {})
    text = str(raised.value)
    assert text.startswith("nothing was run. dataset 'gone': dataset not found: there is no file gone.csv. Paths are")
    assert f"relative to the folder of the spec, {folder}." in text
    assert "dataset 'no classes': it has no known classes, so nothing can be scored. Name them: labels = " in text
    assert text.count("dataset 'wrong column': ") == 1
    assert "'kind'" in text
    assert "dataset 'wrong id': " in text
    assert "id_column" not in text
    assert "flowers" not in text


def test_values_that_no_method_takes_are_reported_as_well(folder, tmp_path):
    table = pd.read_csv(folder / "petals.csv")
    table.loc[3, "x1"] = np.nan
    table.to_csv(folder / "petals.csv", index=False)
    text = r"nothing was run. dataset 'flowers': .*petals.csv: views\['petals'\]: .*NaN"
    with Store(tmp_path / "s.sqlite", create=True) as store, pytest.raises(DatasetError, match=text):
        run(spec_of(folder, READING), store)
