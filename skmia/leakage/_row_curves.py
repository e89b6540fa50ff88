"""What the test between two normal laws says about each row of a released mean."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from .._core.numbers import check_numbers
from .._core.tradeoff import (
    beside,
    check_epsilons,
    check_rates,
    power,
    privacy_budget,
    privacy_profile,
    threshold,
)
from ._leakage_table import Direction, check_direction, make_leakage_table


class RowCurvesMixin:
    """Adds curves of each row to an estimator with ``_shifts(X)`` and ``_subsampling``."""

    _shifts: Any
    _subsampling: Any

    def power(self, X: ArrayLike, fpr: float | ArrayLike) -> np.ndarray:
        """True positive rate of the best attacker who knows `covariance_`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        fpr : float or array-like of shape (k,)
            False positive rates, fractions.

        Returns
        -------
        tpr : ndarray of shape (n_rows,) or (n_rows, k)
            One row per target, one column per rate.
        """
        rates = check_rates(fpr)
        shifts = beside(self._shifts(X), rates)
        return power(rates, shifts, self._subsampling.inclusion)

    def threshold(self, X: ArrayLike, fpr: float | ArrayLike) -> np.ndarray:
        """Threshold of the log-likelihood ratio with a false positive rate.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        fpr : float or array-like of shape (k,)
            False positive rates, fractions.

        Returns
        -------
        thresholds : ndarray of shape (n_rows,) or (n_rows, k)
            In nats, for the scores of :class:`MeanLikelihoodRatioAttack`. Rows with at least this
            ratio are predicted as members. The advantage is largest at 0. A row of infinite score
            has the threshold 0.
        """
        rates = check_rates(fpr)
        shifts = beside(self._shifts(X), rates)
        return threshold(rates, shifts)

    def privacy_profile(
        self, X: ArrayLike, epsilon: float | ArrayLike, *, direction: Direction = "both"
    ) -> np.ndarray:
        """Smallest delta of (epsilon, delta)-differential privacy with respect to each row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        epsilon : float or array-like of shape (k,)
            Privacy parameters in nats, 0 or more.
        direction : {"both", "in/out", "out/in"}, default="both"
            ``"in/out"`` bounds the probability of a mean with the row by the probability of the
            same mean without it, ``"out/in"`` the reverse, and ``"both"`` is the larger delta.
            They differ after sub-sampling only.

        Returns
        -------
        delta : ndarray of shape (n_rows,) or (n_rows, k)
            Fractions; the mean with the row and the mean without it are this close. It holds for
            these targets and rows drawn from the distribution, and is not a guarantee for other
            data sets.
        """
        epsilons = check_epsilons(epsilon)
        shifts, kind = beside(self._shifts(X), epsilons), check_direction(direction)
        return privacy_profile(epsilons, shifts, self._subsampling.inclusion, kind)

    def privacy_budget(
        self, X: ArrayLike, delta: float | ArrayLike, *, direction: Direction = "both"
    ) -> np.ndarray:
        """Smallest epsilon of (epsilon, delta)-differential privacy with respect to each row.

        It is the inverse of :meth:`privacy_profile`.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        delta : float or array-like of shape (k,)
            Probabilities, in [0, 1).
        direction : {"both", "in/out", "out/in"}, default="both"
            As for :meth:`privacy_profile`. After sub-sampling a share s of the rows, ``"out/in"``
            is at most ``-log(1 - s)`` whatever the row is, and ``"in/out"`` is larger than without
            sub-sampling, because the mean has fewer rows.

        Returns
        -------
        epsilon : ndarray of shape (n_rows,) or (n_rows, k)
            In nats; infinite at a delta of 0, unless sub-sampling bounds it or the score is 0.
        """
        deltas = check_numbers(delta, "delta", "0 or more and below 1", 0, np.nextafter(1, 0))
        shifts, kind = beside(self._shifts(X), deltas), check_direction(direction)
        return privacy_budget(deltas, shifts, self._subsampling.inclusion, kind)

    def leakage_table(
        self, X: ArrayLike, *, record_ids: ArrayLike | None = None, delta: float = 1e-5
    ) -> pd.DataFrame:
        """What the mean gives away about each row, for people who ask about themselves.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Targets.
        record_ids : array-like of shape (n_rows,), default=None
            Names of the rows. If None, the index of a DataFrame, otherwise the positions.
        delta : float, default=1e-5
            The delta at which epsilon is stated, in [0, 1).

        Returns
        -------
        table : DataFrame
            Indexed by the names: ``score`` (see :meth:`score_samples`), ``epsilon in/out`` and
            ``epsilon out/in`` at `delta`, ``delta at epsilon 1``, ``tpr at fpr 0.01`` of the best
            attacker, and ``percentile``, the percentage of these rows that leak at most as much.
            It is about the *mean*, and an attacker who knows all else in distribution; it is not
            the epsilon of a model.

        See Also
        --------
        privacy_profile, privacy_budget : The functions that it shows at single points.

        Examples
        --------
        >>> import numpy as np
        >>> from skmia.leakage import MahalanobisLeakage
        >>> X = np.random.default_rng(0).normal(size=(100, 50))
        >>> leakage = MahalanobisLeakage(covariance="diagonal").fit(X)
        >>> table = leakage.leakage_table(X[:3], record_ids=["Ann", "Bob", "Cem"])
        >>> print(table[["score", "epsilon in/out", "tpr at fpr 0.01"]].round(2))
                score  epsilon in/out  tpr at fpr 0.01
        record
        Ann      0.45            2.76             0.05
        Bob      0.52            3.01             0.05
        Cem      0.45            2.76             0.05
        """
        return make_leakage_table(self, X, record_ids, delta)
