"""A column of classes among the features is the best feature of all: the reader says so."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview import read_views
from manyview.exceptions import ClassColumnWarning


def write(folder: Path, name: str, column: str, values: np.ndarray) -> list[Path]:
    rng = np.random.default_rng(0)
    first = pd.DataFrame({"patient": [f"P{i}" for i in range(len(values))], "MYC": rng.random(len(values))})
    second = first.rename(columns={"MYC": "miR-21"})
    paths = [folder / f"{name}.csv", folder / "other.csv"]
    first.assign(**{column: values}).to_csv(paths[0], index=False)
    second.to_csv(paths[1], index=False)
    return paths


@pytest.mark.parametrize("column", ["subtype", "Cell_Type", "cluster id", "TARGET"])
def test_few_whole_numbers_under_a_name_of_classes_are_reported(tmp_path, column):
    paths = write(tmp_path, "rna", column, np.arange(40) % 3)
    with pytest.warns(ClassColumnWarning, match=f"rna.csv: '{column}' counts as a feature.* 3 different whole numbers"):
        views = read_views(paths)
    assert column in views.feature_names[0]
    assert any(f"drop='{column}'" in note for note in views.reading.notes)


def test_what_is_advised_ends_the_warning(tmp_path):
    paths, classes = write(tmp_path, "rna", "subtype", np.arange(40) % 3), np.arange(40) % 3
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_views(paths, drop="subtype").n_features == (1, 1)
        views = read_views(paths, label_column="subtype")
    assert views.n_features == (1, 1)
    np.testing.assert_array_equal(views.labels, classes)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("subtype", np.arange(40) / 7),  # no whole numbers
        ("subtype", np.arange(40)),  # as many values as samples
        ("subtype", np.zeros(40)),  # one value, of which another note speaks
        ("stage", np.arange(40) % 3),  # a fact about a patient, which may well be a feature
    ],
)
def test_other_columns_are_features_without_a_word(tmp_path, column, values):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        views = read_views(write(tmp_path, "rna", column, values), id_column="patient")
    assert column in views.feature_names[0]
    assert not any("may hold classes" in note for note in views.reading.notes)


def test_row_numbers_without_a_name_are_left_out_with_a_note(tmp_path):
    first, second = write(tmp_path, "rna", "TP53", np.random.default_rng(1).random(40))
    pd.read_csv(first).to_csv(first)
    views = read_views([first, second])
    assert views.feature_names[0] == ("MYC", "TP53")
    assert "rna.csv: left out the first column, which has no name and counts the rows" in views.reading.notes
