"""Columns of data frames that are no features."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from manyview import Views, check_views
from manyview.exceptions import ClassColumnWarning, ViewsError

N = 24


@pytest.fixture
def frames() -> list[pd.DataFrame]:
    rng = np.random.default_rng(0)
    return [pd.DataFrame(rng.random((N, 3)), columns=list("abc")), pd.DataFrame(rng.random((N, 2)), columns=list("xy"))]


def test_ids_among_the_features_are_refused(frames):
    frames[1]["patient"] = np.random.default_rng(1).permutation(N) + 1000
    with pytest.raises(ViewsError, match=r"views\['view1'\]: the column 'patient' has another whole number for every"):
        check_views(frames)
    views = check_views([frames[0].set_index(frames[1]["patient"]), frames[1].set_index("patient")])
    assert views.n_features == (3, 2)
    assert views.sample_ids.tolist() == frames[1]["patient"].tolist()


@pytest.mark.parametrize("kind", [int, float])
def test_the_same_numbers_in_two_frames_are_ids_under_any_name(frames, kind):
    for frame in frames:
        frame["number"] = np.arange(N).astype(kind)
    with pytest.raises(ViewsError, match=r"the column 'number' .*, the same as in views\['view0'\]: an id, not a feat"):
        check_views(frames)


def test_classes_among_the_features_are_reported(frames):
    frames[0]["label"] = np.arange(N) % 3
    with pytest.warns(ClassColumnWarning, match=r"views\['view0'\]: 'label' counts as a feature, .* 3 different whole"):
        check_views(frames)


def test_numbers_that_differ_or_are_no_ids_stay_features(frames):
    for frame in frames:
        frame["shared"] = frames[0]["a"]  # the same fractions in both
        frame["age"] = np.arange(N) // 2  # the same whole numbers, some of them twice
    frames[0]["rank"] = np.arange(N)
    frames[1]["rank"] = np.arange(N)[::-1]
    frames[0]["cell_id"] = np.arange(N) / 7
    frames[0][7] = np.arange(N)  # names that are no text
    frames[1][7] = np.arange(N)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert check_views([frame.rename(columns=str) if 7 not in frame else frame for frame in frames]).n_views == 2


def test_arrays_and_few_rows_are_not_looked_at(frames):
    for frame in frames:
        frame["id"] = np.arange(N)
    assert check_views([frame.to_numpy() for frame in frames]).n_features == (4, 3)
    assert check_views([frame[:9] for frame in frames]).n_samples == 9


def test_frames_that_are_joined_are_looked_at_too(frames):
    ids = pd.Index([f"s{i}" for i in range(N)])
    named = {name: frame.set_index(ids) for name, frame in zip("pq", frames, strict=True)}
    named["q"]["subject"] = np.arange(N)
    with pytest.raises(ViewsError, match=r"views\['q'\]: the column 'subject' has another whole number"):
        Views.from_frames(named)
