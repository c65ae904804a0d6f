"""Every script of the gallery runs from beginning to end, and finds what its text says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = sorted((ROOT / "examples" / "gallery").glob("plot_*.py"))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run a script of the gallery in an empty folder, as its reader would; what it has defined, and its figures."""
    from matplotlib import pyplot

    monkeypatch.chdir(tmp_path)
    backend = matplotlib.get_backend()
    pyplot.switch_backend("Agg")

    def run(name: str) -> dict[str, Any]:
        found = runpy.run_path(str(ROOT / "examples" / "gallery" / f"plot_{name}.py"))
        for number in pyplot.get_fignums():
            pyplot.figure(number).canvas.draw()
        assert not list(tmp_path.iterdir()), "a script leaves nothing behind"
        return {**found, "n_figures": len(pyplot.get_fignums())}

    yield run
    pyplot.close("all")
    pyplot.switch_backend(backend)


def test_images(run, capsys):
    found = run("images")
    assert found["n_figures"] == 3
    assert found["scores"]["acc"] > max(found["k_means"].values()) + 0.05
    least, _, most = (found["right"][third].mean() for third in found["thirds"])
    assert least < most
    assert found["found"] > found["scores"]["acc"] - 0.1, "new images, by two views"
    assert_order_is_told(capsys.readouterr().out)


def test_text(run, capsys):
    found = run("text")
    assert found["n_figures"] == 3
    assert found["suggestion"].n_clusters == 5
    assert found["suggestion"].sure
    assert found["scores"]["acc"] > 0.95
    about = [set(words) for words in found["top_words"]]
    for topic, cluster in zip(("login", "battery"), found["placed"], strict=True):
        assert len(about[cluster] & set(found["ENGLISH"][topic].split())) >= 6, "the new note is where its topic is"
    assert_order_is_told(capsys.readouterr().out)


def test_omics(run, capsys):
    found = run("omics")
    assert found["n_figures"] == 5
    assert not found["views"].present.all()
    assert found["suggestion"].n_clusters == 4
    assert found["scores"]["acc"] > 0.9 > found["k_means_accuracy"]
    assert found["by_order"].passed
    assert found["new_accuracy"] > 0.85
    assert np.array_equal(found["loaded"].predict(found["new"]), found["model"].predict(found["new"]))
    assert_order_is_told(capsys.readouterr().out)


def test_describe(run, capsys):
    found = run("describe")
    assert found["n_figures"] == 2
    assert sum(view.shape[1] for view in found["views"].values()) == 30, "each column is in one view"
    assert found["scores"]["acc"] > 0.9
    assert found["found"].names[found["large"]] == "large and dented"
    assert (found["best"]["p_corrected"] < 1e-6).all()
    texture = found["best"].set_index("view").loc["texture"]
    assert texture["overlap"] > 0.6
    assert texture["auroc"] < found["best"]["auroc"].max() - 0.1
    assert found["found"].metadata["column"].tolist() == ["diagnosis", "quarter of the table"]
    assert (found["found"].metadata["p_corrected"] < 0.01).all()
    assert found["differs"][found["unsure"]].mean() > 2 * found["differs"][~found["unsure"]].mean()
    assert_order_is_told(capsys.readouterr().out)


def test_embeddings(run, capsys):
    found = run("embeddings")
    assert found["n_figures"] == 1
    both = found["accuracy"].pop("both, GraphEnsemble")
    assert both > max(found["accuracy"].values()) + 0.05
    own = found["about"].typical
    assert own.groupby(["cluster", "role"]).size().max() == found["n_shown"]
    typical = [found["row_of"][name] for name in own.loc[own["role"] == "typical", "sample"]]
    doubtful = [found["row_of"][name] for name in own.loc[own["role"] == "doubtful", "sample"]]
    sure = found["model"].confidence_
    assert sure[typical].mean() > sure[doubtful].mean()
    assert_order_is_told(capsys.readouterr().out)


def test_cells(run, capsys):
    found = run("cells")
    assert found["n_figures"] == 2
    assert found["accuracy"]["both, GraphEnsemble"] > 0.98 > 0.8 > found["accuracy"]["RNA, k-means"]
    assert abs(found["accuracy"]["side by side, k-means"] - found["accuracy"]["both, GraphEnsemble"]) < 0.01
    assert len(set(found["names"].values())) == 5, "each type is most frequent in one cluster"
    assert_order_is_told(capsys.readouterr().out)


def test_missing(run, capsys):
    found = run("missing")
    assert found["n_figures"] == 1
    as_they_are, means, k_means, complete = found["accuracy"].values()
    assert as_they_are[-1] > means[-1] > k_means[-1] + 0.2, "most views missing"
    assert min(as_they_are) > 0.8
    assert complete[1] < 0.5
    assert np.isnan(complete[3:]).all()
    assert found["right"][found["few"]].mean() < found["right"][~found["few"]].mean()
    assert_order_is_told(capsys.readouterr().out)


def test_n_clusters(run):
    found = run("n_clusters")
    assert found["n_figures"] == 1
    clear, digits, cloud = found["suggestions"].values()
    assert clear.sure
    assert clear.n_clusters == found["model"].n_clusters_ == 5
    assert not digits.sure
    assert len(digits.candidates) > 1
    assert not cloud.sure


@pytest.mark.slow
def test_big(run, capsys):
    found = run("big")
    assert found["n_figures"] == 2
    assert found["scores"]["acc"] > 0.9
    assert found["found_rare"] > 0.9
    assert type(found["views"].arrays[0]).__name__ == "memmap"
    assert_order_is_told(capsys.readouterr().out)


def test_order(run, capsys):
    found = run("order")
    assert found["n_figures"] == 1
    assert [name for name, audit in found["audits"].items() if audit.passed] == ["GraphEnsemble", "SMSC"]
    for before, after, audit in zip(found["in_file"], found["shuffled"], found["audits"].values(), strict=True):
        assert np.isclose(before, after) if audit.passed else (before > after + 0.1)
    assert_order_is_told(capsys.readouterr().out)


@pytest.mark.slow
def test_own_method(run, capsys):
    found = run("own_method")
    assert found["n_figures"] == 1
    assert found["outcome"].counts == {"done": 12}
    assert set(found["table"].index) == {"GraphEnsemble", "ConcatKMeans", "mine"}
    assert found["table"].loc["ConcatKMeans", "noisy"] < found["table"].loc["ConcatKMeans", "clean"] - 0.05
    assert found["table"].loc["mine", "noisy"] > found["table"].loc["ConcatKMeans", "noisy"] + 0.05
    assert_order_is_told(capsys.readouterr().out)


def assert_order_is_told(said: str) -> None:
    """Every line with an accuracy says in which order the rows were."""
    scored = [line for line in said.splitlines() if re.search(r"\bACC\b", line)]
    assert scored
    assert all("shuffled" in line or "order" in line for line in scored), said


def test_none_escapes():
    tested = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
    names = {script.stem.removeprefix("plot_") for script in SCRIPTS}
    assert names <= tested
    assert names == set(runpy.run_path(str(ROOT / "docs" / "_ext" / "gallery.py"))["ORDER"])


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_the_format_is_that_of_sphinx_gallery(script):
    text = script.read_text(encoding="utf-8")
    title, line = re.match(r'"""\n(.+)\n(=+)\n\n', text).groups()
    assert len(title) == len(line)
    for heading, below in re.findall(r"^# %%\n# (.+)\n# (-+)\n", text, re.MULTILINE):
        assert len(heading) == len(below), heading
