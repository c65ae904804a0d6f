"""The worker process: reads cells from standard input, one per line, fits each and answers with a line.

The memory of a separate process can be measured, and it can be killed at its time limit. It ends when standard input
ends, so that nothing goes on computing after the runner has died.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp

from manyview._utils.machine import peak_memory, reset_peak, resident_memory
from manyview.cluster._registry import get_method, make_estimator
from manyview.datasets import make_multiview
from manyview.exceptions import DatasetError
from manyview.experiments._datasets import facts, load
from manyview.experiments._model import ABSENT, DONE, FAILED, MEMORY, SHUFFLED, Cell, CellResult, DatasetFacts
from manyview.experiments._process import READY, Answer, to_line
from manyview.graphs import SCALERS, bipartite_graph
from manyview.graphs.components import binned, places
from manyview.views import Views

LEARNED = "learned"
COMPONENTS = "components"
_NEIGHBORS = 10  # the paper's, and TBGL's default
_MAX_PIXELS = 210
_MAX_CACHED_BYTES = 2**29  # views that are kept for the next cells
_MAX_REASON = 600  # characters


class Datasets:
    """A cache of the views and facts of the datasets that were used last."""

    def __init__(self, max_bytes: int = _MAX_CACHED_BYTES) -> None:
        self._max_bytes = max_bytes
        self._kept: dict[str, tuple[Views, DatasetFacts]] = {}

    def get(self, cell: Cell) -> tuple[Views, DatasetFacts]:
        """Return the dataset of a cell; read it only if it is not cached."""
        source = json.dumps([cell.dataset, cell.source], sort_keys=True)
        found = self._kept.pop(source, None)
        if found is None:
            views = load(cell.source)
            found = views, facts(cell.dataset, views)
        self._kept[source] = found  # the newest is the last
        while len(self._kept) > 1 and sum(sys.getsizeof(views) for views, _ in self._kept.values()) > self._max_bytes:
            del self._kept[next(iter(self._kept))]
        return found


def execute(cell: Cell, datasets: Datasets) -> Answer:
    """Fit a cell; an error is an answer, too."""
    data = None
    try:
        views, data = datasets.get(cell)
        return Answer(_fit(cell, views, data), data)
    except DatasetError as error:
        return Answer(CellResult(cell.key, ABSENT, _reason(error)), None)
    except MemoryError as error:
        return Answer(CellResult(cell.key, MEMORY, _reason(error) or "out of memory"), data)
    except Exception as error:
        # rows that the text names are not those of the file
        counted = " Rows are counted after shuffling." if cell.protocol == SHUFFLED and " row " in str(error) else ""
        return Answer(CellResult(cell.key, FAILED, f"{type(error).__name__}: {_reason(error)}{counted}"), data)


def _fit(cell: Cell, views: Views, data: DatasetFacts) -> CellResult:
    n = data.n_samples
    rows = np.random.RandomState(cell.seed).permutation(n) if cell.protocol == SHUFFLED else np.arange(n)
    # the method gets no classes, names or metadata
    seen = (
        replace(views, sample_ids=None, labels=None, metadata=None)
        if cell.view is None
        else _one_view(views, cell.view)
    )
    if cell.protocol == SHUFFLED:
        seen = seen.take(rows)
    model = _estimator(cell, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(cell.estimator)
        reset_peak()
        before, start = resident_memory(), time.perf_counter()
        found = model.fit(seen).labels_
    seconds, peak = time.perf_counter() - start, peak_memory()
    labels = np.empty(n, dtype=np.int64)
    labels[rows] = found
    return CellResult(
        cell.key,
        DONE,
        labels=labels,
        seconds=seconds,
        peak_bytes=None if before is None or peak is None else max(peak - before, 0),
        pictures=graph_pictures(model, seen, data.known_classes[rows]) if cell.keep_graphs else {},
    )


def _one_view(views: Views, view: int) -> Views:
    return Views((views.arrays[view],), present=None if views.present is None else views.present[:, [view]])


@cache
def _warm_up(estimator: str) -> None:
    """Fit a small dataset once per method, so that loading and compiling code is not measured."""
    model = make_estimator(get_method(estimator), 3, seed=0, n_jobs=None, parameters={})
    model.fit(make_multiview(60, 3, noise=0.6, random_state=0))


def _estimator(cell: Cell, data: DatasetFacts) -> Any:
    parameters = dict(cell.parameters)
    n_clusters = parameters.pop("n_clusters", None) or data.n_classes
    # several cells run at the same time, so each has one thread
    return make_estimator(get_method(cell.estimator), n_clusters, cell.seed, n_jobs=1, parameters=parameters)


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:_MAX_REASON]


def graph_pictures(model: Any, views: Views, classes: np.ndarray) -> dict[str, np.ndarray]:
    """Draw the input graph of each view and the learned graph, between the samples and the model's anchors.

    Samples and anchors are ordered by their known class, so a good graph has weight in the blocks on the diagonal only.
    The graphs of the views are the paper's (scaled by the largest value, ten neighbours) on the anchors of the model.

    Parameters
    ----------
    model : fitted estimator
        With ``anchor_indices_`` and ``consensus_graph_``, perhaps ``component_graph_``.
    views : Views
        The views it was fitted on.
    classes : ndarray of int, shape (n_samples,)
        Known classes of these samples.

    Returns
    -------
    dict of ndarray
        Images with values from 0 to 1, by the name of the view. The learned graph is called "learned", and the one
        whose components are the clusters "components", where these two differ. A view of such a name is called
        "learned (view)".
    """
    anchors = model.anchor_indices_
    graphs = {}
    for name, view in zip(views.names, views.arrays, strict=True):
        scaled = SCALERS["max"](view)
        graphs[_name_of(name, views.names)] = bipartite_graph(
            scaled, scaled[anchors], min(_NEIGHBORS, len(anchors) - 1)
        )
    graphs[LEARNED] = model.consensus_graph_
    if hasattr(model, "component_graph_"):
        graphs[COMPONENTS] = model.component_graph_
    return {name: _picture(sp.coo_array(graph), classes, classes[anchors]) for name, graph in graphs.items()}


def _name_of(view: str, views: Sequence[str]) -> str:
    """Return the name of the picture of a view: its own, if no other picture has it."""
    name = view
    while name in (LEARNED, COMPONENTS) or (name != view and name in views):
        name += " (view)"
    return name


def _picture(graph: sp.coo_array, row_classes: np.ndarray, column_classes: np.ndarray) -> np.ndarray:
    image, _ = binned(
        places(row_classes)[graph.row], places(column_classes)[graph.col], graph.data, graph.shape, _MAX_PIXELS
    )
    return (image / image.max()).astype(np.float32) if image.any() else image.astype(np.float32)


def serve(cells: TextIO, answers: TextIO) -> None:
    """Answer cells until the input ends; exit at once if it ends during a fit."""
    waiting: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    busy = threading.Event()

    def read() -> None:
        for line in cells:
            waiting.put(line)
        if busy.is_set():
            os._exit(1)
        waiting.put(None)

    threading.Thread(target=read, daemon=True).start()
    datasets = Datasets()
    answers.write(READY + "\n")
    answers.flush()
    while (line := waiting.get()) is not None:
        busy.set()
        answer = execute(Cell(**json.loads(line)), datasets)
        busy.clear()
        answers.write(to_line(answer) + "\n")
        answers.flush()


def main() -> None:
    """Serve on standard input and output; output that libraries print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the runner ends its workers itself
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
