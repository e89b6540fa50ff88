"""Promises of audits that may stop at any time."""

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from skmia.epsilon._epsilon_audit import bound_path, log_wealth_of_trainings, predict_coins
from skmia.epsilon.bounds import gaussian_epsilon

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
        wealth = log_wealth_of_trainings(epsilon, delta, coins, predict_coins(coins, scores))
        refuted += int(wealth.max() >= np.log(20))
    return refuted, n_trials


# Claim, distance of the scores in standard deviations (infinite without noise), and trainings of
# the best fixed design that succeeds half of the time.
ROWS = [
    (1, np.inf, 24),
    (2, np.inf, 60),
    (4, np.inf, 426),
    (1, 1, 618),
    (1, 2, 76),
    (1, 4, 24),
    (2, 2, 312),
    (2, 4, 64),
    (4, 4, 528),
]


def refutes_within(rng, claim, mu, n_trainings):
    """Whether bets refute a claim within a number of trainings."""
    coins = rng.random(n_trainings) < 0.5
    noise = 0.0 if mu == np.inf else rng.normal(size=n_trainings) / mu
    wealth = log_wealth_of_trainings(claim, DELTA, coins, predict_coins(coins, coins + noise))
    return bool(wealth.max() >= np.log(20))


@promise(
    "`EpsilonAudit(sequential=True)` refutes a false claim within 0.75 of the trainings with which "
    "the best fixed design refutes it half of the time",
    nominal=0.5,
    designs={
        f"claim {claim}, distance {mu}, {fixed} trainings": {
            "claim": claim,
            "mu": mu,
            "n_trainings": int(0.75 * fixed),
        }
        for claim, mu, fixed in ROWS
    },
    n_trials=300,
)
def sequential_power(rng, n_trials, **design):
    return sum(refutes_within(rng, **design) for _ in range(n_trials)), n_trials


@promise(
    "`EpsilonAudit(sequential=True)` finds missing noise within a twentieth of the trainings of a "
    "fixed audit that is planned for a distance of one standard deviation",
    nominal=0.9,
    designs={"claim 1, 64 of 1286 trainings": {"claim": 1, "mu": np.inf, "n_trainings": 64}},
    n_trials=300,
)
def sequential_power_without_noise(rng, n_trials, **design):
    return sum(refutes_within(rng, **design) for _ in range(n_trials)), n_trials


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
