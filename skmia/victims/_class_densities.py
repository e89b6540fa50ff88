"""Answers of naive Bayes and discriminant analysis as functions of who was a training row."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy import linalg, sparse
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB

from ._model_features import check_labels, find_model, read_features
from ._node_equations.equations import Equations
from ._recovered import check_answers, find_known_probabilities, measure_rounding
from ._sufficient_statistics import lost_by_linear, lost_by_quadratic, why_not_shrunk


class ClassDensities(ABC):
    """Log densities of classes at some rows, by sums over rows with weights.

    X (n, d), y (n,): rows and numbers of their classes.
    """

    def __init__(self, model, X, y):
        self.model, self.X, self.n_classes = model, X, len(model.classes_)
        self.own = [np.flatnonzero(y == k) for k in range(self.n_classes)]
        self._log_priors = _read_log_priors(model)

    @staticmethod
    @abstractmethod
    def expand(X):
        """Return the features in which log densities are linear, without a constant."""

    @abstractmethod
    def _fit_class(self, k, rows, weights):
        """Learn one class from its rows."""

    @abstractmethod
    def _log_density(self, k):
        """Return the log density of a class at all rows, of shape (n,)."""

    @abstractmethod
    def _move(self, k, X):
        """Return the derivatives of the log density by the weights of rows of the class (n, r)."""

    def fit(self, weights):
        """Learn from rows of these weights; return log densities with priors, (n, n_classes)."""
        self.counts = np.array([weights[own].sum() for own in self.own])
        for k, own in enumerate(self.own):
            self._fit_class(k, self.X[own], weights[own])
        logs = np.column_stack([self._log_density(k) for k in range(self.n_classes)])
        return logs + (np.log(self.counts) if self._log_priors is None else self._log_priors)

    def move(self, k, X, y):
        """Return the derivatives of the log density of a class by the weights of rows, (n, r)."""
        moved, own = np.zeros((len(self.X), len(X))), y == k
        moved[:, own] = self._move(k, X[own])
        if self._log_priors is None:
            moved[:, own] += 1 / self.counts[k]
        return moved


def _read_log_priors(model):
    """Return the log priors of classes if they are not the shares of the training rows."""
    if getattr(model, "priors", None) is not None:
        shares = model.priors_ if hasattr(model, "priors_") else model.class_prior_
        return np.log(shares)
    if getattr(model, "class_prior", None) is None and getattr(model, "fit_prior", True):
        return None
    return model.class_log_prior_


class _ProductNormal(ClassDensities):
    """Normal laws of single features."""

    def __init__(self, model, X, y):
        super().__init__(model, X, y)
        self.means = np.empty((self.n_classes, X.shape[1]))
        self.variances = np.empty_like(self.means)
        self._added = model.var_smoothing * X.var(axis=0).max()

    @staticmethod
    def expand(X):
        return np.hstack([X, X**2])

    def _fit_class(self, k, rows, weights):
        self.means[k] = weights @ rows / self.counts[k]
        self.variances[k] = weights @ (rows - self.means[k]) ** 2 / self.counts[k] + self._added

    def _log_density(self, k):
        away = (self.X - self.means[k]) ** 2 / self.variances[k]
        return -0.5 * (away.sum(axis=1) + np.log(self.variances[k]).sum())

    def _move(self, k, X):
        here, there, variance = self.X - self.means[k], X - self.means[k], self.variances[k]
        own, other, share = here**2 / variance, there**2 / variance, 1 - self._added / variance
        moved = own @ other.T - (own @ share)[:, None] - other.sum(axis=1) + share.sum()
        return ((here / variance) @ there.T + moved / 2) / self.counts[k]


class _JointNormal(ClassDensities):
    """Normal laws of all features."""

    def __init__(self, model, X, y):
        super().__init__(model, X, y)
        self.laws, self._lost = {}, 0
        if getattr(model, "solver", "svd") == "svd":
            self._lost = lost_by_quadratic()
        self._kept = 1 - model.reg_param

    @staticmethod
    def expand(X):
        first, second = np.triu_indices(X.shape[1])
        return np.hstack([X, X[:, first] * X[:, second]])

    def _fit_class(self, k, rows, weights):
        mean, n = weights @ rows / self.counts[k], self.counts[k] - self._lost
        away = rows - mean
        covariance = self._kept * (away.T * weights) @ away / n
        covariance[np.diag_indices(len(mean))] += self.model.reg_param
        self.laws[k] = mean, _invert_covariance(covariance), n

    def _log_density(self, k):
        mean, inverse, _ = self.laws[k]
        away = self.X - mean
        return -0.5 * np.einsum("ij,ij->i", away @ inverse, away) + _log_root(inverse)

    def _move(self, k, X):
        mean, inverse, n = self.laws[k]
        here, there = (self.X - mean) @ inverse, X - mean
        shared = here @ there.T
        # Without a part of the identity, the scatter is the covariance.
        scatter = (inverse - self.model.reg_param * inverse @ inverse) / self._kept
        own = np.einsum("ij,ij->i", self.X - mean, (self.X - mean) @ scatter)
        spread = np.einsum("ij,ij->i", there @ inverse, there)
        total = (len(mean) - self.model.reg_param * np.trace(inverse)) / self._kept
        moved = self._kept / 2 / n * (shared**2 - own[:, None] - spread + total)
        return shared / self.counts[k] + moved


class _PooledNormal(ClassDensities):
    """Normal laws of all features that share a covariance."""

    def __init__(self, model, X, y):
        super().__init__(model, X, y)
        self.means = np.empty((self.n_classes, X.shape[1]))
        is_svd = model.solver == "svd"
        self._lost = lost_by_linear(self.n_classes) if is_svd else 0
        # The other solvers average the covariances of the classes with the priors that are given.
        self._shares = None if is_svd or model.priors is None else model.priors_

    @staticmethod
    def expand(X):
        return X

    def fit(self, weights):
        self._scatters = []
        return super().fit(weights)

    def _fit_class(self, k, rows, weights):
        self.means[k] = weights @ rows / self.counts[k]
        away = rows - self.means[k]
        self._scatters.append((away.T * weights) @ away)
        if k == self.n_classes - 1:
            self._pool(np.array(self._scatters))

    def _pool(self, scatters):
        """Set by what a row of each class moves the covariance, and its inverse."""
        if self._shares is None:
            n = self.counts.sum() - self._lost
            self._rates = np.full(self.n_classes, 1 / n)
            self._centers = np.broadcast_to(scatters.sum(axis=0) / n, scatters.shape)
        else:
            self._rates = self._shares / self.counts
            self._centers = scatters / self.counts[:, None, None]
        self._inverse = _invert_covariance(np.tensordot(self._rates, scatters, 1))

    def _log_density(self, k):
        away = self.X - self.means[k]
        return -0.5 * np.einsum("ij,ij->i", away @ self._inverse, away)

    def _move(self, k, X):
        return (self.X - self.means[k]) @ self._inverse @ (X - self.means[k]).T / self.counts[k]

    def move(self, k, X, y):
        away = (self.X - self.means[k]) @ self._inverse
        own = np.einsum("ia,kab,ib->ik", away, self._centers, away)
        shared = (away @ (X - self.means[y]).T) ** 2 - own[:, y]
        return super().move(k, X, y) + shared * self._rates[y] / 2


class _Bits(ClassDensities):
    """Bits that are independent within a class."""

    def __init__(self, model, X, y):
        super().__init__(model, self._change(model, X), y)
        self.shares = np.empty((self.n_classes, X.shape[1]))

    @staticmethod
    def expand(X):
        return X

    @staticmethod
    def _change(model, X):
        return X if model.binarize is None else (X > model.binarize).astype(float)

    def move(self, k, X, y):
        return super().move(k, self._change(self.model, X), y)

    def _fit_class(self, k, rows, weights):
        alpha = self.model.alpha
        self.shares[k] = (weights @ rows + alpha) / (self.counts[k] + 2 * alpha)

    def _log_density(self, k):
        share = self.shares[k]
        return self.X @ np.log(share) + (1 - self.X) @ np.log1p(-share)

    def _move(self, k, X):
        share = self.shares[k]
        slopes = self.X / share - (1 - self.X) / (1 - share)
        return slopes @ (X - share).T / (self.counts[k] + 2 * self.model.alpha)


class _Counts(ClassDensities):
    """Counts whose shares are those of a class."""

    def __init__(self, model, X, y):
        super().__init__(model, X, y)
        self.sums = np.empty((self.n_classes, X.shape[1]))

    @staticmethod
    def expand(X):
        return X

    def _fit_class(self, k, rows, weights):
        self.sums[k] = weights @ rows + self.model.alpha

    def _log_density(self, k):
        return self.X @ np.log(self.sums[k] / self.sums[k].sum())

    def _move(self, k, X):
        sums, total = self.sums[k], self.sums[k].sum()
        return (self.X / sums) @ X.T - np.outer(self.X.sum(axis=1), X.sum(axis=1)) / total


def _invert_covariance(covariance):
    sizes = linalg.eigvalsh(covariance)
    if not sizes[0] > _SINGULAR * sizes[-1]:
        raise ValueError(
            "The covariance of a class is singular, as with fewer rows than features, so answers "
            "do not follow from it."
        )
    return linalg.inv(covariance)


def _log_root(inverse):
    return 0.5 * np.linalg.slogdet(inverse)[1]


_SINGULAR = 1e-12

_DENSITIES = {
    GaussianNB: _ProductNormal,
    QuadraticDiscriminantAnalysis: _JointNormal,
    LinearDiscriminantAnalysis: _PooledNormal,
    BernoulliNB: _Bits,
    MultinomialNB: _Counts,
}


def why_no_densities(model):
    """Return why the answers of a recipe do not follow from sums over its classes, or None."""
    found = find_model(model)[0]
    if type(found) not in _DENSITIES:
        return f"the answers of a {type(found).__name__} do not follow from sums over its classes"
    if why_not_shrunk(found) is not None or getattr(found, "shrinkage", None) is not None:
        return "its covariance was shrunk"
    if getattr(found, "reg_param", 0) >= 1:
        return "reg_param=1 leaves no covariance"
    if np.ndim(getattr(found, "alpha", 1.0)) or getattr(found, "alpha", 1.0) <= 0:
        return "its alpha is not one positive number"
    return None


def count_density_coefficients(model, n_features):
    """Return the number of coefficients of the log odds of two classes."""
    found = find_model(model)[0]
    n_squares = {
        GaussianNB: n_features,
        QuadraticDiscriminantAnalysis: n_features * (n_features + 1) // 2,
    }
    return n_features + n_squares.get(type(found), 0) + 1


class AnswerEquations(NamedTuple):
    """Equations of the log odds of a model, at weights of the candidates that explain them."""

    equations: Equations
    densities: ClassDensities
    pushes: list  # (n, n_equations) of each class: what its log densities add to the equations
    error: float  # root mean squared residual of the answers, in units of their rounding
    condition: float

    def read_columns(self, X, y):
        """Return the coefficients of rows in the equations, the last one of their number."""
        columns = sum(push.T @ self.densities.move(k, X, y) for k, push in enumerate(self.pushes))
        return np.vstack([columns, np.ones(len(X))])


def open_class_rows(model, records):
    """Return the model, its features of some records, and the numbers of their classes."""
    found, steps = find_model(model)
    X = read_features(found, steps, records.X, role="The model has")
    return found, np.asarray(X, dtype=np.float64), check_labels(found, records.y)


# The weights of candidates go half of the way at first, and end when they move by so little.
_N_STEPS, _N_HALF_STEPS, _MOVED = 40, 8, 1e-4
# Weights stay inside, and equations are exact up to this share of what the candidates move.
_LEAST_WEIGHT, _BLUR = 0.02, 1e-4


def read_answer_equations(model, records, outputs, n_rows, variance, n_outside=0.0):
    """Return the equations of the answers of a model that was fitted by a recipe to candidates.

    n_rows: number of training rows, of whom so many are not among the candidates; variance: of it.

    Log odds are a smooth function of sums over the training rows. It is linear in the weights of
    the candidates near weights that explain the answers, which steps of Gauss and Newton find from
    equal ones.
    """
    found, X, y = open_class_rows(model, records)
    densities = _DENSITIES[type(found)](found, X, y)
    answers = _read_log_odds(outputs, densities.n_classes)
    pushes, condition, error = _project(densities, answers)
    wanted = sum(push.T @ logs for push, logs in zip(pushes, answers.logs.T, strict=True))
    prior, outside = n_rows / len(X), n_outside / len(X)
    least, most = _LEAST_WEIGHT, 1 - _LEAST_WEIGHT + outside
    weights, spread = np.full(len(X), prior), (prior - outside) * (1 - prior + outside)
    for step in range(_N_STEPS):
        logs, rows = densities.fit(weights), 0.0
        for k, push in enumerate(pushes):
            rows = rows + push.T @ densities.move(k, X, y)
        rest = wanted - sum(push.T @ one for push, one in zip(pushes, logs.T, strict=True))
        if step == _N_STEPS - 1:
            break
        matrix = spread * rows @ rows.T
        noise = 1 + _BLUR * np.square(rows).sum(axis=1)
        matrix[np.diag_indices(len(matrix))] += noise
        solved = linalg.solve(matrix, rest + rows @ (weights - prior), assume_a="pos")
        away = np.clip(prior + spread * rows.T @ solved, least, most) - weights
        if np.mean(np.abs(away)) < _MOVED:
            break
        weights = weights + (0.5 if step < _N_HALF_STEPS else 1.0) * away
    targets = np.append(rest + rows @ weights, n_rows)
    rows = sparse.csr_array(np.vstack([rows, np.ones(len(X))]))
    variances = np.append(np.ones(len(targets) - 1), variance)
    blur = sparse.csr_array(rows.shape)
    places = [np.arange(len(targets))]
    equations = Equations(rows, targets, variances, float(n_rows), places, blur, is_assumed=True)
    return AnswerEquations(equations, densities, pushes, error, condition)


class _LogOdds(NamedTuple):
    """Log probabilities of classes, up to a number of each record."""

    logs: np.ndarray  # (n, n_classes)
    first: np.ndarray  # (n,): class that the others are compared with
    precision: np.ndarray  # (n, n_classes): of the log odds against the first; 0 where unused


def _read_log_odds(outputs, n_classes):
    values = np.asarray(outputs.values, dtype=np.float64)
    if outputs.kind not in ("proba", "logits") or values.shape[1:] != (n_classes,):
        raise ValueError(
            f"Log odds of {n_classes} classes are needed; got answers of kind {outputs.kind!r}."
        )
    first, unit = values.argmax(axis=1), measure_rounding(outputs.values)
    if outputs.kind == "logits":
        logs, variance = values, np.full(values.shape, unit**2 / 6)
        is_known = np.ones(values.shape, dtype=bool)
    else:
        is_known = find_known_probabilities(values, unit)
        known = np.where(is_known, values, 0.5)
        logs = np.log(known)
        own = np.take_along_axis(known, first[:, None], axis=1)
        variance = unit**2 / 12 * (known**-2 + own**-2)
    is_known &= np.take_along_axis(is_known, first[:, None], axis=1)
    is_known[np.arange(len(first)), first] = False
    least = (_UNROUNDED * max(float(np.std(logs)), np.finfo(float).tiny)) ** 2
    return _LogOdds(logs, first, is_known / (variance + least))


# Rounding of answers that are not rounded, in units of their standard deviation: models compute
# with features of single precision.
_UNROUNDED = 1e-6

# Directions of coefficients of so small a share of the largest are rounding errors.
_NULL = 1e-11


def _project(densities, answers):
    """Return what turns log densities into as many numbers of unit noise as there are coefficients.

    A list of arrays (n, n_equations), by class; further the condition and the error.
    """
    features = densities.expand(densities.X)
    size = np.sqrt(np.mean(features**2, axis=0))
    features = np.column_stack([features / np.where(size > 0, size, 1), np.ones(len(features))])
    rows, others = np.nonzero(answers.precision)
    first, width = answers.first[rows], features.shape[1]
    check_answers(len(rows), (densities.n_classes - 1) * width)
    scale = np.sqrt(answers.precision[rows, others])
    design = np.zeros((len(rows), densities.n_classes, width))
    scaled = features[rows] * scale[:, None]
    design[np.arange(len(rows)), others] += scaled
    design[np.arange(len(rows)), first] -= scaled
    design = design[:, 1:].reshape(len(rows), -1)  # against the first class
    left, sizes, _ = np.linalg.svd(design, full_matrices=False)
    rank = np.count_nonzero(sizes > _NULL * sizes[0])
    left = left[:, :rank]
    given = scale * (answers.logs[rows, others] - answers.logs[rows, first])
    rest = given - left @ (left.T @ given)
    error = float(np.sqrt(rest @ rest / max(len(rest) - rank, 1)))
    pushed = left * scale[:, None]
    pushes = [np.zeros((len(features), rank)) for _ in range(densities.n_classes)]
    for k, push in enumerate(pushes):
        np.add.at(push, rows[others == k], pushed[others == k])
        np.subtract.at(push, rows[first == k], pushed[first == k])
    return pushes, float(sizes[0] / sizes[rank - 1]), error
