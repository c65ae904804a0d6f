"""Names and descriptions of the scalings of a view; does not import numpy, so that ``--help`` is fast."""

from __future__ import annotations

SCALINGS: dict[str, str] = {
    "max": "divide the view by its largest value",
    "unit": "divide each sample by its length",
    "none": "leave the values as they are",
    "counts": "logarithm, times inverse document frequency, unit rows; for words and other counts",
    "shares": "square root, subtract a balanced centre, unit rows; for histograms and compositions",
    "directions": "subtract a balanced centre, unit rows",
    "centered": "subtract the mean of each column",
    "standardized": "subtract the mean of each column, divide by its deviation; sparse views: only divide",
    "row-standardized": "subtract from each sample the mean of its own features, divide by their deviation",
}
"""One-line description of each scaling, by its name."""
