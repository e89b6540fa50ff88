"""A linear model as its loss, its design matrix and its penalty, also behind a Pipeline."""

import numpy as np
from sklearn.base import is_classifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from .._core.linear_losses import LogisticLoss, SoftmaxLoss, SquaredLoss
from .inputs import check_labels, find_model, read_features
from .stationarity.logistic import why_not_smooth
from .stationarity.refusals import why_not_least_squares

_FAMILIES = LogisticRegression, LinearRegression, Ridge


def is_linear_model(model):
    """Whether a model is of a kind that :class:`LinearModel` takes, fitted or not."""
    return type(find_model(model)[0]) in _FAMILIES


class LinearModel:
    """A LogisticRegression, LinearRegression or Ridge, or a Pipeline that ends in one.

    Parameters
    ----------
    estimator : estimator
        Not fitted, or fitted; a Pipeline is fitted in all of its steps by :meth:`fit`.

    Raises
    ------
    TypeError
        If it is of another kind.
    """

    def __init__(self, estimator):
        self._model, self._steps = find_model(estimator)
        if type(self._model) not in _FAMILIES:
            raise TypeError(
                "The influence of records is known for LogisticRegression, LinearRegression and "
                f"Ridge, also at the end of a Pipeline; got {type(self._model).__name__}."
            )

    def fit(self, X, y, weight):
        """Fit the steps to all records, and the model to all with one weight."""
        X = X if self._steps is None else self._steps.fit_transform(X, y)
        self._model.fit(X, y, sample_weight=np.full(len(y), weight))
        return self

    def check(self):
        """Refuse settings of the fitted model by which its optimum moves in an unknown way.

        Raises
        ------
        ValueError
            With the reason.
        """
        why = _why_not(self._model)
        if why is not None:
            raise ValueError(f"This {type(self._model).__name__} has no closed form: {why}.")

    def read(self, X, y):
        """Features as they reach the fitted model, with a column of ones, and targets or codes.

        Parameters
        ----------
        X : array-like of shape (n, ...)
        y : array-like of shape (n,)

        Returns
        -------
        X : ndarray of shape (n, n_columns)
        y : ndarray of shape (n,)
        """
        X = read_features(self._model, self._steps, X, role="The model has")
        y = check_labels(self._model, y)
        return np.column_stack([X, np.ones(len(X))]) if self._model.fit_intercept else X, y

    def outputs(self, X):
        """Outputs, of shape (n, n_outputs), for features as :meth:`read` returns them."""
        coef = np.atleast_2d(self._model.coef_)
        if self._model.fit_intercept:
            coef = np.column_stack([coef, np.reshape(self._model.intercept_, -1)])
        return X @ coef.T

    @property
    def penalty(self):
        """Strength of the penalty of each column, in units of the loss of a record."""
        model = self._model
        if is_classifier(model):
            strength = 0.0 if model.penalty is None else 1 / model.C
        else:
            strength = getattr(model, "alpha", 0.0)
        penalty = np.full(model.n_features_in_, strength, dtype=np.float64)
        return np.append(penalty, 0.0) if model.fit_intercept else penalty

    @property
    def loss(self):
        """Loss that the fitted model has minimized."""
        if not is_classifier(self._model):
            return SquaredLoss()
        return LogisticLoss() if len(self._model.classes_) == 2 else SoftmaxLoss()


def _why_not(model):
    if not isinstance(model, LogisticRegression):
        return why_not_least_squares(model)
    if model.solver == "liblinear" and model.fit_intercept:
        return "solver='liblinear' penalizes the intercept"
    return why_not_smooth(model)
