"""What is installed: the dependencies that are declared, used and pinned, and what the wheel and the sdist hold.

The slow tests build both and install the wheel with nothing but its own dependencies into an environment of its own,
for which they need pip and an index.
"""

from __future__ import annotations

import ast
import importlib.metadata
import json
import os
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name as canonical

import manyview
from manyview.datasets import make_multiview

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = Path(manyview.__file__).parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
CORE = {canonical(Requirement(text).name) for text in PROJECT["dependencies"]}
OPTIONAL = {
    canonical(Requirement(text).name): extra
    for extra, texts in EXTRAS.items()
    if extra not in ("dev", "docs", "all")
    for text in texts
}
# The distribution of a module, where its name is another one.
HOMES = {"sklearn": "scikit-learn"}
# Comes with dask, which needs it as we do.
WITH_OTHERS = {"cloudpickle": "dask"}


def of_distribution(module):
    top = module.partition(".")[0]
    return canonical(HOMES.get(top, WITH_OTHERS.get(top, top)))


def imported():
    """Distributions that our modules import: at the top or within functions, and through ``require``."""
    plain, required = set(), {}
    for path in PACKAGE.rglob("*.py"):
        checking = set()
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
                checking |= {id(inner) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if id(node) in checking:
                continue
            if isinstance(node, ast.Import):
                plain |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                plain.add(node.module)
            elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "require":
                extra = next(key.value.value for key in node.keywords if key.arg == "extra")
                name = "".join(part.value for part in getattr(node.args[0], "values", [node.args[0]])[:1])
                required.setdefault(of_distribution(name), set()).add(extra)
    known = set(sys.stdlib_module_names) | {"manyview"}
    return {of_distribution(name) for name in plain if name.partition(".")[0] not in known}, required


def test_what_is_imported_is_declared_and_the_other_way_round():
    plain, required = imported()
    # these where a Dask client is at hand already, or the code runs in a notebook
    assert plain - {"dask", "distributed", "ipython"} == CORE
    # anndata and mudata objects are handed in by those who have them; nothing of them is imported
    assert set(required) | {"anndata", "mudata"} == set(OPTIONAL)
    assert all(extras == {OPTIONAL[name]} for name, extras in required.items())


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    found = {}
    for line in filter(lambda line: line and not line.startswith("#"), lines):
        name, version = re.fullmatch(r"([\w.-]+)==([\w.+!]+)", line).groups()
        assert canonical(name) not in found, f"{name} is pinned twice"
        found[canonical(name)] = version
    return found


def needed(names):
    """Every distribution that these bring with them on this machine, with all that asks for it."""
    asked, waiting = {}, [(canonical(Requirement(text).name), Requirement(text)) for text in names]
    seen = set()
    while waiting:
        name, requirement = waiting.pop()
        asked.setdefault(name, []).append(requirement)
        key = name, frozenset(requirement.extras)
        if key in seen:
            continue
        seen.add(key)
        texts = EXTRAS if name == "manyview" else None
        if texts is not None:
            inner = [text for extra in requirement.extras for text in texts[extra]] + PROJECT["dependencies"]
        else:
            try:
                inner = importlib.metadata.requires(name) or []
            except importlib.metadata.PackageNotFoundError:
                pytest.skip(f"{name} is not installed: make test installs all that is needed for development")
        for text in inner:
            one = Requirement(text)
            extras = requirement.extras or {""}
            if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras):
                waiting.append((canonical(one.name), one))
    return asked


def test_every_dependency_is_pinned_within_its_range():
    pinned = pins()
    others = [name for name in sorted(CORE) if importlib.metadata.version(name) != pinned[name]]
    if others:  # what they need may be others, too
        pytest.skip(f"{', '.join(others)} in other versions than the pinned ones, as with make test-lowest")
    asked = needed(["manyview[dev]"])
    asked.pop("manyview")
    assert set(asked) <= set(pinned)  # nothing that floats
    if sys.version_info < (3, 12):  # and nothing that nobody needs; some packages are for the oldest Python only
        assert set(asked) == set(pinned)
    for name, requirements in asked.items():
        for requirement in requirements:
            assert requirement.specifier.contains(pinned[name], prereleases=True), f"{requirement}, got {pinned[name]}"


def test_every_declared_dependency_has_a_lower_bound_and_no_upper_one():
    for text in [*PROJECT["dependencies"], *(text for texts in EXTRAS.values() for text in texts)]:
        requirement = Requirement(text)
        if requirement.name != "manyview":
            assert [one.operator for one in requirement.specifier] == [">="], text


# What is optional, tried where it is absent: a program, and what its error begins and ends with.
USE = {
    "h5py": (
        "open('a.mat', 'wb').write(b'MATLAB 7.3 MAT-file'.ljust(512) + b'\\x89HDF\\r\\n\\x1a\\n' + bytes(99));"
        "manyview.read_views('a.mat')",
        "Reading MATLAB v7.3 files needs h5py",
    ),
    "openpyxl": ("open('a.xlsx', 'wb').write(b'PK'); manyview.read_views('a.xlsx')", "Reading .xlsx needs openpyxl"),
    "pyarrow": (
        "open('a.parquet', 'wb').write(b'PAR1' + bytes(99) + b'PAR1'); manyview.read_views('a.parquet')",
        "Reading parquet needs pyarrow",
    ),
    "dask": ("manyview.open_views({'a': 'a.npy'})", "Opening views as Dask arrays needs dask"),
    "distributed": (
        "manyview.GraphEnsemble(3, engine='dask').fit(make_multiview(60, random_state=0))",
        "engine='dask' needs distributed",
    ),
    "zarr": (
        "import os; os.mkdir('a.zarr'); open('a.zarr/zarr.json', 'w').write('{}');manyview.open_views({'a': 'a.zarr'})",
        "Reading zarr needs zarr",
    ),
    "matplotlib": (
        "from manyview import plot; plot.convergence("
        "manyview.GraphEnsemble(3, n_members=4).fit(make_multiview(60, random_state=0)))",
        "Drawing needs matplotlib",
    ),
}
TRY = """
import json, sys
programs, blocked = json.loads(sys.argv[1]), json.loads(sys.argv[2])
for name in blocked:
    sys.modules[name] = None  # an import of it is an error, as if it were not installed
import numpy, manyview
from manyview.datasets import make_multiview
from manyview.exceptions import MissingDependencyError
numpy.save("a.npy", numpy.arange(40.0).reshape(20, 2))
said = {}
for name, program in programs.items():
    try:
        exec(program)
    except MissingDependencyError as error:
        said[name] = str(error)
    except BaseException as error:
        said[name] = repr(error)
print(json.dumps(said))
"""


def run(*words, **options):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=1800, **options)
    assert done.returncode == 0, f"{words}: {done.stdout[-3000:]} {done.stderr[-3000:]}"
    return done.stdout


def hints(python, folder, blocked, packages):
    programs = {name: program for name, (program, _) in USE.items()}
    environment = {**os.environ, "PYTHONPATH": packages}
    words = (python, "-c", TRY, json.dumps(programs), json.dumps(blocked))
    return json.loads(run(*words, cwd=folder, env=environment))


HINTS = {name: f'{text}: pip install "manyview[{OPTIONAL[name]}]"' for name, (_, text) in USE.items()}


def test_what_is_optional_says_how_to_get_it(tmp_path):
    assert hints(sys.executable, tmp_path, list(USE), str(PACKAGE.parent)) == HINTS


def test_every_optional_dependency_is_tried():
    assert set(USE) == set(OPTIONAL) - {"anndata", "mudata"}  # of which nothing is imported


# Slow: what is built, and what it does where nothing else is.


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The wheel and the sdist, made as users make them."""
    folder = tmp_path_factory.mktemp("built")
    run(sys.executable, "-m", "venv", folder / "builder")
    python = folder / "builder" / "bin" / "python"
    try:
        run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "build", "twine")
    except AssertionError as error:
        pytest.skip(f"pip cannot install the tools to build with, probably for lack of an index: {str(error)[-300:]}")
    run(python, "-m", "build", "--outdir", folder / "dist", ROOT)
    run(python, "-m", "twine", "check", "--strict", *(folder / "dist").iterdir())
    (wheel,), (sdist,) = (folder / "dist").glob("*.whl"), (folder / "dist").glob("*.tar.gz")
    return wheel, sdist


@pytest.fixture(scope="module")
def fresh(built, tmp_path_factory):
    """A Python with the wheel and its own dependencies, as they are pinned, and nothing else."""
    folder = tmp_path_factory.mktemp("fresh")
    run(sys.executable, "-m", "venv", folder)
    python = folder / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check"]
    run(*pip, "install", "--quiet", "--constraint", ROOT / "constraints.txt", built[0])
    run(*pip, "check")
    return python


@pytest.mark.slow
def test_the_wheel_holds_all_of_the_package_and_nothing_else(built):
    names = set(zipfile.ZipFile(built[0]).namelist())
    kept = {f"manyview/{path.relative_to(PACKAGE)}" for path in PACKAGE.rglob("*") if path.is_file()}
    kept = {name for name in kept if "__pycache__" not in name}
    assert {name for name in names if ".dist-info/" not in name} == kept
    for part in (
        "py.typed",
        "report/templates/run.html",
        "cli/schemas/result.schema.json",
        "experiments/specs/quick.toml",
    ):
        assert f"manyview/{part}" in names
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_the_sdist_holds_all_that_its_tests_need(built):
    with tarfile.open(built[1]) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    tracked = run("git", "ls-files", cwd=ROOT).split("\n") if (ROOT / ".git").exists() else []
    of_the_forge = (".ci", ".github", ".pre-commit-config.yaml", "")
    wanted = {name for name in tracked if name.partition("/")[0] not in of_the_forge and (ROOT / name).exists()}
    assert {name for name in wanted if not name.startswith('"')} - names == set()


@pytest.mark.slow
def test_only_the_declared_dependencies_are_installed(fresh):
    found = {canonical(one["name"]) for one in json.loads(run(fresh, "-m", "pip", "list", "--format", "json"))}
    assert set(OPTIONAL) & found == set()
    assert set(found) >= CORE


@pytest.mark.slow
def test_everything_can_be_imported_with_the_core_dependencies(fresh, tmp_path):
    program = (
        "import importlib, pkgutil, manyview\n"
        "for found in pkgutil.walk_packages(manyview.__path__, 'manyview.'):\n"
        "    if not found.name.endswith('__main__'): importlib.import_module(found.name)\n"
        "for name in manyview.__all__: getattr(manyview, name)\n"
        "print('all')"
    )
    assert run(fresh, "-c", program, cwd=tmp_path) == "all\n"


@pytest.mark.slow
def test_commands_work_with_the_core_dependencies(fresh, tmp_path):
    import pandas

    for name, array in zip("ab", make_multiview(60, n_clusters=3, random_state=0).arrays, strict=False):
        pandas.DataFrame(array).add_prefix("x").to_csv(tmp_path / f"{name}.csv", index=False)
    command = fresh.with_name("manyview")
    run(command, "cluster", "a.csv", "b.csv", "-k", "3", "--out", "out", cwd=tmp_path)
    assert set(os.listdir(tmp_path / "out")) == {"labels.csv", "markers.csv", "result.json", "graph.npz", "report.html"}
    run(command, "demo", "--out", "demo", cwd=tmp_path)
    assert (tmp_path / "demo" / "report.html").is_file()
    assert "graph-ensemble" in run(command, "methods", cwd=tmp_path)
    assert "quick" in run(command, "experiments", "list", cwd=tmp_path)


@pytest.mark.slow
def test_what_is_not_installed_says_how_to_get_it(fresh, tmp_path):
    assert hints(fresh, tmp_path, [], "") == HINTS


@pytest.mark.slow
def test_the_sdist_installs(built, tmp_path):
    run(sys.executable, "-m", "venv", tmp_path / "other")
    python = tmp_path / "other" / "bin" / "python"
    run(python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--no-deps", built[1])
    assert "manyview" in run(python, "-m", "pip", "list")
