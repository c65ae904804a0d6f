"""Names that try to be more than names, through everything that shows them.

Names of views, samples, classes, columns, files, methods and datasets come from files. Whoever sees them in an error, a
terminal, a page or a table must see text: nothing that is run, nothing that moves the cursor, nothing without end.
"""

from __future__ import annotations

import csv
import io
import json
import shutil

import numpy as np
import pandas
import pytest
from typer.testing import CliRunner

from manyview import Views, check_views, exceptions, read_views
from manyview.cli import app
from manyview.datasets import make_multiview
from manyview.experiments import Spec, summarise, to_csv, to_latex, to_markdown
from manyview.experiments._model import FAILED, SHUFFLED, Cell, CellResult, Dataset, DatasetFacts, Entry, Part, Row
from manyview.experiments._worker import COMPONENTS, LEARNED, graph_pictures
from manyview.report.experiments import render

LONG = 100_000
HOSTILE = {
    "script": "<script>alert(1)</script>",
    "image": '"><img src=x onerror=alert(1)>',
    "end of script": "</script><script>alert(1)</script>",
    "template": "{{7*7}}{% raw %}",
    "markup": "[red]:smile:[/red]",
    "address": "javascript:alert(1)",
    "lines": "one\ntwo\r\nthree\rfour\tfive",
    "nul": "a\0b",
    "clear": "\x1b[2J\x1b[31m",
    "title": "\x1b]0;owned\x07\x1b]8;;http://example.org\x1b\\link\x1b]8;;\x1b\\",
    "one-byte": "\x9b2J\x9d0;owned\x9c",
    "override": "\u202egnp.exe\u2066",
    "invisible": "a\u200b\u2060b\ufeff",
    "surrogate": "a\ud800b",
    "combining": "z" + "\u0301\u0489" * 500,
    "long": "x" * LONG,
    "blank": " ",
    "formula": "=cmd|'/C calc'!A0",
    "path": "../../etc/x",
    "composed": "é",
    "decomposed": "e\u0301",
    "learned": LEARNED,
    "components": COMPONENTS,
    "markdown": "|a|**b**|[c](javascript:alert(1))`d`\n\n# heading",
    "latex": "\\input{/etc/passwd}$&#_^~%{",
}
IN_TEXT = {key: name for key, name in HOSTILE.items() if key not in ("nul", "surrogate")}
"""Those that a text file can hold."""

SHARP = {key: IN_TEXT[key] for key in ("script", "lines", "title", "one-byte", "override", "long", "markup")}
"""Enough where each takes its time."""

LONGEST_LINE = 4000


def assert_harmless(text, longest=LONGEST_LINE):
    """Text for a terminal: no command in it, and no line without end."""
    acted_on = {char for char in text if not char.isprintable() and char != "\n"}
    assert not acted_on
    assert max(map(len, text.split("\n"))) <= longest


def made(**more):
    views = make_multiview(30, 2, n_views=2, noise=0.1, random_state=0)
    return Views(views.arrays, labels=views.labels, **more)


@pytest.fixture
def call(tmp_path, monkeypatch):
    """Run a command in this process, in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        fixed = {"COLUMNS": "100", "MANYVIEW_DEBUG": None, "FORCE_COLOR": None}
        return CliRunner(env=fixed).invoke(app, [str(word) for word in words], prog_name="manyview")

    return call


# Errors ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE)
def test_errors_about_views(name):
    a, b = made().arrays
    spoilt = b.copy()
    spoilt[3, 1] = np.nan
    ids = [f"{name}{i}" for i in range(29)] + [f"{name}3"]
    refused = [
        lambda: Views([a, b[:-1]], names=[name, "b"]),
        lambda: Views([a, b], names=[name, name]),
        lambda: check_views(Views([a, spoilt], names=["a", name])),
        lambda: Views([a, b], names=[name]),
        lambda: Views([a, b], sample_ids=ids, present=np.eye(30, 2, dtype=bool)),
    ]
    for act in refused:
        with pytest.raises(exceptions.ViewsError) as error:
            act()
        assert_harmless(str(error.value))
    assert_harmless(repr(Views([a, b], names=[name, "b"])))
    with pytest.raises(KeyError) as error:
        Views([a, b], names=[name, "b"])["c"]
    assert_harmless(str(error.value))


@pytest.mark.parametrize("kind", [kind for kind in vars(exceptions).values() if isinstance(kind, type)])
def test_no_error_of_ours_commands_a_terminal(kind):
    if issubclass(kind, exceptions.MissingDependencyError | Warning):  # their texts are ours
        return
    for name in HOSTILE.values():
        assert_harmless(str(kind(f"{name}: expected less, got {name}. Do more.")))
    long = str(kind(f"first {HOSTILE['long']} last"))
    assert long.startswith("first x")
    assert long.endswith("x last")
    assert str(kind("views['ä']: expected 2, got 3. Do – this.")) == "views['ä']: expected 2, got 3. Do – this."


@pytest.mark.parametrize("name", IN_TEXT.values(), ids=IN_TEXT)
def test_errors_about_tables(tmp_path, name):
    path = tmp_path / "a.csv"
    for columns, rows in (
        (["id", "x"], [[name, 1.0], [name, 2.0]]),
        (["id", name], [["a", "text"], ["b", "more"]]),
        ([name, name], [["a", "b"], ["c", "d"]]),
    ):
        pandas.DataFrame(rows, columns=columns).to_csv(path, index=False, quoting=csv.QUOTE_ALL)
        with pytest.raises(exceptions.FileFormatError, match=r"a\.csv") as error:
            read_views(path)
        assert_harmless(str(error.value))


@pytest.mark.parametrize("name", SHARP.values(), ids=SHARP)
def test_errors_of_commands(call, tmp_path, name):
    np.savez(tmp_path / "a.npz", a=np.ones((6, 2)))
    path, short = tmp_path / "a.npz", name[:200].replace("/", "_")
    for words in (
        ("inspect", tmp_path / short),
        ("inspect", path, "--labels", short),
        ("inspect", path, "--views-key", name),
        ("cluster", path, "-k", name),
        ("cluster", path, "-k", "2", "--method", name),
        ("cluster", path, "-k", "2", "--set", f"n_anchors={name}"),
        ("experiments", "show", name),
        (name,),
    ):
        result = call(*words)
        assert result.exit_code == 2, words
        assert_harmless(result.output)
        assert result.stderr.startswith("manyview: ")
        assert "internal error" not in result.stderr


# A whole answer ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two tables, with hostile names wherever there are names."""
    folder = tmp_path_factory.mktemp("hostile")
    names = [name for key, name in IN_TEXT.items() if key != "blank"]
    ids = [f"{name}{i}" for i, name in enumerate(names * 2)][:30]
    views = make_multiview(30, 2, n_views=2, noise=0.1, random_state=0)
    for number, array in enumerate(views.arrays):
        table = pandas.DataFrame(array)
        table.columns = [f"{name}{i}" for i, name in enumerate((names * 3)[: array.shape[1]])]
        table.insert(0, "id", ids)
        if number == 0:
            table["label"] = np.array([HOSTILE["script"], HOSTILE["lines"] + HOSTILE["clear"]])[views.labels]
        table.to_csv(folder / f"{'<b>&' if number else HOSTILE['image'].replace('/', '')}.csv", index=False)
    return folder, ids


@pytest.fixture
def arguments(folder):
    names = f"{HOSTILE['script']}{HOSTILE['clear']}{HOSTILE['override']},{HOSTILE['long']}"
    return folder[0], "--names", names, "--id", "id"


def test_inspect(call, arguments):
    result = call("inspect", *arguments)
    assert result.exit_code == 0, result.output
    assert_harmless(result.stdout, 2 * LONG)  # the command to copy is as long as that which was given
    assert_harmless("\n".join(line for line in result.stdout.splitlines() if not line.startswith("Next")))
    found = json.loads(call("inspect", *arguments, "--json").stdout)
    assert found["views"][1]["name"] == HOSTILE["long"]


def test_cluster_writes_files_that_can_be_read(call, arguments, folder, tmp_path):
    out = tmp_path / HOSTILE["image"].replace("/", "")
    result = call("cluster", *arguments, "-k", "2", "--method", "lmvsc", "--out", out)
    assert result.exit_code == 0, result.output
    assert_harmless("\n".join(line for line in result.stdout.splitlines() if len(line) < LONG))
    assert json.loads((out / "result.json").read_text())["n_clusters"] == 2
    labels = pandas.read_csv(out / "labels.csv", keep_default_na=False, dtype=str)
    assert labels["sample"].tolist() == folder[1]
    page = (out / "report.html").read_text()
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page
    assert len(page) < 8_000_000


def test_cluster_prints_valid_json(call, arguments):
    result = call("cluster", *arguments, "-k", "2", "--method", "lmvsc", "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["n_clusters"] == 2


# Experiments -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=HOSTILE, ids=str)
def summary(request):
    """An experiment in which everything has the hostile name."""
    name = HOSTILE[request.param]
    dataset, row = Dataset(name, {"load": "digits"}), Row(name, "TBGL", note=name)
    cells = [Cell(name, dataset.source, "TBGL", {}, SHUFFLED, seed) for seed in range(2)]
    classes = np.repeat([0, 1], 10)
    done = CellResult(cells[0].key, "done", labels=classes, seconds=1.0, peak_bytes=1, run=1)
    results = {cells[0].key: done, cells[1].key: CellResult(cells[1].key, FAILED, name, run=1)}
    facts = {name: DatasetFacts(name, "f" * 16, 20, ((name, 3),), classes, True)}
    entries = tuple(Entry("one", name, name, cell) for cell in cells)
    part = Part("one", "table", name, name, (dataset,), {name: (row,)}, entries, scores=("acc",), note=name)
    return name, summarise(Spec("tiny", name, (part,)), results, facts, [])


def test_exports(summary):
    name, found = summary
    table = to_csv(found)
    read = list(csv.DictReader(io.StringIO(table, newline="")))
    assert {line["dataset"] for line in read} == {name}
    if "\0" not in name:
        frame = pandas.read_csv(io.BytesIO(table.encode(errors="backslashreplace")), keep_default_na=False)
        assert len(frame) == len(read)
    page = to_markdown(found, command="manyview")
    assert_harmless(page, 20_000)
    assert "<script" not in page
    assert "<img" not in page
    assert "\n# heading" not in page
    latex = to_latex(found, scores=("acc",))
    assert_harmless(latex, 20_000)
    assert "\\input" not in latex


def test_page_of_an_experiment(summary):
    if summary[0] not in SHARP.values():
        return
    page = render(summary[1])
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "\x1b" not in page
    assert len(page) < 8_000_000


def test_a_view_called_learned_keeps_its_picture():
    from manyview import GraphEnsemble

    views = made(names=[LEARNED, COMPONENTS])
    model = GraphEnsemble(2, random_state=0).fit(views)
    plain = graph_pictures(model, made(), np.asarray(views.labels))
    named = graph_pictures(model, views, np.asarray(views.labels))
    assert list(named) == ["learned (view)", "components (view)", *list(plain)[2:]]
    for one, other in zip(named.values(), plain.values(), strict=True):
        np.testing.assert_array_equal(one, other)


# A browser ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_pages_in_a_browser(call, arguments, tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'manyview[dev]'")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("needs Chromium")
    common = ("-k", "2")
    for words in (
        ("cluster", *arguments, *common, "--method", "lmvsc", "--out", tmp_path / "cluster"),
        ("compare", *arguments, *common, "--methods", "lmvsc,smsc", "--seeds", "1", "--out", tmp_path / "compare"),
        ("audit", *arguments, *common, "--method", "lmvsc", "--questions", "order,seeds", "--out", tmp_path / "audit"),
    ):
        result = call(*words)
        assert result.exit_code == 0, result.output[-2000:]
        assert_harmless("\n".join(line for line in result.stdout.splitlines() if len(line) < LONG))
    pages = sorted(tmp_path.rglob("*.html"))
    assert len(pages) == 3
    complaints, requests = [], []
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        for path in pages:
            page = browser.new_page()
            page.on("console", lambda message: complaints.append(message.text))
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("dialog", lambda dialog: (complaints.append("a dialog"), dialog.dismiss()))
            page.on("request", lambda request: requests.append(request.url))
            page.goto(path.as_uri())
            page.wait_for_load_state("load")
            assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
            assert path.stat().st_size < 8_000_000
            page.close()
        browser.close()
    assert complaints == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
