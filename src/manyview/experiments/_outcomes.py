"""Results of cells, looked up and combined over seeds; scores are computed from labels on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyview.experiments._model import DONE, Cell, CellResult, DatasetFacts
from manyview.metrics import SCORES, clustering_scores

WAITING = "waiting"
"""The status of a cell that has no result yet."""


class Outcomes:
    """Results of cells with the classes that they are scored with.

    Parameters
    ----------
    results : dict of CellResult
        By the key of the cell.
    datasets : dict of DatasetFacts
        By name.
    """

    def __init__(self, results: Mapping[str, CellResult], datasets: Mapping[str, DatasetFacts]) -> None:
        self._results = results
        self._datasets = datasets
        self._scores: dict[str, dict[str, float]] = {}  # several tables can show the same cell

    def __getitem__(self, cell: Cell) -> CellResult | None:
        return self._results.get(cell.key)

    def status(self, cell: Cell) -> str:
        """Return one of STATUSES, or "waiting"."""
        result = self[cell]
        return WAITING if result is None else result.status

    def done(self, cells: Sequence[Cell]) -> list[tuple[Cell, CellResult]]:
        """Return the cells that ended with labels, with their results."""
        found = ((cell, self[cell]) for cell in cells)
        return [(cell, result) for cell, result in found if result is not None and result.status == DONE]

    def labels(self, cell: Cell) -> np.ndarray:
        """Return the clusters of a cell that is done, in the order of the file."""
        result = self[cell]
        if result is None or result.labels is None:
            raise ValueError(f"results: cell {cell.key} has no labels. Only cells with status 'done' have them.")
        return result.labels

    def classes(self, cell: Cell) -> np.ndarray:
        """Return the known classes of its dataset, in the order of the file, -1 where unknown."""
        if cell.dataset not in self._datasets:
            known = ", ".join(self._datasets) or "none"
            raise ValueError(
                f"datasets: expected the facts of {cell.dataset!r}, which has results; got those of: {known}."
            )
        return self._datasets[cell.dataset].known_classes

    def has_classes(self, cell: Cell) -> bool:
        """Return whether classes of its dataset are known."""
        facts = self._datasets.get(cell.dataset)
        return facts is not None and facts.classes is not None

    def scores(self, cell: Cell) -> dict[str, float]:
        """Return all scores of a cell that is done. NMI is the paper's: divided by the larger entropy."""
        if cell.key not in self._scores:
            classes = self.classes(cell)
            known = classes >= 0
            self._scores[cell.key] = clustering_scores(classes[known], self.labels(cell)[known], nmi_average="max")
        return self._scores[cell.key]

    def combined(self, cells: Sequence[Cell]) -> dict[str, Any] | None:
        """Combine all seeds of a table's cell: mean and deviation of those that are done, or why there are none."""
        if not cells:
            return None
        done = self.done(cells)
        if not done:
            return self.without_result(cells)
        values = [self.scores(cell) for cell, _ in done]
        seconds = [result.seconds for _, result in done if result.seconds is not None]
        peaks = [result.peak_bytes for _, result in done if result.peak_bytes is not None]
        found = {
            "status": DONE,
            "runs": len(done),
            "scores": {name: mean_and_deviation([value[name] for value in values]) for name in SCORES},
            # medians, because other cells and programs run at the same time
            "seconds": float(np.median(seconds)) if seconds else None,
            "peak_bytes": int(np.median(peaks)) if peaks else None,
        }
        if notes := self.notes(cells):
            found["notes"] = notes
        if without := [cell for cell in cells if self.status(cell) not in (DONE, WAITING)]:
            found["reason"] = self._failures(without, len(cells))
        return found

    def notes(self, cells: Sequence[Cell]) -> list[str]:
        """Return the remarks on fits that are done, with the number of fits that each is about."""
        done = self.done(cells)
        counted = Counter(note for _, result in done for note in result.reason.split("; ") if note)
        return [
            note if count == len(done) else f"{note} ({count} of {len(done)} runs)" for note, count in counted.items()
        ]

    def without_result(self, cells: Sequence[Cell]) -> dict[str, Any]:
        """Return the most frequent status and reason of cells of which none is done."""
        ended = [result for result in map(self.__getitem__, cells) if result is not None]
        if not ended:
            return {"status": WAITING}
        (status, reason), _ = Counter((result.status, result.reason) for result in ended).most_common(1)[0]
        return {"status": status, "reason": reason}

    def _failures(self, cells: Sequence[Cell], asked: int) -> str:
        """Say how many seeds ended without labels, and why: "2 of 20 runs did not end: 2 x time limit of 600 s"."""
        reasons = Counter(result.reason for result in map(self.__getitem__, cells) if result is not None)
        why = "; ".join(f"{count} x {reason}" for reason, count in reasons.most_common())
        return f"{len(cells)} of {asked} runs did not end: {why}"


def mean_and_deviation(values: Sequence[float]) -> dict[str, float]:
    """Return mean and standard deviation over runs; the variance is divided by their number, as in published tables."""
    return {"mean": float(np.mean(values)), "std": float(np.std(values))}
