"""The published values in the specs are those of the paper's source, read here in another way."""

from __future__ import annotations

import re

import pytest

from manyview.experiments import load_spec
from manyview.metrics import SCORES


@pytest.fixture(scope="module")
def tables(paper_source):
    """``tables[dataset][line]``: the cells as printed, of all tables with results."""
    found = {}
    datasets: list[str] = []
    for line in paper_source.splitlines():
        if line.startswith("Dataset&"):
            datasets = re.findall(r"\\textbf\{(.+?)\}", line)
        elif datasets and line.rstrip().endswith(r"\\") and not line.startswith("Metric"):
            name, *cells = line.rstrip().removesuffix(r"\\").split("&")
            name = (
                re.sub(r"~\\cite\{\w+\}|\\textbf|[{}$]|\^\\dagger|\\mathbf", "", name)
                .replace("X^(", "X")
                .replace("))", ")")
            )
            values = [re.sub(r"\\textbf|[{}$]", "", cell).split(r"\pm") for cell in cells]
            share = len(values) // len(datasets)
            for number, dataset in enumerate(datasets):
                found.setdefault(dataset, {})[name] = values[number * share : (number + 1) * share]
        elif r"\end{tabular}" in line:
            datasets = []
    return found


@pytest.mark.parametrize(
    ("spec", "dataset", "n_rows"),
    [
        ("result1", "MSRC-v5", 18),
        ("result1", "Handwritten4", 17),
        ("result2", "Mnist4", 16),
        ("result2", "Caltech101-20", 19),
        ("result3", "NUS-WIDE", 6),
        ("result3", "Reuters", 6),
    ],
)
def test_every_published_number_is_the_papers(tables, spec, dataset, n_rows):
    (part,) = load_spec(spec).parts
    ours, printed = part.published[dataset], tables[dataset]
    assert len(ours) == n_rows
    assert list(ours) == [name.replace("Ours", "TBGL") for name in printed]
    for values, cells in zip(ours.values(), printed.values(), strict=True):
        if isinstance(values, str):
            assert cells == [[values]] * len(part.scores)
        else:
            assert tuple(values) == part.scores == SCORES[: len(cells)]
            for (mean, deviation), cell in zip(values.values(), cells, strict=True):
                assert [mean] + [deviation] * (deviation is not None) == [float(number) for number in cell]


def test_no_other_part_has_published_values():
    assert [part.name for part in load_spec("paper").parts if part.published] == ["result1", "result2", "result3"]
