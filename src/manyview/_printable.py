"""Text from files and specs, made safe to show."""

from __future__ import annotations


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
