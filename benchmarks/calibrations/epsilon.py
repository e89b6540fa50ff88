"""Promises of skmia.epsilon about canaries in noisy steps."""

import warnings
from functools import partial

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin

from skmia import Records
from skmia._core.accountant import spent_epsilon
from skmia.defenses import PrivateSearchCV
from skmia.epsilon import EpsilonAudit, one_run_epsilon_lower_bound
from skmia.epsilon.bounds import epsilon_lower_bound, gaussian_epsilon
from skmia.epsilon.canaries import Canaries, make_gradient_canaries, trace_scores

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


class NoisySum(ClassifierMixin, BaseEstimator):
    """A classifier that releases a sum of clipped numbers with normal noise, and nothing else."""

    def __init__(self, noise=1.0, shift=0.0):
        self.noise = noise
        self.shift = shift

    def plan_steps(self, X, y):
        return [(self.noise, 1.0, 1)]

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.release_ = float(np.clip(X[:, 0], 0, 1).sum() + self.noise * draw_normal())
        return self

    def predict_proba(self, X):
        positive = np.full(len(X), expit((self.release_ + self.shift) / 4))
        return np.column_stack([1 - positive, positive])

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def draw_normal():
    """A normal number that no seed repeats."""
    return np.random.default_rng().normal()


def largest_release(estimator, X, y):
    """A score that tells as much of the rows as the release itself: the worst case."""
    return estimator.release_


@promise(
    "`EpsilonAudit` of a whole `PrivateSearchCV` over normal sums, the largest of which is "
    "released, finds more than its epsilon",
    nominal=0.05,
    side="at most",
    designs={
        "geometric": {"eta": 1.0},
        "logarithmic": {"eta": 0.0},
        "eta of -0.5": {"eta": -0.5},
        "poisson": {"law": "poisson"},
    },
    n_trials=20,
)
def searches_cost_what_they_say(rng, n_trials, **settings):
    X, y = np.zeros((10, 1)), np.arange(10) % 2
    search = PrivateSearchCV(
        NoisySum(),
        {"shift": [0.0, 0.1]},
        public=Records(X, y),
        scoring=largest_release,
        target_delta=1e-3,
        **settings,
    )

    def one_more(X, y, n_canaries, random_state):
        return Canaries(np.ones((1, 1)), np.array([1]), np.array([0]))

    n_high = 0
    for _ in range(n_trials):
        audit = EpsilonAudit(
            search, canary=one_more, n_trials=400, delta=1e-3, random_state=int(rng.integers(1e9))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            n_high += audit.fit(X, y).epsilon_ > search.fit(X, y).epsilon_
    return n_high, n_trials
