"""The honest choice of what GraphEnsemble is made of: choose on one half of the datasets, report on the other, swap.

    MANYVIEW_DATA=folder python benchmarks/selection.py record --seeds 2
    python benchmarks/selection.py table

``record`` makes 16 members of every family of graphs on every dataset, rows shuffled, in two modes (as the method does
it; without the weights of vectors after the K-th), and writes what they found to ``output/selection``. ``table`` then
looks at variants: which families there are, and by which rule one of them is taken. Labels only score the variants. A
variant is chosen by its mean ACC on one half of the datasets, and the mean on the other half is what it is worth.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview import check_views, clustering_scores
from manyview.datasets import data_folder
from manyview.engines import LocalRows
from manyview.ensemble import members
from manyview.ensemble.anchors import pool_size
from manyview.ensemble.columns import LABELS
from manyview.ensemble.consensus import (
    _tables,
    agreement_with,
    find_consensus,
    mean_information,
    mutual_information,
)
from manyview.ensemble.fit import Ensemble, settle
from manyview.ensemble.members import FAMILIES, Member, Settings
from manyview.io import read_views

# Halves of like kinds: images, texts, and others.
HALVES = (
    (
        "3Sources",
        "BBC4view",
        "Reuters-1200",
        "Movies",
        "MSRC-v5",
        "Handwritten4",
        "100Leaves",
        "LandUse_21",
        "ProteinFold",
    ),
    ("BBCSport", "Reuters600", "WebKB", "NGs", "ORL", "Handwritten6", "Mnist4", "Scene_15", "Wikipedia"),
)
MODES = ("default", "all vectors")
Rule = Callable[[dict, tuple[str, ...]], dict[str, float]]
FOLDER = Path("output/selection")
N_MEMBERS = 16

CHOICES = {
    "sums": ("local", "broad"),
    "sums, centered": ("local", "broad", "joint-centered"),
    "sums, standardized": ("local", "broad", "joint-standardized"),
    "all": ("local", "broad", "joint-centered", "joint-standardized"),
    "joint": ("joint-centered", "joint-standardized"),
}


def record(name: str, seed: int, mode: str) -> dict[str, Any]:
    """Return what members of each family find in a dataset: scores of their consensus, and agreements."""
    shuffled = read_views(Path(data_folder(), f"{name}.mat")).shuffled(1000 + seed)
    truth, k = np.asarray(shuffled.labels), len(np.unique(shuffled.labels))
    views = check_views(shuffled)
    settings = Settings(k, n_members=N_MEMBERS, seed=int(np.random.RandomState(seed).randint(2**31)))
    basis = settle(views, np.arange(len(truth)), ["auto"] * views.n_views, settings, pool_size(len(truth), k), None)
    lists, power = basis.pool.lists, members._DROP_POWER
    members._DROP_POWER = 0.0 if mode == "all vectors" else power
    rows = LocalRows(basis.lists(basis.pool, np.argsort(basis.order.rows)))
    tried = [Ensemble(rows, lists, settings, family) for family in FAMILIES if lists.have(family)]
    found: dict[str, Any] = {}
    for ensemble in tried:
        ensemble.grow(N_MEMBERS)
    members._DROP_POWER = power
    for ensemble in tried:
        consensus = find_consensus(rows, settings, ensemble.members, ensemble.information)
        scores = clustering_scores(truth, rows.gather(LABELS.name))
        cross = {e.family.name: agreement_with(rows, LABELS.name, k, e.members, np.ones(N_MEMBERS)) for e in tried}
        shared = {e.family.name: mean_shared(rows, k, e.members) for e in tried}
        found[ensemble.family.name] = {
            "acc": float(scores["acc"]),
            "nmi": float(scores["nmi"]),
            "agreement": consensus.agreement,
            "information": float(mean_information(ensemble.information).mean()),
            "cross": cross,
            "shared": shared,
        }
    return found


def mean_shared(rows: LocalRows, n_clusters: int, drawn: Sequence[Member]) -> float:
    """Return the mean mutual information of the labels with members, in units of log K."""
    most = max(n_clusters, *(member.n_clusters for member in drawn))
    tables = rows.sum(_tables, LABELS.name, most, [member.labels for member in drawn], most)
    return float(mutual_information(tables).mean() / np.log(n_clusters))


def by_information(found: dict, families: tuple[str, ...]) -> dict[str, float]:
    """Mutual information between the members of a family: the rule before."""
    return {name: found[name]["information"] for name in families}


def by_agreement(found: dict, families: tuple[str, ...]) -> dict[str, float]:
    """Agreement of a family's consensus with its own members."""
    return {name: found[name]["agreement"] for name in families}


def by_cross_agreement(found: dict, families: tuple[str, ...]) -> dict[str, float]:
    """Agreement with the members of all families, each family counting the same."""
    return {name: float(np.mean([found[name]["cross"][other] for other in families])) for name in families}


def by_balanced_jury(found: dict, families: tuple[str, ...]) -> dict[str, float]:
    """Score as before, where views that are added up and views side by side count the same."""
    kinds = [[n for n in families if n.startswith("joint") == joint] for joint in (False, True)]
    return {
        name: float(np.mean([np.mean([found[name]["cross"][n] for n in kind]) for kind in kinds if kind]))
        for name in families
    }


def by_shared_information(found: dict, families: tuple[str, ...]) -> dict[str, float]:
    """Mutual information of a family's consensus with the members of all, two thirds of it with its own."""
    shared = {name: found[name]["shared"] for name in families}
    return {n: 2 / 3 * shared[n][n] + float(np.mean([shared[n][other] for other in families])) / 3 for n in families}


def by_both(own: float, alike: float) -> Rule:
    """Agreement counts ``own``, cross agreement the rest; what joint families lack to 1 counts ``alike`` times."""

    def score(found: dict, families: tuple[str, ...]) -> dict[str, float]:
        agreement, cross = by_agreement(found, families), by_cross_agreement(found, families)
        lack = {name: 1 - own * agreement[name] - (1 - own) * cross[name] for name in families}
        return {name: -lack[name] * (alike if name.startswith("joint") else 1.0) for name in families}

    return score


RULES: dict[str, Rule] = {
    "information": by_information,
    "agreement": by_agreement,
    "cross agreement": by_cross_agreement,
    "balanced jury": by_balanced_jury,
    "shared information": by_shared_information,
    **{
        f"{own:.2f} own, alike {alike}": by_both(own, alike)
        for own in (1 / 3, 1 / 2, 2 / 3, 4 / 5)
        for alike in (1.0, 1.1, 1.2, 1.3)
    },
}


def variants() -> Iterator[tuple[str, str, Callable]]:
    """Yield the name of each variant, its mode, and what takes a family."""
    for mode in MODES:
        for which, families in CHOICES.items():
            for rule, score in RULES.items():

                def take(found: dict, families: tuple[str, ...] = families, score: Callable = score) -> str:
                    scores = score(found, tuple(name for name in families if name in found) or tuple(found))
                    return max(scores, key=lambda name: scores[name])

                yield f"{mode} | {which} | {rule}", mode, take


def table() -> None:
    """Print what every variant is worth on each half, and what comes of choosing on the other one."""
    runs: dict[str, dict[str, list]] = {mode: {} for mode in MODES}
    for path in sorted(FOLDER.glob("*.json")):
        name, _, mode = path.stem.split(" ")[0], *path.stem.split(" ", 2)[1:]
        runs[mode].setdefault(name, []).append(json.loads(path.read_text()))
    worth = {}
    for variant, mode, take in variants():
        if any(name not in runs[mode] for half in HALVES for name in half):
            continue
        means = {}
        for name, seeds in runs[mode].items():
            taken = [found[take(found)] for found in seeds]
            means[name] = [np.mean([each[score] for each in taken]) for score in ("acc", "nmi")]
        halves = [np.mean([means[name] for name in half if name in means], axis=0) for half in HALVES]
        worth[variant] = halves
    best = [
        np.mean([np.mean([max(f["acc"] for f in found.values()) for found in runs["default"][n]]) for n in half])
        for half in HALVES
    ]
    print(
        f"16 members, rows shuffled, {len(next(iter(runs['default'].values())))} seeds; ACC/NMI: half A, half B, both"
    )
    for variant, halves in sorted(worth.items(), key=lambda item: -np.mean(item[1], axis=0)[0]):
        both = np.mean(halves, axis=0)
        print(f"{variant:75s}" + "   ".join(f"{acc:.3f}/{nmi:.3f}" for acc, nmi in (*halves, both)))
    print(f"{'the family with most ACC, which nobody knows':75s}{best[0]:.3f}        {'':3s}{best[1]:.3f}")
    for chosen_on, reported_on in ((0, 1), (1, 0)):
        chosen = max(worth, key=lambda variant: worth[variant][chosen_on][0])
        acc, nmi = worth[chosen][reported_on]
        print(f"chosen on half {'AB'[chosen_on]}: {chosen}; on half {'AB'[reported_on]} it has {acc:.3f}/{nmi:.3f}")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["record", "table"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--datasets", nargs="+", default=[name for half in HALVES for name in half])
    parser.add_argument("--modes", nargs="+", default=list(MODES), choices=MODES)
    args = parser.parse_args()
    if args.command == "table":
        return table()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for seed in range(args.seeds):
        for name in args.datasets:
            for mode in args.modes:
                path = FOLDER / f"{name} {seed} {mode}.json"
                if not path.exists():
                    path.write_text(json.dumps(record(name, seed, mode)))
                    print(name, seed, mode, file=sys.stderr, flush=True)
    return None


if __name__ == "__main__":
    main()
