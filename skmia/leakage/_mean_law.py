"""Distribution of an attack's score if the target is not among the rows of the mean."""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri
from scipy.stats import t as student

# Number of folds of held-out reference rows, each projected on the direction of the other folds.
_N_FOLDS = 10


class ProjectionLaw(NamedTuple):
    """Law of the projection of rows without the target on the direction of an attack.

    Attributes
    ----------
    center : float
        Mean of a projected row.
    variance : float
        Variance of a projected row, with its noise.
    error : float
        Variance of the center as an estimate; 0 if the moments are known.
    dof : float
        Degrees of freedom of the variance; infinite if the moments are known.
    """

    center: float
    variance: float
    error: float = 0.0
    dof: float = np.inf

    def threshold(self, rate, n_drawn):
        """Projection that means of `n_drawn` new rows exceed at a rate.

        With estimates it is the end of a prediction interval for a mean of new rows: the rate holds
        on average over draws of the reference rows.
        """
        return self.center + self.quantile(rate) * np.sqrt(self.variance / n_drawn + self.error)

    def quantile(self, rate):
        """Standard deviations above the center that are exceeded at a rate."""
        return -ndtri(rate) if np.isinf(self.dof) else student.isf(rate, self.dof)


class HeldOut(NamedTuple):
    """Deviations of reference rows from the mean of other ones.

    Attributes
    ----------
    projections : ndarray of shape (n,)
        On the direction that the other rows gave.
    squares : ndarray of shape (n,)
        Squared Mahalanobis distances from a true mean, under the covariance of the other rows.
    pull : float
        Mean difference between the true mean and the projected mean of all rows: the direction away
        from an estimated mean points away from the rows that it was estimated from.
    """

    projections: np.ndarray
    squares: np.ndarray
    pull: float


def hold_out(X, compute_moments, compute_direction):
    """Project each row on a direction that was estimated without it.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Reference rows, at least 3.
    compute_moments : callable
        Function of some rows that returns their moments.
    compute_direction : callable
        Function of moments that returns a direction.

    Returns
    -------
    held_out : HeldOut
    """
    n_folds = min(_N_FOLDS, len(X))
    folds = np.arange(len(X)) % n_folds
    projections, squares = np.empty((2, len(X)))
    for fold in range(n_folds):
        held = folds == fold
        rest = X[~held]
        moments = compute_moments(rest)
        away = X[held] - rest.mean(axis=0)
        projections[held] = away @ compute_direction(moments)
        squares[held] = moments.inner(away, away) / (1 + 1 / len(rest))
    # It decreases with the number of rows, and each fold had fewer.
    pull = float((1 - 1 / n_folds) * projections.mean())
    return HeldOut(projections, squares, pull)


def estimate_law(X, direction, held_out, noise):
    """Law of the projection from reference rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Reference rows.
    direction : ndarray of shape (d,)
        Direction that all of them gave.
    held_out : HeldOut
        Held-out rows of the reference set.
    noise : ndarray of shape (d,)
        Variances of the noise of a row.

    Returns
    -------
    law : ProjectionLaw
    """
    variance = float(held_out.projections.var(ddof=1))
    return ProjectionLaw(
        center=float(direction @ X.mean(axis=0)) + held_out.pull,
        variance=variance + float(direction**2 @ noise),
        error=(variance + max(held_out.pull, 0.0)) / len(X),
        dof=len(X) - 1.0,
    )


class DistanceLaw(NamedTuple):
    """Law of the squared distance of a mean from a target that is not among its rows.

    Attributes
    ----------
    from_mean : float
        Squared distance of the target from the mean of rows.
    square : float
        Mean squared distance of a row, with its noise, from the mean of rows.
    center, variance : float
        Of the squared distance of a mean of new rows, with the errors of the estimates; known
        moments need neither.
    dof : float
        Degrees of freedom of the variance.
    """

    from_mean: float
    square: float
    center: float = np.nan
    variance: float = np.nan
    dof: float = np.inf

    def threshold(self, rate):
        """Distance below which means of new rows lie at a rate, or less often."""
        return self.center - student.isf(rate, self.dof) * np.sqrt(self.variance)


def estimate_distances(from_mean, held_out, law, noise, df, n_drawn):
    """Law of the squared distance from reference rows.

    Parameters
    ----------
    from_mean : float
        Squared distance of the target from the mean of the reference rows.
    held_out : HeldOut
        Held-out rows of the reference set.
    law : ProjectionLaw
        Of the projection on the direction of the likelihood ratio.
    noise : float
        Mean squared length of the noise of a row.
    df : int
        Columns with spread.
    n_drawn : float
        Rows of a mean.

    Returns
    -------
    law : DistanceLaw
    """
    n_rows = len(held_out.squares)
    square, pull = held_out.squares.mean(), held_out.pull
    # The distance has a part that is linear in the mean of new rows, and its square: the variances
    # add up. The target's distance from the estimated mean is too large by the pull of the rows.
    linear = 4 * (max(law.variance - pull, 0.0) / n_drawn + law.error)
    quadratic = np.sqrt(held_out.squares.var(ddof=1) / 2)
    with_noise = quadratic + noise / np.sqrt(df)
    curved = 2 * ((with_noise / n_drawn) ** 2 + (quadratic / n_rows) ** 2)
    centered = from_mean - 2 * pull + square / n_rows
    return DistanceLaw(
        from_mean=max(centered, 0.0),
        square=square + noise,
        center=centered + (square + noise) / n_drawn,
        variance=linear + curved,
        dof=law.dof,
    )
