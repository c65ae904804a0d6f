"""Transformers of scikit-learn for every view: scale, reduce or weight each in its own way, before clustering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from manyview.exceptions import ViewsError
from manyview.views import Array, Views, check_views
from manyview.views.joins import spread
from manyview.views.new_samples import match_fitted

__all__ = ["ViewTransformer"]

_KEPT_OR_NOT = ("passthrough", "drop")
_OUTPUTS = ("default", "pandas")


class ViewTransformer(TransformerMixin, BaseEstimator):
    """Apply a transformer of scikit-learn to each view.

    Where a view is missing for some samples, its transformer is fitted on the others, and only those are transformed.
    Single values may be NaN, for a transformer that imputes them.

    Parameters
    ----------
    transformers : transformer, mapping of view name to transformer, or sequence of transformers
        One for all views, which is cloned for each; those of some views by name; or one for every view. Instead of a
        transformer, "passthrough" leaves a view as it is and "drop" leaves it out. The transformers that are given
        stay as they are. Their parameters are set by the name of the view: ``set_params(gist__with_mean=False)``; in a
        sequence the views count as ``view0``, ``view1``, ...; and one for all is ``transformers__with_mean``.
    remainder : {"passthrough", "drop"}, default="passthrough"
        Whether views that a mapping does not name are kept as they are or left out.
    view_sizes : int or sequence of int, optional
        For *one* 2-D array that holds all views side by side; see :func:`manyview.check_views`.

    Attributes
    ----------
    transformers_ : dict of str to transformer
        The fitted transformer, "passthrough" or "drop", by the name of the view.
    view_names_ : tuple of str
        The views that were fitted.
    view_sizes_ : dict of str to int
        Their numbers of features.
    n_features_in_ : int
        The sum of these.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.decomposition import PCA
    >>> from manyview import ViewTransformer
    >>> rng = np.random.default_rng(0)
    >>> views = {"gist": rng.random((20, 9)), "words": rng.poisson(1, (20, 30))}
    >>> ViewTransformer({"gist": PCA(2)}).fit_transform(views)
    Views(20 samples; gist: 2, words: 30)
    """

    def __init__(
        self, transformers: Any, *, remainder: str = "passthrough", view_sizes: int | Sequence[int] | None = None
    ) -> None:
        self.transformers = transformers
        self.remainder = remainder
        self.view_sizes = view_sizes

    def fit(self, X: Any, y: Any = None) -> ViewTransformer:
        """Fit the transformer of every view.

        Parameters
        ----------
        X : Views, list or dict of arrays, or one table with ``view_sizes``
            Each of shape (n_samples, n_features_v); see :func:`manyview.check_views`.
        y : array-like of shape (n_samples,), optional
            Passed to the transformers. The labels of :class:`manyview.Views` are not.

        Returns
        -------
        self
        """
        self._fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit the transformer of every view and return the transformed views.

        Parameters
        ----------
        X, y
            As for :meth:`fit`.

        Returns
        -------
        Views or DataFrame
            As from :meth:`transform`.
        """
        return self._output(self._fit(X, y))

    def _fit(self, X: Any, y: Any) -> Views:
        """Fit the transformer of every view and return the transformed views."""
        given = self._check(X, min_samples=2)
        chosen = self._choose(given.names)
        fitted: dict[str, Any] = {}
        outputs: dict[str, Array] = {}
        for v, (name, transformer) in enumerate(chosen.items()):
            fitted[name] = transformer if isinstance(transformer, str) else clone(transformer)
            rows = given.has_view(v)
            if rows is not None and not rows.any():
                raise ViewsError(f"views[{name!r}]: no sample has this view; leave it out.")
            own_y = y if y is None or rows is None else np.asarray(y)[rows]
            output = _apply(name, _fit_and_transform, fitted[name], _rows_of(given.arrays[v], rows), own_y)
            if output is not None:
                outputs[name] = output
        result = _assemble(given, outputs)
        self.transformers_ = fitted
        self.view_names_ = given.names
        self.view_sizes_ = dict(zip(given.names, given.n_features, strict=True))
        self.n_features_in_ = sum(given.n_features)
        if given.feature_names and any(own is not None for own in given.feature_names):
            self.feature_names_in_ = dict(zip(given.names, given.feature_names, strict=True))
        # The width and type of the output, for new samples if the view is missing for all of them.
        self._no_rows = {name: output[:0] for name, output in outputs.items()}
        return result

    def transform(self, X: Any) -> Any:
        """Transform the views of samples, new ones or those of the fit.

        Parameters
        ----------
        X : Views, list or dict of arrays, or one table with ``view_sizes``
            The views of the fit, by name, or some of them.

        Returns
        -------
        Views or DataFrame
            With the same names, ids, labels and missing views; where a view is missing, its row is zero. A data frame
            if ``set_output`` asks for it.
        """
        check_is_fitted(self)
        checked = self._check(X, min_samples=1)
        features, who = getattr(self, "feature_names_in_", None), type(self).__name__
        given = match_fitted(X, checked, self.view_names_, list(self.view_sizes_.values()), features, who)
        outputs = {}
        for v, name in enumerate(given.names):
            rows = given.has_view(v)
            if rows is not None and not rows.any():
                output = self._no_rows.get(name)
            else:
                output = _apply(name, _only_transform, self.transformers_[name], _rows_of(given.arrays[v], rows))
            if output is not None:
                outputs[name] = output
        return self._output(_assemble(given, outputs))

    def set_output(self, *, transform: str | None = None) -> ViewTransformer:
        """Choose what ``transform`` and ``fit_transform`` return.

        Parameters
        ----------
        transform : {"default", "pandas"}, optional
            "default" returns :class:`manyview.Views`; "pandas" one data frame whose columns have two levels, view and
            feature, with the ids of the samples as index and NaN where a view is missing. Estimators of this package
            take both; labels and metadata are kept by `Views` only. None leaves the choice as it is.

        Returns
        -------
        self

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn.decomposition import PCA
        >>> from manyview import ViewTransformer
        >>> scale = ViewTransformer(PCA(2)).set_output(transform="pandas")
        >>> scale.fit_transform({"gist": np.eye(4), "words": np.eye(4)}).columns.tolist()
        [('gist', 'pca0'), ('gist', 'pca1'), ('words', 'pca0'), ('words', 'pca1')]
        """
        if transform not in (None, *_OUTPUTS):
            raise ValueError(f"transform: expected one of {', '.join(map(repr, _OUTPUTS))}, got {transform!r}.")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output(self, views: Views) -> Any:
        """Return transformed views as ``set_output``, or scikit-learn's own configuration, asks for."""
        wanted = _get_output_config("transform", self)["dense"]
        if wanted not in _OUTPUTS:
            raise ValueError(
                f"transform_output={wanted!r} of scikit-learn: ViewTransformer returns Views or data frames of pandas. "
                'Call its set_output(transform="default").'
            )
        return views if wanted == "default" else _as_frame(views, self.transformers_)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return parameters by name, with the transformers and their parameters by the name of the view.

        Parameters
        ----------
        deep : bool, default=True
            Whether to list the transformers and their parameters, too.

        Returns
        -------
        dict
        """
        params: dict[str, Any] = super().get_params(deep=deep)
        if deep:
            for name, transformer in self._by_name().items():
                params[name] = transformer
                if hasattr(transformer, "get_params"):
                    params.update({f"{name}__{key}": value for key, value in transformer.get_params().items()})
        return params

    def set_params(self, **params: Any) -> ViewTransformer:
        """Set parameters, transformers (``gist=PCA(3)``) or parameters of transformers (``gist__n_components=3``).

        Parameters
        ----------
        **params
            Names as :meth:`get_params` lists them.

        Returns
        -------
        self
        """
        if "transformers" in params:  # first: the other names refer to it
            self.transformers = params.pop("transformers")
        by_name = self._by_name()
        replaced = {name: params.pop(name) for name in by_name if name in params}
        if replaced:
            by_name.update(replaced)
            self.transformers = by_name if isinstance(self.transformers, Mapping) else list(by_name.values())
        super().set_params(**params)
        return self

    def _by_name(self) -> dict[str, Any]:
        """Return the transformers by name; a single transformer for all views has none."""
        if isinstance(self.transformers, Mapping):
            return dict(self.transformers)
        if _is_list(self.transformers):
            return {f"view{v}": transformer for v, transformer in enumerate(self.transformers)}
        return {}

    def _check(self, views: Any, min_samples: int) -> Views:
        return check_views(
            views, view_sizes=self.view_sizes, min_samples=min_samples, may_be_constant=True, may_have_gaps=True
        )

    def _choose(self, names: Sequence[str]) -> dict[str, Any]:
        """Return the transformer of every view, "passthrough" or "drop"."""
        if self.remainder not in _KEPT_OR_NOT:
            raise ViewsError(f"remainder: expected 'passthrough' or 'drop', got {self.remainder!r}.")
        given = self.transformers
        if isinstance(given, Mapping):
            unknown = [name for name in given if name not in names]
            if unknown:
                raise ViewsError(f"transformers: there is no view {unknown[0]!r}; the views are {', '.join(names)}.")
            taken = [name for name in given if name in self.get_params(deep=False)]
            if taken:
                raise ViewsError(f"transformers: {taken[0]!r} is the name of a parameter; give this view another name.")
            chosen = {name: given.get(name, self.remainder) for name in names}
        elif _is_list(given):
            if len(given) != len(names):
                raise ViewsError(
                    f"transformers: expected one per view ({len(names)}: {', '.join(names)}), got {len(given)}."
                )
            chosen = dict(zip(names, given, strict=True))
        else:
            chosen = dict.fromkeys(names, given)
        for name, transformer in chosen.items():
            _check_transformer(name, transformer)
        return chosen

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _is_list(value: Any) -> bool:
    # A pipeline has a length and items, too, but is one transformer.
    return isinstance(value, Sequence) and not isinstance(value, str)


def _check_transformer(name: str, transformer: Any) -> None:
    if isinstance(transformer, str):
        usable = transformer in _KEPT_OR_NOT
    else:
        usable = not isinstance(transformer, type) and hasattr(transformer, "fit") and hasattr(transformer, "transform")
    if not usable:
        raise ViewsError(
            f"transformers: for view {name!r} expected an object with fit and transform, 'passthrough' or 'drop', got "
            f"{transformer!r}."
        )


def _rows_of(array: Array, rows: np.ndarray | None) -> Array:
    return array if rows is None else array[rows]


def _fit_and_transform(transformer: Any, array: Array, y: Any) -> Any:
    if hasattr(transformer, "fit_transform"):
        return transformer.fit_transform(array, y)
    return transformer.fit(array, y).transform(array)


def _only_transform(transformer: Any, array: Array) -> Any:
    return transformer.transform(array)


def _apply(name: str, step: Callable[..., Any], transformer: Any, array: Array, *args: Any) -> Array | None:
    """Return the output of the step for a view, checked; None for a view that is left out."""
    if isinstance(transformer, str):
        return array if transformer == "passthrough" else None
    who = type(transformer).__name__
    try:
        output = step(transformer, array, *args)
    except Exception as error:
        error.add_note(f"Raised by {who}, the transformer of views[{name!r}].")
        raise
    output = sp.csr_array(output) if sp.issparse(output) else np.asarray(output)
    if output.ndim != 2:
        raise ViewsError(f"views[{name!r}]: expected {who} to return a 2-D array, got {output.ndim}-D.")
    if output.shape[0] != array.shape[0]:
        raise ViewsError(
            f"views[{name!r}]: expected {who} to return a row for each of {array.shape[0]} samples, got "
            f"{output.shape[0]} rows."
        )
    return output


def _assemble(given: Views, outputs: Mapping[str, Array]) -> Views:
    """Return the given samples with the transformed views, with rows for samples whose view is missing."""
    if not outputs:
        raise ViewsError(f"transformers: every view is dropped ({', '.join(given.names)}); keep at least one.")
    kept = [given.names.index(name) for name in outputs]
    arrays = []
    for v, output in zip(kept, outputs.values(), strict=True):
        rows = given.has_view(v)
        arrays.append(output if rows is None else spread(output, np.flatnonzero(rows), given.n_samples))
    present = None if given.present is None else given.present[:, kept]
    # Transformed features have no names; those of a view that was passed through keep theirs.
    names = given.feature_names or (None,) * given.n_views
    known = tuple(names[v] if array is given.arrays[v] else None for v, array in zip(kept, arrays, strict=True))
    return replace(given, arrays=tuple(arrays), names=tuple(outputs), present=present, feature_names=known)


def _as_frame(views: Views, transformers: Mapping[str, Any]) -> Any:
    """Return views as one data frame whose columns have two levels, NaN where a view is missing."""
    import pandas  # only here

    columns, parts = [], []
    for v, (name, array) in enumerate(views.items()):
        if sp.issparse(array):
            raise ValueError(
                f"views[{name!r}]: the output is sparse, which data frames are not. Let its transformer return dense "
                'arrays (often sparse_output=False), or call set_output(transform="default").'
            )
        present = views.has_view(v)
        parts.append(array if present is None else np.where(present[:, None], array, np.nan))
        known = views.feature_names[v] if views.feature_names else None
        columns += [(name, feature) for feature in known or _names_of_output(transformers[name], array.shape[1])]
    index = None if views.sample_ids is None else pandas.Index(views.sample_ids)
    return pandas.DataFrame(np.hstack(parts), index=index, columns=pandas.MultiIndex.from_tuples(columns))


def _names_of_output(transformer: Any, width: int) -> list[str]:
    """Return the names of the features that a transformer made; numbered by its own name if it gives none."""
    try:
        names = [str(name) for name in transformer.get_feature_names_out()]
    except (AttributeError, ValueError):  # it has none, or asks for the names of its input
        names = []
    stem = "" if isinstance(transformer, str) else type(transformer).__name__.lower()
    return names if len(names) == width else [f"{stem}{j}" for j in range(width)]
