"""The process that fits: reads cells from standard input, one per line, and answers each with a line.

A process of its own has its own memory, which can be measured, and can be ended when its time is over. It ends by
itself when standard input does: nothing goes on computing after the runner has died.
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
from dataclasses import replace
from functools import cache
from typing import Any, TextIO

import numpy as np

from manyview._utils.machine import peak_memory, reset_peak, resident_memory
from manyview.cluster._registry import get_method, make_estimator
from manyview.datasets import make_multiview
from manyview.exceptions import DatasetError
from manyview.experiments._datasets import facts, load
from manyview.experiments._messages import READY, Answer, to_line
from manyview.experiments._model import ABSENT, DONE, FAILED, MEMORY, SHUFFLED, Cell, CellResult, DatasetFacts
from manyview.experiments._pictures import graph_pictures
from manyview.views import Views

_MOST_CACHED = 2**29  # bytes of views that are kept for the next cells
_LONGEST_REASON = 600


class Datasets:
    """Views and facts of the datasets that were used last, as many as fit."""

    def __init__(self, most_bytes: int = _MOST_CACHED) -> None:
        self._most_bytes = most_bytes
        self._kept: dict[str, tuple[Views, DatasetFacts]] = {}

    def get(self, cell: Cell) -> tuple[Views, DatasetFacts]:
        """The dataset of a cell; read only if it is not at hand."""
        where = json.dumps([cell.dataset, cell.source], sort_keys=True)
        found = self._kept.pop(where, None)
        if found is None:
            views = load(cell.source)
            found = views, facts(cell.dataset, views)
        self._kept[where] = found  # the newest is the last
        while len(self._kept) > 1 and sum(sys.getsizeof(views) for views, _ in self._kept.values()) > self._most_bytes:
            del self._kept[next(iter(self._kept))]
        return found


def execute(cell: Cell, datasets: Datasets) -> Answer:
    """Fit a cell; whatever goes wrong is an answer, too."""
    data = None
    try:
        views, data = datasets.get(cell)
        return Answer(_fit(cell, views, data), data)
    except DatasetError as error:
        return Answer(CellResult(cell.key, ABSENT, _reason(error)), None)
    except MemoryError as error:
        return Answer(CellResult(cell.key, MEMORY, _reason(error) or "the memory was not enough"), data)
    except Exception as error:
        # a row that a text names is not that of the file
        counted = " Rows are counted as shuffled." if cell.protocol == SHUFFLED and " row " in str(error) else ""
        return Answer(CellResult(cell.key, FAILED, f"{type(error).__name__}: {_reason(error)}{counted}"), data)


def _fit(cell: Cell, views: Views, data: DatasetFacts) -> CellResult:
    n = data.n_samples
    rows = np.random.RandomState(cell.seed).permutation(n) if cell.protocol == SHUFFLED else np.arange(n)
    # the classes stay here: what is measured must not see them
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
    """Fit something small, so that compiling and loading code is not measured; once is enough."""
    model = make_estimator(get_method(estimator), 3, seed=0, n_jobs=None, parameters={})
    model.fit(make_multiview(60, 3, noise=0.6, random_state=0))


def _estimator(cell: Cell, data: DatasetFacts) -> Any:
    parameters = dict(cell.parameters)
    n_clusters = parameters.pop("n_clusters", None) or data.n_classes
    # cells run beside each other, so each has one thread
    return make_estimator(get_method(cell.estimator), n_clusters, cell.seed, n_jobs=1, parameters=parameters)


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:_LONGEST_REASON]


def serve(cells: TextIO, answers: TextIO) -> None:
    """Answer cells until there are no more; end the process at once if that happens in mid-fit."""
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
    """Serve on standard input and output; what libraries print goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the runner decides
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answers:
        os.dup2(2, 1)
        serve(sys.stdin, answers)


if __name__ == "__main__":
    main()
