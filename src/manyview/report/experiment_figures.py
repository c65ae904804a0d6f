"""Figures of the report on experiments, from parts of the summary: sweeps, growth, ranks, and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from manyview._utils.text import duration
from manyview.experiments.wording import COLUMN_NAMES
from manyview.report._figure import Figure, figure, logarithmic, marker, note, plain, series
from manyview.report._page import memory, number, score_name

_SYMBOLS = {"file-order": "square", "shuffled": "circle"}
_DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
_MAX_TICKS = 10


def sweep(
    curves: Sequence[Mapping[str, Any]], score: str, axis: Mapping[str, str], stated: float | None = None
) -> Figure:
    """Draw a score over a parameter on one dataset, with the rows in file order and shuffled.

    Parameters
    ----------
    curves : list of dict
        With ``dataset``, ``row``, ``protocol`` and ``points``, all of the same dataset.
    score : str
        One of :data:`manyview.metrics.SCORES`.
    axis : dict
        ``label`` of the parameter.
    stated : float, optional
        The value that the paper says is best.

    Returns
    -------
    Figure

    Examples
    --------
    >>> points = [{"x": 0.5, "status": "done", "scores": {"acc": {"mean": 0.9, "std": 0.1}}}]
    >>> curve = {"dataset": "MSRC-v5", "row": "TBGL", "protocol": "shuffled", "points": points}
    >>> trace, = sweep([curve], "acc", {"label": "p"}).data
    >>> trace["name"], trace["y"], trace["error_y"]["array"]
    ('TBGL, shuffled', [0.9], [0.1])
    """
    rows = list(dict.fromkeys(curve["row"] for curve in curves))
    data, described, lowest = [], [], 0.0
    for curve in curves:
        order, name = curve["protocol"], f"{curve['row']}, {COLUMN_NAMES[curve['protocol']]}"
        done = [(point["x"], point["scores"][score]) for point in curve["points"] if score in point.get("scores", {})]
        means, deviations = [value["mean"] for _, value in done], [value["std"] or 0 for _, value in done]
        lowest = min([lowest, *(mean - std for mean, std in zip(means, deviations, strict=True))])
        texts = [f"{number(mean)} ± {number(std)}" for mean, std in zip(means, deviations, strict=True)]
        data.append(
            series(
                [x for x, _ in done],
                means,
                name=name,
                hover=[f"{name}, at {x:g}: {text}" for (x, _), text in zip(done, texts, strict=True)],
                mode="lines+markers",
                error_y={"type": "data", "array": deviations, "thickness": 1.5},
                line={"color": f"var(--{order})", "dash": _DASHES[rows.index(curve["row"]) % len(_DASHES)]},
                marker={"color": f"var(--{order})", "symbol": _SYMBOLS[order], "size": 8},
            )
        )
        values = ", ".join(f"{text} at {x:g}" for (x, _), text in zip(done, texts, strict=True))
        described.append(f"{name}: {values or 'nothing measured'}.")
    positions = sorted({x for trace in data for x in trace["x"]})
    layout = {}
    if stated is not None:
        described.append(f"The paper states that {stated:g} is best.")
        in_the_right_half = positions and stated > (positions[0] + positions[-1]) / 2
        words = note(f"paper: best at {stated:g}", stated, 0, xanchor="right" if in_the_right_half else "left")
        layout = {"shapes": [_upright_line(stated)], "annotations": [words | {"yref": "paper"}]}
    return figure(
        data,
        {"title": axis["label"]} | ({"tickvals": positions} if len(positions) <= _MAX_TICKS else {}),
        {"title": f"{score_name(score)} (mean over seeds)", "range": [lowest, 1.03]},
        f"{score_name(score)} over {axis['label']} on {curves[0]['dataset']}. {' '.join(described)}",
        **layout,
    )


def growth(lines: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> Figure:
    """Draw time over one size of the problem, both on logarithmic axes, so that a power is a straight line.

    Parameters
    ----------
    lines : list of dict
        With ``row``, ``axis``, ``label``, ``points``, ``exponent`` and ``stated``, all of the same axis.
    methods : list of str
        All rows of the experiment: the index in it decides colour and symbol, so that they are the same everywhere.

    Returns
    -------
    Figure

    Examples
    --------
    >>> points = [{"x": x, "seconds": {"mean": x / 100, "std": 0.1, "min": x / 101}, "runs": 3} for x in (100, 200)]
    >>> line = {"row": "TBGL", "axis": "n", "label": "samples n", "points": points, "exponent": 1.0, "stated": 1}
    >>> [trace.get("name") for trace in growth([line], ["TBGL"]).data]
    ['TBGL: measured n^1.00, stated n^1', None]
    """
    data, label = [], lines[0]["label"]
    for line in lines:
        style = marker(2 * methods.index(line["row"]), size=9)
        done = [(point["x"], point["seconds"]) for point in line["points"] if "seconds" in point]
        x, means = [x for x, _ in done], [time["mean"] for _, time in done]
        deviations = [time["std"] or 0 for _, time in done]
        data.append(
            series(
                x,
                means,
                name=f"{line['row']}: {_powers(line)}",
                hover=[f"{line['row']}, {line['axis']} = {x:,g}: {duration(time['mean'])}" for x, time in done],
                mode="lines+markers",
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": deviations,
                    # Bars end above zero, which is not on a logarithmic axis.
                    "arrayminus": [min(std, 0.9 * mean) for mean, std in zip(means, deviations, strict=True)],
                },
                line={"color": style["color"]},
                marker=style,
            )
        )
        if len(done) > 1 and line["stated"] is not None:
            reached = means[0] * (x[-1] / x[0]) ** line["stated"]
            data.append(series([x[0], x[-1]], [means[0], reached], line={"color": style["color"], "dash": "dot"}))
    sizes = sorted({point["x"] for line in lines for point in line["points"]})
    return figure(
        data,
        {"title": label} | logarithmic(sizes, sizes),
        {"title": "seconds"} | logarithmic([y for trace in data for y in trace["y"]]),
        f"Time over {label}, logarithmic axes. " + " ".join(f"{line['row']}: {_powers(line)}." for line in lines),
    )


def ranks(ranking: Mapping[str, Any]) -> Figure:
    """Draw mean ranks over datasets, with bars that join methods that do not differ, after Demšar (JMLR 7, 2006).

    Parameters
    ----------
    ranking : dict
        With ``methods`` (best first), ``critical_difference`` and ``groups``.

    Returns
    -------
    Figure

    Examples
    --------
    >>> methods = [{"name": "A", "mean_rank": 1.2, "ranks": {}}, {"name": "B", "mean_rank": 1.8, "ranks": {}}]
    >>> drawn = ranks({"methods": methods, "critical_difference": 1.1, "groups": [["A", "B"]]})
    >>> drawn.layout["yaxis"]["ticktext"], [trace["mode"] for trace in drawn.data]
    (['A', 'B'], ['markers', 'markers', 'lines', 'lines'])
    """
    methods, width, groups = ranking["methods"], ranking["critical_difference"], ranking["groups"]
    n, names = len(methods), [method["name"] for method in methods]
    means = [method["mean_rank"] for method in methods]
    single = [(rank, i, dataset) for i, method in enumerate(methods) for dataset, rank in method["ranks"].items()]
    data = [
        series(
            [rank for rank, _, _ in single],
            [i for _, i, _ in single],
            hover=[f"{names[i]}: rank {rank:g} on {dataset}" for rank, i, dataset in single],
            mode="markers",
            marker={"color": "var(--faint)", "size": 5, "opacity": 0.5},
        ),
        series(
            means,
            range(n),
            hover=[f"{name}: mean rank {mean:.2f}" for name, mean in zip(names, means, strict=True)],
            mode="markers",
            marker={"color": "var(--shuffled)", "size": 12},
        ),
    ]
    step = max(n - 1, 1) / 25
    for i, group in enumerate(groups):
        rows = [names.index(name) for name in group]
        x = n + (i + 1.5) * step
        data.append(_bar([x, x], [min(rows) - 0.25, max(rows) + 0.25], f"not told apart: {', '.join(group)}"))
    notes = []
    if width is not None:
        text = f"critical difference {width:.2f}"
        data.append(_bar([1, 1 + width], [-1, -1], text))
        notes.append(note(text, 1, -1))
    right = max(n + (len(groups) + 2) * step, 1 + (width or 0) + step)
    ticks = list(range(1, n + 1)) if n <= _MAX_TICKS else [1, *range(5, n + 1, 5)]
    return figure(
        data,
        {"title": "mean rank (1 is best)", "range": [1 - 2 * step, right], "tickvals": ticks, "zeroline": False},
        {"tickvals": list(range(n)), "ticktext": [plain(name) for name in names], "range": [n - 0.5, -2]},
        f"Mean ranks, best first: {', '.join(f'{m} {r:.2f}' for m, r in zip(names, means, strict=True))}. "
        + " ".join(f"Not told apart: {', '.join(group)}." for group in groups),
        height=140 + 26 * n,
        annotations=notes,
    )


def cost(points: Sequence[Mapping[str, Any]], methods: Sequence[str]) -> Figure:
    """Draw accuracy over time of all methods on one dataset, with the rows shuffled.

    Parameters
    ----------
    points : list of dict
        With ``dataset``, ``row``, ``seconds``, ``peak_bytes`` and ``acc``, all of the same dataset.
    methods : list of str
        All rows of the experiment: the index in it decides colour and symbol, so that they are the same everywhere.

    Returns
    -------
    Figure

    Examples
    --------
    >>> point = {"dataset": "MSRC-v5", "row": "TBGL", "seconds": 2.0, "peak_bytes": 2**26, "acc": 0.6}
    >>> cost([point], ["TBGL"]).data[0]["hovertext"]
    ['TBGL on MSRC-v5<br>ACC 0.600 (shuffled rows)<br>2.0 s, 64 MiB']
    """
    data, described = [], []
    for point in points:
        name, time, accuracy = point["row"], duration(point["seconds"]), number(point["acc"])
        hover = f"{name} on {point['dataset']}\nACC {accuracy} (shuffled rows)\n{time}, {memory(point['peak_bytes'])}"
        style = marker(methods.index(name), size=12, line={"color": "var(--ink)", "width": 1})
        data.append(series([point["seconds"]], [point["acc"]], name=name, hover=[hover], mode="markers", marker=style))
        described.append(f"{name} {accuracy} in {time}")
    return figure(
        data,
        {"title": "seconds for one fit"} | logarithmic([point["seconds"] for point in points]),
        {"title": "ACC, shuffled rows", "range": [0, 1.03]},
        f"Accuracy over time on {points[0]['dataset']}, shuffled rows: {', '.join(described)}.",
        height=460,
    )


def _upright_line(x: float) -> dict[str, Any]:
    line = {"color": "var(--published)", "dash": "dash", "width": 2}
    return {"type": "line", "x0": x, "x1": x, "y0": 0, "y1": 1, "yref": "paper", "line": line}


def _bar(x: list[float], y: list[float], text: str) -> dict[str, Any]:
    return series(x, y, hover=[text, text], line={"color": "var(--ink)", "width": 4})


def _powers(line: Mapping[str, Any]) -> str:
    axis = line["axis"]
    measured = "too few points" if line["exponent"] is None else f"measured {axis}^{line['exponent']:.2f}"
    return measured + ("" if line["stated"] is None else f", stated {axis}^{line['stated']:g}")
