from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from manyview.cli._experiment_tables import ranking_tables, summary_tables
from manyview.cli._output import print_pieces


def printed(pieces, width=80, **options):
    file = io.StringIO()
    console = Console(file=file, width=width, highlight=False, **options)
    print_pieces(pieces, console)
    return file.getvalue()


def squeezed(text):
    return [re.sub(" +", " ", line).strip() for line in text.splitlines()]


@pytest.mark.parametrize("width", [20, 80, 120, 200])
def test_nothing_is_cut_at_any_width(summary, width):
    text = printed(summary_tables(summary, width=width), width)
    assert "…" not in text
    for number in ("0.980", "1.000±0.010", "0.651±0.010", "0.812±0.010", "70123±12", "< 0.001", "1.04"):
        assert number in text


def test_score_table(summary):
    lines = squeezed(printed(summary_tables(summary)))
    at = lines.index("MSRC: acc, mean±deviation of up to 3 runs by order of rows")
    assert lines[at + 1 : at + 3] == ["acc acc acc", "method published file order shuffled"]
    assert lines[at + 4 : at + 7] == [
        "TBGL 0.980 1.000±0.010 0.651±0.010",
        "SFMC OM 0.700±0.010 0.812±0.010",
        "MVGL - OM OM",
    ]
    assert "MVGL (file order, shuffled): needs 38 GB, 20 GB free" in lines
    assert "TBGL: p as in the paper" in lines
    assert "dataset not found: NUS. Ask its authors." in lines


def test_the_best_of_each_column_is_bold(summary):
    text = printed(summary_tables(summary), force_terminal=True, color_system="standard")
    bold = re.findall(r"\x1b\[1m(0\.\d{3}|1\.000)", text)
    assert bold == ["0.980", "1.000", "0.812", "0.900"]  # three columns of the table, one curve of the sweep


def test_a_stand_in_is_named_and_has_no_published_column(summary):
    table = summary["parts"][0]["tables"][0]
    table["stand_in_for"] = "NUS-WIDE"
    for row in table["rows"]:
        row["published"] = None
    text = printed(summary_tables(summary))
    assert "MSRC (stand-in for NUS-WIDE): acc" in text
    assert "published" not in text


def test_scores_stand_side_by_side_where_they_fit(summary):
    for row in summary["parts"][0]["tables"][0]["rows"]:
        for column in ("published", "file-order", "shuffled"):
            if row[column] and "scores" in row[column]:
                row[column]["scores"]["nmi"] = {"mean": 0.25, "std": 0.0}
    summary["parts"] = summary["parts"][:1]
    assert "MSRC: acc, nmi, mean" in printed(summary_tables(summary, ["acc", "nmi"], 120), 120)
    narrow = printed(summary_tables(summary, ["acc", "nmi"], 80))
    assert "MSRC: acc, mean" in narrow
    assert "MSRC: nmi, mean" in narrow


def test_sweep(summary):
    lines = squeezed(printed(summary_tables(summary)))
    at = lines.index("MSRC: acc over exponent p, by order of rows")
    assert lines[at + 1 : at + 3] == ["TBGL", "p shuffled"]
    assert lines[at + 4 : at + 7] == ["0.1 0.400±0.010", "0.5 0.900±0.010", "1 time limit"]
    assert lines[at + 7 : at + 9] == ["best in the paper: p = 0.5", "TBGL (shuffled): after 600 s"]


def test_growth(summary):
    lines = squeezed(printed(summary_tables(summary)))
    at = lines.index("seconds of a fit over samples")
    assert lines[at + 3 : at + 9] == [
        "500 70123±12",
        "1000 none",
        "",
        "exponent 1.04",
        "in the paper 1.00",
        "TBGL: too large",
    ]


def test_pictures_say_the_order_of_rows(summary):
    assert "MSRC TBGL shuffled 0.650 gist, learned" in squeezed(printed(summary_tables(summary)))


def test_order_audit(summary):
    lines = squeezed(printed(summary_tables(summary)))
    assert "TBGL depends on the order of the rows, as its description says < 0.001" in lines
    assert "SFMC too few pairs of runs to say: 7 are needed 1.000" in lines
    assert "TBGL MSRC 20 1.000 0.650 -0.350 < 0.001 0.340" in lines


def test_a_verdict_against_the_facts_of_a_method_is_said(summary):
    first, second = summary["order_audit"]
    first["order_dependent"] = False
    second.update(order_dependent=True, too_few_pairs=False)
    text = printed(summary_tables(summary), 160)
    assert "depends on the order of the rows, which its description denies" in text
    assert "no difference found, though its description says that it depends on the order" in text


def test_ranking(summary):
    lines = squeezed(printed(summary_tables(summary)))
    at = lines.index("ranks on 1 datasets, rows shuffled; 1 is best")
    assert lines[at + 4 : at + 6] == ["SFMC 1.00 1", "TBGL 2.00 2"]
    assert lines[at + 6 :] == [
        "critical difference of mean ranks at 0.05: 1.50; p of Friedman's test: 0.034",
        "no significant difference between: SFMC, TBGL",
        "left out: MVGL: never asked for",
    ]


def test_ranking_without_results(summary):
    nothing = {"methods": [], "datasets": [], "friedman_p": None, "critical_difference": None, "groups": []}
    assert "none: it takes results of the same methods on two datasets or more" in printed(
        ranking_tables(summary["ranking"] | nothing)
    )


def test_names_cannot_steer_the_terminal(summary):
    text = printed(summary_tables(summary), 200, force_terminal=True, color_system="standard")
    assert "[red]\\x1b[2Jgone[/red] :smile:" in text
    assert "\x1b[2J" not in text
