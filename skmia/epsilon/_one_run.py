"""Lower bound of epsilon from one run with many canaries."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.optimize import brentq
from scipy.special import betainc, betaincinv, expit, log_expit, logsumexp, ndtr, ndtri

from .._core.metric_inputs import check_confidence_level, check_option
from .._core.numbers import SMALLEST, check_number
from .._core.tradeoff import privacy_budget
from .._core.types import ArrayLike
from ._result import (
    GAUSSIAN,
    INDEPENDENT,
    ONE_RUN,
    EpsilonBound,
    check_coins,
    choose_audited_delta,
)
from .bounds import find_root, gaussian_epsilon, saying_direction, with_largest

_N_CELLS = 8000  # of the law of one answer
_REACH = 10.0  # standard deviations beyond the means


@lru_cache(maxsize=1024)
def _solve_budget(delta, mu, rate):
    return float(privacy_budget(delta, mu, rate))


# What the bound of independent canaries asks of a family: law(parameter) gives the posterior errors
# of the best guess about one canary and their masses; epsilon(parameter, delta) the privacy of this
# member.


@dataclass(frozen=True)
class GaussianNoiseLaw:
    """Normal laws a distance of mu apart; a canary takes part with a probability of `rate`."""

    rate: float = 1.0

    @property
    def name(self):
        return "a Gaussian mechanism" if self.rate == 1 else "a sub-sampled Gaussian mechanism"

    def law(self, mu):
        # The mass of a cell comes from the distribution functions, and the error from its middle.
        edges = np.linspace(-_REACH, mu + _REACH, _N_CELLS + 1)
        x = (edges[:-1] + edges[1:]) / 2
        inside = np.log(self.rate) + mu * x - mu**2 / 2
        log_ratio = np.logaddexp(np.log1p(-self.rate), inside) if self.rate < 1 else inside
        out, moved = np.diff(ndtr(edges)), np.diff(ndtr(edges - mu))
        return expit(-np.abs(log_ratio)), (2 - self.rate) * out + self.rate * moved

    def epsilon(self, mu, delta):
        return _solve_budget(delta, mu, self.rate)


@dataclass(frozen=True)
class LaplaceNoiseLaw:
    """Laplace noise; the parameter is the shift by a canary, in scales of the noise."""

    name: ClassVar[str] = "a Laplace mechanism"

    def law(self, shift):
        x = (np.arange(_N_CELLS) + 0.5) * (shift / _N_CELLS)
        mass = (np.exp(-x) + np.exp(x - shift)) / 4 * (shift / _N_CELLS)
        sure = (1 + np.exp(-shift)) / 2
        error = expit(-np.abs(np.append(2 * x - shift, shift)))
        return error, np.append(mass * ((1 - sure) / max(mass.sum(), 1e-300)), sure)

    def epsilon(self, shift, delta):
        return max(0.0, float(shift + 2 * np.log1p(-delta)))


@dataclass(frozen=True)
class EpsilonDelta:
    """Randomized response that tells the coin with a probability of delta."""

    delta: float
    name: ClassVar[str] = "randomized response that is exact with probability delta"

    def law(self, epsilon):
        return np.array([expit(-epsilon), 0.0]), np.array([1 - self.delta, self.delta])

    def epsilon(self, epsilon, delta):
        return float(epsilon)


# Functions of delta and the rate of sampling.
FAMILIES = {
    "gaussian": lambda delta, rate: GaussianNoiseLaw(float(rate)),
    "laplace": lambda delta, rate: LaplaceNoiseLaw(),
    "epsilon_delta": lambda delta, rate: EpsilonDelta(delta),
}


def check_n_guesses(n_guesses, n_canaries, default):
    """Return the numbers of guesses to try, in descending order."""
    if isinstance(n_guesses, str) and n_guesses == "auto":
        return [default]
    tried = np.atleast_1d(np.asarray(n_guesses, dtype=object)).tolist()
    allowed = f"'auto', 'any' or integers from 1 to the number of canaries, {n_canaries}"
    for number in tried:
        check_number(number, "n_guesses", allowed, 1, n_canaries, whole=True)
    if not tried:
        raise ValueError("n_guesses must hold at least one number; got none.")
    return sorted({int(number) for number in tried}, reverse=True)


def split_guesses(n_in, n_guesses):
    """Return how many guesses are "in", for each number of guesses; the odd one is."""
    if n_in is None:
        return [(r + 1) // 2 for r in n_guesses]
    least = min(n_guesses)
    allowed = f"None or an integer from 0 to n_guesses, {least}"
    check_number(n_in, "n_in", allowed, 0, least, whole=True)
    return [int(n_in)] * len(n_guesses)


class RankedGuesses:
    """Guesses of "in" for the highest scores and of "out" for the lowest.

    Among equal scores, wrong guesses come first. Otherwise, an uninformative score would be a
    perfect attack if members are listed first.
    """

    def __init__(self, coins, scores):
        self.coins, self.scores = coins, scores
        self.highest = np.lexsort((coins, -scores))
        self.lowest = np.lexsort((~coins, scores))
        self._hits = np.append(0, np.cumsum(coins[self.highest]))
        self._rejections = np.append(0, np.cumsum(~coins[self.lowest]))

    def count_correct(self, n_in, n_out):
        """Count the right ones of so many guesses; integers or arrays of them."""
        return self._hits[n_in] + self._rejections[n_out]

    def frame(self, n_in, n_out):
        """List the guesses, the surest of either side first."""
        inside = self.highest[:n_in]
        free = np.ones(len(self.coins), dtype=bool)
        free[inside] = False  # both sides may reach into the same equal scores
        outside = self.lowest[free[self.lowest]][:n_out]
        canary = np.concatenate([inside, outside])
        guess = np.arange(len(canary)) < n_in
        columns = {"canary": canary, "guess": np.where(guess, "in", "out")}
        columns |= {"score": self.scores[canary], "correct": guess == self.coins[canary]}
        return pd.DataFrame(columns)


def best_over_guesses(guesses, tried, n_in, alpha, solve):
    """Return largest bound over numbers of guesses, each with its share of the error allowed."""
    inside = split_guesses(n_in, tried)
    correct = [int(guesses.count_correct(k, r - k)) for k, r in zip(inside, tried, strict=True)]
    values = [solve(v, r, alpha / len(tried)) for v, r in zip(correct, tried, strict=True)]
    best = int(np.argmax(values))
    counts = {
        "n_canaries": len(guesses.coins),
        "n_guesses": tried[best],
        "n_correct": correct[best],
        "numbers_of_guesses_tried": len(tried),
    }
    return values[best], counts, guesses.frame(inside[best], tried[best] - inside[best])


# How much more often than the claim allows the bets expect to be right, in log odds.
_EDGES = np.geomspace(0.05, 8, 32)


def one_run_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta):
    """Return largest probability of this many correct guesses under (epsilon, delta)-privacy."""
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
    """Return the largest epsilon that this many correct guesses reject."""

    def excess(epsilon):
        return one_run_pvalue(epsilon, n_correct, n_guesses, n_canaries, delta) - alpha

    # The p-value grows with epsilon as long as 2 m delta is at most 1.
    return find_root(excess, xtol=1e-10)


def log_wealth_of_guesses(epsilon, n_correct):
    """Return the logarithm of the wealth of bets against epsilon, after each guess.

    A guess is right with a probability of at most q = expit(epsilon), whatever came before. A bet
    multiplies the wealth by p / q if it is, and by (1 - p) / (1 - q) if not; the wealth is the mean
    over values of p, and exceeds 1 / alpha at any time with a probability of at most alpha.
    """
    n_wrong = np.arange(1, len(n_correct) + 1) - n_correct
    expected = epsilon + _EDGES
    right = log_expit(expected) - log_expit(epsilon)
    wrong = log_expit(-expected) - log_expit(-epsilon)
    logs = np.multiply.outer(n_correct, right) + np.multiply.outer(n_wrong, wrong)
    return logsumexp(logs, axis=1) - np.log(len(_EDGES))


def bet_on_canaries(guesses, delta, alpha):
    """Return the largest epsilon that bets on the guesses, one after the other, reject.

    The surest of either side come first, in turns. A canary is treated worse than epsilon alone
    allows with a probability of at most delta.
    """
    n = len(guesses.coins)
    if n * delta >= alpha:
        raise ValueError(
            f"n_guesses='any' needs a delta below {alpha / n:.3g}, (1 - confidence_level) / "
            f"n_canaries; got {delta}. Choose a number of guesses."
        )
    made = np.arange(1, n + 1)
    n_correct = guesses.count_correct((made + 1) // 2, made // 2)
    enough = -np.log(alpha - n * delta)

    def excess(epsilon):
        return log_wealth_of_guesses(epsilon, n_correct).max() - enough

    # The wealth falls with epsilon, because both factors of each bet do.
    if excess(0.0) <= 0:
        return 0.0, n
    found = float(brentq(excess, 0.0, np.log(n) + 2, xtol=1e-7))
    return found, int(log_wealth_of_guesses(found, n_correct).argmax()) + 1


_RESOLUTION = 1e-7  # of mu


def rejects_mu(mu, n_correct, n_guesses, n_canaries, alpha):
    """Whether this many correct guesses are too many for mu-Gaussian differential privacy."""
    right = alpha * n_correct / n_canaries
    wrong = alpha * (n_guesses - n_correct) / n_canaries
    for i in range(n_correct - 1, -1, -1):
        least = max(wrong, float(ndtr(ndtri(right) - mu)))
        right += i / (n_guesses - i) * (least - wrong)
        wrong = least
        if right + wrong > n_guesses / n_canaries:  # neither of them falls any more
            return True
    return right + wrong > n_guesses / n_canaries


@lru_cache(maxsize=4096)
def one_run_mu(n_correct, n_guesses, n_canaries, alpha):
    """Return the largest mu that this many correct guesses reject."""

    def rejected(mu):
        return rejects_mu(mu, n_correct, n_guesses, n_canaries, alpha)

    if not rejected(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while rejected(high):
        low, high = high, 2 * high
    while high - low > _RESOLUTION:
        middle = (low + high) / 2
        low, high = (middle, high) if rejected(middle) else (low, middle)
    return low


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)
# Normal laws so far apart are told apart in double precision.
_FARTHEST = 64.0


class _GuessErrors:
    """Posterior errors of the best guess about one canary, from the least sure answer on."""

    def __init__(self, error, mass):
        order = np.argsort(-error, kind="stable")
        self._error, mass = error[order], mass[order] / mass.sum()
        self._high = np.cumsum(mass)
        self._beyond = np.append(np.cumsum((self._error * mass)[::-1])[::-1], 0.0)

    def mean_above(self, w):
        """Return the mean error of the answers that are surer than a share of w."""
        j = np.minimum(np.searchsorted(self._high, w, side="right"), len(self._high) - 1)
        total = self._error[j] * np.maximum(self._high[j] - w, 0) + self._beyond[j + 1]
        return np.minimum(total / (1 - w), 0.5)


def order_pvalue(family, parameter, n_correct, n_guesses, n_canaries):
    """Return the probability of this few wrong guesses about the surest canaries."""
    n_wrong = n_guesses - n_correct
    if n_correct == 0:
        return 1.0
    errors, left_out = _GuessErrors(*family.law(parameter)), n_canaries - n_guesses
    if left_out == 0:
        rate = errors.mean_above(np.zeros(1))
        return float(betainc(n_correct, n_wrong + 1, 1 - rate)[0])
    # The quantile of the surest canary without a guess has a beta law.
    shares = betaincinv(left_out, n_guesses + 1, (_NODES + 1) / 2)
    rates = errors.mean_above(np.minimum(shares, 1 - 1e-12))
    return float(_WEIGHTS @ betainc(n_correct, n_wrong + 1, 1 - rates) / 2)


@lru_cache(maxsize=1024)
def order_parameter(family, n_correct, n_guesses, n_canaries, alpha):
    """Return the largest parameter of a family that this many correct guesses reject."""

    def excess(parameter):
        return order_pvalue(family, parameter, n_correct, n_guesses, n_canaries) - alpha

    # A sub-sampled mechanism errs however far the laws are apart.
    return find_root(excess, farthest=_FARTHEST, xtol=1e-7)


BOUNDS = ("any", "gdp", "order_statistics")


@dataclass(frozen=True)
class _BoundMethod:
    """How one of the bounds is computed.

    Its parameter is epsilon for any mechanism, or that of a family of mechanisms.
    """

    method: str
    assumption: str
    default: int  # number of guesses
    solve: Callable  # largest parameter that correct guesses, guesses and alpha reject
    epsilon: Callable  # of a parameter


def _surest_tenth(m):
    return max(min(m, 50), m // 10)


def _make_any(m, delta, family):
    if 2 * m * delta > 1:
        raise ValueError(
            f"delta must be at most 1 / (2 * n_canaries) = {1 / (2 * m):.3g}; got {delta}."
        )
    return _BoundMethod(
        method="right guesses in one run against a binomial law",
        assumption=ONE_RUN,
        default=_surest_tenth(m),
        solve=lambda v, r, alpha: one_run_epsilon(v, r, m, delta, alpha),
        epsilon=float,
    )


def _make_gdp(m, delta, family):
    return _BoundMethod(
        method="right guesses in one run against the laws of Gaussian differential privacy",
        assumption=GAUSSIAN + ONE_RUN,
        default=_surest_tenth(m),
        solve=lambda v, r, alpha: one_run_mu(v, r, m, alpha),
        epsilon=partial(gaussian_epsilon, delta=delta),
    )


def _make_order(m, delta, family):
    return _BoundMethod(
        method="right guesses about the surest of many independent canaries in one run",
        assumption=INDEPENDENT.format(family=family.name) + ONE_RUN,
        default=max(1, m // 2),
        solve=lambda v, r, alpha: order_parameter(family, v, r, m, alpha),
        epsilon=partial(family.epsilon, delta=delta),
    )


_WAYS = {"any": _make_any, "gdp": _make_gdp, "order_statistics": _make_order}


def needs_delta(bound, family):
    """Return whether a bound is one of mu, whose epsilon is infinite at a delta of 0."""
    return bound == "gdp" or (bound == "order_statistics" and family == "gaussian")


def _check_family(family, sample_rate):
    check_option(family, "family", FAMILIES)
    check_number(sample_rate, "sample_rate", "above 0 and at most 1", SMALLEST, 1)
    if sample_rate != 1 and family != "gaussian":
        raise ValueError(f"sample_rate={sample_rate} needs family='gaussian'; got {family!r}.")


def _use_bets(guesses, n_in, bound, delta, alpha):
    """Bet on one guess after the other, which needs no number of them."""
    if bound != "any" or n_in is not None:
        raise ValueError("n_guesses='any' needs bound='any' and n_in=None.")
    value, n = bet_on_canaries(guesses, delta, alpha)
    n_in = (n + 1) // 2
    n_correct = int(guesses.count_correct(n_in, n - n_in))
    counts = {"n_canaries": len(guesses.coins), "n_guesses": n, "n_correct": n_correct}
    return value, counts, guesses.frame(n_in, n - n_in)


@saying_direction
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
    r"""Return the lower bound of epsilon from one run with many canaries.

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
          scored by ``trace_scores``. It is the highest. Losses of a trained model are not
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

    Warns
    -----
    UserWarning
        If ``-y_score`` would show more, at half of the error allowed: the scores are the wrong way
        round, as losses are.

    See Also
    --------
    one_run_epsilon_bounds : The three bounds together.
    skmia.epsilon.bounds.epsilon_lower_bound : Bound from many runs.
    OneRunAudit : Audit that performs the run.

    Notes
    -----
    With :math:`v` right of :math:`r` guesses about :math:`m` canaries, :math:`\varepsilon` is
    rejected where :math:`P(B \ge v) + 2 m \delta \max_i P(v > B \ge v - i) / i` is at most one
    minus the confidence, for a binomial :math:`B` of :math:`r` trials.

    With independent canaries the wrong guesses about the r surest of m are counts of a mixture of
    binomial laws: an answer at the quantile w of sureness or above is misjudged with a known mean
    probability, and the quantile of the surest canary without a guess has the law Beta(m - r, r +
    1). A mechanism that is equally sure of all canaries at once has the same trade-off curve and
    would exceed this bound too often: at mu = 1 in 42% of the audits with 1000 guesses about 1000
    canaries. Likewise, ``family="epsilon_delta"`` does not hold for every :math:`(\varepsilon,
    \delta)`-private mechanism.

    ``sample_rate`` does not hold for T steps that each take a record with probability s and add
    noise of the multiplier :math:`\sigma`. Their trade-off curve is about the one of
    :math:`\mu`-Gaussian differential privacy with :math:`\mu = s \sqrt{T (e^{1/\sigma^2} - 1)}`,
    which ``sample_rate=1`` with ``family="gaussian"`` bounds. That is a limit theorem: with few
    steps or little noise it can be wrong.

    ``"gdp"`` falls with more guesses, because more guesses are less sure ones, and a mechanism
    whose sureness is common to all canaries has any such curve. The bets of ``n_guesses="any"``
    form a process whose mean never exceeds 1 under the claim, and cost ``n_canaries * delta`` of
    the error probability. Among equal scores the guesses are taken to be wrong ones first, so that
    the bound does not depend on the order of the canaries. With all of r guesses right it is about
    ``log(r / log(1 / alpha))``.

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
    is_mu = needs_delta(check_option(bound, "bound", BOUNDS), family)
    delta = choose_audited_delta(delta, is_mu)
    way = _WAYS[bound](len(coins), delta, FAMILIES[family](delta, sample_rate))
    guesses = RankedGuesses(coins, scores)
    if isinstance(n_guesses, str) and n_guesses == "any":
        value, counts, listed = _use_bets(guesses, n_in, bound, delta, 1 - level)
    else:
        tried = check_n_guesses(n_guesses, len(coins), way.default)
        value, counts, listed = best_over_guesses(guesses, tried, n_in, 1 - level, way.solve)
    return EpsilonBound(
        epsilon=way.epsilon(value),
        confidence_level=level,
        delta=delta,
        method=way.method,
        assumption=way.assumption,
        counts=counts,
        mu=value if is_mu else None,
        guesses=listed,
    )
