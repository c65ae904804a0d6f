"""Digests of what every method finds, to see that a change of the code changes no result.

    python benchmarks/golden.py record before.json                   what this checkout finds
    python benchmarks/golden.py record before.json --commit HEAD~3   what another commit finds
    python benchmarks/golden.py compare before.json after.json       exit code 1 for a difference that is not named

A record holds one digest per fitted attribute, prediction and file: all methods on the digits and on generated views
(dense, sparse, float32), our own also on views with missing samples, with copies of rows and views, on more than 10,000
rows, in blocks, on Dask workers, and on the datasets in the folder MANYVIEW_DATA (default: ../shared/data) if they are
there; and the JSON of `manyview cluster`. Digests are of bits: compare records of one machine only.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import logging
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("MANYVIEW_DATA") or ROOT.parent / "shared" / "data")
# Up to this many samples, all methods are run on a dataset; most of them take time and memory that grow with n².
ALL_METHODS_ROWS = 700

# Old and new words: records of earlier commits are read as if they had used the new ones.
RENAMED = {
    "InvariantTBGL": "GraphEnsemble",  # it has a name of its own, as there is no tensor in it
    "invariant-tbgl": "graph-ensemble",
    "graph_kind_": "graph_family_",  # the house language: families of graphs
    '"fine"': '"local"',
    "fine_information": "local_information",
}
# Keys that may differ, each with its reason.
EXPECTED = [
    (
        r"^(CLR|MVGL|SwMC) in memory, (BBCSport|BBC4view|NGs|Movies|Reuters600): .*(history|graph|weights)_$",
        "two runs of the earlier code differ there, too: SciPy 1.17 draws new directions of ARPACK at random",
    ),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="write the digests of a checkout")
    recording.add_argument("file", type=Path)
    recording.add_argument("--commit", help="record this commit instead of the files as they are")
    recording.add_argument("--only", default="", help="cases whose name matches this pattern")
    comparing = commands.add_parser("compare", help="compare two records")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    options = parser.parse_args()
    if options.command == "compare":
        sys.exit(compare(options.before, options.after))
    elif options.commit:
        record_commit(options)
    else:
        record(options.file, options.only)


def record_commit(options: argparse.Namespace) -> None:
    """Run this script with the package of another commit."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder, "tree")
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), options.commit], check=True)
        try:
            words = ["record", str(options.file.resolve()), "--only", options.only]
            environment = os.environ | {"PYTHONPATH": str(tree / "src"), "MANYVIEW_DATA": str(DATA)}
            subprocess.run([sys.executable, __file__, *words], check=True, env=environment)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def record(file: Path, only: str) -> None:
    import manyview

    print(f"recording {Path(manyview.__file__).parent}")
    found: dict[str, Any] = {}
    for name, run in cases():
        if re.search(only, name):
            start = time.perf_counter()
            with warnings.catch_warnings(record=True):
                warnings.simplefilter("always")
                found |= {f"{name}: {key}": value for key, value in run().items()}
            print(f"{time.perf_counter() - start:7.1f} s  {name}", flush=True)
    file.write_text(json.dumps(found, indent=1, sort_keys=True))
    print(f"{len(found)} values in {file}")


def cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """Yield what is run: a name, and a function that returns values by name."""
    from manyview import read_views
    from manyview.cluster import available_methods

    ours, *others = (method.estimator for method in available_methods())
    made = generated()
    for data in ("digits", "dense", "sparse", "float32"):
        for method in (ours, *others):
            yield f"{method.__name__} in memory, {data}", lambda m=method, d=data: fit(m, *made[d])
    for data in ("missing", "copies", "few", "noise"):
        yield f"{ours.__name__} in memory, {data}", lambda d=data: fit(ours, *made[d])
    for options in ({"n_clusters": "auto"}, {"n_anchors": 200, "n_neighbors": 7}, {"scaling": "centered"}):
        text = ", ".join(f"{key}={value}" for key, value in options.items())
        yield f"{ours.__name__} in memory, digits, {text}", lambda o=options: fit(ours, *made["digits"], **o)
    for data in ("dense", "sparse", "missing", "copies", "float32", "noise"):
        yield f"{ours.__name__} in blocks, {data}", lambda d=data: fit(ours, *made[d], learn_on=150)
    yield f"{ours.__name__} in blocks, large", lambda: fit(ours, *made["large"])
    yield f"{ours.__name__} in blocks, large, auto", lambda: fit(ours, *made["large"], n_clusters="auto")
    yield f"{ours.__name__} in blocks, large, all", lambda: fit(ours, *made["large"], learn_on="all")
    yield (
        f"{ours.__name__} in blocks, large with missing views, all",
        lambda: fit(ours, *made["large missing"], learn_on="all"),
    )
    for data, learn_on in (("dense", 150), ("missing", 150), ("float32", "auto"), ("large", "auto"), ("large", "all")):
        yield f"{ours.__name__} on Dask, {data}, {learn_on}", lambda d=data, n=learn_on: fit_dask(ours, *made[d], n)
    yield "command line", command_line
    for path in sorted(DATA.glob("*.mat")):
        views = read_views(path)
        k = len(np.unique(views.labels))
        for method in (ours, *others) if views.n_samples <= ALL_METHODS_ROWS and len(views.arrays) <= 6 else (ours,):
            yield f"{method.__name__} in memory, {path.stem}", lambda m=method, v=views, k=k: fit(m, v.shuffled(0), k)


def generated() -> dict[str, tuple[Any, int]]:
    """Return views and the number of their clusters."""
    from manyview import Views
    from manyview.datasets import drop_views, load_digits_views, make_multiview

    dense = make_multiview(300, 4, n_views=3, noise=0.5, random_state=0).shuffled(0)
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(60, 0.1), size=4)
    counts = [sp.csr_array(rng.poisson(40 * topics[np.arange(240) % 4])) for _ in range(2)]
    large = make_multiview(12_000, 6, n_views=3, noise=0.8, random_state=1).shuffled(1)
    copies = dense.take(np.r_[np.arange(300), np.arange(40), np.zeros(20, int)])
    return {
        "digits": (load_digits_views().shuffled(0), 10),
        "dense": (dense, 4),
        "sparse": (Views(counts), 4),
        "float32": (Views([array.astype(np.float32) for array in dense.arrays]), 4),
        "missing": (drop_views(dense, 0.3, random_state=0), 4),
        "copies": (Views([*copies.arrays, 3 * copies.arrays[0] + 1]), 4),
        "few": (dense.take([0, 0, 0, 1, 1, 2, 2, 2, 3, 4]), 5),
        "noise": (make_multiview(400, 8, n_views=2, n_noise_views=2, noise=0.7, random_state=2).shuffled(2), 8),
        "large": (large, 6),
        "large missing": (drop_views(large, 0.2, random_state=0), 6),
    }


def fit(method: Any, views: Any, k: int, **options: Any) -> dict[str, Any]:
    """Digests of all that a fit has set, and of what it predicts for some samples."""
    model = method(**{"n_clusters": k} | options)
    model.set_params(**{key: 0 for key in ("random_state",) if key in model.get_params()})
    model.fit(views)
    return fitted(model) | predicted(model, views)


def fit_dask(method: Any, views: Any, k: int, learn_on: Any) -> dict[str, Any]:
    """Run the same on two worker processes."""
    import distributed

    web = {"dashboard_address": "127.0.0.1:0", "worker_dashboard_address": "127.0.0.1:0"}
    options = {"n_workers": 2, "threads_per_worker": 1, "host": "127.0.0.1", "protocol": "tcp"}
    with (
        distributed.LocalCluster(silence_logs=logging.CRITICAL, **web | options) as cluster,
        distributed.Client(cluster),
    ):
        return fit(method, views, k, engine="dask", learn_on=learn_on)


def fitted(model: Any) -> dict[str, Any]:
    names = sorted(key for key in vars(model) if key.endswith("_") and not key.startswith("_"))
    return {name: digest(getattr(model, name)) for name in names}


def predicted(model: Any, views: Any) -> dict[str, Any]:
    from manyview import Views

    some = views.take(np.arange(0, views.n_samples, 3))
    new = Views([array * 1.01 for array in some.arrays], some.names, present=some.present)
    calls = [name for name in ("predict", "predict_confidence", "transform") if hasattr(model, name)]
    return {
        f"{name}({what})": digest(getattr(model, name)(v))
        for name in calls
        for what, v in (("old", some), ("new", new))
    }


def digest(value: Any) -> Any:
    """Return a short text that stands for the bits of a value; plain values as they are."""
    if hasattr(value, "compute"):
        value = value.compute()
    if sp.issparse(value):
        value = {"data": value.data, "indices": value.indices, "indptr": value.indptr, "shape": list(value.shape)}
    if is_dataclass(value):
        value = asdict(value)
    if isinstance(value, dict):
        return {str(key): digest(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        kind = "i" if value.dtype.kind in "iu" else str(value.dtype)  # indices may be narrower: not a result
        values = value.astype(np.int64) if kind == "i" else np.ascontiguousarray(value)
        return f"{kind}{list(value.shape)} {hashlib.sha256(values.tobytes()).hexdigest()[:16]}"
    if isinstance(value, list | tuple):
        return [digest(inner) for inner in value]
    return value.item() if isinstance(value, np.generic) else value


def command_line() -> dict[str, Any]:
    """Return the answers of `manyview cluster` to tables with names, without what differs from run to run."""
    from manyview.datasets import make_multiview

    views, found = make_multiview(150, 3, n_views=2, noise=0.4, random_state=0).shuffled(0), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, array in zip(("a", "b"), views.arrays, strict=True):
            with Path(folder, f"{name}.csv").open("w", newline="") as file:
                table = csv.writer(file)
                table.writerow(["sample", *(f"{name}{j}" for j in range(array.shape[1]))])
                table.writerows([f"s{i}", *row] for i, row in enumerate(array.tolist()))
        for words in (["-k", "3"], ["-k", "3", "--method", "lmvsc"], ["-k", "auto"], ["-k", "3", "--audit"]):
            command = [
                sys.executable,
                "-m",
                "manyview",
                "cluster",
                "a.csv",
                "b.csv",
                "--id",
                "sample",
                "--out",
                "out",
                *words,
            ]
            subprocess.run([*command, "--json"], cwd=folder, check=True, capture_output=True)
            result = json.loads(Path(folder, "out", "result.json").read_text())
            for key in ("timings", "environment", "created", "command"):
                result.pop(key, None)
            key = " ".join(words)
            found |= {f"{key}, {part}": without_seconds(value) for part, value in result.items()}
            found[f"{key}, labels.csv"] = digest(
                np.loadtxt(Path(folder, "out", "labels.csv"), delimiter=",", skiprows=1, usecols=1)
            )
    return found


def without_seconds(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            key: without_seconds(inner) for key, inner in value.items() if not re.search("seconds|timing|time", key)
        }
    return [without_seconds(inner) for inner in value] if isinstance(value, list) else value


def compare(before: Path, after: Path) -> int:
    """Print what differs; 1 if something does that is not named above."""
    text = before.read_text()
    for old, new in RENAMED.items():
        text = text.replace(old, new)
    old, new = json.loads(text), json.loads(after.read_text())
    groups: dict[str, Counter[str]] = {}
    wrong = []
    for key in sorted(old | new):
        same = key in old and key in new and old[key] == new[key]
        reason = next((reason for pattern, reason in EXPECTED if re.search(pattern, key)), None)
        path = re.sub(r"^(\w+) (in memory|in blocks|on Dask).*", r"\1 \2", key) if ", " in key else key
        verdict = "identical" if same else "in the named list" if reason else "different"
        groups.setdefault(path.partition(":")[0], Counter())[verdict] += 1
        if not same:
            print(f"{'expected' if reason else 'DIFFERENT'}: {key}{f' ({reason})' if reason else ''}")
            print(f"    {str(old.get(key, 'absent'))[:150]}\n    {str(new.get(key, 'absent'))[:150]}")
            wrong += [] if reason else [key]
    for path, counts in groups.items():
        print(f"{path:45s} {', '.join(f'{n} {verdict}' for verdict, n in counts.items())}")
    total = sum(groups.values(), Counter())
    print(f"{'all':45s} {', '.join(f'{n} {verdict}' for verdict, n in total.items())}")
    return bool(wrong)


if __name__ == "__main__":
    main()
