"""The summary of one clustering is plain values that say what is so, and its page shows them and is safe."""

from __future__ import annotations

import copy
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble
from manyview.audit import audit_seeds
from manyview.datasets import drop_views, make_multiview
from manyview.report.run import convergence_lines, render, summarise, write_report
from manyview.views import Views

HOSTILE = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>{{ 7 * 7 }}\n\x1b[31m"
OWN = {"names", "sample_names", "map", "cluster_samples", "description", "graphs", "blocks", "views", "convergence"}
OWN |= {"confusion", "audits", "reproduce"}


def fit(views, k, **parameters):
    return GraphEnsemble(k, n_members=4, random_state=0, **parameters).fit(views)


@pytest.fixture(autouse=True)
def without_plotly(monkeypatch):
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plotly.js */")


@pytest.fixture(scope="module")
def summary(models, blobs, described):
    model = models["GraphEnsemble"]
    return summarise(model, blobs, described(model, blobs))


def test_the_result_is_part_of_the_summary(summary, models, blobs, described):
    result = described(models["GraphEnsemble"], blobs)
    before = copy.deepcopy(result)
    found = summarise(models["GraphEnsemble"], blobs, result)
    assert result == before
    assert set(found) == {*result, *OWN}
    assert {key: found[key] for key in result} == result
    # described a moment later
    assert {**found, "created": summary["created"], "environment": summary["environment"]} == summary


def test_shapes(summary, blobs):
    points = summary["map"]
    assert points["n_shown"] == 60
    for key in ("x", "y", "id", "cluster", "confidence", "label", "label_match", "agreement"):
        assert len(points[key]) == 60, key
    assert points["id"] == [str(row) for row in range(60)]
    assert points["label"] == [str(label) for label in blobs.labels]
    assert points["label_match"] == points["cluster"]
    assert points["agreement"] == [1.0] * 60
    assert [listed["size"] for listed in summary["cluster_samples"]] == [20, 20, 20]
    assert [graph["name"] for graph in summary["graphs"]] == [None, "view0", "view1", "view2"]
    assert [(view["name"], view["n_features"], view["ari"]) for view in summary["views"]] == [
        (name, 10, 1.0) for name in blobs.names
    ]
    assert sum(view["weight"] for view in summary["views"]) == pytest.approx(1)
    assert summary["confusion"]["counts"] == [[20, 0, 0], [0, 20, 0], [0, 0, 20]]
    assert summary["convergence"][0]["name"] == "agreement"


def test_how_to_reproduce_it_is_a_program(summary):
    program = summary["reproduce"]["python"]
    assert "views = manyview.read_views('data.mat')" in program
    assert "GraphEnsemble(n_clusters=3, n_members=4, random_state=0).fit(views)" in program
    compile(program, "report", "exec")
    assert summary["reproduce"]["command"] == "manyview cluster data.mat -k 3"


@pytest.mark.parametrize(
    ("files", "reading", "line"),
    [
        (["a.csv", "b.csv"], {"id_column": "id"}, "views = manyview.read_views(['a.csv', 'b.csv'], id_column='id')"),
        (["a.npz"], {"view_sizes": [2, 3]}, "views = manyview.views.wide.cut_table(views, [2, 3])"),
        ([], {"python": "load()"}, "views = load()"),
        ([], {}, "# views: the same as for this report"),
    ],
)
def test_the_program_reads_what_was_read(models, blobs, described, files, reading, line):
    result = described(models["SMSC"], blobs)
    result["data"] |= {"files": files, "reading": reading}
    assert f"\n{line}\n" in summarise(models["SMSC"], blobs, result)["reproduce"]["python"]


def test_every_method_has_a_page(models, blobs, described, parse):
    for name, model in models.items():
        found = summarise(model, blobs, described(model, blobs))
        json.dumps(found, allow_nan=False)
        page = parse(render(found))
        assert f"Found by {name}" in page.text, name
        assert len(page.tags("img")) == len(found["graphs"]), name
        weighted = hasattr(model, "view_weights_")
        assert all((view["weight"] is not None) == weighted for view in found["views"]), name
        assert ("gives its views no weights" in page.text) == (not weighted), name


def test_everything_is_in_the_page_in_the_order_that_is_asked_for(summary, parse):
    page = parse(render(summary))
    ids = [found["id"] for _, found in page.elements if found.get("id")]
    sections = ["answer", "map", "samples", "members", "graphs", "views", "convergence", "scores", "reproduce"]
    assert [name for name in ids if name in sections] == sections
    assert [found["data-cluster"] for found in page.tags("button") if "data-cluster" in found] == ["0", "1", "2"]
    assert [found["data-colouring"] for found in page.tags("button") if "data-colouring" in found] == [
        "cluster",
        "true label",
        "agreement between views",
        "confidence",
    ]
    assert all(re.search(r"\d+ % of the weight lies in the 3 blocks", found["alt"]) for found in page.tags("img"))
    assert all(found["aria-label"] for found in [found for found in page.tags("div") if found.get("role") == "img"])
    assert "3 clusters of 60 samples" in page.text
    assert "1.000" in page.text
    assert "rows as given" in page.text
    assert summary["data"]["sha256"] in page.text
    anchors = {found["href"].removeprefix("#") for found in page.tags("a")}
    assert anchors <= {*ids, "main"}


def test_the_map_has_all_colourings(summary, parse):
    (drawn,) = [figure for figure in parse(render(summary)).figures() if "colourings" in figure]
    (trace,) = drawn["data"]
    assert trace["customdata"] == summary["map"]["cluster"]
    assert trace["hovertext"][0].startswith("sample 0<br>cluster 0<br>confidence: ")
    by_cluster = drawn["colourings"]["cluster"]["color"]
    assert by_cluster == [f"var(--colour-{k})" for k in summary["map"]["cluster"]]
    assert drawn["colourings"]["true label"]["color"] == by_cluster
    assert drawn["colourings"]["confidence"]["color"] == summary["map"]["confidence"]
    assert drawn["colourings"]["agreement between views"]["color"] == summary["map"]["agreement"]


def test_many_clusters_differ_by_colour_and_symbol(described, parse):
    views = make_multiview(160, n_clusters=40, noise=0.01, random_state=0)
    model = fit(views, 40)
    found = summarise(model, views, described(model, views))
    text = render(found)
    (drawn,) = [figure for figure in parse(text).figures() if "colourings" in figure]
    marks = drawn["colourings"]["cluster"]
    assert len(set(zip(marks["color"], marks["symbol"], strict=True))) == 40
    assert "heatmap" in text  # in place of a table with 1,600 cells


@pytest.mark.parametrize(("n_samples", "k"), [(5, 1), (5, 2), (30, 1)])
def test_few_samples_and_one_cluster(n_samples, k, described, parse):
    views = make_multiview(n_samples, n_clusters=k, random_state=0)
    model = fit(views, k)
    found = summarise(model, views, described(model, views))
    json.dumps(found, allow_nan=False)
    parse(render(found))
    assert found["map"]["n_shown"] == n_samples


def test_without_labels(blobs, described, parse):
    views = Views(blobs.arrays)
    model = fit(views, 3)
    found = summarise(model, views, described(model, views))
    assert found["confusion"] is None
    assert found["map"]["label"] is None
    assert found["cluster_samples"][0]["labels"] is None
    page = parse(render(found))
    assert "Scores" not in page.text
    assert "true label" not in [found.get("data-colouring") for found in page.tags("button")]


def test_a_single_class_and_classes_that_are_texts(blobs, described, parse):
    for labels in (np.full(60, "all the same"), np.array(["ä", "b b", "c"])[blobs.labels]):
        views = Views(blobs.arrays, labels=labels)
        model = fit(views, 3)
        found = summarise(model, views, described(model, views))
        json.dumps(found, allow_nan=False)
        assert set(found["map"]["label"]) == set(labels.tolist())
        assert labels[0] in parse(render(found)).text


def test_some_labels_are_missing(blobs, described, parse):
    labels = np.array(["a", "b", None], dtype=object)[blobs.labels]
    views, known = Views(blobs.arrays, labels=labels), Views(blobs.arrays, labels=blobs.labels)
    model = fit(views, 3)
    result = described(model, known)
    found = summarise(model, views, result)
    json.dumps(found, allow_nan=False)
    assert sum(label is None for label in found["map"]["label"]) == 20
    parse(render(found))


def test_samples_that_lack_views_and_sparse_views(blobs, described, parse):
    gaps = drop_views(blobs, 0.3, random_state=0)
    sparse = Views([sp.csr_array(blobs.arrays[0]), blobs.arrays[1].astype(np.float32)], labels=blobs.labels)
    for views in (gaps, sparse):
        model = fit(views, 3)
        found = summarise(model, views, described(model, views))
        json.dumps(found, allow_nan=False)
        assert min(found["map"]["agreement"]) >= 0
        assert all(view["agreement"] > 0.8 for view in found["views"])
        parse(render(found))


def test_names_cannot_harm(blobs, described, parse):
    long = "x" * 100_000
    views = Views(
        blobs.arrays,
        names=[HOSTILE, long, long + HOSTILE],
        sample_ids=[f"{HOSTILE}{row}" for row in range(60)],
        labels=np.array([HOSTILE, long, "c"])[blobs.labels],
    )
    model = fit(views, 3)
    result = described(model, views, warnings=[HOSTILE], command=f"manyview cluster {HOSTILE}")
    result["data"]["files"] = [HOSTILE]
    audit = audit_seeds(GraphEnsemble(3, n_members=2), views, n_seeds=2).to_dict() | {"names": [HOSTILE]}
    result["audits"] = [audit]
    found = summarise(model, views, result)
    text = render(found)
    page = parse(text)
    clean = parse(render(summarise(model, blobs, described(model, blobs))))
    tags = {"script", "img", "iframe", "object", "link"}
    assert {tag for tag, _ in page.elements} & tags == {"script", "img"}
    assert len(page.tags("img")) == len(clean.tags("img"))
    assert len(page.tags("script")) == len(clean.tags("script"))
    assert not [name for _, found in page.elements for name in found if name.startswith("on")]
    assert "alert(1)" in page.text
    assert "{{ 7 * 7 }}" in page.text
    assert len(text) < 1_000_000
    assert "\x1b" not in text
    assert len(page.figures()) == len(clean.figures())


def test_audits_warnings_and_suggestions_are_shown(models, blobs, described, parse):
    model = models["GraphEnsemble"]
    audit = audit_seeds(GraphEnsemble(3, n_members=2), blobs, n_seeds=2)
    curve = {"n_clusters": [2, 3, 4], "eigengap": [0.1, 0.4, None], "stability": [0.5, 1.0, 0.5]}
    names = ("eigengap", "reference_eigengap", "graph_eigengap", "reference_graph_eigengap", "stability", "score")
    evidence = [{"n_clusters": k} | dict.fromkeys(names, k / 7) for k in (3, 2)]
    suggestion = {"n_clusters": 3, "sure": False, "candidates": [3, 2], "reason": "It falls.", "curve": curve}
    suggestion["evidence"] = evidence
    result = described(model, blobs, suggestion=suggestion, warnings=["Mind the gap."], converged=False)
    found = summarise(model, blobs, result, audits=[audit])
    assert found["audits"] == [audit.to_dict()]
    page = parse(render(found))
    assert audit.verdict in page.text
    assert (
        page.text.index("Does the seed change the answer?") < page.text.index(audit.verdict) < page.text.index("seed 1")
    )
    for words in ("It falls.", "not sure", "Mind the gap.", "Not settled. The last graphs still changed", "n_members="):
        assert words in page.text
    assert page.text.index("Candidates, best first") < page.text.index("0.286 (0.286)")
    assert page.text.index("Scores") < page.text.index("Does the answer hold?") < page.text.index("In Python")


def test_families_of_graphs_that_were_tried_are_listed(summary, models, parse):
    page = parse(render(summary))
    heading, *rows = page.table("Families of graphs that were tried")
    assert heading == ["Family", "Members", "Agreement", "Cross agreement", "Information", "Score"]
    model = models["GraphEnsemble"]
    assert rows[0][0] == f"{model.graph_family_} (taken)"
    assert [row[0].removesuffix(" (taken)") for row in rows] == list(model.graph_families_)
    assert sum("(taken)" in row[0] for row in rows) == 1
    for row, found in zip(rows, model.graph_families_.values(), strict=True):
        names = ("agreement", "cross_agreement", "information", "score")
        assert row[1:] == [str(found["n_members"]), *(f"{found[name]:.3f}" for name in names)]


def test_methods_without_families_of_graphs_have_no_such_table(models, blobs, described, parse):
    page = parse(render(summarise(models["SFMC"], blobs, described(models["SFMC"], blobs))))
    assert "family of graphs" not in page.text.lower()


def test_that_row_order_matters_is_said(models, blobs, described, parse):
    for name, matters in (("TBGL", True), ("SFMC", False)):
        text = parse(render(summarise(models[name], blobs, described(models[name], blobs)))).text
        assert ("The order of the rows matters." in text) == matters


def test_large_data_are_sampled(described, parse):
    views = make_multiview(30_000, n_clusters=3, sizes=[1000, 1000, 1], n_features=4, random_state=0)

    class Quick(GraphEnsemble):
        labels_ = np.array(views.labels)
        embedding_ = np.eye(3)[views.labels]
        confidence_ = np.ones(30_000)
        history_ = {}  # noqa: RUF012
        n_iter_ = 0
        _scale_view = None  # there was no fit

    found = summarise(Quick(3), views, described(Quick(3), views))
    assert found["map"]["n_shown"] == 2000
    shown = np.bincount(found["map"]["cluster"])
    assert shown[2] == found["clusters"][2]["size"] == 15
    text = render(found)
    assert "2,000 of 30,000 samples" in parse(text).text
    assert len(text) < 3_000_000


def test_a_report_is_written_as_a_whole(blobs, tmp_path, parse):
    model = fit(blobs, 3)
    write_report(model, blobs, tmp_path / "report.html")
    page = parse((tmp_path / "report.html").read_text(encoding="utf-8"))
    assert "3 clusters of 60 samples" in page.text
    write_report(model, list(blobs.arrays), tmp_path / "report.html")  # arrays without names and labels
    assert "view1" in parse((tmp_path / "report.html").read_text(encoding="utf-8")).text
    with pytest.raises(OSError, match="cannot be written"):
        write_report(model, blobs, tmp_path / "no such folder" / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_the_usual_records_come_first(models):
    lines = convergence_lines(models["GraphEnsemble"], ["a", "b", "c"])
    assert [line["name"] for line in lines[:2]] == ["agreement", "stability"]
    assert {line["group"] for line in lines[:2]} == {"agreement of the labels"}
    assert lines[0]["unit"] == "members"
    tbgl = convergence_lines(models["TBGL"], ["a", "b", "c"])
    assert tbgl[0]["name"] == "objective"
    assert tbgl[0]["y"] == models["TBGL"].history_["objective"].tolist()
    assert [line["name"] for line in tbgl if line["group"] == "view weights"] == ["a", "b", "c"]


def test_methods_that_do_not_go_in_passes(models):
    model = models["LMVSC"]
    assert convergence_lines(SimpleNamespace(history_=model.history_, n_iter_=3), ["a", "b", "c"]) == []
    assert convergence_lines(SimpleNamespace(), []) == []
    assert convergence_lines(SimpleNamespace(history_={"objective": np.array([])}, n_iter_=0), []) == []


def test_long_histories_are_thinned_and_missing_values_kept():
    values = np.arange(5000.0)
    values[0] = np.nan
    (line,) = convergence_lines(SimpleNamespace(history_={"objective": values, "odd": values[:3]}, n_iter_=5000), [])
    assert len(line["x"]) == len(line["y"]) == 400
    assert (line["x"][0], line["x"][-1], line["y"][0], line["y"][-1]) == (1, 5000, None, 4999)
