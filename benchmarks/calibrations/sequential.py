"""Promises of audits that may stop at any time."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from skmia.epsilon import gaussian_epsilon
from skmia.epsilon._sequential import bound_path, log_wealth, predict_coins

from ._registry import promise

DELTA, N_TRAININGS = 1e-5, 1000


def respond(rng, epsilon):
    coins = rng.random(N_TRAININGS) < 0.5
    return coins, (coins == (rng.random(N_TRAININGS) < expit(epsilon))).astype(float)


def normal(rng, epsilon):
    """A Gaussian mechanism with this epsilon at DELTA."""
    mu = brentq(lambda mu: gaussian_epsilon(mu, DELTA) - epsilon, 1e-3, 10.0)
    coins = rng.random(N_TRAININGS) < 0.5
    return coins, rng.normal(size=N_TRAININGS) + mu * coins


def tell(rng, epsilon, delta=0.01):
    """Randomized response that tells the coin with a probability of delta."""
    coins, scores = respond(rng, epsilon)
    return coins, np.where(rng.random(N_TRAININGS) < delta, 10.0 * (2 * coins - 1), scores)


DESIGNS = {
    f"{title}, epsilon {epsilon}": {"draw": draw, "epsilon": epsilon, "delta": delta}
    for title, draw, delta in (
        ("randomized response", respond, DELTA),
        ("Gaussian", normal, DELTA),
        ("randomized response, told at 0.01", tell, 0.01),
    )
    for epsilon in (0.5, 1.0, 2.0, 4.0)
}


@promise(
    "Bets of `EpsilonAudit(sequential=True)` ever refute a true claim in 1000 trainings",
    nominal=0.05,
    side="at most",
    designs=DESIGNS,
    n_trials=500,
)
def sequential_refutations(rng, n_trials, draw, epsilon, delta):
    refuted = 0
    for _ in range(n_trials):
        coins, scores = draw(rng, epsilon)
        wealth = log_wealth(epsilon, delta, coins, predict_coins(coins, scores))
        refuted += int(wealth.max() >= np.log(20))
    return refuted, n_trials


@promise(
    "A bound of `EpsilonAudit(sequential=True)` is too high after any of 1000 trainings",
    nominal=0.05,
    side="at most",
    designs={name: design for name, design in DESIGNS.items() if "4.0" not in name},
    n_trials=500,
)
def sequential_bounds(rng, n_trials, draw, epsilon, delta):
    too_high = 0
    for _ in range(n_trials):
        coins, scores = draw(rng, epsilon)
        path = bound_path(coins, predict_coins(coins, scores), delta, 0.05)
        too_high += int(path[-1] > epsilon)
    return too_high, n_trials
