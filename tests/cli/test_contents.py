"""What is in the clusters: the options of ``manyview cluster``, and ``manyview describe``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.cluster import GraphEnsemble
from manyview.datasets import make_multiview

FEW = ("--set", "n_members=4")
VIEWS = ("a.csv", "b.csv")


@pytest.fixture
def patients(tmp_path, monkeypatch):
    """Two views of sixty patients, and what is known of them in another order, without two of them."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(60, 3, n_views=2, n_features=[6, 4], noise=0.3, random_state=0)
    ids = [f"case-{i:02d}" for i in range(60)]
    for name, array in zip("ab", views.arrays, strict=True):
        columns = [f"{name}{j}" for j in range(array.shape[1])]
        pd.DataFrame(array, index=pd.Index(ids, name="patient"), columns=columns).to_csv(f"{name}.csv")
    rng = np.random.default_rng(0)
    clinical = pd.DataFrame(
        {
            "age": rng.integers(30, 80, 60),
            "barcode": ids,
            "subtype": np.array(["x", "y", "z"])[views.labels],
            "days": np.round(rng.exponential(50 * (1 + views.labels)), 1),
            "dead": np.where(rng.random(60) < 0.7, "yes", "no"),
            "story": [f"the story of {id_}" for id_ in ids],
            "picture": [f"pictures/{id_}.png" for id_ in ids],
        }
    )
    clinical.iloc[rng.permutation(60)[2:]].to_csv("clinical.csv", index=False)
    Path("pictures").mkdir()
    for id_ in ids:
        Path(f"pictures/{id_}.png").write_bytes(PIXEL)
    return views


# A PNG of one pixel.
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108000000003a7e9b550000000a49444154789c6360000000020001e221bc33"
    "0000000049454e44ae426082"
)


def test_facts_about_the_samples_are_compared_and_written(call, valid, patients):
    words = ["--metadata", "clinical.csv", "--survival", "days,dead", "--rename", "0=first,2=last"]
    words += ["--texts", "story", "--pictures", "picture", "--markers", "2"]
    result = call("cluster", *VIEWS, "-k", "3", *FEW, *words, "--json")
    found = valid("result", result.stdout)
    assert result.stderr == ""
    description = found["description"]
    assert [each["name"] for each in description["clusters"]] == ["first", "cluster 1", "last"]
    assert {each["column"]: each["kind"] for each in description["metadata"]} == {
        "subtype": "categories",
        "age": "numbers",
    }
    assert description["metadata"][0]["n_missing"] == 2
    assert description["log_rank"]["n_missing"] == 2
    assert description["log_rank"]["degrees"] == 2
    assert found["data"]["without_metadata"] == 2
    assert all(each["text"] in (None, f"the story of {each['sample']}") for each in description["typical"])
    assert max(each["rank"] for each in description["markers"]) == 2
    assert all(each["p"] is not None for each in description["markers"])
    labels = pd.read_csv("manyview-output/labels.csv")
    expected = ["sample", "cluster", "name", "confidence", "age", "subtype", "days", "dead", "story", "picture"]
    assert list(labels.columns) == expected
    assert labels["subtype"].isna().sum() == 2
    known = pd.read_csv("clinical.csv").set_index("barcode")["age"]
    own = labels.set_index("sample")["age"].dropna()
    assert own.to_dict() == known.to_dict()
    markers = pd.read_csv("manyview-output/markers.csv")
    assert len(markers) == len(description["markers"]) == 12
    assert markers["auroc"].tolist() == pytest.approx([each["auroc"] for each in description["markers"]], rel=1e-5)
    assert "--metadata clinical.csv --survival days,dead" in found["command"]
    assert found["data"]["reading"]["metadata"] == "clinical.csv"


def test_the_answer_for_people_is_short(call, patients):
    words = ["--metadata", "clinical.csv:subtype,days,dead", "--survival", "days,dead", "--rename", "1=second"]
    text = " ".join(call("cluster", *VIEWS, "-k", "3", *FEW, *words, "--no-report").stdout.split())
    assert "2 samples have no row in the metadata" in text
    assert "what sets each cluster apart" in text
    assert "second: high " in text or "second: low " in text
    assert "goes with the clusters: subtype (V " in text
    assert "survival: log-rank p " in text


def test_no_name_of_a_sample_leaves_the_machine(call, valid, patients):
    words = ["--metadata", "clinical.csv", "--survival", "days,dead", "--texts", "story", "--no-sample-names"]
    result = call("cluster", *VIEWS, "-k", "3", *FEW, *words)
    assert result.exit_code == 0, result.stderr
    shown = result.stdout + result.stderr
    for name in ("labels.csv", "markers.csv", "result.json", "report.html"):
        shown += Path("manyview-output", name).read_text()
    secrets = [f"case-{i:02d}" for i in range(60)] + ["the story of", "pictures/case"]
    assert [secret for secret in secrets if secret in shown] == []
    labels = pd.read_csv("manyview-output/labels.csv")
    assert list(labels.columns) == ["sample", "cluster", "confidence"]
    assert labels["sample"].tolist() == list(range(60))
    described = call("describe", "manyview-output", *VIEWS, *words, "--json")
    assert [secret for secret in secrets if secret in described.stdout] == []
    assert valid("description", described.stdout)["labels"]["method"] == "GraphEnsemble"


def test_nothing_is_described_if_not_wanted(call, valid, patients):
    found = valid("result", call("cluster", *VIEWS, "-k", "3", *FEW, "--no-describe", "--no-report", "--json").stdout)
    assert found["description"] is None
    assert found["output"]["markers"] is None
    assert sorted(os.listdir("manyview-output")) == ["graph.npz", "labels.csv", "result.json"]
    found = valid("result", call("cluster", *VIEWS, "-k", "3", *FEW, "--no-p-values", "--no-report", "--json").stdout)
    assert all(each["p"] is None for each in found["description"]["markers"])
    assert found["description"]["notes"] == []


MISTAKES = {
    "no such column": (
        ["--survival", "day,dead"],
        "--survival: clinical.csv has no column 'day'. Did you mean 'days'",
    ),
    "one column": (["--survival", "days"], "--survival: expected two columns, TIME,EVENT, got 'days'"),
    "times are texts": (
        ["--survival", "story,dead"],
        "column 'story' has 'the story of case-00' in sample 'case-00'",
    ),
    "events are numbers": (["--survival", "days,age"], "--survival: column 'age' has "),
    "no such text": (["--texts", "stori"], "--texts: clinical.csv has no column 'stori'. Did you mean 'story'?"),
    "no such pictures": (
        ["--pictures", "photo"],
        "--pictures: clinical.csv has no column 'photo'. Its columns",
    ),
    "no file": (
        ["--pictures", "story"],
        "--pictures: there is no file 'the story of case-00', which sample 'case-00' ",
    ),
    "no number": (["--rename", "3=x"], "--rename: there is no cluster '3'; the clusters are 0, 1, 2"),
    "no name": (["--rename", "0=x,1"], "--rename: expected a CSV file that exists, or a text such as 0=Basal-like"),
    "no names file": (["--rename", "nmaes.csv"], "--rename: expected a CSV file that exists"),
    "two names": (["--rename", "0=x,0=y"], "--rename: cluster '0' is named twice"),
    "same names": (["--rename", "0=x,1=x"], "--rename: two clusters are called 'x'"),
    "not described": (["--rename", "0=x", "--no-describe"], "either --rename or --no-describe, not both"),
    "no marker": (["--markers", "0"], "--markers"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_are_named_before_the_fit(call, patients, monkeypatch, mistake):
    words, message = MISTAKES[mistake]
    refused(call, monkeypatch, ["--metadata", "clinical.csv", *words], message)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["--survival", "days,dead"],
            "'days,dead' is looked for in the metadata, but there is none. Give",
        ),
        (["--texts", "story"], "--texts: 'story' is looked for in the metadata, but there is none"),
        (["--metadata", "clinica.csv"], "clinica.csv: no such file. Did you mean clinical.csv?"),
        (
            ["--metadata", "clinical.csv:agee"],
            "clinical.csv: has no column 'agee' besides the ids. Did you",
        ),
        (["--metadata", "clinical.csv@barcod"], "has no column 'barcod', which is named after the @"),
        (["--metadata", "a.csv"], "a.csv: is both a file of views and metadata. Leave it out of one of them, or name"),
        (["--metadata", "twice.csv"], "twice.csv: id 'case-01' occurs 2 times in column 'barcode'"),
        (
            ["--metadata", "others.csv"],
            "others.csv: its ids and those of the views have nothing in common. Ids",
        ),
        (
            ["--metadata", "noids.csv"],
            "noids.csv: no column has the ids of the views (case-00, case-01, case-02, ...). Its columns",
        ),
    ],
)
def test_metadata_that_do_not_match_are_refused(call, patients, monkeypatch, words, message):
    Path("twice.csv").write_text("barcode,age\ncase-01,3\ncase-01,4\ncase-02,5\n")
    Path("others.csv").write_text("barcode,age\nQ1,3\nQ2,4\n")
    Path("noids.csv").write_text("age,sex\n" + "50,f\n" * 60)
    refused(call, monkeypatch, words, message)


def refused(call, monkeypatch, words, message):
    def fit(self, views, y=None):
        raise AssertionError("the mistake was found after the fit")

    monkeypatch.setattr(GraphEnsemble, "fit", fit)
    result = call("cluster", *VIEWS, "-k", "3", *words)
    assert result.exit_code == 2, result.stderr
    assert message in result.stderr
    assert not Path("manyview-output").exists()


def test_a_name_for_a_cluster_that_was_not_found_does_not_lose_the_fit(call, valid, patients):
    result = call("cluster", *VIEWS, "-k", "2:4", *FEW, "--rename", "0=first,8=ninth", "--no-report", "--json")
    found = valid("result", result.stdout)
    assert "--rename: there is no cluster 8, which was to be called 'ninth'" in result.stderr
    assert found["description"]["clusters"][0]["name"] == "first"


def test_an_earlier_run_is_described_with_p_values(call, valid, patients):
    words = ["--metadata", "clinical.csv", "--survival", "days,dead"]
    found = valid("result", call("cluster", *VIEWS, "-k", "3", *FEW, *words, "--rename", "1=mid", "--json").stdout)
    again = call("describe", "manyview-output", *VIEWS, *words, "--json")
    described = valid("description", again.stdout)
    assert again.stderr == ""
    rounded = described["description"]
    assert rounded["markers"] == found["description"]["markers"]
    assert rounded["log_rank"] == found["description"]["log_rank"]
    assert rounded["clusters"][1]["name"] == "mid"
    assert described["output"]["report"] == os.path.join("manyview-description", "report.html")
    assert sorted(os.listdir("manyview-description")) == ["description.json", "markers.csv", "report.html"]
    written = json.loads(Path("manyview-description/description.json").read_text())
    assert written["description"] == described["description"]


def test_other_data_are_matched_by_ids_or_refused(call, valid, patients):
    call("cluster", *VIEWS, "-k", "3", *FEW, "--no-report")
    for name in VIEWS:
        pd.read_csv(name).iloc[::-1].to_csv(name, index=False)
    turned = call("describe", "manyview-output", *VIEWS, "--no-report", "--json")
    assert "order of the samples differ from those that were clustered; matched by id" in turned.stderr
    before = json.loads(Path("manyview-output/result.json").read_text())["description"]
    after = valid("description", turned.stdout)["description"]
    assert [each["auroc"] for each in after["markers"]] == pytest.approx([each["auroc"] for each in before["markers"]])
    other = call("describe", "manyview-output", "a.csv", "clinical.csv:", "--no-report")
    assert other.exit_code == 2
    one = call("describe", "manyview-output", "a.csv", "--no-report", "--json")
    assert "these are not the views that were clustered, a (6), b (4); so there are no p values" in one.stderr
    assert all(each["p"] is None for each in valid("description", one.stdout)["description"]["markers"])


def test_rows_without_ids_are_matched_only_if_the_data_are_the_same(call, valid, patients):
    call("cluster", *VIEWS, "-k", "3", *FEW, "--no-report", "--no-sample-names")
    assert call("describe", "manyview-output", *VIEWS, "--no-report", "--json").stderr == ""
    for name in VIEWS:
        pd.read_csv(name).iloc[::-1].to_csv(name, index=False)
    result = call("describe", "manyview-output", *VIEWS)
    assert result.exit_code == 2
    assert "its labels have no sample ids, and the files do not hold the data that were clustered" in result.stderr


def test_labels_from_anywhere_are_described_without_p_values(call, valid, patients):
    result = call(
        "describe", "clinical.csv:subtype", *VIEWS, "--metadata", "clinical.csv", "--rename", "x=first", "--json"
    )
    found = valid("description", result.stdout)
    assert found["labels"] == {"source": "clinical.csv:subtype", "method": None, "n_labelled": 58}
    assert [each["name"] for each in found["description"]["clusters"]] == ["first", "y", "z"]
    assert "subtype" not in [each["column"] for each in found["description"]["metadata"]]
    assert "2 samples without a label are left out." in found["description"]["notes"]
    text = " ".join(call("describe", "clinical.csv:subtype", *VIEWS).stdout.split())
    assert "60 samples in 2 views" in text
    assert "58 of them have a label" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.csv"], "nothing.csv: no such file"),
        (["empty"], "the folder empty has no result.json. Expected one that manyview cluster has written"),
        (["clinical.csv:subtypes"], "clinical.csv: has no column 'subtypes' besides the ids"),
        (["clinical.csv:subtype", "--rename", "q=x"], "--rename: there is no cluster 'q'; the clusters are x, y, z"),
        (["clinical.csv:subtype", "--survival", "days,dead"], "is looked for in the metadata, but there is none"),
    ],
)
def test_mistakes_of_describe_are_named(call, patients, words, message):
    Path("empty").mkdir()
    result = call("describe", words[0], *VIEWS, *words[1:])
    assert result.exit_code == 2, result.stdout
    assert message in result.stderr
    assert not Path("manyview-description").exists()
