from __future__ import annotations

import shlex

import numpy as np
import pandas as pd
import pytest

from manyview.datasets import make_multiview

NASTY = "[red]\x1b[2Jgone"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Three tables of sixty samples with ids, and their classes; the commands run there."""
    monkeypatch.chdir(tmp_path)
    views = make_multiview(60, 3, random_state=0).shuffled(0)
    ids = [f"s{i}" for i in range(60)]
    for name, array in zip(views.names, views.arrays, strict=True):
        pd.DataFrame(array, index=pd.Index(ids, name="id")).to_csv(f"{name}.csv")
    pd.DataFrame({"id": ids, "kind": views.labels}).to_csv("kinds.csv", index=False)
    np.savez("all.npz", **dict(zip(views.names, views.arrays, strict=True)), labels=views.labels)
    return tmp_path


TABLES = ("view0.csv", "view1.csv", "view2.csv", "--id", "id")


def lines_of(result, exit_code=0):
    assert (result.exit_code, result.stderr) == (exit_code, "")
    return result.stdout.splitlines()


def test_one_line_for_each_view_and_the_next_command(call, folder):
    lines = lines_of(call("inspect", *TABLES, "--labels", "kinds.csv:kind", COLUMNS="120"))
    assert lines[0] == (
        "view0.csv, view1.csv, view2.csv: 60 samples, with ids; 3 views, less than 1 MiB; 3 classes of 20 samples"
    )
    assert [line.split()[:4] for line in lines if line.startswith("view")][2:] == [
        [f"view{v}", "10", "float64", "100%"] for v in range(3)
    ]
    assert "No problems found." in lines
    assert lines[-1] == ("Next: manyview cluster view0.csv view1.csv view2.csv --id id --labels kinds.csv:kind -k 3")


def test_without_classes_the_number_is_to_be_found(call, folder):
    lines = lines_of(call("inspect", *TABLES))
    assert shlex.split(lines[-1])[-2:] == ["-k", "auto"]
    assert "classes not known" in " ".join(lines)


def test_the_table_fits_in_eighty_columns(call, folder):
    lines = lines_of(call("inspect", "all.npz"))
    assert len([line for line in lines if line.startswith("view")]) == 4  # the heading, and a line for each
    assert max(map(len, lines)) <= 80


def test_an_error_is_exit_code_2_and_the_gravest_comes_first(call, folder):
    rng = np.random.default_rng(0)
    holes = rng.random((60, 4))
    holes[3, 1] = np.nan
    np.savez("bad.npz", holes=holes, flat=np.c_[rng.random((60, 3)), np.ones(60)], labels=np.arange(60) // 20)
    lines = lines_of(call("inspect", "bad.npz", COLUMNS="200"), exit_code=2)
    assert call("inspect", "bad.npz", "--json").exit_code == 2
    found = [line.split(maxsplit=1) for line in lines if line.startswith(("error", "warning", "note"))]
    assert [level for level, _ in found] == ["error", "warning", "note"]
    assert found[0][1].startswith("holes: single values are missing (NaN): 1 of 240, the first at row 3, column 1.")
    assert lines[-1] == "Correct the errors, then: manyview cluster bad.npz -k 3 --impute median"


def test_texts_recommend_options(call, folder):
    text = " ".join(" ".join(lines_of(call("inspect", "view0.csv", "--id", "id"), exit_code=2)).split())
    assert "To use one table as several views, pass --view-sizes." in text
    assert "view_sizes=" not in text
    whole = call("inspect", "view0.csv", "--id", "id", "--view-sizes", "2", "--json")
    assert "error" not in whole.stdout


def test_json_says_the_same(call, folder, valid):
    result = call("inspect", "all.npz", "--json")
    assert result.stderr == ""
    found = valid("inspection", result.stdout)
    assert found["files"] == ["all.npz"]
    assert (found["n_samples"], found["has_ids"], found["problems"]) == (60, False, [])
    sizes = [["0", 20], ["1", 20], ["2", 20]]
    assert found["labels"] == {"n_classes": 3, "sizes": sizes, "sorted_by_class": False, "n_missing": 0}
    assert found["next"] == "manyview cluster all.npz -k 3"


def test_json_of_the_worst_is_valid(call, folder, valid):
    table = pd.DataFrame({"id": ["a", "b", "c"], "x": [1.0, np.nan, np.inf], "flat": 1.0})
    table.to_csv("worst.csv", index=False)
    pd.DataFrame({"id": ["a", "b", "c"], "y": [np.nan, 0, 0]}).to_csv("other.csv", index=False)
    found = valid("inspection", call("inspect", "worst.csv", "other.csv", "--id", "id", "--json").stdout)
    errors = {(one["view"], one["text"].partition(":")[0]) for one in found["problems"] if one["level"] == "error"}
    assert {("worst", "single values are missing (NaN)"), ("worst", "infinite values")} <= errors


def test_names_cannot_steer_the_terminal(call, folder):
    np.savez("odd.npz", **{NASTY: np.random.default_rng(0).random((9, 2)), "b": np.eye(9)})
    result = call("inspect", "odd.npz", COLUMNS="120")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout
    assert "[red]" in result.stdout


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["gone.csv"], "gone.csv: no such file"),
        (["all.np"], "all.np: no such file. Did you mean all.npz?"),
        ([], "Missing argument 'FILES'"),
        (["empty.npz"], "empty.npz: the file is empty"),
        (["broken.mat"], "broken.mat"),
        (["notes.txt"], "notes.txt: expected a table with columns separated by tabs, commas, semicolons or spaces"),
        (
            ["notes.docx"],
            "notes.docx: cannot be read by its extension. Expected one of .mat, .npz, .npy, .mtx, .mtx.gz",
        ),
        (["nothing"], "no files with views in this folder"),
        (["two.npz"], "found no views. It holds w (5,), v (3,)."),
        (["view0.csv", "short.csv", "--id", "id"], "short.csv"),
        (["all.npz", "--labels", "gone.csv"], "gone.csv"),
        (["all.npz", "--view-sizes", "two"], "expected whole numbers, got 'two'"),
    ],
)
def test_bad_input_is_one_line(call, folder, words, text):
    (folder / "empty.npz").touch()
    (folder / "broken.mat").write_bytes(b"nothing of the kind" * 20)
    (folder / "notes.txt").write_text("notes")
    (folder / "notes.docx").write_text("notes")
    (folder / "nothing").mkdir()
    np.savez("two.npz", w=np.arange(5), v=np.arange(3))
    pd.DataFrame({"id": ["s0", "s1"], "x": [1, 2]}).to_csv("short.csv", index=False)
    result = call("inspect", *words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("manyview: ")
    assert result.stderr.count("\n") == 1
    assert text in result.stderr


def test_a_file_that_can_be_read_in_two_ways_says_what_it_holds(call, folder):
    rng = np.random.default_rng(0)
    first = np.empty(2, dtype=object)
    first[:] = [rng.random((9, 2)), rng.random((9, 3))]
    from scipy.io import savemat

    savemat("two-ways.mat", {"X": first, "data": first})
    result = call("inspect", "two-ways.mat")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert "X" in result.stderr
    assert "data" in result.stderr
    assert "--views-key" in result.stderr


@pytest.mark.parametrize(
    "name", ["MSRC-v5.mat", "3Sources.mat", "BBC4view.mat", "Handwritten4.mat", "ORL.mat", "WebKB.mat"]
)
def test_benchmark_files(call, benchmark_file, name, valid):
    found = valid("inspection", call("inspect", benchmark_file(name), "--json").stdout)
    assert not [one for one in found["problems"] if one["level"] == "error"]
    assert found["labels"]["n_classes"] == int(found["next"].split()[-1])


def test_it_says_why_a_scaling_was_chosen(call, folder, valid):
    rng = np.random.default_rng(0)
    words = rng.poisson(0.04, size=(60, 400))
    np.savez("texts.npz", words=words, shares=rng.dirichlet(np.ones(6), 60))
    lines = [line.rstrip() for line in lines_of(call("inspect", "texts.npz"))]
    assert "scaling words: counts (96% zeros, whole numbers, 400 columns)" in lines
    assert "scaling shares: shares (no value below 0, and all rows have the same sum)" in lines
    found = valid("inspection", call("inspect", "texts.npz", "--json").stdout)
    assert {view["scaling"]: view["scaling_reason"] for view in found["views"]} == {
        "counts": "96% zeros, whole numbers, 400 columns",
        "shares": "no value below 0, and all rows have the same sum",
    }


def test_columns_of_mixed_units_get_the_option_that_helps(call, folder):
    rng = np.random.default_rng(0)
    np.savez("units.npz", **{"my lab": rng.normal(size=(60, 6)) * [1, 1, 5000, 1, 1, 1], "b": rng.normal(size=(60, 4))})
    text = " ".join(" ".join(lines_of(call("inspect", "units.npz"))).split())
    assert "If the columns have different units, pass --scale 'my lab=standardized'." in text
    result = call("cluster", "units.npz", "-k", "2", "--scale", "my lab=standardized", "--no-report")
    assert result.exit_code == 0, result.stderr
