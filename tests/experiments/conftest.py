"""A small experiment made by hand: specs, results and facts without fitting anything."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest

from manyview.experiments._model import (
    DONE,
    PROTOCOLS,
    Cell,
    CellResult,
    Dataset,
    DatasetFacts,
    Entry,
    Part,
    Row,
    Spec,
)
from manyview.experiments.summary import summarise

SCORES = ("acc", "nmi")


class Made:
    """Collects parts and results; ``summary()`` is what they give.

    Every dataset has 40 samples in 4 classes, sorted. ``wrong(k)`` are labels with k samples in the wrong group.
    """

    def __init__(self):
        self.parts = []
        self.results = {}
        self.facts = {}
        self.classes = np.repeat(np.arange(4), 10)

    def dataset(self, name, absent=False, generated=False, stand_in_for=None):
        if not absent:
            self.facts[name] = DatasetFacts(name, "f" * 16, 40, (("pixels", 5), ("words", 7)), self.classes, True)
        source = {"generate": {"n_samples": 40}} if generated else {"fetch": name}
        return Dataset(name, source, stand_in_for)

    def wrong(self, k):
        """Labels with the accuracy 1 - k / 40, for k up to 20: k samples of the others' in one group."""
        labels = self.classes.copy()
        rows = np.concatenate([np.arange(10, 20), np.arange(20, 30)])[:k]
        labels[rows] = np.where(rows % 2, 3, 0)
        return labels

    def done(self, cell, wrong=0, seconds=1.0, peak_bytes=1000, run=1, **more):
        self.results[cell.key] = CellResult(
            cell.key, DONE, labels=self.wrong(wrong), seconds=seconds, peak_bytes=peak_bytes, run=run, **more
        )

    def ended(self, cell, status, reason):
        self.results[cell.key] = CellResult(cell.key, status, reason, run=1)

    def table(self, datasets, rows, seeds=3, name="result1", published=None, protocols=PROTOCOLS):
        """A part of kind table whose cells all wait; returns them by (dataset, row, protocol), in order of seeds."""
        entries, cells = [], {}
        for dataset in datasets:
            for row in rows:
                for protocol in protocols:
                    for seed in range(seeds):
                        cell = Cell(
                            dataset.name, dataset.source, row.estimator, row.parameters, protocol, seed, row.view
                        )
                        entries.append(Entry(name, dataset.name, row.name, cell))
                        cells.setdefault((dataset.name, row.name, protocol), []).append(cell)
        by_dataset = {dataset.name: tuple(rows) for dataset in datasets}
        self.add(name, "table", datasets, by_dataset, entries, scores=SCORES, published=published or {})
        return cells

    def add(self, name, kind, datasets, rows, entries, **more):
        part = Part(name, kind, f"Title of {name}", "paper, Table 2", tuple(datasets), rows, tuple(entries), **more)
        self.parts.append(part)

    def along(self, name, kind, dataset, row, axis, values, seeds=1, protocols=PROTOCOLS, **more):
        """A part of kind sweep or growth; returns its cells by (value, protocol)."""
        entries, cells = [], {}
        for value in values:
            for protocol in protocols:
                for seed in range(seeds):
                    cell = Cell(dataset.name, dataset.source, row.estimator, {axis: value}, protocol, seed)
                    entries.append(Entry(name, dataset.name, row.name, cell, axis, value))
                    cells.setdefault((value, protocol), []).append(cell)
        self.add(name, kind, (dataset,), {dataset.name: (row,)}, entries, axes={axis: f"label of {axis}"}, **more)
        return cells

    def summary(self, runs=()):
        return summarise(Spec("small", "A small experiment", tuple(self.parts)), self.results, self.facts, runs)


@pytest.fixture
def made():
    return Made()


@pytest.fixture
def row():
    """A function: a row by its name, its estimator and what else Row takes."""
    return lambda name, estimator="MVSC", **more: Row(name, estimator, **more)


RUN = {
    "id": 1,
    "started": "2025-01-01T00:00:00+00:00",
    "version": "0.1.0",
    "commit": "0123456789abcdef",
    "python": "3.12.1",
    "packages": {"numpy": "2.0.0"},
    "machine": "a machine",
    "cores": 2,
    "memory_bytes": 8 * 2**30,
    "workers": 2,
}


@pytest.fixture
def everything(_everything):
    """A summary with all kinds of parts and all ways to end."""
    return deepcopy(_everything)


@pytest.fixture(scope="session")
def _everything():
    made = Made()
    real, hand = made.dataset("MSRC-v5"), made.dataset("Hand_written & more")
    absent, stand_in = made.dataset("Caltech101-20", absent=True), made.dataset("Reuters600", stand_in_for="Reuters")
    rows = [
        Row("s-CLR (X1)", "CLR", view=0),
        Row("MVSC", "MVSC"),
        Row("TBGL", "TBGL", parameters={"p": 0.5}, per_dataset={"MSRC-v5": {"p": 0.9}}, note="p as in the paper"),
        Row("MVGL", "MVGL"),
    ]
    published = {"acc": (0.9952, 0.0), "nmi": (0.9889, None)}
    scores = {
        "MSRC-v5": {"TBGL": published, "MVGL": "OM"},
        "Reuters600": {"TBGL": published},
        "Caltech101-20": {"TBGL": published},
    }
    cells = made.table([real, hand, absent, stand_in], rows, seeds=20, published=scores)
    for (dataset, name, protocol), group in cells.items():
        for cell in group:
            if dataset == "Caltech101-20":
                made.ended(cell, "absent", "dataset not found: put Caltech101-20.mat into MANYVIEW_DATA.")
            elif (dataset, name) == ("Reuters600", "MVGL"):
                made.ended(
                    cell, "memory", "MVGL needs about 38 GiB for 30000 samples; 20 GiB are available. Use another."
                )
            elif name == "TBGL":
                made.done(cell, wrong=0 if protocol == "file-order" else 10 + cell.seed % 5)
            elif (dataset, name) == ("MSRC-v5", "MVSC") and cell.seed > 16:
                made.ended(cell, "time", "did not end within 60 s.")
            else:
                made.done(cell, wrong=4 + (name == "s-CLR (X1)"))
    tbgl = Row("TBGL", "TBGL")
    points = made.along("p-value", "sweep", real, tbgl, "p", [0.9, 0.1], scores=SCORES, stated={"MSRC-v5": 0.9})
    for (value, _), group in points.items():
        if value == 0.1:
            made.done(group[0], wrong=8)
    generated = made.dataset("n", generated=True)
    sizes = [100, 200, 400, 800]
    times = made.along("2com", "growth", generated, tbgl, "n", sizes, seeds=2, stated={"TBGL": {"n": 1.0}})
    for (value, _), group in times.items():
        for cell in group:
            if value == 800:
                made.ended(cell, "failed", "ValueError: '<' is not | defined.")
            else:
                made.done(cell, seconds=value**2 * (1 + cell.seed))
    return made.summary([RUN, {**RUN, "id": 2}])
