"""Values in tables stay on one line: ``.914 ± .007`` and ``.92 / .88`` are not broken at their spaces."""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx

BETWEEN = re.compile(r"(?<=\d) (±|/) (?=[\d.])")
SPACE = "\N{NO-BREAK SPACE}"


def unbroken(text: str) -> str:
    """Return a text with values that are not broken."""
    return BETWEEN.sub(rf"{SPACE}\1{SPACE}", text)


def keep_together(app: Sphinx, doctree: nodes.document) -> None:
    """Replace the spaces within the values of all tables."""
    for entry in doctree.findall(nodes.entry):
        for text in list(entry.findall(nodes.Text)):
            if text != unbroken(text):
                text.parent.replace(text, nodes.Text(unbroken(text)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Change tables as soon as a page is read."""
    app.connect("doctree-read", keep_together)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
