"""The pages that list methods, from what the methods say of themselves: a new method needs no change of a page.

The directives ``{method-facts}`` and ``{method-situations}`` become tables. The pages in ``api`` are made from
``_templates/api``, as autosummary reads files, not what directives become.
"""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterable
from pathlib import Path

import jinja2
import numpy as np
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import manyview
import manyview.solvers
from manyview.cluster import Method, available_methods
from manyview.datasets import make_multiview
from manyview.exceptions import ViewsError

DOCS = Path(__file__).resolve().parents[1]
PAGES = ("index", "building-blocks", "solvers")
"""Pages of the API reference."""


def facts_table() -> str:
    """Return a table with the facts of each method, in Markdown."""
    lines = [
        "| class | what it does | works on | memory | k-means | order of the rows matters | reference |",
        "|---|---|---|---|---|---|---|",
    ]
    for method in available_methods():
        facts = method.facts
        kmeans = "yes" if facts.uses_kmeans else "no"
        order = "**yes**" if facts.order_dependent else "no"
        cells = [f"`{method.name}`", facts.title, facts.input_kind, facts.memory, kmeans, order, facts.reference]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def default(method: Method, parameter: str) -> object:
    """Return the default of a parameter; None if the method does not have it."""
    found = inspect.signature(method.estimator).parameters.get(parameter)
    return None if found is None else found.default


def takes_missing_views(method: Method) -> bool:
    """Try whether a method clusters samples with a missing view."""
    first, second = (np.array(view) for view in make_multiview(40, 2, n_views=2, random_state=0).arrays)
    second[3] = np.nan
    try:
        method.estimator(2, random_state=0).fit([first, second])
    except ViewsError:
        return False
    return True


def grows_slowly(method: Method) -> bool:
    """Return whether memory is linear in the samples; half of the samples as anchors would make it quadratic."""
    return method.facts.memory != "n²" and not isinstance(default(method, "n_anchors"), float)


SITUATIONS: dict[str, Callable[[Method], bool]] = {
    "data of your own, and no wish to tune": lambda m: m.facts.reference == "this package",
    "to repeat the figures of the paper": lambda m: m.name == "TBGL",
    "more than some 5,000 samples: memory grows with n, not with n²": grows_slowly,
    "more than some 50,000 samples: anchors or features, no graph between samples": lambda m: (
        grows_slowly(m) and m.facts.input_kind in ("anchor graphs", "features")
    ),
    "samples with missing views": takes_missing_views,
    "new samples, to be assigned later": lambda m: hasattr(m.estimator, "predict"),
    "the confidence of each label": lambda m: hasattr(m.estimator, "predict_confidence"),
    "words and counts: looks at a view and chooses its scaling": lambda m: default(m, "scaling") == "auto",
    'words and counts: takes `scaling="counts"`': lambda m: default(m, "scaling") is not None,
    'columns in different units: takes `scaling="standardized"`': lambda m: default(m, "scaling") is not None,
    "a result that does not depend on the order of the rows": lambda m: not m.facts.order_dependent,
    "no k-means anywhere": lambda m: not m.facts.uses_kmeans,
    "a single view": lambda m: m.estimator.min_views == 1,
    "more than one machine (Dask)": lambda m: default(m, "engine") is not None,
}
"""What a user may have or want, and whether a method suits."""


def situations_table() -> str:
    """Return a table with the methods that suit each situation, in Markdown."""
    methods = available_methods()
    lines = ["| you have, or want | methods |", "|---|---|"]
    for situation, suits in SITUATIONS.items():
        suitable = [method.name for method in methods if suits(method)]
        others = [method.name for method in methods if method.name not in suitable]
        listed = f"all but {_listed(others)}" if len(others) < len(suitable) else _listed(suitable)
        lines.append(f"| {situation} | {listed} |")
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def reference_page(page: str) -> str:
    """Return a page of the API reference, one of :data:`PAGES`, in reStructuredText."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(DOCS / "_templates" / "api"), trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    return environment.get_template(f"{page}.rst").render(
        methods=[method.name for method in available_methods() if method.name not in manyview.__all__],
        solvers=[found.name for found in pkgutil.iter_modules(manyview.solvers.__path__) if found.name[0] != "_"],
    )


def write_reference(folder: Path) -> None:
    """Write the pages of the API reference; one that is up to date stays as it is, so that it is not built again."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in PAGES:
        path, text = folder / f"{page}.rst", reference_page(page)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


class _Table(SphinxDirective):
    """A table in the place of a directive, whose content is for readers of the file and is left out."""

    has_content = True
    table: Callable[[], str]

    def run(self) -> list[nodes.Node]:
        """Return the table as the page's own parser reads it."""
        node = nodes.Element()
        lines = type(self).table().splitlines()
        self.state.nested_parse(StringList(lines, source=__file__), self.content_offset, node)
        return node.children


class MethodFacts(_Table):
    """``{method-facts}``: the facts of each method."""

    table = staticmethod(facts_table)


class MethodSituations(_Table):
    """``{method-situations}``: the methods that suit each situation."""

    table = staticmethod(situations_table)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives, and write the generated pages before Sphinx looks for files."""
    app.add_directive("method-facts", MethodFacts)
    app.add_directive("method-situations", MethodSituations)
    write_reference(DOCS / "api")
    return {"parallel_read_safe": True, "parallel_write_safe": True}
