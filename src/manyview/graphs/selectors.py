"""The ways of choosing anchors, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from manyview.graphs.anchors import RandomState, select_kmeans, select_random, select_vda
from manyview.graphs.das import select_das
from manyview.views import Array

Selector = Callable[[Sequence[Array], int, RandomState], np.ndarray]

ANCHOR_SELECTORS: dict[str, Selector] = {
    "vda": select_vda,
    "das": select_das,
    "kmeans": select_kmeans,
    "random": select_random,
}
