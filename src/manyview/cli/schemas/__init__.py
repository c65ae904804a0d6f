"""JSON Schemas (draft 2020-12) of what ``--json`` prints: one file for each type of document."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any


def load_schema(name: str) -> dict[str, Any]:
    """Return the schema of one type of document.

    Parameters
    ----------
    name : str
        Such as "result".

    Returns
    -------
    dict

    Examples
    --------
    >>> from manyview.cli.schemas import load_schema
    >>> load_schema("result")["title"]
    'What manyview cluster --json prints, and result.json'
    """
    schema: dict[str, Any] = json.loads((files(__name__) / f"{name}.schema.json").read_text(encoding="utf-8"))
    return schema
