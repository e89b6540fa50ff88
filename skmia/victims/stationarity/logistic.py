"""Optimum of logistic regression."""

import numpy as np
from scipy.special import expit, softmax

from .linear import Optimum
from .refusals import WEIGHTED

# Solvers that stop when no element of the gradient is larger than tol.
_SOLVERS = "lbfgs", "newton-cg", "newton-cholesky"


def why_not_smooth(model):
    """Why the loss of a LogisticRegression and its penalty are not smooth or not known, or None."""
    if model.class_weight is not None:
        return WEIGHTED
    penalty = model.penalty
    if penalty not in ("l2", "deprecated", None):
        return f"penalty={penalty!r} has no gradient where a coefficient is 0"
    if penalty == "deprecated" and model.l1_ratio:
        return f"l1_ratio={model.l1_ratio:g} has no gradient where a coefficient is 0"
    if getattr(model, "multi_class", "deprecated") not in ("auto", "deprecated"):
        return f"multi_class={model.multi_class!r} has another loss"
    return None


def why_not_logistic(model):
    """Why the optimum of a fitted LogisticRegression is not read, or None."""
    why = why_not_smooth(model)
    if why is not None:
        return why
    if model.solver not in _SOLVERS:
        known = ", ".join(_SOLVERS)
        return f"solver={model.solver!r} stops at another point, and only {known} are known"
    if np.max(model.n_iter_) >= model.max_iter:
        return f"its solver stopped after max_iter={model.max_iter} rounds, before the optimum"
    return None


def optimum_of_log_loss(model, X, y, n_rows):
    """Optimum of a LogisticRegression; its solver leaves up to ``tol`` of the mean gradient."""
    outputs = X @ model.coef_.T + model.intercept_
    if len(model.classes_) == 2:
        slopes = expit(outputs) - y[:, None]
    else:
        slopes = softmax(outputs, axis=1) - (y[:, None] == np.arange(len(model.classes_)))
    strength = 0.0 if model.penalty is None else 1 / model.C
    return Optimum(slopes, strength * model.coef_, model.tol * n_rows)
