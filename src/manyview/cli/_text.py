"""Text from files and specs, made safe for a terminal."""

from __future__ import annotations

from manyview._utils.text import printable

__all__ = ["duration", "printable"]


def duration(seconds: float) -> str:
    """Say how long something takes, in the two units that matter.

    Examples
    --------
    >>> duration(0.34), duration(75), duration(7500), duration(200_000)
    ('0.3 s', '1 min 15 s', '2 h 5 min', '2 d 7 h')
    """
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for large, size, small, unit in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {large} {whole % size // unit} {small}"
    return f"{whole} s"
