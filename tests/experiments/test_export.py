from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manyview.cli._experiment_tables import summary_tables
from manyview.experiments import Store, results, to_csv, to_latex, to_markdown
from manyview.experiments._model import Spec
from manyview.experiments.frame import COLUMNS
from manyview.metrics import SCORE_TITLES, SCORES
from manyview.report.experiments import render

COMMAND = "manyview experiments export small"
LATEX = shutil.which("pdflatex") or shutil.which("tectonic")
RUN = {
    **{"id": 1, "started": "2025-01-01T00:00:00+00:00", "version": "0.1.0", "commit": None, "python": "3.12.1"},
    **{"packages": {}, "machine": "a machine", "cores": 2, "memory_bytes": None, "workers": 2},
}


def lines_of(summary, **wanted):
    lines = list(csv.DictReader(io.StringIO(to_csv(summary))))
    return [line for line in lines if all(line[name] == value for name, value in wanted.items())]


def cells_of(line):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def markdown_tables(page):
    """Tables by the heading above them, each a list of lines of cells."""
    tables, heading = {}, ""
    for line in page.splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        elif line.startswith("|"):
            tables.setdefault(heading, []).append(cells_of(line))
    return tables


def test_csv_has_a_line_per_score(everything):
    (line,) = lines_of(everything, part="result1", dataset="MSRC-v5", row="TBGL", protocol="published", score="acc")
    assert (line["mean"], line["std"], line["runs"], line["status"]) == ("0.9952", "0.0", "", "done")
    measured = lines_of(everything, part="result1", dataset="MSRC-v5", row="TBGL", protocol="shuffled")
    assert [line["score"] for line in measured] == ["acc", "nmi"]  # those of the spec
    assert float(measured[0]["mean"]) == pytest.approx(0.7)
    assert (measured[0]["runs"], measured[0]["seconds"], measured[0]["peak_bytes"]) == ("20", "1.0", "1000")


def test_csv_says_why_there_is_no_score(everything):
    (line,) = lines_of(everything, dataset="Reuters600", row="MVGL", protocol="shuffled")
    assert (line["score"], line["mean"], line["status"]) == ("", "", "memory")
    assert line["reason"].endswith("20 GiB are available. Use another.")
    assert lines_of(everything, dataset="Reuters600", protocol="published") == []


def test_csv_has_sweeps_and_growth(everything):
    lines = lines_of(everything, part="p-value", protocol="shuffled", axis="p")
    assert [line["value"] for line in lines if line["score"] in ("acc", "")] == ["0.1", "0.9"]
    assert lines[-1]["status"] == "waiting"
    times = lines_of(everything, part="2com")
    assert [(line["value"], line["score"], line["mean"], line["status"]) for line in times] == [
        ("100.0", "seconds", "15000.0", "done"),
        ("200.0", "seconds", "60000.0", "done"),
        ("400.0", "seconds", "240000.0", "done"),
        ("800.0", "", "", "failed"),
    ]


def test_latex_is_balanced_and_every_line_has_all_columns(everything):
    text = to_latex(everything)
    opened, closed = re.findall(r"\\begin\{(\w+)\}", text), re.findall(r"\\end\{(\w+)\}", text)
    assert sorted(opened) == sorted(closed)
    assert opened.count("table") == 4
    for table in text.split(r"\begin{tabular}")[1:]:
        table = r"\begin{tabular}" + table
        width = len(re.search(r"\\begin\{tabular\}\{(\w+)\}", table)[1])
        body = table.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
        assert len(body) == 4
        assert {len(re.findall(r"(?<!\\)&", line)) + 1 for line in body} == {width}
        assert all(line.endswith(r" \\") for line in body)
    bare = re.sub(r"\\.", "", text)
    assert bare.count("{") == bare.count("}")


def test_latex_shows_three_columns_and_the_best_in_bold(everything):
    tables = to_latex(everything, scores=["acc"]).split(r"\begin{table}")
    assert r"method & published & file order & shuffled \\" in tables[1]
    assert r"TBGL & \textbf{0.995 $\pm$ 0.000} & \textbf{1.000 $\pm$ 0.000} & 0.700 $\pm$ 0.035 \\" in tables[1]
    assert r"MVSC & -- & 0.900 $\pm$ 0.000 (17) & \textbf{0.900 $\pm$ 0.000} (17) \\" in tables[1]
    assert r"Hand\_written \& more: file order, shuffled. Title of result1 (paper, Table 2). Mean $\pm$ " in tables[2]
    assert "over 20 runs. The best of each column is bold." in tables[2]
    assert "over 20 runs; another number of runs is in brackets." in tables[1]
    assert r"TBGL & \textbf{0.995 $\pm$ 0.000} & no data & no data \\" in tables[3]
    assert "Reuters600 (stand-in for Reuters)" in tables[4]
    assert "published" not in tables[4]
    assert r"MVGL & OM & OM \\" in tables[4]


def test_latex_of_an_unknown_score(everything):
    for export in (to_latex, to_csv, lambda summary, **options: to_markdown(summary, "x", **options)):
        with pytest.raises(ValueError, match=r"scores: expected some of acc, nmi, .*, got 'accuracy'"):
            export(everything, scores=["accuracy"])
        with pytest.raises(ValueError, match=r"columns: expected some of published, file-order, shuffled, got 'ours'"):
            export(everything, columns=["ours"])


def test_the_page_says_how_it_was_made(everything):
    page = to_markdown(everything, COMMAND)
    assert page.startswith(f"<!-- Generated by `{COMMAND}`. Do not edit: run the command again. -->\n# A small exp")
    assert "Of 660 fits, 448 are done; 40 ran out of memory; 6 reached their time limit; 4 ended with an error" in page
    assert "160 have no dataset; 2 have not run yet." in page
    assert "| 0.1.0 | 0123456789ab | 3.12.1 | numpy 2.0.0 | a machine | 2 | 8.0 GiB | 2 |" in page
    assert page.count("a machine") == 1
    assert "NMI is divided by the larger of the" in page


def test_the_page_has_the_three_columns_at_a_glance(everything):
    tables = markdown_tables(to_markdown(everything, COMMAND))
    head, _, *lines = tables["MSRC-v5"]
    assert head == [
        "method",
        *("ACC, published", "ACC, file order", "ACC, shuffled"),
        *("NMI, published", "NMI, file order", "NMI, shuffled"),
    ]
    rows = {line[0]: line[1:] for line in lines}
    assert rows["TBGL"][:3] == ["**0.995 ± 0.000**", "**1.000 ± 0.000**", "0.700 ± 0.035"]
    assert rows["TBGL"][3] == "**0.989**"
    assert rows["MVSC"][:3] == ["–", "0.900 ± 0.000 (17)", "**0.900 ± 0.000** (17)"]
    assert rows["MVGL"][0] == "OM"


def test_seven_scores_are_two_tables_with_all_rows(everything):
    """Three columns of seven scores do not fit beside each other; one column of seven does."""
    every = {"scores": list(SCORES)}
    found = markdown_tables(to_markdown(everything, COMMAND, **every))["MSRC-v5"]
    heads = [line for line in found if line[0] == "method"]
    columns = ("published", "file order", "shuffled")
    titles = [f"{SCORE_TITLES[score]}, {column}" for score in SCORES for column in columns]
    assert [len(head) - 1 for head in heads] == [9, 12]
    assert [cell for head in heads for cell in head[1:]] == titles
    assert [line[0] for line in found].count("TBGL") == 2
    reasons = [
        line
        for line in markdown_tables(to_markdown(everything, COMMAND, **every))["Reuters600 (stand-in for Reuters)"]
        if line[0] == "MVGL"
    ]
    assert [cell.startswith("OM: ") for line in reasons for cell in line[1:]] == [True] * 2 + [False] * 12
    one = markdown_tables(to_markdown(everything, COMMAND, **every, columns=["shuffled"]))["MSRC-v5"]
    assert [len(line) for line in one] == [8] * len(one)


def test_the_page_says_where_curves_are_best(everything):
    said = "The paper says: best at label of p = 0.9. Measured here, by ACC: best at 0.1 (file order, 0.800) and 0.1"
    assert f"{said} (shuffled, 0.800).\n\n| label of p | ACC, file order |" in to_markdown(everything, COMMAND)


def test_the_page_shows_the_pictures_that_it_is_given(everything):
    page = to_markdown(everything, COMMAND, pictures={"p-value": ("pictures/p%20value.svg", "A curve | a <line>")})
    assert page.count("![") == 1
    assert "![A curve \\| a &lt;line>](pictures/p%20value.svg)\n\n### " in page


def test_the_page_says_why_cells_are_empty(everything):
    tables = markdown_tables(to_markdown(everything, COMMAND))
    head, _, *lines = tables["Reuters600 (stand-in for Reuters)"]
    assert head == ["method", "ACC, file order", "ACC, shuffled", "NMI, file order", "NMI, shuffled"]
    reason = "OM: MVGL needs about 38 GiB for 30000 samples; 20 GiB are available"
    assert lines[-1] == ["MVGL", reason, reason, "OM", "OM"]
    assert tables["Caltech101-20"][-1][2] == "no data"


def test_a_single_run_has_no_deviation(made, row):
    cells = made.table([made.dataset("A")], [row("MVSC")], seeds=1)
    made.done(cells["A", "MVSC", "shuffled"][0], 4)
    page = to_markdown(made.summary(), COMMAND)
    assert "| MVSC | not run yet | **0.900** |" in page
    assert "Values of a single run." in page


def test_the_page_shows_sweeps_and_growth(everything):
    page = to_markdown(everything, COMMAND)
    tables = markdown_tables(page)
    assert "The paper says: best at label of p = 0.9." in page
    head, _, *lines = tables["TBGL on MSRC-v5"]
    assert head[:3] == ["label of p", "ACC, file order", "ACC, shuffled"]
    assert lines[0][:3] == ["0.1", "0.800", "0.800"]
    assert re.search(r"^`p-value`.* Values of a single run\.$", page, re.MULTILINE)
    assert re.search(r"^`result1`.* Mean ± deviation over 20 runs; another number .*\.$", page, re.MULTILINE)
    assert lines[1] == ["0.9", *["not run yet"] * 4]
    (line,) = tables["Title of 2com"][2:]
    assert line[:4] == ["TBGL", "label of n", "2.00", "1.00"]
    assert line[4] == "100: 1e+04; 200: 4e+04; 400: 1.6e+05; 800: error: ValueError: '&lt;' is not \\| defined"


def test_every_line_of_a_table_has_as_many_cells_as_its_head(everything):
    for table in markdown_tables(to_markdown(everything, COMMAND)).values():
        assert len({len(line) for line in table}) == 1


def test_the_page_gives_the_verdicts_of_the_order_audit(everything):
    lines = {
        line[0]: line
        for line in markdown_tables(to_markdown(everything, COMMAND))["Does the order of the rows matter?"]
    }
    assert lines["TBGL"][1:3] == ["**depends on the order of the rows, as its description says**", "&lt; 0.001"]
    assert lines["TBGL"][3].startswith("MSRC-v5: 1.000 → 0.700 (")
    assert lines["MVSC"][1:3] == ["no difference found", "1.000"]


@pytest.mark.parametrize(
    ("flagged", "expected", "few", "verdict"),
    [
        (True, False, False, "**depends on the order of the rows, which its description denies**"),
        (False, True, False, "no difference found, though its description says that it depends on the order"),
        (False, True, True, "too few pairs of runs to say: 9 are needed"),
        (False, False, True, "too few pairs of runs to say: 9 are needed"),
    ],
)
def test_verdicts_that_differ_from_the_description_say_so(everything, flagged, expected, few, verdict):
    everything["order_audit"][0] |= {"flagged": flagged, "order_dependent": expected, "too_few_pairs": few}
    table = markdown_tables(to_markdown(everything, COMMAND))["Does the order of the rows matter?"]
    assert table[2][:2] == ["MVSC", verdict]


def test_the_page_ranks_methods(everything):
    page = to_markdown(everything, COMMAND)
    table = markdown_tables(page)["Ranking on shuffled rows"]
    assert table[0] == ["method", "mean rank", "MSRC-v5", "Hand_written & more", "Reuters600"]
    assert table[2:] == [
        ["MVSC", "1.33", "1.5", "1.5", "1"],
        ["MVGL", "2.00", "1.5", "1.5", "3 (no result)"],
        ["TBGL", "2.67", "3", "3", "2"],
    ]
    assert "Nemenyi's critical difference at 0.05: 1.91." in page
    assert "- s-CLR (X1): uses a single view\n- Caltech101-20: nothing has run on it" in page


def test_the_page_shows_time_and_memory(everything):
    everything["scatter"] = [
        {"dataset": "A", "row": "MVSC", "seconds": 1.2345, "peak_bytes": 3 * 2**20},
        {"dataset": "B", "row": "TBGL", "seconds": 12.0, "peak_bytes": None},
        {"dataset": "A", "row": "TBGL", "seconds": None, "peak_bytes": None},
    ]
    table = markdown_tables(to_markdown(everything, COMMAND))["Time and memory of a fit"]
    assert table[0] == ["method", "A", "B"]
    assert table[2:] == [["MVSC", "1.23 / 3 MiB", "–"], ["TBGL", "–", "12"]]


def test_the_page_ends_with_what_did_not_run(everything):
    end = to_markdown(everything, COMMAND).split("## What did not run, and why")[1]
    assert "- Caltech101-20: dataset not found: put Caltech101-20.mat into MANYVIEW_DATA." in end
    assert "20 GiB are available: MVGL on Reuters600 (file order), MVGL on Reuters600 (shuffled)" in end
    assert "3 of 20 runs did not end: 3 x did not end within 60 s: MVSC on MSRC-v5 (file order)" in end
    assert "TBGL, label of n = 800" in end


def test_a_page_without_results(made, row):
    made.table([made.dataset("A")], [row("MVSC")])
    page = to_markdown(made.summary(), COMMAND)
    assert "There are not enough results on shuffled rows to rank methods; it takes two datasets or more." in page
    assert "What did not run" not in page
    assert "Does the order" not in page


def test_hostile_names_are_text(everything):
    """A heading that ends its line, a tag, and a carriage return, which many readers take for the end of a line."""
    everything["parts"][0]["title"] = "a\n# b <script>\x1b[2J"
    page = to_markdown(everything, command="x")
    assert "## a # b &lt;script>\\x1b[2J\n" in page
    everything["parts"][0]["tables"][0]["dataset"] = "one\rtwo"
    read = list(csv.DictReader(io.StringIO(to_csv(everything), newline="")))
    assert "one\rtwo" in {line["dataset"] for line in read}
    assert '"one\rtwo"' in to_csv(everything)


# What a spec and a user choose


OWN = ("paper", "published", "ours")


@pytest.fixture
def own(made, row):
    """Two methods on a dataset of one's own: three seeds each, of which one failed."""
    cells = made.table([made.dataset("flowers")], [row("mine", "mine:Mine"), row("MVSC")], seeds=3)
    for (_, name, _), group in cells.items():
        for cell in group:
            if (name, cell.seed, cell.protocol) == ("mine", 2, "shuffled"):
                made.ended(cell, "failed", "ValueError: no")
            else:
                made.done(cell, wrong=4 + cell.seed)
    made.parts[0] = replace(made.parts[0], source="", title="Mine")
    return made


def test_the_scores_of_the_spec_are_honoured(own):
    own.parts[0] = replace(own.parts[0], scores=("ari", "purity"))
    summary = own.summary()
    assert {line["score"] for line in lines_of(summary)} == {"ari", "purity"}
    assert r"\multicolumn{2}{c}{ARI} & \multicolumn{2}{c}{Purity}" in to_latex(summary)
    head = markdown_tables(to_markdown(summary, COMMAND))["flowers"][0]
    assert head == ["method", "ARI, file order", "ARI, shuffled", "Purity, file order", "Purity, shuffled"]
    printed = "\n".join(str(getattr(piece, "plain", "")) for piece in summary_tables(summary))
    assert "flowers: ari, purity" in printed


def test_scores_and_columns_may_be_chosen(own):
    summary = own.summary()
    chosen = {"scores": ["f_score"], "columns": ["shuffled"]}
    lines = list(csv.DictReader(io.StringIO(to_csv(summary, **chosen))))
    assert {(line["score"], line["protocol"]) for line in lines} == {("f_score", "shuffled")}
    assert r"method & shuffled \\" in to_latex(summary, **chosen)
    assert r"\textbf{" in to_latex(summary, **chosen)
    head = markdown_tables(to_markdown(summary, COMMAND, **chosen))["flowers"][0]
    assert head == ["method", "F-score, shuffled"]


def test_captions_state_the_real_number_of_runs(own):
    text = to_latex(own.summary(), ["acc"])
    caption = (
        r"\caption{flowers: file order, shuffled. Mine. Mean $\pm$ deviation over 3 runs; another number of runs is "
    )
    assert caption in text
    assert re.search(r"mine & \S+ \$\\pm\$ \S+ & \S+ \$\\pm\$ \S+ \(2\)", text)
    assert "Mean ± deviation over 3 runs; another number of runs is in brackets." in to_markdown(own.summary(), COMMAND)
    assert "()" not in text


def test_a_paper_is_spoken_of_only_where_there_is_one(own, everything):
    summary = own.summary([RUN])
    for text in (to_latex(summary), to_csv(summary), to_markdown(summary, COMMAND), render(summary)):
        found = re.sub(r"<(style|script).*?</\1>", "", text, flags=re.DOTALL).lower()
        assert not [word for word in OWN if re.search(rf"\b{word}\b", found)]
    assert "published" in to_latex(everything)
    assert "what the paper's table says" in to_markdown(everything, COMMAND)
    assert "printed in the paper" in render(everything)


def test_remarks_on_fits_are_shown_everywhere(own):
    cell = next(
        entry.cell for entry in own.parts[0].entries if (entry.row, entry.cell.protocol) == ("mine", "shuffled")
    )
    own.results[cell.key] = replace(own.results[cell.key], reason="found 4 clusters, not 5")
    summary = own.summary()
    printed = "\n".join(str(getattr(piece, "plain", "")) for piece in summary_tables(summary))
    for text in (to_markdown(summary, COMMAND), render(summary), printed):
        assert "found 4 clusters, not 5 (1 of 2 runs)." in text


def test_negative_scores_have_a_minus(own):
    summary = own.summary()
    summary["parts"][0]["tables"][0]["rows"][1]["shuffled"]["scores"]["ari"] = {"mean": -0.125, "std": 0.01}
    assert r"& $-$0.125 $\pm$ 0.010 \\" in to_latex(summary, ["ari"])


def test_wide_tables_are_put_below_each_other(own):
    summary = own.summary()
    text = to_latex(summary, SCORES)
    blocks = text.split(r"\begin{tabular}")[1:]
    assert len(blocks) == 4
    assert [len(re.findall("multicolumn", block)) for block in blocks] == [2, 2, 2, 1]
    assert text.count(r"\begin{table}") == 1
    table = summary["parts"][0]["tables"][0]
    many = {**table, "rows": [{**table["rows"][0], "name": f"m{i}"} for i in range(20)]}
    long = to_latex({"parts": [{**summary["parts"][0], "tables": [many]}]}, SCORES)
    assert re.findall(r"\\caption\{flowers([:,] \w+)", long) == [": file", ", continued", ", continued", ", continued"]
    assert len(set(re.findall(r"\\label\{(.*?)\}", long))) == 4
    for row in summary["parts"][0]["tables"][0]["rows"]:
        row["name"] += ", with a name that is longer than others"
    assert r"\begin{tabular}{p{80pt}cc" in to_latex(summary, SCORES)


@pytest.mark.skipif(LATEX is None, reason="needs pdflatex or tectonic, to compile the tables")
def test_tables_compile_and_fit_the_page(own, everything, tmp_path):
    for name, text in (("own", to_latex(own.summary(), SCORES)), ("all", to_latex(everything))):
        document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{text}\end{{document}}"
        (tmp_path / f"{name}.tex").write_text(document, encoding="utf-8")
        options = ["-interaction=nonstopmode", "-halt-on-error"] if Path(LATEX).stem == "pdflatex" else ["--keep-logs"]
        done = subprocess.run([LATEX, *options, f"{name}.tex"], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
        assert (tmp_path / f"{name}.pdf").stat().st_size > 1000
        assert "Overfull" not in (tmp_path / f"{name}.log").read_text(encoding="latin-1")


# The data frame


def test_results_as_a_data_frame(own, tmp_path):
    spec = Spec("small", "", tuple(own.parts))
    with Store(tmp_path / "s.sqlite", create=True) as store:
        run = store.begin_run({})
        for cell in spec.cells:
            found = replace(own.results[cell.key], run=run)
            store.add(cell, found, own.facts["flowers"] if found.status == "done" else None)
    frame = results(tmp_path / "s.sqlite")
    assert tuple(frame.columns) == COLUMNS
    assert len(frame) == 12
    failed = frame[frame["status"] == "failed"].iloc[0]
    assert (failed["method"], failed["seed"], failed["order"]) == ("mine:Mine", 2, "shuffled")
    assert failed["reason"] == "ValueError: no"
    assert failed[["acc", "seconds"]].isna().all()
    means = frame[frame["status"] == "done"].groupby(["method", "order"])["acc"].mean()
    assert means["MVSC", "shuffled"] == pytest.approx(np.mean([0.9, 0.875, 0.85]))
    with_rows = results(tmp_path / "s.sqlite", spec)
    assert with_rows.columns[:2].tolist() == ["part", "row"]
    assert set(with_rows["row"]) == {"mine", "MVSC"}
    assert results(tmp_path / "s.sqlite", Spec("none", "", ())).empty
