"""Tables with features in rows: transposed where names leave no doubt, else asked about."""

from __future__ import annotations

import warnings

import numpy as np
import pandas
import pandas as pd
import pytest

from manyview.exceptions import FileFormatError, OrientationWarning
from manyview.io import read_views
from manyview.io._ids import loosened

N = 6
GENES = ["CD3D", "MS4A1", "LYZ", "HLA-DRA"]
MIRNAS = ["hsa-mir-21", "hsa-let-7a-1", "MIMAT0000062"]
PATIENTS = [f"TCGA-02-000{i}" for i in range(N)]
PLAIN = [f"q{i}z" for i in range(N)]


@pytest.fixture
def put(tmp_path):
    """Write a table with these names of rows and columns, and these numbers; the first column is called ``corner``."""

    def put(name, rows, columns, values, corner="w"):
        frame = pd.DataFrame(values, index=pd.Index(rows, name=corner), columns=columns)
        frame.to_csv(tmp_path / name, sep="\t" if name.endswith(".tsv") else ",")
        return tmp_path / name

    return put


@pytest.fixture
def numbers():
    random = np.random.default_rng(0)
    return random.random((len(GENES), N)).round(6), random.random((len(MIRNAS), N)).round(6)


# pandas before 3 rounds the last bit of a number in another way.
LAST_BIT = 0 if int(pandas.__version__.split(".")[0]) >= 3 else 1e-12


def quietly(files, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return read_views(files, **options)


@pytest.mark.parametrize(
    ("genes", "samples", "corner"),
    [
        (GENES, PATIENTS, "gene"),
        (GENES, PATIENTS, "w"),
        (
            ["ENSG00000141510", "ENSG00000141511.2", "ENSG00000141512", "ENSG00000141513"],
            [f"S{i}" for i in range(N)],
            "",
        ),
        (["cg00000029", "cg00000108", "cg00000109", "cg00000165"], [f"GSM{i}" for i in range(10, 10 + N)], "ID_REF"),
        (["1007_s_at", "1053_at", "117_at", "121_at"], [f"patient_{i}" for i in range(N)], "w"),
        ([7157, 7158, 672, 675], PATIENTS, "entrez"),
        (["one", "two", "three", "four"], ["AAAC-1", "AAAG-1", "AACC-1", "AACG-1", "AAGT-1", "AATG-1"], "w"),
    ],
    ids=["symbols", "no corner", "ensembl", "methylation", "probes", "entrez", "barcodes"],
)
def test_features_in_rows_are_recognised_by_names(put, numbers, genes, samples, corner):
    first, second = numbers
    order = np.random.default_rng(1).permutation(N)
    files = [
        put("rna.tsv", genes, samples, first, corner),
        put("mirna.csv", MIRNAS, np.array(samples)[order], second[:, order]),
    ]
    with pytest.warns(OrientationWarning, match=r"features were in rows: transposed rna\.tsv, mirna\.csv\. Pass"):
        found = read_views(files)
    assert found.sample_ids.tolist() == samples
    np.testing.assert_array_equal(found["rna"], first.T)
    np.testing.assert_array_equal(found["mirna"], second.T)
    assert found.feature_names == (tuple(map(str, genes)), tuple(MIRNAS))
    assert found.reading.transposed == ("rna.tsv", "mirna.csv")
    assert found.reading.matched_by == "ids in the first line"


def test_samples_of_another_file_stand_in_the_first_line(put, numbers):
    first, second = numbers
    order = np.random.default_rng(1).permutation(N)
    files = [
        put("a.csv", list("stuv"), PLAIN, first),
        put("b.csv", np.array(PLAIN)[order], list("xyz"), second.T[order], "sample"),
    ]
    with pytest.warns(OrientationWarning, match=r"transposed a\.csv\."):
        found = read_views(files)
    np.testing.assert_array_equal(found["a"], first.T)
    np.testing.assert_array_equal(found["b"], second.T)
    assert found.reading.matched_by == "id `sample` and names in the first line"


def test_samples_of_the_labels_stand_in_the_first_line(put, numbers, tmp_path):
    path = put("a.csv", list("stuv"), PLAIN, numbers[0])
    pd.DataFrame({"who": PLAIN[::-1], "kind": np.arange(N)[::-1] % 2}).to_csv(tmp_path / "kinds.csv", index=False)
    with pytest.warns(OrientationWarning, match=r"transposed a\.csv\."):
        found = read_views(path, labels=tmp_path / "kinds.csv")
    assert found.labels.tolist() == (np.arange(N) % 2).tolist()
    np.testing.assert_array_equal(found["a"], numbers[0].T)


def test_samples_in_rows_stay_there(put, numbers):
    first, second = numbers
    ids = ["A0FJ", "A13E", "A0G0", "A0SX", "A143", "A0DA"]  # of patients, but they look like genes
    for rows in (ids, PATIENTS, PLAIN):
        files = [put("a.csv", rows, GENES, first.T, "patient"), put("b.csv", rows, MIRNAS, second.T, "patient")]
        found = quietly(files)
        assert found.reading.transposed == ()
        np.testing.assert_array_equal(found["a"], first.T)
        np.testing.assert_array_equal(quietly(files[0])["a"], first.T)


def test_the_same_features_in_two_files_are_no_samples(put):
    values = np.random.default_rng(0).random((N, 4))
    names = ["height", "weight", "age", "size"]
    files = [put("a.csv", PLAIN, names, values), put("b.csv", PLAIN, names, values[::-1])]
    np.testing.assert_allclose(quietly(files)["a"], values, rtol=LAST_BIT)


def test_what_is_not_clear_is_asked_and_both_answers_work(put, numbers):
    first, second = numbers
    files = [put("a.csv", list("stuv"), PLAIN, first), put("b.csv", list("xyz"), PLAIN, second)]
    with pytest.raises(
        FileFormatError, match=r"a\.csv: the names in its first line \(q0z, q1z, \.\.\.\) recur .*=True"
    ):
        read_views(files)
    found = quietly(files, transpose=True)
    np.testing.assert_array_equal(found["b"], second.T)
    with pytest.raises(FileFormatError, match=r"4 of the 4 ids in .*a\.csv are missing"):
        read_views(files, transpose=False)
    alone = put("c.csv", ["ENSG00000141510", "ENSG00000141511", "ENSG00000141512"], PLAIN, second)
    with pytest.raises(FileFormatError, match=r"c\.csv: its first column, 'w', looks like names of features \(ENSG"):
        read_views(alone)
    assert quietly(alone, transpose=True).n_samples == N
    assert quietly(alone, transpose=False).n_samples == 3


@pytest.mark.parametrize("which", ["a.csv", "a", ["a.csv"], "path"])
def test_one_file_by_name(put, numbers, which):
    first, second = numbers
    files = [put("a.csv", list("stuv"), PLAIN, first), put("b.csv", PLAIN, list("xyz"), second.T)]
    found = quietly(files, transpose=files[0] if which == "path" else which)
    np.testing.assert_array_equal(found["a"], first.T)
    np.testing.assert_array_equal(found["b"], second.T)
    assert found.reading.transposed == ("a.csv",)


def test_names_of_files_that_are_not_there(put, numbers):
    path = put("a.csv", list("stuv"), PLAIN, numbers[0])
    with pytest.raises(ValueError, match=r"transpose: 'b\.csv' is none of the files, which are .*a\.csv"):
        read_views(path, transpose="b.csv")
    with pytest.raises(TypeError, match=r"transpose: expected True, False, or names of files, got 7"):
        read_views(path, transpose=7)


def test_arrays_are_transposed_if_told(tmp_path):
    values = np.arange(6.0).reshape(2, 3)
    np.save(tmp_path / "a.npy", values)
    assert quietly(tmp_path / "a.npy").n_samples == 2
    np.testing.assert_array_equal(quietly(tmp_path / "a.npy", transpose=True)["a"], values.T)


def test_columns_of_text_beside_the_features_are_left_out_and_others_refused(tmp_path):
    text = "ID_REF\tIDENTIFIER\tGSM1\tGSM2\tGSM3\n117_at\tHSPA6\t1\t2\t3\n121_at\tPAX8\t4\t5\t6\n200_at\tMYC\t7\t8\t9\n"
    (tmp_path / "a.tsv").write_text(text)
    with pytest.warns(OrientationWarning):
        found = read_views(tmp_path / "a.tsv")
    assert found["a"].tolist() == [[1, 4, 7], [2, 5, 8], [3, 6, 9]]
    (tmp_path / "a.tsv").write_text(text.replace("5", "five"))
    with pytest.raises(FileFormatError, match=r"a\.tsv: with features in rows, .* column 'GSM2' holds text"):
        read_views(tmp_path / "a.tsv")
    (tmp_path / "a.tsv").write_text(text.replace("GSM2", "GSM1"))
    with pytest.raises(FileFormatError, match=r"a\.tsv: .* names the samples, but 'GSM1' occurs 2 times"):
        read_views(tmp_path / "a.tsv", transpose=True)


@pytest.fixture
def barcodes(put, numbers):
    """Features in rows, cells in columns, spelt as R spells them in the one file and as they were in the other."""
    codes = ["AAAC", "AAAG", "AACC", "AACG", "AAGT", "AATG"]
    first, second = numbers
    return [
        put("rna.csv", GENES, [f"{code}.1" for code in codes], first),
        put("adt.csv", MIRNAS, [f"{code}-1" for code in codes[::-1]], second[:, ::-1]),
    ]


@pytest.mark.parametrize("join", ["exact", "inner", "outer"])
@pytest.mark.filterwarnings("ignore::manyview.exceptions.OrientationWarning")
def test_ids_that_are_spelt_otherwise_are_offered_and_matched_only_if_told(barcodes, numbers, join):
    with pytest.raises(FileFormatError, match=r"6 of these ids match if .* 'AAAC\.1' and 'AAAC-1': pass match_ids='l"):
        read_views(barcodes, join=join)
    found = read_views(barcodes, join=join, match_ids="loose")
    assert found.sample_ids.tolist() == ["AAAC.1", "AAAG.1", "AACC.1", "AACG.1", "AAGT.1", "AATG.1"]
    np.testing.assert_array_equal(found["rna"], numbers[0].T)
    np.testing.assert_array_equal(found["adt"], numbers[1].T)
    assert found.reading.matched_by == "ids in the first line, loosely"


def test_ids_in_small_letters_are_offered_and_matched_only_if_told(put):
    a = put("a.csv", ["TCGA-1A", "TCGA-2B", "TCGA-3C"], ["x", "y"], np.arange(6.0).reshape(3, 2))
    b = put("b.csv", ["tcga.3c", "tcga.1a", "tcga.2b"], ["u", "v"], np.arange(6.0).reshape(3, 2))
    with pytest.raises(FileFormatError, match=r"3 of these ids match if .* 'TCGA-1A' and 'tcga\.1a'"):
        read_views([a, b])
    found = read_views([a, b], match_ids="loose")
    assert found.sample_ids.tolist() == ["TCGA-1A", "TCGA-2B", "TCGA-3C"]
    np.testing.assert_array_equal(found["b"], [[2, 3], [4, 5], [0, 1]])


def test_files_without_a_common_id_are_not_told_to_join(put):
    a = put("a.csv", ["s1", "s2", "s3"], ["x", "y"], np.arange(6.0).reshape(3, 2))
    b = put("b.csv", ["t1", "t2", "t3"], ["u", "v"], np.arange(6.0).reshape(3, 2))
    with pytest.raises(FileFormatError, match="No id is in both files: does id_column= name the column") as raised:
        read_views([a, b])
    assert "join=" not in str(raised.value)


def test_ids_that_only_loosely_differ_within_a_file(put):
    a = put("a.csv", ["s-1", "s_1", "t"], ["x", "y"], np.arange(6.0).reshape(3, 2))
    b = put("b.csv", ["s.1", "s", "t"], ["u", "v"], np.arange(6.0).reshape(3, 2))
    with pytest.raises(FileFormatError, match=r"a\.csv: the ids 's-1' and 's_1' are the same if"):
        read_views([a, b], match_ids="loose")
    with pytest.raises(ValueError, match="match_ids: expected 'exact' or 'loose', got 'close'"):
        read_views([a, b], match_ids="close")


def test_what_is_loosened():
    assert loosened("a.b_c-d e") == "a-b-c-d-e"
    assert loosened("AAAC-1") == loosened("AAAC.1") == loosened("AAAC")
    assert loosened("AAAC-2") != loosened("AAAC-1")
    assert loosened("mouse-11") != loosened("mouse-1")
