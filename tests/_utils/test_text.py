"""Text from outside on one line, and not too long."""

from __future__ import annotations

from manyview._utils.text import one_line, printable, shortened


def test_control_characters_are_shown_as_escapes():
    assert printable("a\tb\nc\x1b[0m\x07") == "a b c\\x1b[0m\\x07"


def test_long_text_is_cut_in_the_middle():
    text = shortened("a" * 100_000 + "end", 20)
    assert text == "a" * 10 + "…" + "a" * 5 + "end"
    assert len(shortened("\x1b" * 100_000, 20)) <= 41
    assert shortened("short", 20) == "short"
    assert shortened(12) == "12"


def test_one_line_keeps_the_beginning_and_the_end():
    line = one_line("first\n" + "\x1b" * 100_000 + "\nlast", 40)
    assert line.startswith("first \\x1b")
    assert line.endswith("x1b last")
    assert len(line) <= 43
