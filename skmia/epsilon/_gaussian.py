"""Epsilon of mechanisms that are like a Gaussian one."""

from scipy.optimize import brentq
from scipy.special import ndtri

from .._core.numbers import check_number
from .._core.tradeoff import privacy_profile
from ._checks import check_delta


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Epsilon of mu-Gaussian differential privacy at a delta.

    Parameters
    ----------
    mu : float
        Distance of two normal laws in standard deviations, 0 or more. Noise of the standard
        deviation s on a result that one record moves by 1 has 1 / s; T such results, sqrt(T) / s.
    delta : float
        Probability delta, in [0, 1); at 0 epsilon is infinite, unless mu is 0.

    Returns
    -------
    epsilon : float
        Privacy budget epsilon, in nats.

    See Also
    --------
    skmia.defenses.gaussian_sigma : The noise for an epsilon.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy. JRSS-B 84.

    Examples
    --------
    >>> from skmia.epsilon import gaussian_epsilon
    >>> round(gaussian_epsilon(1.0, 1e-5), 4)
    4.3772
    """
    mu = float(check_number(mu, "mu", "finite and 0 or more", 0))
    delta = check_delta(delta)
    if privacy_profile(0.0, mu) <= delta:
        return 0.0
    if delta == 0:
        return float("inf")
    high = 1.0
    while privacy_profile(high, mu) > delta:
        high *= 2
        if high == float("inf"):  # beyond double precision
            return float("inf")
    return float(brentq(lambda epsilon: privacy_profile(epsilon, mu) - delta, 0.0, high))


def mu_of_rates(fpr, fnr):
    """The least mu with which error rates as high as these are compatible."""
    return -ndtri(fpr) - ndtri(fnr)
