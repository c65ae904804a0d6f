"""Time and memory of InvariantTBGL for many samples, as ratios against other ways in one run.

    python benchmarks/scaling.py million              three views of 64 features float32, 512 anchors, 10 neighbours
    python benchmarks/scaling.py growth 10000 100000 1000000
    MANYVIEW_DATA=folder python benchmarks/scaling.py mnist         MNIST63k in three views, beside k-means
    MANYVIEW_DATA=folder python benchmarks/scaling.py switch        what learning on a sample costs and saves
    python benchmarks/scaling.py methods 5000 20000 80000           beside SFMC, LMVSC, k-means and mvlearn if installed
    python benchmarks/scaling.py dask --samples 1000000             one and two workers beside threads
    python benchmarks/scaling.py travel 100000 400000               bytes per round when all samples are learned on

Rows are in random order. Every measurement is made in a process of its own, after its kernels have been compiled or
loaded; memory is the peak of that process, with the data.
"""

from __future__ import annotations

import argparse
import os
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, MiniBatchKMeans
from sklearn.neighbors import NearestNeighbors

from manyview import InvariantTBGL
from manyview.cluster import LMVSC, SFMC
from manyview.datasets import make_multiview
from manyview.datasets.digits import fourier, gradients
from manyview.metrics import accuracy, normalized_mutual_info

ANCHORS, NEIGHBORS, CLUSTERS, FEATURES = 512, 10, 10, 64
SAME = {"n_anchors": ANCHORS, "n_neighbors": NEIGHBORS}

Data = tuple[list[np.ndarray], np.ndarray]
Run = Callable[[list[np.ndarray]], Any]


# Data -------------------------------------------------------------------------------------------------------------


def separated(n: int) -> Data:
    """Ten clear clusters in three views of 64 features, float32."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLUSTERS, n)
    views = []
    for _ in range(3):
        centres = rng.standard_normal((CLUSTERS, FEATURES), dtype=np.float32)
        view = rng.standard_normal((n, FEATURES), dtype=np.float32)
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
    with np.load(Path(os.environ["MANYVIEW_DATA"]) / "MNIST63k.npz") as file:
        order = np.random.default_rng(0).permutation(len(file["y"]))[:n]
        pixels, labels = file["X"][order], file["y"][order].astype(int)
    images = np.array_split(pixels.reshape(-1, 28, 28).astype(np.float32), max(n // 3000, 1))
    views = [
        pixels.astype(np.float32),
        np.concatenate([gradients(part, 8, 7, 7) for part in images]).astype(np.float32),
        np.concatenate([fourier(part, 5) for part in images]).astype(np.float32),
    ]
    return views, labels


# What is measured -------------------------------------------------------------------------------------------------


def ours(views: list[np.ndarray], **parameters: Any) -> np.ndarray:
    return InvariantTBGL(CLUSTERS, random_state=0, **parameters).fit(views).labels_


def floor(views: list[np.ndarray]) -> None:
    """The nearest anchors of all samples in each view, by scikit-learn: what every method with anchors pays."""
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


def million(options: argparse.Namespace) -> None:
    n = options.samples
    base = alone(measured, floor, {}, separated, n)
    print(f"{n:,} samples, input {base['input']:.2f} GB; times as multiples of the nearest anchors alone")
    show("scikit-learn, 10 nearest of 512 anchors, brute force", base, base["seconds"])
    found = alone(measured, ours, SAME, separated, n)
    show("InvariantTBGL, 512 anchors, 10 neighbours", found, base["seconds"])
    print(f"peak memory is {found['peak'] / found['input']:.2f} times the input")
    if options.peers:
        show("InvariantTBGL, as it comes", alone(measured, ours, {}, separated, n), base["seconds"])
        show("KMeans, n_init=1", alone(measured, kmeans, {"n_init": 1}, separated, n), base["seconds"])
        show("MiniBatchKMeans, n_init=10", alone(measured, mini_batch, {}, separated, n), base["seconds"])


def growth(options: argparse.Namespace) -> None:
    sizes, times, peaks = options.sizes or [10_000, 31_600, 100_000, 316_000, 1_000_000], [], []
    for n in sizes:
        found = alone(measured, ours, SAME, separated, n)
        show(f"{n:,} samples", found)
        times.append(found["seconds"])
        peaks.append(found["peak"])
    for what, values in (("time", times), ("peak memory", peaks)):
        exponent = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        print(f"{what} grows with n to the power of {exponent:.2f}")


def show_mnist(options: argparse.Namespace) -> None:
    base = alone(measured, kmeans, {}, mnist, options.samples)
    print("MNIST63k as pixels, gradients and Fourier magnitudes; times as multiples of KMeans")
    show("KMeans, n_init=10, views side by side", base, base["seconds"])
    runs: list[tuple[str, Run, dict[str, Any]]] = [
        ("KMeans, n_init=10, each view with variance 1", kmeans, {"scale": True}),
        ("MiniBatchKMeans, n_init=10", mini_batch, {}),
        ("MiniBatchKMeans, n_init=10, variance 1", mini_batch, {"scale": True}),
        ("LMVSC", lmvsc, {}),
        ("InvariantTBGL", ours, {}),
    ]
    for what, run, parameters in runs:
        show(what, alone(measured, run, parameters, mnist, options.samples), base["seconds"])


def switch(options: argparse.Namespace) -> None:
    for name, data, n in (("MNIST63k", mnist, 63_000), ("blobs that overlap", blobs, 60_000)):
        base = alone(measured, ours, {"learn_on": "all"}, data, n)
        print(f"{name}, {n:,} samples; times as multiples of learning on all")
        show("learn_on='all'", base, base["seconds"])
        for learn_on in (5_000, 10_000, 20_000, 40_000):
            show(f"learn_on={learn_on}", alone(measured, ours, {"learn_on": learn_on}, data, n), base["seconds"])


def methods(options: argparse.Namespace) -> None:
    for n in options.sizes or [5_000, 20_000, 80_000]:
        for name, data in (("clear blobs", clear_blobs), ("blobs that overlap", blobs)):
            base = alone(measured, ours, {}, data, n)
            print(f"{name}, {n:,} samples, 20 features in each of three views; times as multiples of InvariantTBGL")
            show("InvariantTBGL", base, base["seconds"])
            runs: list[tuple[str, Run, dict[str, Any]]] = [
                ("InvariantTBGL, 512 anchors, 10 neighbours", ours, SAME),
                ("LMVSC", lmvsc, {}),
                ("LMVSC, 512 anchors", lmvsc, {"n_anchors": ANCHORS}),
                ("SFMC", sfmc, {}),
                ("KMeans, n_init=10, views side by side", kmeans, {}),
                ("mvlearn, MultiviewKMeans, two of the views", mvlearn_kmeans, {}),
            ]
            for what, run, parameters in runs:
                try:
                    show(what, alone(measured, run, parameters, data, n), base["seconds"])
                except (ImportError, MemoryError) as error:
                    print(f"{what:52s} {error}", flush=True)
