"""scikit-learn's own checks, on every exported estimator, driven through ``view_sizes``."""

from __future__ import annotations

from functools import partial

import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from manyview.cluster import available_methods

pytestmark = pytest.mark.filterwarnings("ignore")

# Arrays of other libraries are no input of ours; scikit-learn skips this check unless an environment variable is set.
LEFT_OUT = "check_array_api_input"


def checks():
    for method in available_methods():
        fewer = {"n_init": 2} if method.name == "RDEKM" else {}  # of ten starts, which all checks would make
        for estimator, check in estimator_checks_generator(method.estimator(n_clusters=3, view_sizes=2, **fewer)):
            name = check.func.__name__ if isinstance(check, partial) else check.__name__
            if name != LEFT_OUT:
                yield pytest.param(estimator, check, id=f"{method.name}-{name}")


@pytest.mark.parametrize(("estimator", "check"), checks())
def test_scikit_learn_compatible(estimator, check):
    check(estimator)
