"""Values of the training data that a model file gives to those who know no candidate."""

from contextlib import suppress
from dataclasses import dataclass, field
from numbers import Integral
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    IsolationForest,
    RandomTreesEmbedding,
)
from sklearn.feature_selection import RFE, SelectorMixin
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    RobustScaler,
    StandardScaler,
)

from .._core.escaping import SummaryMixin, visible
from .._core.features import list_chosen_places
from .._core.kinds import is_regressor
from .._core.query import unwrap
from .._core.sample_weights import name_parameter
from .._core.sklearn import list_fitted_estimators
from ..victims import read_state
from ._families import check_fitted_model, has_learned, is_inside, keeps_targets

_TARGET_NAME = "(target)"
# Columns of a table without names that are followed; a damaged file can name any number.
_MOST_COLUMNS = 100_000


class PartColumn(NamedTuple):
    """A column as it reaches a part: ``scale`` times the table's column, plus ``shift``."""

    name: str | None  # None for the target
    scale: float = 1.0
    shift: float = 0.0
    is_made: bool = False  # by a step, of one or several columns of the table

    @property
    def is_scaled(self):
        return (self.scale, self.shift) != (1.0, 0.0)

    def undo(self, values):
        """Return the values of the table behind those that reached the part."""
        return (values - self.shift) / self.scale if self.is_scaled else values

    def then(self, scale, shift):
        return self._replace(
            scale=float(self.scale * scale), shift=float(self.shift * scale + shift)
        )


def trace_columns(model):
    """Return the columns that reach each part of a model, none where they are not known."""
    found = {}
    _follow_parts(model, name_columns(model), found)
    return found


def name_columns(estimator):
    """Return the columns of an estimator by the names that it was fitted with, or by numbers."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        n_columns = getattr(estimator, "n_features_in_", 0)
        is_number = isinstance(n_columns, Integral) and 0 < n_columns <= _MOST_COLUMNS
        names = [f"x{k}" for k in range(n_columns if is_number else 0)]
    return [PartColumn(str(name)) for name in names]


def _name_inner_columns(estimator, path):
    """Return columns of a part that gets others than the table's, by its place and its names."""
    inner = name_columns(estimator)
    return [one._replace(name=f"{path}: {one.name}", is_made=True) for one in inner]


def _follow_parts(model, columns, found):
    model = unwrap(model)
    if isinstance(model, str) or model is None or id(model) in found or not has_learned(model):
        return
    found[id(model)] = columns or []
    if isinstance(model, Pipeline):
        for _, part in model.steps:
            _follow_parts(part, columns, found)
            columns = None if columns is None else _pass(part, columns)
    elif isinstance(model, ColumnTransformer):
        for _, part, chosen in model.transformers_:
            _follow_parts(part, _choose_part_columns(columns, chosen), found)
    else:
        for part, chosen in _list_inner_estimators(model):
            some = columns if chosen is None or columns is None else [columns[k] for k in chosen]
            _follow_parts(part, some, found)
    if isinstance(model, TransformedTargetRegressor) and hasattr(model, "transformer_"):
        targets = [one._replace(name=None) for one in name_columns(model.transformer_)]
        _follow_parts(model.transformer_, targets, found)
    if getattr(model, "passthrough", False) is True and hasattr(model, "final_estimator_"):
        inner = _name_inner_columns(model.final_estimator_, "final_estimator_")
        n_predictions = max(len(inner) - len(columns or ()), 0)
        _follow_parts(model.final_estimator_, inner[:n_predictions] + (columns or []), found)


def _list_inner_estimators(model):
    """Models inside of one that get its records, and the numbers of the columns that they get."""
    if isinstance(model, FeatureUnion):
        yield from ((part, None) for _, part in model.transformer_list)
        return
    chosen = np.flatnonzero(getattr(model, "support_", ())) if isinstance(model, RFE) else None
    for name in ("best_estimator_", "estimator_", "regressor_", "initial_imputer_"):
        if hasattr(getattr(model, name, None), "fit"):
            yield getattr(model, name), chosen
    # Histogram boosting encodes its categories.
    if "_preprocessor" in getattr(model, "__dict__", {}):
        yield vars(model)["_preprocessor"], None
    members = list_fitted_estimators(model)
    subsets = getattr(model, "estimators_features_", [None] * len(members))
    yield from zip(members, subsets, strict=False)
    yield from ((one.estimator, None) for one in getattr(model, "calibrated_classifiers_", []))


def _choose_part_columns(columns, chosen):
    """Columns that a ColumnTransformer hands to a part, by names, numbers, a mask or a slice."""
    if columns is None or callable(chosen):
        return None
    try:
        places = list_chosen_places(chosen, [one.name for one in columns], len(columns))
    except ValueError:  # a name that the columns do not have
        return None
    return [columns[place] for place in places]


def _pass(part, columns):
    """Return columns after a step, or None where they are not known."""
    part = unwrap(part)
    if part is None or (isinstance(part, str) and part == "passthrough"):
        return columns
    if isinstance(part, Pipeline):
        for _, step in part.steps:
            columns = None if columns is None else _pass(step, columns)
        return columns
    if isinstance(part, ColumnTransformer):
        kept = [
            one for one in part.transformers_ if not (isinstance(one[1], str) and one[1] == "drop")
        ]
        some = [(inner, _choose_part_columns(columns, chosen)) for _, inner, chosen in kept]
        joined = [found and _pass(inner, found) for inner, found in some]
        return None if None in joined else [column for found in joined for column in found]
    moved = _get_scaling(part, len(columns))
    if moved is not None:
        return [column.then(*each) for column, each in zip(columns, moved, strict=True)]
    if isinstance(part, SelectorMixin):
        with suppress(Exception):  # of a damaged file
            return [columns[k] for k in np.flatnonzero(part.get_support())]
        return None
    return _name_output(part, columns)


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
            scale, center = (getattr(part, one, None) for one in ("scale_", name))
            # StandardScaler has means also if it does not subtract them.
            center = center if getattr(part, "with_mean", True) else None
            scale = ones if scale is None else 1 / scale
            return np.column_stack([scale, -scale * (zeros if center is None else center)])
    return None


# Steps that add columns, or fill in values, and leave the others as they are under their names.
_LEAVING = {"SimpleImputer", "KNNImputer", "IterativeImputer", "PolynomialFeatures"}


def _name_output(part, columns):
    """Return the columns after a step by the names that it gives, None where it gives none.

    Most steps that name a column as it was before have changed it, so it gets another name.
    """
    names = [one.name or _TARGET_NAME for one in columns]
    for given in (names, None):
        try:
            out = [str(name) for name in part.get_feature_names_out(given)]
        except Exception:  # names that the part was not fitted with, or of another number
            continue
        own = names if given else [one.name for one in name_columns(part)]
        before = dict(zip(own, columns, strict=False))
        break
    else:
        return None
    if not _LEAVING.isdisjoint(kind.__name__ for kind in type(part).__mro__):
        return [before.get(name) or PartColumn(name, is_made=True) for name in out]
    kind = type(part).__name__
    made = [
        f"{before[name].name or _TARGET_NAME} after {kind}" if name in before else name
        for name in out
    ]
    return [PartColumn(name, is_made=True) for name in made]


# Digits after the point of columns whose values are rebuilt.
_MOST_DECIMALS = 3
_SLACK = 1e-6  # of a step of the grid


def rebuild_values(middles):
    """Reconstruct values from all middles between neighbors, if only one set of values fits.

    The first value determines all others, each the mirror image of the one before at the middle
    between them. Values of so many digits leave a few first values, and most often one, for which
    all others are in order.

    Return values of shape (n + 1,): None if none or several fit.
    """
    decimals = _count_rounded_decimals(2 * middles)
    if decimals is None or len(middles) < 2:
        return None
    step = 10.0**-decimals
    # The gap g below the first middle leaves gaps a_k +- g below the others, all above 0.
    signs = (-1.0) ** np.arange(len(middles))
    # Sums with alternating signs: a_k = steps_k - a_{k-1}, from 0.
    offsets = signs * np.cumsum(signs * np.diff(middles, prepend=middles[0]))
    low = np.max(np.where(signs > 0, -offsets, 0), initial=0)
    ups = np.append(offsets[signs < 0], np.inf)
    high = np.min(ups)
    if not np.isfinite(high) or (high - low) / step > 2**31:
        return None
    ends = (middles[0] - high) / step, (middles[0] - low) / step
    first = np.arange(np.ceil(ends[0] + _SLACK), np.floor(ends[1] - _SLACK) + 1)
    if len(first) != 1:
        return None
    gap = middles[0] - first[0] * step
    below = middles - (offsets + signs * gap)
    values = np.append(below, 2 * middles[-1] - below[-1])
    return np.round(values, decimals) + 0.0


def snap(values, precision):
    """Return values that were rounded on the way, on the grid of decimals that all are close to."""
    for digits in range(_MOST_DECIMALS + 1):
        near = np.round(values, digits)
        if np.all(np.abs(near - values) <= precision * 10.0**-digits):
            return near + 0.0
    return values


def _count_rounded_decimals(values):
    for digits in range(_MOST_DECIMALS + 1):
        if np.allclose(np.round(values, digits), values, rtol=0, atol=_SLACK * 10.0**-digits):
            return digits
    return None


EXACT, DERIVED, EDGE = "exact", "derived", "edge"
# Edges that are all halfway between neighboring values of a column.
MIDDLES = "middles"

# Stands for the target among the numbers of columns.
TARGET = -1


class ColumnLeak(NamedTuple):
    """Values of one column that are kept in one place."""

    column: int  # by its number among those that reach the estimator, or TARGET
    values: np.ndarray
    how: str
    path: str
    counts: np.ndarray | None = None


class EstimatorPart:
    """An estimator inside of a model, and its arrays by their names."""

    def __init__(self, path, estimator, arrays):
        self.estimator = estimator
        self._path, self._arrays = path, arrays

    def place(self, name):
        return f"{self._path}.{name}" if self._path else name

    def get(self, name, default=None):
        """Return the array of an attribute, or what is given for one that is not stored."""
        stored = self._arrays.get(self.place(name))
        return default if stored is None else stored.array

    def leak(self, column, name, values, how, counts=None):
        """Return the values of a column that an attribute keeps."""
        return ColumnLeak(column, values, how, self.place(name), counts)

    def list_columns(self, name):
        """Yield the arrays of a list with one for each column, with their numbers."""
        start = f"{self.place(name)}["
        for path in self._arrays:
            number = path.removeprefix(start).removesuffix("]")
            if path.startswith(start) and number.isdigit():
                yield int(number), f"{name}[{number}]"


def list_leaks_of_part(part):
    """Return what a part keeps, as a list of Leak."""
    for kind in type(part.estimator).__mro__:
        if kind.__name__ in _RULES:
            return list(_RULES[kind.__name__](part))
    return []


def _reveal_rows(name):
    """Return rows as they are, each value with the number of records that have it."""

    def read(part):
        rows, targets = part.get(name), part.get("_y")
        if rows is not None and rows.ndim == 2:
            is_sparse = sparse.issparse(rows)
            rows = rows.tocsc() if is_sparse else rows
            for k in range(rows.shape[1]):
                column = rows[:, [k]].toarray() if is_sparse else rows[:, k]
                values, counts = np.unique(column, return_counts=True)
                yield part.leak(k, name, values, EXACT, counts)
        if is_regressor(part.estimator) and targets is not None:
            yield from _list_targets(part, "_y", targets, EXACT)

    return read


def _list_targets(part, name, targets, how):
    """Yield the stored targets, unless there are several for each record."""
    if targets.shape in ((len(targets),), (len(targets), 1)):
        values, counts = np.unique(targets, return_counts=True)
        yield part.leak(TARGET, name, values, how, counts)


def _reveal_process(part):
    yield from _reveal_rows("X_train_")(part)
    targets, state = part.get("y_train_"), vars(part.estimator)
    if targets is None:
        return
    if not part.estimator.normalize_y:
        yield from _list_targets(part, "y_train_", targets, EXACT)
        return
    # The model scaled them, which rounds.
    scale, shift = state.get("_y_train_std"), state.get("_y_train_mean")
    if scale is not None and shift is not None:
        targets = snap(targets * scale + shift, _DOUBLE)
        yield from _list_targets(part, "y_train_", targets, DERIVED)


def _reveal_categories(part):
    if isinstance(part.estimator.categories, str):  # and not given by the user
        for k, name in part.list_columns("categories_"):
            yield part.leak(k, name, part.get(name), EXACT)


def _reveal_words(part):
    words = part.get("vocabulary_.keys()")
    if words is not None and getattr(part.estimator, "vocabulary", None) is None:
        yield part.leak(0, "vocabulary_.keys()", words, EXACT)


def _read_quantiles(part):
    for k, column in enumerate(part.get("quantiles_", np.empty((0, 0))).T):
        yield part.leak(k, "quantiles_", column[[0, -1]], EXACT)
        yield part.leak(k, "quantiles_", np.unique(column[1:-1]), EDGE)


def _read_bins(part):
    for k, name in part.list_columns("bin_edges_"):
        edges = part.get(name)
        yield part.leak(k, name, edges[[0, -1]], EXACT)
        if part.estimator.strategy == "quantile":
            yield part.leak(k, name, edges[1:-1], EDGE)


def _read_each(how, *names):
    """Return one number for each column."""

    def read(part):
        for name in names:
            for k, one in enumerate(part.get(name, ())):
                yield part.leak(k, name, np.array([one]), how)

    return read


def _read_statistics(part):
    how = {"median": EDGE, "most_frequent": EXACT}.get(part.estimator.strategy)
    return () if how is None else _read_each(how, "statistics_")(part)


def _read_isotonic(part):
    # Thresholds between others are left out where they say nothing; those that stay are values.
    yield part.leak(0, "X_thresholds_", np.unique(part.get("X_thresholds_", ())), EXACT)


def _reveal_bin_edges(part):
    """Yield edges between bins."""
    is_categorical = part.get("_bin_mapper.is_categorical_")
    if is_categorical is None or np.any(is_categorical):
        return  # columns are in another order then
    for k, name in part.list_columns("_bin_mapper.bin_thresholds_"):
        edges = part.get(name)
        # As many edges as there can be are most often quantiles of a column with more values.
        are_middles = len(edges) < part.estimator.max_bins - 1
        yield part.leak(k, name, edges, MIDDLES if are_middles else EDGE)


def _read_booster(part):
    """Split conditions, which the method of histograms takes from the values of the column."""
    if getattr(part.estimator, "tree_method", None) not in (None, "auto", "hist"):
        return
    trees = "_Booster['learner']['gradient_booster']['model']['trees'][*]['split_conditions']"
    found, k = {}, 0
    while part.get(trees.replace("*", str(k))) is not None:
        place = trees.replace("*", str(k))
        conditions, base = part.get(place), place.removesuffix("['split_conditions']")
        inner = part.get(f"{base}['left_children']") >= 0
        if np.any(part.get(f"{base}['split_type']")[inner]):
            return  # splits on categories
        for column in np.unique(part.get(f"{base}['split_indices']")[inner]):
            chosen = inner & (part.get(f"{base}['split_indices']") == column)
            found.setdefault(int(column), []).append(conditions[chosen].astype(np.float32))
        k += 1
    for column, values in sorted(found.items()):
        yield part.leak(column, trees, np.unique(np.concatenate(values)), EXACT)


def _read_ranges(part):
    """Yield the smallest and largest value of each column, which LightGBM stores in its text."""
    places = "_Booster['feature_infos']", "booster['feature_infos']"
    name = next((one for one in places if part.get(one) is not None), "")
    for k, extremes in enumerate(part.get(name, np.empty((0, 0))).T):
        yield part.leak(k, name, np.unique(extremes[np.isfinite(extremes)]), EXACT)


def _read_targets(part):
    """Yield the targets of leaves with one record, or with records of one target."""
    counts, values = part.get("tree_.nodes['n_node_samples']"), part.get("tree_.values")
    if counts is None or not keeps_targets(part.estimator) or values.shape[1:] != (1, 1):
        return
    is_leaf = part.get("tree_.nodes['left_child']") < 0
    is_pure = part.get("tree_.nodes['impurity']") == 0
    order = getattr(part.estimator, "monotonic_cst", None)
    if order is not None and np.any(order):
        # Values that would break the order were moved between those of two sides.
        yield part.leak(TARGET, "tree_.values", np.unique(values[is_leaf, 0, 0]), EDGE)
        return
    alone = is_leaf & (counts > 0) & ((counts == 1) | is_pure)
    # The mean of several equal numbers can be another one in its last digit.
    single = part.get("tree_.nodes['weighted_n_node_samples']") == 1
    for how, chosen in ((EXACT, alone & single), (DERIVED, alone & ~single)):
        found, place = np.unique(values[chosen, 0, 0], return_inverse=True)
        numbers = np.zeros(len(found), dtype=int)
        np.add.at(numbers, place, counts[chosen])
        yield part.leak(TARGET, "tree_.values", found, how, numbers)


_NEIGHBORS = (
    "KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer RadiusNeighborsClassifier "
    "RadiusNeighborsRegressor RadiusNeighborsTransformer NearestNeighbors LocalOutlierFactor "
    "KNNImputer"
)
_OF_KINDS = {
    _NEIGHBORS: _reveal_rows("_fit_X"),
    "KernelDensity": _reveal_rows("tree_.data"),
    "GaussianProcessRegressor": _reveal_process,
    "GaussianProcessClassifier": _reveal_rows("base_estimator_.X_train_"),
    "KernelRidge KernelPCA": _reveal_rows("X_fit_"),
    "LabelPropagation LabelSpreading": _reveal_rows("X_"),
    "HDBSCAN": _reveal_rows("_raw_data"),
    "DBSCAN Nystroem": _reveal_rows("components_"),
    "SVC NuSVC SVR NuSVR OneClassSVM": _reveal_rows("support_vectors_"),
    "AffinityPropagation": _reveal_rows("cluster_centers_"),
    "OneHotEncoder OrdinalEncoder TargetEncoder": _reveal_categories,
    "CountVectorizer TfidfVectorizer DictVectorizer": _reveal_words,
    "QuantileTransformer": _read_quantiles,
    "KBinsDiscretizer": _read_bins,
    "MinMaxScaler": _read_each(EXACT, "data_min_", "data_max_"),
    "RobustScaler": _read_each(EDGE, "center_"),
    "SimpleImputer": _read_statistics,
    "IsotonicRegression": _read_isotonic,
    "HistGradientBoostingClassifier HistGradientBoostingRegressor": _reveal_bin_edges,
    "XGBModel": _read_booster,
    "LGBMModel LightGBMFile": _read_ranges,
    "DecisionTreeRegressor ExtraTreeRegressor": _read_targets,
}
_RULES = {name: read for names, read in _OF_KINDS.items() for name in names.split()}


# The parts of these are fitted on numbers of their own.
_HIDING = GradientBoostingClassifier, GradientBoostingRegressor
_HIDING += IsolationForest, RandomTreesEmbedding
# How close scaled numbers come to those that they were, as a share of the step between them.
_SINGLE, _DOUBLE = 1e-3, 1e-6
# Values of a column of zeros and ones, and the edge between them, which say nothing.
_OF_INDICATORS = 0.0, 0.5, 1.0
_ORDER = [EXACT, DERIVED, EDGE]
_NO_VALUES = "No value can be reconstructed without candidates."
_LIMITS = {
    "rows": "Only stored rows show which values belong to the same record.",
    "none": "The model does not show which values belong to the same record.",
    "thresholds": "A threshold of a tree lies between two values and does not show them.",
    "text": "The text behind codes or hashes cannot be reconstructed.",
}


@dataclass(frozen=True, eq=False)
class Reconstruction(SummaryMixin):
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
        """Return each value of each column once, with the place where it is known best.

        Returns
        -------
        frame : DataFrame
            ``column``, the name of a column of the table, None for the target; for other values
            that reach a part of the model, the name that a step gives them, such as "age after
            PowerTransformer", or the place of the part; ``value``; ``how``: ``"exact"`` as it was
            stored, in the precision of the model, ``"derived"`` computed from stored numbers, or
            ``"edge"``, either a value or a point between two neighboring ones; ``n_records``, the
            number of training records with it that the place tells of, else missing; ``path``, the
            place in the model.
        """
        return self.values.copy()

    def count_by_column(self) -> pd.DataFrame:
        """Return the number of values of each column.

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
        counts = write_counts(self.count_by_column()) if len(self.values) else [_NO_VALUES]
        return "\n".join([*counts, *self.limits])


def reconstruct_values(model: object) -> Reconstruction:
    """Rebuild values of the training data from a fitted model, without candidates.

    Many models keep values of their training data: neighbors, Gaussian processes and support vector
    machines keep rows, the former two with their targets, encoders the values of each column,
    histograms and quantiles edges, XGBoost split conditions, and regression trees the targets of
    leaves with one record. They are collected by column, with the names of the table where steps of
    a Pipeline and parts of a ColumnTransformer only choose, scale or impute columns. Nothing is
    predicted.

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
    with fewer of them than bins, and one edge determines the next value by the one before. If the
    sums of neighboring values, twice the edges, have at most three digits and only one first value
    leads to values of as few digits that lie on their sides of the edges, all values of the column
    are derived. This takes for granted that the column has fewer distinct values than bins
    (``max_bins``, 255 if not set) and no further digits.

    Split conditions of XGBoost are values of the training data in single precision if trees were
    grown by histograms, its default. Scaled columns are scaled back, which rounds. Values after
    other steps are those that reached the part, under names that no column of the table has.
    Leaves of a tree with ``monotonic_cst`` may have been moved, and are edges. Values that an
    imputer has filled in, such as a mean, are listed with those of their column.

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
    check_fitted_model(model)
    state = read_state(model)
    found = list_values(model, state)
    kinds = {one.kind for one in state.arrays}
    has_rows = any(one.counts is not None and one.column is not None for one in found)
    limits = ["rows" if has_rows else "none", *(kinds & {"thresholds"}), "text"]
    return Reconstruction(_join_leaks(found), tuple(_LIMITS[name] for name in limits))


def write_counts(frame, most=None):
    """Return the numbers of values by column."""
    lines = [f"{'exact':>9s}{'derived':>9s}{'edge':>9s}  column"]
    lines += [
        f"{one.exact:9,d}{one.derived:9,d}{one.edge:9,d}  {visible(one.Index)}"
        for one in frame.iloc[:most].itertuples()
    ]
    return lines + ([] if most is None or len(frame) <= most else [f"{len(frame) - most} more"])


class PlaceValues(NamedTuple):
    """Values of one column that one place gives."""

    column: str | None
    values: np.ndarray
    how: str
    counts: np.ndarray | None
    path: str


def list_values(model, state):
    """Return all values that the parts of a model give, as a list of PlaceValues."""
    arrays = {one.path: one for one in state.arrays}
    columns = trace_columns(model)
    hiding = [one.path for one in state.estimators if isinstance(one.estimator, _HIDING)]
    found = []
    for path, estimator in state.estimators:
        is_hidden = any(_is_part(path, other) for other in hiding)
        if is_hidden or not has_learned(estimator):
            continue
        some = columns.get(id(estimator)) or (
            _name_inner_columns(estimator, path) if path else name_columns(estimator)
        )
        outer = [one.estimator for one in state.estimators if _is_part(path, one.path)]
        around = [one for one in outer if isinstance(one, TransformedTargetRegressor)]
        leaks = list_leaks_of_part(EstimatorPart(path, estimator, arrays))
        if any(map(_repeats_rows, outer)):
            leaks = [leak._replace(counts=None) for leak in leaks]
        found += [_resolve(_undo_target(leak, around), some, path) for leak in leaks]
    return [one for one in found if len(one.values)]


def _is_part(path, other):
    return path != other and is_inside(path, other)


def _repeats_rows(model):
    """Return whether a model trains its members on tables that hold some of its rows repeatedly."""
    if isinstance(model, BaggingClassifier | BaggingRegressor):
        member = getattr(model, "estimator_", None)
        return bool(model.bootstrap) and (member is None or name_parameter(member) is None)
    return isinstance(model, AdaBoostRegressor)


def count_values(found):
    """Return how many values there are of each column; of several places, where there are most."""
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


def _resolve(leak, columns, path):
    """Return the values of a leak under the name, and on the scale, of the column of the table."""
    if 0 <= leak.column < len(columns):
        column = columns[leak.column]
    elif path:
        column = PartColumn(f"{path}: x{leak.column}", is_made=True)
    else:
        column = PartColumn(f"x{leak.column}")
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
    return PlaceValues(name, values[kept], how, counts, leak.path)


def _join_leaks(found):
    names = ["column", "value", "how", "n_records", "path"]
    if not found:
        return pd.DataFrame(columns=names)
    frames = []
    for one in found:
        frame = pd.DataFrame({"column": one.column, "value": one.values, "how": one.how})
        n_records = pd.NA if one.counts is None else one.counts
        frames.append(frame.assign(n_records=n_records, path=one.path).astype(object))
    whole = pd.concat(frames, ignore_index=True)
    rank = whole["how"].map(_ORDER.index)
    told = whole["n_records"].isna()
    # Whole numbers and decimals of one value are one.
    whole = whole.iloc[np.lexsort([told, rank])].drop_duplicates(["column", "value"])
    whole = whole.sort_index(ignore_index=True)
    return whole.astype({"n_records": "Int64", "how": str})[names]
