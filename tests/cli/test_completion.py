"""What TAB offers, as the scripts for the shells ask for it, and what it must not import."""

from __future__ import annotations

import gzip
import os
import re
import shutil
import subprocess
import sys

import pytest

from manyview.cli import _completion
from manyview.cli._choice import slug
from manyview.cluster._registry import HOMES
from manyview.experiments import available_specs

HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "plotly", "joblib")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with tables, a spec, and something that is no table."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rna.csv").write_text("patient,TP53,mouse no\nP1,1,2\n")
    (tmp_path / "protein.tsv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbf# by hand\npatient\tEGFR\nP1\t1\n"))
    (tmp_path / "clinical.csv").write_text("barcode;subtype;days;dead\nP1;A;3;1\n")
    (tmp_path / "mine.toml").write_text('kind = "table"')
    (tmp_path / "image.csv").write_bytes(b"")
    return tmp_path


@pytest.fixture
def offered(call):
    """The words that zsh is offered after a line; it passes the line as it is."""

    def offered(line):
        found = call(_MANYVIEW_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS=f"manyview {line}")
        assert found.exit_code == 0
        return [word.replace("\\\\:", ":") for word in re.findall('"([^"]*)"', found.stdout)]

    return offered


METHODS = [slug(name) for name in HOMES]
SPECS = sorted(name for name, _ in available_specs())


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cluster rna.csv -k 3 --method ", METHODS),
        ("cluster rna.csv -m tb", ["tbgl"]),
        ("methods graph", ["graph-ensemble"]),
        ("compare rna.csv --methods a", ["all", "amgl"]),
        ("compare rna.csv --methods sfmc,sm", ["sfmc,smsc"]),
        ("compare rna.csv --methods sfmc,sf", []),
        ("audit rna.csv --questions order,", ["order,seeds", "order,views"]),
        ("cluster rna.csv -k a", ["auto"]),
        ("cluster rna.csv --scale s", ["shares", "standardized"]),
        ("cluster rna.csv --scale r", ["row-standardized", "rna="]),
        ("cluster rna.csv --scale rna=st", ["rna=standardized"]),
        ("experiments run ", [*SPECS, "mine.toml"]),
        ("experiments show qui", ["quick", "quick-p", "quick-table"]),
        ("cluster rna.csv protein.tsv.gz --id ", ["patient", "TP53", "mouse no", "EGFR"]),
        ("cluster rna.csv -k 3 --drop mo", ["mouse no"]),
        ("inspect rna.csv --label-column T", ["TP53"]),
        ("cluster rna.csv --labels clinical.csv:su", ["clinical.csv:subtype"]),
        ("cluster rna.csv --labels clinical.csv:subtype@b", ["clinical.csv:subtype@barcode"]),
        ("cluster rna.csv --metadata clinical.csv:days,de", ["clinical.csv:days,dead"]),
        ("cluster rna.csv --metadata clinical.csv --survival d", ["days", "dead"]),
        ("cluster rna.csv --metadata clinical.csv:days@barcode --survival days,d", ["days,dead"]),
        ("cluster rna.csv --metadata clinical.csv --texts su", ["subtype"]),
        ("describe clinical.csv:su", ["clinical.csv:subtype"]),
        ("cluster rna.csv --join ", ["exact", "inner", "outer"]),
        # nothing to offer, which leaves names of files to the shell
        ("cluster rna.csv --labels clin", []),
        ("cluster image.csv --id ", []),
        ("cluster gone.csv --id ", []),
        ("cluster --id ", []),
    ],
)
def test_what_is_offered(folder, offered, line, words):
    assert offered(line) == words


@pytest.mark.parametrize(
    ("pieces", "answer"),
    [
        (["cluster", "rna.csv", "--id", "mo"], ["mouse\\ no"]),
        (["cluster", "rna.csv", "--id", "'mo"], ["mouse no"]),
        (["cluster", "rna.csv", "--labels", "clinical.csv", ":", "su"], ["subtype"]),
        (["cluster", "rna.csv", "--labels", "clinical.csv", ":"], ["barcode", "subtype", "days", "dead"]),
        (["cluster", "rna.csv", "--labels", "clinical.csv", ":", "subtype", "@", "b"], ["@barcode"]),
        (["cluster", "rna.csv", "--scale", "rna", "=", "sta"], ["standardized"]),
        (["cluster", "rna.csv", "--method", "=", "tb"], ["tbgl"]),
        (["cluster", "rna.csv", "--labels", "clin"], []),
    ],
)
def test_bash_cuts_words_and_gets_the_last_piece(folder, monkeypatch, capsys, call, pieces, answer):
    environment = {
        "_MANYVIEW_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(["manyview", *pieces]),
        "COMP_CWORD": str(len(pieces)),
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    with _completion.whole_words_for_bash(os.environ):
        print(call(**{name: os.environ[name] for name in environment}).stdout)
    assert capsys.readouterr().out.split("\n")[: len(answer)] == answer
    assert os.environ["COMP_WORDS"].count("\n") == int(os.environ["COMP_CWORD"])


def test_nothing_else_is_touched_outside_of_a_completion(capsys):
    environment = {"COMP_WORDS": "a\n:\nb", "COMP_CWORD": "2"}
    with _completion.whole_words_for_bash(environment):
        print("a b")
    assert capsys.readouterr().out == "a b\n"
    assert environment == {"COMP_WORDS": "a\n:\nb", "COMP_CWORD": "2"}


def test_columns_of_parquet(folder, offered):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"patient": ["P1"], "KRAS": [1.0]}).to_parquet("dna.parquet", index=False)
    assert offered("cluster dna.parquet --id ") == ["patient", "KRAS"]


@pytest.mark.parametrize("words", ["methods ", "cluster rna.csv --id ", "experiments run ", "cluster rna.csv --scale "])
def test_a_tab_imports_nothing_that_computes(folder, words):
    code = f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules]))\n"
    environment = {**os.environ, "_MANYVIEW_COMPLETE": "complete_zsh", "_TYPER_COMPLETE_ARGS": f"manyview {words}"}
    done = subprocess.run(
        [sys.executable, "-c", code + "from manyview.cli import main; main()"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) > 2
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_script_for_bash_works_in_bash(folder):
    """The function of the script is called as bash would call it after TAB."""
    lines = (
        f"manyview() {{ '{sys.executable}' -m manyview \"$@\"; }}; export -f manyview",
        "script=$(SHELL=/bin/bash manyview --show-completion)",
        "mkdir bin; printf '#!/bin/bash\\nexec \"%s\" -m manyview\\n' '" + sys.executable + "' > bin/manyview",
        "chmod +x bin/manyview; unset -f manyview; PATH=$PWD/bin:$PATH",
        'eval "$script"',
        "COMP_WORDS=(manyview cluster rna.csv --labels clinical.csv : su); COMP_CWORD=6",
        "$(complete -p manyview | grep -o '_[a-z_]*completion') manyview",
        'printf "%s|" "${COMPREPLY[@]}"',
    )
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("subtype|", 0), done.stderr
