from __future__ import annotations

import numpy as np
import pytest

from manyview.experiments._model import DONE, FAILED, CellResult, DatasetFacts
from manyview.experiments._process import Answer, from_line, to_line

RESULT = CellResult("k", DONE, "", np.array([0, 1, 300]), 1.25, 8, {"a": np.eye(2, dtype=np.float32)}, 3)
FACTS = DatasetFacts("d", "f", 3, (("a", 4), ("b", 2)), np.array([0, 0, 1]), False)


def test_an_answer_survives_the_pipe():
    line = to_line(Answer(RESULT, FACTS))
    assert "\n" not in line
    back = from_line(line)
    np.testing.assert_array_equal(back.result.labels, RESULT.labels)
    np.testing.assert_array_equal(back.result.pictures["a"], RESULT.pictures["a"])
    assert back.result.pictures["a"].dtype == np.float32
    np.testing.assert_array_equal(back.data.classes, FACTS.classes)
    for name in ("key", "status", "reason", "seconds", "peak_bytes", "run"):
        assert getattr(back.result, name) == getattr(RESULT, name)
    for name in ("name", "fingerprint", "n_samples", "views", "sorted_by_class"):
        assert getattr(back.data, name) == getattr(FACTS, name)


def test_an_answer_without_labels_and_data():
    back = from_line(to_line(Answer(CellResult("k", FAILED, "über\nall"), None)))
    assert (back.result.status, back.result.reason, back.result.labels, back.data) == (FAILED, "über\nall", None, None)


def test_what_cannot_be_sent():
    with pytest.raises(TypeError, match="object cannot be sent"):
        to_line(Answer(CellResult("k", DONE, labels=object()), None))
