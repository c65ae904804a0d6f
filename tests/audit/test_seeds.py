from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.metrics import adjusted_rand_score

from manyview.audit import audit_seeds
from manyview.cluster import RDEKM
from manyview.datasets import make_multiview


def test_seeds_that_matter(fakes, views):
    found = audit_seeds(fakes["Drawn"](share=0.5), views, n_seeds=4)
    assert found.reference == "seed 0"
    assert found.names == ("seed 1", "seed 2", "seed 3", "seed 4")
    assert found.pairwise.shape == (5, 5)
    labels = [fakes["Drawn"](share=0.5, random_state=seed).fit(views).labels_ for seed in range(5)]
    expected = [[adjusted_rand_score(one, other) for one in labels] for other in labels]
    np.testing.assert_allclose(found.pairwise, expected)
    np.testing.assert_array_equal(found.agreement, found.pairwise[0, 1:])
    assert not found.passed
    assert found.verdict.startswith("Drawn depends strongly on the seed: any two of 5 seeds have an agreement of ")


def test_the_worst_pair_decides_not_the_reference(views):
    class ByTable(BaseEstimator):
        """Seeds 1 and 2 move other samples: each is near seed 0, but they are far from each other."""

        def __init__(self, random_state=None):
            self.random_state = random_state

        def fit(self, views):
            self.labels_ = np.arange(60) % 2
            if self.random_state:
                start = 3 * (self.random_state - 1)
                self.labels_[start : start + 3] = 1 - self.labels_[start : start + 3]
            return self

    found = audit_seeds(ByTable(), views, n_seeds=2)
    assert found.agreement.min() > 0.8 > found.pairwise[1, 2]
    assert not found.passed
    assert audit_seeds(ByTable(), views, n_seeds=1).passed


def test_a_little_dependence_passes(views, fakes):
    found = audit_seeds(fakes["Drawn"](share=0.02), replace(views, labels=np.arange(60) % 2))
    assert found.passed
    assert found.agreement.min() < 1
    assert "depends a little on the seed" in found.verdict
    assert "(rows as given)" in found.verdict


def test_the_own_seed_comes_first_and_is_not_tried_twice(fakes, views):
    found = audit_seeds(fakes["Drawn"](random_state=2), views, n_seeds=3)
    assert (found.reference, *found.names) == ("seed 2", "seed 0", "seed 1", "seed 3")
    far = audit_seeds(fakes["Drawn"](random_state=99), views, n_seeds=2)
    assert (far.reference, *far.names) == ("seed 99", "seed 0", "seed 1")


def test_without_a_seed_there_is_nothing_to_vary(fakes, views, capsys):
    found = audit_seeds(fakes["Halves"](), replace(views, labels=np.arange(60) % 2), verbose=True)
    assert found.passed
    assert found.names == ()
    assert found.accuracy is None
    assert found.verdict == "Halves has no parameter random_state: there is no seed to change."
    assert found.verdict in str(found)
    assert capsys.readouterr().out == ""


def test_generated_data_with_clear_clusters():
    found = audit_seeds(RDEKM(3), make_multiview(90, random_state=0), n_seeds=2)
    assert found.passed
    np.testing.assert_array_equal(found.accuracy, np.ones(3))


def test_the_number_of_seeds_is_checked(fakes, views):
    with pytest.raises(ValueError, match="n_seeds: expected at least 1, got 0"):
        audit_seeds(fakes["Drawn"](), views, n_seeds=0)
