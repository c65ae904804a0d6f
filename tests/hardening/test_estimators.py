"""Every estimator on every kind of numbers: a right answer or the documented error, never NaN, a hang or a crash.

``MANYVIEW_EXAMPLES`` is how many inputs hypothesis draws for each method and property; ``make harden`` draws many.
"""

from __future__ import annotations

import copy
import faulthandler
import os
import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from manyview import OrderDependenceWarning
from manyview.cluster import available_methods
from manyview.exceptions import ReducedNeighborsWarning, UnlikeFitWarning, ViewsError

EXAMPLES = int(os.environ.get("MANYVIEW_EXAMPLES", "15"))
HANG = 120  # seconds, for a fit that takes a fraction of one
METHODS = {method.name: method.estimator for method in available_methods()}
# Those that look for the nearest other samples, of which there must be two; ConcatSpectral counts the sample itself.
NEIGHBOURS = {name for name, method in METHODS.items() if method.facts.input_kind == "neighbour graphs"}
NEIGHBOURS -= {"ConcatSpectral"}
DOCUMENTED = (ConvergenceWarning, OrderDependenceWarning, ReducedNeighborsWarning, UnlikeFitWarning)
tried = settings(
    max_examples=EXAMPLES,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.differing_executors],
)


def make(name, n_clusters):
    # Whether there is an answer does not depend on the size of an ensemble or on the number of starts; whether it is
    # right does.
    few = {"GraphEnsemble": {"n_members": 6}, "RDEKM": {"n_init": 2}}
    return METHODS[name](n_clusters, random_state=0, **few.get(name, {}))


@contextmanager
def watched():
    """Warnings that are documented may be given, all others are errors. A hang ends the process with a traceback."""
    faulthandler.dump_traceback_later(HANG, exit=True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("error")
            for category in DOCUMENTED:
                warnings.simplefilter("always", category)
            yield caught
    finally:
        faulthandler.cancel_dump_traceback_later()


def fitted(model, views):
    """The fitted model. It must have as many clusters as asked for, or say that it cannot tell more samples apart."""
    with watched() as caught:
        model.fit(views)
    said = [str(warning.message) for warning in caught]
    fewer = (
        f"{type(model).__name__} found {model.labels_.max() + 1} clusters instead of n_clusters={model.n_clusters}: "
    )
    assert any(text.startswith(fewer) for text in said) == (model.labels_.max() + 1 < model.n_clusters)
    return model


# Numbers -----------------------------------------------------------------------------------------------------------


def blobs(rng, n, d, groups):
    return 8 * rng.standard_normal((groups.max() + 1, d))[groups] + rng.standard_normal((n, d))


def islands(rng, n, d, groups):
    """Groups so far from each other that they are points to each other."""
    return 1e9 * groups[:, None] + rng.standard_normal((n, d))


def noise(rng, n, d, groups):
    return rng.standard_normal((n, d))


def counts(rng, n, d, groups):
    """Many equal distances, many zeros, some rows of zeros only."""
    return rng.poisson(0.5, (n, d)) * 1.0


def line(rng, n, d, groups):
    return np.outer(rng.standard_normal(n), rng.standard_normal(d))


def outlier(rng, n, d, groups):
    """All rows are zero but one."""
    values = np.zeros((n, d))
    values[rng.integers(n)] = 1
    return values


def wide_range(rng, n, d, groups):
    """Columns, or single values, of very different sizes."""
    return rng.standard_normal((n, d)) * 10.0 ** rng.integers(-12, 12, (n if rng.random() < 0.5 else 1, d))


def offset(rng, n, d, groups):
    """Differences in the last digits only."""
    return 1 + 1e-14 * rng.integers(0, 9, (n, d))


CONTENTS = [blobs, islands, noise, counts, line, outlier, wide_range, offset]


def constant(rng, n, d, groups):
    return np.full((n, d), rng.choice([0.0, 1.0, -3.7]))


@dataclass
class Case:
    """Views and a number of clusters."""

    views: list
    n_clusters: int

    def __repr__(self):
        views = ", ".join(np.array2string(view, separator=",", threshold=10**6) for view in self.views)
        return f"Case([{views}], {self.n_clusters})"

    def refusals(self, name):
        """Texts one of which the error must match; none if the views must be clustered."""
        n, k = len(self.views[0]), self.n_clusters
        if n < 2:
            return ["at least 2 samples, got n_samples=1"]
        wrong = []
        for v, view in enumerate(self.views):
            if (view == view[0]).all():
                wrong.append(rf"views\['view{v}'\]: every sample has the same values")
            if not 1e-150 <= abs(view).max() <= 1e150:
                wrong.append(rf"views\['view{v}'\]: .* too (large|small) to be squared")
        if wrong:
            return wrong  # which is found first does not matter
        if k > n:
            return [f"n_clusters={k} is more than there are samples"]
        if len({row.tobytes() for row in np.hstack(self.views) + 0.0}) < k:
            return [f"n_clusters={k} is more than there are different samples"]
        if n == 2 and name in NEIGHBOURS:
            return ["expected at least 2 other samples to choose from, got 1"]
        if name == "TBGL" and max(2, n // 2) <= k:
            return [rf"n_anchors=0.5 gives \d+ anchors for n_samples={n}; n_clusters={k} needs at least {k + 1}"]
        if name == "SFMC" and k == n:
            return [rf"anchors for n_samples={n}; n_clusters={k} needs at least {k + 1}"]
        return []


@st.composite
def cases(draw):
    n = draw(st.one_of(st.integers(2, 7), st.integers(1, 45)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    groups = rng.integers(draw(st.integers(1, 5)), size=n)
    rows = draw(st.sampled_from([np.arange(n), np.arange(n) // 2, np.where(rng.random(n) < 0.7, 0, np.arange(n))]))
    views = []
    for _ in range(draw(st.integers(2, 4))):
        content = draw(st.sampled_from([*CONTENTS, *CONTENTS, constant]))
        exponent = draw(st.one_of(st.just(0), st.integers(-150, 150)))
        views.append(content(rng, n, draw(st.integers(1, 7)), groups)[rows] * 10.0**exponent)
    return Case(views, draw(st.one_of(st.sampled_from([1, 2, max(n - 1, 1), n, n + 1]), st.integers(1, n))))


def check_answer(model, n_samples):
    """Labels are labels, and nothing that the fit has left behind is NaN or infinite."""
    assert model.labels_.shape == (n_samples,)
    assert model.labels_.dtype.kind == "i"
    assert list(dict.fromkeys(model.labels_.tolist())) == list(range(model.labels_.max() + 1))
    for attribute, value in vars(model).items():
        for key, array in value.items() if isinstance(value, dict) else [("", value)]:
            values = array.data if sp.issparse(array) else array
            if key == "stability":
                values = values[1:]  # before the first there is none
            if isinstance(values, np.ndarray) and values.dtype.kind == "f":
                assert np.isfinite(values).all(), f"{attribute} {key}"


@pytest.mark.parametrize("name", METHODS)
@tried
@given(case=cases())
def test_an_answer_or_the_documented_error(name, case):
    model, refusals = make(name, case.n_clusters), case.refusals(name)
    if not refusals:
        check_answer(fitted(model, case.views), len(case.views[0]))
        return
    with pytest.raises(ViewsError, match="|".join(refusals)):
        fitted(model, case.views)
    assert not [attribute for attribute in vars(model) if attribute.endswith("_")]


# The right answer --------------------------------------------------------------------------------------------------


@st.composite
def clear_cases(draw):
    """Clusters that nobody can mistake, in every view, at any scale; some samples twice."""
    n_clusters, size = draw(st.integers(1, 4)), draw(st.integers(16, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = rng.permutation(np.repeat(np.arange(n_clusters), size))
    views = []
    for _ in range(draw(st.integers(2, 3))):
        d = draw(st.integers(4, 7))
        centres = 30 * np.eye(d)[:n_clusters] + 1
        views.append(centres[labels] + rng.uniform(-1, 1, (len(labels), d)))
    if draw(st.booleans()):
        rows = np.r_[np.arange(len(labels)), rng.integers(len(labels), size=8)]
        labels, views = labels[rows], [view[rows] for view in views]
    scale = 10.0 ** draw(st.one_of(st.just(0), st.integers(-148, 148)))
    return Case([view * scale for view in views], n_clusters), labels


@pytest.mark.parametrize("name", METHODS)
@tried
@given(case=clear_cases())
def test_clear_clusters_are_found_at_any_scale(name, case):
    given_case, labels = case
    model = fitted(METHODS[name](given_case.n_clusters, random_state=0), given_case.views)
    assert adjusted_rand_score(labels, model.labels_) == 1


# Containers --------------------------------------------------------------------------------------------------------


def every_other(table):
    wide = np.full((2 * len(table), 2 * table.shape[1] + 1), np.nan)
    wide[::2, 1::2] = table
    return wide[::2, 1::2]


def locked(table):
    table = table.copy()
    table.setflags(write=False)
    return table


def with_stored_zeros(table):
    """Every value is stored, those of a row in falling order, the last one in two halves."""
    n, d = table.shape
    data = np.c_[table[:, ::-1], table[:, :1] / 2]
    data[:, -2] /= 2
    indices = np.tile(np.r_[np.arange(d)[::-1], 0], n)
    return sp.csr_array((data.ravel(), indices, np.arange(0, n * (d + 1) + 1, d + 1)), shape=(n, d))


DENSE = {
    "Fortran order": np.asfortranarray,
    "every other value of a larger one": every_other,
    "from end to start": lambda table: table[::-1, ::-1].copy()[::-1, ::-1],
    "not writeable": locked,
    "other byte order": lambda table: table.astype(">f8"),
    "list of lists": lambda table: table.tolist(),
    "objects": lambda table: table.astype(object),
    "frame": pandas.DataFrame,
    "frame of nullable numbers": lambda table: pandas.DataFrame(table).convert_dtypes(),
    **{f"{kind}": lambda table, kind=kind: table.astype(kind) for kind in ("f4", "f2", "g", "i1", "u1", "i4", "u8")},
}
SPARSE = {
    kind: getattr(sp, kind) for kind in ("csr_array", "csc_array", "coo_array", "lil_array", "dok_array", "bsr_matrix")
} | {"with stored zeros": with_stored_zeros}


@st.composite
def counted(draw):
    """Small whole numbers, which every type can hold."""
    n = draw(st.integers(12, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    labels = rng.integers(3, size=n)
    sizes = draw(st.lists(st.integers(2, 6), min_size=2, max_size=3))
    views = [2.0 * rng.poisson(1 + 3 * (labels[:, None] == np.arange(d) % 3)) for d in sizes]
    views = [np.vstack([view, np.zeros(view.shape[1]), np.full(view.shape[1], 12.0)]) for view in views]
    return Case(views, draw(st.integers(1, 4)))


@pytest.mark.parametrize("name", METHODS)
@tried
@given(case=counted(), kinds=st.lists(st.sampled_from(sorted(DENSE)), min_size=3, max_size=3))
def test_the_container_of_the_numbers_does_not_matter(name, case, kinds):
    assume(name != "GraphEnsemble" or "f4" not in kinds)  # it stays in single precision, where ties break otherwise
    views = [DENSE[kind](view) for kind, view in zip(kinds, case.views, strict=False)]
    kept = copy.deepcopy(views)
    expected = fitted(make(name, case.n_clusters), case.views).labels_
    np.testing.assert_array_equal(fitted(make(name, case.n_clusters), views).labels_, expected)
    for view, before in zip(views, kept, strict=True):
        np.testing.assert_array_equal(np.asarray(view, dtype=float), np.asarray(before, dtype=float))


@pytest.mark.parametrize("name", METHODS)
@tried
@given(case=counted(), kinds=st.lists(st.sampled_from(sorted(SPARSE)), min_size=3, max_size=3))
def test_sparse_views_of_any_kind(name, case, kinds):
    """All kinds give the same labels. (Dense views are centred before distances are taken: ties may break apart.)"""
    views = [SPARSE[kind](view) for kind, view in zip(kinds, case.views, strict=False)]
    model = fitted(make(name, case.n_clusters), views)
    check_answer(model, len(case.views[0]))
    plain = fitted(make(name, case.n_clusters), [sp.csr_array(view) for view in case.views])
    np.testing.assert_array_equal(model.labels_, plain.labels_)


# New samples -------------------------------------------------------------------------------------------------------


@st.composite
def new_samples(draw, like):
    """Some samples like those of the fit, near them or far away, and one of zeros."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    factor, n = 10.0 ** draw(st.integers(-20, 20)), draw(st.integers(1, 5))
    sizes = [min(factor * abs(view).max(), 1e150) for view in like]
    return [
        np.vstack([size * rng.uniform(-1, 1, (n, view.shape[1])), np.zeros(view.shape[1])])
        for size, view in zip(sizes, like, strict=True)
    ]


@tried
@given(data=st.data())
def test_predict_on_anything(data):
    case = data.draw(cases())
    assume(not case.refusals("GraphEnsemble"))
    model, samples = make("GraphEnsemble", case.n_clusters), data.draw(new_samples(case.views))
    with watched() as caught:
        model.fit(case.views)
        again = model.predict(case.views)
        labels, places, sure = model.predict(samples), model.transform(samples), model.predict_confidence(samples)
    split = any("single samples were split off" in str(warning.message) for warning in caught)
    assert split or np.array_equal(again, model.labels_)
    assert set(labels) <= set(range(case.n_clusters))
    assert np.isfinite(places).all()
    assert ((sure >= 0) & (sure <= 1)).all()
