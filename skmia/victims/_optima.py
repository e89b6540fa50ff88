"""Optima of linear models: what adds to zero over the training rows, by loss and penalty."""

from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import expit, softmax
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LassoCV,
    LassoLars,
    LassoLarsCV,
    LassoLarsIC,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    OrthogonalMatchingPursuit,
    OrthogonalMatchingPursuitCV,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
    TweedieRegressor,
)
from sklearn.svm import LinearSVC, LinearSVR

from ._model_features import ModelReader


class Total(NamedTuple):
    """A sum over the training rows of a number of each that is known, up to its variance."""

    terms: np.ndarray  # (n,): the number of each candidate
    total: float
    variance: float


class Penalty(NamedTuple):
    """Strengths of a penalty, in units of the sum of the losses of all training rows."""

    l1: float = 0.0
    l2: float | np.ndarray = 0.0  # or of each feature, of shape (n_features,)
    # Whose square is penalized as a further coefficient: the intercept divided by this number.
    intercept_scaling: float | None = None
    selects: bool = False  # coefficients of 0 are not at an optimum of their own


class LinearOptimum(NamedTuple):
    """What adds to 0 at the optimum of a linear model, for each of its outputs."""

    slopes: np.ndarray  # (n, n_outputs): derivative of the loss of each candidate by its output
    bends: np.ndarray  # (n, n_outputs): second derivative, of at least 0
    pulls: np.ndarray  # (n_outputs, n_features + 1): gradient of the penalty, of the intercept last
    holds: np.ndarray  # (n_outputs, n_features + 1): whether the gradient is that of an optimum
    variances: np.ndarray  # (n_outputs, n_features + 1): of what is left of each gradient
    stiffness: np.ndarray  # (n_outputs, n_features + 1): second derivative of the penalty
    totals: tuple[Total, ...] = ()


class _Candidates(NamedTuple):
    """Candidates as an optimum is read for them."""

    X: np.ndarray
    y: np.ndarray
    outputs: np.ndarray
    n_rows: float  # number of training rows

    @property
    def share(self):
        return self.n_rows / len(self.y)

    def sum_squares(self):
        """Sum over the training rows of squared features, about, and of 1 for the intercept."""
        return self.share * self.add_up(np.ones((len(self.y), 1)), 2)[0]

    def add_up(self, slopes, power=1):
        """Return the gradients of all candidates together, or their powers.

        (n_outputs, n_features + 1).
        """
        X = self.X if power == 1 else self.X**power
        slopes = slopes**power
        return np.column_stack([(X.T @ slopes).T, slopes.sum(axis=0)])


def read_optimum(model, X, y, n_rows, *, differentiate, penalize, err):
    """Return the optimum of a model, given functions of its loss, its penalty and its error."""
    coef = np.atleast_2d(model.coef_)
    outputs = X @ coef.T + np.reshape(model.intercept_, (1, -1))
    candidates = _Candidates(X, y, outputs, n_rows)
    slopes, bends, *totals = differentiate(model, candidates)
    error = err(model, candidates, slopes)
    weights, unsure = _weigh_classes(model, candidates, slopes)
    pulls, holds, stiffness = _pull(model, coef, penalize(model, candidates))
    # Solvers state what they leave at most.
    variances = np.full(pulls.shape, error**2 / 3 + unsure)
    bends = np.broadcast_to(np.maximum(bends, 0), slopes.shape)
    return LinearOptimum(
        slopes * weights, bends * weights, pulls, holds, variances, stiffness, tuple(totals)
    )


def _pull(model, coef, penalty):
    """Return the gradient of the penalty, which gradients are those of an optimum, and its slope.

    Of intercepts last.
    """
    pulls = penalty.l2 * coef + penalty.l1 * np.sign(coef)
    is_sparse = bool(penalty.l1) or penalty.selects
    holds = coef != 0 if is_sparse else np.ones(coef.shape, dtype=bool)
    ends, has_end = np.zeros((len(coef), 1)), np.full((len(coef), 1), bool(model.fit_intercept))
    stiffness = np.column_stack([np.broadcast_to(penalty.l2, coef.shape), ends])
    if penalty.intercept_scaling is not None:
        own = np.reshape(model.intercept_, (-1, 1)) / penalty.intercept_scaling
        ends = (penalty.l2 * own + penalty.l1 * np.sign(own)) / penalty.intercept_scaling
        stiffness[:, -1] = penalty.l2 / penalty.intercept_scaling**2
        has_end = has_end & (own != 0) if is_sparse else has_end
    return np.column_stack([pulls, ends]), np.column_stack([holds, has_end]), stiffness


def _weigh_classes(model, candidates, slopes):
    """Class weights of the candidates, and the variance of the gradients if they are unknown."""
    weights = getattr(model, "class_weight", None)
    if weights is None:
        return 1.0, 0.0
    y, n_classes = candidates.y, len(model.classes_)
    if isinstance(weights, dict):
        of_class = np.array([weights.get(label, 1.0) for label in model.classes_])
        return of_class[y, None], 0.0
    # Weights are balanced by the training rows. Those of the candidates are about the same: a class
    # that has a number of candidates has its share of them, up to a binomial variance.
    counts = np.maximum(np.bincount(y, minlength=n_classes), 1)
    weights = (len(y) / (n_classes * counts))[y, None]
    share, variance = candidates.share, 0.0
    for label, count in enumerate(counts):
        own = slopes * weights * (y == label)[:, None]
        # The squared gradient of a class that is expected of the training rows.
        away = (share * candidates.add_up(own)) ** 2
        away += share * abs(1 - share) * candidates.add_up(own, 2)
        variance = variance + away * abs(1 - share) / (share * count)
    return weights, variance


# Relative change of the objective after which L-BFGS of scipy stops, which HuberRegressor leaves as
# it is.
_FLAT = 2.2e-9

_POWERS = {PoissonRegressor: 1.0, GammaRegressor: 2.0}

# Losses: functions of a model and candidates that return the first and the second derivative by the
# outputs, of shape (n, n_outputs), and Totals


def _of_squares(model, candidates):
    return candidates.outputs - candidates.y[:, None], 1.0


def _of_squares_of_classes(model, candidates):
    return candidates.outputs - as_signs(model, candidates.y), 1.0


def as_signs(model, y):
    """1 for the class of each output and -1 for the others, of shape (n, n_outputs)."""
    n_classes = len(model.classes_)
    own = np.arange(n_classes) if n_classes > 2 else np.array([1])
    return np.where(y[:, None] == own, 1.0, -1.0)


def _of_log_loss(model, candidates):
    outputs, y = candidates.outputs, candidates.y
    if outputs.shape[1] == 1 or model.solver == "liblinear":  # one class against the rest
        proba = expit(outputs)
        return proba - (as_signs(model, y) > 0), proba * (1 - proba)
    slopes = softmax(outputs, axis=1)
    bends = slopes * (1 - slopes)
    slopes[np.arange(len(y)), y] -= 1
    return slopes, bends


def _of_squared_hinge(model, candidates):
    signs = as_signs(model, candidates.y)
    missing = np.maximum(1 - signs * candidates.outputs, 0)
    return -2 * model.C * signs * missing, 2 * model.C * (missing > 0)


def _of_squares_beyond(model, candidates):
    away = candidates.outputs - candidates.y[:, None]
    beyond = np.maximum(np.abs(away) - model.epsilon, 0)
    return 2 * model.C * np.sign(away) * beyond, 2 * model.C * (beyond > 0)


def _of_deviance(model, candidates):
    y, power = candidates.y[:, None], find_power(model)
    if find_link(model) == "identity":
        means = candidates.outputs
        slopes = (means - y) * means**-power
        return slopes, (1 - power) * means**-power + power * y * means ** (-power - 1)
    means = np.exp(candidates.outputs)
    slopes = (means - y) * means ** (1 - power)
    return slopes, (2 - power) * means ** (2 - power) - (1 - power) * y * means ** (1 - power)


def find_power(model):
    """Power of the mean that the variance of a generalized linear model is proportional to."""
    return _POWERS.get(type(model), float(getattr(model, "power", 0)))


def find_link(model):
    """Link of a generalized linear model, "log" or "identity"."""
    link = getattr(model, "link", "log")
    if link == "auto":
        return "log" if model.power > 0 else "identity"
    return link


def _of_huber(model, candidates):
    scaled = (candidates.outputs[:, 0] - candidates.y) / model.scale_
    slopes = 2 * np.clip(scaled, -model.epsilon, model.epsilon)
    # The scale is at its optimum, too, with a second derivative of about 2 n / scale.
    terms = 1 - np.minimum(scaled**2, model.epsilon**2)
    left = 2 * candidates.n_rows * np.sqrt(_FLAT) + model.tol
    bends = 2 / model.scale_ * (np.abs(scaled) < model.epsilon)
    return slopes[:, None], bends[:, None], Total(terms, 0.0, left**2 / 3)


# Penalties


def _no_penalty(model, candidates):
    return Penalty()


def _selected(model, candidates):
    return Penalty(selects=True)


def _ridge(model, candidates):
    return Penalty(l2=getattr(model, "alpha_", getattr(model, "alpha", 0.0)))


def _bayes(model, candidates):
    return Penalty(l2=model.lambda_ / model.alpha_, selects=np.ndim(model.lambda_) > 0)


def _net_of_means(model, candidates):
    """Return the penalty of models whose loss is a mean."""
    strength = candidates.n_rows * getattr(model, "alpha_", getattr(model, "alpha", 0.0))
    ratio = getattr(model, "l1_ratio_", getattr(model, "l1_ratio", 1.0))
    return Penalty(strength * ratio, strength * (1 - ratio))


def _ridge_of_means(model, candidates):
    return Penalty(l2=candidates.n_rows * model.alpha)


def _twice_ridge(model, candidates):
    return Penalty(l2=2 * model.alpha)


def _of_margins(model, candidates):
    is_l1 = getattr(model, "penalty", "l2") == "l1"
    scaling = model.intercept_scaling if model.fit_intercept else None
    return Penalty(float(is_l1), float(not is_l1), scaling)


def _of_logistic(model, candidates):
    ratio = _read_l1_ratio(model)
    strength = 0.0 if model.penalty is None else 1 / _read_strength(model)
    scaling = model.intercept_scaling if model.solver == "liblinear" else None
    return Penalty(ratio * strength, (1 - ratio) * strength, scaling)


def _read_strength(model):
    return float(np.ravel(model.C_ if hasattr(model, "C_") else model.C)[0])


def _read_l1_ratio(model):
    """Return the share of the l1 penalty of a logistic regression, in any version."""
    named = {"l1": 1.0, "l2": 0.0, None: 0.0}
    if model.penalty in named:
        return named[model.penalty]
    ratio = np.ravel(model.l1_ratio_ if hasattr(model, "l1_ratio_") else model.l1_ratio)[0]
    return float(ratio or 0.0)


# Errors: what the solver leaves of a gradient, a number or an array (n_outputs, n_features + 1)


def _exactly(model, candidates, slopes):
    return 0.0


def _by_gap(model, candidates, slopes):
    """Error of coordinate descent, which stores how far the objective is from its optimum."""
    gap = float(np.max(getattr(model, "dual_gap_", 0.0))) * candidates.n_rows
    size = candidates.sum_squares()
    return np.sqrt(2 * max(gap, 0.0) * size / max(np.count_nonzero(model.coef_), 1))[None]


def _by_mean_gradient(model, candidates, slopes):
    return model.tol * candidates.n_rows


def _by_flatness(model, candidates, slopes):
    size = candidates.sum_squares() / model.scale_**2
    loss = candidates.n_rows * model.scale_
    return np.sqrt(2 * _FLAT * loss * size)[None] + model.tol


def _by_solver_of_logistic(model, candidates, slopes):
    if model.solver in _NEWTON:
        return _by_mean_gradient(model, candidates, slopes)
    if model.solver == "liblinear":
        return _by_first_gradient(model, candidates, _of_log_loss)
    # sag and saga stop when no coefficient moves by more than a share of the largest.
    moved = _N_STEPS_TO_GO * model.tol * np.max(np.abs(model.coef_))
    bend = np.mean(np.abs(slopes) * (1 - np.abs(slopes)), axis=0)[:, None]
    return moved * bend * candidates.sum_squares()


def _by_first_gradient(model, candidates, differentiate):
    """Return the error of the Newton method of liblinear, in units of the gradient at 0."""
    first = differentiate(model, candidates._replace(outputs=0.0 * candidates.outputs))[0]
    norm = 1 if getattr(model, "penalty", "l2") == "l1" else 2
    total = candidates.share * candidates.add_up(first)
    length = np.linalg.norm(total, norm, axis=1, keepdims=True)
    if not hasattr(model, "classes_"):
        return model.tol * length
    ones = np.mean(as_signs(model, candidates.y) > 0, axis=0)
    return model.tol * np.minimum(ones, 1 - ones)[:, None] * length


def _by_margins(model, candidates, slopes):
    if _is_dual(model, candidates.n_rows, candidates.X.shape[1]):  # margins are off by as much
        return 2 * model.C * model.tol * np.sqrt(candidates.sum_squares())[None]
    is_classifier = hasattr(model, "classes_")
    return _by_first_gradient(
        model, candidates, _of_squared_hinge if is_classifier else _of_squares_beyond
    )


def _is_dual(model, n_rows, n_features):
    return n_rows < n_features if model.dual == "auto" else model.dual


# How many steps like its last one sag is taken to be away from the optimum.
_N_STEPS_TO_GO = 20

# Solvers that stop when no element of the mean gradient is larger than tol.
_NEWTON = "lbfgs", "newton-cg", "newton-cholesky"

# Reasons

_POSITIVE = "coefficients that were kept at 0 are not at the optimum"

# Solvers that come to the optimum, up to rounding.
_EXACT = "svd", "cholesky"


def why_no_least_squares_optimum(model):
    if model.positive:
        return _POSITIVE
    return _why_several(model)


def why_no_ridge_optimum(model):
    if model.positive:
        return _POSITIVE
    if model.solver_ not in _EXACT:
        return (
            f"solver={model.solver_!r} stops at another point, and only svd and cholesky are known"
        )
    return _why_several(model)


def _why_not_chosen_ridge(model):
    if model.cv is not None:
        return f"cv={model.cv!r} leaves open by which solver it was fitted"
    return _why_several(model)


def _why_several(model):
    is_classifier = hasattr(model, "classes_")
    return "it has several outputs" if not is_classifier and model.coef_.ndim > 1 else None


def why_stopped(model):
    if np.max(getattr(model, "n_iter_", 0)) >= model.max_iter:
        return f"its solver stopped after max_iter={model.max_iter} rounds, before the optimum"
    return None


def _why_not_converged(model):
    return _why_several(model) or why_stopped(model)


def _why_not_path(model):
    return _POSITIVE if model.positive else _why_not_converged(model)


def _why_not_logistic(model):
    if getattr(model, "multi_class", "deprecated") not in ("auto", "deprecated"):
        return f"multi_class={model.multi_class!r} has another loss"
    if len({*np.ravel(getattr(model, "C_", 1.0)).tolist()}) > 1 or not getattr(model, "refit", 1):
        return "its classes have several strengths of the penalty"
    if getattr(model, "dual", False):
        return "dual=True stops at another point"
    # A search over strengths counts the rounds of its folds.
    return None if hasattr(model, "C_") else why_stopped(model)


def _why_not_margins(model):
    if model.loss not in ("squared_hinge", "squared_epsilon_insensitive"):
        return f"loss={model.loss!r} has no gradient on its edge"
    if model.loss == "squared_epsilon_insensitive" and model.dual is True:
        return "dual=True stops at another point"
    if getattr(model, "multi_class", "ovr") != "ovr":
        return f"multi_class={model.multi_class!r} has another loss"
    return why_stopped(model)


def _make_reader(differentiate, penalize=_no_penalty, err=_exactly, why=_why_several):
    read = partial(read_optimum, differentiate=differentiate, penalize=penalize, err=err)
    return ModelReader(read, why)


_NET = _make_reader(_of_squares, _net_of_means, _by_gap, _why_not_converged)
_PATH = _make_reader(_of_squares, _net_of_means, _exactly, _why_not_path)
_LOGISTIC = _make_reader(_of_log_loss, _of_logistic, _by_solver_of_logistic, _why_not_logistic)
_BAYES = _make_reader(_of_squares, _bayes)
_PURSUIT = _make_reader(_of_squares, _selected)
_MARGINS = partial(_make_reader, penalize=_of_margins, err=_by_margins, why=_why_not_margins)
_DEVIANCE = _make_reader(_of_deviance, _ridge_of_means, _by_mean_gradient, _why_not_converged)

# ``read(model, X, y, n_rows)`` takes numbers of the classes or targets, and the number of training
# rows. It returns an Optimum.
OPTIMA = {
    LogisticRegression: _LOGISTIC,
    LogisticRegressionCV: _LOGISTIC,
    LinearRegression: _make_reader(_of_squares, why=why_no_least_squares_optimum),
    Ridge: _make_reader(_of_squares, _ridge, why=why_no_ridge_optimum),
    RidgeCV: _make_reader(_of_squares, _ridge, why=_why_not_chosen_ridge),
    RidgeClassifier: _make_reader(_of_squares_of_classes, _ridge, why=why_no_ridge_optimum),
    RidgeClassifierCV: _make_reader(_of_squares_of_classes, _ridge, why=_why_not_chosen_ridge),
    BayesianRidge: _BAYES,
    ARDRegression: _BAYES,
    Lasso: _NET,
    LassoCV: _NET,
    ElasticNet: _NET,
    ElasticNetCV: _NET,
    LassoLars: _PATH,
    LassoLarsCV: _PATH,
    LassoLarsIC: _PATH,
    OrthogonalMatchingPursuit: _PURSUIT,
    OrthogonalMatchingPursuitCV: _PURSUIT,
    PoissonRegressor: _DEVIANCE,
    GammaRegressor: _DEVIANCE,
    TweedieRegressor: _DEVIANCE,
    HuberRegressor: _make_reader(_of_huber, _twice_ridge, _by_flatness, _why_not_converged),
    LinearSVC: _MARGINS(_of_squared_hinge),
    LinearSVR: _MARGINS(_of_squares_beyond),
}
