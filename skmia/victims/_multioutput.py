"""All outputs of a classifier that predicts several labels of a record, at once."""

import math
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, column_or_1d

from .._core.containers import as_rows
from .._core.copies import CopiesParameters, copy_unfitted
from .._core.error_hints import with_advice
from .._core.groups import locate_labels, sorted_values
from .._core.kinds import has_classes_of_several
from .._core.numbers import check_count, show, to_array
from .._core.query import get_last_step, unwrap
from .._core.routing import make_router, route_weights
from .._core.sample_weights import fit_weighted, name_parameter
from .._core.sklearn import HasMethods, at_least, validate_params_of
from .._core.skorch_nets import is_skorch
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike, Rows


class OutputsBase(
    TransactionMixin, CopiesParameters, MetaEstimatorMixin, ClassifierMixin, BaseEstimator
):
    """Base class of classifiers around a multi-output or multi-label classifier.

    The classifier in estimator may be fitted, or is cloned and trained by fit. A subclass says
    which labels it is trained on with _choose_labels, which also sets _is_alone: whether there is a
    single output.
    """

    _parameter_constraints: dict = {"estimator": [HasMethods(["fit", "predict"])]}

    _is_alone = False
    _shapes_labels = True  # those that the estimator is trained on

    def _train(self, X, y, sample_weight):
        """Train a clone of the estimator, and return the labels that it was trained on."""
        validate_params_of(self)
        as_rows(X)  # the estimator gets X itself
        y, model = to_array(y, "y"), copy_unfitted(unwrap(self.estimator))
        sample_weight = route_weights(self, sample_weight, {})
        if sample_weight is not None and name_parameter(model) is None:
            raise ValueError(f"fit of {type(model).__name__} takes no sample_weight.")
        y = self._choose_labels(y, model)
        if is_skorch(get_last_step(model)) and y.ndim == 2 and y.dtype.kind in "biuf":
            y = y.astype(np.float32)  # the type of outputs, which losses of several labels take
        with with_advice(model, X):
            self.estimator_ = fit_weighted(model, X, y, sample_weight)
        return y

    __metadata_request__fit = {"sample_weight": UNUSED}  # the estimator requests them

    def get_metadata_routing(self) -> Any:
        """Return the routing of metadata: all of it goes to the estimator.

        Returns
        -------
        routing : MetadataRouter
        """
        return make_router(self, unwrap(self.estimator))

    @property
    def _model(self):
        return getattr(self, "estimator_", self.estimator)

    @property
    def _is_net(self):
        """Whether a net of skorch answers for several labels, of which it does not know itself."""
        return not self._is_alone and is_skorch(get_last_step(self._model))

    def _ask_proba(self, X):
        """Return probabilities: a list, or an array with a column for each of several labels."""
        proba = self._model.predict_proba(X)
        # With BCEWithLogitsLoss, skorch puts those of 0 and 1 beside each other.
        is_pair = self._is_net and proba.ndim == 3 and proba.shape[1] == 2
        return proba[:, 1] if is_pair else proba

    def _ask_labels(self, X):
        """Return the predicted labels of all outputs."""
        if self._is_net:
            return (self._ask_proba(X) > 0.5).astype(int)
        return np.asarray(self._model.predict(X))

    def __sklearn_is_fitted__(self):
        try:
            check_is_fitted(unwrap(self._model))
        except NotFittedError:
            return False
        return True

    @property
    def n_features_in_(self) -> int:
        return self._model.n_features_in_

    def __sklearn_tags__(self):
        tags, own = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.input_tags, tags.classifier_tags = own.input_tags, own.classifier_tags
        tags.non_deterministic = own.non_deterministic
        return tags


def has(name):
    """Return whether the model of such a classifier has a method."""
    return lambda self: hasattr(self._model, name)


class OneOutput(OutputsBase):
    """One output of a multi-output or multi-label classifier, as a classifier of its own.

    Attacks on classifiers read one task label, so the outputs are attacked one by one, each with
    its own column of the labels. The result for one output is about what this output alone reveals.

    Parameters
    ----------
    estimator : estimator
        Classifier with several outputs, fitted or not: ``predict_proba`` returns an array for each
        output, or an array with one column for each of several labels that are 0 or 1.
    output : int, default=0
        Number of the output.

    Attributes
    ----------
    estimator_ : estimator
        Estimator that was trained by ``fit``; absent if a fitted estimator was given.
    classes_ : ndarray of shape (n_classes,)
        Labels of the output.
    n_features_in_ : int
        Number of columns of X, if the estimator knows it.

    Raises
    ------
    ValueError
        If the estimator has no such output, or the labels are of several types.

    See Also
    --------
    skmia.ShadowPool.from_models : Makes a pool of models that were trained on all outputs.

    Notes
    -----
    Shadow models are trained on one column of labels, so on this output alone. They are like the
    victim if it trains a model for each output, as ``MultiOutputClassifier`` does. Models that
    share parts between outputs, such as forests, fit a single output more closely; train them on
    all outputs, each as ``OneOutput(...).fit(X, Y)`` with Y of shape (n, n_outputs), and make a
    pool with :meth:`skmia.ShadowPool.from_models`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import Records
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.victims import OneOutput
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 3)), rng.integers(3, size=(100, 2))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[:50], Y[:50])
    >>> for k in range(2):
    ...     records = Records(X, Y[:, k])
    ...     attack = ThresholdAttack(OneOutput(forest, k)).fit(records)
    ...     print(bool(attack.score(records, np.arange(100) < 50) > 0.3))
    True
    True
    """

    _parameter_constraints = {**OutputsBase._parameter_constraints, "output": [at_least(0)]}

    def __init__(self, estimator: BaseEstimator, output: int = 0) -> None:
        self.estimator = estimator
        self.output = output

    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a clone of the estimator.

        Parameters
        ----------
        X : array-like of n rows
            Features.
        y : array-like of shape (n,) or (n, n_outputs)
            Labels of this output, on which the estimator is then trained alone, or of all outputs.
        sample_weight : array-like of shape (n,), default=None
            Weights for ``fit`` of the estimator. If None, they are not passed.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        self._train(X, y, sample_weight)
        return self

    def _choose_labels(self, y, model):
        self._is_alone = y.ndim == 1
        if self._is_alone and is_skorch(get_last_step(model)):
            raise ValueError(
                "A net is trained on all of its outputs together, and y is of one. Attack all of "
                "them, by JointOutputs; or train shadow models by fit(X, Y), with all columns, for "
                "ShadowPool.from_models."
            )
        if self._is_alone and not get_tags(get_last_step(model)).target_tags.single_output:
            y = y[:, None]
        sorted_values(y.ravel(), "y")
        return y

    @property
    def _place(self):
        return 0 if self._is_alone else check_count(self.output, "output", low=0)

    @property
    def classes_(self) -> np.ndarray:
        classes = None if self._is_net else self._model.classes_
        if isinstance(classes, list):
            return np.asarray(self._take(classes))
        # Models of several labels that are 0 or 1 have the numbers of the labels here.
        return np.asarray(classes) if self._is_alone else np.array([0, 1])

    def _take(self, outputs):
        if self._place >= len(outputs):
            raise ValueError(
                f"output must be below the number of outputs, {len(outputs)}; got {self.output}."
            )
        return outputs[self._place]

    def _is_single(self):
        return self._is_alone and not has_classes_of_several(self._model)

    @available_if(has("predict_proba"))
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probabilities of the labels of the output.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
        """
        proba = self._ask_proba(X)
        if isinstance(proba, list):
            return np.asarray(self._take(proba))
        if self._is_single():
            return np.asarray(proba)
        positive = self._take(np.asarray(proba).T)
        return np.column_stack([1 - positive, positive])

    @available_if(has("decision_function"))
    def decision_function(self, X: Rows) -> np.ndarray:
        """Return the decision values of the output.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        values : ndarray of shape (n,) or (n, n_classes)
        """
        values = self._model.decision_function(X)
        if isinstance(values, list):
            return np.asarray(self._take(values))
        return np.asarray(values) if self._is_single() else self._take(np.asarray(values).T)

    def predict(self, X: Rows) -> np.ndarray:
        """Return the labels of the output.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        labels = self._ask_labels(X)
        return labels if labels.ndim == 1 else self._take(labels.T)


# Sums of this many rounding errors of a probability count as none.
_ROUNDING = 16 * np.finfo(np.float64).eps


class JointOutputs(OutputsBase):
    """All outputs of a multi-output or multi-label classifier, as one classifier.

    Its classes are the combinations of labels that occur, by their number, and one more for all
    others. The probability of a combination is the product over the outputs, so its loss is the
    sum of their losses: each signal and each attack of a single label then reads the joint loss.

    Parameters
    ----------
    estimator : estimator
        Classifier with several outputs, fitted or not: ``predict_proba`` returns an array for each
        output, or an array with one column for each of several labels that are 0 or 1.
    labels : array-like of shape (n_combinations, n_outputs), default=None
        Combinations of labels, each once; ``np.unique(Y, axis=0, return_inverse=True)`` returns
        them and the number of the combination of each record. If None, the rows that ``fit`` sees.

    Attributes
    ----------
    estimator_ : estimator
        Estimator that was trained by ``fit``; absent if a fitted estimator was given.
    labels_ : ndarray of shape (n_combinations, n_outputs)
        The combinations; absent if a fitted estimator was given.
    classes_ : ndarray of shape (n_classes,)
        Numbers of the combinations; the last one is of all others, if others are possible.
    n_features_in_ : int
        Number of columns of X, if the estimator knows it.

    Raises
    ------
    ValueError
        If the combinations do not fit the estimator's outputs, or a label is not the number of one.

    See Also
    --------
    OneOutput : What a single output reveals.

    Notes
    -----
    Shadow models are trained on all outputs, as the victim is, also where the outputs share trees
    or layers. Outputs are multiplied as if they were independent given the features, which is the
    loss that such models are trained with; no attack needs the product to be a true probability.
    Memory and time are in proportion to the number of combinations.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from skmia import Records, ShadowPool
    >>> from skmia.attacks import LiRA
    >>> from skmia.victims import JointOutputs
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(200, 3)), rng.integers(2, size=(200, 4))
    >>> known = np.arange(200) < 100
    >>> forest = RandomForestClassifier(20, max_depth=5, random_state=0).fit(X[known], Y[known])
    >>> labels, y = np.unique(Y, axis=0, return_inverse=True)
    >>> victim, records = JointOutputs(forest, labels), Records(X, y)
    >>> pool = ShadowPool(victim, 8, random_state=0)
    >>> bool(LiRA(victim, pool).fit(records).score(records, known) > 0.5)
    True
    """

    _parameter_constraints = {**OutputsBase._parameter_constraints, "labels": ["array-like", None]}

    def __init__(self, estimator: BaseEstimator, labels: ArrayLike | None = None) -> None:
        self.estimator = estimator
        self.labels = labels

    def fit(self, X: Rows, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Train a clone of the estimator on all outputs.

        Parameters
        ----------
        X : array-like of n rows
            Features.
        y : array-like of shape (n,) or (n, n_outputs)
            Numbers of combinations of labels, or the labels themselves.
        sample_weight : array-like of shape (n,), default=None
            Weights for ``fit`` of the estimator. If None, they are not passed.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        y = self._train(X, y, sample_weight)
        self.labels_ = _list_combinations(y) if self.labels is None else self._check_labels()
        return self

    def _choose_labels(self, y, model):
        self._is_alone = self.labels is None and (y.ndim < 2 or y.shape[1] == 1)
        if self._is_alone:
            return column_or_1d(y, warn=True)
        return self._look_up(y) if y.ndim == 1 else y

    def _check_labels(self):
        labels = to_array(self.labels, "labels")
        if labels.ndim != 2 or len(_list_combinations(labels)) < len(labels):
            raise ValueError(
                "labels must hold each combination of labels once, as a row, such as "
                f"np.unique(Y, axis=0); got an array of shape {labels.shape}."
            )
        return labels

    def _look_up(self, y):
        labels = self._check_labels()
        known = np.isin(y, np.arange(len(labels)))
        if not known.all():
            wrong = y.tolist()[(~known).argmax()]
            raise ValueError(
                f"y must hold numbers of rows of labels, from 0 to {len(labels) - 1}; got "
                f"{wrong!r}."
            )
        return labels[np.asarray(y, dtype=np.intp)]

    @property
    def _combinations(self):
        found = getattr(self, "labels_", None)
        if found is None:
            found = None if self.labels is None else self._check_labels()
        if found is None:
            raise ValueError(
                "labels must be given with a fitted estimator: those of labels, y = "
                "np.unique(Y, axis=0, return_inverse=True), for records with the labels y."
            )
        return found

    @property
    def classes_(self) -> np.ndarray:
        if self._is_alone:
            return np.asarray(self._model.classes_)
        combinations, classes = self._combinations, self._list_classes()
        columns = zip(classes, combinations.T, strict=False)
        known = np.all([locate_labels(*column)[1] for column in columns], axis=0)
        if not known.any():
            raise ValueError(
                "labels must hold a combination of labels that the model knows; the first is "
                f"{show(combinations[0].tolist())}, and the labels of the outputs are "
                f"{show([own.tolist() for own in classes])}."
            )
        others = math.prod(map(len, classes)) > known.sum()  # of what the model can predict
        return np.arange(len(combinations) + others)

    def _list_classes(self):
        """Return the labels of each output that the model knows."""
        classes = None if self._is_net else self._model.classes_
        n_outputs = self._combinations.shape[1]
        if isinstance(classes, list):
            return [np.asarray(known) for known in classes]
        # Models of several labels that are 0 or 1 have the numbers of the labels here.
        return [np.array([0, 1])] * n_outputs

    @available_if(has("predict_proba"))
    def predict_proba(self, X: Rows) -> np.ndarray:
        """Return the probability of each combination of labels.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
        """
        proba = self._ask_proba(X)
        if self._is_alone:
            return np.asarray(proba)
        if not isinstance(proba, list):
            proba = [np.column_stack([1 - column, column]) for column in np.asarray(proba).T]
        combinations = self._combinations
        joint = np.ones((1, len(combinations)))
        if len(proba) != combinations.shape[1]:
            raise ValueError(
                f"labels must have a column for each of {len(proba)} outputs; got "
                f"{combinations.shape[1]}."
            )
        for own, classes, column in zip(proba, self._list_classes(), combinations.T, strict=True):
            joint = joint * _take_label_proba(np.asarray(own, dtype=np.float64), classes, column)
        if len(self.classes_) == joint.shape[1]:
            return joint
        left = 1 - joint.sum(axis=1)
        # What rounding leaves would count as the smallest step of the probabilities.
        left[left < _ROUNDING * joint.shape[1]] = 0
        return np.column_stack([joint, left])

    def predict(self, X: Rows) -> np.ndarray:
        """Return the number of the combination of the predicted labels.

        Parameters
        ----------
        X : array-like of n rows
            Features.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        labels = self._ask_labels(X)
        if self._is_alone:
            return labels
        numbers = {tuple(row): k for k, row in enumerate(self._combinations.tolist())}
        return np.array([numbers.get(tuple(row), len(numbers)) for row in labels.tolist()])


def _list_combinations(labels):
    """Return rows that occur, each once and sorted; of any type, as the columns of a table have."""
    if labels.dtype != object:
        return np.unique(labels, axis=0)
    columns = labels.reshape(len(labels), -1).T
    numbers = [sorted_values(column, "labels", return_inverse=True)[1] for column in columns]
    first = np.unique(np.column_stack(numbers), axis=0, return_index=True)[1]
    return labels[first]


def _take_label_proba(proba, classes, column):
    """Return probability of each label of a column; 0 for labels that the model does not know."""
    place, is_known = locate_labels(classes, column)
    return np.where(is_known, proba[:, place], 0.0)
