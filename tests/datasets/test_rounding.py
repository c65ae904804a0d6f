"""The data that are computed have the same bits on every machine."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from manyview.datasets import load_digits_views, make_multiview
from manyview.views.fingerprint import fingerprint

GRAPH_TYPES = ("blobs", "rings", "moons")
PROGRAM = """
import warnings
warnings.simplefilter("ignore")  # features that this processor does not have anyway
from manyview.views.fingerprint import fingerprint
from manyview.datasets import load_digits_views, make_multiview
for kind in ("blobs", "rings", "moons"):
    print(fingerprint(make_multiview(200, 4, shape=kind, n_features=3, random_state=0)))
print(fingerprint(load_digits_views()))
"""


@pytest.mark.parametrize(
    "processor",
    [{"OPENBLAS_CORETYPE": "Haswell"}, {"OPENBLAS_CORETYPE": "Prescott", "NPY_DISABLE_CPU_FEATURES": "X86_V4,X86_V3"}],
    ids=["newer", "older"],
)
def test_other_processors_give_the_same_bits(processor):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **processor}, capture_output=True, text=True, check=True
    )
    here = [make_multiview(200, 4, shape=kind, n_features=3, random_state=0) for kind in GRAPH_TYPES]
    assert done.stdout.split() == [fingerprint(views) for views in [*here, load_digits_views()]]
