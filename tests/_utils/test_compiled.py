from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest

import manyview
from manyview._utils.compiled import compiling, njit


def test_compiles_and_keeps_what_it_compiled():
    double = njit(cache=True, nogil=True)(lambda x: 2 * x)
    assert double(21) == 42
    assert type(double._cache).__name__ == "FunctionCache"


def test_kernels_are_kept_in_the_cache_folder_of_the_user(tmp_path, monkeypatch):
    """Beside the modules they would be left behind when the package is uninstalled."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    double = njit(cache=True)(lambda x: 2 * x)
    assert double(21) == 42
    assert double.stats.cache_path.startswith(str(tmp_path / "manyview" / "compiled"))
    assert [path.suffix for path in tmp_path.rglob("*.nb*")] != []
    assert numba.config.CACHE_DIR == ""


def test_the_folder_of_the_environment_comes_first(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "chosen"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert njit(cache=True)(lambda x: x).stats.cache_path.startswith(str(tmp_path / "chosen"))


def test_other_errors_are_not_hidden(monkeypatch):
    def refuse(**options):
        raise RuntimeError("something else")

    monkeypatch.setattr(numba, "njit", refuse)
    with pytest.raises(RuntimeError, match="something else"):
        njit(cache=True)(lambda x: x)


def test_a_package_without_any_folder_to_keep_kernels_in(tmp_path):
    """Files stand where numba would make folders, so that this binds root, too."""
    source = Path(manyview.__file__).parent
    copy = tmp_path / "packages" / "manyview"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [copy, *(path for path in copy.rglob("*") if path.is_dir())]:
        (folder / "__pycache__").write_text("")
    home = tmp_path / "home"
    home.write_text("")
    program = (
        "from manyview.proximal import project_simplex; import numpy; print(project_simplex(numpy.array([[2.0, 0.0]])))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "XDG"))}
    environment |= {"HOME": str(home), "PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=200)
    assert (done.stdout, done.stderr) == ("[[1. 0.]]\n", "")


@pytest.mark.parametrize(("module", "expected"), [("manyview.somewhere", False), ("elsewhere", True)])
def test_garbage_is_not_collected_while_our_kernels_are_compiled(module, expected):
    found = []

    def double(x):
        return 2 * x

    def twice(x):
        return inner(inner(x))

    double.__module__ = twice.__module__ = module
    inner = njit(cache=False)(double)
    with compiling(lambda: found.append(gc.isenabled()), lambda: found.append(gc.isenabled())):
        assert njit(cache=False)(twice)(21) == 84
    assert found == [expected, expected, expected, True]  # both start, the inner one ends, the outer one ends
    assert gc.isenabled()


def test_garbage_collection_that_was_off_stays_off():
    def double(x):
        return 2 * x

    double.__module__ = "manyview.somewhere"
    gc.disable()
    try:
        njit(cache=False)(double)(21)
        assert not gc.isenabled()
    finally:
        gc.enable()
