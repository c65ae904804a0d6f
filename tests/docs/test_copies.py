"""What the documentation copies from the code is what the code says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

from manyview.experiments import available_specs, load_spec

ROOT = Path(__file__).resolve().parents[2]


def test_the_table_of_methods_is_up_to_date():
    table = runpy.run_path(str(ROOT / "docs" / "methods_table.py"))["table"]()
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    start, end = "<!-- python docs/methods_table.py -->\n", "\n<!-- end -->"
    assert page[page.index(start) + len(start) : page.index(end)] == table


def test_the_spec_on_the_page_of_the_evaluation_can_be_read(tmp_path):
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    (tmp_path / "mine.toml").write_text(example, encoding="utf-8")
    (part,) = load_spec(tmp_path / "mine.toml").parts
    assert [dataset.name for dataset in part.datasets] == ["MSRC-v5", "ORL", "mine", "blobs"]


def test_the_page_of_the_evaluation_names_every_part():
    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    assert {name for name, _ in available_specs()} <= set(re.findall(r"`([\w-]+)`", page)) | {"quick-p", "quick-table"}
