from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest
import typer

from manyview.cli._options import Join, Source
from manyview.exceptions import ViewsError
from manyview.io import read_views
from manyview.io._annotations import LabelSource


def test_one_file_is_a_path_and_several_are_a_list():
    assert Source([Path("a.mat")]).path == "a.mat"
    assert Source([Path("a.csv"), Path("b.csv")]).path == ["a.csv", "b.csv"]


def test_only_what_was_said_is_passed_on():
    assert Source([Path("a.mat")]).options == {}
    said = Source([Path("a.mat")], id_column="id", join=Join.OUTER, names="x, y", views_key="A,B", header=False)
    assert said.options == {
        "id_column": "id",
        "join": "outer",
        "names": ["x", "y"],
        "views_key": ["A", "B"],
        "header": False,
    }
    assert Source([Path("a.mat")], views_key="X").options == {"views_key": "X"}


def test_options_are_arguments_of_read_views():
    everything = Source([Path("a")], "id", ["l.csv:c"], "c", Join.INNER, "a", "b", "c", True)
    assert set(everything.options) < set(inspect.signature(read_views).parameters)


@pytest.mark.parametrize(
    ("text", "file", "column"),
    [
        ("classes.csv", "classes.csv", None),
        ("classes.csv:tissue type", "classes.csv", "tissue type"),
        ("a:b.csv:kind", "a:b.csv", "kind"),
    ],
)
def test_labels_may_name_a_column(text, file, column):
    assert Source([Path("a")], labels=[text]).options == {"labels": text}
    source = LabelSource.parse(text)
    assert (str(source.path), source.columns(())[0]) == (file, column)


def test_a_file_with_a_colon_is_taken_as_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("odd:name.csv").write_text("label\n1\n")
    assert LabelSource.parse("odd:name.csv") == LabelSource(Path("odd:name.csv"))


def test_labels_are_passed_on_as_they_were_typed():
    assert Source([Path("a")], labels=["classes.csv:kind@id"]).options == {"labels": "classes.csv:kind@id"}
    assert Source([Path("a")], labels=["l.csv:a", "l.csv:b"]).options == {"labels": ["l.csv:a", "l.csv:b"]}
    assert Source([Path("a")], labels=[]).options == {}


def test_the_title_has_no_extensions():
    assert Source([Path("x/expression.tsv.gz"), Path("mirna.csv")]).title == "expression, mirna"


def test_one_table_is_cut_into_views(tmp_path):
    path = tmp_path / "wide.npz"
    table = np.arange(12.0).reshape(2, 6)
    np.savez(path, X=table, y=[3, 4])
    views = Source([path], view_sizes="2,4").read()
    assert views.n_features == (2, 4)
    assert np.array_equal(views.arrays[1], table[:, 2:])
    assert views.labels.tolist() == [3, 4]
    assert Source([path], view_sizes="3").read().n_views == 3


def test_views_are_not_cut(tmp_path):
    np.savez(tmp_path / "two.npz", a=np.ones((2, 2)), b=np.ones((2, 2)))
    with pytest.raises(ViewsError, match="view_sizes: only for one table, but there are 2 views: a, b"):
        Source([tmp_path / "two.npz"], view_sizes="2").read()
    with pytest.raises(typer.BadParameter, match="expected whole numbers, got 'two'"):
        Source([tmp_path / "two.npz"], view_sizes="two").read()


def test_words_ask_for_the_same():
    given = Source(
        [Path("a.csv"), Path("b c.csv")], id_column="id", labels=["l.csv:x", "l.csv:y z"], join=Join.INNER, header=True
    )
    assert given.words == [
        "a.csv",
        "b c.csv",
        "--id",
        "id",
        "--labels",
        "l.csv:x",
        "--labels",
        "l.csv:y z",
        "--join",
        "inner",
        "--header",
    ]


def test_one_table_is_cut_by_the_prefixes_of_its_columns(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("id,rna__a,protein__p,rna__b\ns1,1,2,3\ns2,4,5,7\n")
    given = Source([path], views_from_prefix="__")
    views = given.read()
    assert (views.names, views.n_features) == (("rna", "protein"), (2, 1))
    assert views.feature_names == (("rna__a", "rna__b"), ("protein__p",))
    assert given.words[-2:] == ["--views-from-prefix", "__"]
    with pytest.raises(ViewsError, match="the column 'rna__a' has no view before a ':' in its name"):
        Source([path], views_from_prefix=":").read()
    with pytest.raises(typer.BadParameter, match="either --view-sizes or --views-from-prefix"):
        Source([path], views_from_prefix="__", view_sizes="2").read()
