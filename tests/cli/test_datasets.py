from __future__ import annotations

from manyview.datasets import list_datasets


def test_what_is_here_and_what_is_not(call, tmp_path):
    (tmp_path / "MSRC-v5.mat").touch()
    result = call("datasets", COLUMNS="160", MANYVIEW_DATA=str(tmp_path))
    assert (result.exit_code, result.stderr) == (0, "")
    table, where = result.stdout.split("Files are looked for in ")
    lines = {line.split()[0]: line.split()[1:5] for line in table.splitlines() if line.strip()}
    assert lines["MSRC-v5"] == ["210", "5", "7", "yes"]
    assert lines["NUS-WIDE"] == ["30,000", "5", "31", "no"]
    assert lines["digits"] == ["1,797", "5", "10", "bundled"]
    assert lines["generated"] == ["any", "any", "any", "generated"]
    assert lines["MNIST63k"][-1] == "no"
    assert where.startswith(str(tmp_path))
    assert "\nNUS-WIDE (NUS-WIDE.mat): NUS-WIDE-OBJECT of the Lab for Media Search" in where
    assert "\nMSRC-v5" not in where


def test_json_has_everything_and_is_valid(call, tmp_path, valid):
    (tmp_path / "MNIST63k.npz").touch()
    result = call("datasets", "--json", MANYVIEW_DATA=str(tmp_path))
    assert result.stderr == ""
    found = valid("datasets", result.stdout)
    assert found["folder"] == str(tmp_path)
    by_name = {one["name"]: one for one in found["datasets"]}
    assert set(by_name) == {"digits", "generated", "MNIST63k"} | {info.name for info in list_datasets()}
    assert [name for name, one in by_name.items() if one["here"]] == ["digits", "generated", "MNIST63k"]
    assert by_name["MSRC-v5"]["views"][0] == {"name": "cm", "n_features": 24}
    assert by_name["MSRC-v5"]["file"] == str(tmp_path / "MSRC-v5.mat")
    assert "savez" in by_name["MNIST63k"]["where"]


def test_a_folder_cannot_steer_the_terminal(call, tmp_path):
    result = call("datasets", MANYVIEW_DATA=str(tmp_path / "\x1b[2J"))
    assert "\x1b" not in result.stdout


def test_arguments_are_refused_in_one_line(call):
    result = call("datasets", "MSRC-v5")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
