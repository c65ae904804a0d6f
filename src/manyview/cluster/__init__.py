"""The estimators: scikit-learn's conventions, with several views instead of one table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from manyview._utils.imports import lazily
from manyview.cluster._base import Facts
from manyview.cluster._registry import HOMES, Method, available_methods

if TYPE_CHECKING:
    from manyview.cluster._amgl import AMGL
    from manyview.cluster._clr import CLR
    from manyview.cluster._co_regularized import CoRegularizedSpectral
    from manyview.cluster._co_training import CoTrainingSpectral
    from manyview.cluster._etlmsc import ETLMSC
    from manyview.cluster._graph_ensemble import GraphEnsemble
    from manyview.cluster._lmvsc import LMVSC
    from manyview.cluster._mlan import MLAN
    from manyview.cluster._mvgl import MVGL
    from manyview.cluster._mvsc import MVSC
    from manyview.cluster._rdekm import RDEKM
    from manyview.cluster._saving import load
    from manyview.cluster._sfmc import SFMC
    from manyview.cluster._side_by_side import ConcatKMeans, ConcatSpectral
    from manyview.cluster._smsc import SMSC
    from manyview.cluster._snf import SNF
    from manyview.cluster._swmc import SwMC
    from manyview.cluster._tbgl import TBGL
    from manyview.ensemble.n_clusters import ClusterCountSuggestion, suggest_n_clusters

__all__ = [
    "AMGL",
    "CLR",
    "ETLMSC",
    "LMVSC",
    "MLAN",
    "MVGL",
    "MVSC",
    "RDEKM",
    "SFMC",
    "SMSC",
    "SNF",
    "TBGL",
    "ClusterCountSuggestion",
    "CoRegularizedSpectral",
    "CoTrainingSpectral",
    "ConcatKMeans",
    "ConcatSpectral",
    "Facts",
    "GraphEnsemble",
    "Method",
    "SwMC",
    "available_methods",
    "load",
    "suggest_n_clusters",
]

__getattr__, __dir__ = lazily(
    __name__,
    {**HOMES, "load": "_saving"}
    | dict.fromkeys(["ClusterCountSuggestion", "suggest_n_clusters"], ".ensemble.n_clusters"),
)
