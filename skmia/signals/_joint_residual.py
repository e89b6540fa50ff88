"""The residuals of several targets, joined to one."""

from typing import NamedTuple, Self

import numpy as np
from scipy.linalg import eigh
from sklearn.covariance import ledoit_wolf_shrinkage

from ._base import SMALLEST_RESIDUAL

# Least ratio of the variances on records inside and outside of training sets: that of a residual
# of a tenth, below which differences between residuals carry no information.
_LEAST_RATIO = 0.01

# Share of the mean variance that keeps a covariance away from a singular one.
_RIDGE = 1e-9


class JointResidual(NamedTuple):
    r"""Length of the vector of residuals of several targets, as a pool measures it.

    The squared length is :math:`r^\top \Sigma_{in}^{-1} r` up to a factor, with the covariance
    :math:`\Sigma_{in}` of the residuals of models on their own training records. Targets that are
    learned alike count by their Mahalanobis length, and those that are memorized the most count the
    most. A variance below a hundredth of the one on other records counts as that much.

    Attributes
    ----------
    weights : ndarray of shape (n_directions, n_targets)
        Each row is a direction, multiplied by the root of its weight.
    """

    weights: np.ndarray

    @classmethod
    def from_residuals(cls, residuals: np.ndarray, inside: np.ndarray) -> Self:
        """Learn the weights from the residuals of the models of a pool.

        Both covariances are shrunk to the variances of the targets outside of training sets, by the
        intensity of Ledoit and Wolf (2004) for as many vectors as there are records.

        Parameters
        ----------
        residuals : ndarray of shape (n_targets, n_models, n)
            Residuals of each model on each record.
        inside : ndarray of shape (n_models, n), dtype bool
            Which models were trained on which records.

        Returns
        -------
        joint : JointResidual
        """
        n_targets, n_models, n_records = residuals.shape
        sums, counts = np.zeros((2, n_targets, n_targets)), np.zeros(2)
        means, n_outside = np.zeros((n_targets, n_records)), np.zeros(n_records)
        for model in range(n_models):
            own, members = residuals[:, model].astype(np.float64), np.asarray(inside[model])
            for side, rows in enumerate((members, ~members)):
                sums[side] += own[:, rows] @ own[:, rows].T
                counts[side] += rows.sum()
            means += own * ~members
            n_outside += ~members
        into, out = sums / np.maximum(counts, 1)[:, None, None]
        scale = np.maximum(np.sqrt(np.diag(out)), SMALLEST_RESIDUAL)
        means = (means / np.maximum(n_outside, 1) / scale[:, None]).T[n_outside > 0]
        amount = ledoit_wolf_shrinkage(means, assume_centered=True)
        into, out = (_shrink(one / np.outer(scale, scale), amount) for one in (into, out))
        ratios, directions = eigh(into, out)
        found = 1 / np.maximum(ratios, _LEAST_RATIO)
        found /= found.sum()
        return cls(np.sqrt(found)[:, None] * directions.T / scale)

    def __call__(self, residuals: np.ndarray) -> np.ndarray:
        """Return minus the logarithm of the length of each vector of residuals.

        Parameters
        ----------
        residuals : ndarray of shape (n_targets, ...)
            Residuals.

        Returns
        -------
        values : ndarray of shape (...)
            Infinite where all residuals are 0.
        """
        parts = np.tensordot(self.weights, residuals.astype(np.float64), axes=1)
        with np.errstate(divide="ignore"):
            return -0.5 * np.log(np.square(parts).sum(axis=0))


def _shrink(covariance, amount):
    """Shrink a covariance of standardized targets to its diagonal."""
    own = np.diag(covariance)
    least = _RIDGE * max(own.mean(), SMALLEST_RESIDUAL)
    return (1 - amount) * covariance + np.diag(amount * own + least)
