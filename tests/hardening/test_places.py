"""Where files are: names of any kind, no home, nothing that can be written to but the output."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pandas
import pytest

import manyview
from manyview.datasets import make_multiview

FEW = ("-k", "3", "--set", "n_members=8")
ANSWER = {"result.json", "labels.csv", "graph.npz", "markers.csv", "report.html"}
NAMES = {
    "unicode": "données Ünïcödé 数据 ß🙂",
    "newline": "two\nlines\tand a tab",
    "dash": "-k",
    "long": "n" * 240,
    "quotes": "a'b\"c$d`e;*?[x]#%&",
    "no text": os.fsdecode(b"latin-1 \xe9\xff"),
}
LOCALES = {
    "usual": {},
    "C": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}


def run(words, folder, **environment):
    kept = {name: value for name, value in os.environ.items() if environment.get(name, "") is not None}
    changed = {name: value for name, value in environment.items() if value is not None}
    packages = os.path.dirname(os.path.dirname(manyview.__file__))
    done = subprocess.run(
        [sys.executable, *words],
        cwd=folder,
        env={**kept, "PYTHONPATH": packages, **changed},
        capture_output=True,
        timeout=300,
    )
    said = done.stderr.decode(errors="replace")
    assert done.returncode == 0, said
    assert "Traceback" not in said
    return done.stdout.decode(errors="replace")


def write_tables(folder, suffix=""):
    views = make_multiview(60, n_clusters=3, noise=0.3, random_state=0)
    paths = [folder / f"a{suffix}.csv", folder / f"b{suffix}.csv"]
    for path, array in zip(paths, views.arrays, strict=False):
        pandas.DataFrame(array).add_prefix("x").to_csv(path, index=False)
    return paths


def check_answer(folder):
    assert set(os.listdir(folder)) == ANSWER
    result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    assert result["n_clusters"] == 3
    assert (folder / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


# In one process, for each of them: read, fit, save, load, report, store.
LIBRARY = """
import os, sys
from pathlib import Path
import manyview
from manyview.experiments import Store
from manyview.report import write_report

for name in sys.argv[1:]:
    folder = Path("below") / name
    for table in ("a.csv", "b.csv"):
        assert (folder / table).is_file()
    views = manyview.read_views([folder / "a.csv", folder / "b.csv"])
    model = manyview.GraphEnsemble(3, n_members=4, random_state=0).fit(views)
    model.save(folder / name, results=True)
    assert (manyview.load(folder / name).labels_ == model.labels_).all()
    write_report(model, views, folder / (name[:200] + ".html"))
    for again in (True, False):
        with Store(name[:40] + ".sqlite", create=again) as store:  # SQLite takes no paths over 512 bytes
            assert store.results([]) == {}
    assert not list(folder.glob("*.part"))
print("done")
"""


def test_names_of_files_of_every_kind(tmp_path):
    for name in NAMES.values():
        folder = tmp_path / "below" / name
        folder.mkdir(parents=True)
        write_tables(folder)
    assert run(["-c", LIBRARY, *NAMES.values()], tmp_path) == "done\n"


@pytest.mark.slow
def test_names_of_files_of_every_kind_in_a_locale_without_them(tmp_path):
    for name in NAMES.values():
        folder = tmp_path / "below" / name
        folder.mkdir(parents=True)
        write_tables(folder)
    assert run(["-c", LIBRARY, *NAMES.values()], tmp_path, **LOCALES["C"]) == "done\n"


COMMANDS = [("unicode", "C"), *((name, "usual") for name in NAMES if name != "unicode")]


@pytest.mark.parametrize(
    ("name", "locale"), [COMMANDS[0], *(pytest.param(*one, marks=pytest.mark.slow) for one in COMMANDS[1:])]
)
def test_a_command_with_names_of_every_kind(tmp_path, name, locale):
    folder = tmp_path / NAMES[name]
    folder.mkdir()
    paths = write_tables(folder, suffix=NAMES[name][:200])
    (tmp_path / "temporary ü").mkdir()
    words = ["-m", "manyview", "cluster", *FEW, "--out", str(folder / "out"), "--", *map(str, paths)]
    run(words, tmp_path, TMPDIR=str(tmp_path / "temporary ü"), **LOCALES[locale])
    check_answer(folder / "out")
    assert os.listdir(tmp_path / "temporary ü") == []


@pytest.mark.slow
def test_relative_linked_and_on_another_file_system(tmp_path):
    write_tables(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    other = Path("/dev/shm")
    places = ["link", "link/below", "./dot/../out"]
    if other.is_dir() and os.access(other, os.W_OK):
        (tmp_path / "far").symlink_to(other / f"manyview-{os.getpid()}")
        (tmp_path / "far").resolve().mkdir()
        places.append("far")
    (tmp_path / "dot").mkdir()
    try:
        for place in places:
            run(["-m", "manyview", "cluster", "a.csv", "b.csv", *FEW, "--out", place], tmp_path)
            check_answer_of_link = {name for name in os.listdir(tmp_path / place) if name != "below"}
            assert check_answer_of_link == ANSWER
        assert (tmp_path / "link").is_symlink()
    finally:
        if "far" in places:
            for path in (tmp_path / "far").iterdir():
                path.unlink()
            (tmp_path / "far").resolve().rmdir()


# As a user who may write nowhere but to the output. Root may write everywhere, so root gives that up first; it does not
# become somebody else, who might not be let into the folder that Python is in.
NOWHERE = """
import ctypes, os, pwd, sys
def getpwuid(uid):
    raise KeyError(uid)
if "HOME" not in os.environ:
    pwd.getpwuid = getpwuid  # a user that the system does not know, as in many containers
if os.getuid() == 0:
    header, nothing = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()  # version 3, this process
    assert ctypes.CDLL(None).capset(header, nothing) == 0
for place in (os.environ.get("HOME", "."), ".", os.environ["TMPDIR"], os.environ["PYTHONPATH"]):
    assert not os.access(place, os.W_OK), place
sys.argv = ["manyview", *sys.argv[1:]]
from manyview.cli import main
main()
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs the capabilities of Linux")
@pytest.mark.parametrize("home", ["read-only", "absent", None])
def test_a_user_without_home_cache_and_temporary_files(tmp_path, home):
    import shutil

    folders = {name: tmp_path / name for name in ("packages", "read-only", "out")}
    for folder in folders.values():
        folder.mkdir()
    source = Path(manyview.__file__).parent
    shutil.copytree(source, folders["packages"] / "manyview", ignore=shutil.ignore_patterns("__pycache__"))
    write_tables(tmp_path)
    for folder in (folders["read-only"], *folders["packages"].rglob("*"), folders["packages"]):
        folder.chmod(0o555 if folder.is_dir() else 0o444)
    tmp_path.chmod(0o555)
    try:
        run(
            ["-c", NOWHERE, "cluster", "a.csv", "b.csv", *FEW, "--out", "out"],
            tmp_path,
            HOME=None if home is None else str(tmp_path / home),
            TMPDIR=str(folders["read-only"]),
            PYTHONPATH=str(folders["packages"]),
            PYTHONDONTWRITEBYTECODE="1",
            XDG_CACHE_HOME=None,
            NUMBA_CACHE_DIR=None,
        )
    finally:
        for folder in (tmp_path, folders["packages"], *folders["packages"].rglob("*")):
            if folder.is_dir():
                folder.chmod(0o755)
    assert {path.name for path in tmp_path.iterdir()} == {*folders, "a.csv", "b.csv"}
    check_answer(folders["out"])
