"""Base classes of defenses that wrap an estimator."""

from abc import abstractmethod
from contextlib import contextmanager
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, assert_all_finite, check_consistent_length, get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from .._core.containers import as_rows, take_rows
from .._core.copies import CopiesParameters
from .._core.error_hints import with_advice
from .._core.matrix import check_class_column
from .._core.numbers import to_array
from .._core.probabilities import check_answered
from .._core.query import predict_flat
from .._core.randomness import preserved_randomness
from .._core.routing import make_router, route_weights
from .._core.sample_weights import fit_weighted, requests_weights, routing_requests
from .._core.sklearn import HasMethods, InvalidParameterError, refuse_frozen_models
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from .._training.backends.torch_nets.plan import find_net


class FeaturesOfFitted:
    """Mixin of estimators that have seen the features that an estimator inside them has seen."""

    _fitted_part = "estimator_"  # the attribute that holds it, set by fit

    @property
    def n_features_in_(self) -> int:
        """Number of features seen in ``fit``."""
        return self._of_fitted("n_features_in_")

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features seen in ``fit``, where there were any."""
        return self._of_fitted("feature_names_in_")

    def _of_fitted(self, name):
        # Before fit there is no such attribute, rather than one that fails.
        if self._fitted_part not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} before fit.")
        return getattr(getattr(self, self._fitted_part), name)


class DefendedEstimator(
    TransactionMixin, CopiesParameters, FeaturesOfFitted, MetaEstimatorMixin, BaseEstimator
):
    """Base class of defenses that wrap an estimator.

    A subclass sets estimator_, the fitted estimator.
    """

    _parameter_constraints: dict = {"estimator": [HasMethods(["fit", "predict"])]}

    @property
    def _asked(self):
        return getattr(self, "estimator_", self.estimator)

    _routed = ("fit",)  # methods whose parameters go to the same method of the estimator

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: all of it goes to the estimator.

        Returns
        -------
        routing : MetadataRouter
        """
        return make_router(self, self.estimator, self._routed)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Return labels or targets predicted by the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        y : ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        with self._asking(X):
            return predict_flat(self.estimator_, X)

    @contextmanager
    def _asking(self, X):
        """Ask the estimator without a trace in global generators; its errors name it."""
        with preserved_randomness(), with_advice(self.estimator_, X):  # asking a net draws
            yield

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self.estimator).input_tags
        return tags


class DefendedClassifier(ClassifierMixin, DefendedEstimator):
    """Base class of defenses that wrap a classifier.

    A subclass sets estimator_, the fitted classifier, and classes_.
    """

    def _ask_proba(self, X):
        """Return the probabilities of the classifier, none of them NaN."""
        with self._asking(X):
            proba = np.asarray(self.estimator_.predict_proba(X))
        check_answered(proba)
        return proba

    def _widen(self, proba):
        """Return columns for all classes; those that ``estimator_`` does not know are 0."""
        if proba.shape[1] == len(self.classes_):
            return proba
        wide = np.zeros((len(proba), len(self.classes_)), dtype=proba.dtype)
        wide[:, np.searchsorted(self.classes_, self.estimator_.classes_)] = proba
        return wide

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags = get_tags(self.estimator).classifier_tags or ClassifierTags()
        return tags


# Nets take probabilities as they are. Other classifiers get copies of each row, one for each class,
# with the probabilities as sample weights: the weighted loss is the cross-entropy with the targets.


def check_takes_targets(estimator, name):
    """Check that a classifier can be fitted on target probabilities."""
    if _choose_trainer(_get_last_step(estimator)) is None:
        raise InvalidParameterError(
            f"{name} trains on probabilities of the classes, which {_describe_learner(estimator)} "
            f"does not "
            "take; use a classifier whose fit takes sample_weight, or a skorch net with "
            "criterion=CrossEntropyLoss, alone or as the last step of a Pipeline."
        )


def continue_on_targets(model, data, targets, classes):
    """Train a classifier further on target probabilities, by its ``partial_fit``."""
    X, labels, weight = _copy_rows(data.X, targets, classes, data.sample_weight)
    with with_advice(model, X):
        return model.partial_fit(X, labels, classes=classes, sample_weight=weight)


def fit_on_targets(model, X, y, targets, classes, sample_weight=None):
    """Fit a classifier on target probabilities, in place.

    Steps of a Pipeline before the last are fitted once, on the plain rows and their labels.

    Shapes: y (n,), targets (n, n_classes), classes (n_classes,), sample_weight (n,).
    """
    if type(model) is Pipeline:
        if len(model.steps) > 1:
            head = model[:-1]
            weights = _weights_of_head(head, sample_weight)
            with routing_requests(head if weights else None):
                X = head.fit_transform(X, y, **weights)
            model.steps[:-1] = head.steps  # with a memory they are fitted copies
        fit_on_targets(model[-1], X, y, targets, classes, sample_weight)
        return model
    with with_advice(model, X):
        _choose_trainer(model)(model, X, y, targets, classes, sample_weight)
    return model


def _weights_of_head(head, sample_weight):
    """Return the sample weights for the steps before the last, if they request them."""
    if sample_weight is None or not requests_weights(head):
        return {}
    return {"sample_weight": sample_weight}


def _get_last_step(estimator):
    while type(estimator) is Pipeline:
        estimator = estimator[-1]
    return estimator


def _describe_learner(estimator):
    last = _get_last_step(estimator)
    where = f" at the end of the {type(estimator).__name__}" if last is not estimator else ""
    net = find_net(last)
    what = "" if net is None else f" with criterion={_criterion_name(net)}"
    return f"{type(last).__name__}{what}{where}"


def _choose_trainer(model):
    """Return a function that fits classifiers of a kind on target probabilities.

    None if none is known.
    """
    net = find_net(model)
    if net is not None:
        return _fit_net if _criterion_name(net) == "CrossEntropyLoss" else None
    return _fit_copies if has_fit_parameter(model, "sample_weight") else None


# Multiples of it add up exactly, in any order, for thousands of rows.
_GRID = 2.0**-40


def _fit_copies(model, X, y, targets, classes, sample_weight):
    """Fit a classifier that takes sample weights."""
    X, labels, weight = _copy_rows(X, targets, classes, sample_weight)
    model.fit(X, labels, sample_weight=weight)


def _copy_rows(X, targets, classes, sample_weight):
    """Return a copy of each row for each class, its label, and its weight.

    A tree decides between equally good splits by the last bit of sums of weights. Rounded to a
    grid, the weight of a row and the copies of the row have the same sums to the last bit.
    """
    targets = np.rint(targets / _GRID) * _GRID
    rows, columns = np.nonzero(targets)
    weight = targets[rows, columns]
    if sample_weight is not None:
        weight = weight * sample_weight[rows]
    return take_rows(as_rows(X), rows), classes[columns], weight


def _fit_net(model, X, y, targets, classes, sample_weight):
    """Fit a net of skorch, whose labels are the numbers of its output units."""
    model.initialize()
    n_units, dtype = _ask_units(model, X)
    if not (np.isin(classes, np.arange(n_units)).all() and classes.dtype.kind in "biu"):
        raise ValueError(
            f"A net with {n_units} output units wants labels 0 to {n_units - 1}; "
            f"got {classes.tolist()}."
        )
    scaled = targets if sample_weight is None else targets * sample_weight[:, None]
    if sample_weight is not None and getattr(model.criterion_, "label_smoothing", 0):
        raise ValueError(
            "criterion__label_smoothing of a net would smooth the sample weights as well; "
            "leave one of the two out."
        )
    units = np.zeros((len(targets), n_units), dtype=dtype)
    units[:, classes.astype(int)] = scaled
    with _reading_probabilities(model, y):
        model.partial_fit(X, units)  # equals `fit` without re-initializing
    model.classes_inferred_ = np.arange(n_units)


def _criterion_name(net):
    criterion = net.criterion
    kind = criterion if isinstance(criterion, type) else type(criterion)
    return getattr(kind, "__name__", str(kind))


def _ask_units(net, X):
    """Return the number of output units, and the type of the logits."""
    with preserved_randomness():
        answer = net.forward(take_rows(X, slice(0, 2)))
    logits = answer[0] if isinstance(answer, tuple) else answer
    if logits.ndim != 2:
        raise ValueError(
            "A net must return one logit for each class; "
            f"for 2 rows it gave an array of shape {tuple(logits.shape)}."
        )
    return logits.shape[1], np.float64 if "float64" in str(logits.dtype) else np.float32


@contextmanager
def _reading_probabilities(net, y):
    """Let the split and the scores of an initialized net cope with targets that are not labels."""
    from skorch.callbacks.scoring import ScoringBase
    from skorch.utils import to_numpy

    split = net.train_split
    scores = [callback for _, callback in net.callbacks_ if isinstance(callback, ScoringBase)]
    extractors = [scoring.target_extractor for scoring in scores]
    if split:
        net.train_split = lambda dataset, y_, **settings: split(dataset, y=y, **settings)
    for scoring in scores:
        scoring.target_extractor = lambda targets: to_numpy(targets).argmax(axis=1)
    try:
        yield
    finally:
        net.train_split = split
        for scoring, extractor in zip(scores, extractors, strict=True):
            scoring.target_extractor = extractor


class LabeledRows(NamedTuple):
    """Training rows."""

    X: object
    y: np.ndarray  # (n,)
    sample_weight: np.ndarray | None  # (n,), positive

    def take(self, rows):
        return type(self)(*(take_rows(part, rows) for part in self))

    def fit(self, model, targets, classes):
        """Fit a model on targets for these rows, in place; see :func:`fit_on_targets`."""
        return fit_on_targets(model, self.X, self.y, targets, classes, self.sample_weight)

    def fit_labels(self, model):
        """Fit a model on the labels, in place."""
        if self.sample_weight is None:
            with with_advice(model, self.X):
                return model.fit(self.X, self.y)
        classes = np.unique(self.y)
        return self.fit(model, one_hot(self.y, classes), classes)


class TargetRows(LabeledRows):
    """Training rows of a regression."""

    def fit_labels(self, model):
        """Fit a model on the targets, in place."""
        with with_advice(model, self.X):
            return fit_weighted(model, self.X, self.y, self.sample_weight)


def require_proba(estimator, who, role):
    """Refuse an estimator without probabilities."""
    if not hasattr(estimator, "predict_proba"):
        raise InvalidParameterError(
            f"{who} needs predict_proba of the {role}, which {type(estimator).__name__} does not "
            "have."
        )


def check_rows(X, y):
    """Return X as rows that can be selected, of which each has a finite value of y."""
    if not isinstance(X, np.ndarray) or X.ndim == 0:
        X = as_rows(X)
    assert_all_finite(y, input_name="y")
    check_consistent_length(X, y)
    if len(y) == 0:
        raise ValueError("Expected at least 1 row; got 0.")
    return X


def check_labeled(X, y, sample_weight):
    """Return the training rows without rows of weight 0, which count as absent."""
    y = check_class_column(y, "y", warn=True)
    X = check_rows(X, y)
    check_classification_targets(y)
    return weigh_rows(LabeledRows(X, y, None), sample_weight)


def weigh_rows(data, sample_weight):
    """Return the training rows with their weights, without rows of weight 0."""
    if sample_weight is None:
        return data
    weight = to_array(sample_weight, "sample_weight", "hold one number for each row", np.float64)
    if weight.shape != data.y.shape:
        raise ValueError(
            f"sample_weight must have the shape {data.y.shape}, one number for each row; "
            f"got {weight.shape}."
        )
    if not (np.isfinite(weight).all() and weight.min(initial=0) >= 0):
        raise ValueError("sample_weight must be finite and not negative.")
    if not weight.any():
        raise ValueError("sample_weight is zero for every row.")
    data = data._replace(sample_weight=weight)
    return data if weight.all() else data.take(np.flatnonzero(weight))


def one_hot(y, classes):
    """Return the target probabilities that are the labels themselves, shape (n, n_classes)."""
    return (y[:, None] == classes).astype(np.float64)


def can_continue(defense):
    """Condition that the estimator of a defense can be trained further, and is not kept fitted."""
    frozen = isinstance(defense.estimator, FrozenEstimator)
    return not frozen and hasattr(defense._asked, "partial_fit")


def can_continue_on_targets(defense):
    """Condition that the classifier of a defense can be trained further with sample weights."""
    takes = getattr(defense._asked, "partial_fit", None)
    return can_continue(defense) and "sample_weight" in signature(takes).parameters


def inner_has(name):
    """Return the condition that what a defense asks, fitted or not, has a method."""
    return lambda defense: hasattr(defense._asked, name)


class AnswersProba(DefendedClassifier):
    """Base class of defenses that answer with the probabilities of ``estimator_`` as they are."""

    @available_if(inner_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Return probabilities predicted by the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Class probabilities; 0 for a class that the classifier was not trained on.

        Raises
        ------
        ValueError
            If the model returns NaN.
        """
        check_is_fitted(self)
        return self._widen(self._ask_proba(X))


class SoftTargetDefense(AnswersProba):
    """Base class of defenses that train on class probabilities instead of labels.

    A subclass implements _fit_targets.
    """

    __metadata_request__fit = {"sample_weight": UNUSED}  # the estimator requests them

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, **fit_params: Any
    ) -> Self:
        """Make the targets and fit the classifier on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the loss of each row; a row of weight 0 counts as absent. With metadata
            routing enabled, the estimator has to request them.
        **fit_params : dict
            With metadata routing enabled, sample weights under the name by which the estimator
            requests them.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        check_takes_targets(self.estimator, type(self).__name__)
        refuse_frozen_models(self.estimator, f"The estimator of {type(self).__name__}")
        data = check_labeled(X, y, route_weights(self, sample_weight, fit_params))
        self._fit_targets(data)
        self.classes_ = np.union1d(np.unique(data.y), self.estimator_.classes_)
        return self

    @abstractmethod
    def _fit_targets(self, data):
        """Set ``estimator_``."""

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags
