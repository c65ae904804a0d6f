"""The examples do what they say."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from manyview.cluster import available_methods

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_digits_example_writes_what_it_prints(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "digits.py"), "--output", str(tmp_path / "out")]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert [(row.pop("method"), row.pop("rows")) for row in scores] == [
        ("GraphEnsemble", "shuffled"),
        ("k-means", "shuffled"),
        ("TBGL (published)", "shuffled"),
        ("GraphEnsemble", "sorted by class"),
        ("TBGL (published)", "sorted by class"),
    ]
    for row in scores:
        assert row.pop("seconds") > 0
        assert len(row) == 7
        assert "  ".join(f"{value:.3f}" for value in row.values()) in re.sub(r" {2,}", "  ", printed)
    assert scores[0] == scores[3]  # GraphEnsemble, in both orders
    assert scores[0]["acc"] > 0.9
    assert scores[2]["acc"] > 0.5
    assert re.search(r"GraphEnsemble +1\.000 \(the same clusters\)", printed)
    assert re.search(r"TBGL \(published\) +0\.\d{3}\n", printed)
    with (tmp_path / "out" / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["image"]) for row in rows) == list(range(1797))
    assert {row["cluster"] for row in rows} == {str(k) for k in range(10)}
    confidence = [float(row["confidence"]) for row in rows]
    assert all(0 < value <= 1 and value == round(value, 3) for value in confidence)
    graphs = re.search(r"graphs +\S+ \(score (0\.\d{3}), next best \S+ (0\.\d{3})\)", printed)
    assert float(graphs[1]) >= float(graphs[2])
    mean = re.search(r"mean confidence +(\d\.\d{3})", printed)[1]
    assert float(mean) == pytest.approx(np.mean(confidence), abs=1.1e-3)  # both are rounded


@pytest.mark.slow
def test_comparison_runs_every_method():
    command = [sys.executable, str(ROOT / "examples" / "compare.py"), "--samples", "200"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert lines[0] == "200 digits in 5 views, rows shuffled, one run with random_state=0"
    scores = {line.split()[0]: float(line.split()[1]) for line in lines[2:]}
    assert list(scores) == [method.name for method in available_methods()]
    assert all(0.1 < acc <= 1 for acc in scores.values())
    assert {line.split()[0] for line in lines if "depends on the order" in line} == {"TBGL", "ETLMSC"}
