"""Samples that lack views: GraphEnsemble on what is there, on views filled up with means, and the methods of imml.

    MANYVIEW_DATA=folder python benchmarks/missing.py [--datasets MSRC-v5 ...] [--results output/missing.jsonl]
    make missing                         with --peers, in an environment of its own that has imml

Each view loses a share of the samples, at random or as a block of neighbouring rows, and every sample keeps a view
(manyview.datasets.drop_views). Rows are shuffled first. All methods get the same order and the same gaps, several
times over. imml's methods run with their defaults, once on rows of unit length, as in its tutorial, and once on the
views as they are ("raw"), as in the examples of its classes: neither is better for all.

With --results every fit is a line of that file, and fits that are in it are not made again: a run that was cut off goes
on where it was. Delete the file after a change of a method.
"""

from __future__ import annotations

import argparse
import importlib
import json
import multiprocessing
import os
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np
import peers_fit
import scipy.sparse as sp

from manyview import GraphEnsemble, Views, check_views, clustering_scores
from manyview.datasets import drop_views, fetch_dataset
from manyview.datasets.generated import PATTERNS

Method = Callable[[Views, int, int], np.ndarray]
"""From views with gaps, the number of clusters and a seed to labels."""

OURS = "GraphEnsemble"
TOO_LONG = "longer than"
# All of imml 0.6 but for the networks, IntegrAO and MRGCN, which need torch.
PEERS = "DAIMC EEIMVC IMSCAGL IMSR LFIMVC MKKMIK MLMF MONET NEMO OMVC OPIMC OSLFIMVC PIMVC SIMCADC SUMO"


@dataclass(frozen=True)
class Case:
    """What a fit is given, and by which method it is made."""

    dataset: str
    pattern: str
    rate: float
    seed: int
    method: str


@dataclass(frozen=True)
class Outcome:
    """What came of a fit: scores, or why there are none."""

    missing: float | None
    seconds: float
    acc: float | None = None
    nmi: float | None = None
    failure: str | None = None


Outcomes = dict[Case, Outcome]


def ours(views: Views, n_clusters: int, seed: int) -> np.ndarray:
    return GraphEnsemble(n_clusters, random_state=seed).fit(views).labels_


def means_first(views: Views, n_clusters: int, seed: int) -> np.ndarray:
    arrays = [with_means(array, views.has_view(v)) for v, array in enumerate(views.arrays)]
    return ours(replace(views, arrays=tuple(arrays), present=None), n_clusters, seed)


def with_means(array: np.ndarray | sp.csr_array, present: np.ndarray | None) -> np.ndarray | sp.csr_array:
    """Return the view with every missing row replaced by the mean of those that are there."""
    if present is None:
        return array
    values = array.toarray() if sp.issparse(array) else array.copy()
    values[~present] = values[present].mean(axis=0)
    return sp.csr_array(values) if sp.issparse(array) else values


def imml(name: str, *, unit_rows: bool) -> Method:
    """Return a method of imml, which takes rows of missing views as NaN."""
    fit_arrays = peers_fit.imml(name, unit_rows=unit_rows)

    def run(views: Views, n_clusters: int, seed: int) -> np.ndarray:
        arrays = []
        for v, array in enumerate(views.arrays):
            values = array.toarray() if sp.issparse(array) else array.copy()
            if (present := views.has_view(v)) is not None:
                values[~present] = np.nan
            arrays.append(values)
        return np.asarray(fit_arrays(arrays, n_clusters, seed))

    return run


METHODS: dict[str, Method] = {OURS: ours, "means, GraphEnsemble": means_first}
for peer in PEERS.split():
    METHODS[f"imml, {peer}"] = imml(peer, unit_rows=True)
    METHODS[f"imml, {peer}, raw"] = imml(peer, unit_rows=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["MSRC-v5", "Handwritten4", "BBCSport"])
    parser.add_argument("--rates", nargs="+", type=float, default=[0.1, 0.3, 0.5], help="besides 0")
    parser.add_argument("--seeds", type=int, default=5, help="number of orders and gaps")
    parser.add_argument("--peers", action="store_true", help="also run the methods of imml")
    parser.add_argument("--methods", nargs="+", choices=METHODS, metavar="NAME", help=f"of {', '.join(METHODS)}")
    parser.add_argument(
        "--limit",
        type=float,
        default=300.0,
        metavar="SECONDS",
        help="a longer fit is given up, and its method on that dataset",
    )
    parser.add_argument("--results", type=Path, metavar="FILE", help="JSON lines to go on from and to add to")
    args = parser.parse_args()
    methods = args.methods or [name for name in METHODS if args.peers or not name.startswith("imml")]
    if any(name.startswith("imml") for name in methods):
        try:
            importlib.import_module("imml.cluster")  # takes seconds, so here and not in the process of every fit
        except ImportError as error:
            parser.error(f"imml is not installed here ({error}); `make missing` makes an environment that has it.")

    outcomes = read(args.results)
    for name in args.datasets:
        cases = list(plan(name, args.rates, args.seeds, methods))
        for case in cases:
            if case not in outcomes:
                outcomes[case] = too_long_before(case, outcomes) or measure(case, args.limit)
                write(args.results, case, outcomes[case])
        show(name, {case: outcomes[case] for case in cases}, methods)
    wanted = [case for name in args.datasets for case in plan(name, args.rates, args.seeds, methods)]
    show_losses({case: outcomes[case] for case in wanted}, methods)


def plan(dataset: str, rates: list[float], n_seeds: int, methods: list[str]) -> Iterator[Case]:
    """All fits of a dataset; without gaps there is only one pattern."""
    for method in methods:
        for pattern, rate in [("complete", 0.0)] + [(pattern, rate) for pattern in PATTERNS for rate in rates]:
            for seed in range(n_seeds):
                yield Case(dataset, pattern, rate, seed, method)


def read(path: Path | None) -> Outcomes:
    if path is None or not path.exists():
        return {}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return {Case(**line["case"]): Outcome(**line["outcome"]) for line in lines}


def write(path: Path | None, case: Case, outcome: Outcome) -> None:
    if path is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"case": asdict(case), "outcome": asdict(outcome)}) + "\n")


def too_long_before(case: Case, outcomes: Outcomes) -> Outcome | None:
    """Return a fit by the same method on the same dataset that was given up: the others would take as long."""
    for other, outcome in outcomes.items():
        same = (other.dataset, other.method) == (case.dataset, case.method)
        if same and outcome.failure and outcome.failure.startswith(TOO_LONG):
            return replace(outcome, missing=None, seconds=0.0)
    return None


def measure(case: Case, limit: float) -> Outcome:
    """Fit in a process of its own, which can be ended when it takes too long or takes the interpreter with it."""
    views = check_views(fetch_dataset(case.dataset).shuffled(case.seed))  # floats, which imml expects
    if case.rate > 0:
        views = drop_views(views, case.rate, pattern=case.pattern, random_state=case.seed)
    missing = 0.0 if views.present is None else float(1 - views.present.mean())
    context = multiprocessing.get_context("fork")  # what is imported already need not be imported again
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=fit, args=(there, case, views))
    start = time.perf_counter()
    process.start()
    there.close()
    try:
        labels = here.recv() if here.poll(limit) else f"{TOO_LONG} {limit:.0f} s"
    except EOFError:
        labels = "the process ended"
    seconds = time.perf_counter() - start
    if process.is_alive():
        os.killpg(process.pid, signal.SIGKILL)  # with the Octave it may have started
    process.join()
    if isinstance(labels, str):
        return Outcome(missing, seconds, failure=labels)
    scores = clustering_scores(views.labels, labels)
    return Outcome(missing, seconds, float(scores["acc"]), float(scores["nmi"]))


def fit(answer: Connection, case: Case, views: Views) -> None:
    os.setsid()  # a group of its own
    warnings.simplefilter("ignore")
    try:
        labels = METHODS[case.method](views, len(np.unique(views.labels)), case.seed)
        answer.send(labels)
    except Exception as error:  # what other packages raise is a result here, too
        answer.send(f"{type(error).__name__}: {' '.join(str(error).split())[:200]}")


def show(dataset: str, outcomes: Outcomes, methods: list[str]) -> None:
    """Two tables per pattern, who is on top, and what failed."""
    n_seeds = len({case.seed for case in outcomes})
    for pattern in PATTERNS:
        columns = sorted({(c.rate, c.pattern) for c in outcomes if c.pattern in ("complete", pattern)})
        head = ["missing per view (in all)"]
        for rate, kind in columns:
            gaps = [outcome.missing for c, outcome in outcomes.items() if (c.rate, c.pattern) == (rate, kind)]
            head.append(f"{rate:.0%} ({np.mean([gap for gap in gaps if gap is not None]):.1%})")
        for score in ("acc", "nmi"):
            print(f"\n### {dataset}, views missing, {pattern}: {score.upper()}\n")
            print(f"Rows shuffled; mean ± standard deviation over {n_seeds} orders and gaps.\n")
            table(head, [[m] + [cell(scores(outcomes, m, *column, score)) for column in columns] for m in methods])
        print()
        for column in columns:
            print(f"- {standing(outcomes, methods, *column)}")
    failed: dict[tuple[str, str], list[Case]] = {}
    for case, outcome in outcomes.items():
        if outcome.failure:
            failed.setdefault((case.method, outcome.failure), []).append(case)
    for (method, failure), cases in failed.items():
        print(f"- {method}: {len(cases)} fits failed: {failure}")


def scores(outcomes: Outcomes, method: str, rate: float, pattern: str, score: str) -> list[float]:
    """Return the scores over all seeds, or none if one is missing: the mean of the others would be biased."""
    found = [
        getattr(outcome, score)
        for case, outcome in outcomes.items()
        if (case.method, case.pattern, case.rate) == (method, pattern, rate)
    ]
    return [] if None in found else found


def cell(values: list[float]) -> str:
    return f"{np.mean(values):.3f} ± {np.std(values):.3f}" if values else "failed"


def standing(outcomes: Outcomes, methods: list[str], rate: float, pattern: str) -> str:
    """Whether GraphEnsemble on what is there is on top, by mean ACC."""
    if rate == 0:  # there is nothing to fill up
        methods = [m for m in methods if METHODS[m] is not means_first]
    found = {m: v for m in methods if (v := scores(outcomes, m, rate, pattern, "acc"))}
    if OURS not in found or len(found) < 2:
        return f"{rate:.0%}: nothing to compare"
    mine = np.array(found.pop(OURS))
    best = max(found, key=lambda method: np.mean(found[method]))
    verdict = "on top" if mine.mean() > np.mean(found[best]) else "NOT on top"
    return (
        f"{rate:.0%}: {OURS} is {verdict}: ACC {mine.mean():.3f}, the best other is {best} with "
        f"{np.mean(found[best]):.3f}; ahead of it in {np.sum(mine > found[best])} of {len(mine)} runs"
    )


def show_losses(outcomes: Outcomes, methods: list[str]) -> None:
    """Print what 30 % of missing views cost, against the same method on complete views."""
    groups = sorted({(case.dataset, case.pattern) for case in outcomes if case.rate == 0.3})
    if not groups:
        return
    rows = []
    for method in methods:
        losses = []
        for dataset, pattern in groups:
            of_it = {case: outcome for case, outcome in outcomes.items() if case.dataset == dataset}
            before, after = (scores(of_it, method, *c, "acc") for c in ((0.0, "complete"), (0.3, pattern)))
            losses.append(np.mean(before) - np.mean(after) if before and after else np.nan)
        cells = [f"{loss:+.3f}" if np.isfinite(loss) else "failed" for loss in [*losses, np.mean(losses)]]
        rows.append([method, *cells])
    print("\n### ACC lost when 30 % of the samples are missing per view\n")
    print("Rows shuffled; mean ACC on complete views minus that with gaps.\n")
    table(["", *(f"{dataset}, {pattern}" for dataset, pattern in groups), "mean"], rows)


def table(head: list[str], rows: list[list[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in [head, ["-" * width for width in widths], *rows]:
        print("| " + " | ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)) + " |")


if __name__ == "__main__":
    main()
