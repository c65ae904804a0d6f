"""``manyview cluster colour/ shape/``: a folder of shards for each view, and labels in shards."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from jsonschema import Draft202012Validator

from manyview import GraphEnsemble, open_views
from manyview.cli.schemas import load_schema
from manyview.datasets import make_multiview
from manyview.io import _open, _shards

FEW = ("--set", "n_members=4", "--set", "learn_on=200", "--set", "n_anchors=60")
N = 800


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two views in shards with ids, cut at different rows."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(N, 3, n_views=2, n_features=[4, 6], noise=0.2, random_state=0).shuffled(0)
    for name, array, cuts in zip(("colour", "shape"), views.arrays, ([300], [200, 500]), strict=True):
        (tmp_path / name).mkdir()
        frame = pd.DataFrame(array.astype(np.float32)).add_prefix(f"{name} ")
        frame.insert(0, "item", [f"sku-{i}" for i in range(N)])
        for part, rows in enumerate(np.split(np.arange(N), cuts)):
            frame.iloc[rows].to_parquet(tmp_path / name / f"part-{part}.parquet", index=False)
    return tmp_path


@pytest.fixture
def run(call):
    """A function: run a command that has to succeed."""

    def run(*words):
        done = call(*words)
        assert done.exit_code == 0, done.output

    return run


def test_labels_are_shards_beside_the_ids(folder, run, monkeypatch):
    monkeypatch.setattr(_open, "_ROW_STEP", 100)
    monkeypatch.setattr(_open, "_BLOCK_BYTES", 4 * 10 * 250)
    run("cluster", "colour/", "shape", "--id", "item", "-k", "3", *FEW, "--out", "out", "--no-p-values")
    written = sorted(str(path.relative_to(folder / "out")) for path in (folder / "out").rglob("*") if path.is_file())
    shards = [f"labels/part-0000{i}.parquet" for i in range(2)]  # as those of the view with the largest row groups
    assert written == [*shards, "markers.csv", "report.html", "result.json"]
    found = pd.read_parquet(folder / "out" / "labels")
    assert found["sample"].tolist() == [f"sku-{i}" for i in range(N)]
    views = open_views({"colour": "colour", "shape": "shape"}, id_column="item")
    model = GraphEnsemble(3, random_state=0, n_members=4, learn_on=200, n_anchors=60).fit(views)
    np.testing.assert_array_equal(found["cluster"], model.labels_.compute())
    np.testing.assert_allclose(found["confidence"], model.confidence_.compute(), atol=1e-6)
    result = json.loads((folder / "out" / "result.json").read_text())
    Draft202012Validator(load_schema("result")).validate(result)
    assert result["output"]["labels"] == "labels"
    assert result["output"]["graph"] is None
    assert result["data"]["matched_by"] == "position, with the same ids `item`"
    assert [cluster["size"] for cluster in result["clusters"]] == np.bincount(found["cluster"]).tolist()
    assert "manyview.open_views({" in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_earlier_answers_are_replaced(folder, run):
    words = ("--no-report", "--no-describe", "--id", "item")
    for name in ("colour", "shape"):
        frame = pd.concat(pd.read_parquet(path) for path in sorted((folder / name).iterdir()))
        frame.to_csv(f"{name}.csv", index=False)
    run("cluster", "colour", "shape", "-k", "3", *FEW, *words, "--out", "out")
    run("cluster", "colour.csv", "shape.csv", "-k", "3", *FEW, *words, "--out", "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["graph.npz", "labels.csv", "result.json"]
    run("cluster", "colour", "shape", "-k", "3", *FEW, *words, "--out", "out")
    assert sorted(path.name for path in (folder / "out").iterdir()) == ["labels", "result.json"]


def test_every_block_is_read_four_times(folder, monkeypatch):
    """For the hashes, the draw, the second draw, and the assignment; and not once more for other steps."""
    rows = []

    def counted(block):
        rows.append(sum(span.stop - span.start for span in block.spans))
        return read(block)

    read = _shards.read_block
    monkeypatch.setattr(_open, "read_block", counted)
    monkeypatch.setattr(_open, "_ROW_STEP", 100)
    monkeypatch.setattr(_open, "_BLOCK_BYTES", 4 * 10 * 100)
    for path in sorted((folder / "shape").iterdir()):
        path.unlink()
    for path in sorted((folder / "colour").iterdir()):  # the same shards, each of one row group
        frame = pd.read_parquet(path)
        (frame[["item"]].assign(**{f"shape {j}": frame.iloc[:, 1] ** j for j in range(1, 7)})).to_parquet(
            folder / "shape" / path.name
        )
    views = open_views({"colour": "colour", "shape": "shape"}, id_column="item")
    assert views["shape"].chunks[0] == (300, 500)
    GraphEnsemble(3, random_state=0, n_members=4, learn_on=200, n_anchors=60).fit(views)
    assert sum(rows) == 4 * 2 * N


def test_embeddings_in_a_column(folder, run):
    run("cluster", "colour", "shape", "--id", "item", "-k", "3", *FEW, "--out", "plain", "--no-report")
    for path in [*folder.glob("colour/*.parquet"), *folder.glob("shape/*.parquet")]:
        frame = pd.read_parquet(path)
        vectors = list(frame.drop(columns="item").to_numpy())
        pd.DataFrame({"item": frame["item"], "embedding": vectors}).to_parquet(path, index=False)
    run("cluster", "colour", "shape", "--id", "item", "-k", "3", *FEW, "--out", "vectors", "--no-report")
    plain, vectors = (pd.read_parquet(folder / out / "labels") for out in ("plain", "vectors"))
    pd.testing.assert_frame_equal(plain, vectors)


def test_what_other_commands_do_with_shards(folder, call, run):
    found = call("inspect", "colour", "shape/", "--id", "item", "--json")
    assert json.loads(found.stdout)["n_samples"] == N
    refused = call("compare", "colour", "shape", "--id", "item", "-k", "3")
    assert refused.exit_code == 2
    advice = "colour is a folder of shards. Compare a part, such as colour/part-0.parquet shape/part-0.parquet, or use"
    assert advice in refused.stderr
    assert refused.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--id", "sku"), "part-0.parquet: has no column 'sku' with the ids"),
        (
            (),
            "expected numbers, but 1 column(s) hold something else: 'item'. Pass --drop to leave them out, --id",
        ),
        (("--id", "item", "--join", "outer"), "not for folders of shards"),
        (("--id", "item", "--view-sizes", "2"), "not for folders of shards"),
        (("--id", "item", "--names", "a"), "expected one name per folder, 2, got 1"),
        (("--id", "item", "--metadata", "facts.csv"), "not for folders of shards"),
    ],
    ids=["other id", "no id", "join", "sizes", "names", "metadata"],
)
def test_mistakes(folder, call, words, message):
    pd.DataFrame({"item": ["sku-1"], "age": [3]}).to_csv("facts.csv", index=False)
    done = call("cluster", "colour", "shape", "-k", "3", *words)
    assert done.exit_code != 0
    assert message in " ".join(done.output.replace("│", " ").split())
    assert not (folder / "manyview-output").exists()
