"""``manyview cluster``: from files to files."""

from __future__ import annotations

import csv
import errno
import json
import os
from dataclasses import asdict
from io import BytesIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse as sp
from jsonschema import Draft202012Validator

from manyview._utils.text import plain
from manyview.cli._choice import slug
from manyview.cli._output import write_graph, write_labels
from manyview.cli.schemas import load_schema
from manyview.cluster import GraphEnsemble, available_methods, suggest_n_clusters
from manyview.datasets import make_multiview
from manyview.graphs import SCALERS

FEW = ("--set", "n_members=4")
FILES = ["graph.npz", "labels.csv", "markers.csv", "report.html", "result.json"]


@pytest.fixture(scope="module")
def views():
    return make_multiview(60, n_clusters=3, n_views=3, random_state=0)


@pytest.fixture
def folder(tmp_path, monkeypatch, page):
    """An empty folder to be in, so that files have short names."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def npz(folder, views):
    """The views in one file, with their classes."""
    np.savez(folder / "data.npz", *views.arrays, y=views.labels)
    return "data.npz"


@pytest.fixture
def tables(folder, views):
    """One table for each view, with ids that are hard to write; and one with the classes."""
    ids = [f'sample "{i}", called\n{i}' for i in range(60)]
    for name, array in zip(("colour", "texture", "shape"), views.arrays, strict=True):
        frame = pd.DataFrame(array, columns=[f"f{column}" for column in range(array.shape[1])])
        frame.insert(0, "patient", ids)
        frame.to_csv(folder / f"{name}.csv", index=False)
    pd.DataFrame({"patient": ids, "kind": np.array(["a", "b", "c"])[views.labels]}).to_csv("kinds.csv", index=False)
    return ["colour.csv", "texture.csv", "shape.csv"]


def everything(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} | {
        path: None for path in folder.rglob("*") if path.is_dir()
    }


def done(result):
    """A result as JSON, after a check that it is one."""
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout, parse_constant=pytest.fail)
    Draft202012Validator(load_schema("result")).validate(found)
    return found


def described(suggestion):
    return plain(asdict(suggestion)) | {"evidence": plain(suggestion.evidence)}


def test_the_schema_is_one():
    Draft202012Validator.check_schema(load_schema("result"))


def test_tables_with_ids_and_classes(call, folder, tables, views):
    result = call("cluster", *tables, "--id", "patient", "--labels", "kinds.csv:kind", "-k", "3", *FEW, "--json")
    found = done(result)
    assert result.stderr == ""
    assert [view["name"] for view in found["data"]["views"]] == ["colour", "texture", "shape"]
    assert found["data"]["files"] == tables
    assert found["data"]["has_ids"] is True
    assert found["scores"]["acc"] > 0.9
    assert found["row_order"] == "rows as given"
    paths = {name.partition(".")[0]: os.path.join("manyview-output", name) for name in FILES}
    assert found["output"] == paths | {"model": None}
    assert sorted(os.listdir("manyview-output")) == FILES

    with open("manyview-output/labels.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["sample"] for row in rows] == [f'sample "{i}", called\n{i}' for i in range(60)]
    clusters = np.array([int(row["cluster"]) for row in rows])
    assert np.bincount(clusters).tolist() == [cluster["size"] for cluster in found["clusters"]]
    confidence = np.array([float(row["confidence"]) for row in rows])
    assert confidence.mean() == pytest.approx(found["confidence"]["mean"], abs=1e-4)
    pd.testing.assert_series_equal(
        pd.read_csv("manyview-output/labels.csv")["cluster"], pd.Series(clusters, name="cluster")
    )

    graph = sp.load_npz("manyview-output/graph.npz")
    assert sp.csgraph.connected_components(sp.block_array([[None, graph], [graph.T, None]]))[0] >= 3
    assert graph.shape[0] == 60
    assert np.load("manyview-output/graph.npz")["anchors"].shape == (graph.shape[1],)


def test_the_result_in_the_folder_is_the_one_that_is_printed(call, npz, page):
    printed = done(call("cluster", npz, "-k", "3", *FEW, "--out", "deep/down", "--json"))
    with open("deep/down/result.json") as file:
        written = json.load(file)
    assert printed.pop("output")["report"] == os.path.join("deep", "down", "report.html")
    assert written.pop("output") == {name.partition(".")[0]: name for name in FILES} | {"model": None}
    assert written == printed
    assert all(printed["timings"][step] > 0 for step in ("start", "read", "fit", "report"))
    with open("deep/down/report.html") as file:
        assert file.read() == "<p>page"
    model, views, summarised, _ = page.made_of[0]
    assert model.n_clusters == 3
    assert views.n_samples == 60
    assert summarised["scores"] == printed["scores"]


def test_the_command_that_is_kept_does_the_same_again(call, npz):
    words = ("-k", "3", *FEW, "--seed", "5", "--jobs", "1", "--no-report", "--out", "one")
    first = done(call("cluster", npz, *words, "--json"))
    program, *again = first["command"].split()
    assert program == "manyview"
    second = done(call(*again, "--json"))
    assert first["seed"] == 5
    assert second["command"] == first["command"]
    assert second["parameters"] == first["parameters"]
    assert second["clusters"] == first["clusters"]


def test_a_mat_file_for_people(call, folder, views):
    in_order = views.take(np.argsort(views.labels, kind="stable"))
    cell = np.empty(3, dtype=object)
    cell[:] = in_order.arrays
    scipy.io.savemat("data.mat", {"X": cell, "Y": in_order.labels})
    result = call("cluster", "data.mat", "-k", "3", *FEW)
    assert result.exit_code == 0, result.stderr
    lines = result.stdout.splitlines()
    assert lines[0].startswith("60 samples in 3 views: ")
    assert lines[1].startswith("GraphEnsemble: 3 clusters in ")
    assert "against the 3 known classes, rows as given, sorted by class:" in lines
    assert any(line.startswith("ACC ") for line in lines)
    names = ("labels.csv", "markers.csv", "graph.npz", "result.json", "report.html")
    assert lines[-5:] == [os.path.join("manyview-output", name) for name in names]


def test_the_number_of_clusters_can_be_found(call, npz):
    result = call("cluster", npz, "-k", "auto", "--method", "smsc", "--json")
    found = done(result)
    assert found["n_clusters"] == found["suggestion"]["n_clusters"] == found["parameters"]["n_clusters"] == 3
    assert result.stderr == f"manyview: -k auto takes 3. {found['suggestion']['reason']}\n"
    assert found["timings"]["suggest"] > 0
    assert "-k auto" in found["command"]


@pytest.mark.filterwarnings("ignore::manyview.exceptions.ClusterCountWarning")
@pytest.mark.parametrize("parameters", [{"scaling": "centered"}, {"scaling": "unit", "learn_on": 100}])
def test_the_number_is_the_one_that_the_estimator_finds(call, folder, page, parameters):
    views = make_multiview(160, n_clusters=3, n_views=2, random_state=0)
    np.savez("data.npz", *views.arrays)
    words = [word for name, value in parameters.items() for word in ("--set", f"{name}={value}")]
    result = call("cluster", "data.npz", "-k", "auto", *words, *FEW, "--json")
    found = done(result)
    model = GraphEnsemble("auto", n_members=4, random_state=0, **parameters).fit(views)
    assert found["suggestion"] == described(model.suggestion_)
    assert found["n_clusters"] == found["parameters"]["n_clusters"] == model.n_clusters_
    assert pd.read_csv("manyview-output/labels.csv")["cluster"].tolist() == model.labels_.tolist()
    assert result.stderr == f"manyview: -k auto takes {model.n_clusters_}. {model.suggestion_.reason}\n"
    assert found["timings"]["suggest"] is None
    assert page.made_of[0][0].n_clusters == model.n_clusters_  # audits do not look for it again


@pytest.mark.parametrize("method", ["graph-ensemble", "smsc"])
def test_the_number_is_chosen_from_a_range(call, npz, method):
    few = FEW if method == "graph-ensemble" else ()
    result = call("cluster", npz, "-k", "2:5", "--method", method, *few, "--json")
    found = done(result)
    assert found["suggestion"]["curve"]["n_clusters"] == [2, 3, 4, 5]
    assert found["n_clusters"] == found["suggestion"]["n_clusters"] == found["parameters"]["n_clusters"] == 3
    assert found["parameters"].get("k_range") is None
    assert result.stderr.startswith("manyview: -k 2:5 takes 3. ")
    assert "-k 2:5" in found["command"]


@pytest.mark.parametrize("k", ["60:2", "1:5", "2:", ":5", "abc", "2-6", "2:61"])
def test_a_range_that_cannot_be_is_one_line(call, npz, k):
    result = call("cluster", npz, "-k", k)
    assert result.exit_code == 2
    assert result.stderr.startswith("manyview: Invalid value for -k: ")
    assert result.stderr.count("\n") == 1
    assert not os.path.exists("manyview-output")


def test_candidates_and_their_evidence_are_shown(call, folder):
    np.savez("data.npz", *make_multiview(80, n_views=0, n_noise_views=2, random_state=0).arrays)
    result = call("cluster", "data.npz", "-k", "2:6", *FEW, "--out", "out")
    with open("out/result.json") as file:
        found = json.load(file)["suggestion"]
    assert [one["n_clusters"] for one in found["evidence"]] == found["candidates"]
    at = [found["curve"]["n_clusters"].index(k) for k in found["candidates"]]
    for name, values in found["curve"].items():
        assert [one[name] for one in found["evidence"]] == [values[i] for i in at]
    lines = [line.split() for line in result.stdout.splitlines()]
    start = next(i for i, line in enumerate(lines) if line[:2] == ["candidate", "eigengap"]) + 3
    assert [int(line[0]) for line in lines[start : start + len(at)]] == found["candidates"]
    most_stable = found["curve"]["n_clusters"][int(np.argmax(found["curve"]["stability"]))]
    assert most_stable in found["candidates"]


def test_the_family_of_graphs_is_said(call, npz, valid):
    printed = call("cluster", npz, "-k", "3", *FEW, "--out", "out").stdout
    with open("out/result.json") as file:
        families = valid("result", file.read())["graph_families"]
    taken, other = families[:2]
    line = f"graphs: {taken['family']} (score {taken['score']:.3f}, next best {other['family']} {other['score']:.3f})"
    assert printed.splitlines()[2] == line
    assert call("cluster", npz, "-k", "3", "-m", "sfmc", "--out", "other").stdout.count("graphs:") == 0
    with open("other/result.json") as file:
        assert valid("result", file.read())["graph_families"] is None


@pytest.mark.parametrize("settled", [True, False])
def test_a_fit_that_is_not_settled_says_so(call, npz, monkeypatch, settled):
    fit = GraphEnsemble._set_learned

    def set_learned(self, found):
        fit(self, found)
        self.converged_ = settled

    monkeypatch.setattr(GraphEnsemble, "_set_learned", set_learned)
    text = " ".join(call("cluster", npz, "-k", "3", *FEW, "--out", "out").stdout.split())
    assert ("Not settled. The last graphs still changed the labels" in text) is not settled
    assert ("--set n_members=8" in text) is not settled
    with open("out/result.json") as file:
        assert json.load(file)["converged"] is settled


def test_another_method_uses_the_scaling_to_find_the_number(call, npz, views):
    found = done(call("cluster", npz, "-k", "auto", "-m", "amgl", "--set", "scaling=centered", "--json"))
    suggestion = suggest_n_clusters(views, scaling="centered", random_state=0)
    assert found["suggestion"] == described(suggestion)


@pytest.mark.parametrize("method", available_methods(), ids=lambda method: method.name)
def test_suggest_n_clusters_knows_the_scalings_of_every_method(method):
    rules = method.estimator._parameter_constraints.get("scaling", [])
    for scaling in (name for rule in rules for name in getattr(rule, "options", ())):
        assert scaling == "auto" or scaling in SCALERS


@pytest.mark.parametrize("method", ["graph-ensemble", "smsc"])
def test_weak_evidence_is_said_once(call, folder, method):
    np.savez("data.npz", *make_multiview(80, n_views=0, n_noise_views=2, random_state=0).arrays)
    few = FEW if method == "graph-ensemble" else ()
    result = call("cluster", "data.npz", "-k", "auto", "--method", method, *few, "--json")
    found = done(result)
    assert found["suggestion"]["sure"] is False
    assert not any(found["suggestion"]["reason"] in text for text in found["warnings"])
    assert result.stderr.count(found["suggestion"]["reason"]) == 1


@pytest.mark.parametrize("method", [slug(method.name) for method in available_methods()])
def test_every_method(call, npz, method):
    few = {"graph-ensemble": FEW}.get(method, ())
    result = call("cluster", npz, "-k", "3", "--method", method, *few, "--json")
    found = done(result)
    assert slug(found["method"]["name"]) == method
    assert sum(cluster["size"] for cluster in found["clusters"]) == 60
    assert (found["output"]["graph"] is not None) == os.path.exists("manyview-output/graph.npz")
    if found["output"]["graph"] is not None:
        assert sp.load_npz("manyview-output/graph.npz").shape[0] == 60
    with open("manyview-output/labels.csv") as file:
        confidence = {row["confidence"] for row in csv.DictReader(file)}
    assert ("" in confidence) == (found["confidence"] is None)
    assert result.stderr.count("\n") == len(found["warnings"])


def test_warnings_are_lines_and_part_of_the_result(call, npz):
    result = call("cluster", npz, "-k", "3", "--method", "tbgl", "--no-report", "--json")
    found = done(result)
    assert found["method"]["order_dependent"] is True
    assert any("order" in text for text in found["warnings"])
    assert [f"manyview: warning: {' '.join(text.split())}" for text in found["warnings"]] == result.stderr.splitlines()


def test_the_audit_asks_what_can_be_asked(call, npz, page):
    found = done(call("cluster", npz, "-k", "3", "--method", "smsc", "--audit", "--json"))
    assert [audit["question"] for audit in found["audits"]] == ["order", "seeds", "views"]
    assert [audit.question for audit in page.made_of[0][3]] == ["order", "seeds", "views"]
    assert found["timings"]["audit"] > 0
    result = call("cluster", npz, "-k", "3", "--views-key", "arr_0,arr_1", *FEW, "--audit")
    assert result.exit_code == 0, result.stderr
    assert result.stdout.count("audit of ") == 2
    assert "manyview: warning: audit_views was left out. views: to leave one out" in result.stderr


def test_what_an_earlier_run_left_goes_and_other_files_stay(call, npz, folder):
    done(call("cluster", npz, "-k", "3", *FEW, "--json"))
    (folder / "manyview-output" / "notes.txt").write_text("mine")
    assert done(call("cluster", npz, "-k", "3", "-m", "smsc", "--no-report", "--json"))["output"]["graph"] is None
    assert sorted(os.listdir("manyview-output")) == ["labels.csv", "markers.csv", "notes.txt", "result.json"]


def test_only_some_clusters_are_listed(call, npz):
    result = call("cluster", npz, "-k", "25", "--method", "smsc")
    assert result.exit_code == 0, result.stderr
    assert "and 5 more, of " in result.stdout


def test_names_from_files_cannot_steer_the_terminal(call, npz, page):
    page.render = lambda summary: summary["data"]["views"][2]["name"]
    names = "\x1b[2J,[red]b[/red],no text: \udcff"  # as Python shows a byte of a name that is no UTF-8
    result = call("cluster", npz, "-k", "3", "--method", "smsc", "--names", names)
    assert result.exit_code == 0, result.stderr
    assert "\x1b" not in result.stdout
    assert "[red]b[/red] (10), no text: \\udcff (10)" in result.stdout
    with open("manyview-output/report.html") as file:
        assert file.read() == "no text: \\udcff"


def test_labels_are_quoted_where_need_be():
    ids = np.array(["plain", 'a "b", c', "one\ntwo", "one\rtwo", "\udcff", 7], dtype=object)
    model = SimpleNamespace(labels_=np.arange(6), confidence_=np.array([1, 0.5, 0.12344, 0.99999, 0, 1.0000001]))
    file = BytesIO()
    write_labels(file, model, SimpleNamespace(n_samples=6, sample_ids=ids, metadata=None))
    rows = list(csv.reader(file.getvalue().decode().splitlines(keepends=True)))
    assert rows[0] == ["sample", "cluster", "confidence"]
    assert [row[0] for row in rows[1:]] == [*ids[:4], "\\udcff", "7"]
    assert [row[2] for row in rows[1:]] == ["1.0000", "0.5000", "0.1234", "1.0000", "0.0000", "1.0000"]
    assert pd.read_csv(BytesIO(file.getvalue()))["sample"].tolist()[:4] == list(ids[:4])


def test_a_graph_comes_back_as_it_was(tmp_path):
    graph = sp.random_array((20, 5), density=0.3, format="csr", rng=0)
    for anchors in (None, np.arange(5)):
        with open(tmp_path / "graph.npz", "wb") as file:
            write_graph(file, graph, anchors)
        again = sp.load_npz(tmp_path / "graph.npz")
        assert isinstance(again, sp.csr_array)
        np.testing.assert_array_equal(again.toarray(), graph.toarray())


# What goes wrong: one line that says what to do, exit code 2, and everything is as it was.


def refused(call, folder, *words):
    before = everything(folder)
    result = call("cluster", *words)
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("manyview: ")
    assert result.stderr.count("\n") == 1
    assert everything(folder) == before
    return result.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (
            ["data.npz"],
            "Missing option '-k' / '--clusters'. Give the number of clusters, as in -k 4, or -k auto.",
        ),
        (["-k", "3"], "Missing argument 'FILES'"),
        (
            ["data.npz", "-k", "0"],
            "a range to choose from such as 2:60, or auto, got '0'.",
        ),
        (
            ["data.npz", "-k", "-1"],
            "a range to choose from such as 2:60, or auto, got '-1'.",
        ),
        (
            ["data.npz", "-k", "abc"],
            "a range to choose from such as 2:60, or auto, got 'abc'.",
        ),
        (["data.npz", "-k", "61"], "Invalid value for -k: 61 clusters are more than there are samples, 60. Choose"),
        (["data.npz", "-k", "3", "-m", "tgbl"], "there is no method 'tgbl'. Did you mean tbgl"),
        (["data.npz", "-k", "3", "--set", "n_member=4"], "no parameter 'n_member' to set. Did you mean n_members"),
        (["data.npz", "-k", "3", "--set", "n_members"], "Invalid value for --set: expected NAME=VALUE, got"),
        (["data.npz", "-k", "3", "--set", "n_members=few"], "'n_members' parameter of GraphEnsemble must be an int"),
        (["data.npz", "-k", "3", "--labels", "short.csv"], "short.csv"),
        (["data.npz", "-k", "3", "--labels", "gone.csv:kind"], "gone.csv"),
        (["gone.csv", "-k", "3"], "gone.csv"),
        (["gone", "-k", "3"], "gone"),
        (["broken.mat", "-k", "3"], "broken.mat"),
        (["broken.npz", "-k", "3"], "broken.npz"),
        (["empty", "-k", "3"], "empty"),
        (["readme.txt", "-k", "3"], "readme.txt"),
        (["one.csv", "-k", "3"], "needs at least 2 views, got 1. Give one file for each view, or say how to cut"),
        (["one.csv", "-k", "3", "--view-sizes", "9"], "view_sizes: cannot cut"),
        (["hole.csv", "one.csv", "-k", "3"], "views['hole']"),
        (["data.npz", "-k", "3", "--out", "short.csv"], "--out: short.csv cannot be a folder: short.csv is a file."),
        (["data.npz", "-k", "3", "--out", "short.csv/a/b"], "short.csv is a file. Choose another folder."),
        (["data.npz", "-k", "3", "--out", "taken"], "labels.csv is there already, and was not written by this"),
    ],
)
def test_bad_input(call, folder, npz, views, words, text):
    (folder / "empty").mkdir()
    (folder / "taken").mkdir()
    (folder / "taken" / "labels.csv").write_text("mine\n")
    (folder / "readme.txt").write_text("hello")
    for name in ("broken.mat", "broken.npz"):
        (folder / name).write_bytes(b"MATLAB 5.0 MAT-file or so" * 20)
    pd.DataFrame({"kind": range(59)}).to_csv("short.csv", index=False)
    one = pd.DataFrame(views.arrays[0][:, :4], columns=list("abcd"))
    one.to_csv("one.csv", index=False)
    one.mask(one.index.to_numpy()[:, None] == np.array([[3, -1, -1, -1]])).to_csv("hole.csv", index=False)
    assert text in refused(call, folder, *words)


@pytest.mark.parametrize("words", [["-k", "0"], ["-k", "3", "-m", "no"], ["-k", "3", "--set", "n_members=0"]])
def test_what_is_wrong_with_the_command_line_is_said_before_anything_is_read(call, folder, words):
    assert "gone.csv" not in refused(call, folder, "gone.csv", *words)


def test_no_permission(call, folder, npz):
    (folder / "closed").mkdir(mode=0o500)
    if os.access("closed", os.W_OK):
        pytest.skip("this user, probably root, may write everywhere")
    assert "no permission to write to closed" in refused(call, folder, npz, "-k", "3", "--out", "closed")
    (folder / npz).chmod(0)
    result = call("cluster", npz, "-k", "3")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert f"path '{npz}' is not readable" in result.stderr


def test_no_permission_is_said_before_anything_is_read(call, folder, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    text = refused(call, folder, "gone.csv", "-k", "3", "--out", "some/where")
    assert f"there is no permission to write to {folder}. Choose another folder." in text


@pytest.mark.parametrize("earlier", [False, True])
def test_a_full_disk_leaves_everything_as_it_was(call, folder, npz, monkeypatch, earlier):
    if earlier:
        done(call("cluster", npz, "-k", "3", *FEW, "--out", "a/b", "--json"))
    calls = []

    def full(descriptor):
        calls.append(descriptor)
        if len(calls) == 3:  # the first files are complete by then
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    text = refused(call, folder, npz, "-k", "3", *FEW, "--out", "a/b")
    assert "markers.csv: cannot be written: No space left on device. Nothing was written. Make room, or choose" in text
    assert len(calls) == 3


def test_ctrl_c_writes_nothing(call, folder, npz, monkeypatch):
    def stopped(self, views, y=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(GraphEnsemble, "fit", stopped)
    before = everything(folder)
    result = call("cluster", npz, "-k", "3")
    assert (result.exit_code, result.stdout) == (130, "")
    assert result.stderr == "manyview: stopped; nothing was written\n"
    assert everything(folder) == before


@pytest.mark.parametrize("method", ["graph-ensemble", "tbgl", "smsc"])
def test_fewer_neighbours_than_were_asked_for_are_a_warning(call, npz, method):
    result = call("cluster", npz, "-k", "3", "-m", method, "--set", "n_neighbors=1000", "--no-report", "--json")
    found = done(result)
    lines = [line for line in result.stderr.splitlines() if line.startswith("manyview: warning: n_neighbors=1000 ")]
    assert len(lines) == 1
    assert "using n_neighbors=" in lines[0]
    assert any(text.startswith("n_neighbors=1000 ") for text in found["warnings"])
