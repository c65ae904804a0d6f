"""The methods and their facts, for everything that goes over all of them: command line, experiments, tables."""

from __future__ import annotations

from dataclasses import dataclass

from manyview.cluster._amgl import AMGL
from manyview.cluster._base import Facts, MultiViewClusterer
from manyview.cluster._clr import CLR
from manyview.cluster._co_regularized import CoRegularizedSpectral
from manyview.cluster._co_training import CoTrainingSpectral
from manyview.cluster._etlmsc import ETLMSC
from manyview.cluster._invariant import InvariantTBGL
from manyview.cluster._lmvsc import LMVSC
from manyview.cluster._mlan import MLAN
from manyview.cluster._mvgl import MVGL
from manyview.cluster._mvsc import MVSC
from manyview.cluster._rdekm import RDEKM
from manyview.cluster._sfmc import SFMC
from manyview.cluster._smsc import SMSC
from manyview.cluster._swmc import SwMC
from manyview.cluster._tbgl import TBGL

# Our own first, then the paper's, then those it compares with in the order of its tables.
METHODS: tuple[type[MultiViewClusterer], ...] = (
    InvariantTBGL,
    TBGL,
    CLR,
    CoTrainingSpectral,
    CoRegularizedSpectral,
    SwMC,
    MVGL,
    MVSC,
    RDEKM,
    SMSC,
    AMGL,
    MLAN,
    LMVSC,
    ETLMSC,
    SFMC,
)


@dataclass(frozen=True)
class Method:
    """An estimator class, its name, and its facts."""

    name: str
    estimator: type[MultiViewClusterer]
    facts: Facts


def available_methods() -> tuple[Method, ...]:
    """List every method with what one needs to know to choose.

    Examples
    --------
    >>> from manyview.cluster import available_methods
    >>> methods = available_methods()
    >>> methods[0].name, methods[0].facts.memory, methods[0].facts.order_dependent
    ('InvariantTBGL', 'n·k', False)
    """
    return tuple(Method(found.__name__, found, found.facts) for found in METHODS)
