"""Matching the views and features of new samples with those of a fitted model, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import scipy.sparse as sp

from manyview.exceptions import ViewsError, warn_user
from manyview.views.container import Views, column_names, has_levels, is_annotated, is_frame, places


def order_columns(table: Any, feature_names: Sequence[Sequence[str] | None]) -> Any:
    """Return a data frame of all views side by side with its columns in the order of the fit, found by their names."""
    own = column_names(table)
    if own is None or any(names is None for names in feature_names):
        return table
    wanted = [name for names in feature_names for name in names or ()]
    if own == tuple(wanted):
        return table
    position = {feature: column for column, feature in enumerate(own)}
    check_same_features("views", own, wanted)
    return table.iloc[:, [position[feature] for feature in wanted]]


def match_fitted(
    views: Any,
    given: Views,
    names: Sequence[str],
    n_features: Sequence[int],
    feature_names: Mapping[str, Sequence[str] | None] | None = None,
    who: str = "The model",
) -> Views:
    """Return new samples with the names of the fitted views and the order of the fitted features.

    The views are all fitted ones in their order, or some by name. Named features are reordered as in the fit.

    Parameters
    ----------
    views : object
        Input of the user.
    given : Views
        The same as Views.
    names, n_features : sequences
        Of the fitted views.
    feature_names : mapping of str to (sequence of str, or None), optional
        Of the fitted views, by name; None if the fit had no feature names.
    who : str
        The estimator, for warnings.
    """
    # Other containers have no names of views.
    if not (isinstance(views, Views | Mapping) or is_annotated(views) or has_levels(views)):
        if given.n_views != len(names):
            raise ViewsError(
                f"views: expected {len(names)} views, as in fit, got {given.n_views}. To give some of them only, name "
                f"them in a dict; they are {', '.join(names)}."
            )
        given = replace(given, names=tuple(names))
    sizes = dict(zip(names, n_features, strict=True))
    for where, name in zip(places(given.names), given.names, strict=True):
        if name not in sizes:
            raise ViewsError(f"{where}: there was no such view in fit; there were {', '.join(names)}.")
    given = _match_features(given, feature_names or {}, who)
    for where, name, size in zip(places(given.names), given.names, given.n_features, strict=True):
        if size != sizes[name]:
            raise ViewsError(f"{where}: expected {sizes[name]} features, as in fit, got {size}.")
    return given


def _match_features(given: Views, fitted: Mapping[str, Sequence[str] | None], who: str) -> Views:
    """Reorder named features as in the fit; refuse missing and unknown ones."""
    arrays, found = list(given.arrays), list(given.feature_names or [None] * given.n_views)
    for v, (where, name) in enumerate(zip(places(given.names), given.names, strict=True)):
        wanted, own = fitted.get(name), found[v]
        if (wanted is None) != (own is None):
            # the wording of scikit-learn
            text = (
                f"{where} has feature names, but {who} was fitted without feature names"
                if wanted is None
                else f"{where} does not have valid feature names, but {who} was fitted with feature names"
            )
            warn_user(text, UserWarning)
        if wanted is None or own is None or tuple(own) == tuple(wanted):
            continue
        position = {feature: column for column, feature in enumerate(own)}
        check_same_features(where, own, wanted)
        columns = [position[feature] for feature in wanted]
        arrays[v] = arrays[v].iloc[:, columns] if is_frame(arrays[v]) else _columns_of(arrays[v], columns)
        found[v] = tuple(wanted)
    return replace(given, arrays=tuple(arrays), feature_names=tuple(found))


def check_same_features(where: str, own: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise an error that names the features that are missing, unknown or repeated, if there are any."""
    given, known = set(own), set(wanted)
    if len(given) < len(own):
        repeated = next(feature for feature in own if own.count(feature) > 1)
        raise ViewsError(f"{where}: the feature {repeated!r} occurs more than once; feature names must be unique.")
    missing = [feature for feature in wanted if feature not in given]
    unknown = [feature for feature in own if feature not in known]
    differences = [f"{word} {listed(names)}" for word, names in (("lacks", missing), ("has unknown", unknown)) if names]
    if differences:
        raise ViewsError(
            f"{where}: its features are not those of the fit: it {' and '.join(differences)}. Pass the {len(wanted)} "
            "features of the fit, in any order, with their names."
        )


def listed(names: Sequence[str]) -> str:
    """Return the first names for an error: ``'a', 'b', 'c' and 7 more``."""
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(repr, names[:3])) + more


def _columns_of(array: Any, columns: list[int]) -> Any:
    return array.tocsr()[:, columns] if sp.issparse(array) else array[:, columns]
