"""Lines of what a fit has recorded."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from manyview.report._records import convergence_lines


def test_what_one_looks_at_first_comes_first(models):
    lines = convergence_lines(models["GraphEnsemble"], ["a", "b", "c"])
    assert [line["name"] for line in lines[:2]] == ["agreement", "stability"]
    assert {line["group"] for line in lines[:2]} == {"agreement of the labels"}
    assert lines[0]["unit"] == "members"
    tbgl = convergence_lines(models["TBGL"], ["a", "b", "c"])
    assert tbgl[0]["name"] == "objective"
    assert tbgl[0]["y"] == models["TBGL"].history_["objective"].tolist()
    assert [line["name"] for line in tbgl if line["group"] == "view weights"] == ["a", "b", "c"]


def test_methods_that_do_not_go_in_passes(models):
    model = models["LMVSC"]
    assert convergence_lines(SimpleNamespace(history_=model.history_, n_iter_=3), ["a", "b", "c"]) == []
    assert convergence_lines(SimpleNamespace(), []) == []
    assert convergence_lines(SimpleNamespace(history_={"objective": np.array([])}, n_iter_=0), []) == []


def test_long_histories_are_thinned_and_gaps_kept():
    values = np.arange(5000.0)
    values[0] = np.nan
    (line,) = convergence_lines(SimpleNamespace(history_={"objective": values, "odd": values[:3]}, n_iter_=5000), [])
    assert len(line["x"]) == len(line["y"]) == 400
    assert (line["x"][0], line["x"][-1], line["y"][0], line["y"][-1]) == (1, 5000, None, 4999)
