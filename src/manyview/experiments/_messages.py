"""What a worker tells the runner: a line of JSON each, arrays as base64."""

from __future__ import annotations

import base64
import json
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from manyview.experiments._model import CellResult, DatasetFacts

READY = "ready"
"""The first line that a worker writes: from here on its time counts."""


@dataclass(frozen=True, eq=False)
class Answer:
    """How a cell ended, and what it was run on, if that could be read."""

    result: CellResult
    data: DatasetFacts | None


def to_line(answer: Answer) -> str:
    """An answer as a line of text."""
    return json.dumps(asdict(answer), default=_encode_array)


def from_line(line: str) -> Answer:
    """The answer of a line."""
    raw = json.loads(line, object_hook=_decode_array)
    data = raw["data"] and DatasetFacts(**raw["data"] | {"views": tuple(map(tuple, raw["data"]["views"]))})
    return Answer(CellResult(**raw["result"]), data)


def _encode_array(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return {"dtype": value.dtype.str, "shape": value.shape, "base64": base64.b64encode(value.tobytes()).decode()}
    raise TypeError(f"{type(value).__name__} cannot be sent")


def _decode_array(value: dict[str, Any]) -> Any:
    if value.keys() != {"dtype", "shape", "base64"}:
        return value
    return np.frombuffer(base64.b64decode(value["base64"]), value["dtype"]).reshape(value["shape"])
