"""The summary of an experiment as CSV and LaTeX, a comparison of methods as CSV; Markdown is in ``_markdown.py``."""

from __future__ import annotations

import re
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
    check_choice,
    columns_of,
    mean_and_deviation_text,
    runs_text,
    title_of,
    usual_runs,
    values_sentence,
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


def to_csv(summary: Mapping[str, Any], scores: Sequence[str] = (), columns: Sequence[str] = ()) -> str:
    """Write the summary into one long table, one score per line.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.
    scores : sequence of str
        Scores to write, of :data:`manyview.metrics.SCORES`. Default: those that each part of the spec lists.
    columns : sequence of str
        Some of "published", "file-order" and "shuffled". Default: all.

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
    check_choice(scores, columns)
    lines = [
        {"part": part["name"], **line}
        for part in summary["parts"]
        for line in (*_lines_of_tables(part), *_lines_of_curves(part), *_lines_of_growth(part))
        if line.get("score") in (None, "seconds", *(scores or part["scores"]))
        and (not columns or line.get("protocol") in (None, *columns))
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
    entries = [entry for part in spec.parts for entry in part.entries]
    keys = {entry.row: entry.cell.key for entry in entries if entry.cell.seed == first}
    found = {method["name"]: results.get(keys[method["name"]]) for method in comparison["methods"]}
    columns = {
        name: result.labels for name, result in found.items() if result is not None and result.labels is not None
    }
    samples = np.arange(len(next(iter(columns.values()), ()))) if sample_ids is None else sample_ids
    frame = pd.DataFrame({"sample": samples.astype(object), **columns})
    return frame.to_csv(index=False, lineterminator="\n", quoting=quoting(samples.tolist()))


# LaTeX ---------------------------------------------------------------------------------------------------------------

_TEXT_WIDTH = 345.0  # points: article.cls at 10 pt, the narrowest of the usual ones
_GAP = 6.0  # points between two columns
_MAX_LINES = 44  # of tables on a page
_DIGIT, _NARROW, _OTHER = 5.3, 3.0, 4.9  # points of bold characters of \small
_NAME_WIDTH = 80.0  # points of the names of methods, where longer ones are broken


def to_latex(summary: Mapping[str, Any], scores: Sequence[str] = (), columns: Sequence[str] = ()) -> str:
    r"""Write the tables of the summary for a LaTeX document, one per dataset.

    Parameters
    ----------
    summary : dict
        From :func:`manyview.experiments.summarise`.
    scores : sequence of str
        Scores to show, of :data:`manyview.metrics.SCORES`. Default: those that each part of the spec lists.
    columns : sequence of str
        Some of "published", "file-order" and "shuffled". Default: all that the table has.

    Returns
    -------
    str
        ``table`` environments to ``\input`` into a document that uses the package ``booktabs``. The best of each
        column is bold; the caption says over how many runs values are means. Scores that do not fit side by side on a
        page of ``article`` are below each other.

    Examples
    --------
    >>> from manyview.experiments._model import Spec
    >>> from manyview.experiments.export import to_latex
    >>> from manyview.experiments.summary import summarise
    >>> print(to_latex(summarise(Spec("empty", "Nothing yet", ()), {}, {}, [])))
    % Generated by manyview. Needs \usepackage{booktabs} in the preamble.
    """
    check_choice(scores, columns)
    tables = ["% Generated by manyview. Needs \\usepackage{booktabs} in the preamble.\n"]
    for part in summary["parts"]:
        for table in part.get("tables", ()):
            if shown := columns_of(table, columns):
                tables.append(_table(part, table, list(scores or part["scores"]), shown))
    return "\n".join(tables)


def _table(part: Mapping[str, Any], table: Mapping[str, Any], scores: list[str], columns: list[str]) -> str:
    results = [row[column] for row in table["rows"] for column in columns if row[column] is not None]
    usual = usual_runs(results)
    blocks = [_block(table, some, columns, usual) for some in _side_by_side(table, scores, columns, usual)]
    label = f"tab:{_label(part['name'])}-{_label(table['dataset'])}"
    each = max(1, _MAX_LINES // (len(table["rows"]) + 3))  # blocks on a page, each with three lines above its rows
    floats = []
    for start in range(0, len(blocks), each):
        caption = _caption(part, table, columns, results) if start == 0 else f"{title_of(table)}, continued."
        lines = [
            "\\begin{table}[htbp]",
            "\\centering",
            f"\\caption{{{_latex(caption)}}}",
            f"\\label{{{label}{f'-{start // each + 1}' if start else ''}}}",
            "\\medskip",
            "\\small",
            "\\setlength{\\tabcolsep}{3pt}",
            "\\par\\medskip\n".join(blocks[start : start + each]).rstrip(),
            "\\end{table}\n",
        ]
        floats.append("\n".join(lines))
    return "\n".join(floats)


def _side_by_side(
    table: Mapping[str, Any], scores: list[str], columns: list[str], usual: int | None
) -> Iterator[list[str]]:
    """Yield groups of scores that fit beside each other on a page, in their order; at least one score each."""
    names = min(_width(["method", *(row["name"] for row in table["rows"])]), _NAME_WIDTH)
    group: list[str] = []
    taken = names
    for score in scores:
        width = sum(
            _GAP + _width([COLUMN_NAMES[column], *(_visible(row[column], score, usual) for row in table["rows"])])
            for column in columns
        )
        if group and taken + width > _TEXT_WIDTH:
            yield group
            group, taken = [], names
        group.append(score)
        taken += width
    yield group


def _width(texts: Sequence[str]) -> float:
    """Return the width of the longest of these texts, in points; a little too much rather than too little."""
    return max((sum(map(_character_width, text)) for text in texts), default=0.0)


def _character_width(character: str) -> float:
    return _DIGIT if character.isdigit() else _NARROW if character in " .,()" else _OTHER + (character in "±mwMW") * 2.5


def _visible(result: Mapping[str, Any] | None, score: str, usual: int | None) -> str:
    """Return a cell as it is seen, without commands."""
    if result is None:
        return "--"
    text = mean_and_deviation_text(result, score)
    return STATUS_NAMES.get(result["status"], "–") if text is None else text + runs_text(result, usual)


def _block(table: Mapping[str, Any], scores: list[str], columns: list[str], usual: int | None) -> str:
    import pandas as pd

    width, rows = len(columns), table["rows"]
    is_long = _width([row["name"] for row in rows]) > _NAME_WIDTH
    frame = pd.DataFrame(
        [[_cell(row, table["best"], column, score, usual) for score in scores for column in columns] for row in rows],
        index=[("\\raggedright " if is_long else "") + _latex(row["name"]) for row in rows],
        columns=pd.MultiIndex.from_product(
            [[SCORE_TITLES[score] for score in scores], [COLUMN_NAMES[column] for column in columns]],
            names=["", "method"],
        ),
    )
    names = f"p{{{_NAME_WIDTH:g}pt}}" if is_long else "l"
    text = frame.style.to_latex(column_format=names + "c" * frame.shape[1], hrules=True, multicol_align="c")
    # pandas has no rules below the groups of columns
    rules = " ".join(f"\\cmidrule(lr){{{2 + i * width}-{1 + (i + 1) * width}}}" for i in range(len(scores)))
    return text.replace("\\\\\n", f"\\\\\n{rules}\n", 1)


def _cell(row: Mapping[str, Any], best: Mapping[str, Any], column: str, score: str, usual: int | None) -> str:
    result = row[column]
    text = _numbers(_visible(result, score, usual))
    if mean_and_deviation_text(result, score) is None or row["name"] not in best[column].get(score, ()):
        return text
    mean = _numbers(mean_and_deviation_text(result, score) or "")
    return f"\\textbf{{{mean}}}" + runs_text(result, usual)


def _caption(
    part: Mapping[str, Any], table: Mapping[str, Any], columns: Sequence[str], results: Sequence[Mapping[str, Any]]
) -> str:
    names = ", ".join(COLUMN_NAMES[column] for column in columns)
    source = f" ({part['source']})" if part["source"] else ""
    values = f"{values_sentence(results)} The best of each column is bold."
    return f"{title_of(table)}: {names}. {part['title'].removesuffix('.')}{source}. {values}"


def _numbers(text: str) -> str:
    """Escape a value; ARI may be negative, and a hyphen is no minus."""
    return re.sub(r"^-(?=\d)", "$-$", _latex(text))


def _label(text: str) -> str:
    """Replace the characters that LaTeX does not allow in a label."""
    return "".join(character if character.isascii() and character.isalnum() else "-" for character in one_line(text))


def _latex(text: str) -> str:
    """Escape the characters that have a meaning in LaTeX."""
    return "".join(_SPECIAL.get(character, character) for character in one_line(text))
