"""Tables in a terminal for the answers of ``cluster``, ``audit`` and ``compare``."""

from __future__ import annotations

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from manyview._utils.text import duration, printable
from manyview.audit.result import QUESTIONS, short_answer
from manyview.cli._errors import in_options
from manyview.cli._output import Json, new_table, reasons, words
from manyview.metrics import SCORE_TITLES
from manyview.report._page import memory
from manyview.report.documents import not_settled, scored_samples
from manyview.views import Reading

_MAX_CLUSTERS = 20  # rows of the table of clusters
_MAX_VIEWS = 8  # names of views in a line
_MAX_MARKERS = 3  # of each cluster
_MAX_COLUMNS = 6  # of metadata

_SCORE_ORDER = ("acc", "nmi", "ari", "purity", "f_score", "precision", "recall")
"""Which scores come first where there is no room for all."""

_OTHER_COLUMNS = 48  # columns of the terminal for name, agreement and memory
_TIME_WIDTH = 6  # at least
_SCORE_WIDTH = 13


def print_answer(result: Json, console: Console) -> None:
    """Print what was clustered, what came out, and where it was written.

    Parameters
    ----------
    result : dict
        As ``--json`` prints it.
    console : rich.console.Console
    """
    console.print(words(data_line(result["data"])))
    for line in reading_lines(result["data"]):
        console.print(line)
    console.print(words(_outcome_line(result)))
    if result["graph_families"]:
        console.print(words(_family_line(result["graph_families"])))
    if unsettled := not_settled(result):
        console.print(words(f"Not settled. {unsettled}", "yellow"))
    for piece in candidate_pieces(result["suggestion"]):
        console.print(piece)
    console.print()
    print_clusters(result["clusters"], console, cluster_names(result["description"]))
    for piece in description_pieces(result["description"]):
        console.print(piece)
    if result["scores"] is not None:
        order = result["row_order"].removeprefix("rows ")
        console.print()
        scored = scored_samples(result["data"])
        about = f"against the {result['data']['n_classes']} known classes, rows {order}"
        console.print(words(f"{about}; {scored}:" if scored else f"{about}:"))
        console.print(words(", ".join(f"{SCORE_TITLES[name]} {value:.3f}" for name, value in result["scores"].items())))
    for audit in result["audits"]:
        verdict = Text("passed" if audit["passed"] else "failed", style="green" if audit["passed"] else "red")
        console.print()
        console.print(Text(f"audit of {audit['question']}: ").append(verdict).append(words(f". {audit['verdict']}")))
    console.print()
    for kind in ("labels", "markers", "graph", "result", "report", "model"):
        if (path := result["output"][kind]) is not None:
            print(printable(path))  # not by rich, which would wrap it: it may be copied


def print_description(document: Json, console: Console) -> None:
    """Print what was described, what is in the clusters, and where it was written; ``document`` is as of ``--json``."""
    data, description = document["data"], document["description"]
    pieces: list[RenderableType] = [words(data_line(data)), *reading_lines(data)]
    if document["labels"]["n_labelled"] < data["n_samples"]:
        pieces.append(words(f"{document['labels']['n_labelled']:,} of them have a label"))
    for piece in [*pieces, Text()]:
        console.print(piece)
    clusters = [{**each, "confidence": each["mean_confidence"]} for each in description["clusters"]]
    print_clusters(clusters, console, cluster_names(description))
    for piece in [*description_pieces(description), Text()]:
        console.print(piece)
    for path in document["output"].values():
        if path is not None:
            print(printable(path))


def data_line(data: Json) -> str:
    """Return how many samples there are, and in which views."""
    views = [f"{view['name']} ({_columns_of(view, data['n_samples'])})" for view in data["views"]]
    more = f" and {len(views) - _MAX_VIEWS} more" if len(views) > _MAX_VIEWS else ""
    return (
        f"{_count(data['n_samples'], 'sample')} in {_count(len(views), 'view')}: {', '.join(views[:_MAX_VIEWS])}{more}"
    )


def _columns_of(view: Json, n_samples: int) -> str:
    missing = n_samples - view["n_present"]
    return f"{view['n_features']:,}" + (f"; missing in {missing:,} samples" if missing else "")


def _outcome_line(result: Json) -> str:
    found = result["n_clusters"]
    text = f"{result['method']['name']}: {found} {'cluster' if found == 1 else 'clusters'}"
    text += f" in {duration(result['timings']['fit'])}"
    if (confidence := result["confidence"]) is not None:
        text += f", mean confidence {confidence['mean']:.3f}"
        text += f", {confidence['below_half']:,} samples below 0.5" if confidence["below_half"] else ""
    return text


def _family_line(families: list[Json]) -> str:
    """Return which family of graphs was selected, and how close the next one was."""
    taken, *others = families
    text = f"graphs: {taken['family']} (score {taken['score']:.3f}"
    return text + (f", next best {others[0]['family']} {others[0]['score']:.3f})" if others else ")")


def print_clusters(clusters: list[Json], console: Console, names: list[str]) -> None:
    """Print names, size and mean confidence of the clusters; of a prediction, some may have no sample."""
    with_confidence = any(cluster["confidence"] is not None for cluster in clusters)
    columns = ("cluster", *(["name"] if names else []), "size", *(["mean confidence"] if with_confidence else []))
    table = new_table(*((column, column != "name") for column in columns), right=True)
    for at, cluster in enumerate(clusters[:_MAX_CLUSTERS]):
        name = [words(names[at])] if names else []
        confidence = ["-" if cluster["confidence"] is None else f"{cluster['confidence']:.3f}"]
        table.add_row(str(cluster["cluster"]), *name, f"{cluster['size']:,}", *(confidence if with_confidence else []))
    console.print(table)
    if others := [cluster["size"] for cluster in clusters[_MAX_CLUSTERS:]]:
        console.print(f"and {len(others)} more, of {min(others):,} to {max(others):,} samples")


def cluster_names(description: Json | None) -> list[str]:
    """Return the names of the clusters if they have others than their numbers, else none."""
    clusters = [] if description is None else description["clusters"]
    names = [cluster["name"] for cluster in clusters]
    return names if any(name != f"cluster {number}" for number, name in enumerate(names)) else []


def description_pieces(description: Json | None) -> list[RenderableType]:
    """Return what is in the clusters, in short: a few markers of each, and what goes with them."""
    if description is None:
        return []
    pieces: list[RenderableType] = []
    if description["markers"]:
        pieces += [Text(), words("what sets each cluster apart (AUROC against all other samples; 0.5 is chance):")]
    for cluster in description["clusters"][:_MAX_CLUSTERS] if description["markers"] else ():
        own = [marker for marker in description["markers"] if marker["cluster"] == cluster["cluster"]]
        strongest = sorted(own, key=lambda marker: -abs(marker["auroc"] - 0.5))[:_MAX_MARKERS]
        pieces.append(words(f"{cluster['name']}: {'; '.join(map(_marker, strongest))}"))
    compared = [column for column in description["metadata"] or () if column["kind"] != "left out"]
    if compared:
        pieces += [Text(), words("goes with the clusters: " + "; ".join(map(_association, compared[:_MAX_COLUMNS])))]
    if (test := description["log_rank"]) is not None:
        chance = "not tested" if test["p"] is None else f"log-rank p {test['p']:.2g}"
        medians = ", ".join(
            f"{row['name']} {'not reached' if row['median'] is None else format(row['median'], 'g')}"
            for row in description["survival"]
        )
        pieces += [Text(), words(f"survival: {chance}; median {test['time']}: {medians}")]
    return pieces + [words(note, "dim") for note in description["notes"]]


def _marker(marker: Json) -> str:
    chance = "" if marker["p_corrected"] is None else f", p {marker['p_corrected']:.1g}"
    return f"{marker['direction']} {marker['feature']} ({marker['view']}, {marker['auroc']:.2f}{chance})"


def _association(column: Json) -> str:
    if column["effect"] is None:
        return f"{column['column']} ({column['note']})"
    size = "V" if column["kind"] == "categories" else "η²"
    note = f", {column['note']}" if column["note"] else ""
    return f"{column['column']} ({size} {column['effect']:.2f}, p {column['p_corrected']:.1g}{note})"


def audit_pieces(document: Json) -> list[RenderableType]:
    """Return what :func:`manyview.report.audit.describe_audit` found: an answer to each question, and one to all."""
    data, method = document["data"], document["method"]
    pieces: list[RenderableType] = [
        words(f"Audit of {method['name']}: {', '.join(data['files'])}, {data['n_samples']} samples", "bold"),
        *reading_lines(data),
    ]
    if scored := scored_samples(data):
        pieces.append(words(f"Accuracy: {scored}.", "yellow"))
    for audit in document["audits"]:
        pieces += [Text(), _question(audit), words(audit["verdict"])]
        if audit["names"]:
            pieces += [Text(), _audit_table(audit), words(f"Order of the rows: {audit['row_order']}.", "dim")]
        pieces += [words(f"Warning: {text}", "yellow") for text in audit["warnings"]]
    for question, reason in document["skipped"].items():
        pieces += [Text(), words(QUESTIONS[question], "bold"), words(f"Not asked: {reason}", "yellow")]
    style = "bold green" if document["overall"]["passed"] else "bold red"
    return [*pieces, Text(), words(document["overall"]["text"], style)]


def _question(audit: Json) -> Text:
    answer = Text(f"{short_answer(audit)}.", style="bold green" if audit["passed"] else "bold red")
    return Text.assemble((QUESTIONS[audit["question"]], "bold"), " ", answer)


def _audit_table(audit: Json) -> Table:
    scored = audit["accuracy"] is not None
    headings = ["agreement\n(1 is same)", f"moved\n(of {audit['n_samples']})", *(["accuracy"] if scored else [])]
    table = new_table(("run", False), *((heading, True) for heading in headings))
    for i, name in enumerate([audit["reference"], *audit["names"]]):
        compared = [f"{audit['agreement'][i - 1]:.3f}", str(audit["moved"][i - 1])] if i else ["-", "-"]
        table.add_row(words(name), *compared, *([f"{audit['accuracy'][i]:.3f}"] if scored else []))
    return table


def comparison_pieces(comparison: Json, width: int = 80) -> list[RenderableType]:
    """Return the table of a comparison, with what is above and below it.

    Parameters
    ----------
    comparison : dict
        From :func:`manyview.experiments.compare.compare_results`, with ``data``.
    width : int
        Columns of the terminal; as many scores are shown as fit.
    """
    methods = comparison["methods"]
    is_scored = comparison["criterion"] == "acc"
    times = [len(duration(method["seconds"])) for method in methods if method["runs_done"]]
    room = max(1, (width - _OTHER_COLUMNS - max([_TIME_WIDTH, *times])) // _SCORE_WIDTH)
    scores = _SCORE_ORDER[:room] if is_scored else ()
    headings = [(f"{SCORE_TITLES[score]}\nshuffled", True) for score in scores]
    more = ["agree\nwith\nself", "agree\nwith\nothers", "time", "memory"]
    table = new_table(("method", True), *headings, *((heading, True) for heading in more))
    for method in methods:
        table.add_row(*_comparison_row(method, scores, methods[0]))
    return [
        words(_comparison_title(comparison), "bold"),
        *reading_lines(comparison["data"]),
        *_chosen(comparison),
        words(f"{_first_capital(comparison['row_order'])}. Time and memory: {comparison['timing']}.", "dim"),
        Text(),
        table,
        words(f"Ordered by {comparison['ordered_by']}. {_meaning(is_scored)}", "dim"),
        *_footnotes(comparison),
    ]


def _chosen(comparison: Json) -> list[RenderableType]:
    """Return that the number of clusters was chosen, if it was, and the candidates."""
    if (suggestion := comparison["suggestion"]) is None:
        return []
    unsure = "" if suggestion["sure"] else ", but the evidence is weak"
    line = f"The number of clusters was chosen by the data{unsure}; it is the same for all methods."
    pieces = candidate_pieces(suggestion)
    return [words(line), *pieces, *([Text()] if pieces else [])]


def _comparison_row(method: Json, scores: tuple[str, ...], best: Json) -> list[Text]:
    name = words(method["name"] + (" *" if method["order_dependent"] else ""))
    if not method["runs_done"]:
        from manyview.experiments.wording import STATUS_NAMES  # which most commands do not need

        end = words((STATUS_NAMES | {"memory": "memory"})[_end(method)], "dim")
        blank = [words("-", "dim")] * (len(scores) + 3)
        return [name, end, *blank]
    style = "bold" if method is best else ""
    found = [method["scores"][score] for score in scores]
    single = method["runs_done"] == 1
    cells = [f"{value['mean']:.3f}" + ("" if single else f"±{value['std']:.3f}") for value in found]
    agreement = ["-" if method[name] is None else f"{method[name]:.3f}" for name in ("stability", "agreement")]
    cells += [*agreement, duration(method["seconds"]), memory(method["peak_bytes"])]
    return [name, *(Text(cell, style=style) for cell in cells)]


def _end(method: Json) -> str:
    return max((status for status in method["status"] if status != "done"), key=method["status"].__getitem__)


def _comparison_title(comparison: Json) -> str:
    data, methods = comparison["data"], comparison["methods"]
    files = ", ".join(data["files"])
    runs = _count(len(comparison["seeds"]), "run")
    return (
        f"{files}: {data['n_samples']} samples, {_count(len(data['views']), 'view')}, "
        f"{_count(comparison['n_clusters'], 'cluster')}; {_count(len(methods), 'method')}, {runs} each"
    )


def _meaning(is_scored: bool) -> str:
    agreement = "Agreement is the adjusted Rand index: 1 is the same groups, 0 is chance."
    return ("Scores are mean±deviation over the runs. " if is_scored else "") + agreement


def _footnotes(comparison: Json) -> list[Text]:
    notes = []
    if any(method["order_dependent"] for method in comparison["methods"]):
        notes.append(words("* The order of the rows changes what this method finds; see: manyview audit.", "dim"))
    if scored := scored_samples(comparison["data"]):
        notes.append(words(f"{_first_capital(scored)}.", "yellow"))
    if comparison["note"]:
        notes.append(words(comparison["note"], "yellow"))
    notes += [
        words(f"{method['name']}: {'; '.join(method['notes'])}.", "yellow")
        for method in comparison["methods"]
        if method["notes"]
    ]
    without = [method for method in comparison["methods"] if method["reason"]]
    shown = [
        (method["name"], _how_many(method, comparison), {"status": _end(method), "reason": method["reason"]})
        for method in without
    ]
    return notes + ([Text(), *reasons(shown)] if shown else [])


def _how_many(method: Json, comparison: Json) -> str:
    return f"{method['runs_done']} of {len(comparison['seeds'])} runs done"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _first_capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def reading_lines(data: Json) -> list[Text]:
    """Return how the files were read: how rows were matched, what was transposed, skipped, left out or filled in."""
    found = Reading(
        matched_by=data["matched_by"],
        transposed=tuple(data["transposed"]),
        without_metadata=data["without_metadata"],
        notes=tuple(data["notes"]),
    )
    return [words(in_options(text)) for text in found.sentences]


def candidate_pieces(suggestion: Json | None) -> list[RenderableType]:
    """Return the evidence for each number of clusters that was a candidate, if there were several."""
    if suggestion is None or len(suggestion["evidence"]) < 2:
        return []
    headings = ("candidate\nclusters", "eigengap of graphs\n(reference)", "eigengap of consensus\n(reference)")
    table = new_table(*((heading, True) for heading in (*headings, "stability", "score")), right=True)
    for found in suggestion["evidence"]:
        table.add_row(
            f"{found['n_clusters']}",
            f"{found['graph_eigengap']:.3f} ({found['reference_graph_eigengap']:.3f})",
            f"{found['eigengap']:.3f} ({found['reference_eigengap']:.3f})",
            f"{found['stability']:.2f}",
            f"{found['score']:.3f}",
        )
    return [Text(), table]
