"""Methods of a user's own: found without being run, checked, and every way in which they can go wrong is an outcome."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import check_views
from manyview.audit import audit_order
from manyview.cluster import ETLMSC, LMVSC, SMSC, TBGL
from manyview.datasets import make_multiview
from manyview.exceptions import SpecError, ViewsError
from manyview.experiments import Store, load_spec, run, runner
from manyview.experiments._model import DONE, FAILED, MEMORY, SHUFFLED, TIME, Cell
from manyview.experiments._process import check_own_method
from manyview.experiments._worker import Datasets, execute
from manyview.experiments.compare import compare_results, comparison_spec
from manyview.experiments.own_methods import (
    arrays_of,
    changes,
    check_labels,
    estimator,
    find,
    load,
    understand,
)

METHODS = """
import os, sys, time
import numpy as np

def by_first_column(views, k, seed):
    '''Thirds of the first column: the same for a sample in every order.'''
    ranks = np.argsort(np.argsort(views[0][:, 0]))
    return ranks * k // len(ranks)

def crashes(views, k, seed):
    print("about to divide")
    return 1 // 0

def exits(views, k, seed):
    print("leaving")
    os._exit(7)

def stops_python(views, k, seed):
    sys.exit("no more")

def segfaults(views, k, seed):
    os.kill(os.getpid(), 11)

def hangs(views, k, seed):
    while True:
        time.sleep(0.05)

def leaks(views, k, seed):
    kept = []
    while True:
        kept.append(np.ones(2**22))
        time.sleep(0.01)

def prints(views, k, seed):
    for _ in range(3000):
        print("x" * 1000)
    os.write(1, b"past Python's own streams")
    print("and so on", file=sys.stderr)
    return by_first_column(views, k, seed)

def asks(views, k, seed):
    input("what now?")

def closes(views, k, seed):
    sys.stdout.close()
    return by_first_column(views, k, seed)

def too_few(views, k, seed):
    return by_first_column(views, k, seed)[1:]

def halves(views, k, seed):
    return by_first_column(views, k, seed) / 2

def missing(views, k, seed):
    return np.where(by_first_column(views, k, seed) == 0, np.nan, 1.0)

def column(views, k, seed):
    return by_first_column(views, k, seed)[:, None]

def nothing(views, k, seed):
    pass

def words(views, k, seed):
    return np.array(["a", "b", "c"])[by_first_column(views, k, seed)]

def scales_in_place(views, k, seed):
    labels = by_first_column(views, k, seed)
    views[1] -= views[1].mean(axis=0)
    views.pop()
    return labels

def with_noise(views, k, seed):
    return by_first_column(views, k, seed).astype(float) - 1

def first_rows(views, k, seed):
    '''Nearest of the first k rows.'''
    table = np.hstack(views)
    return ((table[:, None] - table[:k]) ** 2).sum(axis=2).argmin(axis=1)

class Mine:
    def __init__(self, n_clusters, power=1.0, *, random_state=None, n_jobs=-1):
        self.n_clusters, self.power, self.random_state, self.n_jobs = n_clusters, power, random_state, n_jobs

    def fit(self, views):
        assert self.n_jobs == 1, "one thread"
        assert isinstance(views, list) and all(isinstance(view, np.ndarray) for view in views)
        self.labels_ = by_first_column([np.sign(views[0]) * abs(views[0]) ** self.power], self.n_clusters, 0)
        return self

class Predicts:
    def __init__(self, k, seed):
        self.k, self.seed = k, seed

    def fit_predict(self, views):
        return by_first_column(views, self.k, self.seed)

class NoLabels:
    def __init__(self, n_clusters):
        pass

    def fit(self, views):
        return self

class NoNumber:
    def __init__(self, alpha=1, random_state=0):
        pass

    def fit(self, views):
        pass

class NoFit:
    def __init__(self, n_clusters):
        pass

class Needs:
    def __init__(self, n_clusters, alpha):
        pass

    def fit(self, views):
        pass

def two(views, k):
    pass

mine = Mine(3)
number = 3
"""
SPEC = """
kind = "table"
title = "Mine"
protocols = ["shuffled"]
seeds = 1
scores = ["acc"]
time_limit = 20.0

[[dataset]]
name = "blobs"
generate = { n_samples = 30, n_clusters = 3, noise = 0.1, random_state = 0 }
"""
ROW = '[[row]]\nname = "{name}"\nestimator = "methods:{name}"\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "methods.py").write_text(METHODS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "dont_write_bytecode", sys.dont_write_bytecode)
    yield tmp_path
    sys.modules.pop("methods", None)


@pytest.fixture
def results(folder, monkeypatch):
    """Run rows of the file in processes: results by the name of the row.

    The check before a run, another process for each row, has tests of its own.
    """
    monkeypatch.setattr(runner, "check_own_method", lambda *given: None)

    def results(*names, spec=SPEC, **options):
        (folder / "s.toml").write_text(spec + "".join(ROW.format(name=name) for name in names), encoding="utf-8")
        loaded = load_spec("s.toml")
        with Store("s.sqlite", create=True) as store:
            run(loaded, store, run_code=True, **options)
            found = store.results(cell.key for cell in loaded.cells)
        return {entry.row: found[entry.cell.key] for part in loaded.parts for entry in part.entries}

    return results


# Finding


def test_a_module_or_a_file_in_the_folder_or_an_installed_package(folder):
    (folder / "sub").mkdir()
    (folder / "sub" / "other.py").write_text("import methods\n")
    found = find("methods:Mine", folder)
    assert (found.file, found.module, found.name) == (folder / "methods.py", "methods", "Mine")
    assert find("methods.py:Mine", folder).sha256 == found.sha256
    assert find("sub/other.py:f", folder).root == folder / "sub"
    assert find("sub.other:f", folder).root == folder
    installed = find("sklearn.cluster:KMeans", folder)
    assert installed.file.parts[-3:] == ("sklearn", "cluster", "__init__.py")
    assert installed.root == installed.file.parents[2]


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("mine:Mine", "mine:Mine: there is no mine.py in .*, and no package 'mine' is installed"),
        ("other.py:Mine", "there is no file .*other.py"),
        ("sub/methods:Mine", "sub/methods is no file of Python; expected its path with .py at the end"),
        ("methods:", "expected MODULE:NAME or FILE.py:NAME, such as mine:Mine"),
        ("met hods:Mine", "expected MODULE:NAME"),
        ("math:sqrt", "no package 'math' is installed"),
    ],
)
def test_what_is_not_there(folder, reference, text):
    with pytest.raises(SpecError, match=text):
        find(reference, folder)


def test_a_file_that_is_not_python(folder):
    (folder / "bad.py").write_text("def f(:\n")
    with pytest.raises(SpecError, match=r"bad.py, line 1: not valid Python: invalid syntax"):
        find("bad:f")


def test_the_checksum_changes_with_what_the_file_imports_from_its_folder_and_with_nothing_else(folder):
    (folder / "mine.py").write_text("import numpy, os\nfrom package import part\nimport helper\n")
    (folder / "helper.py").write_text("x = 1\n")
    (folder / "package").mkdir()
    (folder / "package" / "__init__.py").write_text("from . import part\n")
    (folder / "package" / "part.py").write_text("from .deep import y\n")
    (folder / "package" / "deep.py").write_text("y = 1\n")
    (folder / "unused.py").write_text("z = 1\n")
    first = find("mine:f").sha256
    (folder / "unused.py").write_text("z = 2\n")
    assert find("mine:f").sha256 == first
    for changed in ("mine.py", "helper.py", "package/deep.py", "package/__init__.py"):
        text = (folder / changed).read_text()
        (folder / changed).write_text(text + "# more\n")
        assert find("mine:f").sha256 != first, changed
        (folder / changed).write_text(text)
    assert find("mine:f").sha256 == first


def test_finding_executes_nothing(folder):
    (folder / "package").mkdir()
    for file in ("bomb.py", "package/__init__.py", "package/part.py"):
        (folder / file).write_text("raise RuntimeError('executed')\n")
    assert find("bomb:f").name == "f"
    assert find("package.part:f").file.name == "part.py"


# Checking


@pytest.mark.parametrize(
    ("name", "parameters", "text"),
    [
        ("Nine", {}, "methods:Nine: methods.py has no 'Nine'. Did you mean Mine?"),
        ("NoFit", {}, "methods:NoFit: the class has no fit(views). Expected a class with fit(list of arrays)"),
        ("NoNumber", {}, "takes neither n_clusters nor k; it takes (alpha, random_state)"),
        ("Needs", {}, "methods:Needs needs a value for 'alpha', which has no default"),
        ("Mine", {"pwer": 2}, "methods:Mine has no parameter 'pwer'. Did you mean power? It has power, n_jobs."),
        ("two", {}, "methods:two takes (views, k); missing: seed."),
        ("mine", {}, "methods:mine is an object. Name its class, Mine."),
        ("number", {}, "methods:number is a value of type int. Expected a class"),
    ],
)
def test_a_wrong_class_gets_one_clear_line(folder, name, parameters, text):
    code = find(f"methods:{name}")
    with pytest.raises(SpecError) as raised:
        understand(load(code), code.reference, parameters)
    assert text in str(raised.value)
    assert "\n" not in str(raised.value)


def test_an_import_that_fails_says_where(folder):
    (folder / "bad.py").write_text("import numpy\n\nnumpy.nothing_like_this\n")
    with pytest.raises(SpecError, match=r"bad:f cannot be imported: AttributeError: .* \(bad.py, line 3\)"):
        load(find("bad:f"))


def test_a_file_with_the_name_of_a_module_in_use(folder):
    (folder / "json.py").write_text("def f(views, k, seed): pass\n")
    with pytest.raises(SpecError, match=r"a module called json is there already. Rename json.py"):
        load(find("json:f"))


def test_the_check_is_in_a_process_of_its_own(folder):
    check_own_method("methods:Mine", str(folder), [{}, {"power": 2.0}])
    (folder / "ends.py").write_text("import os\nprint('bye', flush=True)\nos._exit(3)\n")
    with pytest.raises(SpecError, match=r"ends:f: the process ended with exit code 3 while it was imported: bye"):
        check_own_method("ends:f", str(folder), [{}])
    with pytest.raises(SpecError, match=r"no parameter 'x'"):
        check_own_method("methods:Mine", str(folder), [{}, {"x": 1}])
    assert not (folder / "__pycache__").exists()


# Labels and input


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (None, "got None"),
        ([0, 1], r"shape \(3,\), got shape \(2,\)"),
        ([[0], [1], [0]], r"got shape \(3, 1\)"),
        ([0.0, 0.5, 1.0], "1 of 3 are not whole; the first is 0.5 at position 1"),
        ([0.0, np.nan, np.inf], "2 of 3 are not finite; the first is nan at position 1"),
        (["a", "b", "a"], "expected whole numbers, got <U1, such as"),
        ([1j, 0, 0], "expected whole numbers, got complex128"),
    ],
)
def test_labels_that_are_nonsense(found, text):
    with pytest.raises(ValueError, match=text):
        check_labels(found, 3, 2)


def test_labels_that_are_accepted():
    for found in ([0.0, 1.0, 0.0], [False, True, False], np.array([0, 1, 0], dtype=np.uint8)):
        labels, notes = check_labels(found, 3, 2)
        assert (labels.tolist(), labels.dtype, notes) == ([0, 1, 0], np.int64, [])


def test_the_method_gets_copies_and_missing_views_as_nan():
    views = make_multiview(12, 2, n_views=2, random_state=0)
    present = np.ones((12, 2), dtype=bool)
    present[3, 1] = False
    checked = check_views(replace(views, present=present))
    first, second = arrays_of(checked)
    assert np.isnan(second[3]).all()
    assert np.isfinite(np.delete(second, 3, axis=0)).all()
    assert changes([first, second], checked) == []
    second[5, 0] += 1
    assert changes([first, second], checked)[0].startswith("changes its input: view1 ")
    second[5, 0] -= 1
    second[3] = 0.0  # fills the missing view in
    assert len(changes([first, second], checked)) == 1
    sparse = check_views([sp.csr_array(views.arrays[0]), views.arrays[1]])
    given = arrays_of(sparse)
    given[0].data *= 2
    assert changes(given, sparse)[0].startswith("changes its input: view0 ")
    assert sparse.arrays[0].data[0] == sp.csr_array(views.arrays[0]).data[0]
    with pytest.raises(ViewsError, match="which a sparse array cannot hold"):
        arrays_of(check_views([views.arrays[0], sp.csr_array(views.arrays[1])], present=present))


# Running


WRONG = {
    "crashes": "ZeroDivisionError: integer division or modulo by zero (methods.py, line 12)",
    "too_few": "labels: expected one per sample, shape (30,), got shape (29,).",
    "halves": "labels: expected whole numbers, but 10 of 30 are not whole; the first is 0.5",
    "missing": "labels: expected whole numbers, but 10 of 30 are not finite; the first is nan",
    "column": "labels: expected one per sample, shape (30,), got shape (30, 1)",
    "nothing": "labels: expected one per sample, got None.",
    "words": "labels: expected whole numbers, got <U1",
    "NoLabels": "TypeError: there is no labels_ after fit(views)",
}


def execute_here(folder, name):
    code = find(f"methods:{name}", folder)
    data = {"generate": {"n_samples": 30, "n_clusters": 3, "noise": 0.1, "random_state": 0}}
    cell = Cell("blobs", data, code.reference, protocol=SHUFFLED, seed=1, code=code.sha256, folder=str(folder))
    return execute(cell, Datasets()).result


@pytest.mark.parametrize("name", WRONG)
def test_what_goes_wrong_is_an_outcome(folder, name):
    found = execute_here(folder, name)
    assert found.status == FAILED
    assert found.reason.startswith(WRONG[name])


@pytest.mark.parametrize(
    ("name", "note"),
    [
        ("Mine", ""),
        ("Predicts", ""),
        ("scales_in_place", "changes its input: view1 (it gets copies, so nothing else is affected)"),
        ("with_noise", "10 of 30 samples have the label -1, which counts as one cluster"),
    ],
)
def test_what_is_remarkable_is_a_note(folder, name, note):
    found = execute_here(folder, name)
    assert (found.status, found.reason) == (DONE, note)
    views = make_multiview(30, 3, noise=0.1, random_state=0)
    ranks = np.argsort(np.argsort(views.arrays[0][:, 0]))  # labels are in the order of the file
    np.testing.assert_array_equal(found.labels - found.labels.min(), ranks * 3 // 30)


def test_a_process_that_ends_or_prints_is_an_outcome_and_the_rest_goes_on(results):
    wrong = {
        "crashes": f"{WRONG['crashes']} Last line that it printed: about to divide",
        "exits": "the process ended with exit code 7",
        "stops_python": "the process ended with exit code 1: no more",
        "segfaults": "the process ended with signal 11 (SIGSEGV)",
        "asks": "EOFError: EOF when reading a line",
    }
    found = results(*wrong, "prints", "closes", workers=2)
    for name, text in wrong.items():
        assert found[name].status == FAILED, name
        assert found[name].reason.startswith(text), name
    for name in ("prints", "closes"):
        assert (found[name].status, found[name].reason) == (DONE, "")


def test_time_and_memory_limits(results):
    found = results("hangs", spec=SPEC.replace("20.0", "2.0"))
    assert (found["hangs"].status, found["hangs"].reason) == (TIME, "stopped after 2 s, its time limit")
    found = results("leaks", "Mine", workers=2, memory_limit=0.75 * 2**30, time_limit=300.0, retry=True)
    assert found["leaks"].status == MEMORY
    assert found["leaks"].reason.endswith("above its memory limit of 0.8 GiB")
    assert found["Mine"].status == DONE


def test_code_of_a_spec_runs_only_if_that_is_said(folder):
    (folder / "s.toml").write_text(SPEC + ROW.format(name="Mine"), encoding="utf-8")
    with Store("s.sqlite", create=True) as store:
        with pytest.raises(SpecError, match=r"s: the row 'Mine' runs code, methods:Mine, found in .*--run-code"):
            run(load_spec("s.toml"), store)
        assert store.runs() == []


def test_a_wrong_class_stops_the_run_before_it_begins(folder):
    (folder / "s.toml").write_text(SPEC + ROW.format(name="Mine") + "parameters = { pwer = 2 }\n", encoding="utf-8")
    with Store("s.sqlite", create=True) as store:
        with pytest.raises(SpecError, match=r"methods:Mine has no parameter 'pwer'. Did you mean power"):
            run(load_spec("s.toml"), store, run_code=True)
        assert (store.runs(), store.starts()) == ([], [])


def test_changed_code_is_run_again_and_unchanged_code_is_not(results, folder):
    first = results("Mine")["Mine"]
    assert results("Mine")["Mine"].run == first.run
    (folder / "methods.py").write_text(METHODS.replace("* k //", "* (k - 1) //"))
    second = results("Mine")["Mine"]
    assert second.key != first.key
    assert second.reason == "found 2 clusters, not 3"
    (folder / "methods.py").write_text(METHODS)
    assert results("Mine")["Mine"].key == first.key


def test_code_that_changes_during_a_run_is_not_run(folder):
    code = find("methods:Mine")
    cell = Cell("blobs", {"generate": {"n_samples": 30}}, "methods:Mine", code=code.sha256, folder=str(folder))
    (folder / "methods.py").write_text(METHODS + "# more\n")
    answer = execute(cell, Datasets())
    assert (answer.result.status, answer.result.reason) == (
        FAILED,
        "methods.py has changed since this run began. Start it again.",
    )


def test_the_folder_does_not_identify_a_cell_and_the_code_does():
    cell = Cell("d", {}, "methods:Mine", code="1" * 64)
    assert cell.key == replace(cell, folder="/elsewhere").key
    assert cell.key != replace(cell, code="2" * 64).key
    assert cell.group != replace(cell, code="2" * 64).group
    ours = Cell("d", {}, "MVSC")
    assert "code" not in ours.description  # keys in stores from before stay valid
    assert ours.key == "fbe2e9e14f9edac564d8327f96ec96ba"


def test_a_spec_names_code_in_its_own_folder(folder):
    (folder / "deep").mkdir()
    (folder / "deep" / "s.toml").write_text(SPEC + ROW.format(name="Mine"), encoding="utf-8")
    with pytest.raises(SpecError, match=r"\[row 'Mine'\] estimator: methods:Mine: there is no methods.py in .*deep"):
        load_spec("deep/s.toml")
    Path("methods.py").rename("deep/methods.py")
    (cell,) = load_spec("deep/s.toml").cells
    assert (cell.folder, cell.estimator) == (str(folder / "deep"), "methods:Mine")
    assert len(cell.code) == 64


def test_a_comparison_calls_methods_by_their_class_unless_two_have_the_same(folder):
    (folder / "other.py").write_text(METHODS)
    names = ["SFMC", "methods:Mine", "methods:prints", "other:prints"]
    spec = comparison_spec({"read": "x.csv"}, names, 3, 1)
    assert [row.name for row in spec.parts[0].rows["data"]] == ["SFMC", "Mine", "methods:prints", "other:prints"]
    found = compare_results(spec, {}, {})
    by_name = {method["name"]: method for method in found["methods"]}
    assert by_name["SFMC"]["code"] is None
    assert by_name["Mine"]["code"]["reference"] == "methods:Mine"
    assert by_name["Mine"]["order_dependent"] is None


# Auditing


def test_the_audit_of_order_flags_a_method_that_starts_from_the_first_rows(folder):
    views = make_multiview(120, 3, noise=0.5, random_state=0)
    views = views.take(np.argsort(views.labels, kind="stable"))
    found = audit_order(estimator(find("methods:first_rows"), 3, 0), views, n_shuffles=3)
    assert (found.estimator, found.passed) == ("first_rows", False)
    for name in ("by_first_column", "Predicts"):
        assert audit_order(estimator(find(f"methods:{name}"), 3, 0), views, n_shuffles=2).passed
    found = {
        method: audit_order(method(3, random_state=0), views, n_shuffles=2) for method in (TBGL, ETLMSC, SMSC, LMVSC)
    }
    assert [method for method, audit in found.items() if not audit.passed] == [TBGL, ETLMSC]


def test_an_error_of_the_method_is_one_line(folder):
    views = make_multiview(30, 3, random_state=0)
    with pytest.raises(SpecError, match=r"methods:crashes failed: ZeroDivisionError: .* \(methods.py, line 12\)"):
        estimator(find("methods:crashes"), 3, 0).fit(views)
    with pytest.raises(SpecError, match=r"methods:column: labels: expected one per sample"):
        estimator(find("methods:column"), 3, 0).fit(views)


def test_what_the_method_prints_is_no_result(folder, capsys):
    estimator(find("methods:prints"), 3, 0).fit(make_multiview(30, 3, random_state=0))
    out, err = capsys.readouterr()
    assert (out, "and so on" in err) == ("", True)
    assert os.getcwd() == str(folder)
