"""Two processes that write the same output: in the end it is one of the two, whole, and nobody crashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pandas
import pytest

import manyview
from manyview.datasets import make_multiview
from manyview.experiments import Store

LIMIT = 300
# Two writers of a folder, of a model and of a report. Each round both begin together; between rounds they wait.
WRITE = """
import sys
from pathlib import Path
import manyview
from manyview._utils.files import write_folder
from manyview.datasets import make_multiview
from manyview.report import write_report

me, rounds, folder = sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])
views = make_multiview(60, n_clusters=3, random_state=0)
model = manyview.GraphEnsemble(3 + int(me), n_members=4, random_state=0).fit(views)
write_report(model, views, folder / f"report{me}.html")
for i in range(rounds):
    print("ready", flush=True)
    sys.stdin.readline()
    names = [f"{number}.txt" for number in range(6)]
    mine = names if me == "0" else names[:3]
    write_folder(folder / f"out{i}", {name: me * 1000 for name in mine}, outdated=lambda: set(names) - set(mine))
    model.save(folder / "same.manyview")
    if i % 10 == 0:
        write_report(model, views, folder / "same.html")
print("done", flush=True)
"""


def environment():
    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(manyview.__file__))}


def write_at_once(tmp_path, rounds):
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command = [sys.executable, "-c", WRITE]
    both = [subprocess.Popen([*command, str(me), str(rounds), tmp_path], env=environment(), **pipes) for me in range(2)]
    sizes = set()
    for i in range(rounds + 1):
        expected = "ready\n" if i < rounds else "done\n"
        assert [writer.stdout.readline() for writer in both] == [expected] * 2, [
            writer.stderr.read() for writer in both
        ]
        if i:
            found = {path.name: path.read_text() for path in (tmp_path / f"out{i - 1}").iterdir()}
            assert len(set(found.values())) == 1, "a mixture"
            assert len(found) == (6 if found["0.txt"][0] == "0" else 3), "a mixture"
            sizes.add(manyview.load(tmp_path / "same.manyview").n_clusters_)
        if i < rounds:
            for writer in both:
                writer.stdin.write("\n")
            for writer in both:
                writer.stdin.flush()
    for writer in both:
        writer.communicate(timeout=LIMIT)
        assert writer.returncode == 0
    return sizes


def test_two_writers_of_the_same_files(tmp_path):
    assert write_at_once(tmp_path, 12) <= {3, 4}
    reports = [(tmp_path / name).read_bytes() for name in ("report0.html", "report1.html", "same.html")]
    assert len(reports[2]) in (len(reports[0]), len(reports[1]))
    assert not list(tmp_path.rglob("*.part"))


@pytest.mark.slow
def test_two_writers_often(tmp_path):
    assert write_at_once(tmp_path, int(os.environ.get("MANYVIEW_WRITES", "500"))) == {3, 4}
    assert not list(tmp_path.rglob("*.part"))


def start(folder, *words):
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-m", "manyview", *words], cwd=folder, env=environment(), **pipes)


@pytest.mark.slow
def test_two_commands_with_the_same_folder(tmp_path):
    views = make_multiview(60, n_clusters=3, noise=0.4, random_state=0)
    for name, array in zip("ab", views.arrays, strict=False):
        pandas.DataFrame(array).add_prefix("x").to_csv(tmp_path / f"{name}.csv", index=False)
    for _ in range(10):
        both = [
            start(tmp_path, "cluster", "a.csv", "b.csv", "-k", k, "--set", "n_members=8", *report, "--out", "same")
            for k, report in (("2", ()), ("4", ("--no-report",)))
        ]
        for running in both:
            _, said = running.communicate(timeout=LIMIT)
            assert running.returncode == 0, said
            assert "Traceback" not in said
        result = json.loads((tmp_path / "same" / "result.json").read_text(encoding="utf-8"))
        names = {name for name in result["output"].values() if name is not None}
        assert set(os.listdir(tmp_path / "same")) == names
        rows = (tmp_path / "same" / "labels.csv").read_text(encoding="utf-8").splitlines()[1:]
        assert len({row.split(",")[1] for row in rows}) == result["n_clusters"]


@pytest.mark.slow
def test_two_runs_with_the_same_store(tmp_path):
    both = [
        start(tmp_path, "experiments", "run", "quick-table", "--seeds", "1", "--store", "same.sqlite", "--workers", "1")
        for _ in range(2)
    ]
    ended = [(running.communicate(timeout=1800)[1], running.returncode) for running in both]
    assert sorted(code for _, code in ended) in ([0, 0], [0, 2]), ended
    for said, code in ended:
        assert "Traceback" not in said
        assert code == 0 or "in use by another run" in said
    with Store(tmp_path / "same.sqlite") as store:
        assert {row[0] for row in store._connection.execute("SELECT status FROM cells")} == {"done"}
