"""Labels annotate: they are matched with the samples of the views, and never add, drop or move one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview import check_views
from manyview.exceptions import FileFormatError
from manyview.io import read_views
from manyview.io._annotations import LabelSource

MRNA = "patient,TP53,MYC\nA1,1,2\nA2,3,4\nA3,5,6\nA4,7,8\n"
MIRNA = "patient,mir21\nA4,40\nA3,30\nA2,20\nA1,10\n"
CLINICAL = "patient,subtype,stage\nA1,Basal,1\nA2,LumA,2\nA3,Basal,1\nA4,LumA,3\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Two tables of four patients in the working folder, with the clinical table beside them."""
    monkeypatch.chdir(tmp_path)
    for name, text in (("mrna.csv", MRNA), ("mirna.csv", MIRNA), ("clinical.csv", CLINICAL)):
        Path(name).write_text(text)
    return tmp_path


def read(labels, **options):
    return read_views(["mrna.csv", "mirna.csv"], labels=labels, **options)


def the_views_are_as_without_labels(found, join="exact"):
    alone = read_views(["mrna.csv", "mirna.csv"], join=join)
    assert found.sample_ids.tolist() == alone.sample_ids.tolist()
    assert all(np.array_equal(one, other) for one, other in zip(found.arrays, alone.arrays, strict=True))


@pytest.mark.parametrize("join", ["exact", "inner", "outer"])
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        (CLINICAL, ["Basal", "LumA", "Basal", "LumA"]),
        (CLINICAL.replace("A1,Basal", "Z1,Basal,1\nA1,Basal") + "Z2,Her2,2\n", ["Basal", "LumA", "Basal", "LumA"]),
        (CLINICAL.replace("A2,LumA", "A2,").replace("A3,Basal", "A3,"), ["Basal", None, None, "LumA"]),
        (CLINICAL.replace("A2,LumA,2\n", ""), ["Basal", None, "Basal", "LumA"]),
        ("barcode,subtype,stage\nA4,LumA,3\nA2,LumA,2\nZ,Her2,1\n", [None, "LumA", None, "LumA"]),
    ],
    ids=["whole", "two more patients", "two empty cells", "a patient less", "another order, and ids of another name"],
)
def test_a_clinical_table_never_changes_the_samples(changed, expected, join):
    Path("clinical.csv").write_text(changed)
    found = read("clinical.csv:subtype", join=join)
    assert found.labels.tolist() == expected
    assert found.metadata["subtype"].isna().tolist() == [one is None for one in expected]
    the_views_are_as_without_labels(found, join)
    assert check_views(found).n_samples == 4


def test_several_columns():
    found = read(["clinical.csv:stage", "clinical.csv:subtype"])
    assert found.labels.tolist() == [1, 2, 1, 3]
    assert found.metadata.to_dict("list") == {"stage": [1, 2, 1, 3], "subtype": ["Basal", "LumA", "Basal", "LumA"]}
    assert found.metadata.index.tolist() == ["A1", "A2", "A3", "A4"]
    assert found[[2, 0]].metadata["stage"].tolist() == [1, 1]


def test_whole_numbers_with_gaps_stay_whole():
    Path("clinical.csv").write_text(CLINICAL.replace("A2,LumA,2", "A2,LumA,") + "Z,LumA,x\n")
    assert read("clinical.csv:stage").labels.tolist() == ["1", None, "1", "3"]  # as there is an x in the column
    Path("clinical.csv").write_text(CLINICAL.replace("A2,LumA,2", "A2,LumA,"))
    found = read("clinical.csv:stage")
    assert found.labels.tolist() == [1, None, 1, 3]
    assert repr(found) == "Views(4 samples; mrna: 2, mirna: 1; 2 classes)"
    assert str(found.metadata["stage"].dtype) == "Int64"
    Path("clinical.csv").write_text(CLINICAL.replace("A2,LumA,2", "A2,LumA,").replace("A1,Basal,1", "A1,Basal,1.5"))
    assert read("clinical.csv:stage").labels.tolist() == [1.5, None, 1.0, 3.0]


def test_truth_values_with_gaps_keep_their_names():
    Path("clinical.csv").write_text("patient,smoker\nA1,True\nA2,\nA3,False\nA4,True\n")
    found = read("clinical.csv:smoker").labels.tolist()
    assert [str(one) for one in found] == ["True", "None", "False", "True"]


def test_the_column_of_the_ids_is_named_after_an_at():
    Path("clinical.csv").write_text("age,barcode,subtype\n50,A4,LumA\n51,A1,Basal\n")
    assert read("clinical.csv:subtype@barcode").labels.tolist() == ["Basal", None, None, "LumA"]
    assert read("clinical.csv:subtype@barcode", id_column="patient").labels.tolist() == ["Basal", None, None, "LumA"]
    Path("clinical.csv").write_text("subtype,barcode\nLumA,A4\nBasal,A1\n")
    assert read("clinical.csv@barcode").labels.tolist() == ["Basal", None, None, "LumA"]


def test_the_id_column_of_the_views_need_not_be_in_the_labels():
    Path("clinical.csv").write_text(CLINICAL.replace("patient", "case"))
    assert read("clinical.csv:subtype", id_column="patient").labels.tolist() == ["Basal", "LumA", "Basal", "LumA"]
    Path("clinical.csv").write_text("subtype,patient\nLumA,A4\n")
    assert read("clinical.csv:subtype", id_column="patient").labels.tolist() == [None, None, None, "LumA"]


def test_ids_of_the_labels_keep_their_zeros():
    Path("mrna.csv").write_text("id,a\n001,1\n01,2\n")
    Path("clinical.csv").write_text("age,case,kind\n5,01,x\n6,001,y\n")
    assert read_views("mrna.csv", id_column="id", labels="clinical.csv:kind@case").labels.tolist() == ["y", "x"]


def test_columns_with_colons_and_ats():
    Path("clinical.csv").write_text("patient,a:b,c@d,e@patient\nA1,1,2,3\nA2,1,2,3\n")
    assert read("clinical.csv:a:b").labels.tolist() == [1, 1, None, None]
    assert read("clinical.csv:c@d").labels.tolist() == [2, 2, None, None]
    assert read("clinical.csv:c@d@patient").labels.tolist() == [2, 2, None, None]
    assert read("clinical.csv:e@patient").labels.tolist() == [3, 3, None, None]


def test_a_file_that_exists_is_not_cut():
    for name in ("odd:name.csv", "me@home.csv", "clinical.csv:subtype.csv"):
        Path(name).write_text("patient,kind\nA1,x\n")
        assert read(name).labels.tolist() == ["x", None, None, None]
        assert read(Path(name)).labels.tolist() == ["x", None, None, None]
    Path("odd:name.csv").write_text("patient,kind,more\nA1,x,y\n")
    assert read("odd:name.csv:more@patient").labels.tolist() == ["y", None, None, None]


@pytest.mark.parametrize(
    ("text", "path", "chosen"),
    [
        ("gone.csv", "gone.csv", ""),
        ("gone.csv:tissue type", "gone.csv", ":tissue type"),
        ("gone.tsv.gz:kind@id", "gone.tsv.gz", ":kind@id"),
        ("gone.csv@id", "gone.csv", "@id"),
        ("a:b.csv:kind", "a:b.csv", ":kind"),
        (r"C:\data\gone.csv", r"C:\data\gone.csv", ""),
        (r"C:\data\gone.csv:kind", r"C:\data\gone.csv", ":kind"),
        (":kind", ":kind", ""),
    ],
)
def test_texts_whose_file_does_not_exist(text, path, chosen):
    assert LabelSource.parse(text) == LabelSource(Path(path), chosen)
    with pytest.raises(FileNotFoundError) as caught:
        read(text)
    assert str(caught.value).startswith(f"{path}: no such file.")


def test_without_a_column_the_rule_is_that_of_today():
    Path("kinds.csv").write_text("patient,kind\nA3,x\n")
    found = read("kinds.csv")
    assert found.labels.tolist() == [None, None, "x", None]
    assert list(found.metadata) == ["kind"]
    assert read("clinical.csv", label_column="stage").labels.tolist() == [1, 2, 1, 3]
    Path("clinical.csv").write_text("patient,age,label\nA1,5,x\nA2,6,y\n")
    assert read("clinical.csv").labels.tolist() == ["x", "y", None, None]


def test_equal_names_in_two_files():
    Path("other.csv").write_text("patient,stage\nA1,9\n")
    found = read(["clinical.csv:stage", "other.csv:stage"])
    assert list(found.metadata) == ["clinical:stage", "other:stage"]
    with pytest.raises(FileFormatError, match="labels: 'clinical:stage' is named more than once"):
        read(["clinical.csv:stage", "clinical.csv:stage"])


def test_without_ids_rows_are_matched_by_position():
    np.save("a.npy", np.ones((3, 2)))
    Path("kinds.txt").write_text("x\ny\nx\n")
    Path("kinds.csv").write_text("kind,more\nx,5\n,6\nx,6\n")
    found = read_views("a.npy", labels=["kinds.txt", "kinds.csv:kind"])
    assert found.labels.tolist() == ["x", "y", "x"]
    assert list(found.metadata) == ["kinds", "kind"]
    assert found.metadata["kind"].isna().tolist() == [False, True, False]
    Path("kinds.txt").write_text("x\ny\n")
    with pytest.raises(FileFormatError, match=r"kinds\.txt: 2 labels, but the views have 3 samples\. Without ids, "):
        read_views("a.npy", labels="kinds.txt")


def test_row_numbers_are_no_ids():
    np.save("a.npy", np.ones((3, 2)))
    pd.Series(["x", "y", "x"], name="kind").to_csv("kinds.csv")
    assert read_views("a.npy", labels="kinds.csv").labels.tolist() == ["x", "y", "x"]
    pd.DataFrame(np.ones((3, 2))).add_prefix("v").to_csv("a.csv")
    Path("kinds.txt").write_text("x\ny\nx\n")
    assert read_views("a.csv", labels="kinds.txt").labels.tolist() == ["x", "y", "x"]
    pd.Series(["x", "y", "x"], index=[2, 0, 1], name="kind").to_csv("kinds.csv")
    with pytest.raises(FileFormatError, match=r"kinds\.csv: has ids \(2, 0, 1\), but the views have none"):
        read_views("a.npy", labels="kinds.csv")


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        (
            "clinical.csv:subtipe",
            r"clinical\.csv: has no column 'subtipe' besides the ids. It has .* 'subtype', 'stage'",
        ),
        ("clinical.csv:subtype@barcode", r"clinical\.csv: has no column 'barcode', which is named after the @"),
        ("clinical.csv", r"expected one column of labels, .* Name it: labels='clinical\.csv:COLUMN', or labels="),
        (
            "foreign.csv:subtype",
            r"nothing in common. Ids here: TCGA-A1, TCGA-A2; there: A1, A2, A3, \.\.\.\. If another",
        ),
        ("empty.csv:subtype", r"empty\.csv: column 'subtype' is empty for all 4 samples"),
        ("kinds.txt", r"mirna\.csv: its ids differ .* and kinds\.txt has no ids to tell which of the two it follows"),
        ("kinds.txt:kind", r"kinds\.txt: has no columns with names, so ':kind' cannot be one"),
        ("twice.csv:subtype", r"twice\.csv: id 'A1' occurs 2 times in column 'patient'"),
    ],
)
def test_what_is_refused(labels, error):
    Path("foreign.csv").write_text("patient,subtype\nTCGA-A1,x\nTCGA-A2,y\n")
    Path("empty.csv").write_text("patient,subtype\nA1,\nA2,\nZ,x\n")
    Path("twice.csv").write_text("patient,subtype\nA1,x\nA1,y\n")
    Path("kinds.txt").write_text("x\ny\nx\ny\n")
    with pytest.raises(FileFormatError, match=error):
        read(labels)


def test_a_column_must_follow():
    with pytest.raises(ValueError, match=r"labels: expected a column after ':', got 'clinical\.csv:'"):
        read("clinical.csv:")


def test_labels_with_ids_and_views_without():
    np.save("a.npy", np.ones((4, 2)))
    with pytest.raises(
        FileFormatError, match=r"has ids \(A1, A2, A3, \.\.\.\), but the views have none .* id_column= if"
    ):
        read_views("a.npy", labels="clinical.csv:subtype")


def test_a_column_that_is_named_as_label_is_no_feature():
    Path("mrna.csv").write_text("patient,TP53,stage\nA1,1,2\nA2,3,4\n")
    found = read_views(["mrna.csv"], labels="mrna.csv:stage")
    assert found["mrna"].tolist() == [[1], [3]]
    assert found.labels.tolist() == [2, 4]


def test_empty_cells_of_a_label_column_among_the_views():
    Path("a.csv").write_text("id,x,label\nq,1,0\nr,2,\ns,3,1\n")
    Path("b.csv").write_text("id,z,label\nr,1,5\nq,2,0\ns,3,\n")
    assert read_views("a.csv").labels.tolist() == [0, None, 1]
    assert read_views(["a.csv", "b.csv"]).labels.tolist() == [0, 5, 1]


def facts(metadata, **options):
    return read_views(["mrna.csv", "mirna.csv"], metadata=metadata, **options)


@pytest.mark.parametrize(
    ("given", "text", "expected"),
    [
        ("clinical.csv", CLINICAL, {"subtype": ["Basal", "LumA", "Basal", "LumA"], "stage": [1, 2, 1, 3]}),
        ("clinical.csv:stage", CLINICAL, {"stage": [1, 2, 1, 3]}),
        ("clinical.csv:stage, subtype@patient", CLINICAL, {"stage": [1, 2, 1, 3], "subtype": None}),
        ("clinical.csv@code", "age,code,class\n9,A2,x\n8,A1,y\n7,A4,x\n6,A3,\n", {"age": [8, 9, 6, 7], "class": None}),
        ("clinical.csv", "age,code,class\n9,A2,x\n8,A1,y\n7,A4,x\n6,A3,\n", {"age": [8, 9, 6, 7], "class": None}),
        (
            "clinical.csv",
            "barcode,a,b\nA4,1.5,2\nA2,,3\nA9,0.5,4\n",
            {"a": [None, None, None, 1.5], "b": [None, 3, None, 2]},
        ),
        ("clinical.csv:a", ",id,a\n0,A4,no\n1,A1,yes\n2,A2,no\n3,A3,no\n", {"a": ["yes", "no", "no", "no"]}),
        ("clinical.csv:a,b", 'id,"a,b"\nA1,5\nA2,6\nA3,7\nA4,8\n', {"a,b": [5, 6, 7, 8]}),
    ],
)
def test_metadata_are_matched_by_ids(given, text, expected):
    Path("clinical.csv").write_text(text)
    found = facts(given)
    assert found.labels is None
    the_views_are_as_without_labels(found)
    assert set(found.metadata.columns) == set(expected)
    assert found.metadata.index.tolist() == ["A1", "A2", "A3", "A4"]
    for name, values in expected.items():
        if values is not None:
            assert found.metadata[name].astype(object).where(found.metadata[name].notna(), None).tolist() == values


def test_metadata_without_rows_are_counted():
    Path("clinical.csv").write_text("patient,stage\nA4,3\nA2,2\n")
    found = facts("clinical.csv")
    assert found.reading.without_metadata == 2
    assert "2 samples have no row in the metadata" in found.reading.sentences
    assert str(found.metadata["stage"].dtype) == "Int64"


def test_ids_of_metadata_may_be_numbers():
    for name in ("mrna.csv", "mirna.csv"):
        Path(name).write_text(Path(name).read_text().replace("A", "00"))
    Path("clinical.csv").write_text("age,patient\n8,004\n7,003\n6,002\n5,001\n")
    assert facts("clinical.csv", id_column="patient").metadata["age"].tolist() == [5, 6, 7, 8]


def test_metadata_by_position_where_the_views_have_no_ids():
    for name, values in (("a.npy", np.eye(4)), ("b.npy", np.eye(4))):
        np.save(name, values)
    Path("clinical.csv").write_text("age,sex\n8,m\n8,f\n6,f\n5,m\n")
    assert read_views(["a.npy", "b.npy"], metadata="clinical.csv").metadata["sex"].tolist() == ["m", "f", "f", "m"]
    Path("clinical.csv").write_text("age,sex\n8,m\n7,f\n")
    with pytest.raises(FileFormatError, match="2 rows, but the views have 4 samples"):
        read_views(["a.npy", "b.npy"], metadata="clinical.csv")


def test_labels_and_metadata_of_one_file_are_one_column():
    found = facts("clinical.csv", labels="clinical.csv:subtype")
    assert found.labels.tolist() == ["Basal", "LumA", "Basal", "LumA"]
    assert list(found.metadata.columns) == ["subtype", "stage"]
    Path("more.csv").write_text("patient,stage,site\nA1,a,x\nA2,b,x\nA3,c,x\nA4,d,x\n")
    found = facts(["clinical.csv", "more.csv"])
    assert list(found.metadata.columns) == ["subtype", "clinical:stage", "more:stage", "site"]


def test_metadata_are_no_features():
    Path("mirna.csv").write_text("patient,mir21,age\nA4,40,1\nA3,30,2\nA2,20,3\nA1,10,4\n")
    found = facts("mirna.csv:age")
    assert found.metadata["age"].tolist() == [4, 3, 2, 1]
    assert found.feature_names[1] == ("mir21",)
    inside = read_views(".", metadata="clinical.csv")
    assert inside.names == ("mirna", "mrna")


@pytest.mark.parametrize(
    ("given", "text", "message"),
    [
        ("clinica.csv", CLINICAL, r"no such file\. Did you mean clinical.csv"),
        ("clinical.csv:stagge", CLINICAL, "no column 'stagge' besides the ids. Did you mean 'stage'"),
        ("clinical.csv:stage@patent", CLINICAL, "no column 'patent', .* Did you mean 'patient'"),
        ("clinical.csv:", CLINICAL, "metadata: expected a column after ':'"),
        ("clinical.csv", "patient\nA1\nA2\n", "no column besides the ids|no column has the ids"),
        ("clinical.csv", "patient,a,a\nA1,1,2\nA2,1,2\n", "2 columns are called 'a'"),
        ("clinical.csv", "patient,a\nA1,1\nA1,2\nA2,3\n", "id 'A1' occurs 2 times in column 'patient'"),
        ("clinical.csv", "patient,a\nB1,1\nB2,2\n", "nothing in common. Ids here: B1, B2; there: A1, A2"),
        (
            "clinical.csv",
            "age,sex\n8,m\n7,f\n6,f\n5,m\n",
            "no column has the ids of the views",
        ),
        ("clinical.csv", "patient,a\nA1,1\n,2\n", "column 'patient' is empty for 1 sample"),
        ("mrna.csv", CLINICAL, "mrna.csv: is both a file of views and metadata"),
        (["clinical.csv", "clinical.csv"], CLINICAL, "metadata: 'clinical:subtype' is given more than once"),
        ("facts.npy", CLINICAL, "facts.npy: cannot be read by its extension"),
    ],
)
def test_metadata_that_do_not_match_are_refused(given, text, message):
    Path("clinical.csv").write_text(text)
    Path("facts.npy").write_bytes(b"x")
    with pytest.raises((FileFormatError, FileNotFoundError, ValueError), match=message):
        facts(given)
