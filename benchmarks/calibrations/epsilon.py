"""Promises of skmia.epsilon about canaries in noisy steps."""

import warnings
from functools import partial

import numpy as np

from skmia._core.accountant import spent_epsilon
from skmia.epsilon import one_run_epsilon_lower_bound
from skmia.epsilon.bounds import epsilon_lower_bound, gaussian_epsilon
from skmia.epsilon.canaries import make_gradient_canaries, trace_scores

from ._registry import promise

DELTA, LOT, N_ROWS = 1e-5, 100, 200
BOUNDS = ("any", "gdp", "order_statistics")


def audit_steps(rng, bound, *, n_canaries, n_steps, noise, rate):
    """One run of the mechanism itself, whose other rows are known, and its bound."""
    coins = rng.integers(2, size=n_canaries).astype(bool)
    canaries = np.eye(n_canaries)
    taken = coins & (rng.random((n_steps, n_canaries)) < rate)
    steps = (taken + noise * rng.normal(size=(n_steps, n_canaries))) / LOT
    scores = trace_scores(steps, canaries, batch_size=LOT, noise_multiplier=noise, sample_rate=rate)
    n_guesses = n_canaries // (2 if bound == "order_statistics" else 10)
    settings = {"bound": bound, "n_guesses": n_guesses, "delta": DELTA}
    return one_run_epsilon_lower_bound(coins, scores, **settings).epsilon


def claim(n_steps, noise, rate):
    if rate == 1:
        return gaussian_epsilon(np.sqrt(n_steps) / noise, DELTA)
    return spent_epsilon([(noise, rate, n_steps)], DELTA, "prv")


MECHANISMS = {
    "4 steps on all rows": {"n_steps": 4, "noise": 2.0, "rate": 1.0},
    "one step on all rows": {"n_steps": 1, "noise": 0.5, "rate": 1.0},
    "16 steps at rate 1/4": {"n_steps": 16, "noise": 1.0, "rate": 0.25},
    "40 steps at rate 1/20": {"n_steps": 40, "noise": 0.7, "rate": 0.05},
}


@promise(
    "One-run bounds of canaries in the steps of DP-SGD exceed the accountant's epsilon",
    nominal=0.05,
    side="at most",
    designs={
        f"{bound}, {title}": {"bound": bound, **mechanism}
        for bound in BOUNDS
        for title, mechanism in MECHANISMS.items()
    },
    n_trials=200,
)
def one_run_canary_bounds(rng, n_trials, bound, n_steps, noise, rate, n_canaries=300):
    epsilon = claim(n_steps, noise, rate)
    settings = {"n_canaries": n_canaries, "n_steps": n_steps, "noise": noise, "rate": rate}
    return sum(audit_steps(rng, bound, **settings) > epsilon for _ in range(n_trials)), n_trials


@promise(
    "A bound of scores without leakage warns that they are the wrong way round",
    nominal=0.002,
    side="at most",
    designs={
        f"{title}, {n} of either kind": {"bound": title, "n": n}
        for title in ("many runs", "many runs, guesses", "one run")
        for n in (20, 200)
    },
    n_trials=5000,
)
def wrong_warnings_of_direction(rng, n_trials, bound, n):
    sides, n_warned = np.repeat([0, 1], n), 0
    for _ in range(n_trials):
        scores = rng.normal(size=2 * n)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            if bound == "one run":
                one_run_epsilon_lower_bound(rng.permutation(sides), scores, delta=DELTA)
            elif bound == "many runs":
                epsilon_lower_bound(sides, scores)
            else:
                epsilon_lower_bound(sides, (scores > 0).astype(int), threshold=0.5)
        n_warned += bool(caught)
    return n_warned, n_trials


def make_net(batch_size, n_features, n_classes):
    from skorch import NeuralNetClassifier
    from torch import nn

    return NeuralNetClassifier(
        nn.Sequential(nn.Linear(n_features, 10), nn.ReLU(), nn.Linear(10, n_classes)),
        criterion=nn.CrossEntropyLoss,
        batch_size=batch_size,
        max_epochs=4,
        lr=0.1,
        train_split=None,
        verbose=0,
    )


@promise(
    "One-run bounds of canaries planted in `DPSGDClassifier` exceed its epsilon",
    nominal=0.05,
    side="at most",
    designs={
        f"{kind}, {title}": {"kind": kind, "batch_size": batch_size, "noise": noise}
        for kind in ("dirac", "spread")
        for title, batch_size, noise in (
            ("4 steps on all rows", -1, 2.0),
            ("16 steps at rate 1/4", 50, 1.0),
        )
    },
    n_trials=200,
)
def planted_canary_bounds(rng, n_trials, kind, batch_size, noise, n_canaries=200):
    from skmia.defenses import DPSGDClassifier

    too_high = 0
    X, y = rng.normal(size=(N_ROWS, 20)), rng.integers(2, size=N_ROWS)
    for _ in range(n_trials):
        made = make_gradient_canaries(
            n_canaries, kind=kind, n_parameters=232, random_state=int(rng.integers(2**31 - 1))
        ).gradients
        coins, steps = rng.integers(2, size=n_canaries).astype(bool), []
        chosen = made[coins]
        private = DPSGDClassifier(
            partial(make_net, batch_size),
            noise_multiplier=noise,
            target_delta=DELTA,
            classes=[0, 1],
            accountant="prv",
            extra_gradients=lambda step, weights, chosen=chosen: chosen,
            on_step=lambda step, noisy, weights, steps=steps: steps.append(noisy),
        ).fit(X, y)
        scores = trace_scores(
            steps,
            made,
            batch_size=N_ROWS if batch_size == -1 else batch_size,
            noise_multiplier=noise,
            sample_rate=private.sample_rate_,
        )
        bound = one_run_epsilon_lower_bound(
            coins, scores, bound="order_statistics", n_guesses=n_canaries // 2
        )
        too_high += int(bound.epsilon > private.epsilon_)
    return too_high, n_trials
