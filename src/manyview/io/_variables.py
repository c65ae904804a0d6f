"""The variables of a MATLAB or ``.npz`` file, in the one form that the rules about them work on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Variables = Mapping[str, Any]
"""Key -> NumPy array, sparse array, `Cell` or `Other`."""


@dataclass(frozen=True, eq=False)
class Cell:
    """A MATLAB cell array: its elements in MATLAB's (column-major) order, and its shape."""

    items: list[Any]
    shape: tuple[int, ...]


@dataclass(frozen=True)
class Other:
    """Something that can be neither view nor labels; errors show what it is."""

    kind: str


def plain_key(key: str) -> str:
    """Spell a key the way the lists of usual names do: ``True_Label`` -> ``truelabel``."""
    return "".join(c for c in key.lower() if c.isalnum())


def describe(variables: Variables, limit: int = 12) -> str:
    """What a file holds, for errors: ``X cell (1, 2) of (5, 3) and (5, 4), y (5, 1)``."""
    if not variables:
        return "nothing"
    shown = [_describe_one(key, value) for key, value in list(variables.items())[:limit]]
    more = len(variables) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _describe_one(key: str, value: Any) -> str:
    if isinstance(value, Other):
        return f"{key} ({value.kind})"
    if not isinstance(value, Cell):
        return f"{key} {tuple(map(int, value.shape))}"
    items = [_describe_one("", item).strip() for item in value.items[:3]]
    more = " ..." if len(value.items) > 3 else ""
    return f"{key} cell {tuple(map(int, value.shape))}" + (f" of {' and '.join(items)}{more}" if items else "")
