"""Which columns of the table reach each part of a model, and how they were scaled on the way."""

from numbers import Integral
from typing import NamedTuple

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from .._core.asking import unwrap
from ._stored import is_fitted

# Columns of a table without names that are followed; a damaged file can name any number.
_MOST_COLUMNS = 100_000


class Column(NamedTuple):
    """A column as it reaches a part: ``scale`` times the table's column, plus ``shift``."""

    name: str
    scale: float = 1.0
    shift: float = 0.0
    is_made: bool = False  # by a step, of one or several columns of the table

    @property
    def is_scaled(self):
        return (self.scale, self.shift) != (1.0, 0.0)

    def undo(self, values):
        """Values of the table behind those that reached the part."""
        return (values - self.shift) / self.scale if self.is_scaled else values

    def then(self, scale, shift):
        return self._replace(
            scale=float(self.scale * scale), shift=float(self.shift * scale + shift)
        )


def trace_columns(model):
    """Columns that reach each part of a model.

    Returns
    -------
    columns : dict of int to list of Column
        By the ``id`` of each estimator that was reached.
    """
    found = {}
    _follow(model, name_columns(model), found)
    return found


def name_columns(estimator):
    """Columns of an estimator by the names that it was fitted with, or by numbers."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        n_columns = getattr(estimator, "n_features_in_", 0)
        is_number = isinstance(n_columns, Integral) and 0 < n_columns <= _MOST_COLUMNS
        names = [f"x{k}" for k in range(n_columns if is_number else 0)]
    return [Column(str(name)) for name in names]


def _follow(model, columns, found):
    model = unwrap(model)
    if isinstance(model, str) or model is None or id(model) in found or not is_fitted(model):
        return
    found[id(model)] = columns if columns is not None else name_columns(model)
    if isinstance(model, Pipeline):
        for _, part in model.steps:
            _follow(part, columns, found)
            columns = None if columns is None else _pass(part, columns)
    elif isinstance(model, ColumnTransformer):
        for _, part, chosen in model.transformers_:
            _follow(part, _choose(columns, chosen), found)
    elif isinstance(model, FeatureUnion):
        for _, part in model.transformer_list:
            _follow(part, columns, found)
    else:
        for part, chosen in _list_members(model):
            some = columns if chosen is None or columns is None else [columns[k] for k in chosen]
            _follow(part, some, found)


def _list_members(model):
    """Models inside of one that get its records, and the numbers of the columns that they get."""
    for name in ("best_estimator_", "estimator_", "regressor_"):
        if hasattr(getattr(model, name, None), "fit"):
            yield getattr(model, name), None
    # Histogram boosting encodes its categories.
    if "_preprocessor" in getattr(model, "__dict__", {}):
        yield vars(model)["_preprocessor"], None
    members = np.ravel(np.array(getattr(model, "estimators_", []), dtype=object)).tolist()
    subsets = getattr(model, "estimators_features_", [None] * len(members))
    yield from zip(members, subsets, strict=False)
    yield from ((one.estimator, None) for one in getattr(model, "calibrated_classifiers_", []))


def _choose(columns, chosen):
    """Columns that a ColumnTransformer hands to a part, by names, numbers, a mask or a slice."""
    if columns is None or callable(chosen):
        return None
    if isinstance(chosen, slice) and not isinstance(chosen.start or chosen.stop, str):
        return columns[chosen]
    chosen = [chosen] if isinstance(chosen, str | int) else list(chosen)
    if len(chosen) and isinstance(chosen[0], str):
        places = {one.name: one for one in columns}
        return [places[name] for name in chosen] if places.keys() >= set(chosen) else None
    return [columns[k] for k in np.arange(len(columns))[chosen]]


def _pass(part, columns):
    """Columns after a step, or None where they are not known."""
    part = unwrap(part)
    if part is None or (isinstance(part, str) and part == "passthrough"):
        return columns
    if isinstance(part, Pipeline):
        for _, step in part.steps:
            columns = None if columns is None else _pass(step, columns)
        return columns
    if isinstance(part, ColumnTransformer):
        return _join(part, columns)
    moved = _get_scaling(part, len(columns))
    if moved is not None:
        return [column.then(*each) for column, each in zip(columns, moved, strict=True)]
    return _name_output(part, columns)


def _join(transformer, columns):
    joined = []
    for _, part, chosen in transformer.transformers_:
        some = _choose(columns, chosen)
        if isinstance(part, str) and part == "drop":
            continue
        after = None if some is None else _pass(part, some) if some else []
        if after is None:
            return None
        joined += after
    return joined


def _get_scaling(part, n_columns):
    """Scale and shift of each column by a transformer that scales them, else None."""
    ones, zeros = np.ones(n_columns), np.zeros(n_columns)
    if isinstance(part, FunctionTransformer):
        return None if part.func is not None else np.column_stack([ones, zeros])
    if isinstance(part, MinMaxScaler):
        return np.column_stack([part.scale_, part.min_])
    centers = {StandardScaler: "mean_", RobustScaler: "center_", MaxAbsScaler: ""}
    for kind, name in centers.items():
        if isinstance(part, kind):
            scale = 1 / _or_else(getattr(part, "scale_", None), ones)
            return np.column_stack([scale, -scale * _or_else(getattr(part, name, None), zeros)])
    return None


def _or_else(values, other):
    return other if values is None else values


def _name_output(part, columns):
    names = [one.name for one in columns]
    for given in (names, None):
        try:
            out = [str(name) for name in part.get_feature_names_out(given)]
        except Exception:  # names that the part was not fitted with, or of another number
            continue
        # An imputer leaves columns as they are, and names them as they were.
        return columns if out == names else [Column(name, is_made=True) for name in out]
    return None
