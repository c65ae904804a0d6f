"""What the clusters are, as plain values for a page: markers, samples, metadata and survival of a description.

Statistics come from all samples; values of single samples only from those that are drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas

from manyview._utils.text import plain, shortened
from manyview.description import Description
from manyview.description.heat_map import HeatMap, heat_maps, sample_order
from manyview.description.markers import by_view
from manyview.description.metadata import Association
from manyview.description.survival import Curve
from manyview.report._page import digits, percent
from manyview.report._sample_pictures import SamplePictures
from manyview.views import Views

_NAME = 60  # letters of a feature, column or category
_MAX_TEXT = 400  # letters of a text beside a typical sample
_MIN_AUROC = 0.6  # of a marker that is worth a sentence; 0.5 is no difference at all
_AT_A_GLANCE, _MAX_PHRASES = 4, 3  # markers of a cluster, and columns of metadata
_IN_SENTENCES = 100  # markers of all clusters and views, but three to five of each
# Rows of all heat maps together and of one, and how many of them one cluster has: they are stored sample by sample.
_MAX_HEAT_ROWS, _MAX_ROWS_OF_VIEW, _MAX_ROWS_OF_CLUSTER = 200, 40, 5
_MAX_TABLE = 3000  # markers in the folded table
_MAX_COLOURINGS = 100  # columns of the metadata that the map can be coloured by
_MAX_CATEGORIES = 20  # with a colour of their own; the others share one
_MAX_FIGURES, _MAX_BARS = 12, 30  # columns of the metadata that are drawn, and clusters in each
_MAX_CURVES, _MAX_STEPS, _MAX_CENSORED = 20, 400, 200
_SURE = 0.05  # corrected p value of what is worth a sentence


def describe_clusters(
    description: Description, views: Views, rows: np.ndarray, name: Callable[[int], str], sample_names: bool
) -> dict[str, Any]:
    """Collect what the sections on the contents of the clusters show.

    Parameters
    ----------
    description : Description
    views : Views
        What was described, all samples.
    rows : ndarray of int
        The samples that are drawn; all of them have a label.
    name : function
        From the row of a sample to its name.
    sample_names : bool
        Whether single samples may be named, and coloured by their metadata.

    Returns
    -------
    dict
        ``clusters`` (in sentences), ``heat`` (markers sample by sample), ``columns`` (values of the drawn samples, of
        markers and metadata), ``markers``, ``typical``, ``metadata``, ``survival`` and ``notes``; plain values.
    """
    shown = np.searchsorted(description.rows, rows)
    description = description if sample_names else description.without_sample_names()
    feature = _feature_names(views)
    notes = [shortened(note, 1000) for note in description.notes]
    maps = _heat_maps(description, views, shown)
    confidence = description.confidence
    order = sample_order(description.labels[shown], None if confidence is None else confidence[shown], maps)
    metadata = _metadata(description)
    columns = [column for each in maps for column in _marker_columns(each, feature)]
    places = {(column["group"], column["feature"]): i for i, column in enumerate(columns)}
    if sample_names:
        columns += _metadata_columns(description, views.metadata, rows)
    return {
        "clusters": _sentences(description, metadata, places, feature),
        "heat": [_heat(each, places, feature) for each in maps],
        "order": order.tolist(),
        "columns": columns,
        "markers": _marker_table(description, places, feature),
        "n_markers": len(description.markers),
        "has_p": bool(description.markers["p"].notna().any()),
        "typical": _typical(description, name),
        "has_pictures": bool(description.pictures),
        "metadata": metadata,
        "survival": _survival(description),
        "why_no_p": next((note for note in notes if note.startswith("No p values")), None),
        "notes": [note for note in notes if not note.startswith("No p values")],
    }


def _feature_names(views: Views) -> Callable[[Any], str]:
    """Return a function from a marker to the name of its feature on the page; "feature 3" if it has none."""
    named = dict(zip(views.names, views.feature_names or [None] * views.n_views, strict=True))
    return lambda row: shortened(row.feature if named[row.view] is not None else f"feature {row.feature}", _NAME)


def _heat_maps(description: Description, views: Views, shown: np.ndarray) -> list[HeatMap]:
    n_clusters = len(description.names)
    most = int(np.clip(_MAX_HEAT_ROWS // views.n_views, 1, _MAX_ROWS_OF_VIEW))
    per_cluster = int(np.clip(most // n_clusters, 1, _MAX_ROWS_OF_CLUSTER))
    return heat_maps(description, views, shown, per_cluster, most)


def _marker_columns(found: HeatMap, feature: Callable[[Any], str]) -> list[dict[str, Any]]:
    """Return the values of the drawn samples for each marker, with what is needed for z scores."""
    columns = []
    for i, (row, values) in enumerate(zip(found.markers.itertuples(), found.values, strict=True)):
        columns.append(
            {
                "name": feature(row),
                "feature": row.feature,
                "group": found.view,
                "kind": "numbers",
                "values": _few_digits(values),
                "limits": _limits(values),
                "centre": float(found.centre[i]),
                "spread": float(found.spread[i]),
            }
        )
    return columns


def _few_digits(values: np.ndarray) -> list[float | None]:
    """Return four digits of each value: enough to read, and half the size of the page."""
    return [float(f"{value:.4g}") if np.isfinite(value) else None for value in values.tolist()]


def _limits(values: np.ndarray) -> list[float]:
    """Return the ends of the colour scale, which a few outliers do not stretch."""
    known = values[np.isfinite(values)]
    if not len(known):
        return [0.0, 1.0]
    low, high = (float(end) for end in np.quantile(known, [0.02, 0.98]))
    if low == high:
        low, high = float(known.min()), float(known.max())
    return [low, high if high > low else low + 1.0]


def _heat(found: HeatMap, places: Mapping[tuple[str, str], int], feature: Callable[[Any], str]) -> dict[str, Any]:
    return {
        "view": shortened(found.view, 40),
        "rows": [
            {
                "column": places[found.view, row.feature],
                "cluster": int(row.cluster),
                "direction": row.direction,
                "feature": feature(row),
            }
            for row in found.markers.itertuples()
        ],
        "n_left_out": found.n_left_out,
    }


def _marker_table(
    description: Description, places: Mapping[tuple[str, str], int], feature: Callable[[Any], str]
) -> list[dict[str, Any]]:
    """Return the markers as rows, without the weakest of each cluster if there are too many."""
    table = description.markers
    if len(table) > _MAX_TABLE:
        table = table[table["rank"] <= max(1, _MAX_TABLE * table["rank"].max() // len(table))][:_MAX_TABLE]
    return [
        plain(row._asdict())
        | {
            "column": places.get((row.view, row.feature)),
            "feature": feature(row),
            "name": shortened(row.name, _NAME),
            "view": shortened(row.view, 40),
        }
        for row in table.itertuples(index=False)
    ]


def _sentences(
    description: Description,
    metadata: Sequence[Mapping[str, Any]] | None,
    places: Mapping[tuple[str, str], int],
    feature: Callable[[Any], str],
) -> list[dict[str, Any]]:
    """Return what is to be said about each cluster: its markers by view, and which metadata go with it."""
    strength = (description.markers["auroc"] - 0.5).abs()
    strong = description.markers[strength >= _MIN_AUROC - 0.5].assign(
        strength=strength, difference=description.markers["difference"].abs()
    )
    by_cluster = dict(list(strong.groupby("cluster", sort=False)))

    def words(row: Any) -> dict[str, Any]:
        return {
            "feature": feature(row),
            "direction": row.direction,
            "view": shortened(row.view, 40),
            "column": places.get((row.view, row.feature)),
        }

    n_parts = len(description.names) * strong["view"].nunique()
    most = int(np.clip(_IN_SENTENCES // max(n_parts, 1), 3, 5))
    found = []
    for cluster, (name, own) in enumerate(zip(description.names, plain_rows(description.clusters), strict=True)):
        markers = by_cluster.get(cluster, strong[:0])
        views = [
            {
                "view": shortened(view, 40),
                **{
                    direction: [
                        words(row)
                        for row in rows[(rows["rank"] <= most) & (rows["direction"] == direction)].itertuples()
                    ]
                    for direction in ("high", "low")
                },
            }
            for view, rows in by_view(markers)
        ]
        top = markers.sort_values(["strength", "difference"], ascending=False, kind="stable").drop_duplicates("feature")
        found.append(
            {
                "cluster": cluster,
                "name": shortened(name, _NAME),
                "size": own["size"],
                "share": own["share"],
                "views": views,
                "top": [words(row) for row in top.head(_AT_A_GLANCE).itertuples()],
                "goes_with": _goes_with(cluster, metadata or ()),
            }
        )
    return found


def plain_rows(frame: pandas.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a data frame as plain values."""
    return [plain(row) for row in frame.to_dict("records")]


def _goes_with(cluster: int, metadata: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return phrases on the columns that go with the clusters: what is frequent here and less so elsewhere."""
    phrases = []
    for row in metadata:
        if row["p_corrected"] is None or row["p_corrected"] >= _SURE or row["table"] is None:
            continue
        table = row["table"]
        if row["kind"] == "categories":
            counts = np.array(table["counts"], dtype=float)
            own, others = counts[cluster], counts.sum(axis=0) - counts[cluster]
            if not own.sum() or not others.sum():
                continue
            share, elsewhere = own / own.sum(), others / others.sum()
            most = int(np.argmax(share - elsewhere))
            phrases.append(
                f"{row['column']}: {percent(share[most])} {table['categories'][most]}, elsewhere "
                f"{percent(elsewhere[most])}"
            )
        elif table["median"][cluster] is not None:
            others = [value for c, value in enumerate(table["median"]) if c != cluster and value is not None]
            if others:
                ends = dict.fromkeys([digits(min(others)), digits(max(others))])
                phrases.append(
                    f"{row['column']}: median {digits(table['median'][cluster])}, other clusters {' to '.join(ends)}"
                )
        if len(phrases) == _MAX_PHRASES:
            break
    return phrases


def _typical(description: Description, name: Callable[[int], str]) -> list[dict[str, Any]]:
    pictures = SamplePictures(description.pictures)
    found = [
        {"cluster": cluster, "name": shortened(own, _NAME), "typical": [], "doubtful": []}
        for cluster, own in enumerate(description.names)
    ]
    has_text = "text" in description.typical
    for row in description.typical.itertuples():
        text = row.text if has_text else None
        found[row.cluster][row.role].append(
            {
                "sample": name(int(row.row)),
                "confidence": plain(row.confidence),
                "margin": plain(row.margin),
                "next": None if row.next_cluster < 0 else shortened(description.names[row.next_cluster], _NAME),
                "picture": pictures.address(int(row.row)),
                "no_picture": pictures.reason(int(row.row)),
                "text": None if text is None or text != text else shortened(text, _MAX_TEXT),
            }
        )
    return found


def _metadata(description: Description) -> list[dict[str, Any]] | None:
    """Return a row per column, strongest first; the first few have a table to draw."""
    if description.metadata is None:
        return None
    tables = {each.column: each for each in description.associations}
    found: list[dict[str, Any]] = []
    for row in plain_rows(description.metadata):
        compared = row["kind"] != "left out"
        table = _table(tables[str(row["column"])]) if compared else None
        drawn = compared and sum(other["drawn"] for other in found) < _MAX_FIGURES
        found.append(row | {"column": shortened(row["column"], _NAME), "table": table, "drawn": drawn})
    return found


def _table(each: Association) -> dict[str, Any]:
    if each.kind == "numbers":
        names = {"lower": "lower quartile", "median": "median", "upper": "upper quartile", "n": "n"}
        return {key: plain(each.table[column].to_numpy()) for key, column in names.items()}
    counts = each.table.to_numpy()
    often = np.argsort(-counts.sum(axis=0), kind="stable")
    kept, rest = np.sort(often[:_MAX_CATEGORIES]), often[_MAX_CATEGORIES:]
    categories = [shortened(each.table.columns[i], 40) for i in kept]
    shares = counts[:, kept]
    if len(rest):
        categories.append(f"{len(rest)} other values")
        shares = np.column_stack([shares, counts[:, rest].sum(axis=1)])
    return {"categories": categories, "counts": shares.tolist()}


def _metadata_columns(
    description: Description, frame: pandas.DataFrame | None, rows: np.ndarray
) -> list[dict[str, Any]]:
    """Return the columns of the metadata for the drawn samples; those that name samples are left out."""
    if frame is None:
        return []
    compared = {each.column: each for each in description.associations}
    curves = description.survival_curves
    times = {} if curves is None else {curves.time: "numbers", curves.event: "categories"}
    order = [] if description.metadata is None else list(description.metadata["column"])
    wanted = [column for column in (*order, *times) if column in set(map(str, frame.columns))]
    found: list[dict[str, Any]] = []
    for column in wanted:
        values = frame[next(own for own in frame.columns if str(own) == column)].iloc[rows]
        kind = compared[column].kind if column in compared else times[column]
        if kind == "left out" or len(found) == _MAX_COLOURINGS:
            continue
        if kind == "numbers":
            numbers = pandas.to_numeric(values, errors="coerce").to_numpy(dtype=float)
            own = {"kind": "numbers", "values": _few_digits(numbers), "limits": _limits(numbers)}
        else:
            own = _categories(values)
        found.append({"name": shortened(column, _NAME), "group": None, **own})
    return found


def _categories(values: pandas.Series) -> dict[str, Any]:
    """Return the codes and names of categories, the most frequent first; rare ones share the last."""
    texts = [None if missing else str(value) for value, missing in zip(values, values.isna(), strict=True)]
    often = [text for text, _ in Counter(text for text in texts if text is not None).most_common()]
    names, rest = often[:_MAX_CATEGORIES], often[_MAX_CATEGORIES:]
    code = {name: i for i, name in enumerate(names)}
    return {
        "kind": "categories",
        "values": [None if text is None else code.get(text, len(names)) for text in texts],
        "categories": [shortened(name, 40) for name in names] + [f"{len(rest)} other values"] * bool(rest),
    }


def _survival(description: Description) -> dict[str, Any] | None:
    """Return curves, numbers at risk and the test; of many clusters, the curves of the largest."""
    found = description.survival_curves
    if found is None:
        return None
    largest = sorted(found.curves, key=lambda c: -found.curves[c].n_samples)[:_MAX_CURVES]
    last = max(max([*curve.times[-1:], *curve.censored[-1:]], default=0.0) for curve in found.curves.values())
    ticks = _round_times(float(last))
    return {
        "time": shortened(found.time, 40),
        "event": shortened(found.event, 40),
        "statistic": plain(found.statistic),
        "degrees": found.degrees,
        "p": plain(found.p),
        "n_missing": found.n_missing,
        "ticks": ticks,
        "n_clusters": len(found.curves),
        "curves": [
            {"cluster": int(c), "name": shortened(description.names[c], _NAME), **_curve(found.curves[c], ticks)}
            for c in sorted(largest)
        ],
    }


def _curve(curve: Curve, ticks: Sequence[float]) -> dict[str, Any]:
    last = max([*curve.times[-1:], *curve.censored[-1:]], default=0.0)
    times, alive = _thinned(np.unique([0.0, *curve.times, last]), _MAX_STEPS), curve.alive
    censored = _thinned(np.unique(curve.censored), _MAX_CENSORED)
    return {
        "n": curve.n_samples,
        "events": curve.n_events,
        "median": plain(curve.median),
        "x": times.tolist(),
        "y": alive(times).round(5).tolist(),
        "censored": censored.tolist(),
        "censored_y": alive(censored).round(5).tolist(),
        "at_risk": at_risk(curve, ticks).tolist(),
    }


def _thinned(values: np.ndarray, most: int) -> np.ndarray:
    """Return evenly spaced ones of sorted values, with both ends."""
    kept = np.unique(np.linspace(0, len(values) - 1, min(len(values), most)).round().astype(np.int64))
    return np.asarray(values[kept], dtype=float)


def at_risk(curve: Curve, times: Sequence[float]) -> np.ndarray:
    """Return how many samples were still observed just before each time: without events and not censored."""
    before = np.concatenate([[1.0], curve.survival[:-1]])
    deaths = np.rint(curve.at_risk * (1 - curve.survival / before)).astype(np.int64)
    gone = np.concatenate([[0], np.cumsum(deaths)])[np.searchsorted(curve.times, times, side="left")]
    return curve.n_samples - gone - np.searchsorted(curve.censored, times, side="left")


def _round_times(last: float) -> list[float]:
    """Return about six round times from 0 on."""
    if last <= 0:
        return [0.0]
    step = 10.0 ** np.floor(np.log10(last / 5))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if last / (factor * step) <= 7)
    return [float(f"{time:.6g}") for time in np.arange(0, last * (1 + 1e-9), step)]
