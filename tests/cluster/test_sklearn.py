"""scikit-learn's own checks, on every exported estimator, driven through ``view_sizes``."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from manyview.cluster import available_methods

pytestmark = pytest.mark.filterwarnings("ignore")

# Estimator -> {name of the check: why it cannot hold}. None so far.
EXPECTED_FAILURES: dict[str, dict[str, str]] = {}


def estimators():
    for method in available_methods():
        yield method.estimator(n_clusters=3, view_sizes=2)


@parametrize_with_checks(
    list(estimators()), expected_failed_checks=lambda e: EXPECTED_FAILURES.get(type(e).__name__, {})
)
def test_scikit_learn_compatible(estimator, check):
    check(estimator)
