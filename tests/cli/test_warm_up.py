from __future__ import annotations

import subprocess
import sys

import numba
import pytest

from manyview._utils.compiled import cache_folder, compiling


@pytest.mark.slow
def test_warm_up_fills_the_folder(tmp_path, monkeypatch):
    """Compiling everything takes some twenty seconds; a second process compiles nothing."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    found = subprocess.run(
        [sys.executable, "-m", "manyview", "warm-up"], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    assert "Compiled in" in found.stdout
    assert str(tmp_path) in found.stdout
    kept = {path.name for path in tmp_path.rglob("*.nbc")}
    assert len(kept) > 30
    again = """
from manyview._utils.compiled import compiling
from manyview.cli.warm_up import _fit_every_kind
compiled = []
with compiling(lambda: compiled.append(1)):
    _fit_every_kind()
print(len(compiled))
"""
    found = subprocess.run([sys.executable, "-c", again], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert found.stdout.strip() == "0"
    assert {path.name for path in tmp_path.rglob("*.nbc")} == kept


def test_compiling_is_noticed_once():
    kernel, seen = numba.njit(lambda x: x + 1), []
    with compiling(lambda: seen.append(1)):
        kernel(1)
        kernel(2)
    kernel(1.5)
    assert len(seen) == 1


def test_the_folder_is_the_one_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert cache_folder().startswith(str(tmp_path))
