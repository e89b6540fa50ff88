"""Bounds of the best attacker's success from a generalization gap or differential privacy."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from .._core.checks import check_option
from .._core.numbers import SMALLEST, check_broadcast, check_numbers
from .._core.types import FloatOrArray

# A gap is a difference of means, so rounding may take it beyond the possible range.
_ROUNDING = 1e-9

# Halvings after which an interval within [0, 1] is shorter than a float64 can tell.
N_HALVINGS = 64


def check_baseline(baseline, lowest=0.5):
    allowed = f"a fraction in [{lowest}, 1)" if lowest else "a fraction in (0, 1)"
    return check_numbers(baseline, "baseline", allowed, lowest or SMALLEST, np.nextafter(1, 0))


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
    """Lower bound of the best attacker's success from the gap of a bounded loss.

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
    GeneralizationGapBound : The same with a confidence interval, from records.

    Notes
    -----
    A small gap promises nothing: the bound is one-sided, and a model with a gap next to 0 may give
    away every member. The published theorem is the case ``nonnegative=False``; a loss that is never
    negative can be centered first, which doubles the margin.

    References
    ----------
    del Grosso, G., Pichler, G., Palamidessi, C. and Piantanida, P. (2023). Bounding information
    leakage in machine learning. Neurocomputing 534, theorem 2.

    Examples
    --------
    >>> from skmia.leakage import bounded_loss_success_bound
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
    """Lower bound of the total variation for a loss with P(|R| >= r) <= 2 exp(-(r/scale)**power).

    The loss is cut at ``R = scale * t**(1/power)``. What is cut off changes each of the two means
    by no more than a constant times ``exp(-t)``.
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
    """Largest value over t in [log 2, 700], of every element: a logarithmic grid, then sections.

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
    """Lower bound of the best attacker's success from the gap of a sub-Gaussian loss.

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
    >>> from skmia.leakage import subgaussian_loss_success_bound
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
    """Lower bound of the best attacker's success from the gap of a squared loss.

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
    GaussianRegressionAttacker : The exact success in a case that this bound covers.

    References
    ----------
    del Grosso, G. et al. (2023). Bounding information leakage in machine learning. Neurocomputing
    534, theorem 4.

    Examples
    --------
    >>> from skmia.leakage import subexponential_loss_success_bound
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
    """Membership advantage that no attack on a differentially private model can exceed.

    The difference between the advantages of one attack on two groups of records is at most twice
    that; between the best attacks on each group, at most that.

    Parameters
    ----------
    epsilon : float or array-like
        Privacy parameter for adding, removing or replacing one record, whichever the attack is to
        tell apart; in nats.
    delta : float or array-like, default=0.0
        Probability delta, in [0, 1].
    form : {"tight", "printed"}, default="tight"
        ``"tight"`` is ``(exp(epsilon) - 1 + 2 * delta) / (exp(epsilon) + 1)``, which randomized
        response reaches. ``"printed"`` is the older ``min(1, exp(epsilon) - 1 + delta)``, which
        says nothing from epsilon = log(2) on; O'Dell prints it for delta = 0.

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
    >>> from skmia.leakage import dp_advantage_bound
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
