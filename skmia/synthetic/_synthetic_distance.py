"""Generators as regressors, so that shadow models can be trained."""

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, MetaEstimatorMixin, RegressorMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from .._core.asking import draw_samples
from .._core.matrix import validate_matrix
from .._core.sklearn import HasMethods, at_least, validate_params_of
from .._core.types import ArrayLike, Seed
from ._neighbors import GowerEncoder, as_frame, find_nearest


class SyntheticDistance(MetaEstimatorMixin, RegressorMixin, BaseEstimator):
    """Regressor of the distance from each row to the nearest row of a generator.

    It makes a generator accessible to attacks on regressors: the error of a record with target 0 is
    its distance, which is small if the generator returns similar rows. Every attack on regressors
    can therefore be used, and a :class:`~skmia.ShadowPool` trains shadow generators.

    Parameters
    ----------
    generator : estimator
        Generator with ``fit(X)`` and ``sample(n_samples)``. It is cloned and fitted.
    n_samples : int, default=None
        Number of rows to draw. If None, the number of training rows.
    metric : str or callable, default="euclidean"
        Any metric of :class:`~sklearn.neighbors.NearestNeighbors`, or ``"gower"`` for tables with
        categories, see :class:`GowerEncoder`; ranges and categories come from the synthetic rows.
    random_state : int, RandomState instance or None, default=None
        Controls the generator, if it has such a parameter, and the draw of rows.

    Attributes
    ----------
    generator_ : estimator
        The fitted generator.
    synthetic_ : ndarray of shape (n_samples, n_features)
        The rows that were drawn; with ``metric="gower"`` as points of the encoder.
    encoder_ : GowerEncoder or None
        The encoder, with ``metric="gower"``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, where X has names that are strings.

    See Also
    --------
    GeneratorAttack : Attack without shadow generators.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KernelDensity
    >>> from skmia import Records, ShadowPool
    >>> from skmia.attacks import LiRA
    >>> from skmia.synthetic import SyntheticDistance
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> records, membership = Records(X, np.zeros(200)), np.arange(200) < 100
    >>> model = SyntheticDistance(KernelDensity(bandwidth=0.1))
    >>> victim = model.fit(X[membership])
    >>> attack = LiRA(victim, ShadowPool(model, 16, random_state=0)).fit(records)
    >>> bool(attack.score(records, membership) > 0.2)
    True
    """

    _parameter_constraints = {
        "generator": [HasMethods(["fit", "sample"])],
        "n_samples": [at_least(1), None],
        "metric": [str, callable],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        generator: BaseEstimator,
        *,
        n_samples: int | None = None,
        metric: str | Callable[..., float] = "euclidean",
        random_state: Seed = None,
    ) -> None:
        self.generator = generator
        self.n_samples = n_samples
        self.metric = metric
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: Any = None) -> Self:
        """Fit the generator and draw rows from it.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Training rows.
        y : Ignored
            Not used, present for API consistency by convention.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        validate_params_of(self)
        table = X
        # y is checked as far as it is there, since nothing else would notice a mistake.
        checks = self._checks(X)
        if y is None:
            X = validate_matrix(self, X, **checks)
        else:
            X, _ = validate_matrix(self, X, y, y_numeric=True, **checks)
        if isinstance(table, pd.DataFrame):
            X = table  # a generator may need names and types of columns
        random_state = check_random_state(self.random_state)
        self.generator_ = clone(self.generator)
        if "random_state" in self.generator_.get_params():
            self.generator_.set_params(random_state=random_state.randint(np.iinfo(np.int32).max))
        self.generator_.fit(X)
        drawn = draw_samples(self.generator_, self.n_samples or len(X), random_state)
        self.encoder_ = None
        if self.metric == "gower":
            drawn = as_frame(drawn, "The table of synthetic rows")
            self.encoder_ = GowerEncoder().fit(drawn)
            drawn = self.encoder_.transform(drawn)
        self.synthetic_ = np.asarray(drawn, dtype=float)
        return self

    def _checks(self, X, **checks):
        """Settings of the validation: with Gower's distance cells need not be numbers."""
        if self.metric == "gower" and isinstance(X, pd.DataFrame):
            return {**checks, "skip_check_array": True}
        return checks

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Distance to the nearest row that the generator returned.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Rows.

        Returns
        -------
        distance : ndarray of shape (n_rows,)
        """
        check_is_fitted(self)
        X = validate_matrix(self, X, **self._checks(X, reset=False))
        metric = self.metric
        if self.encoder_ is not None:
            X, metric = self.encoder_.transform(as_frame(X, "X")), "manhattan"
        return find_nearest(X, self.synthetic_, 1, metric)[0][:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.regressor_tags.poor_score = True  # y is not looked at
        return tags
