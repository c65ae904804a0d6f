"""What clusters are: markers, typical samples, what goes with them, survival."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manyview._utils.imports import lazily

if TYPE_CHECKING:
    from manyview.description._description import Description, describe

__all__ = ["Description", "describe"]

__getattr__, __dir__ = lazily(__name__, {"Description": "_description", "describe": "_description"})
