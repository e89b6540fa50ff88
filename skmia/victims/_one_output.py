"""One output of a classifier that predicts several labels of a record."""

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from .._core.asking import unwrap
from .._core.groups import sorted_values
from .._core.sklearn import at_least
from .._core.types import Rows
from ._outputs_base import OutputsBase, has


def _get_last(model):
    model = unwrap(model)
    return _get_last(model.steps[-1][1]) if isinstance(model, Pipeline) else model


class OneOutput(OutputsBase):
    """One output of a multi-output or multi-label classifier, as a classifier of its own.

    Records have one task label, so the outputs are attacked one by one, each with its own column
    of the labels. The result for one output is about what this output alone reveals.

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
    >>> from sklearn.frozen import FrozenEstimator
    >>> from skmia import Records
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia.victims import OneOutput
    >>> rng = np.random.default_rng(0)
    >>> X, Y = rng.normal(size=(100, 3)), rng.integers(3, size=(100, 2))
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[:50], Y[:50])
    >>> for k in range(2):
    ...     records = Records(X, Y[:, k])
    ...     attack = ThresholdAttack(FrozenEstimator(OneOutput(forest, k))).fit(records)
    ...     print(bool(attack.score(records, np.arange(100) < 50) > 0.3))
    True
    True
    """

    _parameter_constraints = {
        **OutputsBase._parameter_constraints,
        "output": [at_least(0)],
    }

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
        if self._is_alone and not get_tags(_get_last(model)).target_tags.single_output:
            y = y[:, None]
        sorted_values(y.ravel(), "y")
        return y

    @property
    def _place(self):
        return 0 if self._is_alone else self.output

    @property
    def classes_(self) -> np.ndarray:
        classes = self._model.classes_
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
        return self._is_alone and not isinstance(self._model.classes_, list)

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
        proba = self._model.predict_proba(X)
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
        labels = np.asarray(self._model.predict(X))
        return labels if labels.ndim == 1 else self._take(labels.T)
