"""Promises of the bounds of epsilon from one run, in their own models and outside of them."""

from functools import partial

import numpy as np
from scipy.special import expit

from skmia.epsilon import one_run_epsilon_lower_bound
from skmia.epsilon._one_run import GaussianNoiseLaw
from skmia.epsilon.bounds import gaussian_epsilon

from ._registry import promise

DELTA = 1e-5


def flip(rng, n):
    return rng.integers(2, size=n).astype(bool)


def normal(rng, coins, mu, rate=1.0):
    """Log-likelihood ratios of canaries that take part with a probability."""
    taken = coins & (rng.random(len(coins)) < rate)
    x = rng.normal(size=len(coins)) + mu * taken
    return np.logaddexp(np.log1p(-rate), np.log(rate) + mu * x - mu**2 / 2) if rate < 1 else x


def laplace(rng, coins, shift):
    """Log-likelihood ratios; the many ties at both ends are broken at random."""
    x = rng.laplace(size=len(coins)) + shift * coins
    return np.abs(x) - np.abs(x - shift) + 1e-9 * rng.random(len(coins))


def respond(rng, coins, epsilon, delta=0.0):
    """Randomized response that is exact with a probability; ties are broken at random."""
    told = rng.random(len(coins)) < delta
    right = told | (rng.random(len(coins)) < expit(epsilon))
    sure = 1 + told + 1e-9 * rng.random(len(coins))
    return np.where(coins == right, sure, -sure)


def common(rng, coins, mu, n_guesses):
    """A Gaussian mechanism that is equally sure of all canaries that are guessed.

    A normal answer is a sureness from the law of its log-likelihood ratio, and randomized response
    with this epsilon. Here the canaries share one, so that each alone is answered as usual.
    """
    n = len(coins)
    x = rng.normal(size=4000) + mu * (rng.random(4000) < 0.5)
    ratios = np.sort(np.abs(mu * x - mu**2 / 2))
    sureness = ratios[rng.integers(int(4000 * (1 - n_guesses / n)), 4000)]
    return answer(rng, coins, n_guesses, sureness)


def tell_all(rng, coins, epsilon, delta, n_guesses):
    """An (epsilon, delta)-private mechanism that either tells all coins or answers at random."""
    is_told = rng.random() < len(coins) * delta / n_guesses
    return answer(rng, coins, n_guesses, np.inf if is_told else epsilon)


def answer(rng, coins, n_guesses, epsilon):
    scores = np.zeros(len(coins))
    chosen = rng.permutation(len(coins))[:n_guesses]
    said = coins[chosen] == (rng.random(n_guesses) < expit(epsilon))
    scores[chosen] = np.where(said, 1, -1)
    return scores


def measure(rng, n_trials, mechanism, truth, n, **settings):
    """Count the audits whose bound exceeds the truth."""
    too_high = 0
    for _ in range(n_trials):
        coins = flip(rng, n)
        bound = one_run_epsilon_lower_bound(coins, mechanism(rng, coins), **settings)
        too_high += int(bound.epsilon > truth + 1e-6)
    return too_high, n_trials


OWN = {
    f"order_statistics, {title}, {r} of {n} guessed": {
        "mechanism": mechanism,
        "truth": truth,
        "n": n,
        "bound": "order_statistics",
        "n_guesses": r,
        **settings,
    }
    for title, mechanism, truth, settings in (
        *(
            (f"Gaussian {mu}", partial(normal, mu=mu), gaussian_epsilon(mu, DELTA), {})
            for mu in (0.5, 1.0, 2.0)
        ),
        *(
            (f"Laplace {e:g}", partial(laplace, shift=e), e, {"family": "laplace"})
            for e in (1.0, 2.0)
        ),
        *(
            (
                f"sub-sampled Gaussian ({mu:g}, {rate})",
                partial(normal, mu=mu, rate=rate),
                GaussianNoiseLaw(float(rate)).epsilon(mu, DELTA),
                {"sample_rate": rate},
            )
            for mu, rate in ((1.0, 0.5), (2.0, 0.2))
        ),
        *(
            (
                f"({e:g}, {delta})",
                partial(respond, epsilon=e, delta=delta),
                e,
                {"family": "epsilon_delta", "delta": delta},
            )
            for e, delta in ((2.0, 0.01), (1.0, 0.001))
        ),
    )
    for n, r in ((1000, 100), (1000, 500), (1000, 1000), (4000, 1000))
    if n == 1000 or title.startswith("Gaussian")
}
OWN |= {
    f"any, randomized response {epsilon}, {text}": {
        "mechanism": partial(respond, epsilon=epsilon),
        "truth": epsilon,
        "n": 1000,
        "n_guesses": n_guesses,
    }
    for epsilon in (1.0, 2.0)
    for text, n_guesses in (
        ("a tenth guessed", "auto"),
        ("all guessed", 1000),
        ("the best of four numbers", [125, 250, 500, 1000]),
        ("bets", "any"),
    )
}
OWN |= {
    f"gdp, Gaussian {mu}, {r} of 1000 guessed": {
        "mechanism": partial(normal, mu=mu),
        "truth": gaussian_epsilon(mu, DELTA),
        "n": 1000,
        "bound": "gdp",
        "n_guesses": r,
    }
    for mu in (0.5, 2.0)
    for r in (100, 500)
}


@promise(
    "`one_run_epsilon_lower_bound` exceeds the epsilon of a mechanism of its own model",
    nominal=0.05,
    side="at most",
    designs=OWN,
    n_trials=500,
)
def one_run_bounds_in_their_model(rng, n_trials, **design):
    return measure(rng, n_trials, **design)


def measure_common(rng, n_trials, bound, mu, n_guesses, n=1000):
    too_high = 0
    for _ in range(n_trials):
        coins = flip(rng, n)
        scores = common(rng, coins, mu, n_guesses)
        # How many guesses are "in" may depend on the scores.
        settings = {"n_guesses": n_guesses, "n_in": int((scores > 0).sum()), "delta": DELTA}
        found = one_run_epsilon_lower_bound(coins, scores, bound=bound, **settings)
        too_high += int(found.epsilon > gaussian_epsilon(mu, DELTA))
    return too_high, n_trials


COMMON = {
    f"mu {mu}, {r} of 1000 guessed": {"mu": mu, "n_guesses": r}
    for mu, r in ((0.5, 100), (0.5, 1000), (1.0, 100), (1.0, 1000), (2.0, 500), (2.0, 1000))
}


@promise(
    "One-run bounds exceed the epsilon of a Gaussian mechanism that is equally sure of all "
    "canaries",
    nominal=0.05,
    side="at most",
    designs={
        f"{bound}, {title}": {"bound": bound, **design}
        for bound in ("any", "gdp")
        for title, design in COMMON.items()
    },
    n_trials=500,
)
def one_run_bounds_of_common_sureness(rng, n_trials, **design):
    return measure_common(rng, n_trials, **design)


@promise(
    "The bound of independent canaries exceeds the epsilon of a Gaussian mechanism that is equally "
    "sure of all canaries (a counterexample)",
    nominal=0.05,
    side="at least",
    designs=COMMON,
    n_trials=500,
)
def order_bound_of_common_sureness(rng, n_trials, **design):
    return measure_common(rng, n_trials, "order_statistics", **design)


@promise(
    "The bound of the family `epsilon_delta` exceeds the epsilon of a mechanism that tells all "
    "coins or none (a counterexample)",
    nominal=0.05,
    side="at least",
    designs={f"({e}, 0.01), 100 of 1000 guessed": {"epsilon": e} for e in (1.0, 2.0)},
    n_trials=500,
)
def order_bound_of_told_coins(rng, n_trials, epsilon, n_guesses=100, n=1000):
    too_high = 0
    for _ in range(n_trials):
        coins = flip(rng, n)
        scores = tell_all(rng, coins, epsilon, 0.01, n_guesses)
        bound = one_run_epsilon_lower_bound(
            coins,
            scores,
            bound="order_statistics",
            family="epsilon_delta",
            delta=0.01,
            n_guesses=n_guesses,
            n_in=int((scores > 0).sum()),
        )
        too_high += int(bound.epsilon > epsilon + 1e-6)
    return too_high, n_trials
