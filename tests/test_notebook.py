"""What objects show in a notebook, their short texts elsewhere, and the notebook of the documentation, executed."""

from __future__ import annotations

import os
import pickle
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble, Views, describe, suggest_n_clusters
from manyview._utils import html
from manyview.audit import audit_order, audit_seeds, inspect_views
from manyview.cluster import SMSC
from manyview.datasets import make_multiview
from manyview.report import Report, write_report

SCRIPT = "<script>alert('x')</script>\x1b[2J"


class Seen(HTMLParser):
    """The texts and the tags of a piece of HTML; refuses tags that are not closed in order."""

    VOID = frozenset({"br"})

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self._open = [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in self.VOID:
            self._open.append(tag)

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open[-1] != "style":
            self.texts.append(data)


def seen(shown):
    found = Seen(shown._repr_html_())
    assert set(found.tags) <= {
        *("div", "style", "p", "strong", "table", "thead", "tbody", "tr", "th", "td", "br", "details", "summary"),
    }
    return found.texts


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(60, 3, noise=0.3, random_state=0)


@pytest.fixture(scope="module")
def model(blobs):
    return GraphEnsemble(3, n_members=4, random_state=0).fit(blobs)


def test_views_show_names_sizes_types_missing_samples_and_first_rows():
    present = np.ones((6, 3), dtype=bool)
    present[[0, 2], 1] = False
    frame = pd.DataFrame({"TP53": [1.5] * 6, "MYC": [2] * 6}, index=list("abcdef"))
    words = sp.csc_array(np.arange(24).reshape(6, 4))
    views = Views(
        [frame, np.full((6, 5), 0.25, dtype=np.float32), words],
        ["mrna", "gist", "words"],
        sample_ids=[f"patient {i}" for i in range(6)],
        labels=["luminal", None, "basal", "basal", "basal", "basal"],
        present=present,
        metadata=pd.DataFrame({"age": range(6)}),
    )
    texts = seen(views)
    assert texts[0] == "6 samples in 3 views, with ids; 2 classes"
    line = texts.index("gist")
    assert texts[line : line + 5] == ["gist", "5", "float32", "2", "–"]
    assert "data frame, float64, int64" in texts
    assert "sparse, int64" in texts
    assert "TP53, MYC" in texts
    first = texts.index("patient 0")
    assert texts[first : first + 10] == ["patient 0", "luminal", "1.5", "2", "–", "–", "–", "0", "1", "2"]
    second = texts.index("patient 1")
    assert texts[second : second + 7] == ["patient 1", "–", "1.5", "2", "0.25", "0.25", "0.25"]
    assert "patient 4" in texts
    assert "patient 5" not in texts
    assert "Metadata: age" in texts


def test_nothing_of_dask_arrays_is_computed():
    array = pytest.importorskip("dask.array", reason="needs dask: pip install manyview[dask]")

    def refuse(block):
        raise AssertionError("computed")

    lazy = array.ones((6, 2), chunks=3).map_blocks(refuse, meta=np.empty((0, 0)))
    texts = seen(Views([lazy, np.ones((6, 1))], ["lazy", "there"]))
    assert "Dask, float64" in texts
    assert texts.count("lazy") == 1  # not in the table of the first rows
    assert texts.count("there") == 2


def test_of_many_views_the_first_are_shown():
    texts = seen(Views([np.ones((3, 1))] * 20))
    assert "… and 8 more" in texts
    assert "view11" in texts
    assert "view12" not in texts


@pytest.mark.parametrize("n_samples", [0, 1])
def test_few_samples_are_no_problem(n_samples):
    expected = "1 sample in 1 view" if n_samples else "0 samples in 1 view"
    assert seen(Views([np.ones((n_samples, 2))]))[0] == expected


def test_a_suggestion_shows_its_reason_and_the_numbers():
    found = suggest_n_clusters(make_multiview(120, 3, random_state=0), range(2, 7), random_state=0)
    assert repr(found) == "ClusterCountSuggestion(n_clusters=3, sure=True)"
    unsure = replace(found, sure=False, candidates=(3, 5))
    assert repr(unsure) == "ClusterCountSuggestion(n_clusters=3, sure=False, candidates=(3, 5))"
    texts = seen(unsure)
    assert texts[:2] == ["3 clusters: the evidence is weak", found.reason]
    assert "All 5 numbers that were tried" in texts
    row = texts.index("5")
    assert texts[row + 6] == f"{found.curve['score'][3]:.4g}"
    assert unsure._repr_html_().count('<tr class="marked"><td class="number">3</td>') == 2


def test_audits_show_the_verdict_and_every_run(blobs):
    found = audit_order(SMSC(3, random_state=0), blobs, n_shuffles=2)
    assert repr(found) == "AuditResult(order of SMSC: passed, agreement 1.000, 60 samples)"
    texts = seen(found)
    assert texts[:2] == ["Does the order of the rows change the answer?", f"Passed. {found.verdict}"]
    row = texts.index("shuffle 2")
    assert texts[row : row + 3] == ["shuffle 2", "1", "0"]
    failed = replace(found, pairwise=np.full((3, 3), 0.1), accuracy=None, warnings=("Careful: x",))
    assert repr(failed) == "AuditResult(order of SMSC: failed, agreement 0.100, 60 samples)"
    assert seen(failed)[-1] == "Warning: Careful: x"


def test_an_audit_without_runs_shows_why(blobs):
    class NoSeed:
        def get_params(self, deep=True):
            return {}

        def set_params(self):
            return self

    found = audit_seeds(NoSeed(), blobs)
    assert repr(found) == "AuditResult(seeds of NoSeed: passed, 60 samples)"
    assert seen(found)[1] == f"Passed. {found.verdict}"


def test_an_inspection_shows_views_and_problems(blobs):
    given = replace(
        blobs, arrays=(np.hstack([blobs.arrays[0], np.ones((60, 1))]), *blobs.arrays[1:]), feature_names=None
    )
    found = inspect_views(given)
    assert re.fullmatch(r"Inspection\(60 samples, without ids; 3 views, .*; 1 problem\)", repr(found))
    texts = seen(found)
    assert texts[0] == found.overview
    assert {"note", found.problems[0]["text"]} <= set(texts)


def test_a_description_shows_a_line_for_each_cluster(blobs, model):
    found = describe(blobs, model, n_markers=3)
    texts = seen(found)
    assert texts[0] == "3 clusters of 60 samples"
    row = texts.index("cluster 1")
    best = found.markers[(found.markers["cluster"] == 1) & (found.markers["view"] == "view0")].iloc[0]
    assert texts[row + 1] == str((model.labels_ == 1).sum())
    assert texts[row + 4].startswith(f"view0: {best['direction']} {best['feature']} ({best['auroc']:.2f})")
    assert f"markers, the first 20 of {len(found.markers)} rows" in texts
    typical = found.typical[(found.typical["cluster"] == 1) & (found.typical["role"] == "typical")]
    assert ", ".join(map(str, typical["sample"].head(3))) in texts


def test_texts_stay_short(blobs, model):
    found = [suggest_n_clusters(blobs, [2, 3], random_state=0), audit_seeds(SMSC(3), blobs, n_seeds=1)]
    for shown in [blobs, *found, inspect_views(blobs)]:
        assert len(repr(shown)) < 200
        assert "\n" not in repr(shown)
        assert "array" not in repr(shown)


def test_names_from_outside_are_harmless():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(np.arange(40)[:, None] % 2 * 9, 1, (40, 3)) for _ in range(2)]
    views = Views(
        arrays,
        [SCRIPT, "b"],
        sample_ids=[f"{SCRIPT}{i}" for i in range(40)],
        labels=[f"<b>{i % 2}" for i in range(40)],
        feature_names=[[f"<i>{SCRIPT}{j}" for j in range(3)], None],
        metadata=pd.DataFrame({f"<u>{SCRIPT}": range(40)}),
    )
    model = GraphEnsemble(2, n_members=4, random_state=0).fit(views)
    audit = replace(audit_seeds(model, views, n_seeds=1), warnings=(SCRIPT,))
    description = describe(views, model, rename={0: f"<img src=x>{SCRIPT}"})
    for shown in (views, audit, inspect_views(views), description):
        texts = "".join(seen(shown))
        assert "\x1b" not in texts
    assert "<script>alert" in "".join(seen(views))  # as a text


def test_tables_refuse_rows_of_another_length():
    with pytest.raises(ValueError, match="zip"):
        html.table(["a"], [[1, 2]])


def test_numbers_texts_and_nothing():
    row = [1234567, 0.000123456, -1.5, np.float64("nan"), None, True, np.int64(3), "x" * 500]
    texts = Seen(html.block([html.table(range(8), [row])])).texts[8:]
    assert texts[:7] == ["1,234,567", "0.0001235", "−1.5", "–", "–", "True", "3"]
    assert len(texts[7]) < 210
    assert 'style="width: 0.00em"' in html.bar(float("nan"))
    assert 'style="width: 6.00em"' in html.bar(7.0)


def test_a_report_is_a_path_that_shows_itself(blobs, model, tmp_path):
    report = write_report(model, blobs, tmp_path / "a & b.html", description=False)
    assert str(report) == os.fspath(report) == str(tmp_path / "a & b.html")
    assert Path(report) == report.path
    assert repr(report) == f"Report({str(report)!r})"
    assert report == Report(str(report)) != Report("other.html")
    assert len({report, Report(str(report))}) == 1
    assert pickle.loads(pickle.dumps(report)) == report  # noqa: S301
    with open(report, encoding="utf-8") as file:
        page = file.read()
    shown = report._repr_html_()
    assert "a &amp; b.html" in shown
    assert len(shown) < len(page) / 2
    assert 'sandbox="allow-scripts allow-downloads allow-popups"' in shown


def test_a_report_that_is_gone_says_so(tmp_path):
    shown = Report(tmp_path / "gone <b>.html")._repr_html_()
    assert "cannot be shown" in shown
    assert "gone &lt;b&gt;.html" in shown
    assert "<iframe" not in shown


NOTEBOOK = Path(__file__).resolve().parents[1] / "docs" / "notebook.ipynb"


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The outputs of the cells of the notebook, by id, and the folder in which it was executed."""
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install 'manyview[dev]'")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install 'manyview[dev]'")
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install 'manyview[dev]'")
    folder = tmp_path_factory.mktemp("notebook")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}}).execute()
    return {cell.id: cell.outputs for cell in notebook.cells if cell.cell_type == "code"}, folder


def data_of(executed, cell, number=-1):
    return executed[0][cell][number]["data"]


def test_the_notebook_is_stored_without_outputs():
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert '"outputs": []' in text
    assert '"output_type"' not in text


@pytest.mark.parametrize(
    ("cell", "what"),
    [
        ("suggest", r"suggest_n_clusters 4 fits"),
        ("fit", r"GraphEnsemble \d+ members agreement 0\.9"),
        ("audit", r"audit_seeds 3 fits"),
        ("describe", r"describe 5 views"),
        ("report", r"write_report 3 parts"),
    ],
)
def test_the_notebook_leaves_one_bar_for_every_long_call(cell, what, executed):
    outputs = [each for each in executed[0][cell] if each["output_type"] == "display_data"]
    assert len(outputs) == 1
    assert re.search(rf"^{what}.* s$", outputs[0]["data"]["text/plain"], re.MULTILINE)
    assert "<progress" in outputs[0]["data"]["text/html"]
    assert not any(each["output_type"] in ("stream", "error") for each in executed[0][cell])


@pytest.mark.parametrize(
    ("cell", "text", "shown"),
    [
        ("views", "Views(451 samples; pixels: 64", "<strong>451 samples in 5 views, with ids; 5 classes</strong>"),
        ("suggest", "ClusterCountSuggestion(n_clusters=5", "<strong>5 clusters: "),
        ("audit", "AuditResult(seeds of GraphEnsemble", "<strong>Does the seed change the answer?</strong>"),
        ("describe", "cluster 0: ", "<strong>5 clusters of 451 samples</strong>"),
        ("report", "Report('report.html')", "<iframe srcdoc="),
    ],
)
def test_the_notebook_shows_its_objects(cell, text, shown, executed):
    data = data_of(executed, cell)
    assert data["text/plain"].startswith(text)
    assert shown in data["text/html"]


def test_the_notebook_writes_its_report(executed):
    page = (executed[1] / "report.html").read_text(encoding="utf-8")
    assert "<h1>5 clusters of 451 samples</h1>" in page
