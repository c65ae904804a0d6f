"""Keeping a model: every method comes back as it was, and nothing but a model is ever loaded."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import re
import subprocess
import sys
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import manyview
from manyview.cluster import CLR, TBGL, GraphEnsemble, _saving, available_methods
from manyview.datasets import make_multiview
from manyview.exceptions import ModelFileError
from manyview.store import read_file, write_file

pytestmark = pytest.mark.filterwarnings("ignore::manyview.exceptions.OrderDependenceWarning")

METHODS = {method.name: method.estimator for method in available_methods()}
QUICK = {"GraphEnsemble": {"n_members": 8}, "TBGL": {"max_iter": 3}}


@pytest.fixture(scope="module")
def blobs():
    return make_multiview(60, n_clusters=3, n_features=6, random_state=0)


@pytest.fixture(scope="module")
def fitted(blobs):
    return {
        name: method(n_clusters=3, random_state=0, **QUICK.get(name, {})).fit(blobs) for name, method in METHODS.items()
    }


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.manyview"


@pytest.fixture
def model(blobs):
    return CLR(n_clusters=3).fit(blobs)


def assert_same(a: Any, b: Any, where: str) -> None:
    """Equal in type, dtype, shape, order in memory and bytes, all the way down."""
    assert type(a) is type(b), where
    if isinstance(a, np.ndarray | np.generic):
        assert (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes()), where
        if a.flags.forc:  # what has gaps in memory comes back without
            assert a.flags.f_contiguous == b.flags.f_contiguous, where
    elif isinstance(a, sp.csr_array):
        assert a.shape == b.shape, where
        for part in ("data", "indices", "indptr"):
            assert_same(getattr(a, part), getattr(b, part), f"{where}.{part}")
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            assert_same(a[key], b[key], f"{where}[{key!r}]")
    elif isinstance(a, list | tuple):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, f"{where}[{i}]")
    elif is_dataclass(a):
        for field in fields(a):
            assert_same(getattr(a, field.name), getattr(b, field.name), f"{where}.{field.name}")
    else:
        assert isinstance(a, int | float | str | None), f"{where}: {type(a)} is not compared"
        assert a == b, where


def assert_same_model(a: Any, b: Any) -> None:
    assert type(a) is type(b)
    assert set(vars(a)) == set(vars(b))
    for key, value in vars(a).items():
        assert_same(value, getattr(b, key), key)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_comes_back_as_it_was(name, fitted, path):
    model = fitted[name]
    assert model.save(path, results=True) is None
    loaded = manyview.load(path)
    assert_same_model(model, loaded)
    assert clone(loaded).get_params() == clone(model).get_params() == model.get_params()
    first = path.read_bytes()
    loaded.save(path, results=True)
    assert path.read_bytes() == first


PER_SAMPLE = {"labels_", "confidence_", "embedding_", "consensus_graph_"}


@pytest.mark.parametrize("name", METHODS)
def test_without_results_a_file_keeps_what_predicting_needs(name, fitted, blobs, path):
    model = fitted[name]
    model.save(path)
    small, loaded = path.stat().st_size, manyview.load(path)
    if name != "GraphEnsemble":  # nothing else would be left of a method that cannot predict
        assert_same_model(model, loaded)
        return
    assert vars(model).keys() - vars(loaded).keys() == PER_SAMPLE
    for use in ("predict", "predict_confidence", "transform"):
        np.testing.assert_array_equal(getattr(loaded, use)(blobs), getattr(model, use)(blobs))
    assert loaded.get_feature_names_out().tolist() == model.get_feature_names_out().tolist()
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first
    model.save(path, results=True)
    assert path.stat().st_size > small + model.labels_.nbytes + model.embedding_.nbytes


def test_the_file_without_results_does_not_grow_with_the_samples(path):
    sizes = []
    for n_samples in (400, 800):
        views = make_multiview(n_samples, 3, n_features=4, random_state=0)
        GraphEnsemble(3, n_anchors=100, n_members=4, learn_on=200, random_state=0).fit(views).save(path)
        _, arrays = read_file(path)
        assert not [array.shape for array in arrays if n_samples in array.shape]
        sizes.append(path.stat().st_size)
    assert abs(sizes[1] - sizes[0]) < 400 * 8 / 2  # half of what the labels alone would add


def test_results_that_were_not_saved_say_so(fitted, blobs, path):
    fitted["GraphEnsemble"].save(path)
    loaded = manyview.load(path)
    for name in PER_SAMPLE:
        assert not hasattr(loaded, name)
        with pytest.raises(AttributeError, match=rf"GraphEnsemble\.{name} is not in the file .* results=True\)"):
            getattr(loaded, name)
    with pytest.raises(AttributeError, match="'GraphEnsemble' object has no attribute 'lables_'"):
        loaded.lables_  # noqa: B018
    with pytest.raises(ModelFileError, match=r"results=True, but this model was loaded from a file without labels_, "):
        loaded.save(path, results=True)
    assert_same(loaded.fit(blobs).labels_, fitted["GraphEnsemble"].labels_, "labels_")
    assert_same_model(loaded, fitted["GraphEnsemble"])


def test_a_file_of_the_former_format_is_loaded_with_all_its_results():
    former = Path(__file__).parents[1] / "reference" / "format-1.manyview"  # written before results could be left out
    assert former.read_bytes().startswith(b"manyview-model format 1, ")
    model = manyview.load(former)
    assert model.labels_.tolist() == [0, 0, 1, 1, 1, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1]
    assert vars(model).keys() >= PER_SAMPLE
    views = make_multiview(24, 2, n_features=3, n_views=2, random_state=0)
    np.testing.assert_array_equal(model.predict(views), model.labels_)


def signed(path: Path, version: bytes) -> None:
    """Let a file have been written by another version."""
    first, rest = path.read_bytes()[:-65].split(b"\n", 1)
    whole = re.sub(rb"written by manyview \S+,", b"written by manyview " + version + b",", first) + b"\n" + rest
    path.write_bytes(whole + hashlib.sha256(whole).hexdigest().encode() + b"\n")


def test_a_file_of_another_version_is_loaded_or_names_the_version(fitted, blobs, path):
    model = fitted["GraphEnsemble"]
    model.save(path)
    signed(path, b"0.0.1")
    np.testing.assert_array_equal(manyview.load(path).predict(blobs), model.labels_)
    write_file(path, {**RIGHT, "parameters": {"n_clusters": 3, "speed": 9}}, [np.arange(2)])
    signed(path, b"99.1")
    with pytest.raises(ModelFileError, match=r"'speed'.* written by manyview 99\.1, this is .*: use that version"):
        manyview.load(path)


def test_a_loaded_model_can_be_fitted_again(blobs, fitted, path):
    fitted["CLR"].save(path)
    assert_same_model(manyview.load(path).fit(blobs), fitted["CLR"])


PARAMETERS = {
    "anchors as an array": {"anchors": np.arange(0, 60, 2)},
    "anchors as a list": {"anchors": list(range(30))},
    "numbers of NumPy": {"n_anchors": np.float64(0.5), "max_iter": np.int64(3), "p": np.float32(0.5)},
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_keep_their_types(name, blobs, path):
    model = TBGL(n_clusters=3, **{"max_iter": 2, **PARAMETERS[name]}).fit(blobs)
    model.save(path)
    assert_same_model(model, manyview.load(path))


def test_parameters_of_pairs_dicts_and_random_states(blobs, path):
    scaling = dict.fromkeys(blobs.names, "unit")
    state = np.random.RandomState(5)
    model = GraphEnsemble(3, n_members=4, n_neighbors=(3, 5), scaling=scaling, random_state=state).fit(blobs)
    model.save(path)
    loaded = manyview.load(path)
    assert loaded.n_neighbors == (3, 5)
    assert loaded.scaling == scaling
    np.testing.assert_array_equal(loaded.random_state.random_sample(9), state.random_sample(9))


def test_a_fresh_interpreter_loads_it_without_pickle(fitted, path):
    fitted["GraphEnsemble"].save(path, results=True)
    program = """
import sys
import manyview.cluster  # all that loading needs is imported before the traps are set
import numpy, pickle
def refuse(*args, **kwargs):
    raise SystemExit("something was unpickled")
pickle.load = pickle.loads = pickle.Unpickler = pickle._Unpickler = numpy.load = refuse
model = manyview.load(sys.argv[1])
print(type(model).__name__, model.labels_.tolist())
model.save(sys.argv[1] + ".again", results=True)
"""
    source = os.path.dirname(os.path.dirname(manyview.__file__))
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"GraphEnsemble {fitted['GraphEnsemble'].labels_.tolist()}\n"
    assert path.with_name(path.name + ".again").read_bytes() == path.read_bytes()


def test_neither_way_reaches_pickle(model, path, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("pickle was reached")

    for name in ("dump", "dumps", "load", "loads", "Pickler", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    for name in ("load", "save", "savez"):
        monkeypatch.setattr(np, name, refuse)
    model.save(path)
    assert_same_model(manyview.load(path), model)


@dataclass(frozen=True)
class Member:
    labels: np.ndarray
    kind: str


@dataclass(frozen=True)
class Ensemble:
    members: tuple[Member, ...]
    weight: float | None


def test_listed_dataclasses_are_kept(model, path, monkeypatch):
    model.ensemble_ = Ensemble((Member(np.arange(3), "fine"), Member(np.arange(2), "broad")), None)
    with pytest.raises(ModelFileError, match=r"^CLR\.ensemble_: a value of type .*\.Ensemble cannot be saved"):
        model.save(path)
    monkeypatch.setattr(_saving, "RECORDS", (Ensemble, Member))
    model.save(path)
    found = manyview.load(path).ensemble_
    assert type(found) is Ensemble
    assert [(type(m), m.labels.tolist(), m.kind) for m in found.members] == [
        (Member, [0, 1, 2], "fine"),
        (Member, [0, 1], "broad"),
    ]
    assert found.weight is None


class Own(CLR):
    pass


def with_attribute(model: CLR, **attributes: Any) -> CLR:
    vars(model).update(attributes)
    return model


CANNOT_BE_SAVED = {
    "class of one's own": (lambda m, v: Own(3).fit(v), ModelFileError, r"^Own: is not one of manyview's own methods"),
    "class with the name of ours": (
        lambda m, v: type("CLR", (CLR,), {"__init__": CLR.__init__})(3).fit(v),
        ModelFileError,
        "^CLR: is not one of manyview's own methods",
    ),
    "not fitted": (lambda m, v: CLR(3), NotFittedError, r"^This CLR is not fitted yet: call fit\(views\) before save"),
    "attribute": (
        lambda m, v: with_attribute(m, cache_={"a": [len]}),
        ModelFileError,
        r"^CLR\.cache_\['a'\]\[0\]: a value of type builtins\.builtin_function_or_method cannot be saved\.",
    ),
    "array of objects": (
        lambda m, v: with_attribute(m, names_=np.array([None])),
        ModelFileError,
        r"^CLR\.names_: an array of dtype object cannot be saved\.",
    ),
    "parameter": (
        lambda m, v: m.set_params(view_sizes=slice(3)),
        ModelFileError,
        r"^CLR\.view_sizes: a value of type builtins\.slice cannot be saved\. Supported: .* lists",
    ),
    "name that is taken": (
        lambda m, v: with_attribute(m, fit=3),
        ModelFileError,
        r"^CLR: cannot have an attribute 'fit'; the name is not free",
    ),
}


@pytest.mark.parametrize("name", CANNOT_BE_SAVED)
def test_what_cannot_be_saved_is_named_and_leaves_the_old_file(name, model, blobs, path):
    change, error, text = CANNOT_BE_SAVED[name]
    model.save(path)
    before = path.read_bytes()
    with pytest.raises(error, match=text):
        change(model, blobs).save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


RIGHT = {"class": "CLR", "parameters": {"n_clusters": 3}, "attributes": {"labels_": {"array": 0}}}
NOT_A_MODEL = {
    "unknown class": (
        {**RIGHT, "class": "KMeans"},
        r"holds a model of the class 'KMeans', .* It knows GraphEns",
    ),
    "former name": (
        {**RIGHT, "class": "InvariantTBGL"},
        "holds a model of the class 'InvariantTBGL', which is called GraphEnsemble now, .* Fit",
    ),
    "class by its path": ({**RIGHT, "class": "os.system"}, "holds a model of the class 'os.system', which"),
    "class up the path": ({**RIGHT, "class": "../../x"}, "holds a model of the class '../../x', which"),
    "class that is no text": ({**RIGHT, "class": ["CLR"]}, "does not hold a model. Expected class, parameters, "),
    "a list": ([RIGHT], "does not hold a model"),
    "a part is missing": ({"class": "CLR", "parameters": {}}, "does not hold a model"),
    "unknown parameter": (
        {**RIGHT, "parameters": {"n_clusters": 3, "speed": 9}},
        "CLR: its parameters are not those of this manyview: .*'speed'",
    ),
    "no parameters": ({**RIGHT, "parameters": {}}, "CLR: its parameters are not those .*'n_clusters'"),
    "attribute up the path": ({**RIGHT, "attributes": {"../x": 1}}, r"CLR: cannot have an attribute '\.\./x'"),
    "absolute attribute": ({**RIGHT, "attributes": {"/etc/x": 1}}, "CLR: cannot have an attribute '/etc/x'"),
    "attribute that is a method": ({**RIGHT, "attributes": {"fit": 1}}, "CLR: cannot have an attribute 'fit'"),
    "attribute of all classes": (
        {**RIGHT, "attributes": {"__class__": 1}},
        "CLR: cannot have an attribute '__class__'",
    ),
    "unknown type": (
        {**RIGHT, "attributes": {"labels_": {"pickle": "gASV"}}},
        r"CLR\.labels_: .*pickle.* is unknown to this version of manyview; a newer one may know it",
    ),
    "names that are left out": (
        {**RIGHT, "attributes": {"_left_out": {"tuple": [3]}}},
        r"CLR\._left_out: expected names of attributes, found '\(3,\)'",
    ),
    "left out, but no tuple": ({**RIGHT, "attributes": {"_left_out": 3}}, r"CLR\._left_out: expected names"),
    "origin": ({**RIGHT, "attributes": {"_origin": "elsewhere"}}, r"CLR\._origin: expected how files were read"),
    "names in the origin": (
        {**RIGHT, "attributes": {"_origin": {"Origin": {"dict": {"cluster_names": {"tuple": [1, 2]}}}}}},
        r"CLR\._origin: is not a valid Origin.*expected names",
    ),
    "values of the fit": (
        {**RIGHT, "attributes": {"_origin": {"Origin": {"dict": {"values": {"dict": {"rna": [1, 2]}}}}}}},
        r"CLR\._origin: is not a valid Origin.*expected one number for each column of rna",
    ),
    "array that is not there": ({**RIGHT, "attributes": {"labels_": {"array": 1}}}, r"CLR\.labels_: "),
}


@pytest.mark.parametrize("name", NOT_A_MODEL)
def test_a_file_of_something_else_is_refused(name, path):
    tree, text = NOT_A_MODEL[name]
    write_file(path, tree, [np.arange(2)])
    before = path.read_bytes()
    with pytest.raises(ModelFileError, match=rf"model\.manyview: {text}"):
        manyview.load(path)
    assert os.listdir(path.parent) == [path.name]
    assert path.read_bytes() == before


def test_parameters_that_are_newer_than_the_file_have_their_defaults(path):
    write_file(path, RIGHT, [np.arange(2)])
    loaded = manyview.load(path)
    assert loaded.get_params() == CLR(3).get_params()
    assert loaded.labels_.tolist() == [0, 1]


def test_a_changed_byte_and_a_later_format_are_noticed(model, path):
    model.save(path)
    whole = path.read_bytes()
    for place in np.random.default_rng(0).choice(len(whole), 60, replace=False):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(ModelFileError, match=r"model\.manyview: "):
            manyview.load(path)
    path.write_bytes(whole.replace(b"format 2,", b"format 3,", 1))
    with pytest.raises(ModelFileError, match=r"in format 3; this is .* reads up to format 2\. Update manyview"):
        manyview.load(path)


def test_an_array_of_objects_is_not_read_even_with_the_right_checksum(model, path):
    model.save(path)
    first, second, rest = path.read_bytes().split(b"\n", 2)
    header = json.loads(second)
    header["arrays"][-1][0] = "|O"
    second = json.dumps(header, separators=(",", ":")).encode()
    body = second + b"\n" + rest[:-65]
    whole = first.replace(first.split()[-3], str(len(body) + 65).encode()) + b"\n" + body
    path.write_bytes(whole + hashlib.sha256(whole).hexdigest().encode() + b"\n")
    with pytest.raises(ModelFileError, match=r"an array of dtype '\|O'.* unpickled, and a pickle can run any code"):
        manyview.load(path)


def test_the_file_says_what_it_holds(model, path):
    model.save(path)
    tree, arrays = read_file(path)
    assert tree["class"] == "CLR"
    assert tree["parameters"]["n_clusters"] == 3
    np.testing.assert_array_equal(arrays[tree["attributes"]["labels_"]["array"]], model.labels_)


def with_view(model, **changes):
    first, *others = model.views.spaces
    return replace(model, views=replace(model.views, spaces=(replace(first, **changes), *others)))


def with_member(model, **changes):
    first, *others = model.members
    return replace(model, members=(replace(first, **changes), *others))


TAMPERED = {
    "position out of range": (
        lambda m: with_view(m, positions=m.views.spaces[0].positions + m.lists.n_anchors),
        "positions below",
    ),
    "lists too long": (lambda m: with_view(m, length=10**6), "lists no longer than there are anchors"),
    "not fitted": (lambda m: with_member(m, scale=np.empty((0, 0))), "scales of"),
    "vectors too short": (lambda m: with_member(m, vectors=m.members[0].vectors[:-1]), "vectors of"),
    "centre missing": (lambda m: with_member(m, centres=m.members[0].centres[:-1]), "a centre for every"),
    "scales too short": (lambda m: with_member(m, scale=m.members[0].scale[:, :-1]), "scales of"),
    "label missing": (lambda m: replace(m, label_of=m.label_of[:-1]), "centres"),
}


@pytest.mark.parametrize("case", TAMPERED)
def test_parts_of_a_model_that_do_not_fit_together_are_refused(blobs, path, case):
    change, text = TAMPERED[case]
    model = GraphEnsemble(3, n_members=4, random_state=0).fit(blobs)
    model._model = change(model._model)
    model.save(path)
    with pytest.raises(ModelFileError, match=f"is not a valid Model.*expected .*{text}"):
        manyview.load(path)


def test_a_file_with_the_former_standardized_is_refused(blobs, tmp_path):
    model = GraphEnsemble(3, n_members=4, scaling="row-standardized", random_state=0).fit(blobs)
    for scaling in model._model.views.scalings:
        object.__setattr__(scaling, "name", "standardized")  # as it was called when nothing had to be learned
    model.save(tmp_path / "old.manyview")
    with pytest.raises(ModelFileError, match="'standardized' is what is called 'row-standardized' now: fit the model"):
        manyview.load(tmp_path / "old.manyview")
