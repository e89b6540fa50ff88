"""Models that can only be queried: functions and web services."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import gen_batches
from sklearn.utils.metaestimators import available_if

from .._core.asking import GivenModel
from .._core.containers import as_rows
from .._core.groups import check_columns
from .._core.numbers import show, to_array
from .._core.sklearn import StrOptions, at_least, validate_params_of
from .._core.types import ArrayLike, Rows
from .._core.validation import call_given


def _returns_probabilities(victim):
    if victim.kind != "label":
        return True
    raise AttributeError('The function returns labels (kind="label"), and no probabilities.')


def _check_matrix(answer, n_rows, classes):
    expected = (n_rows, len(classes))
    if answer.shape != expected:
        raise ValueError(
            f"The function must return {expected[0]} rows and {expected[1]} classes with an array "
            f"of shape {expected}; got {answer.shape}."
        )
    return answer


def _check_labels(answer, n_rows, classes):
    if answer.shape != (n_rows,):
        raise ValueError(
            f"The function must return {n_rows} labels with an array of shape ({n_rows},); got "
            f"{answer.shape}."
        )
    known = np.isin(answer, classes)
    if not known.all():
        got, allowed = show(answer[~known].tolist()[0]), show(classes.tolist())
        raise ValueError(f"The function must return labels among classes {allowed}; got {got}.")
    return answer


class CallableVictim(GivenModel, ClassifierMixin, BaseEstimator):
    """Classifier behind a function, such as a web service.

    Parameters
    ----------
    function : callable
        Function of a batch of at most ``batch_size`` rows of X that returns their class
        probabilities, an array of shape (n_rows, n_classes), or their labels, of shape (n_rows,).
    classes : array-like of shape (n_classes,)
        Label of each column, in order. When labeled records are queried, a warning is issued if
        their labels fit another order better. For ``kind="label"``, all labels that the function
        may return, in any order.
    kind : {"proba", "label"}, default="proba"
        Whether the function returns class probabilities or labels. With labels there is no
        ``predict_proba``.
    batch_size : int, default=1000
        Maximum number of rows per call.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, in the order of the columns.

    Raises
    ------
    ValueError
        If an output has the wrong shape, or a label is not among the classes.

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

    A service that returns labels is compared with the labels of shadow models:

    >>> victim = CallableVictim(lambda rows: rows[:, 0] > 0, classes=[False, True], kind="label")
    >>> hasattr(victim, "predict_proba")
    False
    >>> victim.predict([[-2.0], [0.5]])
    array([False,  True])
    """

    _parameter_constraints = {
        "function": [callable],
        "classes": ["array-like"],
        "kind": [StrOptions({"proba", "label"})],
        "batch_size": [at_least(1)],
    }

    # By the user, who can be wrong about the order of the function's columns.
    classes_are_given = True

    def __init__(
        self,
        function: Callable[..., ArrayLike],
        classes: ArrayLike,
        *,
        kind: Literal["proba", "label"] = "proba",
        batch_size: int = 1000,
    ) -> None:
        self.function = function
        self.classes = classes
        self.kind = kind
        self.batch_size = batch_size

    @property
    def classes_(self) -> np.ndarray:
        return check_columns(self.classes)

    @available_if(_returns_probabilities)
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
        parts = list(self._ask(X, "be a matrix", _check_matrix))
        return np.concatenate(parts) if parts else np.empty((0, len(self.classes_)))

    def _ask(self, X, must, check):
        """Yield the checked answers of the function, batch by batch."""
        validate_params_of(self)
        X, classes = as_rows(X), self.classes_
        for rows in gen_batches(X.shape[0], self.batch_size) if X.shape[0] else ():
            batch = X.iloc[rows] if hasattr(X, "iloc") else X[rows]
            answer = call_given(self.function, "function", "f(X)", batch)
            answer = to_array(answer, "What the function answers", must)
            yield check(answer, batch.shape[0], classes)

    def predict(self, X: Rows) -> np.ndarray:
        """Return the label of each row, the most probable one unless the function returns labels.

        Parameters
        ----------
        X : array-like of n rows
            Rows as the function takes them.

        Returns
        -------
        labels : ndarray of shape (n,)
        """
        classes = self.classes_
        if self.kind == "label":
            parts = list(self._ask(X, "be one label for each row", _check_labels))
            return np.concatenate(parts) if parts else classes[:0]
        return classes[self.predict_proba(X).argmax(axis=1)]
