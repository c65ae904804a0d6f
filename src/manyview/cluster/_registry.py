"""The methods by name. A new method is added here, and nowhere else besides its own files and their tests.

The package's names, the command line, experiments, the tables of the documentation and the tests of all methods follow
from :data:`HOMES` and from the :class:`Facts` of each class.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from inspect import signature
from typing import TYPE_CHECKING, Any

from manyview.cluster._base import Facts, MultiViewClusterer

if TYPE_CHECKING:  # for type checkers, which do not see names that are imported when they are first used
    from manyview.cluster._amgl import AMGL as AMGL
    from manyview.cluster._clr import CLR as CLR
    from manyview.cluster._co_regularized import CoRegularizedSpectral as CoRegularizedSpectral
    from manyview.cluster._co_training import CoTrainingSpectral as CoTrainingSpectral
    from manyview.cluster._etlmsc import ETLMSC as ETLMSC
    from manyview.cluster._graph_ensemble import GraphEnsemble as GraphEnsemble
    from manyview.cluster._lmvsc import LMVSC as LMVSC
    from manyview.cluster._mlan import MLAN as MLAN
    from manyview.cluster._mvgl import MVGL as MVGL
    from manyview.cluster._mvsc import MVSC as MVSC
    from manyview.cluster._rdekm import RDEKM as RDEKM
    from manyview.cluster._sfmc import SFMC as SFMC
    from manyview.cluster._side_by_side import ConcatKMeans as ConcatKMeans
    from manyview.cluster._side_by_side import ConcatSpectral as ConcatSpectral
    from manyview.cluster._smsc import SMSC as SMSC
    from manyview.cluster._snf import SNF as SNF
    from manyview.cluster._swmc import SwMC as SwMC
    from manyview.cluster._tbgl import TBGL as TBGL

# Our own first, then the paper's, then those it compares with in the order of its tables, then what users try first
# and what is usual in other fields.
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
    "ConcatKMeans": "_side_by_side",
    "ConcatSpectral": "_side_by_side",
    "SNF": "_snf",
}
"""The module of each method. Importing all of them takes a while, so it is done for those that are asked for."""

FORMER_NAMES = {"InvariantTBGL": "GraphEnsemble"}
"""Names that methods had before the first release: nothing goes by them, but errors say what became of them."""

# Parameters that the command line and the runner of experiments give to every method.
_GIVEN = ("n_clusters", "k_range", "random_state", "n_jobs", "view_sizes", "verbose")


@dataclass(frozen=True)
class Method:
    """An estimator class, its name, and its facts."""

    name: str
    estimator: type[MultiViewClusterer]
    facts: Facts


def get_method(name: str) -> Method:
    """Return the method of this name, one of :data:`HOMES`."""
    estimator: type[MultiViewClusterer] = getattr(import_module(f"manyview.cluster.{HOMES[name]}"), name)
    return Method(name, estimator, estimator.facts)


def settable(method: Method) -> list[str]:
    """Return the parameters of a method that users of the command line and of experiments may set."""
    return [name for name in signature(method.estimator).parameters if name not in _GIVEN]


def make_estimator(
    method: Method, n_clusters: int | str, seed: int, n_jobs: int | None, parameters: Mapping[str, Any]
) -> Any:
    """Return the estimator, not fitted; a method without ``random_state`` or ``n_jobs`` does without them."""
    known = signature(method.estimator).parameters
    common = {name: value for name, value in (("random_state", seed), ("n_jobs", n_jobs)) if name in known}
    make: Any = method.estimator  # each method has parameters of its own
    return make(n_clusters, **common, **parameters)


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
