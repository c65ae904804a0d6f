"""The example and the README do what they say."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.slow
def test_digits_example_writes_what_it_prints(tmp_path):
    command = [sys.executable, str(ROOT / "examples" / "digits.py"), "--output", str(tmp_path / "out")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    scores = json.loads((tmp_path / "out" / "scores.json").read_text())
    assert [row["rows"] for row in scores] == ["shuffled", "sorted by class"]
    assert f"{scores[0]['acc']:.3f}" in done.stdout
    assert scores[0]["acc"] > 0.5
    with (tmp_path / "out" / "labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["image"]) for row in rows) == list(range(1797))
    assert {row["cluster"] for row in rows} == {str(k) for k in range(10)}


@pytest.mark.slow
def test_readme_example_runs(capsys):
    code = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[1]
    variables: dict = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(code, variables)
    assert len(np.unique(variables["model"].labels_)) == 10
    assert "'acc'" in capsys.readouterr().out
