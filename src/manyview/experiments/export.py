"""The summary of an experiment as CSV and LaTeX, a comparison of methods as CSV; Markdown is in ``_markdown.py``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from manyview._utils.files import quoting
from manyview._utils.text import one_line
from manyview.experiments._model import CellResult, Spec
from manyview.experiments.wording import (
    COLUMN_NAMES,
    COLUMNS,
    STATUS_NAMES,
    USUAL_RUNS,
    columns_of,
    mean_and_deviation_text,
    runs_text,
    title_of,
)
from manyview.metrics import SCORE_TITLES, SCORES

_FIELDS = (
    *("part", "dataset", "row", "axis", "value", "protocol", "score", "mean", "std"),
    *("runs", "seconds", "peak_bytes", "status", "reason"),
)
_RUN_FIELDS = ("method", "seed", "status", "reason", *SCORES, "agreement", "seconds", "peak_bytes", "row_order")

_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"},
    **{"±": r"$\pm$", "²": r"$^2$", "·": r"$\cdot$", "×": r"$\times$", "–": "--"},
}


# CSV -----------------------------------------------------------------------------------------------------------------


def to_csv(summary: Mapping[str, Any]) -> str:
    """Write every score of the summary into one long table, one score per line.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.

    Returns
    -------
    str
        Comma-separated values with a header. ``protocol`` is "published", "file-order" or "shuffled". A table cell
        without scores has one line with its ``status`` and ``reason``. Lines of growth have the score "seconds".

    Examples
    --------
    >>> from manyview.experiments._model import Spec
    >>> from manyview.experiments.export import to_csv
    >>> from manyview.experiments.summary import summarise
    >>> print(to_csv(summarise(Spec("empty", "Nothing yet", ()), {}, {}, [])))
    part,dataset,row,axis,value,protocol,score,mean,std,runs,seconds,peak_bytes,status,reason
    """
    lines = [
        {"part": part["name"], **line}
        for part in summary["parts"]
        for line in (*_lines_of_tables(part), *_lines_of_curves(part), *_lines_of_growth(part))
    ]
    return _csv(lines, _FIELDS)


def _csv(lines: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> str:
    import pandas as pd

    texts = [value for line in lines for value in line.values() if isinstance(value, str)]
    # as objects, because whole numbers beside empty cells would become 20.0
    frame = pd.DataFrame(lines, columns=list(columns), dtype=object)
    return frame.to_csv(index=False, lineterminator="\n", quoting=quoting(texts))


def _lines_of_tables(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for table in part.get("tables", ()):
        for row in table["rows"]:
            for column in COLUMNS:
                position = {"dataset": table["dataset"], "row": row["name"], "protocol": column}
                yield from _lines_of_result(position, row[column])


def _lines_of_curves(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for curve in part.get("curves", ()):
        position = {name: curve[name] for name in ("dataset", "row", "protocol")} | {"axis": part["axis"]["name"]}
        for point in curve["points"]:
            yield from _lines_of_result(position | {"value": point["x"]}, point)


def _lines_of_growth(part: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for line in part.get("growth", ()):
        for point in line["points"]:
            position = {"row": line["row"], "axis": line["axis"], "value": point["x"]}
            if "seconds" in point:
                seconds = point["seconds"]
                times = {"score": "seconds", "mean": seconds["mean"], "std": seconds["std"], "seconds": seconds["mean"]}
                yield position | times | {"runs": point["runs"], "status": "done"}
            else:
                yield position | {"status": point["status"], "reason": point["reason"]}


def _lines_of_result(position: Mapping[str, Any], result: Mapping[str, Any] | None) -> Iterator[dict[str, Any]]:
    if result is None:
        return
    ended = {name: result.get(name) for name in ("runs", "seconds", "peak_bytes", "status", "reason")}
    if "scores" not in result:
        yield {**position, **ended}
        return
    for score, value in result["scores"].items():
        yield {**position, "score": score, "mean": value["mean"], "std": value["std"], **ended}


def runs_csv(comparison: Mapping[str, Any]) -> str:
    """Write the runs of a comparison, one line for each run of each method.

    Parameters
    ----------
    comparison : dict
        From :func:`manyview.experiments.compare.compare_results`.

    Returns
    -------
    str
        Comma-separated values with a header; scores are empty where no classes are known.
    """
    lines = [
        {"method": method["name"], "row_order": comparison["row_order"]} | run | (run["scores"] or {})
        for method in comparison["methods"]
        for run in method["runs"]
    ]
    return _csv(lines, _RUN_FIELDS)


def labels_csv(
    comparison: Mapping[str, Any], spec: Spec, results: Mapping[str, CellResult], sample_ids: np.ndarray | None
) -> str:
    """Write the labels of a comparison, one line for each sample: its id (or row, from 0) and its clusters.

    There is a column for each method, in the order of the comparison, with its clusters of the first seed; methods
    without clusters for that seed are left out. Each method numbers its clusters independently.
    """
    import pandas as pd

    first = comparison["seeds"][0]
    keys = {cell.estimator: cell.key for cell in spec.cells if cell.seed == first}
    found = {method["name"]: results.get(keys[method["name"]]) for method in comparison["methods"]}
    columns = {
        name: result.labels for name, result in found.items() if result is not None and result.labels is not None
    }
    samples = np.arange(len(next(iter(columns.values()), ()))) if sample_ids is None else sample_ids
    frame = pd.DataFrame({"sample": samples.astype(object), **columns})
    return frame.to_csv(index=False, lineterminator="\n", quoting=quoting(samples.tolist()))


# LaTeX ---------------------------------------------------------------------------------------------------------------


def to_latex(summary: Mapping[str, Any], scores: Sequence[str] = ("acc", "nmi")) -> str:
    r"""Write the tables of the summary for a LaTeX document, one per dataset.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.
    scores : list of str, default=("acc", "nmi")
        Scores to show of those of a table: "published", "file order" and "shuffled" for each.

    Returns
    -------
    str
        ``table`` environments to ``\input`` into a document that uses the package ``booktabs``. The best of each
        column is bold; the values are means and deviations.

    Examples
    --------
    >>> from manyview.experiments._model import Spec
    >>> from manyview.experiments.export import to_latex
    >>> from manyview.experiments.summary import summarise
    >>> print(to_latex(summarise(Spec("empty", "Nothing yet", ()), {}, {}, [])))
    % Generated by manyview. Needs \usepackage{booktabs} in the preamble.
    """
    unknown = [score for score in scores if score not in SCORE_TITLES]
    if unknown or not scores:
        raise ValueError(f"scores: expected some of {', '.join(map(repr, SCORE_TITLES))}, got {list(scores)!r}.")
    tables = ["% Generated by manyview. Needs \\usepackage{booktabs} in the preamble.\n"]
    for part in summary["parts"]:
        shown = [score for score in scores if score in part["scores"]]
        if shown:
            tables += [_table(part, table, shown) for table in part.get("tables", ()) if columns_of(table)]
    return "\n".join(tables)


def _table(part: Mapping[str, Any], table: Mapping[str, Any], scores: Sequence[str]) -> str:
    import pandas as pd

    columns = columns_of(table)
    width = len(columns)
    frame = pd.DataFrame(
        [[_cell(row, table["best"], column, score) for score in scores for column in columns] for row in table["rows"]],
        index=[_latex(row["name"]) for row in table["rows"]],
        columns=pd.MultiIndex.from_product(
            [[SCORE_TITLES[score] for score in scores], [COLUMN_NAMES[column] for column in columns]],
            names=["", "method"],
        ),
    )
    text = frame.style.to_latex(
        column_format="l" + "c" * frame.shape[1],
        position_float="centering",
        hrules=True,
        multicol_align="c",
        caption=_latex(_caption(part, table, columns)),
        label=f"tab:{_label(part['name'])}-{_label(table['dataset'])}",
    )
    # pandas has no rules below the groups of columns
    rules = " ".join(f"\\cmidrule(lr){{{2 + i * width}-{1 + (i + 1) * width}}}" for i in range(len(scores)))
    return text.replace("\\\\\n", f"\\\\\n{rules}\n", 1)


def _cell(row: Mapping[str, Any], best: Mapping[str, Any], column: str, score: str) -> str:
    result = row[column]
    if result is None:
        return "--"
    text = mean_and_deviation_text(result, score)
    if text is None:
        return _latex(STATUS_NAMES.get(result["status"], "–"))
    marked = f"\\textbf{{{_latex(text)}}}" if row["name"] in best[column].get(score, ()) else _latex(text)
    return marked + runs_text(result)


def _caption(part: Mapping[str, Any], table: Mapping[str, Any], columns: Sequence[str]) -> str:
    names = ", ".join(COLUMN_NAMES[column] for column in columns)
    values = f"Mean ± deviation over {USUAL_RUNS} runs, or as many as in brackets; the best of each column in bold."
    return f"{title_of(table)}: {names}. {part['title']} ({part['source']}). {values}"


def _label(text: str) -> str:
    """Replace the characters that LaTeX does not allow in a label."""
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in one_line(text))


def _latex(text: str) -> str:
    """Escape the characters that have a meaning in LaTeX."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))
