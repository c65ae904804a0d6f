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
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache
from typing import Any, TextIO

import numpy as np
import scipy.sparse as sp

from manyview._utils.machine import peak_memory, reset_peak, resident_memory
from manyview.cluster._registry import get_method, make_estimator
from manyview.datasets import make_multiview
from manyview.exceptions import DatasetError, SpecError
from manyview.experiments import own_methods
from manyview.experiments._datasets import facts, load
from manyview.experiments._model import ABSENT, DONE, FAILED, MEMORY, SHUFFLED, Cell, CellResult, DatasetFacts
from manyview.experiments._process import QUIET, READY, Answer, to_line
from manyview.graphs import SCALERS, bipartite_graph
from manyview.graphs.components import binned, places
from manyview.views import Views, check_views

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
        source = json.dumps([cell.dataset, cell.source, cell.folder], sort_keys=True)
        found = self._kept.pop(source, None)
        if found is None:
            views = load(cell.source, cell.folder)
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
        fit = _fit if cell.code is None else _fit_own
        return Answer(fit(cell, views, data), data)
    except DatasetError as error:
        return Answer(CellResult(cell.key, ABSENT, _reason(error)), None)
    except MemoryError as error:
        return Answer(CellResult(cell.key, MEMORY, _reason(error) or "out of memory"), data)
    except Exception as error:
        # rows that the text names are not those of the file
        counted = " Rows are counted after shuffling." if cell.protocol == SHUFFLED and " row " in str(error) else ""
        return Answer(CellResult(cell.key, FAILED, f"{type(error).__name__}: {_reason(error)}{counted}"), data)


def _fit(cell: Cell, views: Views, data: DatasetFacts) -> CellResult:
    seen, rows = _in_order(cell, views)
    model = _estimator(cell, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _warm_up(cell.estimator)
        fitted, seconds, peak_bytes = _measured(lambda: model.fit(seen), time.process_time)
    return CellResult(
        cell.key,
        DONE,
        labels=_in_file_order(fitted.labels_, rows),
        seconds=seconds,
        peak_bytes=peak_bytes,
        pictures=graph_pictures(model, seen, data.known_classes[rows]) if cell.keep_graphs else {},
    )


def _fit_own(cell: Cell, views: Views, data: DatasetFacts) -> CellResult:
    """Fit a method of a user's own on copies of the views. It is imported here; all that it does wrong is a reason."""
    seen, rows = _in_order(cell, views)
    given = check_views(seen, keep_float32=True)
    try:
        code = own_methods.find(cell.estimator, cell.folder)
        if code.sha256 != cell.code:
            return CellResult(cell.key, FAILED, f"{code.file.name} has changed since this run began. Start it again.")
        parameters = dict(cell.parameters)
        n_clusters = parameters.pop("n_clusters", None) or data.n_classes
        model = own_methods.estimator(code, n_clusters, cell.seed, 1, parameters)
    except SpecError as error:
        return CellResult(cell.key, FAILED, _reason(error))
    arrays = own_methods.arrays_of(given)
    try:
        answer, seconds, peak_bytes = _measured(lambda: model.call(arrays), time.perf_counter)
    except MemoryError as error:
        return CellResult(cell.key, MEMORY, own_methods.explain(error, code)[:_MAX_REASON])
    except Exception as error:
        return CellResult(cell.key, FAILED, own_methods.explain(error, code)[:_MAX_REASON])
    try:
        labels, notes = own_methods.check_labels(answer, data.n_samples, n_clusters)
    except ValueError as error:
        return CellResult(cell.key, FAILED, _reason(error))
    notes += own_methods.changes(arrays, given)
    return CellResult(cell.key, DONE, "; ".join(notes), _in_file_order(labels, rows), seconds, peak_bytes)


def _in_order(cell: Cell, views: Views) -> tuple[Views, np.ndarray]:
    """Return the views that the method of a cell sees, without classes, names or metadata, and their rows."""
    n = views.n_samples
    seen = (
        replace(views, sample_ids=None, labels=None, metadata=None)
        if cell.view is None
        else _one_view(views, cell.view)
    )
    if cell.protocol != SHUFFLED:
        return seen, np.arange(n)
    rows = np.random.RandomState(cell.seed).permutation(n)
    return seen.take(rows), rows


def _in_file_order(found: np.ndarray, rows: np.ndarray) -> np.ndarray:
    labels = np.empty(len(rows), dtype=np.int64)
    labels[rows] = found
    return labels


def _measured(fit: Callable[[], Any], clock: Callable[[], float]) -> tuple[Any, float, int | None]:
    """Return what a fit returns, its time, and its peak memory minus that before it.

    A method of this package has one thread here, so its processor time is what it takes on a free core, whatever else
    the machine does. Code of others may have threads, child processes or a GPU; for it, the time that passes counts.
    """
    reset_peak()
    before, start = resident_memory(), clock()
    found = fit()
    seconds, peak = clock() - start, peak_memory()
    return found, seconds, None if before is None or peak is None else max(peak - before, 0)


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
        _say_quiet()
        answers.write(to_line(answer) + "\n")
        answers.flush()


def _say_quiet() -> None:
    with suppress(Exception):  # a user's method may have closed or replaced them
        sys.stdout.flush()
        sys.stderr.flush()
    with suppress(OSError):
        os.write(2, QUIET)


def main() -> None:
    """Serve on standard input and output; what methods print goes to standard error, and what they read is empty."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all processes; the runner ends its workers itself
    cells = os.fdopen(os.dup(0), encoding="utf-8")
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        serve(cells, answers)


if __name__ == "__main__":
    main()
