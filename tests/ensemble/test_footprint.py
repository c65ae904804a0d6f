from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import GraphEnsemble, Views
from manyview.datasets import make_multiview
from manyview.ensemble import samples
from manyview.ensemble.samples import Footprint

GIB = 2**30


def wide(n, d=64, dtype=np.float32):
    """Views that take no memory."""
    return Views([np.broadcast_to(np.zeros(1, dtype), (n, d))] * 3)


def million(**changes):
    fields = {
        "views": wide(10**6),
        "n_learned": 20_000,
        "n_listed": 20_000,
        "n_clusters": 10,
        "n_anchors": 512,
        "n_members": 48,
        "list_length": 20,
        "n_threads": 2,
        "block_rows": 8192,
    }
    return Footprint(**{**fields, **changes})


@pytest.fixture
def memory(monkeypatch):
    def has(size):
        monkeypatch.setattr("manyview._utils.machine.available_memory", lambda: size)
        monkeypatch.setattr(samples, "available_memory", lambda: size)

    return has


def test_the_estimate_is_near_what_was_measured():
    # benchmarks/scaling.py million: 1.56 GB at the peak, of which 1.25 were there before the fit
    assert 0.31e9 < million().total < 0.6e9


def test_memory_grows_with_the_samples_and_not_with_those_learned_on():
    small, large = million(views=wide(10**6)), million(views=wide(10**7))
    assert large.results == pytest.approx(10 * small.results)
    assert large.learning == small.learning
    assert large.block == small.block
    assert 8 < large.total / small.total < 10


@pytest.mark.parametrize(
    ("part", "changes"),
    [
        ("learning", {"n_learned": 40_000}),
        ("learning", {"n_listed": 10**6}),
        ("learning", {"list_length": 120}),
        ("learning", {"n_members": 200}),
        ("learning", {"n_anchors": 5000}),
        ("results", {"n_clusters": 100}),
        ("results", {"views": wide(10**6, dtype=np.float64)}),
        ("block", {"list_length": 120}),
        ("block", {"views": wide(10**6, d=500)}),
        ("block", {"block_rows": 32768}),
    ],
)
def test_more_of_anything_takes_more(part, changes):
    assert getattr(million(**changes), part) > getattr(million(), part)
    assert million(**changes).total > 0


def test_learning_on_all_is_paid_for_together_with_the_results():
    footprint = million(n_listed=10**6)
    assert footprint.total == pytest.approx(footprint.learning + footprint.results + 2 * footprint.block)


def test_sparse_views_count_what_they_hold():
    empty, full = (Views([sp.csr_array(np.full((1000, 50), value))]) for value in (0.0, 1.0))
    assert million(views=empty).block < million(views=full).block


def test_an_unknown_number_of_clusters_counts_as_twenty():
    assert million(n_clusters="auto").results == million(n_clusters=20).results


def test_what_fits_is_announced_on_request(memory, capsys):
    memory(8 * GIB)
    million().announce("GraphEnsemble", verbose=False)
    assert capsys.readouterr().out == ""
    million().announce("GraphEnsemble", verbose=True)
    printed = capsys.readouterr().out
    assert "1,000,000 samples in 3 views, learning on 20,000: about 0." in printed
    assert "8.0 GiB are available" in printed


@pytest.mark.parametrize(
    ("changes", "advice"),
    [
        ({"views": wide(10**8)}, "Fit some of the samples and predict the others"),
        ({"n_listed": 10**6, "list_length": 2000}, "Learn on a sample (learn_on='auto')"),
        ({"n_learned": 10**6, "n_listed": 10**6, "list_length": 2000}, "Choose a smaller learn_on than 1,000,000"),
    ],
)
def test_what_cannot_fit_is_refused_with_numbers_and_advice(memory, changes, advice):
    memory(2 * GIB)
    with pytest.raises(MemoryError, match=r"GraphEnsemble needs about \d+ GiB for .*; 2.0 GiB are available") as error:
        million(**changes).announce("GraphEnsemble", verbose=False)
    assert advice in str(error.value)


def test_a_block_must_fit_into_each_worker(capsys):
    footprint = million(block_rows=32768)
    footprint.announce_to_workers("GraphEnsemble", True, [4 * GIB, 4 * GIB])
    assert "2 workers have 8.0 GiB" in capsys.readouterr().out
    message = "for a block of 32,768 samples; a Dask worker has 103 MiB. Give each worker more memory"
    with pytest.raises(MemoryError, match=re.escape(message)):
        footprint.announce_to_workers("GraphEnsemble", False, [4 * GIB, GIB // 10])


@pytest.mark.parametrize("learn_on", [100, "all"])
def test_a_fit_that_cannot_fit_is_refused_before_it_begins(memory, learn_on):
    memory(1000)
    model = GraphEnsemble(3, learn_on=learn_on)
    with pytest.raises(MemoryError, match=r"needs about \d MiB for 300 samples in 3 views"):
        model.fit(make_multiview(300, 3, random_state=0))
    assert not hasattr(model, "labels_")


def test_a_fit_announces_itself(capsys):
    GraphEnsemble(3, n_members=2, verbose=True).fit(make_multiview(60, 3, random_state=0))
    assert "GraphEnsemble on 60 samples in 3 views, learning on 60: about " in capsys.readouterr().out
