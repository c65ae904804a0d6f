"""What happens in the process that fits: in this process, except for what only a process of its own can show."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from manyview import Views
from manyview.cluster._registry import get_method
from manyview.datasets import make_multiview
from manyview.experiments import _worker
from manyview.experiments._model import ABSENT, DONE, FAILED, MEMORY, SHUFFLED, Cell
from manyview.experiments._process import READY
from manyview.experiments._worker import Datasets, execute
from manyview.metrics import accuracy

DATA = {"generate": {"n_samples": 60, "n_clusters": 3, "noise": 0.1, "sorted": True, "random_state": 0}}


class Told:
    """An estimator that does what it is told, and tells what it was given."""

    seen: Views
    given: dict

    def __init__(self, n_clusters, random_state=None, n_jobs=None, does=None):
        Told.given = {"n_clusters": n_clusters, "random_state": random_state, "n_jobs": n_jobs}
        self.does = does

    def fit(self, views):
        Told.seen = views
        if self.does == "memory":
            raise MemoryError("Told needs about 38 GiB for 60 samples; 20 GiB are available. Take less.")
        if self.does == "error":
            raise ValueError("views['a']:\n  bad")
        self.labels_ = np.argsort(np.argsort(views.arrays[0][:, 0]))  # a number for each sample, by its content
        return self


@pytest.fixture
def told(monkeypatch):
    found = SimpleNamespace(estimator=Told)
    monkeypatch.setattr(_worker, "get_method", lambda name: found if name == "Told" else get_method(name))
    monkeypatch.setattr(_worker, "_warm_up", lambda estimator: None)


def cell(estimator="Told", **more):
    return Cell("blobs", DATA, estimator, **more)


def test_labels_come_back_in_the_order_of_the_file(told):
    orders = (("file-order", 0), (SHUFFLED, 1), (SHUFFLED, 2))
    answers = [execute(cell(protocol=protocol, seed=seed), Datasets()) for protocol, seed in orders]
    for answer in answers[1:]:
        np.testing.assert_array_equal(answer.result.labels, answers[0].result.labels)


def test_every_seed_shuffles_in_another_way_and_file_order_does_not(told):
    data = make_multiview(60, 3, noise=0.1, random_state=0)
    ordered = data.take(np.argsort(data.labels, kind="stable"))
    seen = []
    for protocol, seed in (("file-order", 1), (SHUFFLED, 1), (SHUFFLED, 2)):
        execute(cell(protocol=protocol, seed=seed), Datasets())
        seen.append(Told.seen.arrays[0])
        assert Told.given == {"n_clusters": 3, "random_state": seed, "n_jobs": 1}
    np.testing.assert_array_equal(seen[0], ordered.arrays[0])
    assert not np.array_equal(seen[1], seen[0])
    assert not np.array_equal(seen[2], seen[1])


def test_the_method_does_not_see_the_classes(told):
    for protocol in ("file-order", SHUFFLED):
        execute(cell(protocol=protocol), Datasets())
        assert Told.seen.labels is None
        assert Told.seen.sample_ids is None


def test_one_view(told):
    execute(cell(view=1), Datasets())
    np.testing.assert_array_equal(Told.seen.arrays[0], Datasets().get(cell())[0].arrays[1])
    assert Told.seen.n_views == 1


def test_samples_that_lack_views_are_handed_on(told, monkeypatch):
    data = make_multiview(60, 3, noise=0.1, random_state=0)
    present = np.ones((60, data.n_views), dtype=bool)
    present[7, 1] = False
    monkeypatch.setattr(_worker, "load", lambda source, folder: replace(data, present=present))
    execute(cell(protocol=SHUFFLED, seed=3), Datasets())
    row = np.random.RandomState(3).permutation(60).tolist().index(7)
    assert np.argwhere(~Told.seen.present).tolist() == [[row, 1]]
    execute(cell(view=0), Datasets())
    assert Told.seen.present is None
    answer = execute(cell(view=1), Datasets())
    assert answer.result.status == FAILED
    assert "the sample in row 7 has no view at all" in answer.result.reason
    assert "shuffled" not in answer.result.reason
    answer = execute(cell("LMVSC", protocol=SHUFFLED, seed=3), Datasets())
    assert f"the first in row {row}." in answer.result.reason
    assert answer.result.reason.endswith("Rows are counted after shuffling.")


def test_the_number_of_clusters_is_that_of_the_classes_unless_it_is_given(told, monkeypatch):
    execute(cell(parameters={"n_clusters": 5}), Datasets())
    assert Told.given["n_clusters"] == 5
    monkeypatch.setattr(_worker, "load", lambda source, folder: Views(make_multiview(60, random_state=0).arrays))
    answer = execute(cell(parameters={"n_clusters": 4}), Datasets())
    assert (answer.result.status, Told.given["n_clusters"], answer.data.classes) == (DONE, 4, None)
    answer = execute(cell(), Datasets())
    assert (answer.result.status, answer.data) == (ABSENT, None)
    assert answer.result.reason == "blobs: has no known classes, so no clustering of it can be scored."


@pytest.mark.parametrize(
    ("does", "status", "reason"),
    [
        ("memory", MEMORY, "Told needs about 38 GiB for 60 samples; 20 GiB are available. Take less."),
        ("error", FAILED, "ValueError: views['a']: bad"),
    ],
)
def test_what_goes_wrong_is_an_answer(told, does, status, reason):
    answer = execute(cell(parameters={"does": does}), Datasets())
    assert (answer.result.status, answer.result.reason) == (status, reason)
    assert answer.data.n_samples == 60


def test_a_dataset_that_is_not_there(told, tmp_path, monkeypatch):
    monkeypatch.setenv("MANYVIEW_DATA", str(tmp_path))
    answer = execute(Cell("Caltech101-20", {"fetch": "Caltech101-20"}, "Told"), Datasets())
    assert answer.result.status == ABSENT
    assert answer.result.reason.startswith("dataset not found: Caltech101-20.")
    assert answer.data is None


def test_a_real_fit_with_pictures():
    answer = execute(cell("TBGL", protocol=SHUFFLED, seed=4, keep_graphs=True), Datasets())
    result = answer.result
    assert result.status == DONE
    assert result.seconds > 0
    assert result.peak_bytes is None or result.peak_bytes >= 0
    assert list(result.pictures) == ["view0", "view1", "view2", "learned", "components"]
    assert accuracy(answer.data.classes, result.labels) > 0.5
    for name, picture in result.pictures.items():
        assert picture.shape == (60, 30)
        assert picture.max() == 1
        if name.startswith("view"):  # in the order of the classes, the weight is near the diagonal
            by_class = picture.reshape(3, 20, 30).sum(axis=1)
            assert (np.diff(by_class.argmax(axis=0)) >= 0).mean() > 0.9  # an anchor may lie between two classes
            assert by_class.max(axis=0).sum() > 0.8 * by_class.sum()


def test_datasets_are_read_once_and_the_oldest_go(monkeypatch):
    read = []

    def load(source, folder):
        read.append(source["n"])
        return Views((np.zeros((4, 2)), np.zeros((4, 2))), labels=[0, 0, 1, 1])

    monkeypatch.setattr(_worker, "load", load)
    views_bytes = sys.getsizeof(Views((np.zeros((4, 2)), np.zeros((4, 2))), labels=[0, 0, 1, 1]))
    datasets = Datasets(max_bytes=2 * views_bytes)
    for n in (1, 2, 1, 3, 1, 2):
        datasets.get(Cell(str(n), {"n": n}, "A"))
    assert read == [1, 2, 3, 2]


def test_the_process_answers_and_ends_with_its_input():
    lines = "".join(cell("LMVSC", seed=seed).description + "\n" for seed in (0, 1))
    with subprocess.Popen(
        [sys.executable, "-m", "manyview.experiments._worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        process.stdin.write(lines)
        process.stdin.flush()
        assert process.stdout.readline().strip() == READY
        for seed in (0, 1):
            raw = json.loads(process.stdout.readline())
            assert (raw["result"]["key"], raw["result"]["status"]) == (cell("LMVSC", seed=seed).key, DONE)
        process.stdin.close()
        assert process.wait(timeout=60) == 0
