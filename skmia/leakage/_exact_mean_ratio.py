"""The exact log likelihood ratio of a released mean of n rows."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import xlogy

from .._core.checks import check_option
from .._core.gaussians import check_moments, make_moments
from .._core.matrix import check_matrix
from .._core.numbers import check_count, check_numbers

# Distance of a count from a whole number that rounding explains.
_ROUNDING = 1e-6


def mean_log_likelihood_ratio(
    released: ArrayLike,
    target: ArrayLike,
    mean: ArrayLike,
    covariance: ArrayLike | None = None,
    *,
    n_samples: int,
    family: Literal["normal", "bernoulli"] = "normal",
) -> np.ndarray:
    r"""Exact log likelihood ratio of a mean of n rows, for and against a target among them.

    Against the target all n rows are drawn from the distribution; for it n - 1 are, and the target
    is the last one. No attack on the released mean ranks releases better.

    Parameters
    ----------
    released : array-like of shape (n_releases, d)
        Released means.
    target : array-like of shape (d,)
        Target row.
    mean : array-like of shape (d,)
        Mean of the rows; for ``"bernoulli"`` the probabilities of a 1, in (0, 1).
    covariance : array-like of shape (d,) or (d, d), default=None
        Variances of independent columns, or the covariance matrix, for ``"normal"``.
    n_samples : int
        Number of rows n of the private data set, at least 2.
    family : {"normal", "bernoulli"}, default="normal"
        Distribution of the rows: normal, or independent columns of 0 and 1.

    Returns
    -------
    log_ratio : ndarray of shape (n_releases,)
        Logarithm of the ratio of the densities, in nats; positive if the release is more likely
        with the target. Minus infinity where the release excludes the target.

    Raises
    ------
    ValueError
        If shapes do not fit, if a covariance is missing or not taken by the family, or if a
        release, a target or a mean cannot occur.

    See Also
    --------
    MeanLikelihoodRatioAttack : The ratio in the limit of many rows, linear in the release.
    MeanGLiRAttack : Orders releases like the ratio of normal rows, with thresholds and power.

    Notes
    -----
    For normal rows it is :math:`\tfrac d2 \log \tfrac n{n-1} - \tfrac12 [\tfrac{n^2}{n-1} \|
    \hat\mu - \mu - \tfrac{z - \mu}n \|^2_{\Sigma^{-1}} - n \|\hat\mu - \mu\|^2_{\Sigma^{-1}}]`,
    and decreases with the distance of the release from the target alone. For k ones in a column of
    probability p it is :math:`\log \tfrac{k}{np}` if the target has a 1 there, else :math:`\log
    \tfrac{n - k}{n (1 - p)}`, summed over columns.

    References
    ----------
    Azize, A. and Basu, D. (2024). How much does each datapoint leak your privacy? Quantifying the
    per-datum membership leakage. arXiv:2402.10065, equation 3.

    Examples
    --------
    >>> from skmia.leakage import mean_log_likelihood_ratio
    >>> mean_log_likelihood_ratio([[1.0], [0.0]], [2.0], [0.0], [1.0], n_samples=2).round(3)
    array([ 1.347, -1.653])
    >>> mean_log_likelihood_ratio(
    ...     [[0.5, 0.5]], [1, 0], [0.25, 0.25], n_samples=4, family="bernoulli"
    ... ).round(3)
    array([0.288])
    """
    check_option(family, "family", ("normal", "bernoulli"))
    n_samples = check_count(n_samples, "n_samples", 2)
    released = check_matrix(released, dtype=np.float64, input_name="released")
    d = released.shape[1]
    rows = {}
    for name, values in (("target", target), ("mean", mean)):
        rows[name] = check_numbers(values, name, "finite numbers")
        if rows[name].shape != (d,):
            raise ValueError(
                f"{name} must be one row of {d} features, as released has; got shape "
                f"{rows[name].shape}."
            )
    if (covariance is None) == (family == "normal"):
        raise ValueError(
            f"covariance {'is needed' if family == 'normal' else 'is not used'} with "
            f"family={family!r}."
        )
    if family == "bernoulli":
        return _bernoulli_ratio(released, rows["target"], rows["mean"], n_samples)
    moments = make_moments(*check_moments(rows["mean"], covariance))
    if moments.constant.any():
        raise ValueError("covariance must have variances above 0.")
    move = (rows["target"] - rows["mean"]) / n_samples
    distances = [moments.inner(apart, apart) for apart in _deviations(released, rows["mean"], move)]
    weights = n_samples, n_samples**2 / (n_samples - 1)
    without, with_target = (w * part for w, part in zip(weights, distances, strict=True))
    return d / 2 * np.log(n_samples / (n_samples - 1)) - (with_target - without) / 2


def _deviations(released, mean, move):
    """Releases from what is expected without the target and with it."""
    return released - mean, released - mean - move


def _bernoulli_ratio(released, target, probability, n_samples):
    if not np.isin(target, (0, 1)).all():
        raise ValueError("target must hold 0 and 1 with family='bernoulli'.")
    if not ((probability > 0) & (probability < 1)).all():
        raise ValueError("mean must hold probabilities in (0, 1) with family='bernoulli'.")
    counts = n_samples * released
    ones = np.rint(counts)
    if (np.abs(counts - ones) > _ROUNDING * n_samples).any() or not (
        (ones >= 0) & (ones <= n_samples)
    ).all():
        raise ValueError(
            f"released must hold means of {n_samples} values of 0 and 1 with family='bernoulli'."
        )
    same = np.where(target == 1, ones, n_samples - ones)
    chance = np.where(target == 1, probability, 1 - probability)
    # xlogy(1, 0) is minus infinity: no row of the data set has the value of the target.
    return xlogy(1.0, same / (n_samples * chance)).sum(axis=1)
