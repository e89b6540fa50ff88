"""The bound from two error rates of many runs, for any mechanism."""

from functools import partial

import numpy as np

from .._core.checks import check_confidence_level, check_membership_scores
from ._checks import MULTI_RUN, check_copies, check_delta
from ._largest import with_largest
from ._result import EpsilonBound
from ._thresholds import choose_threshold, describe_threshold


def group_delta(epsilon, delta, n_copies):
    """Delta of a group: delta * (1 + exp(epsilon) + ... + exp((n_copies - 1) * epsilon))."""
    if delta == 0:
        return np.zeros_like(epsilon)
    return delta * np.exp(np.multiply.outer(epsilon, np.arange(n_copies))).sum(axis=-1)


def _largest_epsilon(numerator, denominator, delta, n_copies):
    """Epsilon at which numerator = exp(k epsilon) denominator + delta of the group; 0 if none."""
    high = np.log(np.maximum(numerator / denominator, 1.0)) / n_copies
    if n_copies == 1:
        return np.log(np.maximum((numerator - delta) / denominator, 1.0))
    if delta == 0:
        return high
    low = np.zeros_like(high)
    for _ in range(60):
        middle = (low + high) / 2
        needed = np.exp(n_copies * middle) * denominator + group_delta(middle, delta, n_copies)
        met = numerator >= needed
        low, high = np.where(met, middle, low), np.where(met, high, middle)
    return low


def epsilon_of_rates(fpr, fnr, delta=0.0, n_copies=1):
    """The least epsilon with which error rates as high as these are compatible."""
    return np.maximum(
        _largest_epsilon(1 - fnr, fpr, delta, n_copies),
        _largest_epsilon(1 - fpr, fnr, delta, n_copies),
    )


@with_largest
def epsilon_lower_bound(
    y_true,
    y_score,
    *,
    delta=0.0,
    threshold="bonferroni",
    n_copies=1,
    confidence_level=0.95,
    random_state=None,
):
    r"""Lower bound of epsilon from the scores of many runs, for any mechanism.

    An (epsilon, delta)-private mechanism lets no attacker distinguish neighboring data sets with
    ``TPR > exp(epsilon) * FPR + delta``, nor with the rates of the other guess. From runs on both
    data sets the two error rates are bounded (Clopper-Pearson), and with them epsilon.

    Parameters
    ----------
    y_true : array-like of shape (n_runs,)
        1 for runs with the canary, 0 for runs without.
    y_score : array-like of shape (n_runs,)
        Finite scores, higher means more likely a run with the canary; guesses (0 or 1) with
        ``threshold=0.5`` will do.
    delta : float, default=0.0
        Probability delta, in [0, 1).
    threshold : {"bonferroni", "split", "multisplit"}, float or array-like, default="bonferroni"
        Where the guess turns to "with the canary". A number must have been chosen without these
        runs. Of several numbers the best is taken, and each is given its share of the error
        allowed. ``"bonferroni"`` does that for all thresholds; ``"split"`` chooses on a random half
        of the runs and bounds on the other; ``"multisplit"`` takes the median of 100 such splits,
        each with half of the error allowed.
    n_copies : int, default=1
        How many records the two data sets differ in.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Draws the halves.

    Returns
    -------
    bound : EpsilonBound

    Raises
    ------
    ValueError
        If runs with the canary or runs without it are missing, or a parameter is out of range.

    See Also
    --------
    gaussian_epsilon_lower_bound : Higher, if the mechanism is like a Gaussian one.
    one_run_epsilon_lower_bound : One run with many canaries.

    Notes
    -----
    The two limits share the error allowed. With :math:`k` copies of the canary the mechanism lets
    :math:`\mathrm{TPR} \le e^{k \varepsilon} \mathrm{FPR} + \delta (e^{k \varepsilon} - 1) /
    (e^\varepsilon - 1)`; the bound solves it for :math:`\varepsilon`.

    The number is a lower bound. It is at most 4.9 for 500 runs with the canary and 500 without,
    whatever the mechanism; far below an upper bound, it may be the attack or the number of runs
    that is too weak.

    References
    ----------
    Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing differentially private machine
    learning: how private is private SGD? NeurIPS.

    Meinshausen, N., Meier, L. and Bühlmann, P. (2009). p-values for high-dimensional regression.
    JASA 104.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import epsilon_lower_bound
    >>> with_canary = np.repeat([1, 0], 500)
    >>> bound = epsilon_lower_bound(with_canary, with_canary, delta=1e-5, threshold=0.5)
    >>> round(bound.epsilon, 3)
    4.906
    >>> print(bound.summary().splitlines()[0])
    epsilon >= 4.906 at confidence 0.95, delta = 1e-05
    """
    membership, scores = check_membership_scores(y_true, y_score)
    level, delta = check_confidence_level(confidence_level), check_delta(delta)
    n_copies = check_copies(n_copies)
    measure = partial(epsilon_of_rates, delta=delta, n_copies=n_copies)
    choice = choose_threshold(membership, scores, measure, threshold, level, random_state)
    return EpsilonBound(
        epsilon=max(0.0, choice.value),
        confidence_level=level,
        delta=delta,
        method=f"Clopper-Pearson limits of error rates, threshold {describe_threshold(threshold)}",
        assumption=MULTI_RUN,
        counts=choice.counts | {"n_copies": n_copies},
        threshold=choice.threshold,
    )
