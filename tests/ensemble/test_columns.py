"""The declarations of the columns, against the source and against what real fits keep."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble, Views, suggest_n_clusters
from manyview.datasets import drop_views, make_multiview
from manyview.engines import LocalRows
from manyview.ensemble import columns
from manyview.ensemble.columns import TOO_SHORT, Column

DECLARED = {name: value for name, value in vars(columns).items() if isinstance(value, Column)}
# Modules that use a column by a record that knows its name: Member.labels.
BY_RECORD = {"MEMBER_LABELS": {"consensus"}}
MODULES = sorted(path for path in Path(columns.__file__).parent.glob("*.py") if path.stem != "columns")


def uses(path: Path) -> tuple[set[str], set[str]]:
    """The declared columns that a module writes, as far as the syntax tells, and those that it mentions.

    Written: what `keep` is given as name, keys of dicts, and what is assigned to.
    """
    tree, written, mentioned = ast.parse(path.read_text(encoding="utf-8")), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in DECLARED:
            mentioned.add(node.id)
        if isinstance(node, ast.Dict):
            written |= {name for key in node.keys if key is not None for name in names_in(key)}
        if isinstance(node, ast.Assign):
            targets = [
                t for target in node.targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])
            ]
            written |= {name for t in targets if isinstance(t, ast.Subscript) for name in names_in(t.slice)}
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "keep":
            written |= names_in(node.args[0])
    return written, mentioned


def names_in(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name) and inner.id in DECLARED}


@pytest.mark.parametrize("name", DECLARED)
def test_modules_use_the_columns_that_they_are_declared_to_use(name):
    column = DECLARED[name]
    written = {path.stem for path in MODULES if name in uses(path)[0]}
    mentioned = {path.stem for path in MODULES if name in uses(path)[1]}
    assert mentioned | BY_RECORD.get(name, set()) == {*column.written_by, *column.read_by}
    assert written <= set(column.written_by)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.name)
def test_no_other_module_makes_up_names_of_columns(path):
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("keep", "drop", "gather") and call.args:
            assert not isinstance(call.args[0], ast.Constant | ast.JoinedStr), ast.unparse(call)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == "block":
            assert not isinstance(node.slice, ast.Constant | ast.JoinedStr), ast.unparse(node)


def declared_for(name: str) -> Column:
    """The only declaration that a name can come from."""
    found = [
        column
        for column in DECLARED.values()
        if re.fullmatch(re.sub(r"\\\{\\\}", "(.+?)", re.escape(column.name)), name)
    ]
    exact = [column for column in found if column.name == name]
    (only,) = exact or [max(found, key=lambda column: len(column.name))] if found else []
    return only


def check_block(block, seen):
    for name, value in block.items():
        column = declared_for(name)
        seen.add(column.name)
        if isinstance(value, Views | range):
            assert type(value).__name__ == column.dtype
        elif sp.issparse(value):
            assert column.dtype.startswith("csr_array")
            assert str(value.dtype) in column.dtype
        else:
            assert isinstance(value, np.ndarray)
            assert str(value.dtype) in column.dtype.split(" or "), name
            assert value.ndim == len([part for part in column.shape.strip("()").split(",") if part]), name


@pytest.fixture
def seen(monkeypatch):
    """The declarations of all columns that blocks hold; each is compared with what it holds."""
    found, whole = set(), LocalRows._block

    def block(self, i):
        held = whole(self, i)
        check_block(held, found)
        return held

    monkeypatch.setattr(LocalRows, "_block", block)
    return found


def fit(views, **parameters):
    GraphEnsemble(3, n_members=9, random_state=0, n_jobs=1, **parameters).fit(views)


def test_fits_of_all_kinds_keep_what_is_declared_and_nothing_else(seen, monkeypatch):
    views = make_multiview(150, 3, noise=0.6, random_state=0)
    fit(views)
    fit(views, learn_on=100)
    monkeypatch.setattr("manyview.cluster._graph_ensemble._LEARNED_ROWS", 100)
    fit(drop_views(views, 0.2, random_state=0), learn_on="all")
    fit([array.astype(np.float32) for array in views.arrays], learn_on="all")
    suggest_n_clusters(views, range(2, 4), random_state=0, n_jobs=1)
    # What is dropped within one call is not there any more when the next block is read.
    assert {column.name for column in DECLARED.values()} - {TOO_SHORT.name} == seen  # which stays in one block


def test_no_two_columns_can_have_the_same_name():
    assert len({column.name for column in DECLARED.values()}) == len(DECLARED)
    for column in DECLARED.values():
        assert declared_for(column.of(7, "local", 3)) is column
