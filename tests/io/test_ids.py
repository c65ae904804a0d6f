"""Which column holds the ids: taken without doubt, or asked for; never a feature without a word."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from manyview.exceptions import FileFormatError
from manyview.io import _ids, read_views
from manyview.views.suspects import is_id_name

N = 12
NAMES = [
    "case_id",
    "user_id",
    "doc_id",
    "uid",
    "key",
    "participant",
    "cell",
    "obs_names",
    "bcr_patient_barcode",
    "image",
    "filename",
    "mouse",
]


@pytest.fixture
def values():
    return np.random.default_rng(0).normal(size=(N, 4)).round(6)


@pytest.fixture
def write(tmp_path, values):
    """Write half of the values with these columns in front, or behind; ``order`` are the rows."""

    def write(name, half, order=None, behind=False, **columns):
        features = pd.DataFrame(values[:, 2 * half : 2 * half + 2], columns=[f"{name}0", f"{name}1"])
        parts = [features, pd.DataFrame(columns)]
        table = pd.concat(parts if behind else parts[::-1], axis=1)
        path = tmp_path / f"{name}.csv"
        table.iloc[np.arange(N) if order is None else order].to_csv(path, index=False)
        return path

    return write


@pytest.fixture
def order():
    return np.random.default_rng(1).permutation(N)


@pytest.mark.parametrize("name", [*NAMES, "anything"])
def test_whole_numbers_that_all_files_have_under_one_name_are_the_ids(write, values, order, name):
    ids = np.random.default_rng(2).permutation(np.arange(100, 100 + N))
    files = [write("a", 0, **{name: ids}), write("b", 1, order, **{name: ids})]
    for options in ({}, {"id_column": name}):
        found = read_views(files, **options)
        np.testing.assert_array_equal(np.hstack(found.arrays), values)
        assert found.sample_ids.tolist() == ids.astype(str).tolist()
        assert found.reading.matched_by == f"id `{name}`"
        assert found.feature_names == (("a0", "a1"), ("b0", "b1"))


@pytest.mark.parametrize("name", NAMES)
def test_names_of_ids(name):
    assert is_id_name(name)
    assert is_id_name(name.upper())


@pytest.mark.parametrize("name", ["lipid", "ID1", "width", "TP53", "keystone", "cells_per_mm"])
def test_names_of_features(name):
    assert not is_id_name(name)


def test_ids_anywhere_with_their_zeros(write, values, order):
    ids = [f"{i:03d}" for i in range(N)]
    files = [write("a", 0, behind=True, visit=ids), write("b", 1, order, behind=True, visit=ids)]
    found = read_views(files)
    assert found.sample_ids.tolist() == ids
    np.testing.assert_array_equal(np.hstack(found.arrays), values)


def test_texts_that_recur_are_the_ids_wherever_they_stand(write, values, order):
    ids = [f"s{i}" for i in range(N)]
    files = [write("a", 0, behind=True, what=ids), write("b", 1, order, behind=True, who=ids)]
    found = read_views(files)
    np.testing.assert_array_equal(np.hstack(found.arrays), values)
    assert found.reading.matched_by == "id `what`, `who`"


@pytest.mark.parametrize(
    ("first", "second"), [("mouse", "animal"), ("x", "z"), ("mouse", None)], ids=["ids", "features", "one file"]
)
def test_what_is_not_clear_is_asked_and_both_answers_work(write, values, order, first, second):
    ids = np.arange(N)[::-1]
    files = [write("a", 0, **{first: ids}), write("b", 1, order, **({second: ids} if second else {}))]
    with pytest.raises(FileFormatError, match=rf"'{first}'.*a\.csv.*Pass id_column=.*id_column=False|none, so rows"):
        read_views(files)
    if second:
        found = read_views(files, id_column=[first, second])
        np.testing.assert_array_equal(np.hstack(found.arrays), values)
    by_position = read_views(files, id_column=False)
    assert by_position.reading.matched_by == "position"
    assert by_position.feature_names[0] == (first, "a0", "a1")
    assert by_position.arrays[0][:, 0].tolist() == ids.tolist()


def test_the_same_name_with_other_values_is_asked_about(write):
    files = [write("a", 0, x=np.arange(N)), write("b", 1, x=np.arange(N) + 500)]
    with pytest.raises(FileFormatError, match=r"'x' of .*a\.csv, 'x' of .*b\.csv: .*Pass id_column='x' if"):
        read_views(files)


def test_two_columns_that_could_both_be_the_id_are_asked_about(write):
    ids = np.random.default_rng(2).permutation(N)
    columns = {"mouse": np.arange(N), "cage_id": ids}
    with pytest.raises(FileFormatError, match=r"'mouse' of .*a\.csv or 'cage_id' of .*a\.csv"):
        read_views([write("a", 0, **columns), write("b", 1, **columns)])


@pytest.mark.parametrize(
    ("name", "numbers", "behind", "why"),
    [
        ("x", 7 * np.arange(N) + 3, False, "stands first"),
        ("user_id", 7 * np.arange(N) + 3, True, "is named like an id"),
        ("rank", np.arange(N)[::-1] + 1, True, "counts the samples"),
    ],
)
def test_one_file_is_asked_about_numbers(write, name, numbers, behind, why):
    path = write("a", 0, behind=behind, **{name: numbers})
    with pytest.raises(FileFormatError, match=rf"a\.csv: column '{name}' {why} and .*id_column='{name}'.*=False"):
        read_views(path)
    assert read_views(path, id_column=name).n_features == (2,)
    assert read_views(path, id_column=False).n_features == (3,)


@pytest.mark.parametrize(
    ("numbers", "behind"),
    [(np.arange(N) + 0.5, False), (np.arange(N) // 2, False), (7 * np.arange(N) + 3, True)],
    ids=["fractions", "repeated", "not first"],
)
def test_other_numbers_are_features_and_nothing_is_asked(write, numbers, behind):
    path = write("a", 0, behind=behind, x=numbers)
    assert read_views(path).n_features == (3,)
    assert read_views([path, write("b", 1)]).reading.matched_by == "position"


def test_a_text_is_taken_and_numbers_beside_it_are_features(write, values, order):
    ids = [f"s{i}" for i in range(N)]
    files = [write("a", 0, sample=ids, age=np.arange(N) + 20), write("b", 1, order, sample=ids)]
    found = read_views(files)
    assert found.feature_names == (("age", "a0", "a1"), ("b0", "b1"))
    np.testing.assert_array_equal(found.arrays[1], values[:, 2:])


def test_row_numbers_are_no_feature_if_the_ids_are_given(tmp_path, values):
    table = pd.DataFrame({"mouse": np.arange(N) * 3, "a": values[:, 0]})
    table.to_csv(tmp_path / "a.csv")  # with the row numbers that pandas writes
    found = read_views(tmp_path / "a.csv", id_column="mouse")
    assert found.feature_names == (("a",),)


def test_a_file_of_classes_tells_the_ids(write, tmp_path, values, order):
    ids = np.arange(N) * 3
    pd.DataFrame({"mouse": ids[order], "kind": order % 2}).to_csv(tmp_path / "kinds.csv", index=False)
    found = read_views(write("a", 0, mouse=ids), labels=tmp_path / "kinds.csv", label_column="kind")
    assert found.labels.tolist() == (np.arange(N) % 2).tolist()
    assert found.reading.matched_by == "id `mouse`"


def test_classes_with_ids_are_not_matched_by_position_in_silence(tmp_path, values):
    np.save(tmp_path / "a.npy", values)
    pd.DataFrame({"sample": [f"s{i}" for i in range(N)], "kind": np.arange(N) % 2}).to_csv(
        tmp_path / "kinds.csv", index=False
    )
    with pytest.raises(FileFormatError, match=r"kinds\.csv: has ids \(s0, s1, s2, .* id_column=False"):
        read_views(tmp_path / "a.npy", labels=tmp_path / "kinds.csv")
    found = read_views(tmp_path / "a.npy", labels=tmp_path / "kinds.csv", id_column=False)
    assert found.labels.tolist() == (np.arange(N) % 2).tolist()
    assert found.reading.matched_by == "position"


def test_classes_without_ids_follow_the_order_that_the_files_share(write, tmp_path, order):
    ids = [f"s{i}" for i in range(N)]
    (tmp_path / "kinds.txt").write_text("\n".join(map(str, np.arange(N) % 2)))
    same = read_views([write("a", 0, id=ids), write("b", 1, id=ids)], labels=tmp_path / "kinds.txt")
    assert same.reading.matched_by == "id `id`, labels by position"
    with pytest.raises(FileFormatError, match=r"kinds\.txt has no ids to tell which of the two it follows"):
        read_views([write("a", 0, id=ids), write("b", 1, order, id=ids)], labels=tmp_path / "kinds.txt")


def test_wrong_id_column():
    with pytest.raises(TypeError, match=r"id_column: expected a name, several names, False or None, got 7"):
        read_views("a.csv", id_column=7)


def test_classes_with_numbers_in_front_are_not_matched_by_position_in_silence(write, tmp_path, order):
    """The rows are numbered, and were shuffled then."""
    pd.DataFrame({"row": order, "kind": order % 2}).to_csv(tmp_path / "kinds.csv", index=False)
    with pytest.raises(FileFormatError, match=r"kinds\.csv: has ids .*but the views have none .*id_column=False"):
        read_views(write("a", 0), labels=tmp_path / "kinds.csv", label_column="kind")


def test_many_columns_of_distinct_counts_are_compared_quickly(tmp_path, monkeypatch):
    """Few samples have distinct counts of most genes. Comparing each with each would take minutes."""
    random = np.random.default_rng(0)
    paths = [tmp_path / f"{name}.csv" for name in "ab"]
    for path in paths:
        table = pd.DataFrame(random.integers(0, 10**6, (N, 300))).add_prefix(path.stem)
        table.insert(0, "w", random.random(N))
        table.to_csv(path, index=False)
    calls = []
    monkeypatch.setattr(_ids, "share_in_common", lambda *sets: calls.append(sets) or 0.0)
    assert read_views(paths).n_features == (301, 301)
    assert len(calls) < 1000
