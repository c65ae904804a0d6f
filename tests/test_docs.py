"""What the documentation copies from the code is what the code says."""

from __future__ import annotations

import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_table_of_methods_is_up_to_date():
    table = runpy.run_path(str(ROOT / "docs" / "methods_table.py"))["table"]()
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    start, end = "<!-- python docs/methods_table.py -->\n", "\n<!-- end -->"
    assert page[page.index(start) + len(start) : page.index(end)] == table
