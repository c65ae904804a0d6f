"""Specs: the bundled ones, from a file to cells, and errors about a wrong file."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict
from types import SimpleNamespace

import pytest

from manyview.cluster import available_methods
from manyview.cluster._registry import HOMES, get_method
from manyview.datasets import dataset_info
from manyview.exceptions import SpecError
from manyview.experiments import available_specs, load_spec
from manyview.experiments._model import FILE_ORDER, SHUFFLED, Cell
from manyview.metrics import SCORES

PAPER = ["2com", "result1", "result2", "result3", "p-value", "a-value", "visual", "stand-ins", "others"]
TABLE = """
kind = "table"
title = "Mine"
scores = ["acc", "nmi"]
datasets = ["MSRC-v5"]
protocols = ["file-order", "shuffled"]
seeds = 2

[[row]]
name = "SFMC"
estimator = "SFMC"
parameters = { n_anchors = 0.5 }
"""
SWEEP = (
    TABLE.replace('"table"', '"sweep"') + '[axes.m]\nlabel = "anchors"\nparameter = "n_anchors"\nvalues = [0.1, 0.2]\n'
)
GROWTH = """
kind = "growth"
title = "Mine"
seeds = 2
base = { n_samples = 100, n_views = 3 }
axes.n = { label = "samples", data = "n_samples", values = [100, 200] }
axes.m = { label = "anchors", parameter = "n_anchors", values = [10, 20] }

[[row]]
name = "TBGL"
estimator = "TBGL"
parameters = { n_anchors = 10 }

[[row]]
name = "ETLMSC"
estimator = "ETLMSC"
axes = "n"
"""


@pytest.fixture(scope="module")
def paper():
    return load_spec("paper")


@pytest.fixture
def written(tmp_path):
    """A function: a spec from this text, in a file."""

    def write(text, name="mine.toml"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    return write


def part(spec, name):
    return next(part for part in spec.parts if part.name == name)


def test_bundled_specs_and_all_their_parts_can_be_loaded():
    found = dict(available_specs())
    assert set(found) == {*PAPER, "paper", "quick", "quick-table", "quick-p"}
    for name, title in found.items():
        spec = load_spec(name)
        assert (spec.name, spec.title) == (name, title)
        assert spec.cells


def test_paper_has_every_table_and_figure(paper):
    assert [part.name for part in paper.parts] == PAPER
    assert {part.name: part.kind for part in paper.parts if part.kind != "table"} == {
        "2com": "growth",
        "p-value": "sweep",
        "a-value": "sweep",
        "visual": "graphs",
    }
    assert [part.name for part in paper.parts if part.alone] == ["2com"]


def test_tables_have_all_methods_and_a_row_for_each_view(paper):
    rows = [row.name for row in part(paper, "result1").rows["MSRC-v5"]]
    assert rows[:6] == [f"s-CLR (X{v})" for v in (1, 2, 3, 4, 5)] + ["s-CLR-Concat"]
    assert rows[6:10] == ["Co-train", "Co-reg", "SwMC", "MVGL"]
    assert len(part(paper, "result1").rows["Handwritten4"]) == len(rows) - 1
    every = {method.name for method in available_methods()}
    for name in ("result1", "result2", "others"):
        for found in part(paper, name).rows.values():
            assert {row.estimator for row in found} == every
    assert not [row for found in part(paper, "others").rows.values() for row in found if row.view is not None]


def test_our_method_is_never_tuned(paper):
    for entry in [entry for found in paper.parts if found.kind != "growth" for entry in found.entries]:
        assert entry.cell.estimator != "GraphEnsemble" or entry.cell.parameters == {}


@pytest.mark.parametrize("dataset", ["MSRC-v5", "Handwritten4", "Mnist4"])
def test_published_method_has_its_presets(paper, dataset):
    cells = [c for c in paper.cells if (c.dataset, c.estimator, c.protocol) == (dataset, "TBGL", FILE_ORDER)]
    assert dataset_info(dataset).tbgl_preset.params in [dict(cell.parameters) for cell in cells]


def test_seeds_of_both_protocols(paper):
    counts = Counter((e.dataset, e.row, e.cell.protocol) for e in part(paper, "result1").entries)
    random = {method.name: method.facts.uses_kmeans for method in available_methods()}
    for row in part(paper, "result1").rows["MSRC-v5"]:
        n_runs = 5 if row.name == "SNF" else 20  # as many as in the paper; SNF is not in it
        assert counts["MSRC-v5", row.name, SHUFFLED] == n_runs
        assert counts["MSRC-v5", row.name, FILE_ORDER] == (n_runs if random[row.estimator] else 1)


def test_stand_ins_are_labelled_and_have_no_published_values(paper):
    found = part(paper, "stand-ins")
    assert all(dataset.stand_in_for in ("NUS-WIDE", "Reuters") for dataset in found.datasets)
    assert not found.published
    assert all(
        dataset.stand_in_for is None for other in paper.parts if other is not found for dataset in other.datasets
    )


def test_cells_are_distinct_and_come_by_seed(paper):
    keys = [cell.key for cell in paper.cells]
    assert len(set(keys)) == len(keys)
    assert set(keys) == {entry.cell.key for found in paper.parts for entry in found.entries}
    seeds = [cell.seed for cell in paper.cells]
    assert seeds == sorted(seeds)
    order = {cell.key: number for number, cell in enumerate(paper.cells)}
    firsts = [order[found.entries[0].cell.key] for found in paper.parts]
    assert firsts == sorted(firsts)


def test_cells_can_be_written_and_have_the_same_key_again(paper):
    for cell in paper.cells:
        assert json.loads(cell.message) == json.loads(json.dumps(asdict(cell)))
        assert Cell(**json.loads(cell.description)) == cell
    assert [cell.key for cell in load_spec("p-value").cells] == [cell.key for cell in load_spec("p-value").cells]


def test_a_fit_that_two_parts_need_is_one_cell(paper):
    def keys(name):
        return {entry.cell.key for entry in part(paper, name).entries}

    assert keys("p-value") & keys("result1")  # Handwritten4 at p = 0.6
    assert len(keys("2com")) < len(part(paper, "2com").entries)  # the point where all axes meet


def test_quick_needs_no_files():
    assert not [cell for cell in load_spec("quick").cells if "fetch" in cell.source]


def test_sweep(written):
    (found,) = load_spec(written(SWEEP)).parts
    points = [(e.axis, e.value, e.cell.parameters, e.cell.protocol) for e in found.entries if e.cell.seed == 0]
    assert points == [("m", x, {"n_anchors": x}, p) for x in (0.1, 0.2) for p in (FILE_ORDER, SHUFFLED)]
    assert found.axes == {"m": "anchors"}


def test_a_row_of_a_table_may_have_seeds_of_its_own(written):
    (found,) = load_spec(written(TABLE + "seeds = 7\n")).parts
    assert {entry.cell.seed for entry in found.entries if entry.cell.protocol == SHUFFLED} == set(range(7))


def test_a_row_of_growth_may_have_seeds_of_its_own(written):
    (usual,) = load_spec(written(GROWTH)).parts
    (found,) = load_spec(written(GROWTH + "seeds = 7\n")).parts  # of the last row, ETLMSC
    assert {entry.cell.seed for entry in found.entries if entry.row == "ETLMSC"} == set(range(7))
    assert [e.cell for e in found.entries if e.row == "TBGL"] == [e.cell for e in usual.entries if e.row == "TBGL"]


def test_growth_of_a_row_with_sizes_of_its_own(written):
    (found,) = load_spec(written(GROWTH + "sizes = { n = [50, 70] }\n")).parts
    values = {row: {e.value for e in found.entries if (e.row, e.axis) == (row, "n")} for row in ("TBGL", "ETLMSC")}
    assert values == {"TBGL": {100, 200}, "ETLMSC": {50, 70}}


def test_growth(written):
    (found,) = load_spec(written(GROWTH)).parts
    points = [
        (e.row, e.axis, e.value, e.cell.source["generate"]["n_samples"], dict(e.cell.parameters))
        for e in found.entries
        if e.cell.seed == 1
    ]
    assert points == [
        ("TBGL", "n", 100, 100, {"n_anchors": 10}),
        ("TBGL", "n", 200, 200, {"n_anchors": 10}),
        ("TBGL", "m", 10, 100, {"n_anchors": 10}),
        ("TBGL", "m", 20, 100, {"n_anchors": 20}),
        ("ETLMSC", "n", 100, 100, {}),
        ("ETLMSC", "n", 200, 200, {}),
    ]
    assert {row.name for row in found.rows["generated, n=200"]} == {"TBGL", "ETLMSC"}


def test_own_row_replaces_the_shared_one(written):
    (found,) = load_spec(
        written(TABLE.replace("seeds", 'methods = ["SFMC", "TBGL"]\nseeds').replace("0.5", "0.3"))
    ).parts
    assert [(row.name, dict(row.parameters)) for row in found.rows["MSRC-v5"]] == [
        ("SFMC", {"n_anchors": 0.3}),
        ("TBGL", {}),
    ]


def test_own_parts_lie_beside_the_file_that_names_them(written, monkeypatch, tmp_path):
    written(TABLE)
    spec = load_spec(written('title = "Both"\nparts = ["mine.toml", "visual"]\n', "both.toml"))
    assert [part.name for part in spec.parts] == ["mine", "visual"]
    monkeypatch.chdir(tmp_path)
    assert load_spec("both.toml").cells == spec.cells


def test_a_method_of_the_registry_needs_no_row_here(written, monkeypatch):
    class Toy(get_method("MVSC").estimator):
        pass

    monkeypatch.setitem(sys.modules, "manyview.cluster._toy", SimpleNamespace(Toy=Toy))
    monkeypatch.setitem(HOMES, "Toy", "_toy")
    rows = part(load_spec("result1"), "result1").rows["MSRC-v5"]
    assert (rows[-1].name, rows[-1].estimator, dict(rows[-1].parameters)) == ("Toy", "Toy", {})
    (found,) = load_spec(written(TABLE.replace("seeds", 'methods = "Toy"\nseeds'))).parts
    assert [row.name for row in found.rows["MSRC-v5"]] == ["Toy", "SFMC"]


def test_reading_specs_imports_pydantic_and_nothing_else_does():
    code = "import sys, manyview.experiments; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


PUBLISHED = '\n[published.MSRC-v5]\nSFMC = "0.8±0.1 0.7"\n'


def test_published_values(written):
    (found,) = load_spec(written(TABLE + PUBLISHED)).parts
    assert found.published == {"MSRC-v5": {"SFMC": {"acc": (0.8, 0.1), "nmi": (0.7, None)}}}
    (found,) = load_spec(written(TABLE + PUBLISHED.replace("0.8±0.1 0.7", "OM"))).parts
    assert found.published == {"MSRC-v5": {"SFMC": "OM"}}


WRONG = {
    "unknown key": (TABLE.replace("seeds", "seedz = 1\nseeds"), r"seedz: no such key; .* Did you mean 'seeds'\?"),
    "missing key": (TABLE.replace("title", "note"), r"mine\.toml: title: missing\. Add this key"),
    "kind": (TABLE.replace('"table"', '"tables"'), r"kind: expected one of table, sweep, .*; got 'tables'"),
    "text for a number": (TABLE.replace("seeds = 2", 'seeds = "2"'), r"seeds: expected a whole number, got '2'"),
    "true for a number": (TABLE.replace("seeds = 2", "seeds = true"), r"seeds: expected a whole number, got True"),
    "no seed": (TABLE.replace("seeds = 2", "seeds = 0"), r"seeds: expected at least 1, got 0"),
    "estimator": (TABLE.replace('= "SFMC"\npar', '= "SMFC"\npar'), r"\[row 'SFMC'\] estimator: .* got 'SMFC'"),
    "parameter": (TABLE.replace("n_anchors", "n_anchor"), r"\[row 'SFMC'\] parameters: .* Did you mean 'n_anchors'\?"),
    "value": (
        TABLE.replace("0.5 }", "-1.0 }"),
        r"\[row 'SFMC'\] parameters: The 'n_anchors' parameter of SFMC must be",
    ),
    "runner's": (TABLE.replace("n_anchors = 0.5", "random_state = 1"), r"parameters: .* got 'random_state'"),
    "former name": (TABLE.replace('estimator = "SFMC"', 'estimator = "InvariantTBGL"'), "is called GraphEnsemble now"),
    "score": (TABLE.replace('"nmi"', '"nmj"'), r"scores: expected one of acc, .* got 'nmj'"),
    "score twice": (TABLE.replace('"nmi"', '"acc"'), r"scores: has 'acc' more than once"),
    "protocol": (
        TABLE.replace('"shuffled"', '"sorted"'),
        r"protocols: expected one of file-order, shuffled; got 'sorted'",
    ),
    "dataset": (TABLE.replace("MSRC-v5", "MSRC-v6"), r"datasets: .* got 'MSRC-v6'\. Did you mean 'MSRC-v5'\?"),
    "no dataset": (TABLE.replace('datasets = ["MSRC-v5"]\n', ""), r"datasets: expected at least one"),
    "row twice": (TABLE + '[[row]]\nname = "SFMC"\nestimator = "TBGL"\n', r"row: has 'SFMC' more than once"),
    "axes of a table": (SWEEP.replace("sweep", "table"), r"axes: expected none, as kind is 'table'"),
    "no methods": (TABLE.partition("[[row]]")[0], r"methods: expected at least one, here or as \[\[row\]\]"),
    "sweep without": (TABLE.replace('"table"', '"sweep"'), r"axes: expected at least one, as kind is 'sweep'"),
    "axis": (SWEEP.replace('parameter = "n_anchors"\n', ""), r"\[axes\.m\] parameter: missing"),
    "axis values": (SWEEP.replace("0.2", "0.1"), r"\[axes\.m\] values: has 0\.1 more than once"),
    "method": (TABLE.replace("seeds", 'methods = "MVSCC"\nseeds'), r"methods: .* got 'MVSCC'\. Did you mean 'MVSC'"),
    "other dataset": (
        TABLE + "per_dataset.ORL = { n_anchors = 3 }\n",
        r"\[row 'SFMC'\] per_dataset: expected one of MSRC-v5; got 'ORL'",
    ),
    "published row": (TABLE + PUBLISHED.replace("SFMC", "TBGL"), r"\[published\.MSRC-v5\] TBGL: expected one of SFMC"),
    "published dataset": (
        TABLE + PUBLISHED.replace("MSRC-v5", "ORL"),
        r"published: expected one of MSRC-v5; got 'ORL'",
    ),
    "published count": (TABLE + PUBLISHED.replace(" 0.7", ""), r"SFMC: expected 2 values, one per score, got 1"),
    "published value": (TABLE + PUBLISHED.replace("0.7", "0,7"), r"SFMC: expected numbers, mean±deviation, got"),
    "stated": (SWEEP + "[stated]\nORL = 0.1\n", r"\[stated\] ORL: expected one of MSRC-v5"),
    "growth of a preset": (GROWTH + 'preset = "tbgl_preset"\n', r"\[row 'ETLMSC'\] preset: has no meaning in a part"),
    "growth axis": (
        GROWTH.replace('axes = "n"', 'axes = "k"'),
        r"\[row 'ETLMSC'\] axes: expected one of n, m; got 'k'",
    ),
    "growth sizes": (
        GROWTH + "sizes = { m = [10] }\n",
        r"\[row 'ETLMSC'\] sizes: expected one of n; got 'm'",
    ),
    "sizes of a table": (TABLE + "sizes = { n = [10] }\n", r"\[row 'SFMC'\] sizes: has no meaning in a part of kind"),
    "growth data": (GROWTH.replace("n_views = 3", "n_view = 3"), r"\[base\] n_view: .* Did you mean 'n_views'\?"),
    "growth stated": (GROWTH + "[stated.TBGL]\nk = 1\n", r"\[stated\.TBGL\] k: expected one of n, m"),
    "growth axis of two": (
        GROWTH.replace('data = "n_samples"', 'data = "n_samples", parameter = "n_anchors"'),
        r"\[axes\.n\] parameter: expected what is varied: either this, or data",
    ),
    "axis of a text": (SWEEP.replace("0.2", '"0.2"'), r"\[axes\.m\] values: expected a number, got '0\.2'"),
    "score of a number": (TABLE.replace('"nmi"', "1"), r"scores: expected a text, got 1"),
    "no score": (TABLE.replace('["acc", "nmi"]', "[]"), r"scores: expected at least one, got \[\]"),
    "text for a table": (TABLE.replace("{ n_anchors = 0.5 }", "'n'"), r"\[row 'SFMC'\] parameters: expected a table"),
    "number for a list": (TABLE.replace('["MSRC-v5"]', "1"), r"datasets: expected a list, got 1"),
    "row without a name": (TABLE.replace('name = "SFMC"', ""), r"\[row 1\] name: missing"),
    "rows of numbers": (TABLE.partition("[[row]]")[0] + "row = [1]", r"row: expected a table, got 1"),
    "unknown key of a row": (TABLE + "notes = 'n'", r"\[row 'SFMC'\] notes: no such key; .* Did you mean 'note'\?"),
    "published number": (
        TABLE + "[published.MSRC-v5]\nSFMC = 1",
        r"\[published\.MSRC-v5\] SFMC: expected a text, got 1",
    ),
    "stated text": (SWEEP + "[stated]\nMSRC-v5 = 'x'\n", r"\[stated\] MSRC-v5: expected a number, got 'x'"),
    "not TOML": ("kind = table", r"mine\.toml: not a TOML file: "),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_spec_is_refused(written, what):
    text, message = WRONG[what]
    with pytest.raises(SpecError, match=message) as error:
        load_spec(written(text))
    assert str(error.value).startswith("mine.toml: ")


def test_stand_in_has_no_published_row(written):
    text = TABLE.replace('datasets = ["MSRC-v5"]\n', "") + '[[dataset]]\nname = "MSRC-v5"\nfetch = "MSRC-v5"\n'
    with pytest.raises(SpecError, match=r"published: expected one of ; got 'MSRC-v5'"):
        load_spec(written(text + 'stand_in_for = "NUS-WIDE"\n' + PUBLISHED))


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ('load = "digit"', r"\[dataset 'mine'\] load: expected one of digits, mnist; got 'digit'"),
        ("generate = { n_sample = 3 }", r"\[dataset 'mine'\.generate\] n_sample: .* Did you mean 'n_samples'"),
        ("first = 3", r"\[dataset 'mine'\] name: expected exactly one of the keys fetch, load, read and generate"),
    ],
)
def test_dataset_of_ones_own(written, keys, message):
    with pytest.raises(SpecError, match=message):
        load_spec(written(f'{TABLE}\n[[dataset]]\nname = "mine"\n{keys}\n'))


def test_one_name_is_one_dataset(written):
    for name, n in (("a", 50), ("b", 60)):
        own = f'[[dataset]]\nname = "blobs"\ngenerate = {{ n_samples = {n} }}\n'
        written(TABLE + own, f"{name}.toml")
    with pytest.raises(SpecError, match=r"both\.toml: parts: 'blobs' in 'b' is not the one of 'a'"):
        load_spec(written('title = "Both"\nparts = ["a.toml", "b.toml"]\n', "both.toml"))


def test_no_such_spec(tmp_path):
    with pytest.raises(SpecError, match=r"no spec called 'papers'; there are 2com, .* must end in \.toml"):
        load_spec("papers")
    with pytest.raises(SpecError, match=r"mine\.toml: no such file"):
        load_spec(tmp_path / "mine.toml")


def test_scores_of_the_tables(paper):
    assert part(paper, "result1").scores == part(paper, "a-value").scores == SCORES


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"a = " + b"[" * 5000, r"odd\.toml: not a TOML file: maximum recursion"),
        (b"a = " + b"9" * 5000, r"odd\.toml: not a TOML file: Exceeds the limit"),
        (b"a." * 5000 + b"a = 1", r"odd\.toml: not a TOML file: a line with more than 500 dots"),
        (b"a = '\xff'", r"odd\.toml: not a TOML file, which is UTF-8"),
        (b"title = 't'\nparts = ['nothing']", r"odd\.toml: no spec called 'nothing'"),
        (
            TABLE.replace("seeds = 2", "seeds = 100000000").encode(),
            r"odd\.toml: seeds: expected at most 1000, got 100000000",
        ),
    ],
)
def test_a_file_made_to_break_the_parser(tmp_path, text, message):
    (tmp_path / "odd.toml").write_bytes(text)
    with pytest.raises(SpecError, match=message):
        load_spec(tmp_path / "odd.toml")
