"""Models that can only be queried: functions and web services."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches

from .._core.containers import as_rows
from .._core.given_model import GivenModel
from .._core.groups import check_columns
from .._core.numbers import to_array
from .._core.sklearn import at_least, validate_params_of
from .._core.types import Rows


class CallableVictim(GivenModel, ClassifierMixin, BaseEstimator):
    """Classifier behind a function, such as a web service.

    Parameters
    ----------
    function : callable
        Function of a batch of at most ``batch_size`` rows of X that returns their class
        probabilities, an array of shape (n_rows, n_classes).
    classes : array-like of shape (n_classes,)
        Label of each column, in order. When labeled records are queried, a warning is issued if
        their labels fit another order better.
    batch_size : int, default=1000
        Maximum number of rows per call.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of the columns.

    Raises
    ------
    ValueError
        If an output has the wrong shape.

    See Also
    --------
    skmia.Outputs : Outputs that were collected elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.attacks import ThresholdAttack
    >>> from skmia import Records
    >>> from skmia.victims import CallableVictim
    >>> def service(rows):
    ...     p = 1 / (1 + np.exp(-rows[:, 0]))
    ...     return np.column_stack([1 - p, p])
    >>> victim = CallableVictim(service, classes=["no", "yes"])
    >>> records = Records(np.array([[-2.0], [0.5]]), ["no", "no"])
    >>> ThresholdAttack(victim).fit(records).score_samples(records).round(3)
    array([-0.127, -0.974])
    """

    _parameter_constraints = {
        "function": [callable],
        "classes": ["array-like"],
        "batch_size": [at_least(1)],
    }

    # By the user, who can be wrong about the order of the function's columns.
    classes_are_given = True

    def __init__(
        self, function: Callable[..., ArrayLike], classes: ArrayLike, *, batch_size: int = 1000
    ) -> None:
        self.function = function
        self.classes = classes
        self.batch_size = batch_size

    @property
    def classes_(self) -> np.ndarray:
        return check_columns(self.classes)

    def predict_proba(self, X: Rows) -> np.ndarray:
        """Query the function in batches.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the function takes them.

        Returns
        -------
        proba : ndarray of shape (n, n_classes)
        """
        validate_params_of(self)
        X = as_rows(X)
        parts = []
        for rows in gen_batches(X.shape[0], self.batch_size) if X.shape[0] else ():
            batch = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            answer = to_array(self.function(batch), "What the function answers", "be a matrix")
            expected = (batch.shape[0], len(self.classes_))
            if answer.shape != expected:
                raise ValueError(
                    f"The function must return {expected[0]} rows and {expected[1]} classes with "
                    f"an array of shape {expected}; got {answer.shape}."
                )
            parts.append(answer)
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def predict(self, X: Rows) -> np.ndarray:
        """Most probable label of each row.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the function takes them.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]
