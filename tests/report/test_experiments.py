"""The page must show all of the summary, in three columns, and be one file that is safe and loads nothing."""

from __future__ import annotations

import copy
import html
import re

import pytest

from manyview.metrics import SCORES
from manyview.report.experiments import render

HOSTILE = "\"'><img src=x onerror=alert(1)></script><script>alert(1)</script>{{ 7 * 7 }}\nnext"


@pytest.fixture
def nothing_run(summary):
    """The same experiment before its first fit."""

    def wait(result):
        return None if result is None else {"status": "waiting"}

    for part in summary["parts"]:
        for table in part.get("tables", []):
            table["best"] = {
                column: {score: [] for score in SCORES} for column in ("published", "file-order", "shuffled")
            }
            for row in table["rows"]:
                row |= {order: wait(row[order]) for order in ("file-order", "shuffled")}
        for curve in part.get("curves", []):
            curve["points"] = [{"x": point["x"], "status": "waiting"} for point in curve["points"]]
        for line in part.get("growth", []):
            line |= {
                "points": [{"x": point["x"], "reason": "not run yet"} for point in line["points"]],
                "exponent": None,
            }
        if "pictures" in part:
            part["pictures"] = []
    ranking = {"methods": [], "datasets": [], "groups": [], "critical_difference": None, "friedman_p": None}
    return summary | {"runs": [], "order_audit": [], "scatter": [], "ranking": summary["ranking"] | ranking}


def with_names_replaced(value, old: dict[str, str]):
    """The summary with all texts in it, also keys, replaced where they are among the names."""
    if isinstance(value, dict):
        return {old.get(name, name): with_names_replaced(inner, old) for name, inner in value.items()}
    if isinstance(value, list):
        return [with_names_replaced(inner, old) for inner in value]
    return old.get(value, value) if isinstance(value, str) else value


def test_tables_have_all_scores_of_all_rows(page, summary, parse):
    shown = parse(page(summary))
    for table in summary["parts"][0]["tables"]:
        rows = shown.table(f"All scores on {table['dataset']}")
        columns = [
            c
            for c in ("published", "file-order", "shuffled")
            if c != "published" or table["dataset"] in ("MSRC", "Caltech")
        ]
        lines = iter(rows[1:])
        for row in table["rows"]:
            for i, column in enumerate(columns):
                line = next(lines)
                if i == 0:
                    assert line.pop(0).startswith(row["name"])
                assert line[0].lower() == column.replace("-", " ")
                result = row[column]
                if result is not None and result["status"] == "done":
                    expected = [
                        f"{s['mean']:.3f}" + ("" if s["std"] is None else f" ± {s['std']:.3f}")
                        for s in result["scores"].values()
                    ]
                    assert [cell.removesuffix("*") for cell in line[1:8]] == expected
                    assert line[8:] == (["–"] * 3 if column == "published" else ["20", "2.5 s", "3 MiB"])
        assert next(lines, None) is None


def test_one_glance_tells_published_file_order_and_shuffled(page, summary, parse):
    shown = parse(page(summary))
    assert shown.table("ACC on MSRC")[0][:5] == ["Method", "Published", "File order", "Shuffled", "Change"]
    assert shown.line("ACC on MSRC", "Tensor")[:5] == ["Tensor", "0.985", "0.975 ± 0.000", "0.625 ± 0.030", "−0.350"]
    assert shown.line("ARI on MSRC", "New")[:5] == ["New", "–", "0.921 ± 0.010", "0.911 ± 0.010", "−0.010"]
    assert shown.line("Best method", "MSRC")[1:] == [
        "TensorACC 0.985",
        "TensorACC 0.975 ± 0.000",
        "NewACC 0.905 ± 0.010",
    ]
    assert "Row order changes the accuracy of Tensor (paired test" in shown.text
    assert "No effect of row order was found for 1 of 2 methods." in shown.text
    assert "80 of 90 fits done, 4 out of memory, 4 without their dataset, 2 not run yet." in " ".join(
        shown.text.split()
    )


def test_the_best_of_each_column_is_marked(page, summary):
    marked = re.findall(r'<td class="value best">([\d.]+)', page(summary).split("<table")[2])
    assert marked == ["0.985", "0.975", "0.905"]


def test_marks_lie_where_the_values_are(page, summary):
    summary["parts"][0]["tables"][0]["rows"][3]["shuffled"]["scores"]["ari"] = {"mean": -0.2, "std": 0.05}
    tables = {glance["score"]: glance for glance in _glances(summary)}
    assert tables["acc"]["low"] == 0
    tensor = {mark["order"]: mark for mark in tables["acc"]["lines"][0]["marks"]}
    assert tensor["shuffled"] == {"order": "shuffled", "at": 62.5, "first": 59.5, "last": 65.5}
    assert tables["ari"]["low"] == -0.25
    assert tables["ari"]["lines"][3]["marks"][-1] == {"order": "shuffled", "at": 4.0, "first": 0.0, "last": 8.0}


def _glances(summary):
    from manyview.report.experiments import _tables

    return _tables(summary["parts"][0], set())[0]["glances"]


@pytest.mark.parametrize(("dataset", "label"), [("Mini", "stand-in for Reuters"), ("Drawn", "generated data")])
def test_what_is_not_of_the_paper_has_a_label_and_no_published_column(page, summary, dataset, label, parse):
    shown = parse(page(summary))
    assert shown.table(f"ACC on {dataset}")[0][:3] == ["Method", "File order", "Shuffled"]
    assert shown.line("Best method", dataset)[:2] == [f"{dataset} {label}", "–"]
    assert shown.line("The data", dataset)[0] == f"{dataset} {label}"
    assert "0.777" not in shown.text  # what a faulty summary says was published
    assert label not in shown.line("Best method", "MSRC")[0]


def test_cells_without_a_result_say_why(page, summary, parse):
    text = page(summary)
    shown = parse(text)
    assert shown.line("ACC on MSRC", "Dense")[1:4] == ["OM", "OM", "not run yet"]
    assert '<a href="#not-run" title="needs 38 GiB, 20 GiB free">OM</a>' in text
    assert '<abbr title="OM">OM</abbr>' in text
    assert shown.table("Fits without")[1:] == [
        ["MSRC", "not all runs ended", "1 of 20 runs did not end", "Robust (shuffled)"],
        ["MSRC", "out of memory (OM)", "needs 38 GiB, 20 GiB free", "Dense (file order)"],
        [
            "Caltech",
            "dataset not found",
            "dataset not found: Caltech. Put Caltech.mat there.",
            "Tensor (file order; shuffled)",
        ],
        ["MSRC", "time limit", "time limit of 60 s", "Tensor (shuffled, p = 0.9)"],
        ["generated", "not all runs ended", "3 of 3 runs did not end", "Tensor (n = 400)"],
    ]
    assert shown.line("The data", "Caltech")[1] == "dataset not found: Caltech. Put Caltech.mat there."


@pytest.mark.parametrize(
    ("flagged", "dependent", "few", "verdict"),
    [
        (True, True, False, "⚑ depends on the order of the rows, as its description says"),
        (True, False, True, "⚑ depends on the order of the rows, which its description denies"),
        (False, True, False, "no difference found, though its description says that it depends on the order"),
        (False, False, False, "no difference found"),
        (False, True, True, "too few pairs of runs to say: 9 are needed"),
    ],
)
def test_the_audit_gives_a_verdict(page, summary, flagged, dependent, few, verdict, parse):
    summary["order_audit"][0] |= {"flagged": flagged, "order_dependent": dependent, "too_few_pairs": few}
    shown = parse(page(summary))
    line = shown.line("Order audit of", "Robust")
    assert line == ["Robust", verdict, "0.710", "MSRC", "0.975", "0.625", "−0.350", "0.512"]
    assert ("too few runs to tell for Robust" in shown.text) == (few and not flagged)


def test_the_audit_shows_flagged_methods_first(page, summary, parse):
    assert [row[0] for row in parse(page(summary)).table("Order audit of")] == ["Method", "Tensor", "Robust"]


def test_provenance_and_commands(page, summary, parse):
    shown = parse(page(summary, store="my results.sqlite"))
    for text in ("commit 0123456789abcdef", "numpy 2.4.6", "Linux x86_64, 2 cores, 8.0 GiB memory", "3.12.3"):
        assert text in shown.text
    assert "manyview experiments run paper --store 'my results.sqlite'" in shown.text
    assert "cafe0123beef" in shown.text


def test_figures_are_all_there(page, summary, parse):
    titles = [figure["layout"]["xaxis"]["title"]["text"] for figure in parse(page(summary)).figures()]
    assert titles == ["p of the norm"] * 2 + ["samples n", "mean rank (1 is best)"] + ["seconds for one fit"] * 2


def test_figures_have_words_and_pictures_have_alternatives(page, summary, parse):
    shown = parse(page(summary))
    drawings = [tag for tag in shown.tags("div") if tag.get("class") == "drawing"]
    assert len(drawings) == 6
    assert all(tag["role"] == "img" and len(tag["aria-label"]) > 30 for tag in drawings)
    assert [tag["alt"] for tag in shown.tags("img")][:2] == [
        "Input graph of view gist: Tensor on MSRC, file order",
        "Learned graph: Tensor on MSRC, file order",
    ]


def test_tables_have_captions_and_scopes(page, summary, parse):
    shown = parse(page(summary))
    assert len(shown.tags("caption")) == len(shown.tags("table"))
    assert all("scope" in tag for tag in shown.tags("th"))
    assert all(tag["type"] == "button" for tag in shown.tags("button"))
    targets = {f"#{tag['id']}" for _, tag in shown.elements if "id" in tag}
    assert {tag["href"] for tag in shown.tags("a")} <= targets


def test_hostile_names_stay_text(page, summary, parse):
    names = [
        "MSRC",
        "Mini",
        "Reuters",
        "Tensor",
        "New",
        "gist",
        "paper",
        "The whole evaluation",
        "numpy",
        "Linux x86_64",
    ]
    names += ["Table 2", "p of the norm", "samples n", "n", "needs 38 GiB, 20 GiB free", "0123456789abcdef"]
    hostile = with_names_replaced(copy.deepcopy(summary), {name: HOSTILE + name for name in names})
    plain, shown = parse(page(summary)), parse(page(hostile, store=HOSTILE))
    assert [tag for tag, _ in shown.elements] == [tag for tag, _ in plain.elements]
    assert not [tag for _, tag in shown.elements if any(name.startswith("on") for name in tag)]
    assert "{{ 7 * 7 }}" in shown.text
    # plotly.js reads HTML in names, so they must be escaped in its data as well
    legend = shown.figures()[0]["data"][0]["name"]
    assert html.unescape(legend) == f"{HOSTILE}Tensor, file order"
    for script in shown.scripts:
        assert "<script" not in script
        assert "<img" not in script


def test_the_page_loads_nothing(page, summary, parse):
    text = page(summary)
    shown = parse(text)
    addresses = [tag[name] for _, tag in shown.elements for name in ("src", "href", "action", "data") if name in tag]
    assert addresses
    assert all(address.startswith(("#", "data:image/png;base64,")) for address in addresses)
    assert not shown.tags("link")
    assert "@import" not in text
    assert "url(" not in text
    assert "http:" not in text
    assert "https:" not in text
    (policy,) = [tag["content"] for tag in shown.tags("meta") if tag.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")


def test_a_summary_without_results_says_so(page, nothing_run, parse):
    shown = parse(page(nothing_run))
    for sentence in (
        "No point of this figure is measured yet.",
        "No time is measured yet.",
        "No graph is kept yet.",
        "There are too few results on shuffled rows for a ranking; it takes two datasets or more.",
        "No fit on shuffled rows is done yet.",
        "No method has been run in both orders yet.",
        "No run has written a result yet.",
    ):
        assert sentence in shown.text
    assert shown.figures() == []
    assert shown.line("ACC on MSRC", "Tensor")[1:4] == ["0.985", "not run yet", "not run yet"]


def test_a_summary_without_parts_says_so(page, nothing_run, parse):
    shown = parse(page(nothing_run | {"parts": [], "datasets": [], "ranking": None}))
    assert "There is no table in this experiment." in shown.text
    assert "This experiment names no dataset." in shown.text
    assert "No fit failed." in shown.text


def test_the_summary_is_not_changed(page, summary):
    before = copy.deepcopy(summary)
    page(summary)
    assert summary == before


def test_plotly_is_in_the_page_once_and_the_page_is_not_large(summary):
    text = render(summary)
    assert 4e6 < len(text) < 8e6
    assert len(re.findall(r"\* plotly\.js v\d", text)) == 1
    assert text.count("<script>") == 2
