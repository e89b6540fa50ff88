"""Input and output of the solvers of linear shadow models."""

from typing import NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ...._core.containers import is_frame, is_tensor, take_rows

_SCALERS = (MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)

# Entries of X, which takes 1 GB in double precision.
_LARGEST_X = 2**27
# If the spread in a training set is below this share of the spread over all records, rounding may
# matter and scikit-learn computes it.
_DOUBTFUL = 1e-3


class Solution(NamedTuple):
    """Solved models, in the coordinates of the original features."""

    coef: np.ndarray  # (k, n_vectors, d)
    intercept: np.ndarray  # (k, n_vectors)
    n_iter: np.ndarray  # (k,)
    solved: np.ndarray  # (k,), bool
    expected: np.ndarray  # (k,), bool: False if a model has too few classes to be solved here
    tried: np.ndarray  # (k,), bool: whether `solved` may depend on the models solved with it
    present: np.ndarray  # (k, n_classes), bool: classes of the training records
    further: list  # further fitted attributes of each model


def split_estimator(estimator):
    """Split an estimator into its scaler and its model.

    Returns
    -------
    scaler : transformer or None
    model : estimator
    """
    if type(estimator) is not Pipeline:
        return None, estimator
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    return (steps[0] if len(steps) == 2 else None), steps[-1]


def why_not_steps(estimator):
    """Return the reason why the steps of a Pipeline cannot be merged into the model, or None."""
    if type(estimator) is not Pipeline:
        return None
    if estimator.memory is not None:
        return "the Pipeline has a memory"
    steps = [step for _, step in estimator.steps if step not in (None, "passthrough")]
    scaler, model = steps[0], steps[-1]
    if len(steps) == 1:
        return None
    if len(steps) > 2 or type(scaler) not in _SCALERS or getattr(scaler, "clip", False):
        return (
            "the Pipeline fits its other steps on each training set, and only one scaling of the "
            f"features ({', '.join(kind.__name__ for kind in _SCALERS)}) can be merged into the "
            "model"
        )
    if not getattr(model, "fit_intercept", True):
        return "the Pipeline shifts the features and the model has no intercept to absorb the shift"
    return None


def why_not_features(X):
    """Return the reason why features cannot be one matrix of finite numbers, or None."""
    if sparse.issparse(X):
        return "X is sparse"
    if is_tensor(X):
        return "X is a torch tensor"
    if X.ndim != 2:
        return f"X has {X.ndim} dimensions"
    if X.shape[0] * X.shape[1] > _LARGEST_X:
        return f"X has more than {_LARGEST_X >> 20} million entries, which have to be copied"
    if is_frame(X) and not X.columns.is_unique:
        return "X has several columns with the same name"
    kinds = [dtype.kind for dtype in X.dtypes] if is_frame(X) else [X.dtype.kind]
    if not set(kinds) <= set("biuf"):
        return "X holds values that are not numbers"
    values = np.asarray(X)
    if values.dtype.kind not in "biuf":
        return "X holds missing values"  # of a nullable column
    if not np.isfinite(values).all():
        return "X holds NaN or infinite values"
    if are_too_large(values):
        return "X holds values whose squares overflow"
    return None


def are_too_large(values):
    """Return whether a sum of squares of finite numbers, or of their products, can overflow."""
    dtype = values.dtype if values.dtype.kind == "f" else np.dtype(np.float64)
    limit = np.sqrt(np.finfo(dtype).max / max(1, values.size))
    return bool((np.abs(values, dtype=dtype) > limit).any())


def as_matrix(X):
    """Return features as an array of the type that scikit-learn would use."""
    X = np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


class Plan:
    """The parts of a job that solvers read.

    Parameters
    ----------
    job : Job
        Job for which ``why_not`` returned None.
    """

    def __init__(self, job):
        self.scaler, self.model = split_estimator(job.estimator)
        self.membership, self._records = job.subsets, job.data.tables[0]
        self.X, self.y = as_matrix(self._records), job.data.y

    def spread(self, models):
        """Compute the scales by which the scalers of some models divide the features.

        Returns
        -------
        spread : ndarray of shape (k, d), or None without a scaler
        """
        if self.scaler is None:
            return None
        if isinstance(self.scaler, StandardScaler) and self.scaler.with_std:
            spread = self._standard_deviations(models)
        else:
            spread = np.array([affine_map(self.fit_scaler(k))[1] for k in models])
        return self._without_idle(spread, models)

    def _standard_deviations(self, models):
        """Compute the scales of StandardScaler for all models at once."""
        inside = self.membership[models]
        share = inside / inside.sum(axis=1, keepdims=True)
        centered = self.X - self.X.mean(axis=0, dtype=float)
        variance = share @ centered**2 - (share @ centered) ** 2
        spread = np.sqrt(np.maximum(variance, 0))
        # scikit-learn decides whether a very small variance counts as zero.
        least = _DOUBTFUL * np.sqrt(np.mean(centered**2, axis=0))
        for row in np.flatnonzero((spread <= least).any(axis=1)):
            columns = np.flatnonzero(spread[row] <= least)
            part = self.X[np.ix_(inside[row], columns)]
            spread[row, columns] = clone(self.scaler).fit(part).scale_
        return spread

    def _without_idle(self, spread, models):
        """Replace the scale of features that are constant in a training set by a usual one.

        Their coefficient is 0 under any penalty. A scaler gives them a scale of 1, which may mean a
        penalty that is thousands of times larger than in other models, and a bad condition.
        """
        usual = np.median(spread, axis=0)
        for row, feature in zip(*np.nonzero(np.abs(np.log(spread / usual)) > 1), strict=True):
            values = self.X[self.membership[models[row]], feature]
            if (values == values[0]).all():
                spread[row, feature] = usual[feature]
        return spread

    def fit_scaler(self, k):
        """Fit the scaler on the training set of one model."""
        members = np.flatnonzero(self.membership[k])
        return clone(self.scaler).fit(take_rows(self._records, members), self.y[members])


def affine_map(scaler):
    """Return shift and divisor of a fitted scaler, which maps x to (x - shift) / divisor."""
    n_features = scaler.n_features_in_
    if isinstance(scaler, MinMaxScaler):
        return -scaler.min_ / scaler.scale_, 1 / scaler.scale_
    shift = getattr(scaler, "mean_", getattr(scaler, "center_", None))
    return (
        np.zeros(n_features) if shift is None or not _centers(scaler) else shift,
        np.ones(n_features) if scaler.scale_ is None else scaler.scale_,
    )


def _centers(scaler):
    # StandardScaler has mean_ even if it does not subtract the mean.
    return getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
