"""``manyview demo``: ``cluster`` on data that come with scikit-learn."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from manyview.cli._choice import Choice
from manyview.cli._options import AsJson, OutFolder
from manyview.cli._run import Job
from manyview.cli.cluster import show

if TYPE_CHECKING:
    from manyview.views import Views


def demo(out: OutFolder = Path("manyview-demo"), as_json: AsJson = False) -> None:
    """Cluster 1,797 handwritten digits that are described by five views, and print the path of a report.

    The images come with scikit-learn, so nothing is downloaded. Their rows are shuffled first.
    """
    job = Job(
        read=_shuffled_digits,
        choice=Choice(),
        n_clusters=10,
        out=out,
        command=shlex.join(["manyview", "demo", "--out", str(out)]),
        reading={"python": "manyview.datasets.load_digits_views().shuffled(0)"},
        row_order="rows shuffled",
        pictures=lambda views: views["pixels"].reshape(-1, 8, 8),
    )
    show(job, as_json)


def _shuffled_digits() -> Views:
    from manyview.datasets import load_digits_views

    return load_digits_views().shuffled(0)
