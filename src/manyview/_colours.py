"""Colours that all figures share."""

from __future__ import annotations

TEN_COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd",
)  # fmt: skip
"""Ten colours that also people with a colour vision deficiency can tell apart (M. A. Petroff, 2021)."""
