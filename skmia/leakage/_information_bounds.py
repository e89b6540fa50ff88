"""Bounds of an attacker's success and of the gap from the information that a model carries."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._core.numbers import SMALLEST, check_broadcast, check_numbers
from .._core.types import FloatOrArray
from ._bounds import N_HALVINGS, check_baseline, check_variance, like_input


def _binary_divergence(baseline, excess):
    """Kullback-Leibler divergence of a coin with probability baseline + excess from baseline.

    In terms of the excess, which keeps its digits where it is small.
    """

    def part(share, change):
        # (share + change) * log((share + change) / share) - change; the changes cancel in the sum.
        after = np.maximum(share + change, 0)
        return special.xlog1py(after, np.maximum(change / share, -1)) - change

    return np.maximum(part(baseline, excess) + part(1 - baseline, -excess), 0)


def mutual_information_success_bound(
    mutual_information: float | ArrayLike, *, baseline: float | ArrayLike = 0.5
) -> FloatOrArray:
    """Upper bound of any attacker's success from the information that a model carries.

    It is the largest P in [baseline, 1] with ``d(P || baseline) <= mutual_information``, where d
    is the divergence of two coins, and 1 if no P solves this.

    Parameters
    ----------
    mutual_information : float or array-like
        Mutual information between the attribute and the model, given the attacker's other
        knowledge, in nats, or an upper bound of it. May be infinite.
    baseline : float or array-like, default=0.5
        Success of the best prediction without the model, in (0, 1): the share of the most frequent
        value of the attribute; for membership the larger one of the shares of members and
        non-members.

    Returns
    -------
    success : float or ndarray
        Upper bound of the probability of a correct prediction, in [baseline, 1].

    Raises
    ------
    ValueError
        If a number is out of range.

    See Also
    --------
    required_mutual_information : The inverse.

    Notes
    -----
    All quantities are in nats. Information in nats with a divergence in bits, as in a published
    experiment, gives a number that is too small to be a bound. The proof prints the smallest
    instead of the largest share of the attribute's values; with the smallest the inequality is
    false.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 5.

    Examples
    --------
    >>> from skmia.leakage import mutual_information_success_bound
    >>> mutual_information_success_bound([0.0, 0.1, 1.0]).round(4)
    array([0.5   , 0.7198, 1.    ])
    """
    information = check_numbers(
        mutual_information, "mutual_information", "a number of nats of at least 0", 0, np.inf
    )
    baseline = check_baseline(baseline, lowest=0)
    information, baseline = check_broadcast(mutual_information=information, baseline=baseline)
    low = np.zeros(information.shape)
    high = low + (1 - baseline)
    for _ in range(N_HALVINGS):
        middle = (low + high) / 2
        fits = _binary_divergence(baseline, middle) <= information
        low, high = np.where(fits, middle, low), np.where(fits, high, middle)
    # The upper end of the last interval is returned, so that rounding does not make the bound too
    # small.
    return like_input(np.minimum(baseline + high, 1.0))


def required_mutual_information(
    success: float | ArrayLike, *, baseline: float | ArrayLike = 0.5
) -> FloatOrArray:
    """Lower bound of the information about the attribute that a given success requires.

    Parameters
    ----------
    success : float or array-like
        Probability of a correct prediction, in [baseline, 1].
    baseline : float or array-like, default=0.5
        Success of the best prediction without the model, in (0, 1).

    Returns
    -------
    mutual_information : float or ndarray
        Lower bound in nats.

    Raises
    ------
    ValueError
        If a number is out of range, or a success is below the baseline.

    See Also
    --------
    mutual_information_success_bound : The inverse.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 5.

    Examples
    --------
    >>> from skmia.leakage import required_mutual_information
    >>> round(required_mutual_information(1.0), 4)  # membership, for certain: log(2)
    0.6931
    """
    success = check_numbers(success, "success", "a fraction in [0, 1]", 0, 1)
    baseline = check_baseline(baseline, lowest=0)
    success, baseline = check_broadcast(success=success, baseline=baseline)
    if (success < baseline).any():
        raise ValueError("success must be at least the baseline, which does not need the model.")
    return like_input(_binary_divergence(baseline, success - baseline))


def generalization_gap_probability_bound(
    gap: float | ArrayLike,
    mutual_information: float | ArrayLike,
    n_samples: int | ArrayLike,
    *,
    proxy_variance: float | ArrayLike | None = None,
    rate: float | ArrayLike | None = None,
) -> FloatOrArray:
    """Upper bound of the probability of a large gap from the information that a model carries.

    The bound is ``(mutual_information + log(2)) / (n_samples * rate)``.

    Parameters
    ----------
    gap : float or array-like
        Expected loss on a new record minus mean loss on the training records; positive.
    mutual_information : float or array-like
        Mutual information between the training records and the model, in nats.
    n_samples : int or array-like
        Number of independent training records.
    proxy_variance : float or array-like, default=None
        Sub-Gaussian proxy variance of the loss of any fixed model on a random record;
        ``(b - a)**2 / 4`` for a loss in [a, b]. The rate is then ``gap**2 / (2 *
        proxy_variance)``. If None, 1 unless ``rate`` is given.
    rate : float or array-like, default=None
        Rate of large deviations at the gap in nats, the smallest of all models: a value of
        :func:`cramer_rate`.

    Returns
    -------
    probability : float or ndarray
        Upper bound of the probability that the gap is at least this large, in [0, 1].

    Raises
    ------
    ValueError
        If a number is out of range, or both a proxy variance and a rate are given.

    See Also
    --------
    cramer_rate : The rate of a loss whose distribution is known.

    Notes
    -----
    The constant is log(2) in nats; where it is printed as 1, information is in bits.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 5.

    Examples
    --------
    >>> from skmia.leakage import generalization_gap_probability_bound
    >>> round(generalization_gap_probability_bound(0.1, 5.0, 10_000, proxy_variance=0.25), 4)
    0.0285
    """
    gap = check_numbers(gap, "gap", "positive and finite", SMALLEST)
    information = check_numbers(
        mutual_information, "mutual_information", "a number of nats of at least 0", 0, np.inf
    )
    n_samples = check_numbers(n_samples, "n_samples", "at least 1", 1)
    given = {"gap": gap, "mutual_information": information, "n_samples": n_samples}
    if rate is None:
        variance = check_variance(1.0 if proxy_variance is None else proxy_variance)
        check_broadcast(**given, proxy_variance=variance)
        rate = np.square(gap) / (2 * variance)
    elif proxy_variance is None:
        rate = check_numbers(rate, "rate", "a number of nats above 0", SMALLEST, np.inf)
        check_broadcast(**given, rate=rate)
    else:
        raise ValueError("A rate takes the place of proxy_variance; give one of the two.")
    return like_input(np.minimum((information + np.log(2)) / (n_samples * rate), 1.0))
