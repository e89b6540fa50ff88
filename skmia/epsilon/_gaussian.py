"""The bound for mechanisms that are like a Gaussian one."""

from scipy.optimize import brentq
from scipy.special import ndtri

from .._core.checks import check_confidence_level, check_membership_scores
from .._core.numbers import check_number
from .._core.tradeoff import privacy_profile
from ._checks import GAUSSIAN, MULTI_RUN, check_copies, check_delta, check_positive_delta
from ._largest import with_largest
from ._result import EpsilonBound
from ._thresholds import choose_threshold, describe_threshold


def gaussian_epsilon(mu, delta):
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


@with_largest
def gaussian_epsilon_lower_bound(
    y_true,
    y_score,
    *,
    delta=1e-5,
    threshold="bonferroni",
    n_copies=1,
    confidence_level=0.95,
    random_state=None,
):
    r"""Lower bound of epsilon from the scores of many runs, for Gaussian mechanisms.

    A mechanism with :math:`\mu`-Gaussian differential privacy lets no attacker reach more than
    :math:`\mathrm{TPR} = \Phi(\Phi^{-1}(\mathrm{FPR}) + \mu)`. Error rates at one threshold bound
    :math:`\mu`, and :math:`\mu` decides epsilon at each delta, also at deltas that no number of
    runs could resolve.

    Parameters
    ----------
    y_true : array-like of shape (n_runs,)
        1 for runs with the canary, 0 for runs without.
    y_score : array-like of shape (n_runs,)
        Finite scores, higher means more likely a run with the canary.
    delta : float, default=1e-5
        Probability delta, in (0, 1).
    threshold : {"bonferroni", "split", "multisplit"}, float or array-like, default="bonferroni"
        As of :func:`epsilon_lower_bound`.
    n_copies : int, default=1
        How many records the two data sets differ in; mu of the group is divided by it.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Draws the halves.

    Returns
    -------
    bound : EpsilonBound
        With ``mu``.

    See Also
    --------
    epsilon_lower_bound : Assumes nothing of the mechanism.

    Notes
    -----
    The bound is as good as its assumption. Noise on sums of whole data sets keeps it exactly.
    Steps on samples of the rows keep it in the limit of many steps; a mechanism of another kind,
    such as randomized response, may break it, and the bound then exceeds its epsilon.

    References
    ----------
    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and Terzis,
    A. (2023). Tight auditing of differentially private machine learning. USENIX Security.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import gaussian_epsilon_lower_bound
    >>> with_canary = np.repeat([1, 0], 1000)
    >>> scores = np.random.default_rng(0).normal(size=2000) + with_canary
    >>> bound = gaussian_epsilon_lower_bound(with_canary, scores)
    >>> bool(2 < bound.epsilon < 4.3772)  # the truth
    True
    """
    membership, scores = check_membership_scores(y_true, y_score)
    level, delta = check_confidence_level(confidence_level), check_positive_delta(delta)
    n_copies = check_copies(n_copies)
    choice = choose_threshold(membership, scores, mu_of_rates, threshold, level, random_state)
    mu = max(0.0, choice.value) / n_copies
    return EpsilonBound(
        epsilon=gaussian_epsilon(mu, delta),
        confidence_level=level,
        delta=delta,
        method=f"Clopper-Pearson limits of mu, threshold {describe_threshold(threshold)}",
        assumption=GAUSSIAN + MULTI_RUN,
        counts=choice.counts | {"n_copies": n_copies},
        threshold=choice.threshold,
        mu=mu,
    )
