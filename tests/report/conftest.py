"""A small summary of an experiment with everything in it, fitted models, and pages without all of plotly.js."""

from __future__ import annotations

import json
import warnings
from html.parser import HTMLParser
from typing import Any

import pytest

from manyview.cluster import available_methods
from manyview.datasets import make_multiview
from manyview.metrics import SCORES
from manyview.report.documents import describe_result
from manyview.report.experiments import render

VOID = {"br", "hr", "img", "input", "link", "meta"}


class Page(HTMLParser):
    """All elements, tables by caption, and the texts of scripts; tags that are not closed in order are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.scripts: list[str] = []
        self.text = ""
        self._rows: list[list[str]] = []
        self._caption = ""
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = " ".join(self.text.split())

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)
        if tag == "table":
            self._rows, self._caption = [], ""
        elif tag == "tr":
            self._rows.append([])
        elif tag in ("td", "th"):
            self._rows[-1].append("")
        elif tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
        if tag == "table":
            self.tables[" ".join(self._caption.split())] = [[" ".join(c.split()) for c in row] for row in self._rows]

    def handle_data(self, data):
        if "script" in self.open:
            self.scripts[-1] += data
        elif "style" not in self.open:
            self.text += data
            if "caption" in self.open:
                self._caption += data
            elif {"td", "th"} & set(self.open):
                self._rows[-1][-1] += data

    @property
    def rows(self) -> list[list[str]]:
        return [row for table in self.tables.values() for row in table]

    def table(self, beginning: str) -> list[list[str]]:
        (found,) = [rows for caption, rows in self.tables.items() if caption.startswith(beginning)]
        return found

    def line(self, beginning: str, name: str) -> list[str]:
        (found,) = [row for row in self.table(beginning) if row[0].startswith(name)]
        return found

    def tags(self, name: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.elements if tag == name]

    def figures(self) -> list[dict]:
        return [json.loads(script) for script in self.scripts if script.startswith("{")]


@pytest.fixture(scope="session")
def parse():
    """From the text of a page to what is in it."""
    return Page


def done(mean: float, std: float | None = 0.01, runs: int | None = 20, **more: Any) -> dict[str, Any]:
    """A result whose scores all differ: mean, mean + 0.001, and so on."""
    scores = {name: {"mean": mean + i / 1000, "std": std} for i, name in enumerate(SCORES)}
    return {"status": "done", "runs": runs, "scores": scores, "seconds": 2.5, "peak_bytes": 3 * 2**20, **more}


def published(mean: float) -> dict[str, Any]:
    return done(mean, None, None, seconds=None, peak_bytes=None)


def row(name: str, *results: dict[str, Any] | None, **more: Any) -> dict[str, Any]:
    columns = dict(zip(("published", "file-order", "shuffled"), results, strict=True))
    return {"name": name, "estimator": name, "note": "", "view": None, "parameters": {}, **columns, **more}


def best(**names: str) -> dict[str, dict[str, list[str]]]:
    columns = ("published", "file-order", "shuffled")
    found = {column: names.get(column.replace("-", "_")) for column in columns}
    return {column: {score: [name] if name else [] for score in SCORES} for column, name in found.items()}


@pytest.fixture
def summary() -> dict[str, Any]:
    """What ``summarise`` gives, in little."""
    large = {"status": "memory", "reason": "needs 38 GiB, 20 GiB free"}
    absent = {"status": "absent", "reason": "dataset not found: Caltech. Put Caltech.mat there."}
    points = [{"x": x, **done(0.3 + x / 10)} for x in (0.5, 0.9)]
    times = [{"x": x, "seconds": {"mean": x / 50, "std": 5.0, "min": x / 60}, "runs": 3} for x in (100.0, 200.0)]
    views = [["gist", 512], ["hog", 576]]
    known = {"n_samples": 1210, "n_classes": 7, "views": views, "sorted_by_class": True, "fingerprint": "cafe0123beef"}
    unknown = {"n_samples": None, "n_classes": None, "views": [], "sorted_by_class": None, "fingerprint": None}
    return {
        "spec": {"name": "paper", "title": "The whole evaluation"},
        "cells": {"asked": 90, "done": 80, "failed": 0, "memory": 4, "time": 0, "absent": 4, "waiting": 2},
        "runs": [
            {
                "id": 1,
                "started": "2026-01-02T03:04:05",
                "version": "0.1.0",
                "commit": "0123456789abcdef",
                "python": "3.12.3",
                "packages": {"numpy": "2.4.6"},
                "machine": "Linux x86_64",
                "cores": 2,
                "memory_bytes": 2**33,
                "workers": 2,
            }
        ],
        "datasets": [
            {"name": "MSRC", "stand_in_for": None, "generated": False, "absent": None, **known},
            {"name": "Mini", "stand_in_for": "Reuters", "generated": False, "absent": None, **known},
            {"name": "Drawn", "stand_in_for": None, "generated": True, "absent": None, **known},
            {"name": "Caltech", "stand_in_for": None, "generated": False, "absent": absent["reason"], **unknown},
        ],
        "parts": [
            {
                "name": "result1",
                "kind": "table",
                "title": "Clustering performance",
                "source": "Table 2",
                "note": "NMI by the larger entropy.",
                "scores": list(SCORES),
                "tables": [
                    {
                        "dataset": "MSRC",
                        "stand_in_for": None,
                        "rows": [
                            row("Tensor", published(0.985), done(0.975, 0.0), done(0.625, 0.03), parameters={"p": 0.9}),
                            row(
                                "Robust", published(0.815), done(0.805), done(0.795, reason="1 of 20 runs did not end")
                            ),
                            row("Dense", {"status": "memory", "reason": "OM"}, large, {"status": "waiting"}),
                            row("New", None, done(0.915), done(0.905)),
                        ],
                        "best": best(published="Tensor", file_order="Tensor", shuffled="New"),
                    },
                    {
                        "dataset": "Mini",
                        "stand_in_for": "Reuters",
                        "rows": [row("Tensor", published(0.777), done(0.555), done(0.445))],
                        "best": best(published="Tensor", file_order="Tensor", shuffled="Tensor"),
                    },
                    {
                        "dataset": "Drawn",
                        "stand_in_for": None,
                        "rows": [row("Tensor", published(0.777), done(0.535), done(0.435))],
                        "best": best(published="Tensor", file_order="Tensor", shuffled="Tensor"),
                    },
                    {
                        "dataset": "Caltech",
                        "stand_in_for": None,
                        "rows": [row("Tensor", published(0.755), absent, absent)],
                        "best": best(published="Tensor"),
                    },
                ],
            },
            {
                "name": "p-value",
                "kind": "sweep",
                "title": "Over p",
                "source": "Figure 2",
                "note": "",
                "scores": ["acc", "nmi"],
                "axis": {"name": "p", "label": "p of the norm"},
                "curves": [
                    {"dataset": "MSRC", "row": "Tensor", "protocol": "file-order", "points": points},
                    {
                        "dataset": "MSRC",
                        "row": "Tensor",
                        "protocol": "shuffled",
                        "points": [points[0], {"x": 0.9, "status": "time", "reason": "time limit of 60 s"}],
                    },
                ],
                "stated": {"MSRC": 0.9},
            },
            {
                "name": "2com",
                "kind": "growth",
                "title": "Growth of time",
                "source": "Table 1",
                "note": "",
                "scores": [],
                "growth": [
                    {
                        "row": "Tensor",
                        "axis": "n",
                        "label": "samples n",
                        "points": [*times, {"x": 400.0, "reason": "3 of 3 runs did not end"}],
                        "exponent": 1.04,
                        "stated": 1.0,
                    }
                ],
            },
            {
                "name": "visual",
                "kind": "graphs",
                "title": "Graphs",
                "source": "Figure 4",
                "note": "",
                "scores": [],
                "pictures": [
                    {
                        "dataset": "MSRC",
                        "row": "Tensor",
                        "protocol": protocol,
                        "name": name,
                        "image": [[1.0, 0.0], [0.0, 0.5]],
                        "acc": 0.961,
                    }
                    for protocol in ("file-order", "shuffled")
                    for name in ("gist", "learned", "components")
                ],
            },
        ],
        "order_audit": [
            {
                "method": name,
                "row": name,
                "flagged": flagged,
                "order_dependent": flagged,
                "p_value": 1e-6 if flagged else 0.71,
                "pairs_needed": 9,
                "too_few_pairs": False,
                "datasets": [
                    {
                        "dataset": "MSRC",
                        "pairs": 20,
                        "file_order": 0.975,
                        "shuffled": 0.625,
                        "difference": 0.35,
                        "p_value": 1e-6,
                        "agreement": 0.512,
                    }
                ],
            }
            for name, flagged in (("Robust", False), ("Tensor", True))
        ],
        "ranking": {
            "score": "acc",
            "protocol": "shuffled",
            "datasets": ["MSRC", "Mini"],
            "methods": [
                {"name": "New", "mean_rank": 1.0, "ranks": {"MSRC": 1.0, "Mini": 1.0}},
                {"name": "Robust", "mean_rank": 2.25, "ranks": {"MSRC": 2.0, "Mini": 2.5}},
                {"name": "Tensor", "mean_rank": 2.75, "ranks": {"MSRC": 3.0, "Mini": 2.5}},
            ],
            "friedman_p": 0.0301,
            "critical_difference": 1.31,
            "alpha": 0.05,
            "groups": [["New", "Robust"], ["Robust", "Tensor"]],
            "failures": {},
            "left_out": {"Single": "uses a single view"},
        },
        "scatter": [
            {"dataset": d, "row": r, "estimator": r, "seconds": s, "peak_bytes": 2**26, "acc": 0.6}
            for d in ("MSRC", "Mini")
            for r, s in (("Tensor", 2.0), ("New", 0.04))
        ],
    }


@pytest.fixture
def page(monkeypatch):
    """``render`` with a stand-in for plotly.js: it is the same in all pages."""
    monkeypatch.setattr("plotly.offline.get_plotlyjs", lambda: "/* plotly.js */")
    return render


@pytest.fixture(scope="session")
def described():
    """A function: what result.json holds, with parts that are made up."""

    def describe(model, views, **more):
        return describe_result(model, views, files=["data.mat"], command="manyview cluster data.mat -k 3") | more

    return describe


@pytest.fixture(scope="session")
def blobs():
    """Sixty samples in three clusters, seen in three ways."""
    return make_multiview(60, n_clusters=3, random_state=0)


@pytest.fixture(scope="session")
def models(blobs):
    """Every method, fitted to them."""
    few = {"GraphEnsemble": {"n_members": 4}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            method.name: method.estimator(3, random_state=0, **few.get(method.name, {})).fit(blobs)
            for method in available_methods()
        }
