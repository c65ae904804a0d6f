"""What the clusters are, on a page: values against the data, limits for large data, and what must not be shown."""

from __future__ import annotations

import base64
import copy
import json
import struct
import sys
import zlib
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble, Views, describe
from manyview.description.survival import kaplan_meier
from manyview.exceptions import ViewsError
from manyview.report import description_figures
from manyview.report._described import _round_times, at_risk
from manyview.report._sample_pictures import SamplePictures
from manyview.report.description import render_description
from manyview.report.run import render, summarise, write_report

HOSTILE = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>{{ 7 * 7 }}\n\x1b[31m"


@pytest.fixture(autouse=True)
def without_plotly(monkeypatch):
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plotly.js */")


@pytest.fixture(scope="module")
def tumours():
    """Sixty samples in three clusters with ids, names of features, metadata and survival; some lack a view."""
    rng = np.random.default_rng(0)
    kind = np.repeat([0, 1, 2], 20)
    rna = rng.normal(size=(60, 8))
    rna[:, 0] += 6 * (kind == 0)
    rna[:, 1] -= 6 * (kind == 1)
    counts = rng.poisson(1.0, size=(60, 6)) + 8 * np.eye(6, dtype=int)[kind]
    metadata = pd.DataFrame(
        {
            "stage": np.array(["early", "late", None], dtype=object)[np.where(rng.random(60) < 0.1, 2, kind // 2)],
            "age": rng.normal(60, 5, size=60) + 10 * kind,
            "barcode": [f"barcode-{row}" for row in range(60)],
            "plate": np.array(["p1", "p2", "p3"])[kind],
            "days": rng.exponential(100 * (kind + 1)),
            "dead": (rng.random(60) < 0.7).astype(int),
        }
    )
    present = np.ones((60, 2), dtype=bool)
    present[5, 0] = False
    return Views(
        [rna, sp.csr_array(counts.astype(float))],
        ("rna", "counts"),
        sample_ids=[f"patient-{row}" for row in range(60)],
        feature_names=[[f"gene{j}" for j in range(8)], [f"word{j}" for j in range(6)]],
        metadata=metadata,
        present=present,
        labels=np.array(["alpha", "beta", "gamma"])[kind],
    )


@pytest.fixture(scope="module")
def model(tumours):
    return GraphEnsemble(3, n_members=4, random_state=0).fit(tumours)


@pytest.fixture(scope="module")
def found(tumours, model):
    return describe(
        tumours,
        model,
        survival="days,dead",
        rename={0: "first kind"},
        pictures=np.arange(60 * 12.0).reshape(60, 3, 4),
        texts=[f"a note on patient-{row}" for row in range(60)],
    )


@pytest.fixture(scope="module")
def summary(tumours, model, found, described):
    return summarise(model, tumours, described(model, tumours), description=found)


def test_it_is_plain_values(summary):
    json.dumps(summary, allow_nan=False)
    assert summary["names"] == ["first kind", "cluster 1", "cluster 2"]


def test_stored_markers_are_the_values_of_the_drawn_samples(summary, tumours):
    contents = summary["description"]
    markers = [column for column in contents["columns"] if column["group"] is not None]
    assert {column["group"] for column in markers} == {"rna", "counts"}
    for column in markers:
        v = tumours.names.index(column["group"])
        dense = tumours.arrays[v] if v == 0 else tumours.arrays[v].toarray()
        values = dense[:, tumours.feature_names[v].index(column["feature"])]
        has = tumours.present[:, v]
        assert [value is None for value in column["values"]] == (~has).tolist()
        np.testing.assert_allclose(np.array(column["values"], dtype=float)[has], values[has], rtol=1e-3)
        assert column["centre"] == pytest.approx(values[has].mean())
        assert column["spread"] == pytest.approx(values[has].std())


def test_samples_are_ordered_by_cluster_and_confidence(summary, model):
    order = np.array(summary["description"]["order"])
    assert sorted(order) == list(range(60))
    keys = list(zip(model.labels_[order], -model.confidence_[order].round(3), strict=True))
    assert keys == sorted(keys)


def test_a_marker_has_one_row_in_the_heat_map_and_says_whose_it_is(summary, found):
    contents = summary["description"]
    for heat in contents["heat"]:
        rows = [contents["columns"][row["column"]]["feature"] for row in heat["rows"]]
        assert len(set(rows)) == len(rows)
        of_view = found.markers[found.markers["view"] == heat["view"]].set_index(["feature", "cluster"])
        for feature, row in zip(rows, heat["rows"], strict=True):
            assert of_view.loc[(feature, row["cluster"]), "direction"] == row["direction"]


def test_sentences_name_what_was_built_in(summary, tumours, model):
    of_kind = {kind: int(np.bincount(model.labels_[tumours.labels == kind]).argmax()) for kind in ("alpha", "beta")}
    clusters = summary["description"]["clusters"]
    first, second = clusters[of_kind["alpha"]], clusters[of_kind["beta"]]
    assert {"gene0", "word0"} <= {marker["feature"] for marker in first["top"]}
    (rna,) = [view for view in second["views"] if view["view"] == "rna"]
    assert rna["low"][0]["feature"] == "gene1"
    assert any(words.startswith("plate: 100 % p1, elsewhere 0 %") for words in first["goes_with"])
    assert any(words.startswith("age: median ") for words in first["goes_with"])


def test_metadata_columns_colour_the_map(summary, tumours):
    columns = {column["name"]: column for column in summary["description"]["columns"] if column["group"] is None}
    assert set(columns) == {"stage", "age", "plate", "days", "dead"}  # and not the barcode, which names samples
    stage = columns["stage"]
    named = [None if code is None else stage["categories"][code] for code in stage["values"]]
    known = tumours.metadata["stage"]
    assert named == [None if missing else value for value, missing in zip(known, known.isna(), strict=True)]
    np.testing.assert_allclose(columns["age"]["values"], tumours.metadata["age"], rtol=1e-3)


def test_the_page_says_it_in_words(summary, parse, found):
    page = parse(render(summary))
    ids = [own["id"] for _, own in page.elements if own.get("id")]
    sections = ["answer", "map", "markers", "typical", "metadata", "survival", "graphs"]
    assert [name for name in ids if name in sections] == sections
    assert {own["href"].removeprefix("#") for own in page.tags("a")} <= {*ids, "main"}
    assert "make it look significant" in page.text
    assert f"log-rank test: χ² {found.survival_curves.statistic:.2f}, 2 degrees of freedom" in page.text
    assert "Possible artefact. plate is about how samples were handled" in page.text
    assert page.line("Metadata and clusters", "barcode")[-1] == "60 different values for 60 samples"
    (stage,) = [column for column in summary["description"]["columns"] if column["name"] == "stage"]
    assert page.line("Metadata and clusters", "stage")[4] == str(stage["values"].count(None)) != "0"
    header, *rows = page.table("Markers")
    assert len(rows) == len(found.markers)
    assert header[:5] == ["Cluster", "View", "Feature", "", "AUROC"]
    assert rows[0][4] == f"{found.markers['auroc'][0]:.3f}"
    assert "first kind" in page.text
    pictures = [own for own in page.tags("img") if own["alt"].startswith("Sample patient-")]
    assert len(pictures) == 30 + 9  # five typical and five doubtful of each cluster, and three at a glance
    assert "a note on patient-" in page.text


def test_numbers_at_risk_are_counted(summary, tumours, model, found):
    survival = summary["description"]["survival"]
    days = tumours.metadata["days"].to_numpy()
    for curve in survival["curves"]:
        own = days[model.labels_ == curve["cluster"]]
        assert curve["at_risk"] == [int((own >= time).sum()) for time in survival["ticks"]]
        assert curve["at_risk"][0] == curve["n"]
        np.testing.assert_allclose(
            curve["y"], found.survival_curves.curves[curve["cluster"]].alive(curve["x"]), atol=1e-5
        )
    drawn = description_figures.survival(survival, 3)
    assert [trace["mode"] for trace in drawn.data] == ["lines", "markers"] * 3


@pytest.mark.parametrize("seed", range(5))
def test_numbers_at_risk_with_ties(seed):
    rng = np.random.default_rng(seed)
    times, events = rng.integers(1, 8, size=30).astype(float), rng.random(30) < 0.5
    asked = np.arange(0, 10, 0.5)
    expected = [int((times >= time).sum()) for time in asked]
    assert at_risk(kaplan_meier(times, events), asked).tolist() == expected


@pytest.mark.parametrize("last", [0.0, 0.003, 1.0, 9.99, 61.0, 3041.0, 1e6])
def test_round_times_cover_the_curves(last):
    times = _round_times(last)
    assert times[0] == 0
    assert len(times) <= 8
    assert times[-1] <= last or last == 0
    if last:
        assert len(times) >= 4
        assert last - times[-1] < times[1] * (1 + 1e-9)


def test_no_sample_is_named_if_that_is_not_wanted(tumours, model, found, described, parse):
    result = described(model, tumours, warnings=["patient-3, patient-4: missing", "3 views"])
    kept = copy.deepcopy(result)
    summary = summarise(model, tumours, result, description=found, sample_names=False)
    assert result == kept
    page = render(summary)
    for words in ("patient-", "barcode-", "a note on", "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAQAAAAD"):
        assert words not in page, words
    assert [column["name"] for column in summary["description"]["columns"] if column["group"] is None] == []
    assert summary["map"]["label"] is None
    assert all(one["label"] is None for listed in summary["cluster_samples"] for one in listed["shown"])
    text = parse(page).text
    assert "alpha" in text  # in tables of groups only
    assert "Samples are shown by their row number, from 0." in text
    assert "A warning about single samples is not shown here." in text
    assert "3 views" in text
    assert "early" in text


def test_a_description_of_other_clusters_is_refused(tumours, model, described):
    other = describe(tumours, np.arange(60) % 3, p_values=False)
    with pytest.raises(ViewsError, match="about other clusters than those of the model"):
        summarise(model, tumours, described(model, tumours), description=other)


def test_a_report_describes_by_itself_without_p_values(tumours, model, tmp_path, parse):
    write_report(model, tumours, tmp_path / "own.html")
    page = parse((tmp_path / "own.html").read_text(encoding="utf-8"))
    assert "There are no p values here" in page.text
    assert "plate" in page.text
    write_report(model, tumours, tmp_path / "none.html", description=False)
    page = parse((tmp_path / "none.html").read_text(encoding="utf-8"))
    assert "What sets each cluster apart" not in page.text
    write_report(model, tumours, tmp_path / "rows.html", sample_names=False)
    assert "patient-" not in (tmp_path / "rows.html").read_text(encoding="utf-8")


def test_labels_from_anywhere_have_a_page(tumours, parse):
    labels = np.array(["a", "b", "c", None] * 15, dtype=object)
    views = replace(tumours, sample_ids=None)
    page = parse(
        render_description(describe(views, labels, survival="days,dead"), views, files=["x.csv"], command="go")
    )
    assert "3 clusters of 45 samples" in page.text
    assert "Given by labels" in page.text
    assert "15 samples without a label are left out." in page.text
    ids = [own["id"] for _, own in page.elements if own.get("id")]
    for section in ("answer", "map", "markers", "typical", "metadata", "survival", "graphs", "views", "reproduce"):
        assert section in ids
    assert "convergence" not in ids
    (drawn,) = [figure for figure in page.figures() if "colourings" in figure]
    (trace,) = drawn["data"]
    rows = [int(text.split("<br>")[0].removeprefix("sample ")) for text in trace["hovertext"]]
    assert rows == [row for row in range(60) if row % 4 < 3]  # rows of the views, not of those with a label
    assert [labels[row] for row in rows] == [text.split("<br>")[1] for text in trace["hovertext"]]
    with pytest.raises(ViewsError, match="expected those that were described"):
        render_description(describe(views, labels), views.take(np.arange(5)))


def test_names_cannot_harm(tumours, parse):
    n = tumours.n_samples
    long = "x" * 100_000
    views = Views(
        tumours.arrays,
        (HOSTILE, long),
        sample_ids=[f"{HOSTILE}{row}" for row in range(n)],
        feature_names=[[f"{HOSTILE}{j}" for j in range(8)], [f"{long}{j}" for j in range(6)]],
        metadata=tumours.metadata.rename(columns={"stage": HOSTILE, "age": long}).replace({"p1": HOSTILE, "p2": long}),
    )
    labels = np.array(["alpha", "beta", "gamma"]).searchsorted(tumours.labels)
    found = describe(views, labels, rename={0: HOSTILE, 1: long}, texts=[HOSTILE] * n, survival="days,dead")
    text = render_description(found, views)
    page = parse(text)
    plain = parse(render_description(describe(tumours, labels, survival="days,dead", texts=["a"] * n), tumours))
    assert {tag for tag, _ in page.elements} & {"script", "img", "iframe", "object", "link"} == {"script", "img"}
    assert len(page.tags("img")) == len(plain.tags("img"))
    assert len(page.tags("script")) == len(plain.tags("script"))
    assert not [name for _, own in page.elements for name in own if name.startswith("on")]
    assert len(text) < 1_000_000
    assert "\x1b" not in text
    json_parts = [script for script in page.scripts if script.startswith("{")]
    assert all("<" not in script for script in json_parts)


def test_many_clusters_columns_and_features_stay_small(parse):
    rng = np.random.default_rng(0)
    n, k = 3000, 100
    labels = np.arange(n) % k
    arrays = [rng.normal(size=(n, 300)).astype(np.float32), rng.normal(size=(n, 40))]
    arrays[0][:, :k] += 5 * np.eye(k)[labels]
    metadata = pd.DataFrame({f"column {j}": rng.choice(["a", "b"], size=n) for j in range(100)})
    views = Views(arrays, metadata=metadata.assign(numbers=rng.normal(size=n)))
    found = describe(views, labels)
    text = render_description(found, views)
    page = parse(text)
    assert len(text) < 8_000_000  # plotly.js comes on top, with five
    assert sum(own.get("class") == "column" for own in page.tags("figure")) == 12
    heat = [figure for figure in page.figures() if "spans" in figure]
    assert len(heat[0]["rows"]) == 40
    assert len(heat[1]["rows"]) <= 40  # clusters share markers
    assert "60 smaller clusters are left out" in page.text
    assert len(page.table("Markers")) - 1 == len(found.markers) == 2000


@pytest.mark.slow
def test_a_million_samples():
    rng = np.random.default_rng(0)
    n = 1_000_000
    labels = rng.integers(4, size=n)
    metadata = {"batch": rng.choice(["a", "b"], size=n), "days": rng.exponential(9, n), "dead": labels > 1}
    views = Views(
        [rng.normal(size=(n, 3)).astype(np.float32) + labels[:, None], rng.normal(size=(n, 2)).astype(np.float32)],
        sample_ids=np.arange(n),
        metadata=pd.DataFrame(metadata),
    )
    found = describe(views, labels, survival="days,dead")
    text = render_description(found, views)
    assert len(text) < 3_000_000
    assert found.clusters["size"].sum() == n
    assert "2,000 of 1,000,000 samples" in text


def test_one_cluster_has_nothing_that_sets_it_apart(parse):
    views = Views([np.random.default_rng(0).normal(size=(20, 3)), np.eye(20)])
    page = parse(render_description(describe(views, np.zeros(20, dtype=int)), views))
    assert "there is one cluster, and nothing to compare it with" in page.text


def pixels(address):
    """The pixels of a PNG image without filters, as rows of bytes."""
    png = base64.b64decode(address.removeprefix("data:image/png;base64,"))
    width, height = struct.unpack(">II", png[16:24])
    start = png.index(b"IDAT")
    (length,) = struct.unpack(">I", png[start - 4 : start])
    lines = np.frombuffer(zlib.decompress(png[start + 4 : start + 4 + length]), dtype=np.uint8).reshape(height, -1)
    return lines[:, 1:].reshape(height, width, -1)


def test_pictures_of_arrays_share_one_scale():
    pictures = SamplePictures({3: np.array([[0, 16], [8, 4]]), 7: np.array([[4.0, np.nan], [0, 0]])})
    np.testing.assert_array_equal(pixels(pictures.address(3))[..., 0], [[0, 255], [128, 64]])
    np.testing.assert_array_equal(pixels(pictures.address(7))[..., 0], [[64, 0], [0, 0]])
    assert pictures.address(5) is None
    assert pictures.reason(5) is None
    colours = SamplePictures({0: np.full((400, 200, 3), [255, 0, 128], dtype=np.uint8)})
    small = pixels(colours.address(0))
    assert small.shape == (133, 66, 3)
    assert (small == [255, 0, 128]).all()


def test_pictures_of_files_are_embedded_or_scaled_down(tmp_path):
    image = pytest.importorskip("PIL.Image")
    noise = np.random.default_rng(0).integers(0, 255, size=(900, 700, 3), dtype=np.uint8)
    image.fromarray(noise).save(tmp_path / "large.png")
    image.fromarray(noise[:20, :20]).save(tmp_path / "small.png")
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100_000))
    (tmp_path / "page.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>")
    paths = {row: str(tmp_path / name) for row, name in enumerate(["large.png", "small.png", "broken.png", "page.svg"])}
    pictures = SamplePictures({**paths, 4: tmp_path / "absent.png"})
    found = [pictures.address(row) for row in range(5)]
    assert found[0].startswith("data:image/jpeg;base64,")
    assert len(found[0]) < 60_100
    assert base64.b64decode(found[1].removeprefix("data:image/png;base64,")) == (tmp_path / "small.png").read_bytes()
    assert found[2:] == [None, None, None]
    assert [pictures.reason(row) for row in (0, 1)] == [None, None]
    assert all(pictures.reason(row) for row in (2, 3, 4))
    assert pictures.reason(4) == "absent.png: No such file or directory"


def test_without_pillow_large_files_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    (tmp_path / "photo.jpg").write_bytes(b"\xff\xd8\xff" + bytes(100_000))
    pictures = SamplePictures({0: tmp_path / "photo.jpg"})
    assert pictures.address(0) is None
    assert pictures.reason(0) == "photo.jpg: too large to embed; with Pillow installed it is scaled down"


def test_all_pictures_together_are_bounded():
    rng = np.random.default_rng(0)
    pictures = SamplePictures({row: rng.integers(0, 255, size=(150, 150, 3)) for row in range(60)})
    found = [pictures.address(row) for row in range(60)]
    assert sum(len(one) for one in found if one) <= 2_000_000
    assert pictures.reason(59) == "the page would be too large"
