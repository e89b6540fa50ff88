"""Training of a regressor on soft targets from models that were not trained on the record."""

from numbers import Integral, Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.validation import column_or_1d

from .._core.advice import with_advice
from .._core.containers import as_rows
from .._core.numbers import to_array
from .._core.randomness import spawn_seeds
from .._core.seeding import isolated_randomness, refuse_trained_module, seed_estimator
from .._core.sklearn import (
    N_JOBS,
    Interval,
    InvalidParameterError,
    at_least,
    validate_params_of,
)
from .._core.splits import MOST_MODELS, compute_strata
from .._core.types import Seed
from .._training.notes import warn_once
from ._cross_fit import draw_left_out, number_equal_rows, stack_left_out, train_left_out
from ._meta import Defended
from ._soft_meta import Labeled
from ._soften import soften_values


class SoftRegressionDefense(RegressorMixin, Defended):
    r"""Regressor trained on soft targets between out-of-sample predictions and the target.

    Sub-models are trained on parts of the rows, so that each row is left out of some of them. The
    mean of their predictions for the row does not depend on its target. From this mean, the soft
    target moves towards the target by ``alpha`` standard deviations of these predictions, and the
    regressor is trained on the soft targets.

    Parameters
    ----------
    estimator : regressor
        Cloned and trained.
    alpha : float, default=0.0
        Number of standard deviations, 0 or more. With 0 the soft target is the mean prediction,
        with ``inf`` the target.
    n_estimators : int, default=10
        Number of sub-models.
    n_left_out : int, default=5
        Number of sub-models that each row is left out of, at least 2.
    store_targets : bool, default=False
        Whether to keep the soft targets as ``targets_``.
    n_jobs : int, default=None
        Sub-models trained in parallel. The numbers are the same for every value.
    random_state : int, RandomState instance or None, default=None
        Controls which rows are left out, and the seeds of the sub-models and the regressor.
    verbose : int, default=0
        Verbosity level. If positive, a progress bar is shown.

    Attributes
    ----------
    estimator_ : regressor
        Fitted on the soft targets.
    targets_ : ndarray of shape (n_samples,) or None
        Soft targets, with ``store_targets=True``. They reveal what the defense hides: do not
        publish them.
    n_features_in_ : int
        Number of features seen in ``fit``.

    See Also
    --------
    SoftLabelDefense : The same for classifiers.
    soften_values : The soft targets alone.

    Notes
    -----
    With predictions of the mean :math:`\mu` and the standard deviation s (divisor ``n_left_out``),
    the soft target is :math:`\mu + \min(1, \alpha s / |y - \mu|)(y - \mu)`. This is the
    formula of :class:`SoftLabelDefense` with the prediction in the place of the probability of the
    label; the source is about classes.

    Equal rows with equal targets are left out together. The target of a row still reaches the soft
    targets of others, and a regressor that memorizes its targets answers otherwise to rows that it
    has no targets of. Nothing is promised: judge the defense with shadow models that are trained
    with it.

    References
    ----------
    Pedersen, J. (2022). Privacy Preservation and Evaluation in Machine Learning. PhD defense,
    Rensselaer Polytechnic Institute.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from skmia.defenses import SoftRegressionDefense
    >>> X, y = load_diabetes(return_X_y=True)
    >>> defended = SoftRegressionDefense(DecisionTreeRegressor(), alpha=1.0, random_state=0)
    >>> defended.fit(X[:300], y[:300]).score(X[:300], y[:300]) < 0.9
    True
    """

    _parameter_constraints: dict = {
        **Defended._parameter_constraints,
        "alpha": [Interval(Real, 0, np.inf, closed="both")],
        "n_estimators": [Interval(Integral, 2, MOST_MODELS, closed="both")],
        "n_left_out": [at_least(2)],
        "store_targets": ["boolean"],
        "n_jobs": N_JOBS,
        "random_state": ["random_state"],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        alpha: float = 0.0,
        n_estimators: int = 10,
        n_left_out: int = 5,
        store_targets: bool = False,
        n_jobs: int | None = None,
        random_state: Seed = None,
        verbose: int = 0,
    ) -> None:
        self.estimator = estimator
        self.alpha = alpha
        self.n_estimators = n_estimators
        self.n_left_out = n_left_out
        self.store_targets = store_targets
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Make the soft targets and fit the regressor on them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Targets.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        if self.n_left_out >= self.n_estimators:
            raise InvalidParameterError(
                f"n_left_out must be below n_estimators={self.n_estimators}, so that models are "
                f"left that are trained on a row; got {self.n_left_out}."
            )
        refuse_trained_module(self.estimator)
        data = _check_rows(X, y)
        for_rows, for_models, for_estimator = spawn_seeds(self.random_state, 3)
        left_out = self._draw(data, np.random.default_rng(for_rows))
        left_out, answers, caught = train_left_out(
            clone(self.estimator),
            data,
            left_out,
            for_models.spawn(self.n_estimators),
            n_jobs=self.n_jobs,
            verbose=self.verbose,
        )
        warn_once(caught, self.n_estimators, "sub-models")
        predictions = stack_left_out(left_out, [_read_values(part) for part in answers])
        targets = soften_values(predictions, data.y, self.alpha)
        estimator = clone(self.estimator)
        seed_estimator(estimator, for_estimator)
        with isolated_randomness(for_estimator), with_advice(estimator, data.X):
            self.estimator_ = estimator.fit(data.X, targets)
        self.targets_ = targets if self.store_targets else None
        return self

    def _draw(self, data, rng):
        units = number_equal_rows(data)
        if units.max(initial=0) == 0:
            raise ValueError(
                f"{type(self).__name__} leaves rows out and needs at least 2 different ones; got "
                f"n_samples = {len(data.y)}{', all equal' if len(data.y) > 1 else ''}."
            )
        strata = compute_strata(data.y, is_classification=False)
        return draw_left_out(units, strata, self.n_estimators, self.n_left_out, rng)


def _check_rows(X, y):
    if not isinstance(X, np.ndarray) or X.ndim == 0:
        X = as_rows(X)
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    y = to_array(y, "y", "hold numbers")
    if np.iscomplexobj(y):
        raise ValueError("Complex data not supported: y must hold real numbers.")
    y = column_or_1d(to_array(y, "y", "hold numbers", np.float64), warn=True)
    assert_all_finite(y, input_name="y")
    check_consistent_length(X, y)
    if len(y) == 0:
        raise ValueError("Expected at least 1 row; got 0.")
    return Labeled(X, y, None)


def _read_values(outputs):
    if outputs.kind != "value":
        raise InvalidParameterError(
            "estimator must be a regressor that predicts one number for each row; its answers are "
            f"of kind {outputs.kind!r}."
        )
    return np.asarray(outputs.values, dtype=np.float64).reshape(len(outputs.values))
