"""Lower bound of epsilon from one run with many canaries."""

from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc, expit

from .._core.checks import check_confidence_level
from ._checks import GAUSSIAN, INDEPENDENT, ONE_RUN, check_coins, choose_delta
from ._gaussian import gaussian_epsilon
from ._guesses import best_over_guesses
from ._largest import with_largest
from ._one_run_gaussian import one_run_mu
from ._one_run_order import one_run_order_mu
from ._result import EpsilonBound

_METHODS = {
    "binomial": "right guesses in one run against a binomial law",
    "gaussian": "right guesses in one run against the laws of Gaussian differential privacy",
    "order_statistics": "right guesses about the surest of many independent canaries in one run",
}
_SOLVERS_OF_MU = {"gaussian": one_run_mu, "order_statistics": one_run_order_mu}
_ASSUMPTIONS = {
    "binomial": ONE_RUN,
    "gaussian": GAUSSIAN + ONE_RUN,
    "order_statistics": INDEPENDENT + ONE_RUN,
}


def one_run_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta):
    """Largest probability of this many correct guesses under (epsilon, delta)-privacy."""
    if n_correct == 0:
        return 1.0
    rate = expit(epsilon)
    if delta == 0:
        return float(betainc(n_correct, n_guesses - n_correct + 1, rate))
    j = np.arange(1, n_correct + 1)
    at_least = np.append(1.0, betainc(j, n_guesses - j + 1, rate))  # j or more are correct
    pure, i = at_least[-1], np.arange(1, n_correct + 1)
    worst = ((at_least[-2::-1] - pure) / i).max()
    return float(min(1.0, pure + 2 * n_canaries * delta * worst))


@lru_cache(maxsize=4096)
def one_run_epsilon(n_correct, n_guesses, n_canaries, delta, alpha):
    """The largest epsilon that this many correct guesses reject."""

    def excess(epsilon):
        return one_run_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta) - alpha

    # The p-value grows with epsilon as long as 2 m delta is at most 1.
    if excess(0.0) > 0:
        return 0.0
    high = 1.0
    while excess(high) <= 0:
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=1e-10))


@with_largest
def one_run_epsilon_lower_bound(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    method: Literal["binomial", "gaussian", "order_statistics"] = "binomial",
    delta: float | None = None,
    n_guesses: Literal["auto"] | int | ArrayLike = "auto",
    confidence_level: float = 0.95,
) -> EpsilonBound:
    r"""Lower bound of epsilon from one run with many canaries.

    A fair coin decides for each canary whether it takes part. Afterwards, the auditor guesses "in"
    for the canaries with the highest scores and "out" for the lowest, and abstains in between.
    Under :math:`\varepsilon`-privacy, the number of correct guesses is at most the number of
    successes of independent coins with probability :math:`e^\varepsilon / (1 + e^\varepsilon)`,
    although all canaries share one run. The same guesses say more of a mechanism that has the whole
    trade-off curve of :math:`\mu`-Gaussian differential privacy: 100 right ones of 100 among 500
    canaries show an epsilon of 3.5 for any mechanism and of 6.1 for a Gaussian one, at 95% and a
    delta of 1e-5. The difference is the assumption's.

    Parameters
    ----------
    y_true : array-like of shape (n_canaries,)
        Coin flips: 1 for canaries that took part.
    y_score : array-like of shape (n_canaries,)
        Finite scores, higher means more likely in.
    method : {"binomial", "gaussian", "order_statistics"}, default="binomial"
        ``"binomial"`` makes no assumption on the mechanism; ``"gaussian"`` is higher, and holds for
        mechanisms that are like a Gaussian one. ``"order_statistics"`` is the highest, and holds if
        such a mechanism also answers each canary independently of the others, as noisy steps do
        that hold orthogonal gradients and are scored by :func:`trace_scores`; losses of a trained
        model are not independent.
    delta : float, default=None
        Probability delta: at most ``1 / (2 * n_canaries)`` for ``method="binomial"``, in (0, 1) for
        the others. If None, 0 and 1e-5.
    n_guesses : "auto", int or array-like of int, default="auto"
        Number of guesses, half of them "in". A single number must have been chosen without these
        scores. The best of several numbers is used, and each gets a share of the error probability;
        ``"auto"`` tries all canaries, a half, a quarter and an eighth of them.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    bound : EpsilonBound
        With ``mu`` for ``"gaussian"`` and ``"order_statistics"``.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    epsilon_lower_bound : Bound from many runs.
    OneRunAudit : Audit that performs the run.

    Notes
    -----
    With :math:`v` right of :math:`r` guesses about :math:`m` canaries, :math:`\varepsilon` is
    rejected where :math:`P(B \ge v) + 2 m \delta \max_i P(v > B \ge v - i) / i` is at most one
    minus the confidence, for a binomial :math:`B` of :math:`r` trials.

    With independent canaries the wrong guesses about the r surest of m are counts of a mixture of
    binomial laws: an answer at the quantile w of sureness or above is misjudged with a known mean
    probability, and the quantile of the surest canary without a guess has the law Beta(m - r,
    r + 1). A mechanism that is equally sure of all canaries at once has the same trade-off curve
    and would exceed this bound too often: at mu = 1 in 11% of the audits with 100 guesses about
    1000 canaries, and in 42% with 1000.

    Among equal scores the guesses are taken to be wrong ones first, so that the bound does not
    depend on the order of the canaries. With all of r guesses right it is about
    ``log(r / log(1 / alpha))``: 3.5 for 100 and 5.8 for 1000 at 95%.

    References
    ----------
    Steinke, T., Nasr, M. and Jagielski, M. (2023). Privacy auditing with one (1) training run.
    NeurIPS.

    Mahloujifar, S., Melis, L. and Chaudhuri, K. (2025). Auditing f-differential privacy in one run.
    ICML.

    Xiang, Z., Wang, T., Xiao, H., Tian, Y. and Wang, D. (2025). Tight privacy audit in one run.
    arXiv:2509.08704.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import one_run_epsilon_lower_bound
    >>> rng = np.random.default_rng(0)
    >>> coins = rng.integers(2, size=1000)
    >>> right = rng.random(1000) < np.exp(2) / (1 + np.exp(2))  # randomized response, epsilon 2
    >>> bound = one_run_epsilon_lower_bound(coins, coins == right, n_guesses=1000)
    >>> bool(1.5 < bound.epsilon < 2)
    True
    """
    coins, scores = check_coins(y_true, y_score)
    level, delta = check_confidence_level(confidence_level), choose_delta(delta, method, _METHODS)
    m = len(coins)
    if method == "binomial" and 2 * m * delta > 1:
        raise ValueError(
            f"delta must be at most 1 / (2 * n_canaries) = {1 / (2 * m):.3g}; got {delta}."
        )

    def solve(n_correct, n_tried, alpha):
        if method in _SOLVERS_OF_MU:
            return _SOLVERS_OF_MU[method](n_correct, n_tried, m, alpha)
        return one_run_epsilon(n_correct, n_tried, m, delta, alpha)

    value, counts = best_over_guesses(coins, scores, n_guesses, 1 - level, solve)
    found = {"epsilon": value}
    if method in _SOLVERS_OF_MU:
        found = {"epsilon": gaussian_epsilon(value, delta), "mu": value}
    return EpsilonBound(
        **found,
        confidence_level=level,
        delta=delta,
        method=_METHODS[method],
        assumption=_ASSUMPTIONS[method],
        counts=counts,
    )
