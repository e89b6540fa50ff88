"""Fitted models inside a model, each with the rows, columns and labels that it was fitted on."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import (
    BaseCrossValidator,
    FixedThresholdClassifier,
    LeavePGroupsOut,
    LeavePOut,
    PredefinedSplit,
    TimeSeriesSplit,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.tree import BaseDecisionTree

from .._core.containers import in_memory, is_frame, take_rows
from .._core.features import list_chosen_places
from .._core.query import transform_rows, unwrap
from ._model_features import BAGS
from ._multioutput import OneOutput
from ._resampling import BY_FOLDS, MAKES, REPEATS, encodes_by_folds, is_sampler, judge_sampler

# What can be read of a model whose training rows were weighted or repeated: thresholds do not
# depend on how often a row was there.
THRESHOLDS = frozenset({"thresholds"})

# What views are called that hold other numbers than columns of records.
SCORES, TRANSFORMED_TARGET = "scores", "transformed target"

_CROSS_VALIDATED = (
    "it was fitted on predictions of a cross-validation, by models that the file does not hold"
)
_COLUMNS = "it was fitted on labels of several columns, and records have one"
_DRAWN = "its training rows were drawn at random, some of them several times"
_SIZED = "max_samples={} does not say which share of the training rows it was fitted on"
_OWN_LABELS = "some of its labels were predicted by the model itself"
_MADE = "the step {} adds training rows that are not records"
_REPEATED = "the step {} repeats training rows"

# Relative difference by which sums in another order differ.
_ROUNDING = 1e-10


class FoldModels(NamedTuple):
    """Models of a cross-validation: each training row was left out by exactly one of them."""

    group: str  # path of the model around them
    number: int
    n_folds: int


class InnerModel(NamedTuple):
    """A fitted estimator inside a model, with candidates as they would have reached it."""

    # Path in the model, such as ``"calibrated_classifiers_[0].estimator"``; empty for the model
    # itself.
    path: str
    model: object
    X: object  # (n_reached, ...): features of candidates, as they reach it
    y: np.ndarray | None  # (n_reached,): labels of candidates, as they reach it
    # Positions of the candidates in X, in ascending order; None for all of them.
    rows: np.ndarray | None = None
    # Probability that a training row of the whole model was one of this one, apart from folds.
    kept: float = 1.0
    fold: FoldModels | None = None  # which fold of a cross-validation it was fitted without
    # What can be read of it: kinds of :class:`skmia.base.Needs`, None for all.
    reads: frozenset | None = None
    why: str | None = None  # why the others are not, as a part of a sentence
    # What its columns are called where they are not those of the model around it.
    view: str | None = None
    trail: str = "raw"  # names of the steps that X went through; ``"raw"`` for none
    n_source: int = 0  # number of columns of the records from which X was computed
    output: int | None = None  # which of several outputs the labels of the records are
    # Paths of the steps that X went through, each with the separator after it.
    passed: tuple[str, ...] = ()

    @property
    def share(self):
        """Probability that a training row of the whole model was one of this one."""
        return self.kept * (1 if self.fold is None else 1 - 1 / self.fold.n_folds)

    def child(self, place, model, **changes):
        """Return a model directly inside this one, fitted with its X and y but for ``changes``."""
        path = f"{self.path}.{place}" if self.path else place
        return self._replace(path=path, model=unwrap(model), view=None, **changes)

    def transformed(self, X, step):
        """Return the same with features after a step."""
        trail = step if self.trail == "raw" else f"{self.trail}, {step}"
        return self._replace(X=X, trail=trail)


def iter_inner_models(model, X, y=None, *, only=None):
    """Yield a fitted model and all fitted estimators inside it, as candidates reach them.

    Trees of forests and other parts of models that are read as a whole are not listed.

    Shapes: X (n, ...), y (n,).
    """
    n_source = X.shape[1] if len(X.shape) > 1 else 1
    yield from _walk_inner_models(InnerModel("", unwrap(model), X, y, n_source=n_source), only)


def opens(model):
    """Return whether a model is of a kind inside which other fitted models are looked for."""
    return any(isinstance(model, kinds) for kinds, _ in _RULES) or hasattr(model, "best_estimator_")


def _walk_inner_models(inner, only):
    if only is not None and not only.startswith(inner.path):
        return
    yield inner
    if only == inner.path and only:
        return
    rules = (rule for kinds, rule in _RULES if isinstance(inner.model, kinds))
    for child in next(rules, _list_attribute("best_estimator_"))(inner, inner.model):
        yield from _walk_inner_models(child, only)


def _list_attribute(name, **changes):
    """Return the rule of models that hold one other in an attribute, which may be absent."""

    def list_children(inner, model):
        if hasattr(model, name):
            yield inner.child(name, getattr(model, name), **changes)

    return list_children


def _list_pipeline_steps(inner, model):
    steps, inner = model.steps, inner._replace(view=None)
    before = f"{inner.path}." if inner.path else ""
    for k, (name, step) in enumerate(steps):
        if step is None or isinstance(step, str):
            continue
        if is_sampler(step):
            inner = _limit_after_sampler(inner, step)
            continue
        yield inner.child(f"steps[{k}]", step)._replace(view=inner.view)
        if k + 1 < len(steps) and hasattr(step, "transform"):
            inner = inner.transformed(transform_rows(step, inner.X), name)
            passed = (*inner.passed, f"{before}steps[{k}].")
            inner = inner._replace(view=f"after {inner.trail}", passed=passed)
            if encodes_by_folds(step):
                inner = inner._replace(reads=frozenset(), why=BY_FOLDS)


def _limit_after_sampler(inner, sampler):
    """Return what can be read of steps after one that changes the training rows."""
    kind, name = judge_sampler(sampler), type(sampler).__name__
    if kind == MAKES:
        return inner._replace(reads=frozenset(), why=_MADE.format(name))
    if kind == REPEATS:
        return inner._replace(reads=THRESHOLDS, why=_REPEATED.format(name))
    return inner


def _list_column_transformers(inner, model):
    for k, (name, transformer, chosen) in enumerate(model.transformers_):
        some = take_chosen_columns(inner.X, chosen)
        if some is not None and some.shape[1] and not isinstance(transformer, str):
            n_source = some.shape[1]
            if np.ndim(chosen) == 0 and not isinstance(chosen, slice):  # texts
                some = some.iloc[:, 0] if is_frame(some) else np.ravel(some)
            part = inner.child(f"transformers_[{k}]", transformer).transformed(some, name)
            yield part._replace(view=f"columns of {part.trail}", n_source=n_source)


def _list_union(inner, model):
    for k, (_, transformer) in enumerate(model.transformer_list):
        if not isinstance(transformer, str):
            yield inner.child(f"transformer_list[{k}]", transformer)


def _list_each(inner, labels=None):
    """Yield the models in ``estimators_``, each with its own column of the labels if given."""
    for k, estimator in enumerate(inner.model.estimators_):
        y = inner.y if labels is None else labels[:, k]
        yield inner.child(f"estimators_[{k}]", estimator, y=y)


def _list_voters(inner, model):
    """Return the estimators of a vote, which are given numbers of the classes."""
    return _list_each(inner._replace(y=_encode_labels(inner.y, getattr(model, "le_", None))))


def _encode_labels(y, encoder):
    return y if y is None or encoder is None else encoder.transform(y)


def _list_stack(inner, model):
    encoder = getattr(model, "_label_encoder", None)
    if isinstance(encoder, list):
        inner = inner._replace(y=None, reads=THRESHOLDS, why=_COLUMNS)
        encoder = None
    inner = inner._replace(y=_encode_labels(inner.y, encoder))
    yield from _list_each(inner)
    final = inner.child("final_estimator_", model.final_estimator_)
    if isinstance(model.cv, str):  # "prefit": predictions of the models that the file holds
        columns = inner.transformed(model.transform(inner.X), "predictions")
        yield final._replace(X=columns.X, trail=columns.trail, view="predictions of the models")
    else:
        yield final._replace(X=None, reads=frozenset(), why=_CROSS_VALIDATED)


def _list_calibrated(inner, model):
    members = model.calibrated_classifiers_
    is_prefit = isinstance(model.cv, str) or isinstance(model.estimator, FrozenEstimator)
    for k, member in enumerate(members):
        fold, kept = inner.fold, inner.kept
        if len(members) > 1 and fold is None and _is_partition(model.cv):
            fold = FoldModels(inner.path, k, len(members))
        elif len(members) > 1:
            kept *= 1 - 1 / len(members)
        path = f"calibrated_classifiers_[{k}]"
        part = inner.child(f"{path}.estimator", member.estimator, fold=fold, kept=kept)
        yield part
        scores = None
        for c, calibrator in enumerate(member.calibrators):
            if not isinstance(calibrator, IsotonicRegression):
                continue
            own = inner.child(f"{path}.calibrators[{c}]", calibrator)
            own = own._replace(y=None, reads=frozenset(), trail="scores")
            if len(members) == 1 and not is_prefit:
                yield own._replace(X=None, why=_CROSS_VALIDATED)
                continue
            scores = _compute_scores(member.estimator, inner.X) if scores is None else scores
            column = _snap(scores[:, c], calibrator.X_thresholds_)
            yield own._replace(X=column[:, None], view=f"{SCORES} of {part.path}")


# Splitters of this class that test some rows in no fold, or in several.
_OVERLAPPING = LeavePGroupsOut, LeavePOut, PredefinedSplit, TimeSeriesSplit


def _is_partition(cv):
    """Return whether each row is in exactly one test fold."""
    if cv is None or np.isscalar(cv):
        return True
    return isinstance(cv, BaseCrossValidator) and not isinstance(cv, _OVERLAPPING)


def _compute_scores(model, X):
    """Return scores that a calibration takes, one column for each calibrator."""
    if hasattr(model, "decision_function"):
        scores = np.asarray(model.decision_function(X))
    else:
        scores = np.asarray(model.predict_proba(X))
        scores = scores[:, 1:] if scores.shape[1] == 2 else scores
    return scores.reshape(len(scores), -1)


def _snap(values, stored):
    """Values that differ from stored ones by rounding, which depends on the batch, made equal."""
    order = np.sort(np.asarray(stored, dtype=np.float64))
    values = np.asarray(values, dtype=np.float64)
    right = np.minimum(np.searchsorted(order, values), len(order) - 1)
    left = np.maximum(right - 1, 0)
    near = np.where(values - order[left] < order[right] - values, order[left], order[right])
    return np.where(np.abs(near - values) <= _ROUNDING * np.abs(values), near, values)


def _list_rests(inner, model):
    """Return the models of one class against all others."""
    wanted = None if inner.y is None else model.label_binarizer_.transform(inner.y)
    return _list_each(inner, wanted.toarray() if sparse.issparse(wanted) else wanted)


def _list_one_vs_one(inner, model):
    """Yield the models of one class against another, which were fitted on the rows of both."""
    first, second = np.triu_indices(len(model.classes_), 1)
    for k, member in enumerate(model.estimators_):
        part = inner.child(f"estimators_[{k}]", member)
        if inner.y is not None:
            pair = model.classes_[[first[k], second[k]]]
            used = np.flatnonzero(np.isin(inner.y, pair))
            rows = used if inner.rows is None else inner.rows[used]
            y = (inner.y[used] == pair[1]).astype(int)
            part = part._replace(X=take_rows(inner.X, used), y=y, rows=rows)
        yield part


def _list_class_models(inner, model):
    codes = None
    if inner.y is not None:
        if not np.isin(inner.y, model.classes_).all():
            raise ValueError("A candidate has a label that the model does not know.")
        codes = model.code_book_[np.searchsorted(model.classes_, inner.y)].astype(int)
    return _list_each(inner, codes)


def _list_regressor(inner, model):
    y = inner.y
    if y is not None:
        y = np.asarray(model.transformer_.transform(np.asarray(y, dtype=np.float64)[:, None]))
        if y.ndim == 2 and y.shape[1] > 1:
            inner = inner._replace(reads=THRESHOLDS, why=_COLUMNS)
        y = y[:, 0] if y.ndim == 2 else y
    part = inner.child("regressor_", model.regressor_, y=y)
    before = "raw" if inner.trail == "raw" else f"after {inner.trail}"
    yield part._replace(view=f"{before}, {TRANSFORMED_TARGET}")


def _list_output(inner, model):
    name = "estimator_" if hasattr(model, "estimator_") else "estimator"
    yield inner.child(name, getattr(model, name), output=model.output)


def _list_outputs(inner, model):
    """Yield the models of one column of labels each; the records may hold one of these columns."""
    unknown = inner._replace(y=None, reads=THRESHOLDS, why=_COLUMNS)
    for k, estimator in enumerate(model.estimators_):
        part = inner if k == inner.output else unknown
        yield part.child(f"estimators_[{k}]", estimator, output=None)


def _list_bagged(inner, model):
    if all(isinstance(unwrap(one), BaseDecisionTree) for one in model.estimators_):
        return  # read as a whole
    share = 1.0 if model.max_samples is None else model.max_samples
    if not isinstance(share, float):
        inner = inner._replace(reads=frozenset(), why=_SIZED.format(share))
    elif model.bootstrap:
        inner = inner._replace(kept=inner.kept * -np.expm1(-share), reads=THRESHOLDS, why=_DRAWN)
    elif share < 1:
        inner = inner._replace(kept=inner.kept * share)
    for k, (estimator, chosen) in enumerate(
        zip(model.estimators_, model.estimators_features_, strict=True)
    ):
        part = inner.child(f"estimators_[{k}]", estimator)
        if not np.array_equal(chosen, np.arange(model.n_features_in_)):
            part = part.transformed(take_chosen_columns(inner.X, chosen), f"estimators_[{k}]")
            part = part._replace(view=f"columns of {part.trail}", n_source=len(chosen))
        yield part


def _list_selected(inner, model):
    X = transform_rows(model, inner.X)
    part = inner.child("estimator_", model.estimator_).transformed(X, "selection")
    yield part._replace(view=f"after {part.trail}")


def _list_with_threshold(inner, model):
    part = inner.child("estimator_", model.estimator_)
    is_whole = getattr(model, "refit", True) or model.cv == "prefit"
    yield part if is_whole else part._replace(reads=THRESHOLDS, why=_SIZED.format(model.cv))


_RULES = (
    (Pipeline, _list_pipeline_steps),
    (ColumnTransformer, _list_column_transformers),
    (FeatureUnion, _list_union),
    ((VotingClassifier, VotingRegressor), _list_voters),
    ((StackingClassifier, StackingRegressor), _list_stack),
    (CalibratedClassifierCV, _list_calibrated),
    (OneVsRestClassifier, _list_rests),
    (OneVsOneClassifier, _list_one_vs_one),
    (OutputCodeClassifier, _list_class_models),
    (TransformedTargetRegressor, _list_regressor),
    (OneOutput, _list_output),
    ((MultiOutputClassifier, MultiOutputRegressor), _list_outputs),
    (BAGS, _list_bagged),
    (RFE, _list_selected),
    (SelectFromModel, _list_attribute("estimator_")),
    ((TunedThresholdClassifierCV, FixedThresholdClassifier), _list_with_threshold),
    (SelfTrainingClassifier, _list_attribute("estimator_", reads=THRESHOLDS, why=_OWN_LABELS)),
)


def take_chosen_columns(X, chosen):
    """Return columns of a table, by name, position, mask or slice; None of what has no columns."""
    X = in_memory(X)
    if is_frame(X):
        return X.iloc[:, list_chosen_places(chosen, [*X.columns], X.shape[1])]
    is_matrix = isinstance(X, np.ndarray) or sparse.issparse(X)
    return X[:, list_chosen_places(chosen, [], X.shape[1])] if is_matrix else None
