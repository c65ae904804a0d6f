"""The paper's evaluation and experiments of your own: specs in files, a runner that can be stopped, and a store."""

from manyview.experiments._datasets import why_absent
from manyview.experiments._markdown import to_markdown
from manyview.experiments._model import Spec, first_seeds, only
from manyview.experiments._spec import available_specs, load_spec
from manyview.experiments.export import to_csv, to_latex
from manyview.experiments.frame import results
from manyview.experiments.runner import Outcome, Progress, run
from manyview.experiments.store import Store
from manyview.experiments.summary import summarise

__all__ = [
    "Outcome",
    "Progress",
    "Spec",
    "Store",
    "available_specs",
    "first_seeds",
    "load_spec",
    "only",
    "results",
    "run",
    "summarise",
    "to_csv",
    "to_latex",
    "to_markdown",
    "why_absent",
]
