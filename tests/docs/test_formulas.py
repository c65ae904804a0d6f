"""Every formula of the pages is converted as a whole: nothing of its source is left, and browsers can read it."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

pytest.importorskip("latex2mathml")
pytest.importorskip("sphinx")

DOCS = Path(__file__).resolve().parents[2] / "docs"
FORMULA = re.compile(r"\$\$(.+?)\$\$|(?<![\w$])\$([^$\n]+)\$(?![\w$])", re.DOTALL)
BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)


def formulas(page: Path) -> list[str]:
    text = BLOCK.sub("", page.read_text(encoding="utf-8"))
    return [display or inline for display, inline in FORMULA.findall(re.sub(r"`[^`\n]*`", "", text))]


@pytest.mark.parametrize(
    "page", [page for page in sorted(DOCS.glob("*.md")) if formulas(page)], ids=lambda page: page.name
)
def test_formulas_are_converted_as_a_whole(page):
    mathml = runpy.run_path(str(DOCS / "_ext" / "mathml.py"))["mathml"]
    for formula in formulas(page):
        elements = list(ElementTree.fromstring(mathml(formula)).iter())
        texts = [element.text or "" for element in elements]
        assert not [text for text in texts if re.search(r"[&\\{}$]", text) and text not in ("{", "}")], formula
        assert not [element for element in elements if element.get("linebreak")], formula
