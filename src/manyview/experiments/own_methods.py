"""Methods of a user's own: found by name without running them, checked, and called like ours.

A *reference* is ``"mine:Mine"``: a module, or the path of a ``.py`` file, and a class or function in it. :func:`find`
reads the file and nothing more. :func:`load` executes it; experiments do that in worker processes only.
"""

from __future__ import annotations

import ast
import hashlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import json
import os
import random
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from manyview._utils.text import one_line
from manyview.cluster._base import Facts
from manyview.exceptions import SpecError, ViewsError
from manyview.views import Views, check_views

EXPECTED = (
    "Expected a class with fit(list of arrays) and labels_, or a function of views, k and seed that returns labels."
)
_CLUSTERS = ("n_clusters", "k")
_SEEDS = ("random_state", "seed")
_MAX_NAMES = 8  # names that an error lists


@dataclass(frozen=True)
class Code:
    """Where a method of a user's own is.

    Parameters
    ----------
    reference : str
        As it was typed.
    file : Path
        The file of the module.
    module, name : str
        The module, and the class or function in it.
    root : Path
        The folder from which the module is imported.
    sha256 : str
        Checksum of the file and of the files beside it (in a package: of the package) that it imports.
    folder : str
        Where it was looked for.
    """

    reference: str
    file: Path
    module: str
    name: str
    root: Path
    sha256: str
    folder: str


def is_reference(name: str) -> bool:
    """Return whether a name is that of code, and not of a method of this package."""
    return ":" in name


def find(reference: str, folder: str | os.PathLike[str] = "") -> Code:
    """Find the file of a reference without executing anything.

    Parameters
    ----------
    reference : str
        ``"module:Name"`` or ``"path/file.py:Name"``.
    folder : path, default=""
        Where modules are looked for first, and what paths are relative to. Default: the current folder.

    Raises
    ------
    SpecError
        If there is no such file, or it is not Python. Whether it has such a class is not checked here.
    """
    module, _, name = reference.rpartition(":")
    if not module or not name.isidentifier():
        raise SpecError(f"{reference}: expected MODULE:NAME or FILE.py:NAME, such as mine:Mine.")
    base = Path(folder or ".").resolve()
    if module.endswith(".py") or "/" in module or os.sep in module:
        file = (base / module).resolve()
        if not module.endswith(".py"):
            raise SpecError(f"{reference}: {module} is no file of Python; expected its path with .py at the end.")
        if not file.is_file():
            raise SpecError(f"{reference}: there is no file {base / module}.")
        module, root, own = file.stem, file.parent, True
    else:
        if not all(part.isidentifier() for part in module.split(".")):
            raise SpecError(f"{reference}: expected MODULE:NAME or FILE.py:NAME, such as mine:Mine.")
        found = _in_folder(module, base)
        root, own = base, found is not None
        if found is None:
            found, root = _installed(module)
        if found is None:
            beside = f"{module.replace('.', '/')}.py"
            raise SpecError(f"{reference}: there is no {beside} in {base}, and no package {module!r} is installed.")
        file = found
    return Code(reference, file, module, name, root, _checksum(file, module, root, own), str(base))


def _in_folder(module: str, folder: Path) -> Path | None:
    path = folder.joinpath(*module.split("."))
    return next((file for file in (path.with_name(path.name + ".py"), path / "__init__.py") if file.is_file()), None)


def _installed(module: str) -> tuple[Path | None, Path]:
    """Return the file of an installed module, and the folder that holds it; nothing is imported, no parent either."""
    path: Sequence[str] | None = None
    spec, parts = None, module.split(".")
    for end in range(1, len(parts) + 1):
        spec = importlib.machinery.PathFinder.find_spec(".".join(parts[:end]), path)
        if spec is None:
            return None, Path()
        path = list(spec.submodule_search_locations or [])
    if spec is None or spec.origin is None or not spec.origin.endswith(".py"):
        return None, Path()
    file = Path(spec.origin)
    return file, file.parents[len(parts) - (file.name != "__init__.py")]


def _checksum(file: Path, module: str, root: Path, own: bool) -> str:
    """Return the checksum of a file and of what it imports: from the user's folder, or of its own package."""
    package, contents, waiting = module.partition(".")[0], {}, [(file, module)]
    while waiting:
        path, name = waiting.pop()
        if path in contents:
            continue
        contents[path] = content = path.read_bytes()
        try:
            tree = ast.parse(content)
        except (SyntaxError, ValueError) as error:
            where = f"{path.name}, line {error.lineno}" if isinstance(error, SyntaxError) else path.name
            raise SpecError(f"{where}: not valid Python: {getattr(error, 'msg', error)}.") from None
        for imported in _imports(tree, name, path.name == "__init__.py"):
            beside = own or imported.partition(".")[0] == package
            if beside and (other := _in_folder(imported, root)) is not None:
                waiting.append((other, imported))
    digests = sorted(hashlib.sha256(content).hexdigest() for content in contents.values())
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _imports(tree: ast.AST, module: str, is_package: bool) -> Iterator[str]:
    """Yield the modules that a file may import; a name in ``from a import b`` may be a module, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = module.split(".") if is_package else module.split(".")[:-1]
            start = parents[: len(parents) - node.level + 1] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            if base:
                yield base
            yield from (f"{base}.{alias.name}" if base else alias.name for alias in node.names)


# Executing it ------------------------------------------------------------------------------------------------------


def load(code: Code) -> Any:
    """Execute the file and return the class or function. The folder of the module stays on the path of imports.

    Raises
    ------
    SpecError
        If it cannot be imported, or has no such name. The text says where in the file.
    """
    sys.dont_write_bytecode = True  # leave no __pycache__ in the user's folder
    sys.path.insert(0, str(code.root))
    known = sys.modules.get(code.module)
    if known is not None and getattr(known, "__file__", None) != str(code.file):
        raise SpecError(f"{code.reference}: a module called {code.module} is there already. Rename {code.file.name}.")
    try:
        if known is not None:
            module = known
        elif "." in code.module or code.file.name == "__init__.py":
            module = importlib.import_module(code.module)
        else:  # not by the usual way, which takes compiled code of the same second for the same
            spec = importlib.util.spec_from_file_location(code.module, code.file)
            assert spec is not None
            module = importlib.util.module_from_spec(spec)
            sys.modules[code.module] = module
            exec(compile(code.file.read_bytes(), str(code.file), "exec", dont_inherit=True), module.__dict__)
    except Exception as error:
        sys.modules.pop(code.module, None)
        raise SpecError(f"{code.reference} cannot be imported: {explain(error, code)}") from error
    if not hasattr(module, code.name):
        names = [name for name, value in vars(module).items() if _is_method(value, module.__name__)]
        close = get_close_matches(code.name, names, n=1, cutoff=0.5)
        meant = f" Did you mean {close[0]}?" if close else f" It has {', '.join(names[:_MAX_NAMES])}." if names else ""
        raise SpecError(f"{code.reference}: {code.file.name} has no {code.name!r}.{meant}")
    return getattr(module, code.name)


def _is_method(value: Any, module: str) -> bool:
    return (inspect.isclass(value) or inspect.isfunction(value)) and value.__module__ == module


def explain(error: BaseException, code: Code) -> str:
    """Return an error of the user's code in one line, with the last line of that code that it passed."""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_below(frame.filename, code.root)]
    where = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return one_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__) + where


def _is_below(file: str, folder: Path) -> bool:
    return Path(file).is_relative_to(folder)


@dataclass(frozen=True)
class Call:
    """How to call a class or function: the names of its parameters for the number of clusters and the seed."""

    is_class: bool
    clusters: str = ""
    seed: str | None = None
    has_jobs: bool = False


def understand(found: Any, reference: str, parameters: Mapping[str, Any]) -> Call:
    """Return how to call what was found, with these parameters; raise a SpecError that names what is missing."""
    if hasattr(found, "fit") and not inspect.isclass(found):
        raise SpecError(f"{reference} is an object. Name its class, {type(found).__name__}.")
    if not callable(found):
        raise SpecError(f"{reference} is a value of type {type(found).__name__}. {EXPECTED}")
    try:
        signature = inspect.signature(found)
    except (TypeError, ValueError):
        raise SpecError(
            f"{reference}: the names of its parameters are not known. Write a function around it."
        ) from None
    takes = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    if inspect.isclass(found):
        if not any(callable(getattr(found, name, None)) for name in ("fit", "fit_predict")):
            raise SpecError(f"{reference}: the class has no fit(views). {EXPECTED}")
        names = [p.name for p in takes]
        clusters = next((name for name in _CLUSTERS if name in names), _CLUSTERS[0] if takes_any else None)
        if clusters is None:
            raise SpecError(
                f"{reference}: its constructor takes neither n_clusters nor k; it takes ({', '.join(names)}). Add one "
                "of them, or write a function of views, k and seed around it."
            )
        seed = next((name for name in _SEEDS if name in names), None)
        call = Call(True, clusters, seed, "n_jobs" in names)
        others = [p for p in takes if p.name not in (clusters, seed)]
    else:
        positional = [p for p in takes if p.kind is not p.KEYWORD_ONLY]
        has_rest = any(p.kind is p.VAR_POSITIONAL for p in signature.parameters.values())
        if len(positional) < 3 and not has_rest:
            wanted = ("views", "k", "seed")[len(positional) :]
            raise SpecError(
                f"{reference} takes ({', '.join(p.name for p in takes)}); missing: {', '.join(wanted)}. Expected a "
                "function of three arguments: a list of arrays, the number of clusters and a seed."
            )
        call = Call(False)
        others = [p for p in takes if p not in positional[:3]]
    _check_parameters(reference, others, takes_any, parameters)
    return call


def _check_parameters(
    reference: str, others: Sequence[inspect.Parameter], takes_any: bool, parameters: Mapping[str, Any]
) -> None:
    known = [p.name for p in others if p.kind is not p.POSITIONAL_ONLY]
    for name in parameters:
        if name not in known and not takes_any:
            close = get_close_matches(name, known, n=1)
            meant = f" Did you mean {close[0]}?" if close else ""
            listed = f" It has {', '.join(known)}." if known else " It has none to set."
            raise SpecError(f"{reference} has no parameter {name!r}.{meant}{listed}")
    for parameter in others:
        if parameter.default is parameter.empty and parameter.name not in parameters:
            raise SpecError(
                f"{reference} needs a value for {parameter.name!r}, which has no default. Give it one, or set it: "
                f"parameters = {{ {parameter.name} = ... }} in a spec, --set {parameter.name}=... with manyview audit."
            )


# Fitting it --------------------------------------------------------------------------------------------------------


class OwnMethod(BaseEstimator):
    """A method of a user's own as an estimator; :func:`estimator` makes a subclass for each.

    Parameters
    ----------
    n_clusters : int
    random_state : int, default=0
        Given to the method if it has such a parameter. Also the seed of the generators of NumPy and Python.
    n_jobs : int, optional
        Given to the method if it has such a parameter.
    parameters : dict, optional
        Its other parameters.
    """

    code: Code
    found: Any
    facts: Facts
    min_views = 1

    def __init__(
        self,
        n_clusters: int,
        random_state: int = 0,
        n_jobs: int | None = None,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.parameters = parameters

    def fit(self, views: Any, y: Any = None) -> OwnMethod:
        """Fit it in this process. What it prints goes to standard error, and its errors become a SpecError."""
        given = check_views(views, keep_float32=True)
        arrays = arrays_of(given)
        try:
            with redirect_stdout(sys.stderr):
                answer = self.call(arrays)
        except Exception as error:
            raise SpecError(f"{self.code.reference} failed: {explain(error, self.code)}") from error
        try:
            self.labels_, self.notes_ = check_labels(answer, given.n_samples, self.n_clusters)
        except ValueError as error:
            raise SpecError(f"{self.code.reference}: {error}") from None
        self.notes_ += changes(arrays, given)
        return self

    def call(self, arrays: Sequence[Any]) -> Any:
        """Call the method on a list of arrays; return what it gives for labels, not checked."""
        parameters = dict(self.parameters or {})
        found: Any = type(self).found
        how = understand(found, self.code.reference, parameters)
        random.seed(self.random_state)
        np.random.seed(self.random_state)  # noqa: NPY002 - many methods draw from the global generator
        if not how.is_class:
            return found(list(arrays), self.n_clusters, self.random_state, **parameters)
        parameters[how.clusters] = self.n_clusters
        if how.seed is not None:
            parameters[how.seed] = self.random_state
        if how.has_jobs and self.n_jobs is not None:
            parameters.setdefault("n_jobs", self.n_jobs)
        model = found(**parameters)
        if not hasattr(model, "fit"):
            return model.fit_predict(list(arrays))
        model.fit(list(arrays))
        if getattr(model, "labels_", None) is None:
            raise TypeError("there is no labels_ after fit(views)")
        return model.labels_


def estimator(
    code: Code, n_clusters: int, seed: int, n_jobs: int | None = None, parameters: Mapping[str, Any] | None = None
) -> OwnMethod:
    """Import a method of a user's own into this process, and return it as an estimator.

    Raises
    ------
    SpecError
        If it cannot be imported or called.
    """
    found = load(code)
    understand(found, code.reference, parameters or {})
    facts = Facts(
        title=f"{code.name} of {code.file.name}, not a method of manyview",
        paper_name="",
        input_kind="features",
        memory="not known",
        uses_kmeans=True,
        reference="",
    )
    made = type(code.name, (OwnMethod,), {"code": code, "found": staticmethod(found), "facts": facts})
    return made(n_clusters, seed, n_jobs, dict(parameters or {}))


def arrays_of(views: Views) -> list[Any]:
    """Return copies of checked views, for a method that may change them; rows of missing views are NaN."""
    copies = []
    for v, (name, array) in enumerate(zip(views.names, views.arrays, strict=True)):
        copy = array.copy()
        if (present := views.has_view(v)) is not None:
            if sp.issparse(copy):
                raise ViewsError(
                    f"views[{name!r}]: missing views are given as rows of NaN, which a sparse array cannot hold. Leave "
                    "out these samples, or fill them in."
                )
            copy[~present] = np.nan
        copies.append(copy)
    return copies


def changes(arrays: Sequence[Any], views: Views) -> list[str]:
    """Return a note if a method has changed the arrays that it was given."""
    changed = [
        name
        for v, (name, before, after) in enumerate(zip(views.names, views.arrays, arrays, strict=True))
        if not _same(before, after, views.has_view(v))
    ]
    return [f"changes its input: {', '.join(changed)} (it gets copies, so nothing else is affected)"] if changed else []


def _same(before: Any, after: Any, present: np.ndarray | None) -> bool:
    if sp.issparse(before):
        parts = ("indptr", "indices", "data")
        return before.shape == after.shape and all(np.array_equal(getattr(before, p), getattr(after, p)) for p in parts)
    if present is None:
        return np.array_equal(before, after)
    return np.array_equal(before[present], after[present]) and bool(np.isnan(after[~present]).all())


def check_labels(found: Any, n_samples: int, n_clusters: int) -> tuple[np.ndarray, list[str]]:
    """Return labels as whole numbers, and remarks on them; raise a ValueError if they are not one cluster per sample.

    Examples
    --------
    >>> from manyview.experiments.own_methods import check_labels
    >>> check_labels([0.0, 1.0, 1.0, 2.0], 4, 2)
    (array([0, 1, 1, 2]), ['found 3 clusters, not 2'])
    >>> check_labels([[0], [1]], 2, 2)
    Traceback (most recent call last):
    ...
    ValueError: labels: expected one per sample, shape (2,), got shape (2, 1).
    """
    if found is None:
        raise ValueError("labels: expected one per sample, got None.")
    labels = np.asarray(found)
    if labels.shape != (n_samples,):
        raise ValueError(f"labels: expected one per sample, shape ({n_samples},), got shape {labels.shape}.")
    if labels.dtype.kind not in "biuf":
        raise ValueError(f"labels: expected whole numbers, got {labels.dtype}, such as {labels[0]!r}.")
    if labels.dtype.kind == "f":
        for wrong, what in ((~np.isfinite(labels), "not finite"), (labels != np.round(labels), "not whole")):
            if wrong.any():
                first = int(wrong.argmax())
                raise ValueError(
                    f"labels: expected whole numbers, but {np.count_nonzero(wrong)} of {n_samples} are {what}; the "
                    f"first is {labels[first]} at position {first}."
                )
    notes = []
    if noise := np.count_nonzero(labels == -1):
        notes.append(f"{noise} of {n_samples} samples have the label -1, which counts as one cluster")
    if (n_found := len(np.unique(labels))) != n_clusters:
        notes.append(f"found {n_found} clusters, not {n_clusters}")
    return labels.astype(np.int64), notes


def main() -> None:
    """Check methods in a process of their own: a line of JSON on stdin, and the error or null as a line on stdout."""
    asked = json.loads(sys.stdin.readline())
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    reason = None
    try:
        code = find(asked["reference"], asked["folder"])
        found = load(code)
        for parameters in asked["parameters"]:
            understand(found, code.reference, parameters)
    except SpecError as error:
        reason = str(error)
    answers.write(json.dumps(reason) + "\n")
    answers.flush()
    os._exit(0)  # threads of the user's code must not keep the process alive


if __name__ == "__main__":
    main()
