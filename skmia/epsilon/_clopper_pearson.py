"""Lower bound of epsilon from the two error rates of many runs."""

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from .._core.checks import check_confidence_level, check_membership_scores
from .._core.types import Seed
from ._checks import GAUSSIAN, MULTI_RUN, check_choice, check_copies, choose_delta
from ._gaussian import gaussian_epsilon, mu_of_rates
from ._largest import with_largest
from ._result import EpsilonBound
from ._thresholds import choose_threshold, describe_threshold

_METHODS = {
    "clopper_pearson": "Clopper-Pearson limits of error rates",
    "gaussian": "Clopper-Pearson limits of mu",
}


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
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    method: Literal["clopper_pearson", "gaussian"] = "clopper_pearson",
    delta: float | None = None,
    threshold: Literal["bonferroni", "split", "multisplit"] | ArrayLike | float = "bonferroni",
    n_copies: int = 1,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> EpsilonBound:
    r"""Lower bound of epsilon from the scores of many runs.

    An (epsilon, delta)-private mechanism lets no attacker distinguish neighboring data sets with
    ``TPR > exp(epsilon) * FPR + delta``, nor with the rates of the other guess. From runs on both
    data sets the two error rates are bounded (Clopper-Pearson), and with them epsilon. A mechanism
    with :math:`\mu`-Gaussian differential privacy lets no attacker reach more than
    :math:`\mathrm{TPR} = \Phi(\Phi^{-1}(\mathrm{FPR}) + \mu)`; the same error rates then bound
    :math:`\mu`, which decides epsilon at each delta, also at deltas that no number of runs could
    resolve.

    Parameters
    ----------
    y_true : array-like of shape (n_runs,)
        1 for runs with the canary, 0 for runs without.
    y_score : array-like of shape (n_runs,)
        Finite scores, higher means more likely a run with the canary; predictions (0 or 1) with
        ``threshold=0.5`` are also accepted.
    method : {"clopper_pearson", "gaussian"}, default="clopper_pearson"
        ``"clopper_pearson"`` makes no assumption on the mechanism; ``"gaussian"`` is higher, and
        holds for mechanisms that are like a Gaussian one.
    delta : float, default=None
        Probability delta, in [0, 1). If None, 0, and 1e-5 for ``method="gaussian"``, which has no
        finite epsilon at 0.
    threshold : {"bonferroni", "split", "multisplit"}, float or array-like, default="bonferroni"
        Threshold from which on a run is predicted to have the canary. A number must have been
        chosen without these runs. The best of several numbers is used, and each gets a share of the
        error probability. ``"bonferroni"`` does that for all thresholds; ``"split"`` chooses on a
        random half of the runs and bounds on the other; ``"multisplit"`` takes the median of 100
        such splits, each with half of the error allowed.
    n_copies : int, default=1
        Number of records in which the two data sets differ; the bound is for one record.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).
    random_state : int, RandomState instance or None, default=None
        Controls the draw of the halves.

    Returns
    -------
    bound : EpsilonBound
        With ``mu`` for ``method="gaussian"``.

    Raises
    ------
    ValueError
        If runs with the canary or runs without it are missing, or a parameter is out of range.

    See Also
    --------
    bayesian_epsilon_interval : Interval of epsilon under a prior of the error rates.
    one_run_epsilon_lower_bound : Bound from one run with many canaries.

    Notes
    -----
    The two limits share the error allowed. With :math:`k` copies of the canary the mechanism lets
    :math:`\mathrm{TPR} \le e^{k \varepsilon} \mathrm{FPR} + \delta (e^{k \varepsilon} - 1) /
    (e^\varepsilon - 1)`; the bound solves it for :math:`\varepsilon`. The :math:`\mu` of a group
    is divided by :math:`k`.

    The Gaussian bound is as good as its assumption. Noise on sums of whole data sets keeps it
    exactly. Steps on samples of the rows keep it in the limit of many steps; a mechanism of another
    kind, such as randomized response, may break it, and the bound then exceeds its epsilon.

    The number is a lower bound. It is at most 4.9 for 500 runs with the canary and 500 without,
    whatever the mechanism; far below an upper bound, it may be the attack or the number of runs
    that is too weak.

    References
    ----------
    Jagielski, M., Ullman, J. and Oprea, A. (2020). Auditing differentially private machine
    learning: how private is private SGD? NeurIPS.

    Nasr, M., Hayes, J., Steinke, T., Balle, B., Tramèr, F., Jagielski, M., Carlini, N. and Terzis,
    A. (2023). Tight auditing of differentially private machine learning. USENIX Security.

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
    >>> scores = np.random.default_rng(0).normal(size=1000) + with_canary
    >>> bound = epsilon_lower_bound(with_canary, scores, method="gaussian")
    >>> bool(1.5 < bound.epsilon < 4.3772)  # the truth
    True
    """
    membership, scores = check_membership_scores(y_true, y_score)
    level = check_confidence_level(confidence_level)
    delta = choose_delta(delta, check_choice(method, "method", _METHODS) == "gaussian")
    n_copies = check_copies(n_copies)
    measure = mu_of_rates
    if method != "gaussian":
        measure = partial(epsilon_of_rates, delta=delta, n_copies=n_copies)
    choice = choose_threshold(membership, scores, measure, threshold, level, random_state)
    found = {"epsilon": max(0.0, choice.value), "assumption": MULTI_RUN}
    if method == "gaussian":
        mu = max(0.0, choice.value) / n_copies
        found = {
            "epsilon": gaussian_epsilon(mu, delta),
            "assumption": GAUSSIAN + MULTI_RUN,
            "mu": mu,
        }
    return EpsilonBound(
        **found,
        confidence_level=level,
        delta=delta,
        method=f"{_METHODS[method]}, threshold {describe_threshold(threshold)}",
        counts=choice.counts | {"n_copies": n_copies},
        threshold=choice.threshold,
    )
