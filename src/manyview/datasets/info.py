"""What is known about a named dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class PublishedPreset:
    """Parameters of ``TBGL`` that come closest to what the paper prints for a dataset, rows in file order.

    NMI as in the paper, divided by the larger entropy (``nmi_average="max"``).

    Parameters
    ----------
    params : mapping
        Keyword arguments of the estimator.
    paper_acc, paper_nmi : float
        What the paper prints.
    reached_acc, reached_nmi : float
        What these parameters give with our code, rows in the order of the file.
    shuffled_acc : float
        What they give with the rows shuffled (mean over the seeds of ``benchmarks/presets.py``).
    note : str
        What one should know before comparing the two.
    """

    params: Mapping[str, Any]
    paper_acc: float
    paper_nmi: float
    reached_acc: float
    reached_nmi: float
    shuffled_acc: float
    note: str = ""


@dataclass(frozen=True)
class DatasetInfo:
    """A benchmark dataset of the multi-view literature: facts, file and origin.

    Parameters
    ----------
    name : str
        What :func:`~manyview.datasets.fetch_dataset` calls it.
    description : str
        One sentence.
    n_samples, n_classes : int
        Its size.
    views : tuple of (str, int)
        Name and number of features of each view, in the order of the file.
    file_name : str
        What the file is called in the cache folder.
    origin : str
        Where the data come from, and where files of this kind have been seen.
    citation : str
        The paper to cite.
    sha256 : str, optional
        Checksum of the file whose facts these are; ``None`` where no file was at hand to take it from.
    url : str, optional
        A stable address of exactly this file; ``None`` where none is known.
    sorted_by_class : bool, optional
        Whether the rows of the file are sorted by the answer; ``None`` where not known.
    in_paper : bool
        Whether it is one of the six datasets of the TBGL paper.
    note : str
        Pitfalls.
    tbgl_preset : PublishedPreset, optional
        Parameters for reproducing the paper.
    """

    name: str
    description: str
    n_samples: int
    n_classes: int
    views: tuple[tuple[str, int], ...]
    file_name: str
    origin: str
    citation: str
    sha256: str | None = None
    url: str | None = None
    sorted_by_class: bool | None = None
    in_paper: bool = False
    note: str = ""
    tbgl_preset: PublishedPreset | None = None

    @property
    def view_names(self) -> tuple[str, ...]:
        """Names of the views, in the order of the file."""
        return tuple(name for name, _ in self.views)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(width for _, width in self.views)
