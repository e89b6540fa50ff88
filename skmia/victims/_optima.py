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

from ._inputs import Reader


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


class Optimum(NamedTuple):
    """What adds to 0 at the optimum of a linear model, for each of its outputs."""

    slopes: np.ndarray  # (n, n_outputs): derivative of the loss of each candidate by its output
    pulls: np.ndarray  # (n_outputs, n_features + 1): gradient of the penalty, of the intercept last
    holds: np.ndarray  # (n_outputs, n_features + 1): whether the gradient is that of an optimum
    error: float | np.ndarray  # what is left of each gradient, at most, such as by the solver
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
        """Sum over the training rows of the squared features, about, of shape (n_features,)."""
        X = self.X
        squares = X.multiply(X) if hasattr(X, "multiply") else X * X
        return self.share * np.ravel(squares.sum(axis=0))


def read_optimum(model, X, y, n_rows, *, differentiate, penalize, err):
    """Return the optimum of a model, given functions of its loss, its penalty and its error."""
    coef = np.atleast_2d(model.coef_)
    outputs = X @ coef.T + np.reshape(model.intercept_, (1, -1))
    candidates = _Candidates(X, y, outputs, n_rows)
    slopes, totals = differentiate(model, candidates), ()
    if isinstance(slopes, tuple):
        slopes, totals = slopes
    penalty = penalize(model, candidates)
    pulls = penalty.l2 * coef + penalty.l1 * np.sign(coef)
    holds = coef != 0 if penalty.l1 or penalty.selects else np.ones(coef.shape, dtype=bool)
    ends = np.zeros((len(coef), 1))
    if penalty.intercept_scaling is not None:
        own = np.reshape(model.intercept_, (-1, 1)) / penalty.intercept_scaling
        ends = (penalty.l2 * own + penalty.l1 * np.sign(own)) / penalty.intercept_scaling
    error = err(model, candidates, slopes)
    slopes, unsure = _weigh(model, candidates, slopes)
    return Optimum(
        slopes,
        np.column_stack([pulls, ends]),
        np.column_stack([holds, np.full((len(coef), 1), bool(model.fit_intercept))]),
        np.sqrt(error**2 + unsure),
        totals,
    )


def _weigh(model, candidates, slopes):
    """Slopes times class weights, and the variance of the gradients from what weights are not known."""
    weights = getattr(model, "class_weight", None)
    if weights is None:
        return slopes, 0.0
    y, n_classes = candidates.y, len(model.classes_)
    if isinstance(weights, dict):
        of_class = np.array([weights.get(label, 1.0) for label in model.classes_])
        return slopes * of_class[y, None], 0.0
    # Weights are balanced by the training rows. Those of the candidates are about the same.
    counts = np.bincount(y, minlength=n_classes)
    of_class = len(y) / (n_classes * np.maximum(counts, 1))
    slopes = slopes * of_class[y, None]
    share = candidates.share
    variance = 0.0
    for label, count in enumerate(counts):
        own = candidates.share * (slopes * (y == label)[:, None])
        away = np.column_stack([(candidates.X.T @ own).T, own.sum(axis=0)])
        variance = variance + away**2 * max(1 - share, 0.0) / (share * max(count, 1))
    return slopes, variance


# Losses: functions of a model and candidates that return slopes of shape (n, n_outputs)


def _of_squares(model, candidates):
    return candidates.outputs - np.reshape(candidates.y, (len(candidates.y), -1))


def _of_squares_of_classes(model, candidates):
    return candidates.outputs - _as_signs(model, candidates.y)


def _as_signs(model, y):
    """1 for the class of each output and -1 for the others, of shape (n, n_outputs)."""
    n_classes = len(model.classes_)
    own = np.arange(n_classes) if n_classes > 2 else np.array([1])
    return np.where(y[:, None] == own, 1.0, -1.0)


def _of_log_loss(model, candidates):
    outputs, y = candidates.outputs, candidates.y
    if outputs.shape[1] == 1 or model.solver == "liblinear":  # one class against the rest
        return expit(outputs) - (_as_signs(model, y) > 0)
    slopes = softmax(outputs, axis=1)
    slopes[np.arange(len(y)), y] -= 1
    return slopes


def _of_squared_hinge(model, candidates):
    signs = _as_signs(model, candidates.y)
    return -2 * model.C * signs * np.maximum(1 - signs * candidates.outputs, 0)


def _of_squares_beyond(model, candidates):
    away = candidates.outputs - candidates.y[:, None]
    return 2 * model.C * np.sign(away) * np.maximum(np.abs(away) - model.epsilon, 0)


def _of_deviance(model, candidates, power=None):
    power = model.power if power is None else power
    y, outputs = candidates.y[:, None], candidates.outputs
    if getattr(model, "link", "auto") == "identity" or (power <= 0 and not _has_log(model)):
        means, slope = outputs, 1.0
    else:
        means = np.exp(outputs)
        slope = means
    return (means - y) * means ** -float(power) * slope if power else (means - y) * slope


def _has_log(model):
    return getattr(model, "link", "auto") == "log"


def _of_huber(model, candidates):
    scaled = (candidates.outputs[:, 0] - candidates.y) / model.scale_
    slopes = 2 * np.clip(scaled, -model.epsilon, model.epsilon)
    # The scale is at its optimum as well.
    terms = 1 - np.minimum(scaled**2, model.epsilon**2)
    return slopes[:, None], (Total(terms, 0.0, 0.0),)


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
    """Penalty of models whose loss is a mean."""
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
    """Share of the l1 penalty of a logistic regression, in any version."""
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
    size = np.append(candidates.sum_squares(), candidates.n_rows)
    return np.sqrt(2 * max(gap, 0.0) * size / max(np.count_nonzero(model.coef_), 1))[None]


def _by_mean_gradient(model, candidates, slopes):
    return model.tol * candidates.n_rows


# Relative change of the objective after which L-BFGS of scipy stops, which
# HuberRegressor leaves as it is.
_FLAT = 2.2e-9


def _by_flatness(model, candidates, slopes):
    size = np.append(candidates.sum_squares(), candidates.n_rows) / model.scale_**2
    loss = candidates.n_rows * model.scale_
    return np.sqrt(2 * _FLAT * loss * size)[None] + model.tol


def _by_solver_of_logistic(model, candidates, slopes):
    if model.solver == "liblinear":
        first = 0.5 - (_as_signs(model, candidates.y) > 0)
        return _by_first_gradient(model, candidates, first)
    if model.solver in _SOLVERS:
        return _by_mean_gradient(model, candidates, slopes)
    # sag and saga stop when no coefficient moves by more than a share of the largest.
    moved = _N_STEPS_TO_GO * model.tol * np.max(np.abs(model.coef_))
    bend = np.mean(np.abs(slopes) * (1 - np.abs(slopes)), axis=0)[:, None]
    size = np.append(candidates.sum_squares(), candidates.n_rows)
    return moved * bend * size


# How many steps like its last one sag is taken to be away from the optimum.
_N_STEPS_TO_GO = 10


def _by_first_gradient(model, candidates, first):
    """Error of the Newton method of liblinear, in units of the gradient at 0."""
    signs = _as_signs(model, candidates.y) if hasattr(model, "classes_") else np.ones(first.shape)
    rarest = np.minimum((signs > 0).mean(axis=0), (signs < 0).mean(axis=0))
    if not hasattr(model, "classes_"):
        rarest = np.ones(first.shape[1])
    away = candidates.share * (candidates.X.T @ first)
    length = np.sqrt((away**2).sum(axis=0) / away.shape[0])
    return (model.tol * rarest * length)[:, None]


def _by_margins(model, candidates, slopes):
    n, d = candidates.X.shape
    is_dual = model.dual if model.dual != "auto" else candidates.n_rows < d
    if not is_dual:
        zero = candidates._replace(outputs=np.zeros_like(candidates.outputs))
        loss = _of_squared_hinge if hasattr(model, "classes_") else _of_squares_beyond
        return _by_first_gradient(model, candidates, loss(model, zero))
    size = np.append(candidates.sum_squares(), candidates.n_rows)
    return (2 * model.C * model.tol * np.sqrt(size))[None]


# Reasons

_POSITIVE = "coefficients that were kept at 0 are not at the optimum"

# Solvers that come to the optimum, up to rounding.
_EXACT = "svd", "cholesky"

# Solvers that stop when no element of the gradient is larger than tol.
_SOLVERS = "lbfgs", "newton-cg", "newton-cholesky"


def why_not_least_squares(model):
    if model.positive:
        return _POSITIVE
    return _why_several(model)


def why_not_ridge(model):
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


def _why_stopped(model):
    if np.max(getattr(model, "n_iter_", 0)) >= model.max_iter:
        return f"its solver stopped after max_iter={model.max_iter} rounds, before the optimum"
    return None


def _why_not_converged(model):
    return _why_several(model) or _why_stopped(model)


def _why_not_logistic(model):
    if getattr(model, "multi_class", "deprecated") not in ("auto", "deprecated"):
        return f"multi_class={model.multi_class!r} has another loss"
    if len({*np.ravel(getattr(model, "C_", 1.0)).tolist()}) > 1 or not getattr(model, "refit", 1):
        return "its classes have several strengths of the penalty"
    if getattr(model, "dual", False):
        return "dual=True stops at another point"
    # A search over strengths counts the rounds of its folds.
    return None if hasattr(model, "C_") else _why_stopped(model)


def _why_not_margins(model):
    if model.loss not in ("squared_hinge", "squared_epsilon_insensitive"):
        return f"loss={model.loss!r} has no gradient where a margin is reached"
    if getattr(model, "multi_class", "ovr") != "ovr":
        return f"multi_class={model.multi_class!r} has another loss"
    return _why_stopped(model)


def _make_reader(differentiate, penalize=_no_penalty, err=_exactly, why=_why_several):
    read = partial(read_optimum, differentiate=differentiate, penalize=penalize, err=err)
    return Reader(read, why)


_NET = _make_reader(_of_squares, _net_of_means, _by_gap, _why_not_converged)
_PATH = _make_reader(_of_squares, _net_of_means, _exactly, _why_not_converged)
_LOGISTIC = _make_reader(_of_log_loss, _of_logistic, _by_solver_of_logistic, _why_not_logistic)
_BAYES = _make_reader(_of_squares, _bayes)
_PURSUIT = _make_reader(_of_squares, _selected)
_MARGINS = partial(_make_reader, penalize=_of_margins, err=_by_margins, why=_why_not_margins)
_DEVIANCE = partial(
    _make_reader, penalize=_ridge_of_means, err=_by_mean_gradient, why=_why_not_converged
)

# ``read(model, X, y, n_rows)`` takes numbers of the classes or targets, and the number of training
# rows. It returns an Optimum.
OPTIMA = {
    LogisticRegression: _LOGISTIC,
    LogisticRegressionCV: _LOGISTIC,
    LinearRegression: _make_reader(_of_squares, why=why_not_least_squares),
    Ridge: _make_reader(_of_squares, _ridge, why=why_not_ridge),
    RidgeCV: _make_reader(_of_squares, _ridge, why=_why_not_chosen_ridge),
    RidgeClassifier: _make_reader(_of_squares_of_classes, _ridge, why=why_not_ridge),
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
    PoissonRegressor: _DEVIANCE(partial(_of_deviance, power=1)),
    GammaRegressor: _DEVIANCE(partial(_of_deviance, power=2)),
    TweedieRegressor: _DEVIANCE(_of_deviance),
    HuberRegressor: _make_reader(_of_huber, _twice_ridge, _by_flatness, _why_not_converged),
    LinearSVC: _MARGINS(_of_squared_hinge),
    LinearSVR: _MARGINS(_of_squares_beyond),
}
