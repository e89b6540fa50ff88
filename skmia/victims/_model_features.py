"""The model at the end of a Pipeline or search, and features and labels as it reads them."""

import json
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import is_outlier_detector
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import Pipeline

from .._core.containers import in_memory
from .._core.groups import locate_labels
from .._core.kinds import is_classifier
from .._core.numbers import as_numbers, show
from .._core.query import FittedSteps, check_victim, unwrap
from .._core.sklearn import encode_for_boosting
from ._boosters import is_catboost, is_lightgbm, is_xgboost
from ._resampling import is_sampler, why_not_resampled

FORESTS = (ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor)
BAGS = (BaggingClassifier, BaggingRegressor)
HISTOGRAMS = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
# Trees that are grown one after the other, on weighted rows or on samples drawn by weights.
REWEIGHTED = (AdaBoostClassifier,)
REDRAWN = (AdaBoostRegressor,)
# Trees that are grown on targets drawn at random, and know nothing of labels.
UNLABELED = (IsolationForest,)


def find_model(model):
    """Return the model behind searches and the steps of a Pipeline, and these steps.

    Return last: None if Pipelines are nested.
    """
    model = unwrap(model)
    if hasattr(model, "best_estimator_"):
        return find_model(model.best_estimator_)
    if not isinstance(model, Pipeline):
        return model, None
    last, further = find_model(model[-1])
    if further is not None:
        return None, None
    # Samplers only change the training rows.
    kept = [step for step in model.steps[:-1] if not is_sampler(step[1])]
    return last, FittedSteps(kept) if kept else None


def read_features(model, steps, X, *, absent=0.0, role="The trees split by", keeps_sparse=False):
    """Return features as a model at the end of some steps gets them, a matrix of float64.

    Categories become the codes that the model splits by, and NaN if it does not know them.

    Take X of shape (n, ...); return X of shape (n, n_features), a csr_array if it was sparse and
    ``keeps_sparse``.
    """
    X = in_memory(X if steps is None else steps.transform(X))
    if sparse.issparse(X) and keeps_sparse:
        _check_model_width(model, X, role)
        return sparse.csr_array(X, dtype=np.float64)
    if sparse.issparse(X):
        stored, X = X.tocoo(), np.full(X.shape, absent)
        X[stored.row, stored.col] = stored.data
    X = _encode_categories(model, X)
    X = as_numbers(X, "X", "features that are numbers, as the model reads them")
    _check_model_width(model, X, role)
    return X


def _check_model_width(model, X, role):
    # CatBoost forgets n_features_in_ in its files, and a machine does not keep it that has a kernel
    # of one's own.
    n_features = getattr(model, "n_features_in_", None)
    n_features = len(model.feature_names_) if is_catboost(model) else n_features
    if X.ndim != 2 or n_features not in (None, X.shape[1]):
        raise ValueError(f"{role} {n_features} features; the records have shape {X.shape}.")


def _encode_categories(model, X):
    if isinstance(model, HISTOGRAMS):
        return X if model.is_categorical_ is None else encode_for_boosting(model, X)
    if not isinstance(X, pd.DataFrame):
        return X
    columns = [j for j, kind in enumerate(X.dtypes) if isinstance(kind, pd.CategoricalDtype)]
    if not columns or not (is_xgboost(model) or is_lightgbm(model)):
        return X
    known = {
        j: complete_categories(values, X.iloc[:, j].cat.categories)
        for j, values in _list_categories(model, columns).items()
        if j in columns
    }
    coded = X.copy()
    for j in columns:
        column = X.iloc[:, j].cat
        codes = (column.set_categories(known[j]).cat if j in known else column).codes.to_numpy()
        coded[X.columns[j]] = np.where(codes < 0, np.nan, codes)
    return coded


def _list_categories(model, columns):
    """Categories of some columns of a booster by the number of the column, in their order."""
    if is_lightgbm(model):
        stored = model.booster_.pandas_categorical or []
        return dict(zip(columns, stored, strict=False))
    return read_categories_of_xgboost(model)


def read_categories_of_xgboost(model):
    """Return categories that a booster stores of its columns, by their numbers.

    From version 3.1 on.
    """
    stored = _read_xgboost(model).get("cats", {}).get("enc", [])
    return {j: _decode_categories(one) for j, one in enumerate(stored) if one["values"]}


def read_codes_of_xgboost(model):
    """Return the codes of categories in the trees of a booster, by the number of a column."""
    found = {}
    for tree in _read_xgboost(model).get("trees", ()):
        columns, codes = tree["split_indices"], tree.get("categories", ())
        places = (tree.get(f"categories_{name}", ()) for name in ("nodes", "segments", "sizes"))
        for node, start, size in zip(*places, strict=True):
            found.setdefault(columns[node], set()).update(codes[start : start + size])
    return found


def _read_xgboost(model):
    """Return the trees of a booster, and what belongs to them, as its file has them."""
    learner = json.loads(bytes(model.get_booster().save_raw("json")))["learner"]
    stored = learner["gradient_booster"]
    return stored.get("gbtree", stored).get("model", {})  # the trees of dart


class CutText(str):
    """Category of a text with accents in a file of XGBoost, whose places may count characters."""

    # Version 3.1 writes offsets of characters beside bytes, and keeps as few bytes as there are
    # characters, so that the last texts are cut off. Other writers count bytes.
    __slots__ = ("by_bytes", "n_characters")

    def __new__(cls, text, n_characters, by_bytes):
        self = super().__new__(cls, text)
        self.n_characters, self.by_bytes = n_characters, by_bytes
        return self

    def __getnewargs__(self):
        return str(self), self.n_characters, self.by_bytes

    @property
    def is_whole(self):
        """Whether no character is lost, if the places count characters."""
        return len(self) == self.n_characters

    def can_begin(self, value):
        return len(value) == self.n_characters and value.startswith(self)


def _decode_categories(stored):
    """Return the categories of a column in a file of XGBoost.

    Numbers, or one list of bytes for all texts.
    """
    values, offsets = stored["values"], stored.get("offsets")
    if not offsets:
        return values
    found, places = bytes(one % 256 for one in values), list(pairwise(offsets))
    by_bytes = [found[a:b].decode(errors="replace") for a, b in places]
    if found.isascii():
        return by_bytes
    text = found.decode(errors="ignore")
    pairs = zip(places, by_bytes, strict=True)
    return [CutText(text[a:b], b - a, other) for (a, b), other in pairs]


def complete_categories(categories, values):
    """Return categories in their order, where those that may be cut off are values of a column."""
    values = {value for value in values if isinstance(value, str)}
    if not any(isinstance(one, CutText) for one in categories):
        return categories
    by_bytes = [one.by_bytes for one in categories]
    left, completed = sorted(values), []
    for one in categories:
        # Of several that it can be, categories are mostly in their order.
        missing = f"{one}\N{HORIZONTAL ELLIPSIS}{len(completed)}"  # none else is called so
        one = next((value for value in left if one.can_begin(value)), missing)
        left = [value for value in left if value != one]
        completed.append(one)
    is_whole = len(values.intersection(by_bytes)) > len(values.intersection(completed))
    return by_bytes if is_whole and len({*by_bytes}) == len(by_bytes) else completed


def check_labels(model, y):
    """Return the numbers of the classes, or float targets, of labels that a model knows."""
    if is_outlier_detector(model):
        return np.zeros(len(y))
    if not is_classifier(model):
        return as_numbers(y, "y", "numbers, as the targets of a regressor are")
    y, classes = np.asarray(y), np.asarray(model.classes_)
    unknown = ~np.isin(y, classes)
    if unknown.any():
        raise ValueError(
            f"The model does not know the label {show(y[unknown].tolist()[0])} of "
            f"{unknown.sum()} records; its classes are {show(classes.tolist())}."
        )
    return locate_labels(classes, y)[0]


# Rounding of sums of alternating gaps, relative to the range of a column.
_ROUNDING = 1e-9


def are_midpoints(edges, values):
    """Return whether all edges of a column can be midpoints of consecutive values of one list.

    A column with at most as many values as bins has an edge between any two of them; else edges are
    quantiles without duplicates. If edges are midpoints, one value determines all others. The list
    is taken to exist if half of it or more is found among the candidates' values. The k-th value
    lies sign_k * u + shift_k below the k-th edge, for the same u > 0 of all k.
    """
    gaps, sign = np.diff(edges), (-1.0) ** np.arange(len(edges))
    shift = sign * np.append(0, np.cumsum(gaps * sign[1:]))
    values = np.unique(values)
    scale = edges[-1] - edges[0] + np.abs(edges).max()
    slack = _ROUNDING * scale
    low = max(0.0, np.max(-shift[sign > 0])) - slack
    high = np.min(shift[sign < 0], initial=np.inf) + slack
    place = np.searchsorted(edges, values)
    inside = place < len(edges)
    place, below = place[inside], edges[place[inside]] - values[inside]
    implied = sign[place] * (below - shift[place])
    implied = implied[(implied > low) & (implied < high)]
    if not len(implied):
        return False
    steps = np.unique(np.rint(np.sort(implied) / slack), return_counts=True)
    return bool(steps[1].max() >= len(edges) / 2)


class ModelReader(NamedTuple):
    """How models of one kind are read, or why one is not."""

    read: object  # function of the fitted model, and of the features as they reach it
    why_not: object  # takes a fitted model and returns a reason, part of a sentence, or None
    absent: float = 0.0  # what the model takes an entry for that a sparse matrix does not store


def choose_reader(model, readers):
    """Return the reader of the first kind that a model is of: classes, or a function.

    None without one.
    """
    for kind, reader in readers.items():
        if isinstance(model, kind) if isinstance(kind, tuple) else kind(model):
            return reader
    return None


def open_model(model, choose, wanted, refused, *, repeats=False):
    """Return the model at the end of a Pipeline or search, the steps before it, and its reader.

    wanted says what is read of which models, in the error on a model without a reader; refused says
    what is not read of {}. Training rows may be repeated if repeats is true.
    """
    found, steps = find_model(model)
    reader = choose(found)
    if reader is None:
        got = type(unwrap(model)).__name__
        raise TypeError(f"{wanted}, also at the end of a Pipeline; got {got}.")
    check_victim(model)
    why = reader.why_not(found) or why_not_resampled(model, repeats=repeats)
    if why is not None:
        raise ValueError(f"{refused.format(type(found).__name__)}: {why}.")
    return found, steps, reader
