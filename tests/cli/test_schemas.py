"""The schemas themselves; each command's tests check what it prints against its own."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import jsonschema
import pytest

from manyview.cli import schemas

NAMES = sorted(path.name.removesuffix(".schema.json") for path in Path(schemas.__file__).parent.glob("*.schema.json"))


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_one(name):
    jsonschema.Draft202012Validator.check_schema(schemas.load_schema(name))


def test_what_several_schemas_describe_is_described_in_one_way():
    shared = set()
    for one, other in combinations(NAMES, 2):
        parts, others = (schemas.load_schema(name).get("$defs", {}) for name in (one, other))
        for name in ("data", "environment", "audit", "description"):
            if name in parts and name in others:
                assert parts[name] == others[name], f"{name} of {one} and {other}"
                shared.add(name)
    assert shared == {"data", "environment", "audit", "description"}
