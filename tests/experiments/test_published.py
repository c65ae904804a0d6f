"""The published values in the specs are those of the paper's source, and the page of results lacks none of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from manyview.experiments import load_spec
from manyview.metrics import SCORE_TITLES, SCORES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
NUMBER = r"-?\d\.\d{3}"
ORDERS = ("file order", "shuffled")


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


# The page ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page():
    text = PAGE.read_text(encoding="utf-8")
    if "--score acc --score nmi" in text.partition("\n")[0]:
        pytest.skip("docs/results.md was made by the command for two scores: export it again")
    return text


def sections(text, level):
    """Texts below the headings of this level, by heading."""
    found = re.split(rf"^{'#' * level} (.+)$", text, flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def lines_of(text):
    """The cells of all tables of a section: ``lines[row][column]``, as shown; a row can be in several tables."""
    lines, head = {}, []
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if not cells:
            head = []
        elif not head:
            head = cells
        elif not set(cells[0]) <= {"-"}:
            lines.setdefault(cells[0], {}).update(zip(head[1:], cells[1:], strict=True))
    return lines


def absent_datasets(text):
    lines = lines_of(sections(text, 2)["Datasets"])
    return {name for name, cells in lines.items() if cells["kind"].endswith("not found")}


@pytest.mark.parametrize("name", ["result1", "result2", "result3"])
def test_the_page_has_every_row_and_score_of_the_papers_tables(page, name):
    (part,) = load_spec(name).parts
    text = sections(page, 2)[part.title]
    below = sections(text, 3)
    for dataset in part.datasets:
        lines = lines_of(below[dataset.name])
        assert list(lines) == [row.name for row in part.rows[dataset.name]]
        assert set(part.published[dataset.name]) <= set(lines)
        for row, published in part.published[dataset.name].items():
            for score in part.scores:
                cells = [lines[row][f"{SCORE_TITLES[score]}, {column}"] for column in ("published", *ORDERS)]
                assert cells[0].strip("*") == as_shown(published, score)
                if dataset.name in absent_datasets(page):
                    assert cells[1:] == ["no data"] * 2
                else:
                    runs = r"(\*\*)?( \(\d+\))?"  # in brackets where they are not as many as of most
                    assert re.fullmatch(rf"(\*\*)?{NUMBER}( ± {NUMBER}{runs}|(\*\*)? \(1\))", cells[1]), (row, score)
                    assert re.fullmatch(rf"(\*\*)?{NUMBER} ± {NUMBER}{runs}", cells[2]), (row, score)


@pytest.mark.parametrize("name", ["result1", "result2"])
def test_the_page_rests_on_as_many_runs_as_the_paper(page, name):
    (part,) = load_spec(name).parts
    text = sections(page, 2)[part.title]
    n_runs = int(re.search(r"Mean ± deviation over (\d+) runs", text)[1])
    below = sections(text, 3)
    cells = [lines_of(below[dataset])[row].values() for dataset, rows in part.published.items() for row in rows]
    fewer = sorted({int(found) for found in re.findall(r" ± [\d.]+(?:\*\*)? \((\d+)\)", str(list(map(list, cells))))})
    if n_runs < 20 or fewer:
        pytest.skip(f"docs/results.md rests on fewer than 20 runs, {[*fewer, n_runs]}: run the command to the end")
    assert n_runs == 20


def as_shown(published, score):
    if isinstance(published, str):
        return published
    mean, deviation = published[score]
    return f"{mean:.3f}" + ("" if deviation is None else f" ± {deviation:.3f}")


@pytest.mark.parametrize("name", ["p-value", "a-value"])
def test_the_page_has_every_point_and_score_of_the_papers_curves(page, name):
    (part,) = load_spec(name).parts
    below = sections(page, 2)[part.title]
    assert (PAGE.parent / re.search(r"^!\[.+\]\((.+)\)$", below, re.MULTILINE)[1]).is_file()
    for dataset in part.datasets:
        text = sections(below, 3)[f"TBGL on {dataset.name}"]
        assert f"= {part.stated[dataset.name]:g}. Measured here, by ACC: best at " in text
        assert re.search(r"best at [\d., ]+ \(file order, [\d.]+\) and [\d., ]+ \(shuffled, [\d.]+\)\.", text)
        lines = lines_of(text)
        assert set(lines) == {f"{entry.value:g}" for entry in part.entries if entry.dataset == dataset.name}
        for cells in lines.values():
            assert list(cells) == [f"{SCORE_TITLES[score]}, {order}" for score in part.scores for order in ORDERS]
            assert all(re.match(NUMBER, cell) for cell in cells.values())


def test_the_page_has_the_papers_graphs(page):
    (part,) = load_spec("visual").parts
    picture = re.search(r"^!\[(.+)\]\((.+)\)$", sections(page, 2)[part.title], re.MULTILINE)
    assert (PAGE.parent / picture[2]).is_file()
    assert all(f"TBGL on MSRC-v5, {order}: ACC" in picture[1] for order in ORDERS)
    assert "cm, hog, gist, lbp, cent, learned" in picture[1]


def test_the_page_has_the_papers_table_of_complexity(page):
    (part,) = load_spec("2com").parts
    rows = [line.split(" | ") for line in sections(page, 2)[part.title].splitlines() if line.startswith("| ")]
    measured = {(method.removeprefix("| "), size): values for method, size, *values in rows}
    for method, exponents in part.stated.items():
        for axis, stated in exponents.items():
            exponent, shown, times = measured[method, part.axes[axis]]
            assert re.fullmatch(r"-?\d\.\d\d", exponent)
            assert float(shown) == stated
            assert times.count(": ") == len({e.value for e in part.entries if (e.row, e.axis) == (method, axis)})


def test_the_page_has_every_table_and_figure_with_results(page, paper_source):
    """The flowchart has no results."""
    floats = re.findall(r"\\begin\{(?:table|figure)\*?\}.*?\\label\{([\w-]+)\}", paper_source, re.DOTALL)
    shown = re.findall(r"^`([\w-]+)`: (?:table|figure) '\1' of the paper", page, re.MULTILINE)
    assert set(floats) - {"flowchart"} == set(shown)
