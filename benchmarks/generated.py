"""GraphEnsemble where the truth is known: clusters of sizes 1:50, views of noise, rings and moons.

    python benchmarks/generated.py [--seeds 10]

Sizes: six sets of 600 to 3,000 samples. Noise: clusters that overlap in four views (600 samples, noise .5), alone and
with one to four views of noise; what these cost is the mean over the seeds of data and fit. Rows are generated in a
random order.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from manyview import GraphEnsemble
from manyview.datasets import make_multiview
from manyview.metrics import accuracy

N_NOISE_VIEWS = range(5)


def acc(n_samples: int, n_clusters: int, seed: int, **data: Any) -> float:
    """ACC on a generated set."""
    views = make_multiview(n_samples, n_clusters, random_state=seed, **data)
    return float(accuracy(views.labels, GraphEnsemble(n_clusters, random_state=seed).fit(views).labels_))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10, help="number of seeds of the sets with views of noise")
    seeds = range(parser.parse_args().seeds)
    sizes = {(n, seed): acc(n, 4, seed, sizes=np.geomspace(1, 50, 4)) for n in (600, 3000) for seed in range(3)}
    print("sizes 1:50, n and seed: " + ", ".join(f"{n} {seed}: {value:.3f}" for (n, seed), value in sizes.items()))
    for shape in ("rings", "moons"):
        found = [acc(300, 2, seed, shape=shape) for seed in seeds]
        print(f"two {shape}: {min(found):.3f} to {max(found):.3f}")
    for k in (4, 8):
        runs = [[acc(600, k, s, n_views=4, n_noise_views=q, noise=0.5) for q in N_NOISE_VIEWS] for s in seeds]
        table = np.array(runs)
        means = ", ".join(f"{q}: {value:.3f}" for q, value in zip(N_NOISE_VIEWS, table.mean(axis=0), strict=True))
        worst = (table[:, :1] - table).max()
        print(f"K = {k}, views of noise: {means}; lost at most {worst:.3f} in a single set", flush=True)


if __name__ == "__main__":
    main()
