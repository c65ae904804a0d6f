"""The names of the scalings that a user asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from manyview.exceptions import ViewsError
from manyview.graphs import SCALERS
from manyview.views import Views


def scaling_names(scaling: Any, views: Views) -> list[str]:
    """The name of a scaling, or "auto", for every view."""
    if isinstance(scaling, str):
        return [scaling] * len(views)
    if isinstance(scaling, Mapping):
        unknown = [name for name in scaling if name not in views.names]
        if unknown:
            raise ViewsError(f"scaling: there is no view {unknown[0]!r}; the views are {', '.join(views.names)}.")
        wanted = [scaling.get(name, "auto") for name in views.names]
    else:
        wanted = list(scaling)
        if len(wanted) != len(views):
            raise ViewsError(f"scaling: expected one name or one per view ({len(views)}), got {len(wanted)}.")
    for name, value in zip(views.names, wanted, strict=True):
        if value != "auto" and value not in SCALERS:
            raise ViewsError(
                f"scaling of view {name!r}: expected one of {', '.join(['auto', *SCALERS])}, got {value!r}."
            )
    return wanted
