"""The methods and their facts, for everything that goes over all of them: command line, experiments, tables."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from manyview.cluster._base import Facts, MultiViewClusterer

# Our own first, then the paper's, then those it compares with in the order of its tables.
HOMES = {
    "GraphEnsemble": "_graph_ensemble",
    "TBGL": "_tbgl",
    "CLR": "_clr",
    "CoTrainingSpectral": "_co_training",
    "CoRegularizedSpectral": "_co_regularized",
    "SwMC": "_swmc",
    "MVGL": "_mvgl",
    "MVSC": "_mvsc",
    "RDEKM": "_rdekm",
    "SMSC": "_smsc",
    "AMGL": "_amgl",
    "MLAN": "_mlan",
    "LMVSC": "_lmvsc",
    "ETLMSC": "_etlmsc",
    "SFMC": "_sfmc",
}
"""The module of each method. Importing all of them takes a while, so it is done for those that are asked for."""

FORMER_NAMES = {"InvariantTBGL": "GraphEnsemble"}
"""Names that methods had before the first release: nothing goes by them, but errors say what became of them."""


@dataclass(frozen=True)
class Method:
    """An estimator class, its name, and its facts."""

    name: str
    estimator: type[MultiViewClusterer]
    facts: Facts


def get_method(name: str) -> Method:
    """The method of this name, one of :data:`HOMES`."""
    estimator: type[MultiViewClusterer] = getattr(import_module(f"manyview.cluster.{HOMES[name]}"), name)
    return Method(name, estimator, estimator.facts)


def available_methods() -> tuple[Method, ...]:
    """List every method with what one needs to know to choose.

    Examples
    --------
    >>> from manyview.cluster import available_methods
    >>> methods = available_methods()
    >>> methods[0].name, methods[0].facts.memory, methods[0].facts.order_dependent
    ('GraphEnsemble', 'n·k', False)
    """
    return tuple(get_method(name) for name in HOMES)
