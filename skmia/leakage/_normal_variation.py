"""Total variation of normal distributions, exactly."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._core.numbers import SMALLEST, check_broadcast, check_numbers
from .._core.types import FloatOrArray

# Nodes of the quadrature; the error is below 1e-10, see the tests.
_N_NODES = 100

# Distance, in standard deviations, from which nothing is in common.
_FAR = 1e100


def normal_total_variation(
    mean_1: float | ArrayLike,
    std_1: float | ArrayLike,
    mean_2: float | ArrayLike,
    std_2: float | ArrayLike,
) -> FloatOrArray:
    """Total variation of two normal distributions of one variable.

    It is the largest advantage, TPR - FPR, of an attack on scores that have the first distribution
    for members and the second for non-members.

    Parameters
    ----------
    mean_1, mean_2 : float or array-like
        Means. All arguments are broadcast.
    std_1, std_2 : float or array-like
        Standard deviations, above 0.

    Returns
    -------
    variation : float or ndarray
        Total variation, in [0, 1].

    Raises
    ------
    ValueError
        If a standard deviation is not positive or shapes do not fit.

    See Also
    --------
    total_variation : The estimate from two samples.
    leverage_total_variation : The distance between what a regression says of members and of others.

    Notes
    -----
    With equal standard deviations it is ``2 * Phi(|mean_1 - mean_2| / (2 * std)) - 1``. Otherwise
    the densities cross twice, and the narrow distribution has more mass in between.

    Examples
    --------
    >>> from skmia.leakage import normal_total_variation
    >>> round(normal_total_variation(0.0, 1.0, 1.0, 1.0), 4)
    0.3829
    >>> normal_total_variation(0.0, 1.0, 0.0, [1.0, 2.0]).round(4)
    array([0.    , 0.3227])
    """
    parts = {"mean_1": mean_1, "std_1": std_1, "mean_2": mean_2, "std_2": std_2}
    for name, values in parts.items():
        allowed = ("finite numbers above 0", SMALLEST) if "std" in name else ("finite numbers",)
        parts[name] = check_numbers(values, name, *allowed)
    first, std_1, second, std_2 = check_broadcast(**parts)
    # The wide distribution has the standard deviation 1, the narrow one is at 0.
    wide = np.maximum(std_1, std_2)
    ratio = np.minimum(std_1, std_2) / wide
    with np.errstate(over="ignore"):
        gap = np.minimum(np.abs(first - second) / wide, _FAR)
    # The narrow density is larger where (1 - ratio^2) u^2 + 2 gap ratio u <= constant, with u in
    # units of the narrow standard deviation. For equal ones this is a half line.
    excess = (1 - ratio) * (1 + ratio)
    constant = gap**2 - 2 * np.log(np.maximum(ratio, SMALLEST))
    reach = gap * ratio + np.sqrt((gap * ratio) ** 2 + excess * constant)
    with np.errstate(divide="ignore", invalid="ignore"):
        high = np.where(reach > 0, constant / reach, 0.0)
        low = np.where(reach > 0, -reach / excess, 0.0)
    inside = special.ndtr(high) - special.ndtr(low)
    variation = inside - (special.ndtr(ratio * high - gap) - special.ndtr(ratio * low - gap))
    variation = np.clip(variation, 0.0, 1.0)
    return float(variation) if variation.ndim == 0 else variation


def leverage_total_variation(leverage: float | ArrayLike) -> FloatOrArray:
    r"""Total variation between a least-squares fit with a record and one without it.

    It is the advantage of the best attack on one record of a Gaussian linear regression with a
    fixed design, for an attacker who knows the record, its place and the law of the data. It
    depends on the leverage :math:`h_j = x_j^T (X^T X)^{-1} x_j` alone: it is the distance of two
    independent standard normal variables from two with the correlation :math:`\sqrt{h_j}`.

    Parameters
    ----------
    leverage : float or array-like
        Leverage of the record, in [0, 1].

    Returns
    -------
    variation : float or ndarray
        Total variation, in [0, 1]. The success of the best attack is half of 1 plus this.

    Raises
    ------
    ValueError
        If a leverage is out of range.

    See Also
    --------
    GaussianRegressionAttacker : The attack, and its success for all records of a design.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534.

    Examples
    --------
    >>> from skmia.leakage import leverage_total_variation
    >>> leverage_total_variation([0.0, 0.2, 0.5, 0.9, 1.0]).round(4)
    array([0.    , 0.1604, 0.306 , 0.6199, 1.    ])
    """
    leverage = check_numbers(leverage, "leverage", "numbers in [0, 1]", 0, 1)
    variation = vary_with_leverage(np.ravel(leverage)).reshape(leverage.shape)
    variation = np.where(leverage == 0, 0.0, np.where(leverage == 1, 1.0, variation))
    return float(variation) if variation.ndim == 0 else variation


def vary_with_leverage(leverage):
    """Total variation of a standard Gaussian pair and one with the correlation sqrt(leverage).

    In polar coordinates the radius integrates in closed form, and the angle, doubled, is left over:
    it runs from arccos(sqrt(leverage)), where the density ratio is 1 at all radii, to pi. There all
    derivatives vanish, which the squared variable of the Gauss-Legendre rule makes harmless.
    """
    nodes, weights = np.polynomial.legendre.leggauss(_N_NODES)
    nodes, weights = (1 + nodes) / 2, weights / 2
    correlation = np.sqrt(np.maximum(leverage, SMALLEST))[:, None]
    start = np.arccos(correlation)
    length = np.pi - start
    angle = start + length * nodes**2
    # cos(start) - cos(angle), which would lose its digits next to the start.
    ahead = 2 * np.sin((angle + start) / 2) * np.sin((angle - start) / 2)
    rest = 1 - leverage[:, None]
    decay = -special.xlog1py(rest, -leverage[:, None]) / (2 * correlation)
    share = correlation * ahead / (rest + correlation * ahead)
    integrand = share * np.exp(-decay / ahead) * 2 * nodes * length
    return np.minimum(integrand @ weights / np.pi, 1.0)
