"""Text from files and specs made safe to show, durations in words, and values as JSON knows them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from numbers import Integral, Real
from typing import Any


def printable(text: object) -> str:
    r"""Put ``text`` on one line, with everything that a terminal would act on shown as an escape.

    Examples
    --------
    >>> print(printable("one\ntwo \x1b[31mred"))
    one two \x1b[31mred
    """
    return without_commands(" ".join(str(text).split()))


def without_commands(text: str) -> str:
    """The text with everything that a terminal would act on, or that cannot be seen, as an escape."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def one_line(text: object, most: int = 2000) -> str:
    r"""The same as :func:`printable`, with the middle left out where it is longer than ``most``.

    What is wrong is said at the beginning of a text, what to do at its end; a name of any length may be between.

    Examples
    --------
    >>> one_line("expected a name,\ngot " + 1000 * "x" + ". Shorten it.", most=50)
    'expected a name, got xx … xxxxxxxxxx. Shorten it.'
    """
    return cut(printable(cut(str(text), most)), most)


def cut(text: str, most: int) -> str:
    """The beginning and the end of a text that is longer than ``most``."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]} … {text[-half:]}"


def shortened(text: object, most: int = 80) -> str:
    r"""The same as :func:`printable`, cut in the middle if it is long: how a name ends often tells it from others.

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


def duration(seconds: float) -> str:
    """Return a time for people: two digits below ten seconds, the two largest units from a minute on.

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
    """A value as JSON knows it: no NaN and no infinity. What JSON has no word for becomes Python's text for it.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview._utils.text import plain
    >>> plain({"a": (1, np.float32(0.5), np.nan), "b": np.eye(2), 3: np.bool_(True)})
    {'a': [1, 0.5, None], 'b': [[1.0, 0.0], [0.0, 1.0]], '3': True}
    >>> plain(slice(3))
    'slice(None, 3, None)'
    """
    import numpy as np  # here, as the command line says --help without it

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
