"""Fixtures that every test folder shares: stored reference results and benchmark files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# No deadline: the first call of a kernel compiles it. The same examples every time in CI, new ones elsewhere.
settings.register_profile("manyview", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("manyview")

ROOT = Path(__file__).resolve().parents[1]


def _folder(variable: str, default: str) -> Path:
    return Path(os.environ.get(variable) or ROOT.parent / "shared" / default)


@pytest.fixture(scope="session")
def oracle() -> Callable[[str], Mapping[str, np.ndarray]]:
    """Results of the original authors' programs: ``oracle("helpers")["out_cm"]``.

    ``oracle(name)`` returns what ``np.load`` returns for ``npz/<name>.npz`` below the folder in the
    environment variable ``MANYVIEW_ORACLES``; where that is not set, below ``../shared/oracles``, seen from
    the root of the repository. The test is skipped, with the path as reason, where the file is absent.
    """

    def load(name: str) -> Mapping[str, np.ndarray]:
        path = _folder("MANYVIEW_ORACLES", "oracles") / "npz" / f"{name}.npz"
        if not path.is_file():
            pytest.skip(f"reference results {path.name} not found in {path.parent}; set MANYVIEW_ORACLES")
        return np.load(path, allow_pickle=False)

    return load


@pytest.fixture(scope="session")
def data_file() -> Callable[[str], Path]:
    """Benchmark files: ``data_file("MSRC-v5.mat")`` is the path of that file.

    Looked for in the folder in the environment variable ``MANYVIEW_DATA``; where that is not set, in
    ``../shared/data``, seen from the root of the repository. The test is skipped, with the path as reason,
    where the file is absent.
    """

    def find(name: str) -> Path:
        path = _folder("MANYVIEW_DATA", "data") / name
        if not path.is_file():
            pytest.skip(f"benchmark file {name} not found in {path.parent}; set MANYVIEW_DATA")
        return path

    return find
