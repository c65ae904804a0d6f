"""The summary of an experiment as text: CSV, LaTeX and Markdown."""

from manyview.experiments._csv import to_csv
from manyview.experiments._latex import to_latex
from manyview.experiments._markdown import to_markdown

__all__ = ["to_csv", "to_latex", "to_markdown"]
