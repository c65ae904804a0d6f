"""The fitted model, and the clusters of samples that it was not fitted to, block by block.

A new sample is treated like the fitted ones: its neighbour lists, its edges to each member's anchors, the member's
embedding and the nearest centre there, then the consensus of these clusters. So a sample of the fit gets its label
again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview._utils.imports import require
from manyview._utils.progress import Step, report_step
from manyview.engines import BLOCK_ROWS, Block
from manyview.ensemble.anchors import GRAPH_NEIGHBORS, AnchoredViews, given_view, has_view, lists_of, side_by_side
from manyview.ensemble.columns import CONFIDENCE, EMBEDDING, LABELS, ROWS, TOO_SHORT, VIEWS
from manyview.ensemble.consensus import Consensus, vote_product, votes_for
from manyview.ensemble.dask import as_dask, raw_block
from manyview.ensemble.kmeans import nearest_centre, unit_rows
from manyview.ensemble.members import Lists, Member, member_labels
from manyview.ensemble.samples import checked, is_distributed, local_rows, precision
from manyview.exceptions import UnlikeFitWarning, ViewsError, warn_user
from manyview.graphs.neighbours import squared_distances
from manyview.views import Views
from manyview.views.checks import check_block, check_new_views
from manyview.views.container import chunks_of, is_frame, is_table
from manyview.views.new_samples import match_fitted, order_columns

# Lists of new samples are too short at less than one of ten thousand.
_DEVIATIONS = 4.0
# New samples and anchors of which the distances are compared; how many times as far is far, squared.
_LOOKED_AT, _COMPARED_WITH, _FAR = 100, 300, 4.0
_FEW_ANCHORS = 20  # below, how far apart they are says little


@dataclass(frozen=True)
class Model:
    """Fitted model for prediction; ``label_of`` is the label of each cluster of the consensus."""

    views: AnchoredViews
    lists: Lists
    members: tuple[Member, ...]
    consensus: Consensus
    label_of: np.ndarray

    def check(self) -> None:
        """Raise an error if the parts, perhaps from a file, do not fit together: compiled code trusts the indices."""
        n_anchors = self.lists.n_anchors
        n_views = len(self.views.scalings)
        _expect(len(self.views.numbers) == len(self.views.spaces), "a number for every list")
        for space in self.views.spaces:
            _expect(len(space.positions) == space.values.shape[0], "a position for every anchor")
            _expect(1 <= space.length <= len(space.positions), "lists no longer than there are anchors")
            _expect(_within(space.positions, n_anchors), f"positions below {n_anchors}")
            _expect(all(0 <= v < n_views for v in space.views), f"views below {n_views}")
            lengths = {len(each) for each in (space.views, space.scalings, space.factors, space.starts)}
            _expect(len(lengths) == 1 and 0 not in lengths, "a scaling, a factor and a first column for every view")
        consensus, shares = self.consensus, self.consensus.shares
        n_labels = len(self.label_of)
        for member in self.members:
            size = len(member.anchors) + 1
            _expect(_within(member.anchors, n_anchors), f"anchors below {n_anchors}")
            _expect(bool(member.lists) and set(member.lists) <= set(self.views.numbers), "the lists of every member")
            _expect(
                0 <= member.n_kept <= member.n_neighbors and member.n_neighbors >= 1, "at most k edges that are kept"
            )
            _expect(member.scale.ndim == 2 and member.scale.shape[1] == size, f"scales of {size} anchors")
            _expect(member.vectors.shape == (size, member.centres.shape[1]), f"vectors of {size} anchors")
            _expect(len(member.centres) == member.n_clusters <= shares.shape[1], "a centre for every cluster")
        n_clusters = sum(member.n_clusters for member in self.members)
        _expect(consensus.project.shape == (n_clusters, consensus.centres.shape[1]), f"{n_clusters} clusters in all")
        _expect(len(consensus.centres) == n_labels, f"{n_labels} centres")
        _expect(shares.shape[::2] == (len(self.members), n_labels), f"shares of {n_labels} labels")

    @cached_property
    def enough(self) -> AnchoredViews:
        """The views with lists that are nearly always long enough for the members, and for a graph.

        A member has a share p of the anchors, so that on average the first L have ``pL`` of its own. L is as long as
        four standard deviations below are ``k + 1``.
        """
        lengths = dict.fromkeys(self.views.numbers, GRAPH_NEIGHBORS + 1)
        for member in self.members:
            wanted, share = member.n_neighbors + 1, len(member.anchors) / self.lists.n_anchors
            spread = _DEVIATIONS * np.sqrt(1 - share) / 2
            length = int(np.ceil((spread + np.sqrt(spread**2 + wanted)) ** 2 / share))
            for number in member.lists:
                lengths[number] = max(lengths[number], length)
        return self.views.shortened(lengths)


def _expect(fits: bool, what: str) -> None:
    if not fits:
        raise ValueError(f"its parts do not fit together: expected {what}")


def _within(indices: np.ndarray, stop: int) -> bool:
    return bool(indices.dtype.kind == "i" and ((indices >= 0) & (indices < stop)).all())


def predict(model: Model, views: Views, what: str, engine: str, n_jobs: int | None) -> Any:
    """Return one of the columns labels, embedding and confidence of new samples, lazily where their views are lazy."""
    if is_distributed(views, engine):
        return _predict_lazily(model, views, what)
    return _predict_local(model, views, (what,), n_jobs)[0]


def predict_both(model: Model, views: Views, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Return labels and confidence of new samples in memory, in one pass."""
    labels, confidence = _predict_local(model, views, (LABELS.name, CONFIDENCE.name), n_jobs)
    return labels, confidence


def _predict_local(model: Model, views: Views, names: Sequence[str], n_jobs: int | None) -> list[np.ndarray]:
    rows = local_rows(views, n_jobs)
    rows.on_rows = lambda done: report_step(Step("predict", done, views.n_samples, "samples"))
    rows.on_rows(0)
    rows.extend(_assigned_block, model, names)
    warn_of_other_scale(model.views, views)
    return [rows.gather(name) for name in names]


def warn_of_other_scale(known: AnchoredViews, views: Views) -> None:
    """Warn if new samples are mostly far from all anchors, as they are in other units or without a transformation.

    Far is twice as far as any anchor is from the nearest other. Some of each are compared: this takes no time, and a
    wrong unit shows in nearly all samples. ``views`` have been checked.
    """
    rows = np.unique(np.linspace(0, views.n_samples - 1, min(views.n_samples, _LOOKED_AT)).astype(int))
    some = check_block(views.take(rows), 0)
    for source in range(len(known.scalings)):
        values, present = given_view(known, some, source)
        space = next((space for space in known.spaces if source in space.views), None)
        if space is None or not present.any() or len(space.positions) < _FEW_ANCHORS:
            continue
        at = space.views.index(source)
        columns = slice(space.starts[at], [*space.starts, space.values.shape[1]][at + 1])
        anchors = space.values[:_COMPARED_WITH, columns]
        new = side_by_side([space.scalings[at].apply(values[present])], [space.factors[at]])
        apart = squared_distances(anchors, anchors)
        np.fill_diagonal(apart, np.inf)
        is_far = squared_distances(new, anchors).min(axis=1) > _FAR * apart.min(axis=1).max()
        if is_far.mean() > 0.5:
            name = known.names[known.source.index(source)]
            warn_user(
                f"views[{name!r}]: {is_far.sum()} of the {len(is_far)} new samples that were looked at are more than "
                "twice as far from all samples of the fit as any of these is from its nearest other. Are they in the "
                "same units, and transformed in the same way? They get the nearest cluster.",
                UnlikeFitWarning,
            )


def open_new_views(
    known: AnchoredViews,
    views: Any,
    view_sizes: Any,
    who: str,
    feature_names: Mapping[str, Sequence[str] | None] | None = None,
) -> Views:
    """Return the views of new samples by the names of the fitted views and features, their values not checked."""
    n_features = sum(known.n_features)
    if view_sizes is not None and is_table(views):
        if is_frame(views) and feature_names:
            views = order_columns(views, [feature_names.get(name) for name in known.names])
        if views.shape[-1] != n_features:
            # scikit-learn's text, which its checks look for
            raise ViewsError(
                f"X has {views.shape[-1]} features, but {who} is expecting {n_features} features as input."
            )
    opened = check_new_views(views, view_sizes=view_sizes)
    given = match_fitted(views, opened, known.names, known.n_features, feature_names, who)
    if given.n_samples == 0:
        raise ViewsError(f"views: {who} got no sample to predict (n_samples=0); expected at least 1.")
    return Views(given.arrays, given.names, given.sample_ids, present=given.present, feature_names=given.feature_names)


def assign_rows(model: Model, block: Block) -> dict[str, np.ndarray]:
    """Return clusters, coordinates and confidence of rows with neighbour lists; -1 for rows that no member can assign.

    Members that a row has no edges to do not vote, and the votes of the others are scaled up.
    """
    consensus = model.consensus
    labels = np.column_stack([member_labels(block, model.lists, member) for member in model.members])
    counts = [member.n_clusters for member in model.members]
    offsets = np.concatenate([[0], np.cumsum(counts)])
    embedding = vote_product(labels, offsets, consensus.project)
    voting = labels >= 0
    share = np.where(voting, consensus.weights, 0.0).sum(axis=1) / consensus.weights.sum()
    share[voting.all(axis=1)] = 1.0  # without rounding, which would change the result of fitted rows
    has_vote = share > 0
    partly = has_vote & (share < 1)
    embedding[partly] /= share[partly, None]
    embedding = unit_rows(embedding) if consensus.directions else embedding
    found = np.where(has_vote, nearest_centre(embedding, consensus.centres), -1).astype(np.int64)
    votes = votes_for(found, labels, consensus.shares)
    votes = np.divide(votes, share, out=np.zeros_like(votes), where=has_vote)
    return {LABELS.name: found, EMBEDDING.name: embedding, CONFIDENCE.name: np.clip(votes, 0.0, 1.0)}


def place(model: Model, views: Views) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return the neighbour lists of samples and what :func:`assign_rows` returns.

    The time of a list grows with its length, so the lists are those of ``model.enough``. Samples for which they are too
    short are assigned again by the lists that members were learned with, so that no result depends on it.
    """
    too_short = np.zeros(views.n_samples, dtype=bool)
    lists = lists_of(views, model.enough)
    found = assign_rows(model, {**lists, TOO_SHORT.name: too_short})
    again = np.flatnonzero(too_short)
    if again.size and any(a.length < b.length for a, b in zip(model.enough.spaces, model.views.spaces, strict=True)):
        for name, values in assign_rows(model, lists_of(views.take(again), model.views)).items():
            found[name][again] = values
    return lists, found


def assign_samples(model: Model, views: Views, first_row: int) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return neighbour lists and labels, and in the precision of the views embedding and confidence, of samples.

    ``first_row`` is the number of the first sample, for error messages.
    """
    lists, found = place(model, views)
    lost = np.flatnonzero(found[LABELS.name] < 0)
    if lost.size:
        names = [name for v, name in enumerate(views.names) if has_view(views, v)[lost[0]]]
        who = "" if views.sample_ids is None else f" ({str(views.sample_ids[lost[0]])!r})"
        raise ViewsError(
            f"views: the sample in row {first_row + lost[0]}{who} has {', '.join(names)} only, which no graph of this "
            "model has drawn. Give more views of it, or fit with a larger n_members."
        )
    in_precision = {
        name: found[name].astype(precision(views), copy=False) for name in (EMBEDDING.name, CONFIDENCE.name)
    }
    return lists, {LABELS.name: model.label_of[found[LABELS.name]], **in_precision}


def in_parts(block: Block, function: Callable[[Block], Mapping[str, Any]]) -> dict[str, Any]:
    """Return the result of a function for a block, called for parts of it that fit into a processor's cache."""
    rows = block[ROWS.name]
    if len(rows) <= BLOCK_ROWS:
        return dict(function(block))
    cuts = [slice(start, min(start + BLOCK_ROWS, len(rows))) for start in range(0, len(rows), BLOCK_ROWS)]
    found = [function({VIEWS.name: block[VIEWS.name].take(cut), ROWS.name: rows[cut]}) for cut in cuts]
    return {
        name: sp.csr_array(sp.vstack([part[name] for part in found]))
        if sp.issparse(found[0][name])
        else np.concatenate([part[name] for part in found])
        for name in found[0]
    }


def _assigned_block(block: Block, model: Model, names: Sequence[str]) -> dict[str, np.ndarray]:
    def one(part: Block) -> dict[str, Any]:
        _, found = assign_samples(model, checked(part), part[ROWS.name].start)
        return {name: found[name] for name in names}

    return in_parts(block, one)


def _predict_block(block: Block, model: Model, what: str) -> np.ndarray:
    return _assigned_block(block, model, (what,))[what]


def _predict_lazily(model: Model, views: Views, what: str) -> Any:
    """Return a Dask array, not computed yet; if no view is a Dask array, its values."""
    dask = require("dask", extra="dask", purpose="Dask arrays")
    array = require("dask.array", extra="dask", purpose="Dask arrays")
    tables = as_dask(views)
    own_chunks = chunks_of(views)
    rows = own_chunks or tables[0].chunks[0]
    shape = (model.consensus.centres.shape[1],) if what == EMBEDDING.name else ()
    single = all(getattr(array, "dtype", None) == np.float32 for array in views.arrays)
    like = np.empty((0, *shape), dtype=np.int64 if what == LABELS.name else np.float32 if single else np.float64)
    sent, compute = dask.delayed(model, traverse=False), dask.delayed(_predict_chunk, pure=False)
    parts, first = [], 0
    cut = (table.rechunk({0: rows, 1: -1}).to_delayed(optimize_graph=False).ravel() for table in tables)
    for size, *chunks in zip(rows, *cut, strict=True):
        found = compute(chunks, views.names, first, sent, what)
        parts.append(array.from_delayed(found, (size, *like.shape[1:]), meta=like))
        first += size
    whole = array.concatenate(parts)
    return whole if own_chunks else whole.compute()


def _predict_chunk(chunks: list, names: Sequence[str], first_row: int, model: Model, what: str) -> np.ndarray:
    return _predict_block(raw_block(names, chunks, first_row), model, what)
