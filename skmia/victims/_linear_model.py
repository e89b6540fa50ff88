"""A linear model as its loss, its design matrix and its penalty, also behind a Pipeline."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit, logsumexp, softmax
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge

from .._core.kinds import is_classifier
from ._model_features import check_labels, find_model, read_features
from ._optima import why_no_least_squares_optimum


class LossCurve(NamedTuple):
    """Loss of each record as a function of the outputs of a linear model, to the second order."""

    # (n, n_outputs): minus its derivatives: the residual, or label minus probability.
    slopes: np.ndarray
    # (n, n_outputs) each: its second derivatives are a diagonal less products of pairs of numbers,
    # which for many outputs are too many to be held; None if the derivatives are the diagonal.
    diagonal: np.ndarray
    pairs: np.ndarray | None = None

    @property
    def n_outputs(self):
        return self.slopes.shape[1]

    def bend(self, a, b):
        """Return the second derivative by a pair of outputs, of shape (n,)."""
        own = self.diagonal[:, a] if a == b else 0.0
        return own if self.pairs is None else own - self.pairs[:, a] * self.pairs[:, b]

    @property
    def bends(self):
        """All second derivatives, of shape (n, n_outputs, n_outputs)."""
        own = self.diagonal[:, :, None] * np.eye(self.n_outputs)
        return own if self.pairs is None else own - self.pairs[:, :, None] * self.pairs[:, None]

    def take(self, rows):
        """Return the loss of some records."""
        return LossCurve(*(part if part is None else part[rows] for part in self))


class SquaredLoss:
    """Half of the squared residual of one output; the signal is the output itself."""

    is_quadratic = True  # so that formulas to the second order are exact

    def curve(self, outputs, y):
        """Return the loss of each record near given outputs."""
        return LossCurve(y[:, None] - outputs, np.ones((len(y), 1)))

    def signal(self, outputs, y):
        """Return the number that a model is judged by."""
        return outputs[:, 0]

    def slope(self, outputs, y):
        """Return the derivatives of the signal by the outputs."""
        return np.ones_like(outputs)


class LogisticLoss:
    """Log loss of labels 0 and 1; the signal is the log odds of the label."""

    is_quadratic = False

    def curve(self, outputs, y):
        proba = expit(outputs)
        return LossCurve(y[:, None] - proba, proba * (1 - proba))

    def signal(self, outputs, y):
        return np.where(y == 1, outputs[:, 0], -outputs[:, 0])

    def slope(self, outputs, y):
        return np.where(y == 1, 1.0, -1.0)[:, None]


class SoftmaxLoss:
    """Log loss of the numbers of classes; the signal is the log odds of the label."""

    is_quadratic = False

    def curve(self, outputs, y):
        proba = softmax(outputs, axis=1)
        slopes = -proba
        slopes[np.arange(len(y)), y] += 1
        return LossCurve(slopes, proba, proba)

    def signal(self, outputs, y):
        return outputs[np.arange(len(y)), y] - logsumexp(_others(outputs, y), axis=1)

    def slope(self, outputs, y):
        slopes = -softmax(_others(outputs, y), axis=1)
        slopes[np.arange(len(y)), y] = 1
        return slopes


def _others(outputs, y):
    """Return outputs with minus infinity in the place of the label's."""
    rest = outputs.copy()
    rest[np.arange(len(y)), y] = -np.inf
    return rest


_WEIGHTED = "class weights multiply its gradients by numbers that depend on who is a member"

_FAMILIES = LogisticRegression, LinearRegression, Ridge


def is_linear_model(model):
    """Return whether a model is of a kind that :class:`LinearModel` takes, fitted or not."""
    return type(find_model(model)[0]) in _FAMILIES


class LinearModel:
    """A LogisticRegression, LinearRegression or Ridge, or a Pipeline that ends in one."""

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

    def why_not(self):
        """Return why the optimum of the fitted model moves in an unknown way, or None."""
        return _why_not_linear_model(self._model)

    def check(self):
        """Refuse settings of the fitted model by which its optimum moves in an unknown way."""
        why = self.why_not()
        if why is not None:
            raise ValueError(f"This {type(self._model).__name__} has no closed form: {why}.")

    def read(self, X, y):
        """Features as they reach the fitted model, with a column of ones, and targets or codes.

        Take X of shape (n, ...), y of shape (n,); return X of shape (n, n_columns), sparse if the
        steps make a sparse matrix.
        """
        X = read_features(self._model, self._steps, X, role="The model has", keeps_sparse=True)
        return self.add_ones(X), check_labels(self._model, y)

    def add_ones(self, X):
        """Return features with a column of ones for the intercept, if there is one."""
        if not self._model.fit_intercept:
            return X
        stack = partial(sparse.hstack, format="csr") if sparse.issparse(X) else np.hstack
        return stack([X, np.ones((X.shape[0], 1))])

    def outputs(self, X):
        """Return outputs, of shape (n, n_outputs), for features as :meth:`read` returns them."""
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
        if not is_classifier(self._model):
            return SquaredLoss()
        return LogisticLoss() if len(self._model.classes_) == 2 else SoftmaxLoss()


def _why_not_smooth(model):
    """Why the loss of a LogisticRegression and its penalty are not smooth or not known, or None."""
    if model.class_weight is not None:
        return _WEIGHTED
    penalty = model.penalty
    if penalty not in ("l2", "deprecated", None):
        return f"penalty={penalty!r} has no gradient where a coefficient is 0"
    if penalty == "deprecated" and model.l1_ratio:
        return f"l1_ratio={model.l1_ratio:g} has no gradient where a coefficient is 0"
    if getattr(model, "multi_class", "deprecated") not in ("auto", "deprecated"):
        return f"multi_class={model.multi_class!r} has another loss"
    return None


def _why_not_linear_model(model):
    if not isinstance(model, LogisticRegression):
        return why_no_least_squares_optimum(model)
    if model.solver == "liblinear" and model.fit_intercept:
        return "solver='liblinear' penalizes the intercept"
    return _why_not_smooth(model)
