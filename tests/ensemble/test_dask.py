"""GraphEnsemble on Dask workers: the same bits as on this machine, whatever the blocks and whatever befalls workers."""

from __future__ import annotations

import gc
import os
import pickle
import re
import signal
import sys
import time
from copy import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import manyview
from manyview import GraphEnsemble, Views, open_views
from manyview.cluster import CLR
from manyview.datasets import make_multiview
from manyview.ensemble import dask as module
from manyview.exceptions import EngineError, ModelFileError, ViewsError

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

LEARN_ON = [120, "all"]
# To learn on all rows takes many rounds.
ALL_IF_SLOW = [120, pytest.param("all", marks=pytest.mark.slow)]
# Different in every view, and no multiple of one another.
CHUNKS = (110, 70, 300)
OF_SAMPLES = ("labels_", "embedding_", "confidence_", "consensus_graph_")


@pytest.fixture(autouse=True, scope="module")
def small_numbers():
    """As few samples as tests have are drawn from, and cut into blocks, as many are."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("manyview.cluster._graph_ensemble._LEARNED_ROWS", 150)
        patch.setattr(module, "_BLOCK_ROWS", 130)
        patch.setattr(module, "_CHUNK_ROWS", 130)
        yield


@pytest.fixture(scope="module")
def views():
    return make_multiview(300, 3, n_features=[6, 9, 7], noise=0.5, random_state=0)


@pytest.fixture
def on_workers(client):
    """Make the shared client the one at work here."""
    with client.as_current():
        yield client


@pytest.fixture(scope="module")
def local(views):
    """A function: the model that learns on so many samples, fitted on this machine; made once."""
    models = {}

    def model(learn_on):
        if learn_on not in models:
            models[learn_on] = fit(list(views.arrays), learn_on=learn_on, engine="local")
        return models[learn_on]

    return model


@pytest.fixture(scope="module")
def remote(views, client):
    """A function: the same on the workers."""
    models = {}

    def model(learn_on):
        if learn_on not in models:
            with client.as_current():
                models[learn_on] = fit(in_chunks(views.arrays), learn_on=learn_on)
        return models[learn_on]

    return model


def build(**parameters):
    return GraphEnsemble(3, **{"random_state": 0, "n_members": 2, "n_anchors": 60, "learn_on": 120} | parameters)


def fit(views, **parameters):
    return build(**parameters).fit(views)


def in_chunks(arrays, rows=CHUNKS):
    """Dask arrays of these; a number of columns that splits the views, too."""
    return [da.from_array(array, chunks=(n, 4)) for array, n in zip(arrays, rows, strict=True)]  # n: rows, or of each


def plain(value):
    """The numbers, wherever they are."""
    value = value.compute() if hasattr(value, "compute") else value
    return value.toarray() if sp.issparse(value) else value


def assert_same_bits(model, other, names=(*OF_SAMPLES, "view_weights_", "anchor_indices_")):
    for name in names:
        found, expected = plain(getattr(model, name)), plain(getattr(other, name))
        assert found.dtype == expected.dtype, name
        np.testing.assert_array_equal(found, expected, err_msg=name)


# The same result


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_the_same_bits_as_on_this_machine(on_workers, local, remote, learn_on):
    assert_same_bits(remote(learn_on), local(learn_on))
    assert len(np.unique(local(learn_on).labels_)) == 3
    assert len(np.unique(local(learn_on).confidence_)) > 1


@pytest.mark.parametrize("learn_on", ALL_IF_SLOW)
@pytest.mark.parametrize("rows", [(37, 300, 41), pytest.param((300, 300, 300), marks=pytest.mark.slow)])
def test_the_same_bits_for_other_chunks(on_workers, views, local, rows, learn_on):
    assert_same_bits(fit(in_chunks(views.arrays, rows), learn_on=learn_on), local(learn_on))


@pytest.mark.parametrize("learn_on", ALL_IF_SLOW)
def test_the_same_bits_with_one_worker(local_cluster, views, local, learn_on):
    with local_cluster(1, processes=False) as client, client.as_current():
        assert_same_bits(fit(in_chunks(views.arrays), learn_on=learn_on), local(learn_on))


@pytest.mark.parametrize("learn_on", ALL_IF_SLOW)
def test_float32_stays_float32(on_workers, views, learn_on):
    single = [array.astype(np.float32) for array in views.arrays]
    model = fit(in_chunks(single), learn_on=learn_on)
    assert model.embedding_.dtype == model.confidence_.dtype == model.consensus_graph_.dtype == np.float32
    assert_same_bits(model, fit(single, learn_on=learn_on))


def test_arrays_mapped_files_and_frames_are_sent_to_the_workers(on_workers, views, local, tmp_path):
    np.save(tmp_path / "mapped.npy", views.arrays[0])
    mapped, frame = np.load(tmp_path / "mapped.npy", mmap_mode="r"), pd.DataFrame(views.arrays[1]).astype("Float64")
    frame.iloc[5] = pd.NA  # a sample that lacks the view
    given = [mapped, frame, views.arrays[2]]
    model, expected = fit(given, engine="dask"), fit(given)
    assert model.labels_.chunks == ((130, 130, 40),)
    assert_same_bits(model, expected)
    found = model.predict(given)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, expected.labels_)


@pytest.mark.parametrize("learn_on", ALL_IF_SLOW)
def test_samples_may_lack_views(on_workers, views, learn_on):
    arrays, present = [array.copy() for array in views.arrays], np.ones((300, 3), dtype=bool)
    for v, rows in enumerate(np.array_split(np.random.default_rng(1).permutation(300)[:150], 3)):
        arrays[v][rows], present[rows, v] = np.nan, False
    expected = fit(arrays, learn_on=learn_on)
    present[:, 1] = True  # told by rows of NaN in this view, and marked in the others
    marked = Views(in_chunks([views.arrays[0], arrays[1], views.arrays[2]]), present=present)
    model = fit(marked, learn_on=learn_on)
    assert_same_bits(model, expected)
    np.testing.assert_array_equal(model.predict(marked), expected.labels_)
    np.testing.assert_array_equal(model.predict(in_chunks(arrays)), expected.labels_)


@pytest.mark.parametrize("matrix", [sp.csr_array, pytest.param(sp.csr_matrix, marks=pytest.mark.slow)])
@pytest.mark.parametrize("rows", [110, pytest.param(70, marks=pytest.mark.slow)])
def test_chunks_may_be_sparse(on_workers, views, matrix, rows):
    counts = [np.where(array > 0.3, array, 0.0) for array in views.arrays]
    sparse = da.from_array(counts[1], chunks=(rows, -1)).map_blocks(matrix, meta=matrix((0, 0)))
    given = [in_chunks(counts)[0], sparse, sp.csr_array(counts[2])]
    expected = fit([counts[0], *map(sp.csr_array, counts[1:])])
    model = fit(given)
    assert_same_bits(model, expected)
    np.testing.assert_array_equal(model.predict(given), expected.labels_)


@pytest.mark.parametrize("learn_on", [10_000, pytest.param("all", marks=pytest.mark.slow)])
def test_few_samples(on_workers, views, learn_on):
    few = views.take(slice(90))
    assert_same_bits(fit(in_chunks(few.arrays), learn_on=learn_on), fit(few, learn_on=learn_on))


def test_views_of_files(on_workers, views, local, tmp_path):
    zarr, _ = pytest.importorskip("zarr"), pytest.importorskip("pyarrow")
    for part, rows in enumerate((slice(0, 160), slice(160, 300))):
        np.save(tmp_path / f"a-{part}.npy", views.arrays[0][rows])
        zarr.save_array(tmp_path / f"b-{part}.zarr", views.arrays[1][rows])
        pd.DataFrame(views.arrays[2][rows]).add_prefix("c").to_parquet(tmp_path / f"c-{part}.parquet")
    opened = open_views({name: tmp_path / f"{name}-*" for name in "abc"}, block_rows=90)
    assert_same_bits(fit(opened), local(120))


# Where things are


def test_results_stay_with_the_workers(on_workers, remote):
    model = remote(120)
    for name in OF_SAMPLES:
        assert getattr(model, name).chunks[0] == (110, 110, 80), name
    parts = distributed.futures_of(model.labels_)
    assert len(parts) == 3
    assert all(on_workers.who_has(parts).values())
    assert isinstance(model.view_weights_, np.ndarray)


@pytest.mark.parametrize("rows", [(300, 70, 300), (37, 300, 41), ((200, 10, 90), 300, 300)])
@pytest.mark.parametrize("where", ["workers", "threads"])
def test_all_results_have_the_chunks_of_the_first_view(request, views, local, rows, where):
    if where == "workers":
        request.getfixturevalue("on_workers")
    given = in_chunks(views.arrays, rows)
    model = fit(given)
    names = [name for name in OF_SAMPLES if where == "workers" or name != "consensus_graph_"]
    for name in names:
        assert getattr(model, name).chunks[0] == given[0].chunks[0], name
    for found in (model.predict(given), model.predict_confidence(given), model.transform(given)):
        assert found.chunks[0] == given[0].chunks[0]
    assert_same_bits(model, local(120))


def test_the_scheduler_has_nothing_to_warn_of(local_cluster, views, tmp_path, caplog):
    for name, array in zip("ab", views.arrays[:2], strict=True):
        np.save(tmp_path / f"{name}.npy", array)
        pd.DataFrame(array).add_prefix("c").to_parquet(tmp_path / f"{name}.parquet")
    with local_cluster(2, processes=False, silence_logs=False) as client, client.as_current():
        opened = open_views({name: tmp_path / f"{name}.parquet" for name in "ab"}, block_rows=110)
        lazy = [array * 2 for array in in_chunks(views.arrays)]
        kept = [(array * 3).persist() for array in in_chunks(views.arrays)]
        for given in (opened, Views(lazy), Views(kept)):
            models = [fit(given, random_state=seed) for seed in (0, 1)]
            for model in models:
                assert (model.predict(given) == model.labels_).all().compute()
            given.arrays[0].mean().compute()
            (given.arrays[1] + 1).sum(axis=0).compute()
    assert not [record for record in caplog.records if "run_spec" in record.getMessage()]


def test_a_fit_leaves_nothing_but_its_results_with_the_workers(on_workers, views):
    before = set(on_workers.futures)
    model = build()
    labels = model.fit_predict(in_chunks(views.arrays))
    assert labels is model.labels_
    held = {future.key for name in OF_SAMPLES for future in distributed.futures_of(getattr(model, name))}
    assert len(held) == 12
    wait_until(lambda: set(on_workers.futures) - before == held)
    del model, labels
    wait_until(lambda: not set(on_workers.futures) & held)


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        gc.collect()
        time.sleep(0.02)


@pytest.mark.parametrize("verb", ["predict", "transform", "predict_confidence"])
@pytest.mark.parametrize("where", ["workers", "threads"])
def test_new_samples_are_placed_lazily(request, views, local, remote, verb, where):
    new = in_chunks(views.take(np.random.default_rng(0).permutation(300)[:200]).arrays, (60, 50, 200))
    expected = getattr(local(120), verb)([array.compute() for array in new])
    model = remote(120)
    if where == "workers":
        request.getfixturevalue("on_workers")
    found = getattr(model, verb)(new)
    assert isinstance(found, da.Array)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert found.chunks[0] == (60, 60, 60, 20)
    np.testing.assert_array_equal(found.compute(), expected)


def test_nothing_is_looked_at_before_new_samples_are_computed(views, local):
    array = da.from_array(np.full((300, 6), np.nan), chunks=(110, -1))
    array[205, 3] = np.inf
    labels = local(120).predict({"view0": array, "view1": views.arrays[1]})
    with pytest.raises(ViewsError, match=re.escape("views['view0']: contains NaN, first at row 205, column 0")):
        labels.compute()


def test_float32_is_placed_in_float32(views, local):
    new = [array.astype(np.float32) for array in views.arrays]
    found = local(120).transform(in_chunks(new))
    assert found.dtype == found.compute().dtype == np.float32


@pytest.mark.parametrize("engine", ["auto", "dask"])
def test_arrays_in_memory_are_placed_as_such(views, local, remote, client, engine):
    model = copy(remote(120)).set_params(engine=engine)
    with client.as_current():
        labels = model.predict(views)
    assert isinstance(labels, np.ndarray)
    np.testing.assert_array_equal(labels, local(120).labels_)


@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_without_a_client_the_threads_of_this_machine_work(views, local, learn_on):
    model = fit(in_chunks(views.arrays), learn_on=learn_on)
    assert isinstance(model.labels_, da.Array)
    assert model.labels_.chunks == ((110, 110, 80),)
    assert_same_bits(model, local(learn_on))


def test_the_engine_dask_needs_a_client(views):
    model = build(engine="dask")
    with pytest.raises(EngineError, match=r"engine='dask': there is no Dask client\. Start one first.*engine='local'"):
        model.fit(views)
    assert not hasattr(model, "labels_")


def test_threads_need_no_more_than_dask_itself(views, local, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)  # as if it were not installed
    assert_same_bits(fit(in_chunks(views.arrays)), local(120))
    with pytest.raises(ImportError, match=r"engine='dask'.*distributed.*manyview\[dask\]"):
        fit(views, engine="dask")


def test_the_engine_local_leaves_the_workers_alone(client, views, local):
    with distributed.Client(client.scheduler.address):  # the client of all threads, as a user has it
        model = fit(in_chunks(views.arrays), engine="local")
        assert isinstance(model.consensus_graph_, sp.csr_array)
        assert not distributed.futures_of(model.labels_)
        assert_same_bits(model, local(120))


# Models


def test_a_model_can_be_kept(on_workers, views, remote, tmp_path):
    remote(120).save(tmp_path / "model.manyview", results=True)
    same = manyview.load(tmp_path / "model.manyview")
    assert isinstance(same.labels_, np.ndarray)
    assert isinstance(same.consensus_graph_, sp.csr_array)
    assert_same_bits(same, remote(120))
    np.testing.assert_array_equal(same.predict(views), same.labels_)
    same.save(tmp_path / "same.manyview", results=True)
    assert (tmp_path / "same.manyview").read_bytes() == (tmp_path / "model.manyview").read_bytes()


def test_a_model_whose_workers_are_gone_is_kept_without_results(remote, views, local, tmp_path):
    with pytest.raises(ModelFileError, match=r"GraphEnsemble\.\w+_: its values are with .* or without results=True"):
        remote(120).save(tmp_path / "model.manyview", results=True)  # there is no client here
    assert not list(tmp_path.iterdir())
    remote(120).save(tmp_path / "model.manyview")
    np.testing.assert_array_equal(manyview.load(tmp_path / "model.manyview").predict(views), local(120).labels_)


def test_a_model_can_be_cloned_and_pickled(on_workers, views, remote):
    model = remote(120)
    assert not hasattr(clone(model), "labels_")
    same = pickle.loads(pickle.dumps(model))  # noqa: S301
    assert_same_bits(same, model)
    np.testing.assert_array_equal(same.predict(views), model.labels_)


def test_other_methods_load_the_values(on_workers, views):
    few = views.take(slice(80))
    model, expected = (CLR(3).fit(given) for given in (in_chunks(few.arrays), few))
    assert isinstance(model.labels_, np.ndarray)
    np.testing.assert_array_equal(model.labels_, expected.labels_)


# What cannot be clustered


@pytest.mark.parametrize("where", ["workers", "threads"])
def test_bad_values_are_named_with_their_row(request, views, where):
    if where == "workers":
        request.getfixturevalue("on_workers")
    arrays = [array.copy() for array in views.arrays]
    arrays[1][233, 2] = np.inf
    model = build()
    message = "views['view1']: contains infinity (inf), first at row 233, column 2"
    with pytest.raises(ViewsError, match=re.escape(message)):
        model.fit(in_chunks(arrays))
    assert not hasattr(model, "labels_")


def unknown_sizes(views):
    arrays = in_chunks(views.arrays)
    return [arrays[0], arrays[1][arrays[1][:, 0] > 0], arrays[2]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            unknown_sizes,
            "views['view1']: the sizes of this Dask array's chunks are not known. Call compute_chunk_sizes",
        ),
        (
            lambda views: [*in_chunks(views.arrays)[:2], da.ones((299, 3))],
            "views['view2']: expected 300 rows like the other",
        ),
        (lambda views: [da.ones((0, 3)), da.ones((0, 2))], "views: expected at least 2 samples, got n_samples=0"),
        (lambda views: [da.ones((1, 3)), da.ones((1, 2))], "views: expected at least 2 samples, got n_samples=1"),
        (lambda views: [da.ones((300, 3)), da.ones((300, 2))], "views['view0']: every sample has the same values"),
        (lambda views: [da.zeros((300, 3), dtype="U3")] * 2, "views['view0']: expected numbers, got dtype <U3"),
        (lambda views: in_chunks(views.arrays)[:1] * 1, "expected at least 2 views, got 1"),
    ],
    ids=["unknown sizes", "unequal rows", "no samples", "one sample", "constant", "text", "one view"],
)
@pytest.mark.parametrize("where", ["workers", "threads"])
def test_what_cannot_be_clustered(request, views, change, message, where):
    if where == "workers":
        request.getfixturevalue("on_workers")
    model = build()
    with pytest.raises(ViewsError, match=re.escape(message)):
        model.fit(change(views))
    assert not hasattr(model, "labels_")


def test_a_sample_without_views_is_named(on_workers, views):
    arrays = [array.copy() for array in views.arrays]
    for array in arrays:
        array[217] = np.nan
    with pytest.raises(ViewsError, match="the sample in row 217 has no view at all"):
        fit(in_chunks(arrays))


# Faults


class Interrupted(GraphEnsemble):
    """Calls a function after the first batch of members."""

    def _on_consensus(self):
        calls = [self.interruption]
        return lambda *_: calls.pop()() if calls else None


def interrupted(interruption, **parameters):
    model = Interrupted(**build(**parameters).get_params())
    model.interruption = interruption
    return model


@pytest.mark.parametrize("learn_on", ALL_IF_SLOW)
def test_a_worker_that_is_killed_changes_nothing(on_workers, views, local, learn_on):
    before = on_workers.run(os.getpid)

    def kill():
        os.kill(before[min(before)], signal.SIGKILL)

    assert_same_bits(interrupted(kill, learn_on=learn_on).fit(in_chunks(views.arrays)), local(learn_on))
    on_workers.wait_for_workers(2, timeout=60)
    assert len(set(before.values()) & set(on_workers.run(os.getpid).values())) == 1


@pytest.mark.slow
@pytest.mark.parametrize("learn_on", LEARN_ON)
def test_a_scheduler_that_is_killed_is_an_error(separate_cluster, views, learn_on):
    client, scheduler, _ = separate_cluster(1)
    model = interrupted(scheduler.kill, learn_on=learn_on)
    with client.as_current(), pytest.raises(EngineError, match="scheduler"):
        model.fit(in_chunks(views.arrays))
    assert not hasattr(model, "labels_")
