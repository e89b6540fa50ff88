"""Bounds of epsilon from the guesses of an attack in many runs."""

import functools
import warnings
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import Literal, NamedTuple

import numpy as np
from scipy import special
from scipy.optimize import brentq
from scipy.special import ndtri

from .._core.callers import level_of_user
from .._core.metric_inputs import (
    check_bits,
    check_confidence_level,
    check_finite_vector,
    check_membership_scores,
    check_option,
)
from .._core.numbers import check_number, show
from .._core.randomness import check_random_state
from .._core.tradeoff import privacy_profile
from .._core.types import ArrayLike, Seed
from ..metrics import clopper_pearson, compute_auc
from ._result import (
    GAUSSIAN,
    MULTI_RUN,
    EpsilonBound,
    check_copies,
    check_delta,
    choose_audited_delta,
)

__all__ = ["bayesian_epsilon_interval", "epsilon_lower_bound", "gaussian_epsilon"]

N_SPLITS = 100


class BestBound(NamedTuple):
    """The largest bound, at which threshold, and what was counted there."""

    value: float
    threshold: float | None
    counts: dict


class CanarySides(NamedTuple):
    """Scores of runs with and without the canary, each in ascending order."""

    members: np.ndarray
    others: np.ndarray

    @classmethod
    def of(cls, membership, scores):
        return cls(np.sort(scores[membership]), np.sort(scores[~membership]))

    def errors(self, thresholds):
        """False positives and false negatives where the guess is "member" from a threshold on."""
        false_positives = len(self.others) - np.searchsorted(self.others, thresholds)
        return false_positives, np.searchsorted(self.members, thresholds)

    def candidates(self):
        """Return thresholds between neighboring scores, and one above all."""
        scores = np.unique(np.concatenate(self))
        return np.append(scores[:1], np.append(scores[:-1] / 2 + scores[1:] / 2, np.inf))

    def count(self, threshold):
        """Return what a threshold makes of the runs."""
        false_positives, false_negatives = (int(n) for n in self.errors(threshold))
        return {
            "true_positives": len(self.members) - false_negatives,
            "false_positives": false_positives,
            "n_members": len(self.members),
            "n_nonmembers": len(self.others),
        }

    def halve(self, rng):
        """Return two random halves of both sides."""
        orders = [rng.permutation(len(side)) for side in self]
        halves = []
        for part in (slice(0, None, 2), slice(1, None, 2)):
            chosen = (side[np.sort(o[part])] for side, o in zip(self, orders, strict=True))
            halves.append(CanarySides(*chosen))
        return halves


def find_root(excess, *, high=1.0, farthest=2.0**1022, xtol=2e-12):
    """Return where a function that grows from 0 on reaches 0.

    Infinity if not up to twice ``farthest``.
    """
    if excess(0.0) >= 0:
        return 0.0
    while excess(high) < 0:
        if high > farthest:
            return float("inf")
        high *= 2
    return float(brentq(excess, 0.0, high, xtol=xtol))


@lru_cache(maxsize=32)
def upper_limits(n_trials, tail):
    """Clopper-Pearson upper limits for 0 to n_trials errors, each too low with probability tail."""
    errors = np.arange(n_trials + 1)
    _, high = clopper_pearson(errors, n_trials, confidence_level=1 - 2 * tail)
    high.flags.writeable = False
    return high


def _measure_all(sides, thresholds, measure, tail):
    false_positives, false_negatives = sides.errors(thresholds)
    fpr = upper_limits(len(sides.others), tail)[false_positives]
    fnr = upper_limits(len(sides.members), tail)[false_negatives]
    return measure(fpr, fnr)


def best_bound_threshold(sides, thresholds, measure, tail):
    """Return the threshold with the largest bound, each limit too low with probability tail."""
    values = _measure_all(sides, thresholds, measure, tail)
    best = values.argmax()
    threshold = float(thresholds[best])
    return BestBound(float(values[best]), threshold, sides.count(threshold))


def _at_all(sides, measure, alpha, rng):
    # At a threshold with j false positives, the rate is at most the rate above the order statistic
    # of rank j + 1. The limit follows from the distribution of the latter: one statement per count,
    # for all thresholds.
    n_statements = len(sides.members) + len(sides.others)
    return best_bound_threshold(sides, sides.candidates(), measure, alpha / n_statements)


def _at_split(sides, measure, alpha, rng):
    chosen_on, judged_on = sides.halve(rng)
    threshold = best_bound_threshold(
        chosen_on, chosen_on.candidates(), measure, alpha / 2
    ).threshold
    return best_bound_threshold(judged_on, np.array([threshold]), measure, alpha / 2)


def _at_many_splits(sides, measure, alpha, rng):
    # Half of the bounds are too high with probability 2 (alpha / 2) at most, by Markov.
    values = [_at_split(sides, measure, alpha / 2, rng).value for _ in range(N_SPLITS)]
    counts = {"n_members": len(sides.members), "n_nonmembers": len(sides.others)}
    return BestBound(float(np.sort(values)[(N_SPLITS - 1) // 2]), None, counts)


def _at_given(thresholds, sides, measure, alpha, rng):
    return best_bound_threshold(sides, thresholds, measure, alpha / 2 / len(thresholds))


_STRATEGIES = {"bonferroni": _at_all, "split": _at_split, "multisplit": _at_many_splits}


def get_strategy(threshold):
    """Return the way to a threshold that a parameter asks for."""
    if isinstance(threshold, str):
        if threshold not in _STRATEGIES:
            raise ValueError(
                "threshold must be a number, an array of numbers, or one of "
                f"{', '.join(map(repr, _STRATEGIES))}; got {show(threshold)}."
            )
        return _STRATEGIES[threshold]
    given = check_finite_vector(np.atleast_1d(threshold), "threshold")
    if not len(given):
        raise ValueError("threshold must hold at least one number; got none.")
    return partial(_at_given, np.unique(given))


def describe_threshold(threshold):
    """Return how the threshold was chosen, in words."""
    words = {
        "bonferroni": "corrected for all thresholds",
        "split": "chosen on half of the runs",
        "multisplit": "chosen on half of the runs, median of 100 splits",
    }
    return words[threshold] if isinstance(threshold, str) else "given in advance"


def choose_threshold(membership, scores, measure, threshold, confidence_level, random_state):
    """Return the largest bound that a threshold gives, valid at a level of confidence."""
    strategy = get_strategy(threshold)
    sides = CanarySides.of(membership, scores)
    if strategy in (_at_split, _at_many_splits) and (smallest := min(map(len, sides))) < 2:
        raise ValueError(
            f"threshold={threshold!r} needs 2 runs with the canary and 2 without; got "
            f"{smallest} of one kind."
        )
    return strategy(sides, measure, 1 - confidence_level, check_random_state(random_state))


def with_largest(bound):
    """Decorate a bound: also compute the bound for scores without errors."""

    @functools.wraps(bound)
    def measure(y_true, y_score, **settings):
        found = bound(y_true, y_score, **settings)
        perfect = bound(y_true, _tell_apart(y_true, settings.get("threshold")), **settings)
        return replace(found, largest=max(perfect.epsilon, found.epsilon))

    return measure


# Standard errors below one half that an AUC has by chance once in a thousand times.
_FAR_BELOW = 3.09


def describe_reversal(bound, found, y_true, y_score, settings):
    """Say that scores tell the runs apart the wrong way round, as a sentence, or None.

    The bound of the scores as they are is not corrected for a second direction, so that it keeps
    its level. The other one is looked at with half of the error allowed.
    """
    coins, scores = check_bits(y_true, "y_true"), check_finite_vector(y_score, "y_score")
    n_in, n_out = int(coins.sum()), int((~coins).sum())
    if not n_in or not n_out:
        return None
    auc = compute_auc(coins, scores)
    error = np.sqrt((n_in + n_out + 1) / (12 * n_in * n_out))
    if auc > 0.5 - _FAR_BELOW * error:
        return None
    level = 1 - (1 - found.confidence_level) / 2
    changed = settings | {"confidence_level": level}
    if settings.get("threshold") is not None and not isinstance(settings["threshold"], str):
        changed["threshold"] = -check_finite_vector(
            np.atleast_1d(settings["threshold"]), "threshold"
        )
    if settings.get("random_state") is not None:
        changed["random_state"] = 0  # a generator of the caller draws nothing for it
    with suppress(ValueError):  # the error allowed is too small for these settings
        other = bound(y_true, -scores, **changed).epsilon
        if other > found.epsilon:
            return (
                "The scores separate the runs the wrong way round, they are lower on those with "
                f"the canary: epsilon >= {found.epsilon:.4g} with them and {other:.4g} with "
                "-y_score. Pass -y_score (and minus a threshold) if they are losses, and "
                f"confidence_level={level:.6g} if these runs tell the direction."
            )
    return None


def saying_direction(bound):
    """Decorate a bound: also warn if the scores are the wrong way round."""

    @functools.wraps(bound)
    def measure(y_true, y_score, **settings):
        found = bound(y_true, y_score, **settings)
        sentence = describe_reversal(bound, found, y_true, y_score, settings)
        if sentence is not None:
            warnings.warn(sentence, UserWarning, stacklevel=level_of_user())
        return found

    return measure


def _tell_apart(y_true, threshold):
    """Return perfect scores, on the correct side of numeric thresholds."""
    coins = check_bits(y_true, "y_true")
    low, high = 0.0, 1.0
    if threshold is not None and not isinstance(threshold, str):
        values = np.atleast_1d(np.asarray(threshold, dtype=np.float64))
        low, high = np.nextafter(values.min(), -np.inf), np.nextafter(values.max(), np.inf)
    return np.where(coins, high, low)


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the epsilon of mu-Gaussian differential privacy at a delta.

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
    skmia.defenses.mechanisms.gaussian_sigma : The noise for an epsilon.

    References
    ----------
    Dong, J., Roth, A. and Su, W. J. (2022). Gaussian differential privacy. JRSS-B 84.

    Examples
    --------
    >>> from skmia.epsilon.bounds import gaussian_epsilon
    >>> round(gaussian_epsilon(1.0, 1e-5), 4)
    4.3772
    """
    mu = float(check_number(mu, "mu", "finite and 0 or more", 0))
    delta = check_delta(delta)
    if delta == 0 and mu > 0:
        return float("inf")
    return _solve_profile(mu, delta)


@lru_cache(maxsize=1024)
def _solve_profile(mu, delta):
    return find_root(lambda epsilon: delta - privacy_profile(epsilon, mu))


def mu_of_rates(fpr, fnr):
    """Return the least mu with which error rates as high as these are compatible."""
    return -ndtri(fpr) - ndtri(fnr)


_METHODS = {
    "clopper_pearson": "Clopper-Pearson limits of error rates",
    "gaussian": "Clopper-Pearson limits of mu",
}


def group_delta(epsilon, delta, n_copies):
    """Return delta of a group: delta * (1 + exp(epsilon) + ... + exp((n_copies - 1) * epsilon))."""
    if delta == 0:
        return np.zeros_like(epsilon)
    return delta * np.exp(np.multiply.outer(epsilon, np.arange(n_copies))).sum(axis=-1)


def _largest_epsilon(numerator, denominator, delta, n_copies):
    """Return the epsilon at which numerator = exp(k epsilon) denominator + delta of the group.

    0 if none.
    """
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
    """Return the least epsilon with which error rates as high as these are compatible."""
    return np.maximum(
        _largest_epsilon(1 - fnr, fpr, delta, n_copies),
        _largest_epsilon(1 - fpr, fnr, delta, n_copies),
    )


@saying_direction
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
    r"""Return the lower bound of epsilon from the scores of many runs.

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

    Warns
    -----
    UserWarning
        If ``-y_score`` would show more, at half of the error allowed: the scores are the wrong way
        round, as losses are.

    See Also
    --------
    bayesian_epsilon_interval : Interval of epsilon under a prior of the error rates.
    skmia.epsilon.one_run_epsilon_lower_bound : Bound from one run with many canaries.

    Notes
    -----
    The two limits share the error allowed. With :math:`k` copies of the canary the mechanism lets
    :math:`\mathrm{TPR} \le e^{k \varepsilon} \mathrm{FPR} + \delta (e^{k \varepsilon} - 1) /
    (e^\varepsilon - 1)`; the bound solves it for :math:`\varepsilon`. The :math:`\mu` of a group
    is divided by :math:`k`.

    The Gaussian bound is as good as its assumption. Noise on sums of whole data sets keeps it
    exactly. Steps on samples of the rows keep it in the limit of many steps; a mechanism of another
    kind, such as randomized response, may break it, and the bound then exceeds its epsilon.

    One direction of the scores is judged, so that the bound has its level without a correction.

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
    >>> from skmia.epsilon.bounds import epsilon_lower_bound
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
    delta = choose_audited_delta(delta, check_option(method, "method", _METHODS) == "gaussian")
    n_copies = check_copies(n_copies)
    measure = mu_of_rates
    if method != "gaussian":
        measure = partial(epsilon_of_rates, delta=delta, n_copies=n_copies)
    choice = choose_threshold(membership, scores, measure, threshold, level, random_state)
    value = max(0.0, choice.value)
    mu = value / n_copies if method == "gaussian" else None
    return EpsilonBound(
        epsilon=value if mu is None else gaussian_epsilon(mu, delta),
        assumption=MULTI_RUN if mu is None else GAUSSIAN + MULTI_RUN,
        mu=mu,
        confidence_level=level,
        delta=delta,
        method=f"{_METHODS[method]}, threshold {describe_threshold(threshold)}",
        counts=choice.counts | {"n_copies": n_copies},
        threshold=choice.threshold,
    )


# Splits of the runs that the posterior is averaged over.
_N_SPLITS = 500

# Numbers of quantiles at which the posterior of one rate is read: for one law of the rates, and for
# each of many, whose errors cancel.
_NODES_ALONE, _NODES_TOGETHER = 400, 60


@lru_cache(maxsize=2)
def _compute_nodes(n_nodes):
    """Return quantiles, which lie symmetrically about one half, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def _posterior_parameters(counts):
    """Return the parameters of the beta laws of both error rates, from Jeffreys' prior."""
    false_negatives = counts["n_members"] - counts["true_positives"]
    true_negatives = counts["n_nonmembers"] - counts["false_positives"]
    fnr = (0.5 + false_negatives, 0.5 + counts["true_positives"])
    return fnr, (0.5 + counts["false_positives"], 0.5 + true_negatives)


def _probability_within(epsilon, delta, rates, fpr_laws):
    """Return the posterior probability that two rates are possible under (epsilon, delta)-privacy.

    Shapes: rates (n_laws, n_nodes), fpr_laws (2, n_laws, 1).
    """
    fnr, tpr = rates
    up, down = np.exp(epsilon), np.exp(-epsilon)
    low = np.maximum(np.maximum(0, 1 - delta - fnr * up), (tpr - delta) * down)
    # One minus the largest rate allowed, so that a rate near 1 is not rounded.
    rest = np.maximum(np.maximum(0, (fnr - delta) * down), 1 - delta - tpr * up)
    above = special.betainc(*fpr_laws[::-1], np.clip(rest, 0, 1))
    below = special.betainc(*fpr_laws, np.clip(low, 0, 1))
    _, weights = _compute_nodes(fnr.shape[1])
    return np.maximum(1 - above - below, 0) @ weights


@lru_cache(maxsize=1024)
def _quantile(probability, delta, n_copies, laws):
    """Epsilon that is not exceeded with a posterior probability, averaged over pairs of laws."""
    laws, counts = zip(*Counter(laws).items())
    fnr_laws, fpr_laws = (np.array(side, dtype=float).T[..., None] for side in zip(*laws))
    nodes, _ = _compute_nodes(_NODES_ALONE if len(laws) == 1 else _NODES_TOGETHER)
    # Both rates by their own quantiles: one minus a rate would be rounded.
    rates = special.betaincinv(*fnr_laws, nodes), special.betaincinv(*fnr_laws[::-1], nodes[::-1])

    def excess(epsilon):
        whole = float(group_delta(np.asarray(epsilon), delta, n_copies))
        within = _probability_within(n_copies * epsilon, whole, rates, fpr_laws)
        return float(np.average(within, weights=counts)) - probability

    xtol = (1e-10 if len(laws) == 1 else 1e-4) / n_copies
    return find_root(excess, high=1 / n_copies, xtol=xtol)


@saying_direction
def bayesian_epsilon_interval(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    delta: float = 0.0,
    threshold: Literal["multisplit", "split"] | float = "multisplit",
    n_copies: int = 1,
    confidence_level: float = 0.95,
    random_state: Seed = None,
) -> EpsilonBound:
    """Return the credible interval of epsilon from the scores of many runs.

    Before the runs every pair of error rates is possible (Jeffreys' prior for each, independent);
    after them each rate has a beta law. Epsilon is at most some number with the posterior
    probability of the region of rates that this number allows.

    Parameters
    ----------
    y_true : array-like of shape (n_runs,)
        1 for runs with the canary, 0 for runs without.
    y_score : array-like of shape (n_runs,)
        Finite scores, higher means more likely a run with the canary.
    delta : float, default=0.0
        Probability delta, in [0, 1).
    threshold : {"multisplit", "split"} or float, default="multisplit"
        Threshold on the scores.

        - a number that was chosen without these runs;
        - ``"split"``: a random half of the runs chooses the threshold, the other half gives the
          posterior; another draw may give quite another interval;
        - ``"multisplit"``: the posterior is averaged over 500 such splits, so that the draw hardly
          matters. The interval also covers the choice of the threshold and is wider.
    n_copies : int, default=1
        Number of records in which the two data sets differ.
    confidence_level : float, default=0.95
        Posterior probability that epsilon is above ``epsilon``, and also that it is below
        ``epsilon_high``; both hold with twice the rest.
    random_state : int, RandomState instance or None, default=None
        Controls the draw of the halves. If None, ``"multisplit"`` draws the same halves each time,
        so that equal scores give equal intervals.

    Returns
    -------
    bound : EpsilonBound
        With ``epsilon_high``.

    See Also
    --------
    epsilon_lower_bound : Bound with a guarantee for each mechanism.

    Notes
    -----
    A credible interval has its level on average over mechanisms drawn from the prior. For a given
    mechanism, its lower end may be too high more often: of randomized response with an epsilon of 3
    and 100 runs on either side the end at 95% is too high in one case of six if the threshold is
    given. ``epsilon_high`` is of the epsilon that this attack at these thresholds shows, and does
    not bound the mechanism's.

    References
    ----------
    Zanella-Béguelin, S., Wutschitz, L., Tople, S., Salem, A., Rühle, V., Paverd, A., Naseri, M.,
    Köpf, B. and Jones, D. (2023). Bayesian estimation of differential privacy. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon.bounds import bayesian_epsilon_interval
    >>> with_canary = np.repeat([1, 0], 500)
    >>> interval = bayesian_epsilon_interval(with_canary, with_canary, threshold=0.5)
    >>> round(interval.epsilon, 1), round(interval.epsilon_high, 1)
    (6.5, 13.8)
    """
    membership, scores = check_membership_scores(y_true, y_score)
    level, delta = check_confidence_level(confidence_level), check_delta(delta)
    n_copies = check_copies(n_copies)
    sides = CanarySides.of(membership, scores)
    if isinstance(threshold, str):
        always = 0 if threshold == "multisplit" and random_state is None else random_state
        seen = _split_thresholds(sides, threshold, delta, n_copies, check_random_state(always))
    else:
        cut = float(check_finite_vector([threshold], "threshold")[0])
        seen = [(cut, sides.count(cut))]
    laws = tuple(sorted(_posterior_parameters(counts) for _, counts in seen))
    low, high = (_quantile(p, delta, n_copies, laws) for p in (1 - level, level))
    cut, counts = seen[0]
    if len(seen) > 1:
        cut = None
        counts = {"n_members": len(sides.members), "n_nonmembers": len(sides.others)}
    return EpsilonBound(
        epsilon=low,
        confidence_level=level,
        delta=delta,
        method="posterior of both error rates from Jeffreys' prior (credible, not a bound)",
        assumption=MULTI_RUN,
        counts=counts | {"n_copies": n_copies},
        threshold=cut,
        epsilon_high=high,
    )


def _split_thresholds(sides, threshold, delta, n_copies, rng):
    """Return thresholds that random halves chose, and what they make of the other halves."""
    if threshold not in ("multisplit", "split") or min(map(len, sides)) < 2:
        raise ValueError(
            "threshold must be a number, or 'multisplit' or 'split' with at least 2 runs with the "
            f"canary and 2 without; got {show(threshold)} with {len(sides.members)} and "
            f"{len(sides.others)}."
        )

    def measure(fpr, fnr):
        return epsilon_of_rates(fpr, fnr, delta, n_copies)

    seen = []
    for _ in range(_N_SPLITS if threshold == "multisplit" else 1):
        first, second = sides.halve(rng)
        cut = best_bound_threshold(first, first.candidates(), measure, 0.025).threshold
        seen.append((cut, second.count(cut)))
    return seen
