"""Whatever goes wrong is one line on stderr and the right exit code."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import manyview.experiments
from manyview._utils.machine import check_memory
from manyview.cli._errors import describe, is_bad_input
from manyview.cluster import TBGL
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError


def one_line(result, code):
    """The text of an error, after checking that it is nothing but that."""
    assert result.exit_code == code
    assert result.stdout == ""
    assert result.stderr.startswith("manyview: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["experiments", "rum"], "No such command 'rum'. Did you mean 'run'? See: manyview experiments --help"),
        (
            ["cluster", "a.csv"],
            "'--clusters'. Give the number of clusters, as in -k 4, or -k auto. See: ",
        ),
        (["audit", "a.csv"], "'--clusters'. Give the number of clusters, as in -k 4. See: manyview audit --help"),
        (["experiments", "show", "--store", "x"], "Missing argument 'SPEC'"),
        (["experiments", "run", "tiny", "--store", "x", "--workers", "0"], "Invalid value for '--workers'"),
        (["experiments", "run", "tiny", "--store", "x", "--seeds", "none"], "Invalid value for '--seeds'"),
        (["experiments", "export", "tiny", "--store", "x", "--format", "pdf"], "'csv', 'latex', 'markdown'"),
    ],
)
def test_usage(call, words, text):
    assert text in one_line(call(*words), 2)


def test_errors_of_the_library_are_bad_input(call, library):
    assert "no spec called 'nope'; there is tiny." in one_line(call("experiments", "run", "nope", "--store", "x"), 2)
    assert "no store at gone.sqlite." in one_line(call("experiments", "show", "tiny", "--store", "gone.sqlite"), 2)


def test_a_plain_value_error_counts_by_who_raised_it():
    with pytest.raises(ValueError) as ours:
        manyview.clustering_scores([0, 1], [0])
    with pytest.raises(ValueError) as numpys:
        np.zeros(3).reshape(2)
    assert is_bad_input(ours.value)
    assert not is_bad_input(numpys.value)
    assert "internal error" in describe(numpys.value)
    assert is_bad_input(ViewsError("no views"))


def test_a_parameter_that_scikit_learn_refuses_is_bad_input():
    with pytest.raises(ValueError) as refused:
        TBGL(2, p=7).fit(make_multiview(20, random_state=0))
    assert is_bad_input(refused.value)
    assert "'p' parameter of TBGL must be" in describe(refused.value)


def test_memory_that_we_refuse_is_bad_input_and_memory_that_is_gone_is_not():
    with pytest.raises(MemoryError) as refused:
        check_memory("TBGL", 1e18, "many samples", "Use fewer.")
    assert is_bad_input(refused.value)
    assert not is_bad_input(MemoryError("from elsewhere"))


def test_arguments_of_python_are_named_as_options():
    error = ViewsError("a.mat: two could be views. Pass views_key= to choose, or join='inner'; labels=3 stays.")
    assert describe(error) == "a.mat: two could be views. Pass --views-key to choose, or --join inner; labels=3 stays."


def test_a_warning_is_one_line(call, library, monkeypatch):
    def warn(*_):
        warnings.warn("two\nlines", UserWarning, stacklevel=1)
        raise ViewsError("enough")

    monkeypatch.setattr(manyview.experiments, "load_spec", warn)
    result = call("experiments", "show", "tiny", "--store", "x")
    assert result.stderr == "manyview: warning: two lines\nmanyview: enough\n"


def test_ctrl_c_is_no_error(call, library, monkeypatch):
    def stop(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(manyview.experiments, "load_spec", stop)
    assert one_line(call("experiments", "show", "tiny", "--store", library.store), 130) == "manyview: stopped.\n"


def test_an_internal_error_says_so_without_a_traceback(call, library, monkeypatch):
    monkeypatch.setattr(manyview.experiments, "load_spec", lambda name: 1 / 0)
    text = one_line(call("experiments", "show", "tiny", "--store", library.store), 1)
    assert "ZeroDivisionError: division by zero" in text
    assert "MANYVIEW_DEBUG=1" in text


@pytest.mark.parametrize(("first", "env"), [(["--debug"], {}), ([], {"MANYVIEW_DEBUG": "1"})])
def test_debug_shows_where(call, library, monkeypatch, first, env):
    monkeypatch.setattr(manyview.experiments, "load_spec", lambda name: 1 / 0)
    result = call(*first, "experiments", "show", "tiny", "--store", library.store, **env)
    assert result.exit_code == 1
    assert "Traceback" in result.stderr
    assert result.stderr.splitlines()[-1].startswith("manyview: internal error")


def test_system_errors_name_the_file(tmp_path):
    with pytest.raises(OSError) as error:
        (tmp_path / "gone").read_text()
    assert describe(error.value) == f"{tmp_path / 'gone'}: No such file or directory"
    assert is_bad_input(error.value)


def test_text_of_an_error_cannot_steer_the_terminal(call, library):
    text = one_line(call("experiments", "run", "\x1b[2Jtwo\nlines", "--store", "x"), 2)
    assert "\x1b" not in text
    assert "x1b[2Jtwo" in text


def test_ctrl_c_ends_with_130(call, library, monkeypatch):
    def stopped(name):
        raise KeyboardInterrupt

    monkeypatch.setattr(manyview.experiments, "load_spec", stopped)
    assert call("experiments", "show", "tiny", "--store", library.store).exit_code == 130


def python(*words, stdout=subprocess.PIPE, **env):
    """Run Python in a process of its own, with this package."""
    root = os.path.dirname(os.path.dirname(manyview.__file__))
    env = {**os.environ, "PYTHONPATH": root, "COLUMNS": "80", "PYTHONUNBUFFERED": "", **env}
    return subprocess.run([sys.executable, *words], env=env, text=True, stdout=stdout, stderr=subprocess.PIPE)


def test_the_program_as_a_process():
    done = python("-m", "manyview", "--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"manyview {manyview.__version__}\n", "")
    failed = python("-m", "manyview", "experiments", "cook")
    assert (failed.returncode, failed.stdout) == (2, "")
    assert failed.stderr == "manyview: No such command 'cook'. See: manyview experiments --help\n"


def test_a_reader_that_leaves_is_no_error():
    reading, writing = os.pipe()
    os.close(reading)
    done = python("-m", "manyview", "--version", stdout=writing)
    os.close(writing)
    assert done.stderr == ""


def test_a_terminal_that_knows_little_gets_escapes():
    code = "from manyview.cli import app; app.command('sign')(lambda: print('0.9±0.1')); app(['sign'])"
    done = python("-c", code, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stdout) == (0, "0.9\\xb10.1\n")


HEAVY = ("numpy", "scipy", "sklearn", "numba", "pandas", "plotly", "joblib")


@pytest.mark.parametrize(
    "code",
    [
        "import manyview",
        "import manyview.cli",
        "from manyview.cli import app; app(['experiments', 'run', '--help'])",
        "from manyview.cli import app; app(['cluster', '--help'])",
    ],
)
def test_nothing_heavy_is_imported_before_a_command_runs(code):
    check = f"import atexit, sys; atexit.register(lambda: print([m for m in {HEAVY} if m in sys.modules]))\n{code}"
    done = python("-c", check)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "[]"
