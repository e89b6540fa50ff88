"""Coefficients of a linear model from its answers, which are more than its coefficients."""

import copy
from typing import NamedTuple

import numpy as np
from scipy import linalg
from sklearn.linear_model import (
    ARDRegression,
    BayesianRidge,
    ElasticNetCV,
    HuberRegressor,
    LassoCV,
    LassoLarsCV,
    LassoLarsIC,
    LogisticRegression,
    LogisticRegressionCV,
    OrthogonalMatchingPursuitCV,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.pipeline import Pipeline

from .._core.kinds import is_classifier
from ._model_features import find_model, read_features
from ._optima import OPTIMA, find_link
from ._stationarity import has_edge, read_gradients

# What the fit determines beside the coefficients, and answers do not tell.
_CHOSEN = (
    ARDRegression, BayesianRidge, ElasticNetCV, HuberRegressor, LassoCV, LassoLarsCV, LassoLarsIC,
    LogisticRegressionCV, OrthogonalMatchingPursuitCV, RidgeCV, RidgeClassifierCV,
)  # fmt: skip

# Largest root mean squared residual of answers, in units of their rounding.
_MOST_RESIDUAL = 3.0

# Probabilities of so few units of rounding have log odds that are not known.
_FEWEST_UNITS = 3

# Rounding of answers that are not rounded, in units of their standard deviation.
_UNROUNDED = 1e-9

# A coefficient of so few standard errors is taken for one that the penalty keeps at 0.
_NO_COEFFICIENT = 4.0

# Singular values of so small a share of the largest are those of columns that depend on others.
_NULL = 1e-13

_N_DRAWS = 24

# Standard errors of an output that it is not away by.
_N_ERRORS = 4


class Recovered(NamedTuple):
    """A model with the coefficients that answers determine."""

    model: object  # fitted, also a Pipeline
    root: np.ndarray  # times standard normal numbers: errors of the coefficients, intercepts last
    condition: float
    error: float  # root mean squared residual of the answers, in units of their rounding


class _Answers(NamedTuple):
    """Answers in the form in which they are linear in the features."""

    values: np.ndarray  # (n, n_outputs)
    precision: np.ndarray  # (n, n_outputs): 0 of those that are not used
    is_shared: bool = False  # whether a number of each record is added to all of its values


def why_not_recovered(model):
    """Return why answers do not give the coefficients of a model of some recipe, or None."""
    found = find_model(model)[0]
    name = type(found).__name__
    if type(found) not in OPTIMA and not has_edge(found):
        return f"the answers of a {name} do not follow from few coefficients in a known way"
    if isinstance(found, _CHOSEN):
        return f"a {name} chooses its penalty or scale by the training rows"
    return None


def count_coefficients_of_answers(model, n_features, n_classes):
    """Return the number of coefficients that answers of a model about so many features hold."""
    found = find_model(model)[0]
    n_outputs = n_classes - 1 if is_classifier(found) else 1
    return (n_features + bool(getattr(found, "fit_intercept", True))) * n_outputs


def recover_model(model, records, outputs):
    """Solve the answers about some records for the coefficients of the model that gave them.

    model: fitted by the recipe to other records, whose coefficients are replaced.
    """
    found, steps = find_model(model)
    X = read_features(found, steps, records.X, role="The model has")
    answers = _linearize(found, outputs, records.y)
    rows = np.column_stack([X, np.ones(len(X))]) if found.fit_intercept else X
    size = np.sqrt(np.mean(rows**2, axis=0))
    size[size == 0] = 1
    # Of coefficients that give the same answers, an optimum has the smallest ones.
    cost = 1 / size
    if found.fit_intercept:
        cost[-1] = 0
    solve = _solve_together if answers.is_shared else _solve_one_by_one
    coef, root, condition, error = solve(rows / size, answers, cost, _is_sparse(found))
    if not error <= _MOST_RESIDUAL:
        raise ValueError(
            f"The answers are not those of a {type(found).__name__} of this recipe: no "
            "coefficients give them up to their rounding. A service that adds noise, or has "
            "another model, is not recovered."
        )
    coef, root = coef / size, root / np.tile(size, len(coef))[:, None]
    return Recovered(_replace_coefficients(found, steps, coef), root, condition, error)


def spread_gradients(recovered, records, n_rows, variance, rng):
    """Return variance of the equations of the gradients due to the errors of the coefficients."""
    model, share = recovered.model, n_rows / len(records)
    found, steps = find_model(model)

    def add_up(one):
        equations = read_gradients(one, records, n_rows, variance, expects_hessian=False)
        return equations.rows @ np.full(len(records), share) - equations.targets, equations

    middle, equations = add_up(model)
    coef = _list_coefficients(found)
    squares = np.zeros(len(middle))
    for _ in range(_N_DRAWS):
        away = recovered.root @ rng.normal(size=recovered.root.shape[1])
        moved = _replace_coefficients(found, steps, coef + away.reshape(coef.shape))
        squares += (add_up(moved)[0] - middle) ** 2
    # Steps, such as a scaler, know the candidates for the members, so that a penalty is off by
    # twice the relative error of a standard deviation.
    of_steps = 0.0 if steps is None else 2 / n_rows * equations.targets**2
    spread = squares / _N_DRAWS + of_steps
    spread[-1] = 0.0  # the number of members does not depend on coefficients
    return spread


def bound_errors(recovered, records):
    """Return the error of the outputs of recovered coefficients, which few outputs exceed."""
    found, steps = find_model(recovered.model)
    X = read_features(found, steps, records.X, role="The model has")
    rows = np.column_stack([X, np.ones(len(X))]) if found.fit_intercept else X
    parts = np.split(recovered.root, len(recovered.root) // rows.shape[1])
    return _N_ERRORS * max(np.sqrt(((rows @ one) ** 2).sum(axis=1)).max() for one in parts)


def _is_sparse(model):
    """Return whether a penalty keeps coefficients at 0."""
    if isinstance(model, LogisticRegression):
        return model.penalty in ("l1", "elasticnet") or bool(model.l1_ratio)
    if hasattr(model, "penalty"):
        return model.penalty == "l1"
    return hasattr(model, "l1_ratio") or type(model).__name__.startswith(("Lasso", "Orthogonal"))


def _list_coefficients(model):
    coef = np.atleast_2d(model.coef_)
    if not model.fit_intercept:
        return coef
    return np.column_stack([coef, np.broadcast_to(np.ravel(model.intercept_), len(coef))])


def _replace_coefficients(model, steps, coef):
    """A copy of a fitted model with other coefficients, of shape (n_outputs, n_coefficients)."""
    model = copy.copy(model)
    if model.fit_intercept:
        end = np.reshape(coef[:, -1], np.shape(model.intercept_))
        model.intercept_, coef = end if end.ndim else float(end), coef[:, :-1]
    model.coef_ = np.reshape(coef, np.shape(model.coef_))
    return model if steps is None else Pipeline([*steps.steps, ("model", model)])


# Answers


def _linearize(model, outputs, y):
    """Return the answers of a model in the form in which they are linear in the features."""
    kind = outputs.kind
    values = np.asarray(outputs.values, dtype=np.float64)
    unit = measure_rounding(np.asarray(outputs.values))
    if not is_classifier(model):
        if kind != "value":
            raise ValueError(f"Answers of kind {kind!r} do not give coefficients of a regressor.")
        return _linearize_predictions(model, values[:, None], unit)
    is_logistic = isinstance(model, LogisticRegression)
    n_classes = len(model.classes_)
    if kind == "decision" or (kind == "logits" and n_classes == 2):
        if n_classes == 2:
            values = values[:, 1:] - values[:, :1] if kind == "logits" else values[:, 1:]
        return _Answers(values, _weigh(values, unit, 1.0))
    if kind not in ("proba", "logits") or not is_logistic:
        raise ValueError(
            f"Answers of kind {kind!r} do not give the coefficients of a {type(model).__name__}."
        )
    if n_classes > 2 and model.solver == "liblinear":
        raise ValueError("Probabilities of one class against the rest are not log-linear.")
    if kind == "logits":
        return _Answers(values, _weigh(values, unit, 1.0), is_shared=True)
    is_known = find_known_probabilities(values, unit)
    known = np.where(is_known, values, 0.5)
    if n_classes > 2:
        logs = np.log(known)
        return _Answers(logs, is_known * _weigh(logs, unit, 1 / known), is_shared=True)
    both = is_known.all(axis=1, keepdims=True)
    odds = np.log(known[:, 1:] / known[:, :1])
    return _Answers(odds, both * _weigh(odds, unit, 1 / (known[:, :1] * known[:, 1:])))


def _linearize_predictions(model, values, unit):
    if find_link_of(model) == "identity":
        return _Answers(values, ~_are_at_bounds(values) * _weigh(values, unit, 1.0))
    is_known = (values >= _FEWEST_UNITS * unit) & ~_are_at_bounds(values)
    known = np.where(is_known, values, 1.0)
    return _Answers(np.log(known), is_known * _weigh(np.log(known), unit, 1 / known))


def find_link_of(model):
    """Link of a regressor."""
    is_generalized = hasattr(model, "link") or type(model).__name__ in (
        "PoissonRegressor",
        "GammaRegressor",
    )
    return find_link(model) if is_generalized else "identity"


def find_known_probabilities(values, unit):
    """Return which probabilities have log odds that are known up to their rounding."""
    return (values >= _FEWEST_UNITS * unit) & ~_are_at_bounds(values)


def _weigh(values, unit, slope):
    """Return the precision of values whose derivative by the rounded answers is a slope."""
    least = _UNROUNDED * max(float(np.std(values)), np.finfo(float).tiny)
    return np.broadcast_to(1 / ((unit * slope) ** 2 / 12 + least**2), values.shape)


def measure_rounding(values):
    """Return the unit to which all answers are rounded.

    A power of ten, or that of floating point.
    """
    if values.dtype.kind in "biu":
        return 1.0
    size = float(np.max(np.abs(values), initial=0.0))
    least = 4 * float(np.finfo(values.dtype).eps) * size
    for n_decimals in range(10):
        if np.abs(np.round(values, n_decimals) - values).max(initial=0.0) <= least:
            return 10.0**-n_decimals
    return least


def _are_at_bounds(values):
    """Return answers that were clipped.

    Far more are equal to the last value than to the one before.
    """
    clipped = np.zeros(values.shape, dtype=bool)
    for column in range(values.shape[1]):
        distinct, counts = np.unique(values[:, column], return_counts=True)
        for end, before in ((0, 1), (-1, -2)):
            if len(counts) > 2 and counts[end] >= 3 and counts[end] > 3 * counts[before]:
                clipped[:, column] |= values[:, column] == distinct[end]
    return clipped


# Solutions


def _solve_one_by_one(rows, answers, cost, is_sparse):
    columns = zip(answers.values.T, answers.precision.T, strict=True)
    found = [_solve_one(rows, *column, cost, is_sparse) for column in columns]
    coefs, roots, conditions, errors = zip(*found, strict=True)
    return np.stack(coefs), linalg.block_diag(*roots), max(conditions), max(errors)


def _solve_one(rows, values, precision, cost, is_sparse):
    used, width = precision > 0, rows.shape[1]
    check_answers(used.sum(), width)
    given = rows[used], values[used], np.sqrt(precision[used])
    coef, root, condition, error = _fit_weighted(*given, cost)
    if not is_sparse:
        return coef, root, condition, error
    sure = np.abs(coef) > _NO_COEFFICIENT * np.sqrt((root**2).sum(axis=1))
    some = np.flatnonzero(sure | (cost == 0))
    part, part_root, condition, error = _fit_weighted(given[0][:, some], *given[1:], cost[some])
    coef, root = np.zeros(width), np.zeros((width, part_root.shape[1]))
    coef[some], root[some] = part, part_root
    return coef, root, condition, error


def _fit_weighted(rows, values, scale, cost):
    """Return the weighted least squares.

    Coefficients, a root of their covariance, condition and residual.
    """
    left, sizes, right = np.linalg.svd(rows * scale[:, None], full_matrices=False)
    rank = np.count_nonzero(sizes > _NULL * sizes[0])
    coef = right[:rank].T @ (left[:, :rank].T @ (scale * values) / sizes[:rank])
    rest = scale * (values - rows @ coef)
    error = np.sqrt(rest @ rest / (len(rest) - rank))
    root = right[:rank].T / sizes[:rank] * max(error, 1.0)
    shrink = _make_smallest(right[rank:].T, cost)
    return shrink(coef), shrink(root), sizes[0] / sizes[rank - 1], error


def _make_smallest(null, cost):
    """Move coefficients along those that change no answer, to the least sum of squares.

    null (n_coefficients, n_free), cost (n_coefficients,): of each coefficient.
    """
    if not null.shape[1]:
        return lambda coef: coef
    by = np.linalg.pinv(cost[:, None] * null)
    return lambda coef: coef - null @ (by @ (cost * coef.T).T)


def _solve_together(rows, answers, cost, is_sparse):
    """Solve for the coefficients of all classes, whose values have an unknown number in common."""
    if is_sparse:
        raise ValueError("With several classes, answers do not reveal which coefficients are 0.")
    used = np.count_nonzero(answers.precision, axis=1) > 1
    rows, values, precision = rows[used], answers.values[used], answers.precision[used]
    total = precision.sum(axis=1, keepdims=True)
    n_classes, width = values.shape[1], rows.shape[1]
    n_free = int(np.count_nonzero(precision) - len(values))
    check_answers(n_free, (n_classes - 1) * width)
    # Coefficients of all classes add up to 0, and are numbers along the other directions.
    basis = np.linalg.svd(np.eye(n_classes) - 1 / n_classes)[0][:, :-1]
    centered = precision * (values - (precision * values).sum(axis=1, keepdims=True) / total)
    sizes, vectors = np.linalg.eigh(_multiply_out(rows, precision, total, basis))
    sizes = np.sqrt(np.maximum(sizes, 0))
    is_known = sizes > np.sqrt(_NULL) * sizes[-1]
    known, sizes = vectors[:, is_known], sizes[is_known]
    free = known @ (known.T @ (basis.T @ centered.T @ rows).ravel() / sizes**2)
    shrink = _make_smallest(vectors[:, ~is_known], np.tile(cost, n_classes - 1))
    coef = basis @ shrink(free).reshape(n_classes - 1, width)
    rest = values - rows @ coef.T
    rest = rest - (precision * rest).sum(axis=1, keepdims=True) / total
    error = np.sqrt((precision * rest**2).sum() / (n_free - len(sizes)))
    spread = shrink(known / sizes).reshape(n_classes - 1, width, -1)
    root = np.einsum("ka,ajm->kjm", basis, spread).reshape(n_classes * width, -1)
    return coef, root * max(error, 1.0), sizes[-1] / sizes[0], error


def _multiply_out(rows, precision, total, basis):
    """Return a matrix of the normal equations of all classes."""
    n_directions, width = basis.shape[1], rows.shape[1]
    matrix, shared = np.empty((n_directions, width, n_directions, width)), precision @ basis
    for a in range(n_directions):
        for b in range(a + 1):
            weight = precision @ (basis[:, a] * basis[:, b])
            weight = weight - shared[:, a] * shared[:, b] / total[:, 0]
            matrix[a, :, b] = (rows * weight[:, None]).T @ rows
            matrix[b, :, a] = matrix[a, :, b].T
    return matrix.reshape(n_directions * width, -1)


def check_answers(n_answers, n_coefficients):
    if n_answers <= n_coefficients:
        raise ValueError(
            f"{n_coefficients:,} coefficients do not follow from {n_answers:,} answers; more "
            "records are needed."
        )
