"""The results of a store as a tidy data frame, one fit per row."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from manyview.experiments._model import DONE, Spec
from manyview.experiments._outcomes import Outcomes
from manyview.experiments.store import Store
from manyview.metrics import SCORES

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    *("dataset", "method", "parameters", "view", "order", "seed", "status", "reason"),
    *SCORES,
    *("seconds", "peak_bytes", "code", "run"),
)


def results(store: Store | str | os.PathLike[str], spec: Spec | None = None) -> pd.DataFrame:
    """Return the fits of a store as a data frame, one per row.

    Parameters
    ----------
    store : Store or path
        From ``manyview experiments run`` or ``manyview compare --store``.
    spec : Spec, optional
        Only the fits of this spec, with the columns ``part`` and ``row`` before the others; a fit that several tables
        show has a row for each. Fits that have not been run are left out. Default: all fits of the store.

    Returns
    -------
    DataFrame
        - ``dataset``, ``method`` (class, or reference to code of your own), ``parameters`` (JSON), ``view`` (position
          of the only view that was used, else missing), ``order`` of the rows ("file-order" or "shuffled"), ``seed``;
        - ``status`` ("done", "failed", "memory", "time" or "absent") and ``reason``: why there are no labels, or
          remarks on a fit that is done;
        - ``acc``, ``nmi``, ``purity``, ``precision``, ``recall``, ``f_score``, ``ari``: missing where a fit has no
          labels or the dataset no classes. NMI is divided by the larger entropy;
        - ``seconds`` and ``peak_bytes`` of the fit; ``code``, the checksum of code of your own; ``run``, the number of
          the run in :meth:`Store.runs`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from manyview.experiments import Store, results
    >>> with TemporaryDirectory() as folder, Store(Path(folder, "results.sqlite"), create=True) as store:
    ...     list(results(store).columns[:6])
    ['dataset', 'method', 'parameters', 'view', 'order', 'seed']
    """
    import pandas as pd

    if not isinstance(store, Store):
        with Store(store) as opened:
            return results(opened, spec)
    found = store.cells()
    outcomes = Outcomes({cell.key: result for cell, result in found}, store.datasets())
    lines: list[dict[str, Any]] = []
    for cell, result in found:
        classes = outcomes.has_classes(cell)
        lines.append(
            {
                "dataset": cell.dataset,
                "method": cell.estimator,
                "parameters": json.dumps(cell.parameters, sort_keys=True),
                "view": cell.view,
                "order": cell.protocol,
                "seed": cell.seed,
                "status": result.status,
                "reason": result.reason,
                **(outcomes.scores(cell) if result.status == DONE and classes else {}),
                "seconds": result.seconds,
                "peak_bytes": result.peak_bytes,
                "code": cell.code,
                "run": result.run,
            }
        )
    columns = list(COLUMNS)
    if spec is not None:
        by_key = {cell.key: line for (cell, _), line in zip(found, lines, strict=True)}
        entries = [entry for part in spec.parts for entry in part.entries if entry.cell.key in by_key]
        lines = [{"part": entry.part, "row": entry.row, **by_key[entry.cell.key]} for entry in entries]
        columns = ["part", "row", *columns]
    frame = pd.DataFrame(lines, columns=columns)
    numbers = {"view": "Int64", "peak_bytes": "Int64", "seconds": "float64", **dict.fromkeys(SCORES, "float64")}
    return frame.astype(numbers)
