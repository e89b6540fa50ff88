"""Input and output of the solvers of linear shadow models, also behind a scaler."""

import warnings
from copy import deepcopy
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.special import expit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.extmath import softmax

from ...._core.containers import (
    frame_to_numpy,
    is_foreign,
    is_frame,
    is_tensor,
    name_kind,
    take_rows,
)
from ...._core.copies import copy_unfitted
from ...._core.kinds import is_regressor
from ...._core.outputs import Outputs
from ...._core.randomness import seed_estimator
from ...job import TrainedModel, keep

_ROUNDING = 16 * np.finfo(float).eps


class LinearDesign:
    """Centered and scaled features of all records.

    Only the coordinates change, not the problem: the intercept absorbs the centering, and the
    penalty of each coefficient is divided by the square of its scale.

    Take X of shape (n, d); return columns of shape (n, n_columns), with a last one of ones if there
    is an intercept.
    """

    def __init__(self, X, fit_intercept, uniform):
        n, d = X.shape
        self.fit_intercept = fit_intercept
        self.mean = X.mean(axis=0, dtype=float) if fit_intercept else np.zeros(d)
        centered = X - self.mean
        self.scale = np.sqrt(np.einsum("nd,nd->d", centered, centered) / n)
        constant = self.scale <= _ROUNDING * np.abs(self.mean)
        centered[:, constant], self.scale[constant] = 0.0, 1.0
        self.rotation = None
        if uniform and d > n:
            self.rotation, triangle = np.linalg.qr(centered.T)
            centered = triangle.T
            # A rotated column mixes all features, so all of them get one scale.
            self.scale = np.full(n, np.sqrt(np.mean(self.scale**2)))
        centered /= self.scale
        self.columns = np.column_stack([centered, np.ones(n)]) if fit_intercept else centered

    def penalty(self, strength, spread):
        # strength (K,), spread (K, d) -> penalty (K, n_columns)
        squares = np.ones((1, len(self.scale))) if spread is None else spread**2
        penalty = strength[:, None] * squares / self.scale**2
        return np.pad(penalty, [(0, 0), (0, int(self.fit_intercept))])

    def to_features(self, points):
        """Return coefficients and intercepts in the user's coordinates.

        Take points of shape (..., n_columns); return coef of shape (..., d).
        """
        coef = points[..., : len(self.scale)] / self.scale
        if self.rotation is not None:
            coef = coef @ self.rotation.T
        if not self.fit_intercept:
            return coef, np.zeros(coef.shape[:-1])
        return coef, points[..., -1] - coef @ self.mean


_SCALERS = (MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)

# Entries of X, which takes 1 GB in double precision.
_LARGEST_X = 2**27
# If the spread in a training set is below this share of the spread over all records, rounding may
# matter and scikit-learn computes it.
_DOUBTFUL = 1e-3


class LinearSolution(NamedTuple):
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
    """Split an estimator into its scaler and its model."""
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
    if is_foreign(X):
        return f"X is a {name_kind(X)}, which each model reads itself"
    if X.ndim != 2:
        return f"X has {X.ndim} dimensions"
    if X.shape[0] * X.shape[1] > _LARGEST_X:
        return f"X has more than {_LARGEST_X >> 20} million entries, which have to be copied"
    if is_frame(X) and not X.columns.is_unique:
        return "X has several columns with the same name"
    kinds = [dtype.kind for dtype in X.dtypes] if is_frame(X) else [X.dtype.kind]
    if not set(kinds) <= set("biuf"):
        return "X holds values that are not numbers"
    values = frame_to_numpy(X) if is_frame(X) else np.asarray(X)
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


def as_linear_features(X):
    """Return features as an array of the type that scikit-learn would use."""
    X = frame_to_numpy(X) if is_frame(X) else np.asarray(X)
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)


class LinearPlan:
    """The parts of a job that solvers read."""

    def __init__(self, job):
        self.scaler, self.model = split_estimator(job.estimator)
        self.membership, self._records = job.subsets, job.data.tables[0]
        self.X, self.y = as_linear_features(self._records), job.data.y

    def spread(self, models):
        """Compute the scales by which the scalers of some models divide the features.

        Return spread of shape (k, d).
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
            spread[row, columns] = copy_unfitted(self.scaler).fit(part).scale_
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
        return copy_unfitted(self.scaler).fit(take_rows(self._records, members), self.y[members])


def affine_map(scaler):
    """Return shift and divisor of a fitted scaler, which maps x to (x - shift) / divisor."""
    n_features = scaler.n_features_in_
    if isinstance(scaler, MinMaxScaler):
        return -scaler.min_ / scaler.scale_, 1 / scaler.scale_
    shift = getattr(scaler, "mean_", getattr(scaler, "center_", None))
    # StandardScaler has mean_ even if it does not subtract the mean.
    centers = getattr(scaler, "with_mean", getattr(scaler, "with_centering", False))
    return (
        np.zeros(n_features) if shift is None or not centers else shift,
        np.ones(n_features) if scaler.scale_ is None else scaler.scale_,
    )


_BYTES_OF_ANSWERS = 2**23


class SolutionKeeper:
    """Turns solutions into the results that a pool keeps."""

    def __init__(self, job, plan):
        self._job, self._plan = job, plan
        self._classes = None if is_regressor(plan.model) else np.unique(plan.y)
        self._pattern, self.warnings = self._fit_pattern()
        self._dtype = split_estimator(self._pattern)[1].coef_.dtype
        self._queries = [as_linear_features(X) for X in job.data.tables]

    def _fit_pattern(self):
        """Fit an estimator to a few records, as a pattern for the solved models.

        The pattern has all attributes of a fitted estimator in the installed version of
        scikit-learn, including the type of the coefficients, and gives the warnings about its
        parameters.
        """
        pattern = copy_unfitted(self._job.estimator)
        model = split_estimator(pattern)[1]
        steps = model.get_params().get("max_iter")
        if steps is not None:
            model.set_params(max_iter=1)
        _, rows = np.unique(self._plan.y, return_index=True)
        rows = rows[:2] if self._classes is None else rows
        with self._job.randomness(0), warnings.catch_warnings(record=True) as got:
            warnings.simplefilter("always")
            pattern.fit(take_rows(self._job.data.tables[0], rows), self._plan.y[rows])
        if steps is not None:
            model.set_params(max_iter=steps)
        about_settings = (FutureWarning, DeprecationWarning)
        kept = [warning for warning in got if issubclass(warning.category, about_settings)]
        return pattern, [(warning.category, str(warning.message)) for warning in kept]

    def finish(self, models, rows, solution, seconds):
        """Yield the results of solved models."""
        n_vectors, d = solution.coef.shape[1:]
        n_rows = sum(len(X) for X in self._queries)
        step = max(1, _BYTES_OF_ANSWERS // (8 * n_vectors * n_rows))
        for begin in range(0, len(rows), step):
            part = rows[begin : begin + step]
            coef = solution.coef[part].reshape(-1, d).astype(self._dtype)
            intercept = solution.intercept[part].ravel().astype(self._dtype)
            values = [X @ coef.T + intercept for X in self._queries]
            for j, row in enumerate(part):
                own = slice(j * n_vectors, (j + 1) * n_vectors)
                answers = [self._answer(matrix[:, own], solution.present[row]) for matrix in values]
                k, make = int(models[row]), partial(self._make_model, models[row], row, solution)
                said = self.warnings
                trained = TrainedModel(self._job, k, make, seconds, caught=said, answers=answers)
                with self._job.randomness(k):
                    kept = keep(self._job, trained)
                yield k, kept

    def _answer(self, values, present):
        if self._classes is None:
            return Outputs(values, kind="value")
        if values.shape[1] == 1:
            proba = expit(values[:, 0])
            return Outputs(np.column_stack([1 - proba, proba]), self._classes, "proba")
        proba = softmax(values[:, present])
        return Outputs(proba, self._classes[present], "proba").aligned_to(self._classes)

    def _make_model(self, k, row, solution):
        """Return the fitted estimator of a solution, in the units of the records."""
        estimator = deepcopy(self._pattern)
        seed_estimator(estimator, self._job.seeds[k])
        coef, intercept = solution.coef[row], solution.intercept[row]
        if self._plan.scaler is not None:
            scaler = self._plan.fit_scaler(k)
            shift, divisor = affine_map(scaler)
            coef, intercept = coef * divisor, intercept + coef @ shift
            place = [type(step) for _, step in estimator.steps].index(type(scaler))
            estimator.steps[place] = (estimator.steps[place][0], scaler)
        model = split_estimator(estimator)[1]
        if self._classes is None:
            coef, intercept = coef[0], intercept[0]
        elif len(coef) > 1:
            own = solution.present[row]
            coef, intercept, model.classes_ = coef[own], intercept[own], self._classes[own]
        model.coef_ = coef.astype(self._dtype)
        model.intercept_ = np.asarray(intercept, dtype=self._dtype)[()]
        if getattr(model, "n_iter_", None) is not None:
            model.n_iter_ = np.array([solution.n_iter[row]], dtype=np.int32)
        for name, value in solution.further[row].items():
            setattr(model, name, value)
        return estimator
