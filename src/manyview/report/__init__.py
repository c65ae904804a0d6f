"""Reports: a plain dict becomes one HTML page, which opens from disk and needs no network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manyview._utils.imports import lazily

if TYPE_CHECKING:
    from manyview.report.file import Report
    from manyview.report.run import write_report

__all__ = ["Report", "write_report"]

__getattr__, __dir__ = lazily(__name__, {"Report": "file", "write_report": "run"})
