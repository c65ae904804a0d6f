"""What the answer of each method depends on: the order of the rows, and on request the seed and single views.

    MANYVIEW_DATA=folder python benchmarks/audit.py                        row order, all methods, MSRC-v5
    MANYVIEW_DATA=folder python benchmarks/audit.py --seeds 5 --views --methods GraphEnsemble

The reference is the order of the file, which is sorted by class for most datasets. TBGL has the parameters of the
dataset's preset, all others their defaults; random_state=0.
"""

from __future__ import annotations

import argparse

import numpy as np

from manyview.audit import AuditResult, audit_order, audit_seeds, audit_views
from manyview.cluster import available_methods
from manyview.datasets import DatasetInfo, dataset_info, fetch_dataset

METHODS = {method.name: method.estimator for method in available_methods()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dataset", default="MSRC-v5")
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), metavar="NAME")
    parser.add_argument("--shuffles", type=int, default=5, help="number of shuffled orders; 0 leaves this audit out")
    parser.add_argument("--seeds", type=int, default=0, help="audit the seed, too, with so many others")
    parser.add_argument("--views", action="store_true", help="audit the views, too")
    options = parser.parse_args()
    info, views = dataset_info(options.dataset), fetch_dataset(options.dataset)
    audits = {
        "order": lambda model: audit_order(model, views, n_shuffles=options.shuffles),
        "seeds": lambda model: audit_seeds(model, views, n_seeds=options.seeds),
        "views": lambda model: audit_views(model, views),
    }
    asked = {"order": options.shuffles, "seeds": options.seeds, "views": options.views}
    for question in (name for name, wanted in asked.items() if wanted):
        rows = "in file order, then shuffled" if question == "order" else "in file order"
        print(f"{info.name}, {question}; rows {rows}\n")
        print("| method | passed | agreement | samples moved | accuracy, reference | accuracy, changed |")
        print("|---|---|---|---|---|---|")
        results = []
        for name in options.methods:
            results.append(audits[question](make(name, info)))
            print(line(results[-1]), flush=True)
        print()
        for result in results:
            print(f"- {result.verdict}")
            for text in result.warnings:
                print(f"  - {text}")
        print()


def make(name: str, info: DatasetInfo) -> object:
    preset = info.tbgl_preset.params if name == "TBGL" and info.tbgl_preset else {}
    return METHODS[name](info.n_classes, random_state=0, **preset)


def line(result: AuditResult) -> str:
    cells = [
        result.estimator,
        "yes" if result.passed else "**no**",
        spread(result.agreement, ".3f"),
        f"{spread(result.moved, 'd')} of {result.n_samples}",
        spread(result.accuracy[:1], ".3f"),
        spread(result.accuracy[1:], ".3f"),
    ]
    return f"| {' | '.join(cells)} |"


def spread(values: np.ndarray, digits: str) -> str:
    low, high = f"{values.min():{digits}}", f"{values.max():{digits}}"
    return low if low == high else f"{low} to {high}"


if __name__ == "__main__":
    main()
