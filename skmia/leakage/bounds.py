"""Bounds of the best attacker's success from a generalization gap or differential privacy."""

from collections.abc import Callable
from typing import Literal

import numpy as np
from scipy import special

from .._core.metric_inputs import check_bits, check_finite_vector, check_option
from .._core.numbers import SMALLEST, check_broadcast, check_number, check_numbers, show
from .._core.probabilities import check_sums
from .._core.types import ArrayLike, FloatOrArray
from .._core.validation import call_given, check_membership

__all__ = [
    "bayes_success",
    "bounded_loss_accuracy",
    "bounded_loss_success_bound",
    "cramer_rate",
    "dp_advantage_bound",
    "generalization_gap_probability_bound",
    "mutual_information_success_bound",
    "required_mutual_information",
    "subexponential_loss_success_bound",
    "subgaussian_loss_success_bound",
]

# A gap is a difference of means, so rounding may take it beyond the possible range.
_ROUNDING = 1e-9

# Halvings after which an interval within [0, 1] is shorter than a float64 can tell.
N_HALVINGS = 64


def check_baseline(baseline, lowest=0.5):
    allowed = f"a fraction in [{lowest}, 1)" if lowest else "a fraction in (0, 1)"
    return check_numbers(baseline, "baseline", allowed, lowest or SMALLEST, np.nextafter(1, 0))


def _check_nats(information):
    allowed = "a number of nats of at least 0"
    return check_numbers(information, "mutual_information", allowed, 0, np.inf)


def like_input(array):
    """Return a number if all inputs were numbers."""
    return float(array) if np.ndim(array) == 0 else array


def _success_from_variation(variation, baseline, what):
    """Lower bound of the success from a lower bound of the total variation of the observations."""
    impossible = variation > 1 + _ROUNDING
    if impossible.any():
        raise ValueError(f"gap is larger than {what} can have; the assumption does not hold.")
    variation = np.clip(variation, 0, 1)
    return like_input(np.maximum(baseline, 1 - baseline * (1 - variation)))


def bounded_loss_success_bound(
    gap: float | ArrayLike,
    max_loss: float | ArrayLike = 1.0,
    *,
    baseline: float | ArrayLike = 0.5,
    nonnegative: bool = False,
) -> FloatOrArray:
    """Return the lower bound of the best attacker's success from the gap of a bounded loss.

    An attacker who knows the distribution of the loss on members and non-members can distinguish
    them at least as well as the difference of the means allows. The bound is ``max(b, 1 - b * (1 -
    v))`` with the baseline b and ``v = |gap| / (2 * max_loss)`` for a loss in [-max_loss,
    max_loss].

    Parameters
    ----------
    gap : float or array-like
        Expected loss on non-members minus expected loss on members, in units of the loss. Its sign
        is ignored.
    max_loss : float or array-like, default=1.0
        Largest absolute value of the loss.
    baseline : float or array-like, default=0.5
        Success of the best prediction without the model: the larger one of the shares of members
        and non-members, in [0.5, 1).
    nonnegative : bool, default=False
        Whether the loss lies in [0, max_loss]. Then v is twice as large, ``|gap| / max_loss``, and
        the bound is tight.

    Returns
    -------
    success : float or ndarray
        Lower bound of the probability that the best attacker predicts correctly, in [baseline, 1].

    Raises
    ------
    ValueError
        If a number is out of range, or when no loss of this size has such a gap.

    See Also
    --------
    subgaussian_loss_success_bound : For an unbounded loss.
    skmia.leakage.GeneralizationGapBound : The same with a confidence interval, from records.

    Notes
    -----
    A small gap promises nothing: the bound is one-sided, and a model with a gap near 0 may reveal
    every member. The published theorem is the case ``nonnegative=False``; a loss that is never
    negative can be centered first, which doubles the margin.

    References
    ----------
    del Grosso, G., Pichler, G., Palamidessi, C. and Piantanida, P. (2023). Bounding information
    leakage in machine learning. Neurocomputing 534, theorem 2.

    Examples
    --------
    >>> from skmia.leakage.bounds import bounded_loss_success_bound
    >>> round(bounded_loss_success_bound(0.7034026384353638, max_loss=2), 7)
    0.5879253
    >>> bounded_loss_success_bound([0.0, 0.5, 1.0], nonnegative=True)
    array([0.5 , 0.75, 1.  ])
    """
    gap = check_numbers(gap, "gap", "finite")
    max_loss = check_numbers(max_loss, "max_loss", "positive and finite", SMALLEST)
    baseline = check_baseline(baseline)
    gap, max_loss, baseline = check_broadcast(gap=gap, max_loss=max_loss, baseline=baseline)
    variation = np.abs(gap) / max_loss * (1 if nonnegative else 0.5)
    return _success_from_variation(variation, baseline, "a loss within max_loss")


def _variation_from_tail(gap, scale, power, baseline, cutoff):
    """Return the lower bound of the total variation if P(|R| >= r) <= 2 exp(-(r/scale)**power).

    The loss is cut at R = scale * t**(1/power). What is cut off changes each of the two means by no
    more than a constant times exp(-t).
    """
    smallest = scale * np.log(2) ** (1 / power)
    relative_gap, rare = np.abs(gap) / scale, 1 - baseline

    def variation(t):
        tail = np.exp(-t) * (1 + 1 / (power * t))
        return relative_gap / (2 * t ** (1 / power)) - tail / rare

    if cutoff is None:
        return _maximize(variation, np.broadcast(relative_gap, rare).ndim)
    # Relative, so that the smallest cutoff can be given in decimals.
    if (cutoff < smallest * (1 - _ROUNDING)).any():
        raise ValueError(
            f"cutoff must be at least {np.max(smallest):.6g}, below which the tail bound says "
            f"nothing; got {np.min(cutoff):.6g}."
        )
    return variation((cutoff / scale) ** power)


def _maximize(function, ndim):
    """Return the largest value over t in [log 2, 700], of every element.

    A logarithmic grid, then sections.

    Any t gives a valid bound, so an imperfect maximum is a valid bound too.
    """
    grid = np.geomspace(np.log(2), 700.0, 200).reshape(-1, *[1] * ndim)
    values = function(grid)
    best = values.argmax(axis=0)
    highest = np.take_along_axis(values, best[None], axis=0)[0]
    flat = grid.ravel()
    low, high = flat[np.maximum(best - 1, 0)], flat[np.minimum(best + 1, len(flat) - 1)]
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(N_HALVINGS):
        left, right = high - golden * (high - low), low + golden * (high - low)
        falls = function(left) > function(right)
        low, high = np.where(falls, low, left), np.where(falls, right, high)
    return np.maximum(highest, function((low + high) / 2))


def _tailed_loss_success_bound(gap, scale, power, baseline, cutoff):
    gap, baseline = check_numbers(gap, "gap", "finite"), check_baseline(baseline)
    if cutoff is not None:
        cutoff = check_numbers(cutoff, "cutoff", "positive and finite", SMALLEST)
    given = {"gap": gap, "proxy_variance": scale, "baseline": baseline}
    check_broadcast(**given, **({} if cutoff is None else {"cutoff": cutoff}))
    variation = _variation_from_tail(gap, scale, power, baseline, cutoff)
    return _success_from_variation(variation, baseline, "a loss with such tails")


def check_variance(proxy_variance):
    return check_numbers(proxy_variance, "proxy_variance", "positive and finite", SMALLEST)


def subgaussian_loss_success_bound(
    gap: float | ArrayLike,
    proxy_variance: float | ArrayLike = 1.0,
    *,
    baseline: float | ArrayLike = 0.5,
    cutoff: float | ArrayLike | None = None,
) -> FloatOrArray:
    """Return the lower bound of the best attacker's success from the gap of a sub-Gaussian loss.

    The loss R of a record, member or not, must have tails of at most
    ``P(|R| >= r) <= 2 * exp(-r**2 / (2 * proxy_variance))``.

    Parameters
    ----------
    gap : float or array-like
        Expected loss on non-members minus expected loss on members, in units of the loss.
    proxy_variance : float or array-like, default=1.0
        Scale of the tails, in squared units of the loss. Where the loss is Gaussian with mean 0 on
        members and on others, it is the larger one of the two variances.
    baseline : float or array-like, default=0.5
        Success of the best prediction without the model: the larger one of the shares of members
        and non-members, in [0.5, 1).
    cutoff : float or array-like, default=None
        Where the loss is cut, in units of the loss; every value of at least ``sqrt(2 * log(2) *
        proxy_variance)`` gives a valid bound. If None, the best one is used.

    Returns
    -------
    success : float or ndarray
        Lower bound of the probability that the best attacker predicts correctly, in [baseline, 1].

    Raises
    ------
    ValueError
        If a number is out of range, or when no loss with these tails has such a gap.

    See Also
    --------
    subexponential_loss_success_bound : For the square of such a loss.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 3.

    Examples
    --------
    >>> from skmia.leakage.bounds import subgaussian_loss_success_bound
    >>> round(subgaussian_loss_success_bound(1.0), 4)
    0.5717
    """
    scale = np.sqrt(2 * check_variance(proxy_variance))
    return _tailed_loss_success_bound(gap, scale, 2, baseline, cutoff)


def subexponential_loss_success_bound(
    gap: float | ArrayLike,
    proxy_variance: float | ArrayLike = 1.0,
    *,
    baseline: float | ArrayLike = 0.5,
    cutoff: float | ArrayLike | None = None,
) -> FloatOrArray:
    """Return the lower bound of the best attacker's success from the gap of a squared loss.

    The loss R of a record, member or not, must have tails of at most
    ``P(|R| >= r) <= 2 * exp(-r / (2 * proxy_variance))``, which the square of a sub-Gaussian
    variable has.

    Parameters
    ----------
    gap : float or array-like
        Expected loss on non-members minus expected loss on members, in units of the loss.
    proxy_variance : float or array-like, default=1.0
        Of the variable whose square the loss is, in units of the loss. Where the variable is
        Gaussian with mean 0 on members and on others, it is the larger one of the two variances.
    baseline : float or array-like, default=0.5
        Success of the best prediction without the model: the larger one of the shares of members
        and non-members, in [0.5, 1).
    cutoff : float or array-like, default=None
        Where the loss is cut, in units of the loss; every value of at least ``2 * log(2) *
        proxy_variance`` gives a valid bound. If None, the best one is used.

    Returns
    -------
    success : float or ndarray
        Lower bound of the probability that the best attacker predicts correctly, in [baseline, 1].

    Raises
    ------
    ValueError
        If a number is out of range, or when no loss with these tails has such a gap.

    See Also
    --------
    skmia.leakage.GaussianRegressionAttacker : The exact success in a case that this bound covers.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 4.

    Examples
    --------
    >>> from skmia.leakage.bounds import subexponential_loss_success_bound
    >>> round(subexponential_loss_success_bound(2 * 20 * 4 / 40, 4, cutoff=40), 7)
    0.5169145
    """
    return _tailed_loss_success_bound(gap, 2 * check_variance(proxy_variance), 1, baseline, cutoff)


def dp_advantage_bound(
    epsilon: float | ArrayLike,
    delta: float | ArrayLike = 0.0,
    *,
    form: Literal["tight", "printed"] = "tight",
) -> FloatOrArray:
    """Return the membership advantage that no attack on a differentially private model can exceed.

    It also bounds the disparity of two groups of records, the difference between the advantages on
    them: of the best attacks on each group by this number, which is theorem 8 of O'Dell, and of one
    attack, which may be right on one group and misled on the other, by twice this number.

    Parameters
    ----------
    epsilon : float or array-like
        Privacy parameter for adding, removing or replacing one record, whichever the attack is to
        tell apart; in nats.
    delta : float or array-like, default=0.0
        Probability delta, in [0, 1].
    form : {"tight", "printed"}, default="tight"
        ``"tight"`` is ``(exp(epsilon) - 1 + 2 * delta) / (exp(epsilon) + 1)``, which randomized
        response reaches. ``"printed"`` is the older ``min(1, exp(epsilon) - 1 + delta)``, which is
        trivial from epsilon = log(2) on; O'Dell prints it for delta = 0.

    Returns
    -------
    advantage : float or ndarray
        Upper bound of TPR - FPR, in [0, 1].

    Raises
    ------
    ValueError
        If a number is out of range or the form is unknown.

    References
    ----------
    Humphries, T. et al. (2023). Investigating membership inference attacks under data dependencies.
    CSF.

    O'Dell, R. (2023). Estimating privacy leakage of machine learning models. UCLA, theorems 4
    and 8.

    Examples
    --------
    >>> from skmia.leakage.bounds import dp_advantage_bound
    >>> dp_advantage_bound([0.1, 0.5, 1.0, 4.0]).round(3)
    array([0.05 , 0.245, 0.462, 0.964])
    >>> dp_advantage_bound([0.1, 0.5, 1.0, 4.0], form="printed").round(3)
    array([0.105, 0.649, 1.   , 1.   ])
    """
    epsilon = check_numbers(epsilon, "epsilon", "a number of at least 0", 0, np.inf)
    delta = check_numbers(delta, "delta", "a fraction in [0, 1]", 0, 1)
    epsilon, delta = check_broadcast(epsilon=epsilon, delta=delta)
    check_option(form, "form", ("tight", "printed"))
    if form == "printed":
        # exp overflows there, and from log(2) on the bound is 1 anyway.
        return like_input(np.minimum(np.expm1(np.minimum(epsilon, 1.0)) + delta, 1.0))
    return like_input(np.tanh(epsilon / 2) + 2 * delta * special.expit(-epsilon))


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
    """Return the upper bound of any attacker's success from the information that a model carries.

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
    >>> from skmia.leakage.bounds import mutual_information_success_bound
    >>> mutual_information_success_bound([0.0, 0.1, 1.0]).round(4)
    array([0.5   , 0.7198, 1.    ])
    """
    information, baseline = _check_nats(mutual_information), check_baseline(baseline, lowest=0)
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
    """Return the lower bound of the information about the attribute that a given success requires.

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
    >>> from skmia.leakage.bounds import required_mutual_information
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
    >>> from skmia.leakage.bounds import generalization_gap_probability_bound
    >>> round(generalization_gap_probability_bound(0.1, 5.0, 10_000, proxy_variance=0.25), 4)
    0.0285
    """
    gap = check_numbers(gap, "gap", "positive and finite", SMALLEST)
    information = _check_nats(mutual_information)
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


def bayes_success(likelihoods: ArrayLike, prior: ArrayLike | None = None) -> float:
    r"""Success of the best attacker on an attribute with few values, from the law of a release.

    The attacker sees the release and predicts the attribute's value with the largest posterior
    probability: the success is :math:`\sum_\theta \max_t \pi_t\, p(\theta \mid t)`.

    Parameters
    ----------
    likelihoods : array-like of shape (n_values, n_releases)
        Probability of each release for each value of the attribute; rows sum to 1. For membership,
        the rows are the laws of non-members and of members.
    prior : array-like of shape (n_values,), default=None
        Probability of each value, not necessarily equal. If None, all are equally likely.

    Returns
    -------
    success : float
        Probability of a correct prediction, at least the largest prior probability.

    Raises
    ------
    ValueError
        If rows or the prior are not probabilities, or shapes do not fit.

    See Also
    --------
    skmia.leakage.total_variation : With two equally likely values, twice the success minus 1.
    mutual_information_success_bound : Bound of the success by the information in the release.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 1.

    Examples
    --------
    >>> from skmia.leakage.bounds import bayes_success
    >>> nonmember, member = [0.7, 0.2, 0.1], [0.2, 0.3, 0.5]
    >>> round(bayes_success([nonmember, member]), 2)
    0.75
    >>> round(bayes_success([nonmember, member], prior=[0.9, 0.1]), 2)  # "nonmember", always
    0.9
    """
    likelihoods = check_numbers(likelihoods, "likelihoods", "probabilities in [0, 1]", 0, 1)
    if likelihoods.ndim != 2 or not likelihoods.size:
        raise ValueError(
            f"likelihoods must be of shape (n_values, n_releases); got shape {likelihoods.shape}."
        )
    n_values = len(likelihoods)
    if prior is None:
        prior = np.full(n_values, 1 / n_values)
    prior = check_numbers(prior, "prior", "probabilities in [0, 1]", 0, 1)
    if prior.shape != (n_values,):
        raise ValueError(
            f"prior must have {n_values} probabilities, one for each row of likelihoods; got shape "
            f"{prior.shape}."
        )
    check_sums(likelihoods, "likelihoods")
    check_sums(prior, "prior")
    return float((prior[:, None] * likelihoods).max(axis=0).sum())


# Steps of the golden section search; each takes off 38% of an interval.
_N_STEPS = 100
_MOST_DOUBLINGS = 200
_GOLDEN = (np.sqrt(5) - 1) / 2


def cramer_rate(gap: float | ArrayLike, cumulant: Callable[[float], float]) -> FloatOrArray:
    r"""Return the rate of large deviations: the convex conjugate of a cumulant generating function.

    It is :math:`\psi^*(\epsilon) = \sup_{\lambda \ge 0} \lambda \epsilon - \psi(\lambda)` for
    :math:`\psi(\lambda) = \log \mathbb{E}\, e^{\lambda R}`, where R is the expected loss of a model
    minus its loss on a random record. The mean of n independent such R is at least epsilon with a
    probability of at most :math:`e^{-n \psi^*(\epsilon)}`.

    Parameters
    ----------
    gap : float or array-like
        Deviations epsilon, above 0.
    cumulant : callable
        The function :math:`\psi` of a number :math:`\lambda` of at least 0: convex, 0 at 0, and
        infinite where the expectation is. An upper bound of it gives a rate that holds as well.

    Returns
    -------
    rate : float or ndarray
        Rate in nats. Where the conjugate is infinite, a large number below it.

    Raises
    ------
    TypeError
        If the cumulant is not a function of a number.
    ValueError
        If a gap is not positive, or the cumulant is not 0 at 0 or not a number.

    See Also
    --------
    generalization_gap_probability_bound : Takes the smallest rate over all models.

    References
    ----------
    Boucheron, S., Lugosi, G. and Massart, P. (2013). Concentration inequalities. Oxford University
    Press, section 2.2.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.leakage.bounds import cramer_rate
    >>> round(cramer_rate(0.5, lambda t: 2.0 * t**2 / 2), 4)  # normal with variance 2
    0.0625
    >>> fair = lambda t: np.logaddexp(t, -t) - np.log(2)  # -1 or 1
    >>> cramer_rate([0.5, 0.9], fair).round(4)
    array([0.1308, 0.4946])
    """
    gap = check_numbers(gap, "gap", "positive and finite", SMALLEST)
    start = _evaluate_cumulant(cumulant, 0.0)
    if not abs(start) < 1e-9:
        raise ValueError(f"cumulant must be 0 at 0; got {start}.")
    rate = np.array([_conjugate(epsilon, cumulant) for epsilon in gap.ravel().tolist()]).reshape(
        gap.shape
    )
    return float(rate) if rate.ndim == 0 else rate


def _evaluate_cumulant(cumulant, slope):
    value = call_given(cumulant, "cumulant", "f(number)", slope)
    try:
        return float(value)
    except TypeError:
        raise TypeError(f"cumulant must return a number; got {show(value)}.") from None


def _conjugate(gap, cumulant):
    """Return the largest value of ``slope * gap - cumulant(slope)``, by golden-section search."""

    def height(slope):
        with np.errstate(over="ignore"):
            value = _evaluate_cumulant(cumulant, slope)
        if np.isnan(value):
            raise ValueError(f"cumulant must return numbers; got NaN at {slope:g}.")
        return slope * gap - value

    # The height is concave: once it falls, its top is passed.
    top = 1.0
    for _ in range(_MOST_DOUBLINGS):
        if not height(2 * top) > height(top):
            break
        top *= 2
    low, high = 0.0, 2 * top
    for _ in range(_N_STEPS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if height(left) < height(right):
            low = left
        else:
            high = right
    return max(height((low + high) / 2), 0.0)


def bounded_loss_accuracy(
    membership: ArrayLike, losses: ArrayLike, *, bound: float | None = None
) -> float:
    """Return the accuracy of an attacker who decides "non-member" with probability loss / bound.

    The attacker picks one record of a pair and decides that it is the non-member with a probability
    proportional to its loss. This is correct with probability ``1/2 + (e_R - e_D) / (2 * bound)``,
    where e_D and e_R are the mean losses of members and non-members: the gap between training and
    test loss is a lower bound of what leaks.

    Parameters
    ----------
    membership : array-like of shape (n,)
        1 for members, 0 for non-members.
    losses : array-like of shape (n,)
        Loss of the victim on each record, between 0 and ``bound``.
    bound : float, default=None
        Largest possible loss, such as 1 for the 0-1 loss. If None, the largest loss of the records.

    Returns
    -------
    accuracy : float
        Expected share of pairs with a correct prediction.

    Raises
    ------
    ValueError
        If a loss is negative or exceeds the bound.

    See Also
    --------
    skmia.games.leave_two_unlabeled : Game with other attackers of pairs.

    Examples
    --------
    >>> from skmia.leakage.bounds import bounded_loss_accuracy
    >>> bounded_loss_accuracy([1, 1, 0, 0], [0.0, 0.0, 1.0, 0.0], bound=1.0)
    0.75
    """
    membership, losses = check_bits(membership, "membership"), check_finite_vector(losses, "losses")
    membership = check_membership(membership, len(losses))
    largest = float(losses.max())
    bound = largest if bound is None else bound
    bound = float(check_number(bound, "bound", "a positive number", SMALLEST))
    if losses.min() < 0 or largest > bound:
        raise ValueError(
            f"losses must lie between 0 and the bound {bound:g}; "
            f"got {losses.min():g} to {largest:g}."
        )
    gap = losses[~membership].mean() - losses[membership].mean()
    return float(0.5 + gap / (2 * bound))
