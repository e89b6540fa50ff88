"""Credible interval of epsilon from the errors of many runs, with an uninformative prior."""

from collections import Counter
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.optimize import brentq

from .._core.checks import check_confidence_level, check_finite_vector, check_membership_scores
from .._core.numbers import show
from .._core.randomness import check_random_state
from .._core.types import Seed
from ._checks import MULTI_RUN, check_copies, check_delta
from ._clopper_pearson import epsilon_of_rates, group_delta
from ._result import EpsilonBound
from ._thresholds import Sides, best_threshold

# Splits of the runs that the posterior is averaged over.
_N_SPLITS = 500

# Numbers of quantiles at which the posterior of one rate is read: for one law of the rates, and for
# each of many, whose errors cancel.
_NODES_ALONE, _NODES_TOGETHER = 400, 60


@lru_cache(maxsize=2)
def _compute_nodes(n_nodes):
    """Quantiles, which lie symmetrically about one half, and their weights."""
    nodes, weights = np.polynomial.legendre.leggauss(n_nodes)
    return (nodes + 1) / 2, weights / 2


def _posterior_parameters(counts):
    """Parameters of the beta laws of both error rates, from Jeffreys' prior."""
    false_negatives = counts["n_members"] - counts["true_positives"]
    true_negatives = counts["n_nonmembers"] - counts["false_positives"]
    fnr = (0.5 + false_negatives, 0.5 + counts["true_positives"])
    return fnr, (0.5 + counts["false_positives"], 0.5 + true_negatives)


def _probability_within(epsilon, delta, rates, fpr_laws):
    """Posterior probability that two rates are possible for an (epsilon, delta)-private mechanism.

    Parameters
    ----------
    epsilon, delta : float
        Of the two data sets as a whole.
    rates : pair of ndarray of shape (n_laws, n_nodes)
        Quantiles of the false negative rate, and one minus them.
    fpr_laws : ndarray of shape (2, n_laws, 1)
        Parameters of the false positive rate.

    Returns
    -------
    probability : ndarray of shape (n_laws,)
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

    if excess(0.0) >= 0:
        return 0.0
    high = 1 / n_copies
    while excess(high) < 0:
        high *= 2
    xtol = (1e-10 if len(laws) == 1 else 1e-4) / n_copies
    return float(brentq(excess, 0.0, high, xtol=xtol))


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
    """Credible interval of epsilon from the scores of many runs.

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
    mechanism, its lower end may be too high more often than the level says. If both error rates are
    equal, epsilon is the larger of two ratios, and of randomized response with an epsilon of 3 and
    100 runs on either side the end at 95% is too high in one case of six if the threshold is given.
    It is an interval for the epsilon that this attack at these thresholds shows: ``epsilon_high``
    does not bound the mechanism's epsilon.

    References
    ----------
    Zanella-Béguelin, S., Wutschitz, L., Tople, S., Salem, A., Rühle, V., Paverd, A., Naseri, M.,
    Köpf, B. and Jones, D. (2023). Bayesian estimation of differential privacy. ICML.

    Examples
    --------
    >>> import numpy as np
    >>> from skmia.epsilon import bayesian_epsilon_interval
    >>> with_canary = np.repeat([1, 0], 500)
    >>> interval = bayesian_epsilon_interval(with_canary, with_canary, threshold=0.5)
    >>> round(interval.epsilon, 1), round(interval.epsilon_high, 1)
    (6.5, 13.8)
    """
    membership, scores = check_membership_scores(y_true, y_score)
    level, delta = check_confidence_level(confidence_level), check_delta(delta)
    n_copies = check_copies(n_copies)
    sides = Sides.of(membership, scores)
    if isinstance(threshold, str):
        always = 0 if threshold == "multisplit" and random_state is None else random_state
        seen = _split(sides, threshold, delta, n_copies, check_random_state(always))
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


def _split(sides, threshold, delta, n_copies, rng):
    """Thresholds that random halves chose, and what they make of the other halves."""
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
        cut = best_threshold(first, first.candidates(), measure, 0.025).threshold
        seen.append((cut, second.count(cut)))
    return seen
