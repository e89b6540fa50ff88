"""Values of the training data that a model file gives to those who know no candidate."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomTreesEmbedding,
)

from .._core.asking import unwrap
from ..victims import read_state
from ._columns import Column, name_columns, trace_columns
from ._edges import rebuild_values, snap
from ._leaks import DERIVED, EDGE, EXACT, MIDDLES, TARGET, Part, list_leaks
from ._stored import check_model, is_fitted, is_inside
from ._text import write_counts

# The parts of these are fitted on numbers of their own.
_HIDING = (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomTreesEmbedding,
)
# How close scaled numbers come to those that they were, as a share of the step between them.
_SINGLE, _DOUBLE = 1e-3, 1e-6
# Values of a column of zeros and ones, and the edge between them, which say nothing.
_OF_INDICATORS = 0.0, 0.5, 1.0
_TARGET_NAME = "(target)"
_ORDER = [EXACT, DERIVED, EDGE]
_LIMITS = {
    "rows": "Which values belong to one record is told only by the rows that are stored.",
    "none": "Which values belong to one record is not told.",
    "thresholds": "A threshold of a tree lies between two values, which it does not tell.",
    "text": "Text behind codes or hashes is not told.",
}


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """Values of training data that a model keeps, as returned by :func:`reconstruct_values`.

    Attributes
    ----------
    values : DataFrame
        What ``to_frame`` returns.
    limits : tuple of str
        What could not be rebuilt.
    """

    values: pd.DataFrame = field(repr=False)
    limits: tuple[str, ...] = ()

    def to_frame(self) -> pd.DataFrame:
        """Each value of each column once, with the place where it is known best.

        Returns
        -------
        frame : DataFrame
            ``column``, the name of a column of the table or of the output of a step, None for the
            target; ``value``; ``how``: ``"exact"`` as it was stored, in the precision of the model,
            ``"derived"`` computed from stored numbers, or ``"edge"``, either a value or a point
            between two neighboring ones; ``n_records``, the number of training records with it that
            the place tells of, else missing; ``path``, the place in the model.
        """
        return self.values.copy()

    def count_by_column(self) -> pd.DataFrame:
        """Number of values of each column.

        Returns
        -------
        frame : DataFrame
            One row for each column, with the columns ``exact``, ``derived`` and ``edge``.
        """
        table = pd.crosstab(self.values["column"].fillna(_TARGET_NAME), self.values["how"])
        table = table.reindex(columns=_ORDER, fill_value=0)
        return table.rename_axis(columns=None)

    def summary(self) -> str:
        """Return the numbers of values by column, and what could not be rebuilt, as text.

        Returns
        -------
        text : str
        """
        return "\n".join([*write_counts(self.count_by_column()), *self.limits])

    def __str__(self) -> str:
        return self.summary()


def reconstruct_values(model: object) -> Reconstruction:
    """Rebuild values of the training data from a fitted model, without candidates.

    Many models keep values of their training data: neighbors and support vector machines keep rows,
    encoders the values of each column, histograms and quantiles edges, XGBoost split conditions,
    and regression trees the targets of leaves with one record. They are collected by column, with
    the names of the table where steps of a Pipeline and parts of a ColumnTransformer only choose,
    scale or impute columns. Nothing is predicted.

    Parameters
    ----------
    model : fitted estimator
        Classifier, regressor, transformer, Pipeline or other estimator.

    Returns
    -------
    reconstruction : Reconstruction
        ``reconstruction.to_frame()`` has the values, ``reconstruction.limits`` says what could not
        be rebuilt.

    Raises
    ------
    TypeError
        If the model is a function or service, whose file is not at hand.
    NotFittedError
        If the model is not fitted.

    See Also
    --------
    inspect_model : Lists what is stored, with advice.
    skmia.attacks.StoredValuesAttack : Looks for known candidates.

    Notes
    -----
    Histogram gradient boosting puts an edge halfway between each two neighboring values of a column
    that has at most 255 of them, and one edge determines the next value by the one before. If the
    edges have at most three digits and only one first value leads to values of as few digits that
    lie on their sides of the edges, all values of the column are derived. This takes for granted
    that the column has at most 255 distinct values and no further digits.

    Split conditions of XGBoost are values of the training data in single precision if trees were
    grown by histograms, its default. Scaled columns are scaled back, which rounds. Values after
    other steps are those that reached the part, under the names that the step gives to them.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from skmia.inspection import reconstruct_values
    >>> X = pd.DataFrame({"age": [21, 34, 35, 36, 62] * 10})
    >>> model = HistGradientBoostingRegressor().fit(X, X["age"] / 2)
    >>> found = reconstruct_values(model).to_frame()
    >>> found.loc[found["how"] == "derived", "value"].tolist()
    [21.0, 34.0, 35.0, 36.0, 62.0]
    """
    model = unwrap(model)
    check_model(model)
    state = read_state(model)
    found = list_values(model, state)
    kinds = {one.kind for one in state.arrays}
    return Reconstruction(_join([_make_frame(one) for one in found]), _list_limits(found, kinds))


class Values(NamedTuple):
    """Values of one column that one place gives."""

    column: str | None
    values: np.ndarray
    how: str
    counts: np.ndarray | None
    path: str


def list_values(model, state):
    """All values that the parts of a model give, as a list of Values."""
    arrays = {one.path: one for one in state.arrays}
    columns = trace_columns(model)
    hiding = [one.path for one in state.estimators if isinstance(one.estimator, _HIDING)]
    found = []
    for path, estimator in state.estimators:
        is_hidden = any(is_inside(path, other) for other in hiding if path != other)
        if is_hidden or not is_fitted(estimator):
            continue
        some = columns.get(id(estimator)) or name_columns(estimator)
        around = [
            one.estimator
            for one in state.estimators
            if isinstance(one.estimator, TransformedTargetRegressor) and is_inside(path, one.path)
        ]
        leaks = list_leaks(Part(path, estimator, arrays))
        found += [_resolve(_undo_target(leak, around), some) for leak in leaks]
    return [one for one in found if len(one.values)]


def count_values(found):
    """How many values there are of each column; of several places, where there are most."""
    counts = {}
    for one in found:
        key = _TARGET_NAME if one.column is None else one.column
        row = counts.setdefault(key, dict.fromkeys(_ORDER, 0))
        row[one.how] = max(row[one.how], len(one.values))
    frame = pd.DataFrame.from_dict(counts, orient="index", columns=_ORDER)
    return frame.rename_axis("column")


def _undo_target(leak, around):
    """Targets of the table behind those that a model was fitted on after a transformation."""
    if leak.column != TARGET or not around or not len(leak.values):
        return leak
    values = leak.values[:, None]
    for one in reversed(around):  # the innermost first
        values = np.reshape(one.transformer_.inverse_transform(values), (-1, 1))
    return leak._replace(values=values[:, 0], how=DERIVED)


def _resolve(leak, columns):
    """Values of a leak under the name, and on the scale, of the column of the table."""
    known = 0 <= leak.column < len(columns)
    column = columns[leak.column] if known else Column(f"x{leak.column}")
    values, how = np.asarray(leak.values), leak.how
    if column.is_scaled and values.dtype.kind == "f":
        precision = _SINGLE if values.dtype == np.float32 else _DOUBLE
        values = snap(column.undo(values.astype(np.float64)), precision)
        how = DERIVED if how == EXACT else how
    if how == MIDDLES:
        rebuilt = rebuild_values(values)
        values, how = (values, EDGE) if rebuilt is None else (rebuilt, DERIVED)
    kept = pd.notna(values)
    if column.is_made and np.isin(values, _OF_INDICATORS).all():
        kept = np.zeros(len(values), dtype=bool)
    values = values.astype(np.float64) if values.dtype.kind in "biuf" else values
    name = None if leak.column == TARGET else column.name
    counts = None if leak.counts is None else leak.counts[kept]
    return Values(name, values[kept], how, counts, leak.path)


def _make_frame(one):
    frame = pd.DataFrame({"column": one.column, "value": one.values, "how": one.how})
    return frame.assign(n_records=pd.NA if one.counts is None else one.counts, path=one.path)


def _join(frames):
    names = ["column", "value", "how", "n_records", "path"]
    if not frames:
        return pd.DataFrame(columns=names)
    whole = pd.concat([one.astype(object) for one in frames], ignore_index=True)
    rank = whole["how"].map(_ORDER.index)
    told = whole["n_records"].isna()
    # Whole numbers and decimals of one value are one.
    whole = whole.iloc[np.lexsort([told, rank])].drop_duplicates(["column", "value"])
    whole = whole.sort_index(ignore_index=True)
    return whole.astype({"n_records": "Int64", "how": str})[names]


def _list_limits(found, kinds):
    has_rows = any(one.counts is not None and one.column is not None for one in found)
    told = [_LIMITS["rows" if has_rows else "none"]]
    told += [_LIMITS["thresholds"]] if "thresholds" in kinds else []
    return (*told, _LIMITS["text"])
