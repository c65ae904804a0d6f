"""Time and memory of GraphEnsemble for many samples, as ratios against other ways in one run.

    python benchmarks/scaling.py million --peers      three views of 64 features float32; beside k-means and others
    python benchmarks/scaling.py growth 10000 100000 1000000 10000000 --features 16
    python benchmarks/scaling.py mapped               ten million samples from files that are mapped into memory
    python benchmarks/scaling.py threads              one thread beside two, from 250 to 10,000 samples
    MANYVIEW_DATA=folder python benchmarks/scaling.py mnist         MNIST63k in three views, beside k-means
    MANYVIEW_DATA=folder python benchmarks/scaling.py switch        what learning on a sample costs and saves
    python benchmarks/scaling.py methods 5000 20000 80000           beside SFMC, LMVSC, k-means and mvlearn if installed
    python benchmarks/scaling.py dask --samples 1000000             one and two workers beside threads
    python benchmarks/scaling.py travel 100000 400000               bytes per round when all samples are learned on

Rows are in random order. Every measurement is made in a process of its own, after its kernels have been compiled or
loaded; memory is the peak of that process, with the data. Times are the best of ``--repeat`` rounds, in which all that
is compared runs in turn. faiss, pynndescent and mvlearn are measured where they are installed.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.neighbors import NearestNeighbors

from manyview import GraphEnsemble, open_views
from manyview.cluster import LMVSC, SFMC
from manyview.datasets import load_mnist_views, make_multiview
from manyview.metrics import accuracy, normalized_mutual_info

ANCHORS, NEIGHBORS, CLUSTERS, FEATURES = 512, 10, 10, 64
PAST = 300_000  # samples from which on the pass over all of them takes most of the time
FEW = 100_000  # enough for blocks on every worker before the clock starts
MOST_FOR_LMVSC = 20_000  # with 512 anchors it takes minutes beyond
SAME = {"n_anchors": ANCHORS, "n_neighbors": NEIGHBORS}

Data = tuple[list[np.ndarray], np.ndarray]
Run = Callable[[list[np.ndarray]], Any]


# Data -------------------------------------------------------------------------------------------------------------


def separated(n: int, n_features: int = FEATURES) -> Data:
    """Ten clear clusters in three views of 64 features, float32."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLUSTERS, n)
    views = []
    for _ in range(3):
        centres = rng.standard_normal((CLUSTERS, n_features), dtype=np.float32)
        view = rng.standard_normal((n, n_features), dtype=np.float32)
        view *= np.float32(0.3)
        for start in range(0, n, 65536):
            view[start : start + 65536] += centres[labels[start : start + 65536]]
        views.append(view)
    return views, labels


def blobs(n: int) -> Data:
    """Ten clusters that overlap a little, in three views of 20 features."""
    views = make_multiview(n, CLUSTERS, n_features=20, noise=0.3, random_state=0).shuffled(0)
    return list(views.arrays), views.labels


def clear_blobs(n: int) -> Data:
    """Ten clusters that do not overlap, in three views of 20 features."""
    views = make_multiview(n, CLUSTERS, n_features=20, noise=0.1, random_state=0).shuffled(0)
    return list(views.arrays), views.labels


def mnist(n: int) -> Data:
    """63,000 handwritten digits: pixels, directions of gradients, Fourier magnitudes; float32, rows shuffled."""
    views = load_mnist_views()
    views = views.take(np.random.default_rng(0).permutation(views.n_samples)[:n])
    return list(views.arrays), views.labels


# What is measured -------------------------------------------------------------------------------------------------


def ours(views: list[np.ndarray], **parameters: Any) -> np.ndarray:
    return GraphEnsemble(CLUSTERS, random_state=0, **parameters).fit(views).labels_


def floor(views: list[np.ndarray]) -> None:
    """Find the nearest anchors of all samples in each view with scikit-learn: the cost of every method with anchors."""
    for view in views:
        anchors = view[np.random.default_rng(0).choice(len(view), ANCHORS, replace=False)]
        NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(anchors).kneighbors(view)


def scaled(views: list[np.ndarray]) -> np.ndarray:
    """All views side by side, each with a total variance of 1."""
    return np.hstack([(view - view.mean(axis=0)) / np.sqrt(view.var(axis=0).sum()) for view in views])


def kmeans(views: list[np.ndarray], n_init: int = 10, scale: bool = False) -> np.ndarray:
    table = scaled(views) if scale else np.hstack(views)
    return KMeans(CLUSTERS, n_init=n_init, random_state=0).fit(table).labels_


def mini_batch(views: list[np.ndarray], scale: bool = False) -> np.ndarray:
    table = scaled(views) if scale else np.hstack(views)
    return MiniBatchKMeans(CLUSTERS, n_init=10, random_state=0).fit(table).labels_


def faiss_kmeans(views: list[np.ndarray]) -> np.ndarray:
    import faiss

    table = np.hstack(views)
    index = faiss.Kmeans(table.shape[1], CLUSTERS, niter=25, nredo=1, seed=0)
    index.train(table)
    return index.index.search(table, 1)[1].ravel()


def neighbour_spectral(views: list[np.ndarray]) -> np.ndarray:
    """Spectral clustering of approximate nearest neighbours: what scales among the graphs of all samples."""
    from pynndescent import PyNNDescentTransformer
    from sklearn.manifold import spectral_embedding

    table = np.hstack(views)
    graph = PyNNDescentTransformer(NEIGHBORS, random_state=0).fit_transform(table)
    graph.data[:] = 1
    embedding = spectral_embedding((graph + graph.T) / 2, n_components=CLUSTERS, random_state=0, drop_first=False)
    return KMeans(CLUSTERS, n_init=10, random_state=0).fit(embedding).labels_


def sfmc(views: list[np.ndarray], **parameters: Any) -> np.ndarray:
    return SFMC(CLUSTERS, random_state=0, **parameters).fit(views).labels_


def lmvsc(views: list[np.ndarray], **parameters: Any) -> np.ndarray:
    return LMVSC(CLUSTERS, random_state=0, **parameters).fit(views).labels_


def mvlearn_kmeans(views: list[np.ndarray]) -> np.ndarray:
    from mvlearn.cluster import MultiviewKMeans  # it takes two views

    return MultiviewKMeans(CLUSTERS, random_state=0).fit_predict(views[:2])


def measured(run: Run, parameters: dict[str, Any], data: Callable[[int], Data], n: int) -> dict[str, Any]:
    """Seconds, peak memory in GB and scores of one run in this process."""
    views, labels = data(n)
    few = [view[:2000] for view in views]
    small = {name: value for name, value in parameters.items() if name not in ("learn_on", "n_init")}
    run(few, **small)
    if run is ours:
        run(few, **{**small, "learn_on": 600})
    start = time.perf_counter()
    found = run(views, **parameters)
    seconds = time.perf_counter() - start
    result = {"seconds": seconds, "peak": peak(), "input": sum(view.nbytes for view in views) / 1e9}
    if found is not None:
        result |= {"acc": accuracy(labels, found), "nmi": normalized_mutual_info(labels, found)}
    return result


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def show(what: str, found: dict[str, Any], base: float | None = None) -> None:
    ratio = "" if base is None else f"  x {found['seconds'] / base:6.2f}"
    scores = f"  ACC {found['acc']:.3f}  NMI {found['nmi']:.3f}" if "acc" in found else ""
    print(f"{what:52s} {found['seconds']:8.1f} s{ratio}  peak {found['peak']:5.2f} GB{scores}", flush=True)


# Commands ---------------------------------------------------------------------------------------------------------


def best(runs: dict[str, tuple[Run, dict[str, Any]]], data: Callable[[int], Data], n: int, repeat: int) -> None:
    """Measure all in turn, several times, and print the best of each as multiples of the first."""
    found: dict[str, dict[str, Any]] = {}
    for _ in range(repeat):
        for what, (run, parameters) in list(runs.items()):
            try:
                result = alone(measured, run, parameters, data, n)
            except (ImportError, MemoryError) as error:
                print(f"{what:52s} {error}", flush=True)
                del runs[what]
                continue
            print(f"  {what}: {result['seconds']:.1f} s", flush=True)
            found[what] = min(found.get(what, result), result, key=lambda result: result["seconds"])
    first = next(iter(found.values()))
    for what, result in found.items():
        show(what, result, first["seconds"])
        if runs[what][0] is ours:
            print(f"{'':52s} peak memory is {result['peak'] / result['input']:.2f} times the input")


def million(options: argparse.Namespace) -> None:
    """GraphEnsemble on a million samples beside the nearest anchors alone."""
    runs: dict[str, tuple[Run, dict[str, Any]]] = {
        "scikit-learn, 10 nearest of 512 anchors, brute force": (floor, {}),
        "GraphEnsemble, 512 anchors, 10 neighbours": (ours, SAME),
        "GraphEnsemble, as it comes": (ours, {}),
    }
    if options.peers:
        runs |= {
            "KMeans, n_init=1": (kmeans, {"n_init": 1}),
            "MiniBatchKMeans, n_init=10": (mini_batch, {}),
            "faiss k-means, 25 passes": (faiss_kmeans, {}),
            "pynndescent and spectral clustering": (neighbour_spectral, {}),
        }
    print(f"{options.samples:,} samples in three views of {FEATURES} features; times as multiples of the first")
    best(runs, separated, options.samples, options.repeat)


def growth(options: argparse.Namespace) -> None:
    """How time and memory grow with the number of samples."""
    sizes, times, peaks = options.sizes or [10_000, 31_600, 100_000, 316_000, 1_000_000], [], []
    data = partial(separated, n_features=options.features)
    for n in sizes:
        found = min((alone(measured, ours, SAME, data, n) for _ in range(options.repeat)), key=lambda f: f["seconds"])
        show(f"{n:,} samples in three views of {options.features} features", found)
        times.append(found["seconds"])
        peaks.append(found["peak"])
    many = np.array(sizes) >= PAST
    for what, values in (("time", times), ("peak memory", peaks)):
        for which, chosen in (("", many | True), (f", from {PAST:,} on", many)):
            if chosen.sum() > 1:
                exponent = np.polyfit(np.log(np.array(sizes)[chosen]), np.log(np.array(values)[chosen]), 1)[0]
                print(f"{what} grows with n to the power of {exponent:.2f}{which}")


def mapped(options: argparse.Namespace) -> None:
    """Fit views in files that are mapped into memory and never loaded as a whole."""
    with tempfile.TemporaryDirectory() as folder:
        truth = alone(files, folder, options.samples, options.features)
        for what, parameters in (("512 anchors, 10 neighbours", SAME), ("as it comes", {})):
            found = alone(from_mapped, folder, parameters)
            found["acc"] = accuracy(truth, found.pop("labels"))
            print(
                f"GraphEnsemble, {what}: {options.samples:,} samples in three views of {options.features} features, "
                f"{found['input']:.2f} GB in files: {found['seconds']:.1f} s, {found['own']:.2f} GB of memory beside "
                f"the mapped files, ACC {found['acc']:.3f}",
                flush=True,
            )


def from_mapped(folder: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Fit mapped files; the peak of memory is what the process holds of its own, without pages of the files."""
    views = [np.load(f"{folder}/view{v}.npy", mmap_mode="r") for v in range(3)]
    ours([view[:2000] for view in views], **{**parameters, "learn_on": 600})
    done, peaks = threading.Event(), [0.0]

    def watch() -> None:
        while not done.wait(0.05):
            lines = Path("/proc/self/status").read_text().splitlines()
            own = next(line for line in lines if line.startswith("RssAnon:"))
            peaks[0] = max(peaks[0], int(own.split()[1]) / 1e6)

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    labels = ours(views, **parameters)
    seconds = time.perf_counter() - start
    done.set()
    watcher.join()
    return {"seconds": seconds, "own": peaks[0], "input": sum(view.nbytes for view in views) / 1e9, "labels": labels}


def threads(options: argparse.Namespace) -> None:
    """One thread beside two, where a fit is short."""
    for n in options.sizes or [250, 500, 1_000, 2_000, 5_000, 10_000]:
        runs: dict[str, tuple[Run, dict[str, Any]]] = {
            f"{n:,} samples, one thread": (ours, {"n_jobs": 1}),
            f"{n:,} samples, two threads": (ours, {"n_jobs": 2}),
        }
        best(runs, blobs, n, options.repeat)


def show_mnist(options: argparse.Namespace) -> None:
    """MNIST63k in three views, beside k-means."""
    base = alone(measured, kmeans, {}, mnist, options.samples)
    print("MNIST63k as pixels, gradients and Fourier magnitudes; times as multiples of KMeans")
    show("KMeans, n_init=10, views side by side", base, base["seconds"])
    runs: list[tuple[str, Run, dict[str, Any]]] = [
        ("KMeans, n_init=10, each view with variance 1", kmeans, {"scale": True}),
        ("MiniBatchKMeans, n_init=10", mini_batch, {}),
        ("MiniBatchKMeans, n_init=10, variance 1", mini_batch, {"scale": True}),
        ("LMVSC", lmvsc, {}),
        ("GraphEnsemble", ours, {}),
    ]
    for what, run, parameters in runs:
        show(what, alone(measured, run, parameters, mnist, options.samples), base["seconds"])


def switch(options: argparse.Namespace) -> None:
    """Learning on a sample beside learning on all."""
    for name, data, n in (("MNIST63k", mnist, 63_000), ("blobs that overlap", blobs, 60_000)):
        base = alone(measured, ours, {"learn_on": "all"}, data, n)
        print(f"{name}, {n:,} samples; times as multiples of learning on all")
        show("learn_on='all'", base, base["seconds"])
        for learn_on in (5_000, 10_000, 20_000, 40_000):
            show(f"learn_on={learn_on}", alone(measured, ours, {"learn_on": learn_on}, data, n), base["seconds"])


def methods(options: argparse.Namespace) -> None:
    """Beside other methods, from 5,000 samples on."""
    for n in options.sizes or [5_000, 20_000, 80_000]:
        for name, data in (("clear blobs", clear_blobs), ("blobs that overlap", blobs)):
            base = alone(measured, ours, {}, data, n)
            print(f"{name}, {n:,} samples, 20 features in each of three views; times as multiples of GraphEnsemble")
            show("GraphEnsemble", base, base["seconds"])
            runs: list[tuple[str, Run, dict[str, Any]]] = [
                ("GraphEnsemble, 512 anchors, 10 neighbours", ours, SAME),
                ("LMVSC", lmvsc, {}),
                *([("LMVSC, 512 anchors", lmvsc, {"n_anchors": ANCHORS})] if n <= MOST_FOR_LMVSC else []),
                ("SFMC", sfmc, {}),
                ("KMeans, n_init=10, views side by side", kmeans, {}),
                ("mvlearn, MultiviewKMeans, two of the views", mvlearn_kmeans, {}),
            ]
            for what, run, parameters in runs:
                try:
                    show(what, alone(measured, run, parameters, data, n), base["seconds"])
                except (ImportError, MemoryError) as error:
                    print(f"{what:52s} {error}", flush=True)


def files(folder: str, n: int, n_features: int = FEATURES) -> np.ndarray:
    """Put the separated data into one file per view; their labels."""
    views, labels = separated(n, n_features)
    for v, view in enumerate(views):
        np.save(f"{folder}/view{v}.npy", view)
    return labels


def from_files(folder: str, n_workers: int, parameters: dict[str, Any]) -> dict[str, Any]:
    """Fit views in files, by the threads of this process (no workers) or by Dask workers with 4 GB each."""
    sources = {f"view{v}": f"{folder}/view{v}.npy" for v in range(3)}
    few = [np.load(path, mmap_mode="r")[:FEW] for path in sources.values()]
    if n_workers == 0:
        ours(few, **{**SAME, "learn_on": 600})
        start = time.perf_counter()
        labels = ours(open_views(sources, as_dask=False), **parameters)
        return {"seconds": time.perf_counter() - start, "peak": peak(), "labels": labels}
    from distributed import Client, LocalCluster

    limits = {"memory_limit": "4GB", "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with LocalCluster(n_workers=n_workers, threads_per_worker=1, **limits) as cluster, Client(cluster) as client:
        ours(few, **{**SAME, "learn_on": 600, "engine": "dask"})  # imports and kernels
        start = time.perf_counter()
        labels = ours(open_views(sources), **parameters).compute()
        seconds = time.perf_counter() - start
        peaks = client.run(peak)
        return {"seconds": seconds, "peak": max(peaks.values()), "labels": labels}


def show_dask(options: argparse.Namespace) -> None:
    """Dask workers beside threads."""
    with tempfile.TemporaryDirectory() as folder:
        truth = files(folder, options.samples)
        base = alone(from_files, folder, 0, SAME)
        print(f"{options.samples:,} samples from npy files; times as multiples of threads, peak of the largest worker")
        for what, n_workers in (("threads of one process", 0), ("Dask, one worker", 1), ("Dask, two workers", 2)):
            found = alone(from_files, folder, n_workers, SAME) if n_workers else base
            same = np.array_equal(found["labels"], base["labels"])
            show(f"{what}, ACC {accuracy(truth, found['labels']):.3f}, same labels: {same}", found, base["seconds"])


def travelled(folder: str, parameters: dict[str, Any], stealing: bool) -> dict[str, Any]:
    """Count rounds and bytes of a fit that learns on all samples, with two workers; of the learning alone."""
    import dask
    from distributed import Client, LocalCluster

    from manyview.engines import DaskRows
    from manyview.engines.dask import transferred_bytes
    from manyview.ensemble import fit

    # A worker with nothing to do would otherwise take over a block from another now and then, with all its rows.
    dask.config.set({"distributed.scheduler.work-stealing": stealing})
    learn, marks = fit.learn, []

    def mark(rows: DaskRows) -> None:
        traffic = rows.traffic
        marks.append((traffic.rounds, traffic.sent, traffic.received, transferred_bytes(client)))

    def watched(rows: Any, *rest: Any, **options: Any) -> Any:
        if not isinstance(rows, DaskRows):  # the family of graphs is chosen on some samples here
            return learn(rows, *rest, **options)
        rows.sum(_count)  # nothing of what came before is still under way
        mark(rows)
        found = learn(rows, *rest, **options)
        mark(rows)
        return found

    fit.learn = watched
    sources = {f"view{v}": f"{folder}/view{v}.npy" for v in range(3)}
    limits = {"memory_limit": "4GB", "dashboard_address": "127.0.0.1:0", "host": "127.0.0.1"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **limits) as cluster, Client(cluster) as client:
        start = time.perf_counter()
        model = GraphEnsemble(CLUSTERS, random_state=0, **parameters).fit(open_views(sources))
        seconds = time.perf_counter() - start
        rounds, sent, received, workers = np.subtract(marks[1], marks[0]).tolist()
        return {
            "seconds": seconds,
            "members": len(model._model.members),
            "rounds": rounds,
            "sent": sent,
            "received": received,
            "workers": workers,
        }


def _count(block: Any) -> np.ndarray:
    return np.array(1)


def travel(options: argparse.Namespace) -> None:
    """Bytes that travel when all samples are learned on."""
    for n in options.sizes or [100_000, 400_000]:
        with tempfile.TemporaryDirectory() as folder:
            files(folder, n)
            for stealing in (False, True):
                found = alone(travelled, folder, {**SAME, "learn_on": "all"}, stealing)
                total = {name: found[name] / 1e6 for name in ("sent", "received", "workers")}
                print(
                    f"{n:>9,} samples, work stealing {'on' if stealing else 'off'}: {found['seconds']:.0f} s, "
                    f"{found['rounds']} rounds of learning, in all {total['sent']:.1f} MB of arguments, "
                    f"{total['received']:.1f} MB back to the client, {total['workers']:.1f} MB sent by workers",
                    flush=True,
                )


def main() -> None:
    """Run one of the benchmarks."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, function in (("million", million), ("dask", show_dask), ("mnist", show_mnist)):
        command = commands.add_parser(name, help=function.__doc__)
        command.add_argument("--samples", type=int, default=63_000 if name == "mnist" else 1_000_000)
        command.add_argument("--peers", action="store_true", help="also k-means and approximate neighbours")
        command.add_argument("--repeat", type=int, default=3, help="rounds, of which the best counts")
        command.set_defaults(function=function)
    sized = {"growth": growth, "methods": methods, "travel": travel, "switch": switch, "threads": threads}
    for name, function in sized.items():
        command = commands.add_parser(name, help=function.__doc__)
        command.add_argument("sizes", nargs="*", type=int, help="numbers of samples")
        command.add_argument("--repeat", type=int, default=3, help="rounds, of which the best counts")
        command.add_argument("--features", type=int, default=FEATURES, help="of each view")
        command.set_defaults(function=function)
    command = commands.add_parser("mapped", help=mapped.__doc__)
    command.add_argument("--samples", type=int, default=10_000_000)
    command.add_argument("--features", type=int, default=16)
    command.set_defaults(function=mapped)
    options = parser.parse_args()
    options.function(options)


if __name__ == "__main__":
    main()
