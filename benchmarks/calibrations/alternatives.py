"""Intervals that the package does not offer, and the reason: how often they miss.

Bootstrap intervals of the AUC beside `auc_interval`, and the lower end of a posterior of epsilon
beside `epsilon_lower_bound`.
"""

import numpy as np
from scipy import stats

from skmia.epsilon.bounds import bayesian_epsilon_interval, epsilon_lower_bound
from skmia.metrics import auc_interval

from ._registry import promise

N_DRAWS = 400

DESIGNS = {
    f"{n1} + {n0} records, AUC {auc:g}": {"n1": n1, "n0": n0, "auc": auc}
    for n1, n0, auc in [
        (5, 200, 0.8),
        (20, 20, 0.5),
        (50, 50, 0.8),
        (50, 50, 0.98),
        (200, 200, 0.8),
    ]
}


def draw_scores(rng, n1, n0, auc):
    shift = np.sqrt(2) * stats.norm.ppf(auc)
    return rng.normal(size=n1) + shift, rng.normal(size=n0)


def bootstrap_auc(rng, members, others, accelerate):
    """Percentile interval of the AUC, or with bias correction and acceleration (BCa)."""
    wins = (members[:, None] > others) + 0.5 * (members[:, None] == others)
    n1, n0 = wins.shape
    estimate = wins.mean()
    weights = [rng.multinomial(n, np.full(n, 1 / n), size=N_DRAWS) / n for n in (n1, n0)]
    draws = np.einsum("ki,ij,kj->k", weights[0], wins, weights[1], optimize=True)
    quantiles = np.array([0.025, 0.975])
    if accelerate:
        below = np.clip(
            (draws < estimate).mean() + 0.5 * (draws == estimate).mean(), 1e-3, 1 - 1e-3
        )
        left = [(wins.mean(axis=1 - axis) - estimate) / (wins.shape[axis] - 1) for axis in (0, 1)]
        jackknife = np.concatenate(left)
        shift, spread = stats.norm.ppf(below), (jackknife**2).sum() ** 1.5
        curve = (jackknife**3).sum() / (6 * spread) if spread > 0 else 0.0
        z = shift + stats.norm.ppf(quantiles)
        quantiles = stats.norm.cdf(shift + z / (1 - curve * z))
    return np.quantile(draws, quantiles)


@promise(
    "auc_interval misses the AUC, at most as often as bootstrap intervals are meant to",
    nominal=0.07,
    side="at most",
    designs=DESIGNS,
)
def misses_of_auc_interval(rng, n_trials, n1, n0, auc):
    missed, sides = 0, np.repeat([1, 0], [n1, n0])
    for _ in range(n_trials):
        scores = np.concatenate(draw_scores(rng, n1, n0, auc))
        interval = auc_interval(sides, scores)
        missed += int(not interval.low <= auc <= interval.high)
    return missed, n_trials


def count_bootstrap_misses(rng, n_trials, accelerate, n1, n0, auc):
    missed = 0
    for _ in range(n_trials):
        low, high = bootstrap_auc(rng, *draw_scores(rng, n1, n0, auc), accelerate)
        missed += int(not low <= auc <= high)
    return missed, n_trials


FEW, EXTREME = "5 + 200 records, AUC 0.8", "50 + 50 records, AUC 0.98"


@promise(
    "A bootstrap interval of the AUC, which is not offered, misses it (a counterexample)",
    nominal=0.05,
    side="at least",
    designs={
        f"percentile, {FEW}": {"accelerate": False, **DESIGNS[FEW]},
        f"BCa, {FEW}": {"accelerate": True, **DESIGNS[FEW]},
        f"percentile, {EXTREME}": {"accelerate": False, **DESIGNS[EXTREME]},
    },
)
def misses_of_bootstrap(rng, n_trials, **design):
    return count_bootstrap_misses(rng, n_trials, **design)


@promise(
    "A BCa interval of the AUC with 20 records or more on either side, which is not offered, "
    "misses it",
    nominal=0.07,
    side="at most",
    designs={title: design for title, design in DESIGNS.items() if title != FEW},
)
def misses_of_bca(rng, n_trials, **design):
    return count_bootstrap_misses(rng, n_trials, accelerate=True, **design)


def count_above(rng, n_trials, bound, epsilon, n):
    """How often a lower end is above the epsilon of randomized response, at a fixed cut."""
    sides, above = np.repeat([1, 0], n), 0
    rate = 1 / (1 + np.exp(-epsilon))
    for _ in range(n_trials):
        right = rng.random(2 * n) < rate
        scores = np.where(right, sides, 1 - sides).astype(float)
        above += int(bound(sides, scores, delta=0.0, threshold=0.5).epsilon > epsilon)
    return above, n_trials


RESPONSES = {
    f"epsilon {epsilon:g}, {n} runs on either side": {"epsilon": epsilon, "n": n}
    for epsilon in (0.5, 1.0, 3.0)
    for n in (100, 1000)
}


@promise(
    "epsilon_lower_bound exceeds the epsilon of randomized response",
    nominal=0.05,
    side="at most",
    designs=RESPONSES,
)
def bound_above_epsilon(rng, n_trials, **design):
    return count_above(rng, n_trials, epsilon_lower_bound, **design)


@promise(
    "The lower end of bayesian_epsilon_interval exceeds the epsilon of randomized response: it is "
    "not a bound (a counterexample)",
    nominal=0.05,
    side="at least",
    designs=RESPONSES,
)
def posterior_above_epsilon(rng, n_trials, **design):
    return count_above(rng, n_trials, bayesian_epsilon_interval, **design)
