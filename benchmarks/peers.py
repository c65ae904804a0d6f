"""Our methods beside other packages: the same arrays, rows shuffled; scores, processor time and memory of every fit.

    MANYVIEW_DATA=folder make peers          environments, all fits (an hour), and docs/peers.md
    MANYVIEW_DATA=folder python benchmarks/peers.py [--datasets MSRC-v5 ...] [--packages evoc]
    python benchmarks/peers.py --packages --page docs/peers.md          only the page, from the results that are there

Each package has an environment of its own, `.venv-peers-NAME` (`make .venv-peers-NAME/ready`), in which a server fits
its methods (benchmarks/peers_fit.py); labels are scored here. Every fit is a line of the file of results, and fits that
are in it are not made again: a run that was cut off goes on where it was. Delete the file after a change of a method.

Several seeds, each with an order of the rows of its own. A method that takes long on a dataset gets one seed there. One
that took too long, or too much memory, is not tried on datasets with as many samples and features, or more.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from peers_fit import CANNOT_IMPORT, METHODS, TOO_LONG

from manyview import Views, check_views, clustering_scores, read_views
from manyview.experiments.own_methods import check_labels

ROOT = Path(__file__).resolve().parents[1]
SCORES = ("acc", "nmi", "ari")
OURS = ("manyview", "GraphEnsemble")
NOT_TRIED = "not tried"
UNUSABLE = ("not installed", CANNOT_IMPORT)
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
BY_SAMPLES = {"SUMO", "MONET"}  # nearly all of their time goes into graphs of samples, whatever the features
# Labelled files, by number of samples; the ones that the default of GraphEnsemble was chosen on.
DATASETS = """
    3Sources MSRC-v5 ORL NGs BBCSport Reuters600 Movies BBC4view ProteinFold WebKB Reuters-1200 100Leaves Handwritten4
    Handwritten6 LandUse_21 Wikipedia Mnist4 Scene_15
""".split()  # noqa: SIM905


@dataclass(frozen=True)
class Case:
    """A fit: what by, on what, and with which seed, which is also that of the order of the rows."""

    package: str
    method: str
    dataset: str
    seed: int

    @property
    def by(self) -> tuple[str, str]:
        """Package and method."""
        return self.package, self.method


@dataclass(frozen=True)
class Outcome:
    """What came of a fit: scores, time and memory, or why there are none."""

    failure: str | None = None
    seconds: float | None = None
    bytes: int | None = None
    acc: float | None = None
    nmi: float | None = None
    ari: float | None = None
    n_clusters: int | None = None
    noise: float = 0.0
    """Share of the samples that are in no cluster."""


@dataclass
class Results:
    """All that is known: fits, datasets and environments, as they are in the file of results."""

    fits: dict[Case, Outcome] = field(default_factory=dict)
    datasets: dict[str, dict[str, int]] = field(default_factory=dict)
    environments: dict[str, dict[str, Any]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)


def read(path: Path) -> Results:
    """Return the results of a file; none if there is no such file."""
    results = Results()
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        content = json.loads(line)
        if "case" in content:
            results.fits[Case(**content["case"])] = Outcome(**content["outcome"])
        else:
            for name in ("datasets", "environments", "settings"):
                getattr(results, name).update(content.get(name, {}))
    return results


def write(path: Path, **content: Any) -> None:
    """Add a line to the results."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(content) + "\n")


class Server:
    """A process in the environment of a package that fits its methods."""

    def __init__(self, package: str) -> None:
        python = ROOT / f".venv-peers-{package}" / "bin" / "python"
        if package == "manyview":
            python = Path(sys.executable)
        self.environment: dict[str, Any] = {"failure": f"{UNUSABLE[0]}: `make .venv-peers-{package}/ready` failed"}
        if python.exists():
            self._process = subprocess.Popen(
                [str(python), str(Path(__file__).with_name("peers_fit.py")), package],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | dict.fromkeys(ONE_THREAD, "1"),
            )
            self.environment = self._answer()

    def fit(self, **job: Any) -> dict[str, Any]:
        """Return labels, seconds and bytes, or the failure."""
        if "failure" in self.environment:
            return self.environment
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        return json.loads(self._process.stdout.readline() or '{"failure": "the server ended"}')


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, help="files in MANYVIEW_DATA, without .mat")
    parser.add_argument("--packages", nargs="*", choices=METHODS, default=list(METHODS))
    names = [name for methods in METHODS.values() for name in methods]
    parser.add_argument("--methods", nargs="+", choices=names, metavar="NAME", help="only these")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=30.0, help="limit of processor time of a fit")
    parser.add_argument("--slow", type=float, default=10.0, help="after a fit of more seconds, no other seeds")
    parser.add_argument("--gib", type=float, default=8.0, help="limit of memory of a fit")
    parser.add_argument("--results", type=Path, default=Path("output/peers.jsonl"), help="JSON lines to go on from")
    parser.add_argument("--page", type=Path, help="write the page from the results")
    options = parser.parse_args()
    if options.packages and not os.environ.get("MANYVIEW_DATA"):
        parser.error("MANYVIEW_DATA must name the folder of the datasets.")
    run(options)
    if options.page:
        from peers_page import page

        results = read(options.results)
        if not results.fits:
            parser.error(f"{options.results} has no results.")
        options.page.write_text(page(results), encoding="utf-8")
        print(options.page)


def run(options: argparse.Namespace) -> None:
    """Make all fits that are not in the results."""
    results = read(options.results)
    settings = {"seconds": options.seconds, "slow": options.slow, "gib": options.gib, "seeds": options.seeds}
    servers: dict[str, Server] = {}
    for name in options.datasets:
        cases = [
            Case(package, method, name, seed)
            for package in options.packages
            for method in METHODS[package]
            if options.methods is None or method in options.methods
            for seed in range(options.seeds)
        ]
        if all(is_known(case, results) for case in cases):
            continue
        file = Path(os.environ["MANYVIEW_DATA"], f"{name}.mat")
        if not file.exists():
            print(f"{file} does not exist: {name} is left out")
            continue
        views = read_views(file)
        results.datasets[name] = facts(views)
        write(options.results, datasets={name: facts(views)}, settings=settings)
        with tempfile.TemporaryDirectory() as folder:
            given = {seed: shuffled(views, seed, Path(folder)) for seed in range(options.seeds)}
            for case in cases:
                if is_known(case, results) or slow_before(case, results, options.slow):
                    continue
                outcome = hopeless(case, results)
                if outcome is None:
                    if case.package not in servers:
                        servers[case.package] = Server(case.package)
                        write(options.results, environments={case.package: servers[case.package].environment})
                    arrays, labels = given[case.seed]
                    answer = servers[case.package].fit(
                        file=str(arrays),
                        method=case.method,
                        n_clusters=results.datasets[name]["classes"],
                        seed=case.seed,
                        seconds=options.seconds,
                        bytes=int(options.gib * 2**30),
                    )
                    outcome = scored(answer, labels)
                results.fits[case] = outcome
                write(options.results, case=asdict(case), outcome=asdict(outcome))
                print(case, outcome.failure or f"ACC {outcome.acc:.3f} in {outcome.seconds:.2f} s", flush=True)


def facts(views: Views) -> dict[str, int]:
    """Return the sizes of a dataset."""
    return {
        "samples": views.n_samples,
        "views": views.n_views,
        "features": sum(array.shape[1] for array in views.arrays),
        "classes": len(np.unique(views.labels)),
    }


def shuffled(views: Views, seed: int, folder: Path) -> tuple[Path, np.ndarray]:
    """Write the arrays that all methods get, rows in the order of this seed, and return the classes in that order."""
    order = views.shuffled(seed)
    arrays: dict[str, Any] = {"n_views": views.n_views}
    for v, array in enumerate(check_views(replace(order, labels=None)).arrays):  # floats, which the packages expect
        if sp.issparse(array):
            arrays |= {f"{part}{v}": getattr(array, part) for part in ("data", "indices", "indptr", "shape")}
        else:
            arrays[f"view{v}"] = array
    file = folder / f"{seed}.npz"
    np.savez(file, **arrays)
    assert order.labels is not None
    return file, order.labels


def scored(answer: dict[str, Any], classes: np.ndarray) -> Outcome:
    """Return the scores of labels; samples in no cluster count as one more cluster."""
    if "failure" in answer:
        return Outcome(answer["failure"])
    try:
        labels, _ = check_labels(answer["labels"], len(classes), len(np.unique(classes)))
    except ValueError as error:
        return Outcome(f"failed: {error}")
    scores = clustering_scores(classes, labels)
    return Outcome(
        seconds=answer["seconds"],
        bytes=answer["bytes"],
        n_clusters=len(np.unique(labels[labels >= 0])),
        noise=float(np.mean(labels < 0)),
        **{name: float(scores[name]) for name in SCORES},
    )


def is_known(case: Case, results: Results) -> bool:
    """Whether the results have the fit; a package that could not be used may be there now."""
    known = results.fits.get(case)
    return known is not None and not (known.failure or "").startswith(UNUSABLE)


def slow_before(case: Case, results: Results, slow: float) -> bool:
    """Whether the method has taken long on this dataset, or failed."""
    first = replace(case, seed=0)
    seconds = results.fits[first].seconds if case != first and is_known(first, results) else 0.0
    return seconds is None or seconds > slow


def hopeless(case: Case, results: Results) -> Outcome | None:
    """Return why a fit would take too long or too much memory: one on fewer samples and features did."""
    sizes = ("samples",) if case.method in BY_SAMPLES else ("samples", "features")
    for other, outcome in limits(case.by, results):
        smaller, larger = results.datasets[other.dataset], results.datasets[case.dataset]
        if all(smaller[key] <= larger[key] for key in sizes):
            return Outcome(f"{NOT_TRIED}: {outcome.failure} on {other.dataset}")
    return None


def limits(by: tuple[str, str], results: Results) -> Iterator[tuple[Case, Outcome]]:
    for case, outcome in results.fits.items():
        if case.by == by and outcome.failure and outcome.failure.startswith(TOO_LONG):
            yield case, outcome


if __name__ == "__main__":
    main()
