"""Fitting a classifier on a probability for each class instead of one label.

Nets take probabilities as they are. Other classifiers get copies of each row, one for each class,
with the probabilities as sample weights: the weighted loss is the cross-entropy with the targets.
"""

from abc import ABC, abstractmethod
from contextlib import contextmanager

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from .._core.advice import with_advice
from .._core.containers import as_rows, take_rows
from .._core.randomness import preserved_randomness
from .._core.sklearn import InvalidParameterError
from .._training.ways.torch_nets.plan import find_net


def check_takes_targets(estimator, name):
    """Check that a classifier can be fitted on target probabilities.

    Parameters
    ----------
    estimator : estimator
        Never changed.
    name : str
        Of the defense, for the message.

    Raises
    ------
    InvalidParameterError
        Says what can be used.
    """
    if _choose_trainer(_last_step(estimator)) is None:
        raise InvalidParameterError(
            f"{name} trains on probabilities of the classes, which {_describe(estimator)} does not "
            "take; use a classifier whose fit takes sample_weight, or a skorch net with "
            "criterion=CrossEntropyLoss, alone or as the last step of a Pipeline."
        )


def fit_on_targets(model, X, y, targets, classes, sample_weight=None):
    """Fit a classifier on target probabilities, in place.

    Steps of a Pipeline before the last are fitted once, on the plain rows and their labels.

    Parameters
    ----------
    model : estimator
        Unfitted, as :func:`check_takes_targets` wants it.
    X : array-like of n rows
        Features.
    y : ndarray of shape (n,)
        Labels, for transformers that look at them and for validation splits that are stratified.
    targets : ndarray of shape (n, n_classes)
        Probabilities.
    classes : ndarray of shape (n_classes,)
        Labels of the columns, sorted.
    sample_weight : ndarray of shape (n,), default=None
        Factors of the loss of each row.

    Returns
    -------
    model : estimator
        Fitted. A net has all its units as ``classes_``; another classifier lacks a class to which
        no target gives anything.
    """
    if type(model) is Pipeline:
        if len(model.steps) > 1:
            head = model[:-1]
            X = head.fit_transform(X, y)
            model.steps[:-1] = head.steps  # with a memory they are fitted copies
        fit_on_targets(model[-1], X, y, targets, classes, sample_weight)
        return model
    with with_advice(model, X):
        _choose_trainer(model).fit(model, X, y, targets, classes, sample_weight)
    return model


def _last_step(estimator):
    while type(estimator) is Pipeline:
        estimator = estimator[-1]
    return estimator


def _describe(estimator):
    last = _last_step(estimator)
    where = f" at the end of the {type(estimator).__name__}" if last is not estimator else ""
    net = find_net(last)
    what = "" if net is None else f" with criterion={_criterion_name(net)}"
    return f"{type(last).__name__}{what}{where}"


def _choose_trainer(model):
    return next(
        (trainer for trainer in (_NetTrainer(), _CopyTrainer()) if trainer.suits(model)), None
    )


class _Trainer(ABC):
    """How classifiers of some kind are fitted on target probabilities."""

    @abstractmethod
    def suits(self, model):
        """Whether the model is of that kind."""

    @abstractmethod
    def fit(self, model, X, y, targets, classes, sample_weight):
        """Fit the model, in place."""


# Multiples of it add up exactly, in any order, for thousands of rows.
_GRID = 2.0**-40


class _CopyTrainer(_Trainer):
    """Classifiers that take sample weights."""

    def suits(self, model):
        return find_net(model) is None and has_fit_parameter(model, "sample_weight")

    def fit(self, model, X, y, targets, classes, sample_weight):
        # A tree decides between equally good splits by the last bit of sums of weights. Rounded to
        # a grid, the weight of a row and the copies of the row have the same sums to the last bit.
        targets = np.rint(targets / _GRID) * _GRID
        rows, columns = np.nonzero(targets)
        weight = targets[rows, columns]
        if sample_weight is not None:
            weight = weight * sample_weight[rows]
        model.fit(take_rows(as_rows(X), rows), classes[columns], sample_weight=weight)


class _NetTrainer(_Trainer):
    """Nets of skorch, whose labels are the numbers of their output units."""

    def suits(self, model):
        net = find_net(model)
        return net is not None and _criterion_name(net) == "CrossEntropyLoss"

    def fit(self, model, X, y, targets, classes, sample_weight):
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
            model.partial_fit(X, units)  # a fit is no more than this after initialize
        model.classes_inferred_ = np.arange(n_units)


def _criterion_name(net):
    criterion = net.criterion
    kind = criterion if isinstance(criterion, type) else type(criterion)
    return getattr(kind, "__name__", str(kind))


def _ask_units(net, X):
    """Number of output units, and the type of the logits."""
    with preserved_randomness():
        answer = net.forward(take_rows(X, slice(0, 2)))
    logits = answer[0] if isinstance(answer, tuple) else answer
    if logits.ndim != 2:
        raise ValueError(
            "A net must return one logit for each class; "
            f"for 2 rows it gave an array of shape {tuple(logits.shape)}."
        )
    return logits.shape[1], np.float64 if "float64" in str(logits.dtype) else np.float32


class _LabelSplit:
    """A net's split into training and validation rows, stratified by labels as always."""

    def __init__(self, split, labels):
        self.split, self.labels = split, labels

    def __call__(self, dataset, y=None, **fit_params):
        return self.split(dataset, y=self.labels, **fit_params)


@contextmanager
def _reading_probabilities(net, y):
    """Let the split and the scores of an initialized net cope with targets that are not labels."""
    from skorch.callbacks.scoring import ScoringBase
    from skorch.utils import to_numpy

    def likeliest(targets):
        return to_numpy(targets).argmax(axis=1)

    split = net.train_split
    scores = [callback for _, callback in net.callbacks_ if isinstance(callback, ScoringBase)]
    extractors = [scoring.target_extractor for scoring in scores]
    net.train_split = _LabelSplit(split, y) if split else split
    for scoring in scores:
        scoring.target_extractor = likeliest
    try:
        yield
    finally:
        net.train_split = split
        for scoring, extractor in zip(scores, extractors, strict=True):
            scoring.target_extractor = extractor
