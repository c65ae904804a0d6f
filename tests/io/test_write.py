"""``write_labels``: the clusters of many samples as shards."""

from __future__ import annotations

import re
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pandas as pd
import pytest

from manyview import Views, write_labels
from manyview.exceptions import ViewsError
from manyview.io import _write

LABELS = np.arange(10) % 3
CONFIDENCE = np.linspace(0, 1, 10, dtype=np.float32)


def fitted(lazy=True, chunks=(4, 4, 2)):
    made = (lambda values: da.from_array(values, chunks=(chunks,))) if lazy else np.asarray
    return SimpleNamespace(labels_=made(LABELS), confidence_=made(CONFIDENCE))


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    "ids",
    [
        np.arange(10) * 7,
        [f"item {i}" for i in range(10)],
        da.from_array(np.arange(100, 110), chunks=3),
        np.array(["a'", 'b"', "c\n", "ü", "", "1", "1.0", "NA", "x", "y"], dtype=object),
    ],
    ids=["numbers", "texts", "dask", "odd texts"],
)
def test_a_shard_for_every_chunk_beside_the_ids(tmp_path, ids):
    write_labels(fitted(), tmp_path / "labels", ids=ids)
    assert names_in(tmp_path / "labels") == [f"part-0000{i}.parquet" for i in range(3)]
    assert [len(pd.read_parquet(path)) for path in sorted((tmp_path / "labels").iterdir())] == [4, 4, 2]
    found = pd.read_parquet(tmp_path / "labels")
    assert found["sample"].tolist() == list(np.asarray(ids))
    assert found["cluster"].tolist() == LABELS.tolist()
    np.testing.assert_array_equal(found["confidence"], CONFIDENCE)
    assert [str(kind) for kind in found.dtypes[1:]] == ["int32", "float32"]


def test_results_in_memory_are_cut(tmp_path, monkeypatch):
    monkeypatch.setattr(_write, "_SHARD_ROWS", 6)
    model = fitted(lazy=False)
    del model.confidence_
    write_labels(model, tmp_path, ids=Views([np.eye(10)], sample_ids=list("abcdefghij")))
    first, second = (pd.read_parquet(tmp_path / name) for name in names_in(tmp_path))
    assert first["sample"].tolist() + second["sample"].tolist() == list("abcdefghij")
    assert (len(first), list(first)) == (6, ["sample", "cluster"])


def test_without_ids_samples_are_row_numbers(tmp_path):
    write_labels(fitted(), tmp_path / "a")
    assert pd.read_parquet(tmp_path / "a")["sample"].tolist() == list(range(10))


def test_earlier_shards_are_replaced(tmp_path):
    write_labels(fitted(chunks=(1,) * 10), tmp_path / "a")
    write_labels(fitted(chunks=(5, 5)), tmp_path / "a")
    assert names_in(tmp_path / "a") == ["part-00000.parquet", "part-00001.parquet"]


def test_shards_are_whole_or_absent(tmp_path):
    def fail(block):
        if block[0] == LABELS[8]:
            raise RuntimeError("the worker is gone")
        return block

    model = fitted()
    model.labels_ = da.from_array(np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2]), chunks=4).map_blocks(fail, dtype=int)
    write_labels(fitted(), tmp_path / "old")
    before = {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()}
    for folder in ("new", "old"):
        with pytest.raises(RuntimeError, match="the worker is gone"):
            write_labels(model, tmp_path / folder)
    assert names_in(tmp_path) == ["old"]
    assert {path.name: path.read_bytes() for path in (tmp_path / "old").iterdir()} == before


def test_other_files_are_left_alone(tmp_path):
    (tmp_path / "thesis.docx").write_text("three years of work")
    with pytest.raises(
        FileExistsError, match=re.escape("holds other files, such as thesis.docx. Choose another folder")
    ):
        write_labels(fitted(), tmp_path)
    assert names_in(tmp_path) == ["thesis.docx"]


@pytest.mark.parametrize("ids", [range(9), np.zeros((10, 1))])
def test_one_id_per_sample(tmp_path, ids):
    with pytest.raises(ViewsError, match=r"ids: expected one id per sample, shape \(10,\), got"):
        write_labels(fitted(), tmp_path / "a", ids=ids)
    assert not (tmp_path / "a").exists()
