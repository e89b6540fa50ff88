"""Values of training records that the parts of a model keep, without candidates."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import is_regressor

from ._stored import keeps_targets

EXACT, DERIVED, EDGE = "exact", "derived", "edge"
# Edges that are all halfway between neighboring values of a column.
MIDDLES = "middles"

# Histogram boosting has at most 255 bins for numbers, and one edge less than bins.
_MOST_EDGES = 254
# Stands for the target among the numbers of columns.
TARGET = -1


class Leak(NamedTuple):
    """Values of one column that are kept in one place."""

    column: int  # by its number among those that reach the estimator, or TARGET
    values: np.ndarray
    how: str
    path: str
    counts: np.ndarray | None = None


class Part:
    """An estimator inside of a model, and its arrays by their names."""

    def __init__(self, path, estimator, arrays):
        self.estimator = estimator
        self._path, self._arrays = path, arrays

    def place(self, name):
        return f"{self._path}.{name}" if self._path else name

    def get(self, name):
        """The array of an attribute, or None."""
        stored = self._arrays.get(self.place(name))
        return None if stored is None else stored.array

    def list_columns(self, name):
        """Arrays of a list with one for each column, with their numbers."""
        start = f"{self.place(name)}["
        for path in self._arrays:
            number = path.removeprefix(start).removesuffix("]")
            if path.startswith(start) and number.isdigit():
                yield int(number), f"{name}[{number}]"


def list_leaks(part):
    """What a part keeps, as a list of Leak."""
    for kind in type(part.estimator).__mro__:
        if kind.__name__ in _RULES:
            return list(_RULES[kind.__name__](part))
    return []


def _leak(part, k, name, values, how, counts=None):
    return Leak(k, values, how, part.place(name), counts)


def _read_rows(*names):
    """Rows as they are, each value with the number of records that have it."""

    def read(part):
        for name in names:
            rows = part.get(name)
            if rows is None or rows.ndim != 2:
                continue
            is_sparse = sparse.issparse(rows)
            rows = rows.tocsc() if is_sparse else rows
            for k in range(rows.shape[1]):
                column = rows[:, [k]].toarray() if is_sparse else rows[:, k]
                values, counts = np.unique(column, return_counts=True)
                yield _leak(part, k, name, values, EXACT, counts)
        targets = part.get("_y")
        if is_regressor(part.estimator) and targets is not None and targets.ndim == 1:
            values, counts = np.unique(targets, return_counts=True)
            yield _leak(part, TARGET, "_y", values, EXACT, counts)

    return read


def _read_categories(part):
    if not isinstance(part.estimator.categories, str):
        return  # given by the user
    for k, name in part.list_columns("categories_"):
        yield _leak(part, k, name, part.get(name), EXACT)


def _read_words(part):
    words = part.get("vocabulary_.keys()")
    if words is not None and getattr(part.estimator, "vocabulary", None) is None:
        yield _leak(part, 0, "vocabulary_.keys()", words, EXACT)


def _read_quantiles(part):
    quantiles = part.get("quantiles_")
    for k in range(0 if quantiles is None else quantiles.shape[1]):
        yield _leak(part, k, "quantiles_", quantiles[[0, -1], k], EXACT)
        yield _leak(part, k, "quantiles_", np.unique(quantiles[1:-1, k]), EDGE)


def _read_bins(part):
    for k, name in part.list_columns("bin_edges_"):
        edges = part.get(name)
        yield _leak(part, k, name, edges[[0, -1]], EXACT)
        if part.estimator.strategy == "quantile":
            yield _leak(part, k, name, edges[1:-1], EDGE)


def _read_each(how, *names):
    """One number for each column."""

    def read(part):
        for name in names:
            for k, one in enumerate(_or_empty(part.get(name))):
                yield _leak(part, k, name, np.array([one]), how)

    return read


def _or_empty(array):
    return () if array is None else array


def _read_statistics(part):
    how = {"median": EDGE, "most_frequent": EXACT}.get(part.estimator.strategy)
    yield from () if how is None else _read_each(how, "statistics_")(part)


def _read_isotonic(part):
    # Thresholds between others are left out where they say nothing; those that stay are values.
    yield _leak(part, 0, "X_thresholds_", np.unique(_or_empty(part.get("X_thresholds_"))), EXACT)


def _read_histograms(part):
    """Edges between bins."""
    if part.get("_bin_mapper.is_categorical_") is None or _has_categories(part):
        return  # columns are in another order then
    for k, name in part.list_columns("_bin_mapper.bin_thresholds_"):
        edges = part.get(name)
        yield _leak(part, k, name, edges, MIDDLES if len(edges) <= _MOST_EDGES else EDGE)


def _has_categories(part):
    return bool(np.any(part.get("_bin_mapper.is_categorical_")))


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
        yield _leak(part, column, trees, np.unique(np.concatenate(values)), EXACT)


def _read_ranges(part):
    """Smallest and largest value of each column, which LightGBM stores in its text."""
    places = "_Booster['feature_infos']", "booster['feature_infos']"
    name = next((one for one in places if part.get(one) is not None), "")
    ranges = part.get(name)
    for k, extremes in enumerate(() if ranges is None else ranges.T):
        yield _leak(part, k, name, np.unique(extremes[np.isfinite(extremes)]), EXACT)


def _read_targets(part):
    """Targets of leaves with one record, or with records of one target."""
    counts, values = part.get("tree_.nodes['n_node_samples']"), part.get("tree_.values")
    if counts is None or not keeps_targets(part.estimator) or values.shape[1:] != (1, 1):
        return
    is_leaf = part.get("tree_.nodes['left_child']") < 0
    is_pure = part.get("tree_.nodes['impurity']") == 0
    alone = is_leaf & (counts > 0) & ((counts == 1) | is_pure)
    # The mean of several equal numbers can be another one in its last digit.
    single = part.get("tree_.nodes['weighted_n_node_samples']") == 1
    for how, chosen in ((EXACT, alone & single), (DERIVED, alone & ~single)):
        found, place = np.unique(values[chosen, 0, 0], return_inverse=True)
        numbers = np.zeros(len(found), dtype=int)
        np.add.at(numbers, place, counts[chosen])
        yield _leak(part, TARGET, "tree_.values", found, how, numbers)


_NEIGHBORS = (
    "KNeighborsClassifier KNeighborsRegressor KNeighborsTransformer RadiusNeighborsClassifier "
    "RadiusNeighborsRegressor RadiusNeighborsTransformer NearestNeighbors LocalOutlierFactor "
    "KNNImputer"
)
_OF_KINDS = {
    _NEIGHBORS: _read_rows("_fit_X"),
    "KernelDensity": _read_rows("tree_.data"),
    "GaussianProcessRegressor": _read_rows("X_train_"),
    "GaussianProcessClassifier": _read_rows("base_estimator_.X_train_"),
    "KernelRidge KernelPCA": _read_rows("X_fit_"),
    "LabelPropagation LabelSpreading": _read_rows("X_"),
    "HDBSCAN": _read_rows("_raw_data"),
    "DBSCAN Nystroem": _read_rows("components_"),
    "SVC NuSVC SVR NuSVR OneClassSVM": _read_rows("support_vectors_"),
    "AffinityPropagation": _read_rows("cluster_centers_"),
    "OneHotEncoder OrdinalEncoder TargetEncoder": _read_categories,
    "CountVectorizer TfidfVectorizer DictVectorizer": _read_words,
    "QuantileTransformer": _read_quantiles,
    "KBinsDiscretizer": _read_bins,
    "MinMaxScaler": _read_each(EXACT, "data_min_", "data_max_"),
    "RobustScaler": _read_each(EDGE, "center_"),
    "SimpleImputer": _read_statistics,
    "IsotonicRegression": _read_isotonic,
    "HistGradientBoostingClassifier HistGradientBoostingRegressor": _read_histograms,
    "XGBModel": _read_booster,
    "LGBMModel LightGBMFile": _read_ranges,
    "DecisionTreeRegressor ExtraTreeRegressor": _read_targets,
}
_RULES = {name: read for names, read in _OF_KINDS.items() for name in names.split()}
