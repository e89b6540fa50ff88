"""Gaussian processes: the prediction of each target from all others."""

import numpy as np
from scipy.linalg import cho_solve

from .sides import sides_of_residuals


def why_not_process(model, n_records):
    """Why the formulas do not hold for a fitted GaussianProcessRegressor, or None."""
    if len(model.X_train_) != n_records:
        return f"it was fitted on {len(model.X_train_)} records, not {n_records}"
    return "it has several outputs" if np.ndim(model.alpha_) > 1 else None


def leave_out_of_process(model, X, y):
    """Residuals of a process with fixed hyper-parameters, with and without the record, exact."""
    inside = y - model.predict(X)
    precision = np.diag(cho_solve((model.L_, True), np.eye(len(X))))
    # The process models targets that were centered and scaled once.
    scale = np.std(y) if model.normalize_y else 1.0
    return sides_of_residuals(inside, scale * model.alpha_ / precision)
