"""The names of the package itself, which are imported when they are first used."""

from __future__ import annotations

import importlib
import pkgutil

import pytest

import manyview


def test_every_public_name_is_there():
    assert set(manyview.__all__) == {*manyview._HOME, "__version__"}
    for name in manyview._HOME:
        assert getattr(manyview, name) is getattr(importlib.import_module(f"manyview.{manyview._HOME[name]}"), name)
    assert set(manyview.__all__) <= set(dir(manyview))


def test_every_public_module_is_there():
    found = {module.name for module in pkgutil.iter_modules(manyview.__path__) if not module.name.startswith("_")}
    assert found - {"cli", "ensemble"} <= set(manyview._MODULES)  # these are for the package itself
    assert manyview.metrics is importlib.import_module("manyview.metrics")


def test_completion_offers_what_users_need_and_nothing_else():
    offered = {name for name in dir(manyview) if not name.startswith("__")}
    assert offered == {*manyview._HOME, *manyview._MODULES}
    for package in ("cluster", "description", "report"):
        module = importlib.import_module(f"manyview.{package}")
        assert {name for name in dir(module) if not name.startswith("__")} == set(module.__all__)


def test_other_names_are_refused():
    with pytest.raises(AttributeError, match="module 'manyview' has no attribute 'clusters'"):
        manyview.clusters  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'clusters'"):
        from manyview import clusters  # noqa: F401
