"""Lower bound of epsilon from one run with many canaries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from numpy.typing import ArrayLike

from .._core.checks import check_confidence_level
from .._core.numbers import SMALLEST, check_number
from ._checks import GAUSSIAN, INDEPENDENT, ONE_RUN, check_choice, check_coins, choose_delta
from ._families import FAMILIES, make_family
from ._gaussian import gaussian_epsilon
from ._guesses import Guesses, best_over_guesses, check_n_guesses
from ._largest import with_largest
from ._one_run_any import bet_on_canaries, one_run_epsilon
from ._one_run_gaussian import one_run_mu
from ._one_run_order import order_parameter
from ._result import EpsilonBound

BOUNDS = ("any", "gdp", "order_statistics")


@dataclass(frozen=True)
class _Way:
    """How one of the bounds is computed.

    Its parameter is epsilon for any mechanism, or that of a family of mechanisms.
    """

    method: str
    assumption: str
    default: int  # number of guesses
    solve: Callable  # largest parameter that correct guesses, guesses and alpha reject
    epsilon: Callable  # of a parameter
    is_mu: bool


def _surest_tenth(m):
    return max(min(m, 50), m // 10)


def _make_any(m, delta, family):
    if 2 * m * delta > 1:
        raise ValueError(
            f"delta must be at most 1 / (2 * n_canaries) = {1 / (2 * m):.3g}; got {delta}."
        )
    return _Way(
        method="right guesses in one run against a binomial law",
        assumption=ONE_RUN,
        default=_surest_tenth(m),
        solve=lambda v, r, alpha: one_run_epsilon(v, r, m, delta, alpha),
        epsilon=float,
        is_mu=False,
    )


def _make_gdp(m, delta, family):
    return _Way(
        method="right guesses in one run against the laws of Gaussian differential privacy",
        assumption=GAUSSIAN + ONE_RUN,
        default=_surest_tenth(m),
        solve=lambda v, r, alpha: one_run_mu(v, r, m, alpha),
        epsilon=partial(gaussian_epsilon, delta=delta),
        is_mu=True,
    )


def _make_order(m, delta, family):
    return _Way(
        method="right guesses about the surest of many independent canaries in one run",
        assumption=INDEPENDENT.format(family=family.name) + ONE_RUN,
        default=max(1, m // 2),
        solve=lambda v, r, alpha: order_parameter(family, v, r, m, alpha),
        epsilon=partial(family.epsilon, delta=delta),
        is_mu=family.needs_delta,
    )


_WAYS = {"any": _make_any, "gdp": _make_gdp, "order_statistics": _make_order}


def needs_delta(bound, family):
    """Whether a bound is one of mu, whose epsilon is infinite at a delta of 0."""
    return bound == "gdp" or (bound == "order_statistics" and family == "gaussian")


def _check_family(family, sample_rate):
    check_choice(family, "family", FAMILIES)
    check_number(sample_rate, "sample_rate", "above 0 and at most 1", SMALLEST, 1)
    if sample_rate != 1 and family != "gaussian":
        raise ValueError(f"sample_rate={sample_rate} needs family='gaussian'; got {family!r}.")


def _use_bets(guesses, n_in, bound, delta, alpha):
    """Bet on one guess after the other, which needs no number of them."""
    if bound != "any" or n_in is not None:
        raise ValueError("n_guesses='any' needs bound='any' and n_in=None.")
    value, n = bet_on_canaries(guesses, delta, alpha)
    n_in = (n + 1) // 2
    counts = {
        "n_canaries": len(guesses.coins),
        "n_guesses": n,
        "n_correct": int(guesses.count_correct(n_in, n - n_in)),
    }
    return value, counts, guesses.frame(n_in, n - n_in)


@with_largest
def one_run_epsilon_lower_bound(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    bound: Literal["any", "gdp", "order_statistics"] = "any",
    family: Literal["gaussian", "laplace", "epsilon_delta"] = "gaussian",
    sample_rate: float = 1.0,
    delta: float | None = None,
    n_guesses: Literal["auto", "any"] | int | ArrayLike = "auto",
    n_in: int | None = None,
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
    bound : {"any", "gdp", "order_statistics"}, default="any"
        What is assumed of the mechanism.

        - ``"any"``: nothing.
        - ``"gdp"``: the trade-off curve of :math:`\mu`-Gaussian differential privacy.
        - ``"order_statistics"``: a mechanism of `family` that also answers each canary
          independently of the others, as noisy steps do that hold orthogonal gradients and are
          scored by :func:`trace_scores`. It is the highest. Losses of a trained model are not
          independent.
    family : {"gaussian", "laplace", "epsilon_delta"}, default="gaussian"
        Mechanism of ``bound="order_statistics"``: normal noise, Laplace noise, or randomized
        response that tells the coin with a probability of `delta`.
    sample_rate : float, default=1.0
        Probability with which a canary that is in takes part, in (0, 1], for a single step of
        ``family="gaussian"``.
    delta : float, default=None
        Probability delta: at most ``1 / (2 * n_canaries)`` for ``bound="any"``, above 0 if the
        mechanism is Gaussian. If None, 0, or 1e-5 for a Gaussian mechanism.
    n_guesses : "auto", "any", int or array-like of int, default="auto"
        Number of guesses. ``"auto"`` is a tenth of the canaries, at least 50 of them, or a half for
        ``bound="order_statistics"``. A single number must have been chosen without these coins. The
        best of several numbers is used, and each gets a share of the error probability. ``"any"``
        is for ``bound="any"``: bets on one guess after the other, the surest first, that may stop
        after any of them.
    n_in : int, default=None
        Number of guesses that are "in"; the others are "out". If None, half of them. It may depend
        on the scores, but not on the coins.
    confidence_level : float, default=0.95
        Confidence level of the bound, in (0, 1).

    Returns
    -------
    bound : EpsilonBound
        With ``guesses``, so that the counts can be checked, and with ``mu`` for a Gaussian
        mechanism. Infinite if no member of the family errs so rarely.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    See Also
    --------
    one_run_epsilon_bounds : The three bounds together.
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
    1000 canaries, and in 42% with 1000. Likewise, ``family="epsilon_delta"`` does not hold for
    every :math:`(\varepsilon, \delta)`-private mechanism.

    For T steps that each take a record with probability s and add noise of the multiplier
    :math:`\sigma`, ``sample_rate`` does not hold. Their trade-off curve is about the one of
    :math:`\mu`-Gaussian differential privacy with :math:`\mu = s \sqrt{T (e^{1/\sigma^2} - 1)}`,
    so ``sample_rate=1`` with ``family="gaussian"`` bounds this :math:`\mu`. That is a limit theorem
    and no exact law: with few steps or little noise it can be wrong.

    That ``"gdp"`` falls with more guesses is in the problem: more guesses are less sure ones, and a
    mechanism whose sureness is common to all canaries has any such curve. With 10, 36, 103 and 309
    wrong guesses of 100, 250, 500 and 1000 no bound for every such mechanism can exceed 2.7, 2.7,
    2.3 and 1.5; this one gives 2.5, 2.4, 2.0 and 1.3.

    The bets of ``n_guesses="any"`` form a process whose mean never exceeds 1 under the claim. They
    cost ``n_canaries * delta`` of the error probability. For many sharp answers they find about as
    much as the best number of guesses, which is not known beforehand.

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
    level = check_confidence_level(confidence_level)
    _check_family(family, sample_rate)
    delta = choose_delta(delta, needs_delta(check_choice(bound, "bound", BOUNDS), family))
    way = _WAYS[bound](len(coins), delta, make_family(family, delta, sample_rate))
    guesses = Guesses(coins, scores)
    if isinstance(n_guesses, str) and n_guesses == "any":
        value, counts, listed = _use_bets(guesses, n_in, bound, delta, 1 - level)
    else:
        tried = check_n_guesses(n_guesses, len(coins), way.default)
        found = best_over_guesses(guesses, tried, n_in, 1 - level, way.solve)
        value, counts, listed = found
    return EpsilonBound(
        epsilon=way.epsilon(value),
        confidence_level=level,
        delta=delta,
        method=way.method,
        assumption=way.assumption,
        counts=counts,
        mu=value if way.is_mu else None,
        guesses=listed,
    )
