"""Leakage of one target to a test that was designed for another."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from .._core.tradeoff import advantage, check_rates, power


@dataclass(frozen=True)
class MisspecifiedTarget:
    """Leakage of targets to an attacker whose test was designed for other targets.

    Returned by :meth:`MahalanobisLeakage.misspecified`. Each array has one entry per pair of a true
    and an assumed target.

    Attributes
    ----------
    true_score : ndarray of shape (n,)
        Leakage score of the true target, with the correct test.
    assumed_score : ndarray of shape (n,)
        Leakage score of the target that the test was designed for.
    cross_score : ndarray of shape (n,)
        Scalar product of the two targets in place of the squared norm of one; negative where the
        test is misled.
    inclusion : float
        Probability with which a member takes part in the mean.
    scale : float
        Factor of the scores due to sub-sampling.
    """

    true_score: np.ndarray
    assumed_score: np.ndarray
    cross_score: np.ndarray
    inclusion: float = 1.0
    scale: float = 1.0

    @property
    def _shift(self):
        spread = np.sqrt(self.assumed_score)
        out = np.zeros_like(spread)
        shift = np.divide(self.cross_score, spread, out=out, where=spread > 0)
        return np.sqrt(self.scale) * shift

    @property
    def effective_score(self) -> np.ndarray:
        """Score of a target with the same power under the correct test, at most ``true_score``."""
        return self._shift**2 / self.scale

    @property
    def advantage(self) -> np.ndarray:
        """Advantage at the best threshold, with the sign of the test reversed if it is misled."""
        return advantage(self._shift, self.inclusion)

    @property
    def loss(self) -> np.ndarray:
        """Advantage that the wrong target costs, 0 or more."""
        right = advantage(np.sqrt(self.scale * self.true_score), self.inclusion)
        return np.maximum(right - self.advantage, 0.0)

    @property
    def naive_advantage(self) -> np.ndarray:
        """Advantage of the attacker who believes the test and keeps its threshold of 0."""
        spread = np.sqrt(self.scale * self.assumed_score)
        return self.inclusion * (ndtr(self._shift - spread / 2) - ndtr(-spread / 2))

    def power(self, fpr: float | ArrayLike) -> np.ndarray:
        """True positive rate at a false positive rate.

        Parameters
        ----------
        fpr : float or array-like of shape (k,)
            False positive rates, fractions.

        Returns
        -------
        tpr : ndarray of shape (n,) or (n, k)
            True positive rates; below `fpr` if the test is misled.
        """
        rates = check_rates(fpr)
        shift = self._shift
        return power(rates, shift if rates.ndim == 0 else shift[:, np.newaxis], self.inclusion)


def make_misspecified(true, assumed, cross, subsampling):
    """Return the leakage of pairs of targets, given their inner products.

    Raises
    ------
    ValueError
        If a pair differs from the mean in a column without spread.
    """
    if np.isinf(cross).any():
        raise ValueError(
            f"The pair in row {np.isinf(cross).argmax()} differs from the mean in a column "
            "without spread, which reveals membership without any test."
        )
    return MisspecifiedTarget(true, assumed, cross, *subsampling)
