"""Mutation testing: change one thing in a module, run the tests that mirror it, and see whether any fails.

    pip install cosmic-ray==8.7.0
    python tests/mutation/run.py                                    # proximal, tensor, metrics
    python tests/mutation/run.py src/manyview/graphs/similarity.py   # some other module or folder
    python tests/mutation/run.py --again                            # only what the last run did not catch, or not reach
    python tests/mutation/run.py src/manyview/io --share 0.05       # a sample; with --again, the survivors among it

The mutants are those of all operators of Cosmic Ray. Its own way to run them starts pytest anew for each, which takes
hours here; this program collects the tests of a module once, and forks a process per mutant that swaps the changed code
in. Files stay as they are. Kernels run as plain Python (``NUMBA_DISABLE_JIT=1``), hypothesis with the same examples
every time and without looking for smaller ones.

A mutant that runs out of processor time is caught, and counted apart. Left out are mutants that differ in type
annotations only, which no test can see, and those that are no valid Python, which any test would.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import json
import math
import multiprocessing
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "manyview"
FOLDERS = ("proximal", "tensor", "metrics")
MEMORY = 6 * 2**30
NO_TIME = 3  # exit code of a child that ran out of time
OUTCOMES = ("killed", "out of time", "survived")


class Mutant(NamedTuple):
    """One change of one module."""

    module: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str
    source: str
    pointless: bool  # no valid Python, or annotations only

    @property
    def key(self) -> tuple[str, str, int, int]:
        return self.module, self.operator, self.line, self.occurrence


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All single changes that Cosmic Ray's operators without arguments can make."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    classes = {name: get_operator(name) for name in sorted(operator_names())}
    operators = {name: operator() for name, operator in classes.items() if not operator.arguments()}
    module = path.relative_to(SOURCE).as_posix()
    # Function by function: each mutant is parsed again.
    chunks = [child.get_code() for child in get_ast(path.read_text(encoding="utf-8")).children]
    for number, chunk in enumerate(chunks):
        first, plain = "".join(chunks[:number]).count("\n"), without_annotations(chunk)
        nodes = list(ast_nodes(get_ast(chunk)))
        for name, operator in operators.items():
            positions = [at for node in nodes for at in operator.mutation_positions(node)]
            for occurrence, ((line, _), _) in enumerate(positions):
                changed = mutate_code(chunk, operator, occurrence)
                before, after = chunk.splitlines(), changed.splitlines()
                yield Mutant(
                    module=module,
                    operator=name,
                    occurrence=occurrence,
                    line=first + line,
                    before=before[line - 1].strip(),
                    after=after[line - 1].strip() if len(after) == len(before) else "",
                    source="".join([*chunks[:number], changed, *chunks[number + 1 :]]),
                    pointless=without_annotations(changed) in (plain, None),
                )


def without_annotations(source: str) -> str | None:
    """What code does, as text: annotations are never evaluated (``from __future__ import annotations``)."""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # Cosmic Ray takes the star in f(a, *, b) for a product
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            node.returns = None
        elif isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(None)
    return ast.dump(tree)


def swap_in(module: ModuleType, code: CodeType) -> None:
    """Make ``module`` what it would be with other source, for everybody who has imported names from it."""
    new = ModuleType(module.__name__)
    exec(code, vars(new))
    for name, value in vars(new).items():
        old = vars(module).get(name)
        if value is old or name.startswith("__"):
            continue
        if isinstance(value, FunctionType) and isinstance(old, FunctionType) and not value.__closure__:
            old.__code__ = value.__code__
            old.__defaults__, old.__kwdefaults__ = value.__defaults__, value.__kwdefaults__
            continue
        for other in list(sys.modules.values()):
            names = getattr(other, "__dict__", {})
            if other is module or names.get(name) is old:
                names[name] = value


def _by_hypothesis(item: pytest.Item) -> bool:
    """These come last: the report of a failure takes them a second."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


class EachMutant:
    """A pytest plugin that runs the collected tests once for each mutant, in a process of its own."""

    def __init__(self, path: Path, mutants: list[Mutant], results: Path, longest: float | None) -> None:
        self.path, self.mutants, self.results, self.longest = path, mutants, results, longest
        self.killer = multiprocessing.Value("i", 0)  # position of the test that a child is at

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        name = ".".join(("manyview", *self.path.relative_to(SOURCE).with_suffix("").parts))
        module = sys.modules[name]
        if self.longest is not None:
            session.items[:] = [item for item in session.items if self._is_short(session, item, self.longest)]
        self.took = self._without_mutant(session)
        session.items.sort(key=lambda item: (_by_hypothesis(item), self.took[item.nodeid]))
        for mutant in self.mutants:
            outcome = self._try(session, module, mutant)
            with self.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps({**mutant._asdict(), "source": "", "outcome": outcome}) + "\n")
        return True

    def _is_short(self, session: pytest.Session, item: pytest.Item, longest: float) -> bool:
        """Whether a test ends within so many seconds of processor time, passed or not."""
        if (child := os.fork()) == 0:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            signal.setitimer(signal.ITIMER_PROF, longest)  # without a handler: the end of the process
            with contextlib.suppress(BaseException):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
            os._exit(0)
        return os.waitpid(child, 0)[1] == 0

    def _without_mutant(self, session: pytest.Session) -> dict[str, float]:
        """Processor time of each test; they have to pass."""
        there, here = os.pipe()
        if (child := os.fork()) == 0:
            took = {}
            for item in session.items:
                start = time.process_time()
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                took[item.nodeid] = time.process_time() - start
            with os.fdopen(here, "w") as file:
                json.dump(took, file)
            os._exit(bool(session.testsfailed))
        os.close(here)
        with os.fdopen(there) as file:
            took = json.load(file)
        if os.waitpid(child, 0)[1]:
            raise SystemExit(f"The tests of {self.path.name} fail as it is.")
        return took

    def _try(self, session: pytest.Session, module: ModuleType, mutant: Mutant) -> str:
        allowed = 10 + int(10 * sum(self.took.values()))
        if (child := os.fork()) == 0:
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
            resource.setrlimit(resource.RLIMIT_CPU, (allowed, allowed))
            signal.signal(signal.SIGPROF, lambda *_: os._exit(NO_TIME))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            os.dup2(1, 2)
            try:
                swap_in(module, compile(mutant.source, str(self.path), "exec"))
            except BaseException:
                os._exit(1)
            for self.killer.value, item in enumerate(session.items):
                signal.setitimer(signal.ITIMER_PROF, 1 + 5 * self.took[item.nodeid])
                with contextlib.suppress(BaseException):
                    session.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                if session.testsfailed:
                    os._exit(1)
            os._exit(0)
        deadline = time.monotonic() + 10 * allowed  # a thread that waits for ever takes no processor time
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
            if time.monotonic() > deadline:
                os.kill(child, signal.SIGKILL)
            time.sleep(0.005)
        code = os.waitstatus_to_exitcode(ended[1])
        if code == 1:  # the next mutant is often like this one
            session.items.insert(0, session.items.pop(self.killer.value))
            session.items.sort(key=_by_hypothesis)
        return "survived" if code == 0 else "killed" if code == 1 else "out of time"


def mirroring_tests(path: Path) -> Path:
    """``tests/io/test_read.py`` for ``src/manyview/io/_read.py``; the folder where there is no such file."""
    folder = ROOT / "tests" / path.parent.relative_to(SOURCE)
    file = folder / f"test_{path.stem.lstrip('_')}.py"
    return file if file.exists() else folder


def run_module(path: Path, tests: list[str], mutants: list[Mutant], results: Path, longest: float | None) -> None:
    """In a process of its own: collect the tests of ``path`` and run them for every mutant."""
    from hypothesis import Phase, settings

    phases = [Phase.explicit, Phase.generate]
    settings.register_profile(
        "mutation", settings(max_examples=40, derandomize=True, database=None, deadline=None, phases=phases)
    )
    options = ["-q", "-s", "--tb=no", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-p", "no:xdist"]
    # Compiled code wraps around in silence where NumPy's scalars warn, which pyproject.toml makes an error.
    options += ["-W", "ignore:overflow encountered in scalar:RuntimeWarning"]
    code = pytest.main(
        [*tests, *options, "-m", "not slow", "--hypothesis-profile=mutation", f"--rootdir={ROOT}"],
        plugins=[EachMutant(path, mutants, results, longest)],
    )
    if code not in (0, 5):
        raise SystemExit(f"pytest ended with {code} on {path.name}.")


def summary(rows: list[dict[str, Any]], left_out: Counter[str]) -> str:
    """The survivors one by one, then the table per module and folder."""
    text = []
    for row in sorted(rows, key=lambda row: (row["module"], row["line"])):
        if row["outcome"] == "survived":
            text.append(f"{row['module']}:{row['line']}  {row['before']}")
            text.append(f"    -> {row['after'] or 'removed'}   [{row['operator']}]")
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        for part in (row["module"], row["module"].split("/")[0] + "/"):
            counts.setdefault(part, Counter())[row["outcome"]] += 1
    text += ["", f"{'':30}" + "".join(f"{title:>13}" for title in ("mutants", *OUTCOMES, "caught", "left out"))]
    for part, count in sorted(counts.items()):
        caught = 1 - count["survived"] / count.total()
        hidden = sum(n for module, n in left_out.items() if module.startswith(part))
        outcomes = "".join(f"{count[name]:13}" for name in OUTCOMES)
        text.append(f"{part:30}{count.total():13}{outcomes}{caught:13.1%}{hidden:13}")
    text.append("caught: killed or out of time. left out: no valid Python, or annotations only; not among the mutants.")
    return "\n".join(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, help="modules or folders; default: proximal, tensor, metrics")
    parser.add_argument("--tests", nargs="*", default=[], help="test files to run instead of the mirroring one")
    parser.add_argument("--results", type=Path, default=ROOT / "output" / "mutation.jsonl", help="one line per mutant")
    parser.add_argument("--again", action="store_true", help="leave out what the results file has as caught")
    parser.add_argument("--share", type=float, default=1.0, help="of each module's mutants, drawn at random")
    parser.add_argument("--longest", type=float, help="leave out tests that take more seconds, as plain Python")
    parser.add_argument("--compiled", action="store_true", help="compile kernels; for modules without any of their own")
    arguments = parser.parse_args()
    # Children of this process inherit them; conftest.py reads CI.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "CI": "1"}
    if not arguments.compiled:
        os.environ["NUMBA_DISABLE_JIT"] = "1"
    sys.path.insert(0, str(ROOT / "src"))

    paths = [path.resolve() for path in arguments.paths] or [SOURCE / folder for folder in FOLDERS]
    modules = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    results: Path = arguments.results
    results.parent.mkdir(parents=True, exist_ok=True)
    last = [json.loads(line) for line in results.read_text().splitlines()] if arguments.again else []
    # Survivors of modules that are not asked for stay, or the table would call those modules perfect.
    asked = {path.relative_to(SOURCE).as_posix() for path in modules}
    last = [row for row in last if row["outcome"] != "survived" or row["module"] not in asked]
    caught = {(row["module"], row["operator"], row["line"], row["occurrence"]) for row in last}
    results.write_text("".join(json.dumps(row) + "\n" for row in last))

    left_out: Counter[str] = Counter()
    for path in modules:
        if arguments.compiled and "@njit" in path.read_text(encoding="utf-8"):
            parser.error(f"{path}: has kernels; compiled ones come from the cache, without the change.")
        mutants = []
        for mutant in mutants_of(path):
            if mutant.pointless:
                left_out[mutant.module] += 1
            else:
                mutants.append(mutant)
        random.Random(0).shuffle(mutants)  # what is done so far, or asked for, is a fair sample
        mutants = mutants[: math.ceil(arguments.share * len(mutants))]
        # Drawn first, so that the same share again is the same sample.
        mutants = [mutant for mutant in mutants if mutant.key not in caught]
        if not mutants:
            continue
        tests = arguments.tests or [str(mirroring_tests(path))]
        job = path, tests, mutants, results, arguments.longest
        process = multiprocessing.get_context("fork").Process(target=run_module, args=job)
        process.start()
        process.join()
        if process.exitcode:
            sys.exit(process.exitcode)
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    print(summary(rows, left_out))


if __name__ == "__main__":
    main()
