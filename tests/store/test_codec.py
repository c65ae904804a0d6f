"""Values as a tree and arrays: what comes back is what was there, to the type and the bit."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from manyview.exceptions import ModelFileError
from manyview.store import Codec


@dataclass(frozen=True)
class Part:
    name: str
    rows: np.ndarray


@dataclass(frozen=True)
class Whole:
    parts: tuple[Part, ...]
    weight: float
    note: str | None = None
    total: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise ValueError(f"weight={self.weight} is negative")
        object.__setattr__(self, "total", len(self.parts))


CODEC = Codec((Part, Whole))


def through_json(value: Any, codec: Codec = CODEC) -> Any:
    arrays: list[np.ndarray] = []
    text = json.dumps(codec.encode(value, "model.x", arrays), allow_nan=False)
    return codec.decode(json.loads(text), "model.x", arrays)


def same(a: Any, b: Any) -> bool:
    """Equal in type, dtype, shape, order of the bytes and bytes, all the way down."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, sp.csr_array | sp.csr_matrix):
        return a.shape == b.shape and all(same(getattr(a, k), getattr(b, k)) for k in ("data", "indices", "indptr"))
    if isinstance(a, np.random.RandomState):
        return same(a.get_state(legacy=False), b.get_state(legacy=False))
    if isinstance(a, Part | Whole):
        return same(vars(a), vars(b))
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return (math.isnan(a) and math.isnan(b)) or (a == b and math.copysign(1, a) == math.copysign(1, b))
    return a == b


DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(sizes=(16, 32, 64), endianness="?"),
    hnp.complex_number_dtypes(sizes=(64, 128)),
    hnp.unicode_string_dtypes(min_len=1),
)
ARRAYS = hnp.arrays(DTYPES, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))
SCALARS = ARRAYS.filter(np.size).map(lambda array: array.flat[0])
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(), ARRAYS, SCALARS)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(), inner, max_size=3),
    ),
    max_leaves=8,
)


@given(VALUES)
def test_values_come_back_as_they_were(value):
    assert same(through_json(value), value)


VALUES_BY_HAND = {
    "not a number": [math.nan, math.inf, -math.inf, -0.0],
    "numbers of NumPy": [np.float64(0.1), np.int32(3), np.bool_(True), np.str_("é"), np.str_(""), np.float16(1.5)],
    "large numbers": [2**200, -(2**63), 1e-320],
    "text": ["", "\x00", "\ud800", "../../x", "ü" * 3],
    "range": range(2, 61),
    "looks like a tag": {"array": 0, "dict": {"tuple": [1]}, "": (())},
    "CSR": sp.csr_array(np.diag([1.0, 0.0, 2.0])),
    "CSR of int32 and bool": sp.csr_array((np.ones(2, bool), np.int32([0, 1]), np.int32([0, 1, 2])), shape=(2, 2)),
    "CSR matrix": sp.csr_matrix(np.eye(3, 5)),
    "CSR without entries": sp.csr_array((0, 4)),
    "records": Whole((Part("a", np.arange(3)), Part("b", np.zeros((0, 2)))), 0.5, None),
    "read-only": np.broadcast_to(np.float64(2), (3, 2)),
}


@pytest.mark.parametrize("name", VALUES_BY_HAND)
def test_each_kind_comes_back_as_it_was(name):
    assert same(through_json(VALUES_BY_HAND[name]), VALUES_BY_HAND[name])


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csr_matrix])
def test_wide_indices_of_a_sparse_array_stay_wide(kind):
    graph = kind(np.eye(3))
    graph.indices, graph.indptr = graph.indices.astype(np.int64), graph.indptr.astype(np.int64)
    found = through_json(graph)
    assert found.indices.dtype == found.indptr.dtype == np.int64
    assert same(found @ found, graph @ graph)


def test_a_random_state_goes_on_where_it_was():
    state = np.random.RandomState(3)
    state.standard_normal(5)  # an odd number: the next one is in store
    found = through_json(state)
    np.testing.assert_array_equal(found.standard_normal(700), state.standard_normal(700))


class OwnList(list):
    pass


itself: list[Any] = []
itself.append(itself)
OBJECTS = np.array([None, "x"], dtype=object)
REFUSED = {
    "set": ({1}, r"model\.x: a value of type builtins\.set cannot be saved\. Supported: None, "),
    "function": (len, r"a value of type builtins\.builtin_function_or_method"),
    "class": (Part, r"a value of type builtins\.type"),
    "list of one's own": (OwnList(), r"a value of type .*test_codec\.OwnList"),
    "deep inside": ({"a": [0, (1, {2})]}, r"model\.x\['a'\]\[1\]\[1\]: a value of type builtins\.set"),
    "keys": ({1: 2}, "a dict with keys that are not text cannot be saved"),
    "objects": (OBJECTS, "an array of dtype object cannot be saved"),
    "structured": (np.zeros(2, "i4,f8"), r"an array of dtype \[\('f0', '<i4'\), \('f1', '<f8'\)\] cannot be saved"),
    "dates": (np.datetime64("2020-01-01"), r"an array of dtype datetime64\[D\] cannot be saved"),
    "masked": (np.ma.array([1, 2], mask=[True, False]), r"a value of type numpy\.ma\.MaskedArray"),
    "another sparse format": (sp.csc_array(np.eye(2)), r"a value of type scipy\.sparse\._csc\.csc_array"),
    "another generator": (np.random.RandomState(np.random.PCG64(0)), "a RandomState of PCG64 .* only of MT19937"),
    "a dataclass that is not on the list": (field(), "a value of type dataclasses.Field"),
    "itself": (itself, r"more than 64 nested levels of values cannot be saved\."),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_kept_is_named(name):
    value, text = REFUSED[name]
    with pytest.raises(ModelFileError, match=text):
        CODEC.encode(value, "model.x", [])


def test_only_listed_dataclasses_are_kept_and_made():
    with pytest.raises(ModelFileError, match=r"model\.x: a value of type .*test_codec\.Part cannot be saved"):
        Codec().encode(Part("a", np.arange(2)), "model.x", [])
    with pytest.raises(ModelFileError, match="unknown to this version of manyview; a newer one may know it"):
        Codec().decode({"Part": {"dict": {"name": "a", "rows": None}}}, "model.x", [])


KEY = np.zeros(624, np.uint32)


def random_state(key: Any, position: Any, generator: str = "MT19937") -> Any:
    inner = {"dict": {"key": key, "pos": position}}
    return {"RandomState": {"dict": {"bit_generator": generator, "state": inner, "has_gauss": 0, "gauss": 0.0}}}


def csr(shape: list[Any], data: Any, indices: Any, indptr: Any) -> Any:
    return {"csr_array": {"dict": {"shape": shape, "data": data, "indices": indices, "indptr": indptr}}}


A = {"array": 0}
ONES, INDEX, POINTERS = {"array": 1}, {"array": 2}, {"array": 3}
FAR = np.array([0, 2**63 - 1, -(2**63), -1, 2])  # differences of its neighbours are not negative, modulo 2**64
GIVEN = [
    KEY,
    np.ones(2),
    np.array([0, 4]),
    np.array([0, 1, 2]),
    np.array([0, 3, 2]),
    np.array([1.0, 2.0]),
    OBJECTS,
    FAR,
]
MALFORMED = {
    "unknown kind": ({"pickle": "gASVAAAA"}, r"m: \"\{'pickle': 'gASVAAAA'\}\" is unknown to this version of manyview"),
    "two kinds": ({"tuple": [], "float": "nan"}, "unknown to this version of manyview"),
    "no kind": ({}, "unknown to this version of manyview"),
    "no such array": ({"array": 99}, "unknown to this version of manyview"),
    "array from the end": ({"array": -1}, "unknown to this version of manyview"),
    "array by truth": ({"array": True}, "unknown to this version of manyview"),
    "dict of a list": ({"dict": [1]}, "unknown to this version of manyview"),
    "range of too much": ({"range": [1, 2, 3, 4]}, r"is not a valid range\. \(TypeError: "),
    "range of text": ({"range": ["a"]}, r"is not a valid range\. \(TypeError: "),
    "tuple of a number": ({"tuple": 3}, r"is not a valid tuple\. \(TypeError: "),
    "float": ({"float": "one"}, r"is not a valid float\. \(ValueError: "),
    "scalar of many": ({"generic": A}, r"is not a valid generic\. \(ValueError: it has shape \(624,\)"),
    "column outside": (csr([2, 4], ONES, INDEX, POINTERS), "its indices do not fit its shape, 2 x 4"),
    "too many rows": (csr([3, 5], ONES, INDEX, POINTERS), "its indices do not fit its shape, 3 x 5"),
    "no rows": (csr([-1, 5], ONES, INDEX, POINTERS), "its indices do not fit"),
    "pointers go back": (csr([2, 5], ONES, INDEX, {"array": 4}), "its indices do not fit"),
    "pointers go back by overflow": (csr([4, 5], ONES, INDEX, {"array": 7}), "its indices do not fit"),
    "fewer data": (csr([2, 5], A, INDEX, POINTERS), "its indices do not fit"),
    "indices not whole": (csr([2, 5], ONES, {"array": 5}, POINTERS), "its indices do not fit"),
    "indices in a list": (csr([2, 5], ONES, [0, 4], POINTERS), "is not a valid csr_array"),
    "data of objects": (csr([2, 5], {"array": 6}, INDEX, POINTERS), "its indices do not fit"),
    "parts missing": ({"csr_array": {"dict": {"shape": [1, 1]}}}, r"is not a valid csr_array\. \(KeyError: 'data'\)"),
    "position": (random_state(A, 625), "its numbers are not a state of MT19937"),
    "negative position": (random_state(A, -1), "its numbers are not a state of MT19937"),
    "short key": (random_state(ONES, 0), "its numbers are not a state of MT19937"),
    "generator": (random_state(A, 0, "PCG64"), "is not a valid RandomState"),
    "field missing": ({"Part": {"dict": {"name": "a"}}}, "is not a valid Part. .*missing 1 required .* 'rows'"),
    "unknown field": ({"Part": {"dict": {"name": "a", "rows": A, "x": 1}}}, "is not a valid Part. .*unexpected .* 'x'"),
    "refused by the record": (
        {"Whole": {"dict": {"parts": [], "weight": -1}}},
        r"is not a valid Whole\. \(ValueError: weight=-1 is negative",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_malformed_tree_gets_a_clear_error(name):
    tree, text = MALFORMED[name]
    with pytest.raises(ModelFileError, match=r"^m: ") as caught:
        CODEC.decode(tree, "m", GIVEN)
    caught.match(text)


def test_a_valid_tree_of_the_same_form_is_read():
    # So that the errors above are for the reason that they name.
    assert CODEC.decode(csr([2, 5], ONES, INDEX, POINTERS), "m", GIVEN).toarray().tolist() == [
        [1, 0, 0, 0, 0],
        [0, 0, 0, 0, 1],
    ]
    assert CODEC.decode(random_state(A, 624), "m", GIVEN).get_state()[2] == 624


def test_a_tree_that_is_too_deep_is_refused():
    tree: Any = 0
    for _ in range(100):
        tree = [tree]
    with pytest.raises(ModelFileError, match="more than 64 nested levels of values"):
        CODEC.decode(tree, "m", [])
