"""Time of the single steps of TBGL and ETLMSC, and how it grows: the columns of the paper's table of complexity.

    python benchmarks/steps.py                                  the table
    python benchmarks/steps.py --page docs/published-solver.md  replaces the one on that page

Processor seconds of one thread for the first call of each step, when all anchors are in use, the fastest of three
runs; generated data, one size varied at a time. A measured exponent is the slope of log(time) over log(size); a stated
one is that of the fastest growing term in the paper, where a logarithm counts as nothing. A step is the function that
the solver calls for it; its other updates (multipliers, weights of views) have no column in the paper.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import TypeVar
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from manyview.datasets import make_multiview
from manyview.graphs import SCALERS, bipartite_graph
from manyview.graphs.anchors import select_vda
from manyview.graphs.similarity import gaussian_kernel
from manyview.graphs.spectrum import largest_eigenvectors
from manyview.solvers import etlmsc, published

RUNS = 3
SETTINGS = {"n": 5000, "m": 200, "V": 3, "d": 100, "K": 10}
SIZES = {
    "n": (2500, 5000, 10_000, 20_000),
    "m": (125, 250, 500, 1000),
    "V": (2, 4, 8, 16),
    "d": (100, 400, 1600, 6400),
    "K": (5, 10, 20, 40),
}
ETLMSC_SETTINGS = {"n": 1000, "V": 3, "d": 100, "K": 10}
ETLMSC_SIZES = {"n": (500, 1000, 2000), "V": (2, 4, 8), "d": (100, 400, 1600, 6400)}
STEPS = {"C": "update_graphs", "J": "update_low_rank", "E": "update_errors", "P": "update_eigenvectors"}
ETLMSC_STEPS = {"J": "update_essential", "E": "update_errors"}
COLUMNS = ("graphs", "C", "J", "E", "P")

# Exponents of the fastest growing term of each step, as the paper states them.
STATED = {
    "TBGL": {
        "graphs": {"n": 1, "m": 1, "V": 1, "d": 1, "K": 0},
        "C": {"n": 1, "m": 1, "V": 1, "d": 0, "K": 1},
        "J": {"n": 1, "m": 1, "V": 2, "d": 0, "K": 0},
        "E": {"n": 1, "m": 1, "V": 1, "d": 0, "K": 0},
        "P": {"n": 1, "m": 2, "V": 0, "d": 0, "K": 0},
    },
    "ETLMSC": {
        "graphs": {"n": 2, "V": 1, "d": 1},
        "J": {"n": 2, "V": 2, "d": 0},
        "E": {"n": 2, "V": 1, "d": 0},
        "P": {"n": 3, "V": 0, "d": 0},
    },
}
NAMES = {"n": "samples n", "m": "anchors m", "V": "views V", "d": "features d", "K": "clusters K"}
Times = dict[str, float]
Found = TypeVar("Found")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", type=Path, help="page with the comments 'steps: begin' and 'steps: end'")
    parser.add_argument("--axes", nargs="+", choices=SIZES, default=list(SIZES), help="sizes to vary; default: all")
    options = parser.parse_args()
    text = options.page.read_text(encoding="utf-8") if options.page else ""
    marks = re.compile(r"(?<=<!-- steps: begin -->\n).*?(?=<!-- steps: end -->)", re.DOTALL)
    if options.page and not marks.search(text):
        parser.error(f"{options.page} has no comments <!-- steps: begin --> and <!-- steps: end -->")
    with threadpool_limits(1):
        table = "\n".join(lines(options.axes))
    print(table)
    if options.page:
        options.page.write_text(marks.sub(lambda _: f"\n{table}\n\n", text), encoding="utf-8")


def lines(axes: list[str]) -> Iterator[str]:
    yield f"| method | grows with | sizes | {' | '.join(COLUMNS)} |"
    yield "|---" * (3 + len(COLUMNS)) + "|"
    for method, measure, settings, sizes in (
        ("TBGL", tbgl_times, SETTINGS, SIZES),
        ("ETLMSC", etlmsc_times, ETLMSC_SETTINGS, ETLMSC_SIZES),
    ):
        measure(**settings | {"n": 300})  # compiles the kernels
        for axis in (axis for axis in axes if axis in sizes):
            found = [measure(**settings | {axis: size}) for size in sizes[axis]]
            cells = [cell(STATED[method].get(column, {}).get(axis), sizes[axis], found, column) for column in COLUMNS]
            ends = f"{sizes[axis][0]:,} to {sizes[axis][-1]:,}"
            yield f"| {method} | {NAMES[axis]} | {ends} | {' | '.join(cells)} |"


def cell(stated: int | None, sizes: tuple[int, ...], found: list[Times], column: str) -> str:
    """Show the measured and the stated exponent, and the time at the largest size: "0.97 / 1 (0.52 s)"."""
    if stated is None:
        return "–"
    times = [max(one[column], 1e-6) for one in found]
    slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    return f"{slope:.2f} / {stated} ({times[-1]:.2g} s)"


def tbgl_times(n: int, m: int, V: int, d: int, K: int) -> Times:
    views = make_multiview(n, n_clusters=K, n_views=V, n_features=d, noise=0.1, random_state=0)
    scaled = [SCALERS["max"](view) for view in views.arrays]
    anchors = select_vda(scaled, m)
    seconds, sparse = fastest(lambda: [bipartite_graph(x, x[anchors], 10) for x in scaled])
    graphs = np.stack([graph.toarray() for graph in sparse])
    settings = published.Settings(n_clusters=K)
    times = first_calls(published, STEPS, lambda: published.run(graphs, settings, max_iter=1, n_threads=1))
    return {"graphs": seconds} | times


def etlmsc_times(n: int, V: int, d: int, K: int) -> Times:
    views = make_multiview(n, n_clusters=K, n_views=V, n_features=d, noise=0.1, random_state=0)
    seconds, found = fastest(lambda: [etlmsc.transition_matrix(gaussian_kernel(x)) for x in views.arrays])
    walks = np.stack(found)
    times = first_calls(etlmsc, ETLMSC_STEPS, lambda: etlmsc.run(walks, 10.0 / n, max_iter=1, n_threads=1))
    walk = etlmsc.run(walks, 10.0 / n, max_iter=3, n_threads=1).walk
    final, _ = fastest(lambda: largest_eigenvectors(etlmsc.symmetric_walk(walk), K))
    return {"graphs": seconds, "P": final} | times


def timed(run: Callable[[], Found]) -> tuple[float, Found]:
    start = time.process_time()
    found = run()
    return time.process_time() - start, found


def fastest(run: Callable[[], Found]) -> tuple[float, Found]:
    return min((timed(run) for _ in range(RUNS)), key=lambda each: each[0])


def first_calls(solver: ModuleType, steps: dict[str, str], run: Callable[[], object]) -> Times:
    """Return the times of the first calls of these functions of a solver, the fastest of several runs."""
    found: list[Times] = []

    def recorded(step: str, function: Callable[..., object]) -> Callable[..., object]:
        def call(*args: object, **options: object) -> object:
            seconds, answer = timed(lambda: function(*args, **options))
            found[-1].setdefault(step, seconds)
            return answer

        return call

    with ExitStack() as stack:
        for step, name in steps.items():
            if not hasattr(solver, name):
                raise SystemExit(f"{solver.__name__} has no {name}: name the function of the {step}-step in STEPS.")
            stack.enter_context(mock.patch.object(solver, name, recorded(step, getattr(solver, name))))
        for _ in range(RUNS):
            found.append({})
            run()
    return {step: min(times[step] for times in found) for step in steps}


if __name__ == "__main__":
    main()
