"""Text from files and specs, made safe to show."""

from __future__ import annotations


def printable(text: object) -> str:
    r"""Put ``text`` on one line, with everything that a terminal would act on shown as an escape.

    Examples
    --------
    >>> print(printable("one\ntwo \x1b[31mred"))
    one two \x1b[31mred
    """
    line = " ".join(str(text).split())
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in line)


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
