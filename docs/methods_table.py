"""The tables of methods in docs/methods.md and docs/choosing.md, from what the methods say of themselves.

python docs/methods_table.py
"""

from __future__ import annotations

import inspect
from collections.abc import Callable

import numpy as np

from manyview.cluster import Method, available_methods
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError


def methods_table() -> str:
    """One line per method, in Markdown."""
    lines = [
        "| class | what it does | works on | memory | k-means | order of the rows matters | reference |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in available_methods():
        facts = method.facts
        kmeans = "yes" if facts.uses_kmeans else "no"
        order = "**yes**" if facts.order_dependent else "no"
        cells = [f"`{method.name}`", facts.title, facts.input_kind, facts.memory, kmeans, order, facts.reference]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def default(method: Method, parameter: str) -> object:
    """What a parameter is if nobody sets it; None if the method does not have it."""
    found = inspect.signature(method.estimator).parameters.get(parameter)
    return None if found is None else found.default


def takes_gaps(method: Method) -> bool:
    """Whether it takes samples that lack a view: tried, not asked."""
    first, second = (np.array(view) for view in make_multiview(40, 2, n_views=2, random_state=0).arrays)
    second[3] = np.nan
    try:
        method.estimator(2, random_state=0).fit([first, second])
    except ViewsError:
        return False
    return True


def grows_slowly(method: Method) -> bool:
    """Whether memory is linear in the samples; half of the samples as anchors would make it quadratic."""
    return method.facts.memory != "n²" and not isinstance(default(method, "n_anchors"), float)


SITUATIONS: dict[str, Callable[[Method], bool]] = {
    "data of your own, and no wish to tune": lambda m: m.facts.reference == "this package",
    "to repeat the figures of the paper": lambda m: m.name == "TBGL",
    "more than some 5,000 samples: memory grows with n, not with n²": grows_slowly,
    "more than some 50,000 samples: anchors or features, no graph between samples": lambda m: (
        grows_slowly(m) and m.facts.input_kind in ("anchor graphs", "features")
    ),
    "samples that lack a view": takes_gaps,
    "new samples, to be placed later": lambda m: hasattr(m.estimator, "predict"),
    "how sure it is of each sample": lambda m: hasattr(m.estimator, "predict_confidence"),
    "words and counts: looks at a view and chooses its scaling": lambda m: default(m, "scaling") == "auto",
    'words and counts: takes `scaling="counts"`': lambda m: default(m, "scaling") is not None,
    'columns in different units: takes `scaling="standardized"`': lambda m: default(m, "scaling") is not None,
    "the answer must not follow from the order of the rows": lambda m: not m.facts.order_dependent,
    "no k-means anywhere": lambda m: not m.facts.uses_kmeans,
    "a single view": lambda m: m.estimator.min_views == 1,
    "more than one machine (Dask)": lambda m: default(m, "engine") is not None,
}
"""What one may want, and whether a method has it."""


def situations_table() -> str:
    """One line per situation, in Markdown, with the methods that fit."""
    methods = available_methods()
    lines = ["| you have, or want | methods |", "|---|---|"]
    for situation, fits in SITUATIONS.items():
        fitting = [method.name for method in methods if fits(method)]
        lacking = [method.name for method in methods if method.name not in fitting]
        told = f"all but {_listed(lacking)}" if len(lacking) < len(fitting) else _listed(fitting)
        lines.append(f"| {situation} | {told} |")
    return "\n".join(lines)


def _listed(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


TABLES = {"methods.md": methods_table, "choosing.md": situations_table}
"""The page that has the table, and what makes it."""


if __name__ == "__main__":
    for page, table in TABLES.items():
        print(f"{page}\n\n{table()}\n")
