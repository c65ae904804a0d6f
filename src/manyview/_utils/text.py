"""Text that is safe to print, durations in words, and values that JSON can represent."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any


def printable(text: object) -> str:
    r"""Return ``text`` on one line, with control characters as escapes, so that it cannot steer a terminal.

    Examples
    --------
    >>> print(printable("one\ntwo \x1b[31mred"))
    one two \x1b[31mred
    """
    return without_commands(" ".join(str(text).split()))


def without_commands(text: str) -> str:
    """Replace control and invisible characters by escapes."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def one_line(text: object, most: int = 2000) -> str:
    r"""Return ``text`` as :func:`printable` does, without the middle if it is longer than ``most``.

    Error messages begin with what is wrong and end with what to do; a name of any length may be between.

    Examples
    --------
    >>> one_line("expected a name,\ngot " + 1000 * "x" + ". Shorten it.", most=50)
    'expected a name, got xx … xxxxxxxxxx. Shorten it.'
    """
    return cut(printable(cut(str(text), most)), most)


def cut(text: str, most: int) -> str:
    """Leave out the middle of a text that is longer than ``most``."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def shortened(text: object, most: int = 80) -> str:
    r"""Return a name as :func:`printable` does, without the middle if it is long; long names often differ at the end.

    Examples
    --------
    >>> shortened("a\x1bb"), shortened("sample 1 of a very long name", most=16)
    ('a\\x1bb', 'sample 1…g name')
    """
    text = text if isinstance(text, str) else str(text)
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[-(most // 2 - 2) :]}"
    line = printable(text)
    return line if len(line) <= 2 * most else line[: 2 * most] + "…"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question with the known words that resemble one, for errors; empty if none does.

    Examples
    --------
    >>> did_you_mean("Surival", ["age", "survival"]), did_you_mean("x", ["age"])
    (" Did you mean 'survival'?", '')
    """
    plain = {each.lower(): each for each in known}
    close = get_close_matches(word.lower(), plain, n=2, cutoff=0.7)
    return f" Did you mean {' or '.join(repr(plain[each]) for each in close)}?" if close else ""


def duration(seconds: float) -> str:
    """Return a duration in words: two digits below ten seconds, the two largest units from a minute on.

    Examples
    --------
    >>> duration(0.001), duration(0.34), duration(4.56), duration(59)
    ('< 0.01 s', '0.34 s', '4.6 s', '59 s')
    >>> duration(75), duration(7500), duration(200_000)
    ('1 min 15 s', '2 h 5 min', '2 d 7 h')
    """
    if seconds < 0.005:
        return "< 0.01 s"
    if seconds < 10:
        return f"{seconds:.{2 if seconds < 1 else 1}f} s"
    whole = round(seconds)
    for large, size, small, unit in (("d", 86400, "h", 3600), ("h", 3600, "min", 60), ("min", 60, "s", 1)):
        if whole >= size:
            return f"{whole // size} {large} {whole % size // unit} {small}"
    return f"{whole} s"


def plain(value: Any) -> Any:
    """Return a value that JSON can represent: None for NaN and infinity, Python's text for unknown types.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview._utils.text import plain
    >>> plain({"a": (1, np.float32(0.5), np.nan), "b": np.eye(2), 3: np.bool_(True)})
    {'a': [1, 0.5, None], 'b': [[1.0, 0.0], [0.0, 1.0]], '3': True}
    >>> plain(slice(3))
    'slice(None, 3, None)'
    """
    import numpy as np  # here, because the command line prints its help without numpy

    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple | range):
        return [plain(inner) for inner in value]
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return repr(value)


def plain_key(key: str) -> str:
    """Normalise a name for comparison with lists of usual names: ``True_Label`` -> ``truelabel``."""
    return "".join(c for c in key.lower() if c.isalnum())
