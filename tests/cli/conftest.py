"""A library of experiments that is made up, so that commands can be tested without fitting anything."""

from __future__ import annotations

import json
from types import SimpleNamespace

import jsonschema
import pytest
from typer.testing import CliRunner

import manyview.experiments
import manyview.report
from manyview.cli import app
from manyview.cli.schemas import load_schema
from manyview.exceptions import ModelFileError
from manyview.experiments import Outcome
from manyview.experiments._model import Cell, Dataset, Entry, Part, Row, Spec

NASTY = "[red]\x1b[2Jgone[/red]\n:smile:"
"""A name that must neither colour nor clear anything."""


def done(mean, std=0.01, runs=3):
    return {"status": "done", "runs": runs, "scores": {"acc": {"mean": mean, "std": std}}, "seconds": 1.0}


def row(name, file_order, shuffled, published=None, note=""):
    own = {"name": name, "estimator": "TBGL", "note": note, "view": None, "parameters": {}}
    return own | {"published": published, "file-order": file_order, "shuffled": shuffled}


@pytest.fixture
def summary():
    """Every kind of part, every way of ending."""
    memory = {"status": "memory", "reason": "needs 38 GB, 20 GB free"}
    waiting = {"status": "waiting"}
    table = {
        "dataset": "MSRC",
        "stand_in_for": None,
        "rows": [
            row("TBGL", done(1.0), done(0.6512), published=done(0.98, None, None), note="p as in the paper"),
            row("SFMC", done(0.7), done(0.812), published={"status": "memory", "reason": "OM"}),
            row("MVGL", memory, memory),
            row(NASTY, waiting, waiting),
        ],
        "best": {"published": {"acc": ["TBGL"]}, "file-order": {"acc": ["TBGL"]}, "shuffled": {"acc": ["SFMC"]}},
    }
    points = [{"x": 0.1, **done(0.4)}, {"x": 0.5, **done(0.9)}, {"x": 1.0, "status": "time", "reason": "after 600 s"}]
    seconds = {"mean": 70123.4, "std": 12.0, "min": 70100.0}
    growth = [{"x": 500, "seconds": seconds, "runs": 3}, {"x": 1000, "reason": "too large"}]
    audited = {"dataset": "MSRC", "pairs": 20, "file_order": 1.0, "shuffled": 0.65, "difference": 0.35}
    head = {"title": "some title", "source": "Table 2", "note": "", "scores": ["acc"]}
    return {
        "spec": {"name": "tiny", "title": "A tiny spec"},
        "cells": {"asked": 9, "done": 5, "failed": 0, "memory": 2, "time": 1, "absent": 0, "waiting": 1},
        "runs": [],
        "datasets": [{"name": "NUS", "absent": "dataset not found: NUS. Ask its authors."}],
        "parts": [
            {"name": "one", "kind": "table", "tables": [table]} | head,
            {
                "name": "two",
                "kind": "sweep",
                "axis": {"name": "p", "label": "exponent p"},
                "curves": [{"dataset": "MSRC", "row": "TBGL", "protocol": "shuffled", "points": points}],
                "stated": {"MSRC": 0.5},
            }
            | head,
            {
                "name": "three",
                "kind": "growth",
                "growth": [
                    {"row": "TBGL", "axis": "n", "label": "samples", "points": growth, "exponent": 1.04, "stated": 1.0}
                ],
            }
            | head,
            {
                "name": "four",
                "kind": "graphs",
                "pictures": [
                    {"dataset": "MSRC", "row": "TBGL", "protocol": "shuffled", "name": name, "image": [], "acc": 0.65}
                    for name in ("gist", "learned")
                ],
            }
            | head,
        ],
        "order_audit": [
            {
                "method": "TBGL",
                "row": "TBGL",
                "flagged": True,
                "order_dependent": True,
                "too_few_pairs": False,
                "pairs_needed": 7,
                "p_value": 0.00002,
                "datasets": [audited | {"p_value": 0.00001, "agreement": 0.34}],
            },
            {
                "method": "SFMC",
                "row": "SFMC",
                "flagged": False,
                "order_dependent": False,
                "too_few_pairs": True,
                "pairs_needed": 7,
                "p_value": 1.0,
                "datasets": [audited | {"p_value": 1.0, "agreement": 1.0}],
            },
        ],
        "ranking": {
            "score": "acc",
            "protocol": "shuffled",
            "datasets": ["MSRC"],
            "methods": [
                {"name": "SFMC", "mean_rank": 1.0, "ranks": {"MSRC": 1.0}},
                {"name": "TBGL", "mean_rank": 2.0, "ranks": {"MSRC": 2.0}},
            ],
            "friedman_p": 0.034,
            "critical_difference": 1.5,
            "alpha": 0.05,
            "groups": [["SFMC", "TBGL"]],
            "left_out": {"MVGL": "never asked for"},
        },
        "scatter": [],
    }


def make_spec(name="tiny"):
    def part(name):
        cells = [Cell("MSRC", {"fetch": "MSRC-v5"}, "TBGL", seed=seed) for seed in range(3)]
        entries = tuple(Entry(name, "MSRC", "TBGL", cell) for cell in cells)
        dataset = Dataset("MSRC", {"fetch": "MSRC-v5"})
        return Part(name, "table", "some title", "", (dataset,), {"MSRC": (Row("TBGL", "TBGL"),)}, entries)

    return Spec(name, f"The title of {NASTY}", (part("one"), part("two")))


class FakeStore:
    """A store of which only the path counts. Its error stands for any of ours."""

    def __init__(self, path, create=False):
        if not create and not path.exists():
            raise ModelFileError(f"no store at {path}.")
        self.path = path

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def results(self, keys):
        return dict.fromkeys(keys)

    def datasets(self):
        return {}

    def runs(self):
        return []


@pytest.fixture
def library(monkeypatch, summary, tmp_path):
    """The library, made up: what it was called with is in ``calls``, what it gives can be replaced."""
    calls = []

    def load_spec(name):
        if name != "tiny":
            raise ModelFileError(f"no spec called {name!r}; there is tiny.")
        return make_spec()

    def run(spec, store, **options):
        calls.append((spec, options))
        counts = {"done": 4, "memory": 1, "time": 2}
        return Outcome(counts=counts, ran=6, seconds=75.0)

    def summarise(spec, results, datasets, runs):
        calls.append((spec, results))
        return summary

    fakes = {
        "load_spec": load_spec,
        "available_specs": lambda: (("tiny", "A tiny spec"),),
        "why_absent": lambda source: "dataset not found: MSRC-v5. Ask its authors.",
        "Store": FakeStore,
        "run": run,
        "summarise": summarise,
        "to_csv": lambda summary, scores, columns: "part,acc\none,0.5\n",
        "to_latex": lambda summary, scores, columns: "\\begin{tabular}\n",
        "to_markdown": lambda summary, command, scores, columns, pictures: f"<!-- {command} -->{pictures or ''}\n",
    }
    for name, fake in fakes.items():
        monkeypatch.setattr(manyview.experiments, name, fake, raising=False)
    (tmp_path / "results.sqlite").touch()
    return SimpleNamespace(calls=calls, store=tmp_path / "results.sqlite", folder=tmp_path)


@pytest.fixture
def call():
    """Run a command line in this process: ``call("experiments", "list", COLUMNS="120").exit_code``."""
    fixed = {"COLUMNS": "80", "MANYVIEW_DEBUG": None, "FORCE_COLOR": None}

    def call(*words, **env):
        return CliRunner(env={**fixed, **env}).invoke(app, [str(word) for word in words], prog_name="manyview")

    return call


@pytest.fixture
def page(monkeypatch):
    """Reports that are made up: what they were made of is in ``page.made_of``."""
    made_of = []

    def summarise(model, views, result, *, audits=(), description=None, sample_names=True):
        made_of.append((model, views, result, audits))
        return result

    fake = SimpleNamespace(summarise=summarise, render=lambda summary: "<p>page", made_of=made_of)
    monkeypatch.setattr(manyview.report, "run", fake, raising=False)
    return fake


@pytest.fixture
def valid():
    """Check what a command printed against its schema, and return it: ``valid("methods", call(...).stdout)``."""

    def valid(name, text):
        value = json.loads(text)
        jsonschema.validate(value, load_schema(name), cls=jsonschema.Draft202012Validator)
        return value

    return valid
