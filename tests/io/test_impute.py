"""Missing cells filled in, against plain loops; missing views stay missing."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import check_views, read_views
from manyview.exceptions import FileFormatError
from manyview.io._impute import IMPUTE, fill_cells

NAN = np.nan


@pytest.fixture
def holes():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 5, (12, 4)).astype(float)
    values[rng.random(values.shape) < 0.2] = NAN
    values[3] = NAN  # a missing view
    return values


def naive(values, how):
    """Fill in cell by cell; rows without values are left as they are and not learned from."""
    rows = [i for i in range(len(values)) if not np.isnan(values[i]).all()]
    done = values.copy()
    for i in rows:
        for j in np.flatnonzero(np.isnan(values[i])):
            column = [values[k, j] for k in rows if not np.isnan(values[k, j])]
            if how == "zero":
                done[i, j] = 0
            elif how == "most_frequent":
                often = Counter(column)
                done[i, j] = min(value for value, count in often.items() if count == max(often.values()))
            elif how == "knn":
                distances = []
                for k in rows:
                    both = ~np.isnan(values[i]) & ~np.isnan(values[k])
                    if not np.isnan(values[k, j]) and both.any():
                        squared = ((values[i] - values[k])[both] ** 2).sum() * values.shape[1] / both.sum()
                        distances.append((np.sqrt(squared), k))
                nearest = sorted(distances)[:5]
                done[i, j] = np.mean([values[k, j] for _, k in nearest])
            else:
                done[i, j] = {"mean": np.mean, "median": np.median}[how](column)
    return done


def filled(array, how, **known):
    options = {"places": ["a"], "features": [None], "samples": None, "present": None, **known}
    (found,), (count,) = fill_cells([array], how, **options)
    return found, count


@pytest.mark.parametrize("how", [how for how in IMPUTE if how != "knn"])
def test_against_loops(holes, how):
    found, count = filled(holes, how)
    np.testing.assert_allclose(found, naive(holes, how))
    assert count == np.isnan(holes).sum() - holes.shape[1]


def test_nearest_samples_against_loops():
    values = np.random.default_rng(1).random((15, 4))  # without ties
    values[[2, 5, 9], [1, 3, 0]] = NAN
    np.testing.assert_allclose(filled(values, "knn")[0], naive(values, "knn"))


def test_rows_that_are_absent_are_neither_filled_nor_learned_from(holes):
    present = np.ones((12, 1), dtype=bool)
    present[0] = False
    holes[0] = 1e6
    found, _ = filled(holes, "mean", present=present)
    np.testing.assert_array_equal(found[0], holes[0])
    np.testing.assert_allclose(found[1:], naive(holes[1:], "mean"))


@pytest.mark.parametrize("how", ["median", "mean", "zero", "most_frequent"])
def test_sparse_views_count_their_zeros(how):
    dense = np.array([[0, 2.0], [NAN, 0], [0, 0], [6.0, 0]])
    found, count = filled(sp.csr_array(np.nan_to_num(dense, nan=9.0)), how)
    assert count == 0
    sparse = sp.csr_array(dense)
    found, count = filled(sparse, how)
    assert sp.issparse(found)
    assert count == 1
    np.testing.assert_allclose(found.toarray(), naive(dense, how))


def test_what_is_written_about_it(tmp_path):
    (tmp_path / "a.csv").write_text("id,x,y\np,1,\nq,2,5\nr,3,7\n")
    (tmp_path / "b.csv").write_text("id,z\np,1\nq,\nr,2\n")
    views = read_views([tmp_path / "a.csv", tmp_path / "b.csv"], impute="mean")
    assert views.arrays[0].tolist() == [[1, 6], [2, 5], [3, 7]]
    assert views.reading.filled == {"a": 1}  # the row of b is empty: a missing view
    assert views.reading.notes == ("imputed 1 missing cell by the mean of the column: a 1",)
    assert check_views(views).present.tolist() == [[True, True], [True, False], [True, True]]


def test_what_cannot_be_imputed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("id,x,y\np,1,-inf\nq,,5\nr,3,7\n")
    with pytest.raises(FileFormatError, match=r"a\.csv: sample 'p', column 'y' is infinite"):
        read_views(path, impute="median")
    path.write_text("id,x,y\np,1,\nq,2,\nr,3,\n")
    with pytest.raises(FileFormatError, match=r"no value at all, from which to impute: 'y'.*drop='y'"):
        read_views(path, impute="knn")
    assert read_views(path, impute="zero").arrays[0][:, 1].tolist() == [0, 0, 0]
    sparse = sp.csr_array(np.array([[NAN, 1.0], [2.0, 0]]))
    with pytest.raises(FileFormatError, match=r"is sparse, and impute='knn' needs a dense view"):
        filled(sparse, "knn")
    infinite = sp.csr_array(np.array([[NAN, 1.0], [np.inf, 0]]))
    with pytest.raises(FileFormatError, match=r"a: row 1, column 0 is infinite"):
        filled(infinite, "mean")
    with pytest.raises(ValueError, match=r"impute: expected one of median, .* got 'nearest'"):
        read_views(path, impute="nearest")
