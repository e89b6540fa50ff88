"""Bound of the best attacker from the difference of a mean between members and non-members."""

from collections.abc import Sequence
from numbers import Real
from typing import Literal, Self

import numpy as np
import pandas as pd
from scipy import special
from sklearn.base import BaseEstimator, clone
from sklearn.utils import ClassifierTags
from sklearn.utils.validation import check_is_fitted

from .._core.matrix import validate_matrix
from .._core.sklearn import Interval, StrOptions
from .._core.transactions import TransactionMixin
from .._core.types import ArrayLike
from ._witness import split_classes
from .bounds import (
    bounded_loss_success_bound,
    subexponential_loss_success_bound,
    subgaussian_loss_success_bound,
)

_TAILED_BOUNDS = {
    "subgaussian": subgaussian_loss_success_bound,
    "subexponential": subexponential_loss_success_bound,
}


def _welch_half_width(samples, alpha):
    """Return half width of Welch's interval of a difference of means.

    Infinite for a single record.
    """
    sizes = np.array([len(sample) for sample in samples])
    if sizes.min() < 2:
        return np.full(samples[0].shape[1], np.inf)
    parts = np.array([sample.var(axis=0, ddof=1) / len(sample) for sample in samples])
    variance = parts.sum(axis=0)
    constant = variance == 0
    shares = parts / np.where(constant, 1, variance)
    inverse_freedom = np.where(constant, 1, (shares**2 / (sizes - 1)[:, None]).sum(axis=0))
    return -special.stdtrit(1 / inverse_freedom, alpha / 2) * np.sqrt(variance)


def _bernstein_half_width(samples, alpha, width):
    """Return the same from the empirical Bernstein inequality, for values in an interval.

    Two means may each be off to two sides: every side errs with a quarter of alpha.
    """
    log_term = np.log(8 / alpha)
    total = np.zeros(samples[0].shape[1])
    for sample in samples:
        n = len(sample)
        if n < 2:
            return np.full(len(total), np.inf)
        variance = sample.var(axis=0, ddof=1)
        total += np.sqrt(2 * variance * log_term / n) + 7 * width * log_term / (3 * (n - 1))
    return total


class GeneralizationGapBound(TransactionMixin, BaseEstimator):
    """Lower bound of the best attacker's success, from the means of members and non-members.

    A quantity whose mean over members differs from its mean over non-members leaks membership,
    whether an attack uses it or not. Each column of X is such a quantity: a signal of membership as
    computed by :class:`skmia.signals.Signals`, or minus any loss. A low bound does not show that a
    model does not leak.

    Parameters
    ----------
    assumption : {"bounded", "subgaussian", "subexponential"}, default="bounded"
        Assumption on the values: they lie in an interval, or their tails fall like the tails of a
        Gaussian variable or of its square.
    value_range : tuple (low, high), default=None
        The interval in which all values lie, for ``assumption="bounded"``: (0, 1) for a
        probability. If None, the observed range of each column is used, which turns the bound into
        an estimate.
    proxy_variance : float, default=None
        Proxy variance of the tails, see ``subgaussian_loss_success_bound`` and
        ``subexponential_loss_success_bound``; needed by these two assumptions.
    baseline : float, default=0.5
        Success of the best prediction without the model: the larger one of the shares of members
        and non-members in the attacker's eyes, in [0.5, 1).
    interval : {"welch", "bernstein"}, default="welch"
        Confidence interval of the gap. ``"welch"`` is Welch's t interval, which holds for many
        records and is too short where a class is nearly constant. ``"bernstein"`` is the empirical
        Bernstein inequality, which holds for any number of records, is wider and needs
        ``value_range``.
    confidence_level : float, default=0.95
        Confidence level of each column, in (0, 1).

    Attributes
    ----------
    gap_ : ndarray of shape (n_features,)
        Mean over members minus mean over non-members. For minus a loss this is the generalization
        gap.
    gap_interval_ : ndarray of shape (n_features, 2)
        Confidence limits of the gap.
    success_bound_ : ndarray of shape (n_features,)
        Lower bound of the success of the best attacker, from the gap as estimated.
    success_bound_low_ : ndarray of shape (n_features,)
        The bound from the gap of least size within the confidence interval. It is above the success
        of the best attacker with a probability of at most ``1 - confidence_level``.
    means_ : ndarray of shape (2, n_features)
        Means over non-members and over members.
    n_samples_ : ndarray of shape (2,)
        Numbers of non-members and members.
    classes_ : ndarray of shape (2,)
        The two values of y, sorted; the second one marks members.
    column_ : int
        Column with the largest ``success_bound_low_``, which :meth:`predict` and :meth:`score` use.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if X has names that are strings.

    Raises
    ------
    ValueError
        If y does not hold two values, a value lies outside ``value_range``, or a setting is
        missing.

    See Also
    --------
    skmia.leakage.bounds.bounded_loss_success_bound : The bound for a gap that is known.
    skmia.metrics.advantage_interval : Advantage of a given attack, which is also a lower bound.

    Notes
    -----
    The attacker meant here knows how the values are distributed on members and on non-members of
    this very model. The published bound is for a loss in [-m, m]; an interval of width 2 m gives
    the same number, a loss in [0, m] twice the margin.

    References
    ----------
    del Grosso, G., Pichler, G., Palamidessi, C. and Piantanida, P. (2023). Bounding information
    leakage in machine learning. Neurocomputing 534.

    Maurer, A. and Pontil, M. (2009). Empirical Bernstein bounds and sample variance penalization.
    COLT.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from skmia.datasets import make_membership_problem
    >>> from skmia.leakage import GeneralizationGapBound
    >>> from skmia.signals import Signals
    >>> records, membership = make_membership_problem(random_state=0)
    >>> members = records[membership == 1]
    >>> victim = RandomForestClassifier(random_state=0).fit(members.X, members.y)
    >>> signals = Signals(victim, ["confidence", "correctness"])
    >>> bound = make_pipeline(signals, GeneralizationGapBound(value_range=(0, 1)))
    >>> bool(bound.fit(records, membership).score(records, membership) > 0.6)
    True
    >>> bool((bound.predict(records) == membership).mean() > 0.65)
    True
    """

    _parameter_constraints = {
        "assumption": [StrOptions({"bounded", *_TAILED_BOUNDS})],
        "value_range": [tuple, list, None],
        "proxy_variance": [Interval(Real, 0, None, closed="neither"), None],
        "baseline": [Interval(Real, 0.5, 1, closed="left")],
        "interval": [StrOptions({"welch", "bernstein"})],
        "confidence_level": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        assumption: Literal["bounded", "subgaussian", "subexponential"] = "bounded",
        value_range: Sequence[float] | None = None,
        proxy_variance: float | None = None,
        baseline: float = 0.5,
        interval: Literal["welch", "bernstein"] = "welch",
        confidence_level: float = 0.95,
    ) -> None:
        self.assumption = assumption
        self.value_range = value_range
        self.proxy_variance = proxy_variance
        self.baseline = baseline
        self.interval = interval
        self.confidence_level = confidence_level

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Estimate the gap of each column and bound the success of the best attacker.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signal of each record, such as minus the loss; higher means more likely a member.
        y : array-like of shape (n_samples,)
            Membership: 1 for members, 0 for non-members. Of any other two values the larger one
            marks members.

        Returns
        -------
        self : object
            Fitted estimator.
        """
        X, y = validate_matrix(self, X, y, dtype=np.float64, ensure_min_samples=2)
        self.classes_, _ = split_classes(y)
        width = self._compute_width(X)
        samples = [X[y == label] for label in self.classes_]
        self.n_samples_ = np.array([len(sample) for sample in samples])
        self.means_ = np.array([sample.mean(axis=0) for sample in samples])
        self.gap_ = self.means_[1] - self.means_[0]
        alpha = 1 - self.confidence_level
        if self.interval == "bernstein":
            half_width = _bernstein_half_width(samples, alpha, width)
        else:
            half_width = _welch_half_width(samples, alpha)
        limits = self.gap_[:, None] + half_width[:, None] * [-1, 1]
        # No gap is wider than the range; without a range the width is infinite.
        self.gap_interval_ = np.clip(limits, -width[:, None], width[:, None])
        low, high = self.gap_interval_.T
        least = np.maximum(np.maximum(low, -high), 0)
        self.success_bound_ = self._bound(self.gap_, width)
        self.success_bound_low_ = self._bound(least, width)
        best = self.success_bound_low_ == self.success_bound_low_.max()
        self.column_ = int(np.where(best, self.success_bound_, -np.inf).argmax())
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Guess the membership of records by the column with the largest bound.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Signals of records.

        Returns
        -------
        membership : ndarray of shape (n_samples,)
            Of the two ``classes_``, the one whose mean is nearer to the record's value in
            ``column_``; the first one at equal distances.
        """
        X = validate_matrix(self, X, dtype=np.float64, reset=False)
        distances = np.abs(X[:, [self.column_]] - self.means_[:, self.column_])
        return self.classes_[distances.argmin(axis=1)]

    def score(self, X: ArrayLike | None = None, y: ArrayLike | None = None) -> float:
        """Return the lower bound of the best attacker's success; higher means that more leaks.

        A search with this score selects the assumption and the interval that show most, on records
        that did not choose the column.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), default=None
            Signals of records. If None, the records given to `fit`, which also chose the column.
        y : array-like of shape (n_samples,), default=None
            Their membership.

        Returns
        -------
        score : float
            ``success_bound_low_`` of the column ``column_`` on these records; at least `baseline`.
        """
        check_is_fitted(self)
        if X is None:
            return float(self.success_bound_low_[self.column_])
        X, y = validate_matrix(self, X, y, dtype=np.float64, reset=False)
        again = clone(self).fit(X[:, [self.column_]], y)
        return float(again.success_bound_low_[0])

    def _list_conflicting_parameters(self):
        if self.assumption in _TAILED_BOUNDS and self.proxy_variance is None:
            yield f"assumption={self.assumption!r} needs proxy_variance; got None."
        if self.interval == "bernstein" and (
            self.assumption != "bounded" or self.value_range is None
        ):
            yield (
                "interval='bernstein' needs assumption='bounded' and the value_range; got "
                f"assumption={self.assumption!r} and value_range={self.value_range!r}."
            )

    def _compute_width(self, X):
        """Return the width of the interval in which the values of each column lie."""
        if self.assumption != "bounded":
            return np.full(X.shape[1], np.inf)
        if self.value_range is None:
            return np.ptp(X, axis=0)
        try:
            low, high = (float(limit) for limit in self.value_range)
        except (TypeError, ValueError):
            low = high = np.nan
        if not -np.inf < low < high < np.inf:
            raise ValueError(
                "value_range must be two finite numbers (low, high) with low < high; got "
                f"{self.value_range!r}."
            )
        outside = (X < low) | (X > high)
        if outside.any():
            raise ValueError(
                f"The values of X must lie in value_range = ({low:g}, {high:g}); got "
                f"{X[outside][0]:g} in row {np.flatnonzero(outside.any(axis=1))[0]}."
            )
        return np.full(X.shape[1], high - low)

    def _bound(self, gap, width):
        if self.assumption == "bounded":
            # A constant column has no gap in any unit.
            width = np.where(width == 0, 1.0, width)
            return bounded_loss_success_bound(gap, width, baseline=self.baseline, nonnegative=True)
        bound = _TAILED_BOUNDS[self.assumption]
        return bound(gap, self.proxy_variance, baseline=self.baseline)

    def summary(self) -> pd.DataFrame:
        """Return all estimates, one row per column of X.

        Returns
        -------
        summary : DataFrame of shape (n_features, 7)
            Columns ``member_mean``, ``nonmember_mean``, ``gap``, ``gap_low``, ``gap_high``,
            ``success_bound`` and ``success_bound_low``, indexed by the names of the columns of X.
        """
        check_is_fitted(self)
        numbered = [f"x{k}" for k in range(self.n_features_in_)]
        columns = {
            "member_mean": self.means_[1],
            "nonmember_mean": self.means_[0],
            "gap": self.gap_,
            "gap_low": self.gap_interval_[:, 0],
            "gap_high": self.gap_interval_[:, 1],
            "success_bound": self.success_bound_,
            "success_bound_low": self.success_bound_low_,
        }
        return pd.DataFrame(columns, index=getattr(self, "feature_names_in_", numbered))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        # It predicts membership, and a search has to find both classes in each fold. It learns from
        # one column, so that other classifiers predict better.
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False, poor_score=True)
        return tags
