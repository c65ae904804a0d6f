"""``manyview cluster --save`` and ``manyview predict``, as users type them."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
import shutil
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from typer.testing import CliRunner

import manyview
from manyview._version import __version__
from manyview.cli import _output, app
from manyview.cli._new_files import Known, _is_counted
from manyview.cli.predict import write_labels
from manyview.cluster import CLR, GraphEnsemble
from manyview.cluster._saving import Origin
from manyview.datasets import make_multiview
from manyview.store import read_file, write_file
from manyview.views import Views

NAMES = ("rna", "mirna", "meth")
FEW = ("--set", "n_members=6", "--no-report")
N_OLD = 60


def frames(views, rows, ids=None):
    """Tables of some samples, with names of features of their own and an id that is text."""
    ids = [f"case {i}" for i in range(views.n_samples)] if ids is None else ids
    return {
        name: pd.DataFrame(
            array[rows],
            columns=[f"{name} {i}" for i in range(array.shape[1])],
            index=pd.Index(ids[rows], name="patient"),
        )
        for name, array in zip(NAMES, views.arrays, strict=True)
    }


def typed(line):
    found = CliRunner(env={"COLUMNS": "100", "MANYVIEW_DEBUG": None}).invoke(
        app, shlex.split(line), prog_name="manyview"
    )
    assert found.exception is None or isinstance(found.exception, SystemExit), found.exception
    return found


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The samples, and a folder with tables of the first of them and the model that was fitted to these."""
    folder = tmp_path_factory.mktemp("fitted")
    views = make_multiview(90, n_clusters=3, n_features=6, noise=0.3, random_state=0)
    for name, frame in frames(views, slice(0, N_OLD)).items():
        frame.to_csv(folder / f"{name}.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        files = " ".join(f"{name}.csv" for name in NAMES)
        found = typed(f"cluster {files} -k 3 {shlex.join(FEW)} --out answer --save model.mv --json")
        assert found.exit_code == 0, found.stderr
    return SimpleNamespace(folder=folder, views=views, result=json.loads(found.stdout))


@pytest.fixture
def new(made, tmp_path, monkeypatch):
    """Be in a folder with the model and tables of new samples; the tables by name."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(made.folder / "model.mv", "model.mv")
    tables = frames(made.views, slice(N_OLD, 90))
    for name, frame in tables.items():
        frame.to_csv(f"new_{name}.csv")
    return tables


@pytest.fixture
def predicted(valid):
    """Type a command that succeeds; return the document and the table of labels, which agree with each other."""

    def predicted(line, model="model.mv", out="manyview-prediction"):
        found = typed(f"predict {model} {line} --json")
        assert found.exit_code == 0, found.stderr
        document = valid("prediction", found.stdout)
        table = pd.read_csv(f"{out}/labels.csv", dtype={"sample": str})
        assert table["cluster"].value_counts().to_dict() == {
            cluster["cluster"]: cluster["size"] for cluster in document["clusters"] if cluster["size"]
        }
        assert table["confidence"].mean() == pytest.approx(document["confidence"]["mean"], abs=1e-4)
        return SimpleNamespace(document=document, table=table, said=found.stderr)

    return predicted


def refused(line, *texts, model="model.mv"):
    """Type a command that ends with one line that has these texts, and leaves nothing behind."""
    before = sorted(os.listdir())
    found = typed(f"predict {model} {line}")
    assert (found.exit_code, found.stdout) == (2, ""), found.stderr
    assert found.stderr.count("\n") == 1, found.stderr
    for text in texts:
        assert text in found.stderr, found.stderr
    assert sorted(os.listdir()) == before


def assert_as_in_python(predicted, tables, rows=slice(None), model="model.mv"):
    """The clusters and the confidence are those of ``predict`` in Python."""
    loaded = manyview.load(model)
    given = Views.from_frames({name: frame[rows] for name, frame in tables.items()})
    assert predicted.table["sample"].tolist() == [str(one) for one in given.sample_ids]
    np.testing.assert_array_equal(predicted.table["cluster"], loaded.predict(given))
    np.testing.assert_allclose(predicted.table["confidence"], loaded.predict_confidence(given), atol=1e-4)


# Saving ------------------------------------------------------------------------------------------------------------


def test_the_model_is_written_with_the_other_files(made):
    assert made.result["output"]["model"] == "model.mv"
    assert "--save model.mv" in made.result["command"]
    assert json.loads((made.folder / "answer/result.json").read_text())["output"]["model"] == "model.mv"
    model = manyview.load(made.folder / "model.mv")
    assert model.view_names_ == NAMES
    assert model.feature_names_in_["mirna"] == tuple(f"mirna {i}" for i in range(6))
    assert replace(model._origin, values={}) == Origin({"id_column": ["patient"]})
    assert list(model._origin.values) == list(NAMES)
    for name, frame in frames(made.views, slice(0, N_OLD)).items():
        np.testing.assert_allclose(model._origin.values[name], frame.median())
    assert not hasattr(model, "labels_")
    old = Views.from_frames(frames(made.views, slice(0, N_OLD)))
    labels = pd.read_csv(made.folder / "answer/labels.csv")["cluster"]
    np.testing.assert_array_equal(model.predict(old), labels)


@pytest.mark.parametrize("save", ["in/model.mv", "deep/model.mv", "other/model.mv"])
def test_the_model_may_be_in_the_folder_of_the_answer_or_elsewhere(made, new, save):
    os.mkdir("other")
    out = "deep/in" if save.startswith("deep") else "in"
    found = typed(f"cluster new_rna.csv new_mirna.csv -k 3 {shlex.join(FEW)} -o {out} --save {save}")
    assert found.exit_code == 0, found.stderr
    assert found.stdout.splitlines()[-1] == save
    assert manyview.load(save).view_names_ == ("new_rna", "new_mirna")


CANNOT_BE_SAVED = {
    "a method that cannot predict": (
        "--save m.mv --method sfmc",
        "sfmc cannot assign new samples, so nothing could use",
    ),
    "a folder": ("--save other", "other is a folder. Give the name of a file in it, such as other/model.mv."),
    "a folder that is not there": ("--save gone/m.mv", "there is no folder gone. Make it first"),
    "another file": ("--save notes.txt", "notes.txt is there already, and is no model. Choose another name."),
    "a file that is read": ("--save ./new_rna.csv", "new_rna.csv is one of the files that are read."),
    "a file of the answer": ("--save out/../out/labels.csv", "labels.csv is another file of the answer."),
}


@pytest.mark.parametrize("case", CANNOT_BE_SAVED)
def test_what_cannot_be_saved_is_refused_before_the_fit(new, monkeypatch, case):
    options, text = CANNOT_BE_SAVED[case]
    os.mkdir("other")
    Path("notes.txt").write_text("mine")
    monkeypatch.setattr(GraphEnsemble, "fit", lambda *_: pytest.fail("it was fitted"))
    before = {name: os.path.getsize(name) for name in os.listdir()}
    found = typed(f"cluster new_rna.csv new_mirna.csv -k 3 -o out {options}")
    assert (found.exit_code, found.stdout) == (2, "")
    assert "Invalid value for --save: " in found.stderr
    assert text in found.stderr
    assert {name: os.path.getsize(name) for name in os.listdir()} == before


def test_if_a_file_cannot_be_written_neither_model_nor_answer_are(new, monkeypatch):
    monkeypatch.setattr(
        _output, "write_graph", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left on device"))
    )
    before, model = sorted(os.listdir()), Path("model.mv").read_bytes()
    found = typed(f"cluster new_rna.csv new_mirna.csv -k 3 {shlex.join(FEW)} --save model.mv")
    assert found.exit_code == 2
    assert "No space left on device. Nothing was written" in found.stderr
    assert sorted(os.listdir()) == before
    assert Path("model.mv").read_bytes() == model


# Views -------------------------------------------------------------------------------------------------------------


def test_files_are_views_by_their_features_in_any_order(new, predicted):
    found = predicted("new_meth.csv new_rna.csv new_mirna.csv --out new", out="new")
    assert found.said == ""
    assert_as_in_python(found, new)
    document = found.document
    assert [view["name"] for view in document["data"]["views"]] == ["meth", "rna", "mirna"]
    assert document["data"]["matched_by"] == "id `patient`"
    assert document["data"]["files"] == ["new_meth.csv", "new_rna.csv", "new_mirna.csv"]
    assert (document["missing_views"], document["scores"]) == ([], None)
    assert (document["model"]["file"], document["model"]["version"]) == ("model.mv", __version__)
    assert list(found.table) == ["sample", "cluster", "confidence", "has_rna", "has_mirna", "has_meth"]
    assert (found.table.filter(like="has_") == 1).all(axis=None)
    written = json.loads(Path("new/prediction.json").read_text())
    assert written.pop("output") == {"prediction": "prediction.json", "labels": "labels.csv"}
    assert document.pop("output") == {"prediction": "new/prediction.json", "labels": "new/labels.csv"}
    assert written == document


def test_the_command_in_the_document_does_the_same_again(new, predicted):
    found = predicted("new_rna.csv new_meth.csv --names rna,meth --jobs 1 --out once", out="once")
    words = found.document["command"].removeprefix("manyview ").replace("--out once", "--out again")
    assert typed(words).exit_code == 0
    assert Path("again/labels.csv").read_text() == Path("once/labels.csv").read_text()


def test_two_of_three_views(new, predicted):
    found = predicted("new_mirna.csv new_rna.csv")
    assert_as_in_python(found, {name: new[name] for name in ("mirna", "rna")})
    assert found.document["missing_views"] == ["meth"]
    assert found.table[["has_rna", "has_mirna", "has_meth"]].drop_duplicates().to_numpy().tolist() == [[1, 1, 0]]
    shown = typed("predict model.mv new_mirna.csv new_rna.csv").stdout
    assert "30 samples in 2 views: mirna (6), rna (6)\n" in shown
    assert "not given, counts as missing: meth\n" in shown
    assert shown.splitlines()[-2:] == ["manyview-prediction/prediction.json", "manyview-prediction/labels.csv"]


def test_columns_in_another_order_are_found_by_their_names(new, predicted):
    for name in ("rna", "mirna"):
        new[name].iloc[:, ::-1].to_csv(f"turned_{name}.csv")
    found = predicted("turned_mirna.csv turned_rna.csv")
    assert_as_in_python(found, {name: new[name] for name in ("mirna", "rna")})


def test_samples_that_are_missing_in_some_files(new, predicted):
    new["rna"].iloc[:20].to_csv("a.csv")
    new["mirna"].iloc[10:].to_csv("b.csv")
    refused("a.csv b.csv", "b.csv: 10 of the 20 ids in a.csv are missing", "--join outer")
    found = predicted("a.csv b.csv --join outer")
    assert_as_in_python(found, {"rna": new["rna"].iloc[:20], "mirna": new["mirna"].iloc[10:]})
    assert found.table["has_rna"].tolist() == [1] * 20 + [0] * 10
    assert found.table["has_mirna"].tolist() == [0] * 10 + [1] * 20
    assert (found.table["has_meth"] == 0).all()


def test_an_unknown_file_is_named(new):
    pd.DataFrame({"height": [1.5, 2.5], "weight": [3.5, 4.5]}, index=["case 60", "case 61"]).to_csv("people.csv")
    refused(
        "new_rna.csv people.csv --join outer",
        "people.csv: none of its 2 columns ('height', 'weight') is a feature of model.mv.",
        "rna (6 features: 'rna 0', 'rna 1', 'rna 2' and 3 more); mirna (",
        "Leave the file out, or name its columns as in the fit.",
    )


@pytest.mark.parametrize("first", ["age", "id", "height"])
def test_an_unknown_file_is_named_before_its_ids_are_asked_for(new, first):
    people = {"age": range(20, 50), "id": range(1, 31), "height": np.arange(30) % 7 + 0.5}
    pd.DataFrame({first: people[first], "weight": np.arange(30) % 4 + 0.5}).to_csv("people.csv", index=False)
    refused("new_rna.csv people.csv", "people.csv: none of its ", "is a feature of model.mv", "Leave the file out")


COLUMNS = {
    "missing": (lambda frame: frame.drop(columns="rna 3"), "it lacks 'rna 3'."),
    "extra": (lambda frame: frame.assign(batch=1.5), "it has unknown 'batch'."),
    "renamed": (lambda frame: frame.rename(columns={"rna 3": "RNA3"}), "it lacks 'rna 3' and has unknown 'RNA3'."),
}


@pytest.mark.parametrize("names", ["", " --names rna"])
@pytest.mark.parametrize("case", COLUMNS)
def test_columns_that_are_not_those_of_the_fit_are_named(new, case, names):
    change, text = COLUMNS[case]
    change(new["rna"]).to_csv("changed.csv")
    refused(
        f"changed.csv{names}", "changed.csv (view rna", f"its features are not those of the fit: {text}", "Pass the 6"
    )


def test_two_files_of_the_same_view(new):
    new["rna"].to_csv("more.csv")
    refused(
        "new_rna.csv more.csv", "new_rna.csv and more.csv: both have the features of the view 'rna'.", "one after the"
    )


def test_files_of_the_same_name_in_different_folders(new, predicted):
    for name in ("rna", "meth"):
        os.mkdir(name)
        new[name].to_csv(f"{name}/data.csv")
    assert_as_in_python(predicted("meth/data.csv rna/data.csv"), {name: new[name] for name in ("meth", "rna")})


def test_a_folder_of_files(new, predicted):
    os.mkdir("later")
    for name in NAMES:
        shutil.move(f"new_{name}.csv", "later")
    assert_as_in_python(predicted("later"), new)


def test_one_table_with_the_features_of_several_views(new, predicted):
    wide = pd.concat([new["meth"], new["rna"]], axis=1)
    wide.iloc[:, np.random.default_rng(0).permutation(12)].to_csv("wide.csv")
    assert_as_in_python(predicted("wide.csv"), {name: new[name] for name in ("rna", "meth")})
    wide.assign(batch=1.5).to_csv("wide.csv")
    refused("wide.csv", "wide.csv (views rna, meth, by its features): ", "it has unknown 'batch'.")


def test_names_that_contradict_the_features(new):
    refused("new_rna.csv --names meth", "--names: new_rna.csv is given as meth, but its features are those of rna.")
    refused("new_rna.csv --names RNA", "--names: there is no view 'RNA' in model.mv. Its views are rna, mirna, meth.")
    refused("new_rna.csv new_meth.csv --names rna", "got 1 name(s) for 2 view(s), which are new_rna.csv, new_meth.csv.")
    refused("new_rna.csv new_meth.csv --names rna,rna", "'rna' is there twice")


@pytest.fixture
def alike(made, tmp_path, monkeypatch):
    """A model whose views have the same names of features, such as genes; tables of new samples."""
    monkeypatch.chdir(tmp_path)
    old, new = (frames(made.views, rows) for rows in (slice(0, N_OLD), slice(N_OLD, 90)))
    for tables, prefix in ((old, ""), (new, "new_")):
        for name, frame in tables.items():
            frame.columns = [f"gene{i}" for i in range(6)] if name != "meth" else frame.columns
            frame.to_csv(f"{prefix}{name}.csv")
    assert typed(f"cluster rna.csv mirna.csv meth.csv -k 3 {shlex.join(FEW)} --save model.mv").exit_code == 0
    return new


def test_a_file_that_fits_two_views(alike, predicted):
    ways = ("the names of its features are those of rna and mirna", "--names with one name for each file, separated by")
    refused("new_mirna.csv", "new_mirna.csv: ", *ways, "out of rna, mirna, meth")
    refused("new_mirna.csv new_meth.csv", *ways)
    refused("mirna.csv meth.csv", "Say which view each file is, in the order of the files: --names mirna,meth if")
    found = predicted("new_meth.csv new_mirna.csv --names meth,mirna")
    assert_as_in_python(found, {name: alike[name] for name in ("meth", "mirna")})


# Files -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["", "--id number"])
def test_ids_that_are_numbers(made, tmp_path, monkeypatch, predicted, option):
    monkeypatch.chdir(tmp_path)
    ids = np.array([f"{i:04}" for i in range(90)])
    old, new = (frames(made.views, rows, ids) for rows in (slice(0, N_OLD), slice(N_OLD, 90)))
    for name in NAMES:
        old[name].to_csv(f"{name}.csv", index_label="number")
        new[name].to_csv(f"new_{name}.csv", index_label="number")
    assert typed(f"cluster rna.csv mirna.csv meth.csv {option} -k 3 {shlex.join(FEW)} --save model.mv").exit_code == 0
    found = predicted("new_rna.csv")  # alone, its ids could as well be a feature
    assert_as_in_python(found, {"rna": new["rna"]})
    assert found.table["sample"][0] == "0060"
    new["rna"].to_csv("renamed.csv", index_label="visit")
    refused("renamed.csv", "renamed.csv: column 'visit'", "--id visit")
    assert_as_in_python(predicted("renamed.csv --id visit"), {"rna": new["rna"]})


def test_an_id_column_of_another_name_is_found(new, predicted):
    for name in ("rna", "meth"):
        new[name].to_csv(f"{name}.csv", index_label="barcode")
    assert_as_in_python(predicted("rna.csv meth.csv"), {name: new[name] for name in ("rna", "meth")})


@pytest.mark.parametrize("n_samples", [2, 30])
@pytest.mark.parametrize("both", [False, True])
def test_features_in_rows_are_recognised_by_the_features_of_the_model(new, predicted, n_samples, both):
    few = {name: frame.iloc[:n_samples] for name, frame in new.items() if name != "meth"}
    few["rna"].T.to_csv("rna.csv")
    (few["mirna"].T if both else few["mirna"]).to_csv("mirna.csv")
    found = predicted("rna.csv mirna.csv")
    assert_as_in_python(found, few)
    assert sorted(found.document["data"]["transposed"]) == (["mirna.csv", "rna.csv"] if both else ["rna.csv"])


def test_a_missing_feature_in_rows_is_named(new):
    new["rna"].T.drop(index="rna 3").to_csv("rna.csv")
    refused("rna.csv", "rna.csv (view rna, by its features)", "it lacks 'rna 3'.")


def test_sparse_files_and_arrays_need_names(made, new, predicted):
    for name in ("rna", "mirna"):
        scipy.io.mmwrite(f"{name}.mtx", sp.csr_array(new[name].to_numpy()))
        np.save(f"{name}.npy", new[name].to_numpy())
    refused("rna.mtx", "rna.mtx: there are no names of features by which to recognise its view.", "--names rna if")
    refused("mirna.npy rna.mtx", "in the order of the files: --names mirna,rna if these are the views.")
    refused("new_meth.csv rna.npy --no-id", "rna.npy: there are no names", "--names meth,rna if these")
    found = predicted("mirna.npy rna.mtx --names mirna,rna")
    expected = manyview.load("model.mv").predict(Views((new["rna"], new["mirna"]), ("rna", "mirna")))
    np.testing.assert_array_equal(found.table["cluster"], expected)
    assert found.table["sample"].tolist() == [str(i) for i in range(30)]
    assert "views['mirna'] does not have valid feature names, but GraphEnsemble was fitted with" in found.said
    refused("rna.mtx --names meth,rna", "got 2 name(s) for 1 view(s)")
    np.save("narrow.npy", new["rna"].to_numpy()[:, 1:])
    refused("narrow.npy --names rna", "views['rna']: expected 6 features, as in fit, got 5.")


def test_matrices_with_features_in_rows_are_read_as_in_the_fit(made, tmp_path, monkeypatch, predicted):
    monkeypatch.chdir(tmp_path)
    for prefix, rows in (("", slice(0, N_OLD)), ("new_", slice(N_OLD, 90))):
        for name, array in zip(NAMES, made.views.arrays, strict=True):
            scipy.io.mmwrite(f"{prefix}{name}.mtx", sp.csr_array(array[rows].T))
    files = "rna.mtx mirna.mtx meth.mtx"
    assert typed(f"cluster {files} --transpose -k 3 {shlex.join(FEW)} --save model.mv").exit_code == 0
    assert manyview.load("model.mv")._origin.transposed == NAMES
    found = predicted("new_meth.mtx new_rna.mtx --names meth,rna")
    given = {"rna": made.views.arrays[0][N_OLD:], "meth": made.views.arrays[2][N_OLD:]}
    np.testing.assert_array_equal(found.table["cluster"], manyview.load("model.mv").predict(given))


def test_files_with_several_views_by_the_names_of_their_variables(made, tmp_path, monkeypatch, predicted):
    monkeypatch.chdir(tmp_path)
    old, new = (made.views.take(rows) for rows in (slice(0, N_OLD), slice(N_OLD, 90)))
    np.savez("old.npz", **dict(zip(NAMES, old.arrays, strict=True)), y=old.labels)
    given = dict(zip(NAMES, new.arrays, strict=True))
    np.savez("new.npz", meth=given["meth"], rna=given["rna"], y=new.labels)
    assert typed(f"cluster old.npz -k 3 {shlex.join(FEW)} --save model.mv").exit_code == 0
    model = manyview.load("model.mv")
    found = predicted("new.npz")
    np.testing.assert_array_equal(
        found.table["cluster"], model.predict({name: given[name] for name in ("meth", "rna")})
    )
    assert found.document["scores"]["acc"] == manyview.clustering_scores(new.labels, found.table["cluster"])["acc"]
    assert "against the 3 known classes, rows as given:\nACC " in typed("predict model.mv new.npz").stdout
    np.savez("other.npz", meth=given["meth"], RNA=given["rna"])
    refused("other.npz", "other.npz: RNA: is no view of model.mv, whose views are rna, mirna, meth.", "--names")
    cell = np.empty(3, dtype=object)
    cell[:] = new.arrays
    scipy.io.savemat("new.mat", {"X": cell})
    refused("new.mat", "new.mat: view0: there are no names of features")  # the order in a cell is a position
    found = predicted("new.mat --names rna,mirna,meth")
    np.testing.assert_array_equal(found.table["cluster"], model.predict(given))


def test_one_table_without_names_is_cut_as_said(made, tmp_path, monkeypatch, predicted):
    monkeypatch.chdir(tmp_path)
    whole = np.hstack(made.views.arrays)
    np.savetxt("old.csv", whole[:N_OLD], delimiter=",")
    np.savetxt("new.csv", whole[N_OLD:], delimiter=",")
    fit = f"cluster old.csv --no-header --view-sizes 6,6,6 -k 3 {shlex.join(FEW)} --save model.mv"
    assert typed(fit).exit_code == 0
    say = "--view-sizes 6,6,6 --names view0,view1,view2"
    refused("new.csv", "new.csv: there are no names", f"all 3 views side by side, in the order of the fit: {say}.")
    found = predicted(f"new.csv {say}")  # that there is no header is known from the fit
    numbered = [pd.DataFrame(array) for array in np.split(whole[N_OLD:], 3, axis=1)]
    for i, frame in enumerate(numbered):
        frame.columns = [str(6 * i + column) for column in range(6)]
    expected = manyview.load("model.mv").predict(Views(tuple(numbered), ("view0", "view1", "view2")))
    np.testing.assert_array_equal(found.table["cluster"], expected)


def test_a_table_without_header_has_no_names_of_features(new, predicted):
    new["rna"].to_csv("bare.csv", header=False)
    refused("bare.csv --no-header", "bare.csv: there are no names of features", "--names")
    found = predicted("bare.csv --no-header --names rna")
    assert_as_in_python(found, {"rna": new["rna"]})
    assert "views['rna'] does not have valid feature names" in found.said
    new["rna"].set_axis(range(6), axis=1).to_csv("numbered.csv")  # has names: others than those of the fit
    refused("numbered.csv --names rna", "numbered.csv (view rna): ", "it lacks 'rna 0', 'rna 1', 'rna 2' and 3 more")


def test_names_that_are_numbers_in_a_row_are_no_names():
    assert _is_counted([str(i) for i in range(4)])
    assert _is_counted(["1", "2", "3"])
    assert not _is_counted(["7157", "672"])  # genes
    assert not _is_counted(["x0", "x1"])


def test_classes_of_new_samples_are_not_features(made, new, predicted):
    classes = np.array(["a", "b", "c"])[made.views.labels[N_OLD:]]
    new["rna"].assign(subtype=classes).to_csv("classes.csv")
    refused(
        "classes.csv", "classes.csv: expected numbers, but 1 column(s) hold something else: 'subtype'", "--label-column"
    )
    found = predicted("classes.csv --label-column subtype")
    assert_as_in_python(found, {"rna": new["rna"]})
    assert found.document["scores"]["acc"] == manyview.clustering_scores(classes, found.table["cluster"])["acc"]


def test_the_column_of_the_classes_is_known_from_the_fit(made, tmp_path, monkeypatch, predicted):
    monkeypatch.chdir(tmp_path)
    kinds = np.array(["a", "b", "c"])[made.views.labels]
    old, new = (frames(made.views, rows) for rows in (slice(0, N_OLD), slice(N_OLD, 90)))
    old["rna"].assign(kind=kinds[:N_OLD]).to_csv("rna.csv")
    old["meth"].to_csv("meth.csv")
    new["rna"].to_csv("without.csv")
    new["rna"].assign(kind=kinds[N_OLD:]).to_csv("with.csv")
    fit = f"cluster rna.csv meth.csv --label-column kind -k 3 {shlex.join(FEW)} --save model.mv"
    assert typed(fit).exit_code == 0
    for file, scored in (("with.csv", True), ("without.csv", False)):
        found = predicted(file)
        assert_as_in_python(found, {"rna": new["rna"]})
        assert (found.document["scores"] is not None) == scored


def test_rows_without_values_are_missing_views(new, predicted):
    new["rna"].iloc[[2, 5]] = np.nan
    new["rna"].to_csv("gaps.csv")
    found = predicted("gaps.csv new_meth.csv")
    assert_as_in_python(found, {name: new[name] for name in ("rna", "meth")})
    assert np.flatnonzero(found.table["has_rna"] == 0).tolist() == [2, 5]
    assert found.table["has_meth"].all()
    assert [view["n_present"] for view in found.document["data"]["views"]] == [28, 30]
    refused("gaps.csv", "case 62")  # has no view at all


def test_bad_values_are_named(new):
    new["rna"].iloc[3, 2] = np.nan
    new["rna"].to_csv("gap.csv")
    refused("gap.csv", "views['rna']", "row 3 (sample 'case 63')", "'rna 2'", "NaN")


@pytest.fixture
def with_gaps(made, tmp_path, monkeypatch):
    """Fit to tables with missing cells, as typed; return the tables of the fit and of new samples."""
    monkeypatch.chdir(tmp_path)
    old, later = (frames(made.views, rows) for rows in (slice(0, N_OLD), slice(N_OLD, 90)))
    rng = np.random.default_rng(0)
    for name in ("rna", "meth"):
        old[name] = old[name].round(1).mask(rng.random(old[name].shape) < 0.1)
    old["meth"].iloc[4] = np.nan  # a missing view, from which nothing is learned
    for name, frame in old.items():
        frame.to_csv(f"{name}.csv")

    def fit(how):
        found = typed(f"cluster rna.csv meth.csv -k 3 {shlex.join(FEW)} --impute {how} --save model.mv")
        assert found.exit_code == 0, found.stderr
        return old, later

    return fit


LEARNED = {
    "median": pd.DataFrame.median,
    "mean": pd.DataFrame.mean,
    "most_frequent": lambda frame: frame.mode().iloc[0],
    "zero": lambda frame: 0 * frame.mean(),
}


@pytest.mark.parametrize("how", LEARNED)
def test_missing_cells_are_filled_with_what_the_fit_learned(with_gaps, predicted, how):
    old, later = with_gaps(how)
    expected = {name: later[name].copy() for name in ("rna", "meth")}
    for name, cells in {"rna": [(0, 1), (0, 4), (7, 1)], "meth": [(3, 0)]}.items():
        for row, column in cells:
            later[name].iloc[row, column] = np.nan
            expected[name].iloc[row, column] = LEARNED[how](old[name]).iloc[column]
    later["rna"].iloc[:, ::-1].to_csv("r.csv")  # columns are found by their names
    later["meth"].to_csv("m.csv")
    as_learned, asked = predicted("m.csv r.csv"), predicted(f"m.csv r.csv --impute {how}")
    assert_as_in_python(as_learned, expected)
    pd.testing.assert_frame_equal(as_learned.table, asked.table)
    assert as_learned.document["data"]["filled"] == {"meth": 1, "rna": 3}
    notes = " ".join(as_learned.document["data"]["notes"])
    assert "imputed 4 missing cells by" in notes
    assert "in the fit" in notes

    for one, file in ((later["rna"].iloc[[0]], "one.csv"), (later["rna"].iloc[[7]], "other.csv")):
        one.to_csv(file)
        alone = predicted(f"{file} --impute {how}")
        assert_as_in_python(alone, {"rna": expected["rna"].loc[one.index]})
    wrong = "mean" if how == "median" else "median"
    refused(f"r.csv --impute {wrong}", "--impute", f"model.mv was fitted with --impute {how}")


def test_instead_of_the_nearest_samples_new_ones_get_the_median_of_the_fit(with_gaps, predicted):
    _, later = with_gaps("knn")
    filled = manyview.read_views(["rna.csv", "meth.csv"], impute="knn")
    later["rna"].iloc[2, 3] = np.nan
    later["rna"].iloc[[2]].to_csv("one.csv")
    found = predicted("one.csv")
    assert "by the median of the column in the fit (a model keeps no samples for knn): rna 1" in " ".join(
        found.document["data"]["notes"]
    )
    later["rna"].iloc[2, 3] = np.median(filled["rna"][:, 3])
    assert_as_in_python(found, {"rna": later["rna"].iloc[[2]]})


def test_a_fit_without_missing_cells_keeps_its_medians(made, new, predicted):
    new["rna"].iloc[[3, 4], 2] = np.nan
    new["rna"].to_csv("gap.csv")
    found = predicted("gap.csv --impute median")
    new["rna"].iloc[[3, 4], 2] = frames(made.views, slice(0, N_OLD))["rna"].iloc[:, 2].median()
    assert_as_in_python(found, {"rna": new["rna"]})
    shutil.rmtree("manyview-prediction")
    refused("gap.csv --impute knn", "model.mv keeps the medians of its fit", "--impute median")


def test_a_model_without_values_of_its_fit_fills_nothing_in(made, new, predicted):
    old = Views.from_frames(frames(made.views, slice(0, N_OLD)))
    GraphEnsemble(3, n_members=6, random_state=0).fit(old).save("mine.mv")
    new["rna"].iloc[3, 2] = np.nan
    new["rna"].to_csv("gap.csv")
    said = "mine.mv keeps no values of its fit", "1 missing cell(s) of rna, first of sample 'case 63', column 'rna 2'"
    refused("gap.csv --impute median", *said, model="mine.mv")
    predicted("new_rna.csv --impute median", model="mine.mv")  # there is nothing to fill in
    shutil.rmtree("manyview-prediction")
    tree, arrays = read_file("model.mv")
    del tree["attributes"]["_origin"]["Origin"]["dict"]["values"]  # as in files before such values were kept
    write_file("old.mv", tree, arrays)
    refused("gap.csv --impute median", "old.mv keeps no values of its fit", model="old.mv")
    assert_as_in_python(predicted("new_meth.csv", model="old.mv"), {"meth": new["meth"]})


def test_sparse_new_samples_are_filled_as_in_the_fit(made, tmp_path, monkeypatch, predicted):
    monkeypatch.chdir(tmp_path)
    whole = {name: array.clip(min=0) for name, array in zip(NAMES, made.views.arrays, strict=True)}
    for name in ("rna", "meth"):
        scipy.io.mmwrite(f"{name}.mtx", sp.coo_array(whole[name][:N_OLD]))
    fit = f"cluster rna.mtx meth.mtx -k 3 --no-transpose {shlex.join(FEW)} --save model.mv --impute mean"
    assert (done := typed(fit)).exit_code == 0, done.stderr
    gap = whole["rna"][N_OLD:].copy()
    row, column = np.argwhere(gap > 0)[5]
    gap[row, column] = np.nan
    scipy.io.mmwrite("new.mtx", sp.coo_array(gap))
    found = predicted("new.mtx --names rna --no-transpose")
    gap[row, column] = whole["rna"][:N_OLD, column].mean()
    expected = manyview.load("model.mv").predict_confidence({"rna": gap})
    np.testing.assert_allclose(found.table["confidence"], expected, atol=1e-4)
    assert found.document["data"]["filled"] == {"rna": 1}


# Models ------------------------------------------------------------------------------------------------------------


def test_a_model_of_another_version(new, predicted):
    whole = Path("model.mv").read_bytes()[:-65]
    whole = re.sub(rb"written by manyview \S+,", b"written by manyview 0.0.7,", whole, count=1)
    Path("old.mv").write_bytes(whole + hashlib.sha256(whole).hexdigest().encode() + b"\n")
    found = predicted("new_rna.csv", model="old.mv")
    note = f"old.mv: was written by manyview 0.0.7, this is manyview {__version__}; the model could be read."
    assert found.said == f"manyview: {note}\n"
    assert found.document["model"]["version"] == "0.0.7"
    assert_as_in_python(found, {"rna": new["rna"]})
    shutil.rmtree("manyview-prediction")
    Path("later.mv").write_bytes(whole.replace(b"format 2,", b"format 3,", 1))
    refused(
        "new_rna.csv", "later.mv: was written by manyview 0.0.7 in format 3; ", "Update manyview.", model="later.mv"
    )


def test_a_model_that_was_saved_in_python(new, made, predicted):
    old = Views.from_frames(frames(made.views, slice(0, N_OLD)))
    GraphEnsemble(3, n_members=6, random_state=0).fit(old).save("mine.manyview", results=True)
    assert_as_in_python(predicted("new_rna.csv", model="mine.manyview"), {"rna": new["rna"]}, model="mine.manyview")


def test_files_that_are_no_model(new, made):
    whole = Path("model.mv").read_bytes()
    Path("short.mv").write_bytes(whole[:-100])
    Path("changed.mv").write_bytes(whole[:-100] + b"?" + whole[-99:])
    CLR(3).fit(made.views).save("clr.mv")
    refused("new_rna.csv", "short.mv: is cut short: it has ", model="short.mv")
    refused("new_rna.csv", "changed.mv: is damaged: its content does not have the SHA-256", model="changed.mv")
    refused("new_rna.csv", "gone.mv: No such file or directory", model="gone.mv")
    refused("new_rna.csv", "clr.mv holds a model of CLR, which cannot assign new samples.", model="clr.mv")
    refused("new_rna.csv", "new_meth.csv: is something that begins with", "not a model file", model="new_meth.csv")
    refused("model.mv", "new_rna.csv is no model, but model.mv is. The model comes first", model="new_rna.csv")


# Output ------------------------------------------------------------------------------------------------------------


def test_other_peoples_files_are_not_replaced(new, made, predicted):
    shutil.copytree(made.folder / "answer", "answer")
    before = Path("answer/labels.csv").read_text()
    refused("new_rna.csv --out answer", "answer/labels.csv is there already, and was not written by this command.")
    assert Path("answer/labels.csv").read_text() == before
    predicted("new_rna.csv --out mine", out="mine")
    predicted("new_meth.csv --out mine", out="mine")  # those of an earlier prediction are


def test_names_of_clusters_are_in_the_table(made):
    model = manyview.load(made.folder / "model.mv")
    model._origin = Origin(cluster_names=("low", "high", "basal\rlike"))
    views = made.views.take(slice(0, 4))
    file = BytesIO()
    write_labels(file, views, np.array([2, 0, 1, 1]), np.full(4, 0.5), Known.of(model, made.folder / "model.mv"))
    table = pd.read_csv(BytesIO(file.getvalue()))
    assert table["name"].tolist() == ["basal\rlike", "low", "high", "high"]
    assert table["cluster"].tolist() == [2, 0, 1, 1]
    model._origin = Origin(cluster_names=("low",))
    with pytest.raises(manyview.exceptions.ModelFileError, match=r"model\.mv: has 1 names for 3 clusters"):
        Known.of(model, made.folder / "model.mv")
