"""Promises of skmia.leakage, and of what reads one number of many runs."""

import numpy as np
from scipy.special import erf

from skmia.epsilon.bounds import bayesian_epsilon_interval
from skmia.leakage import (
    MahalanobisLeakage,
    MeanGLiRAttack,
    MeanLikelihoodRatioAttack,
    MeanScalarProductAttack,
)
from skmia.leakage.gaps import distributional_gap

from ._registry import promise

ATTACKS = {
    "ratio": MeanLikelihoodRatioAttack,
    "distance": MeanGLiRAttack,
    "product": MeanScalarProductAttack,
}


def draw_rows(rng, n_rows, n_features, law):
    """Rows of a law: independent normal, each two columns with the correlation 0.3, or carriers."""
    if law == "carriers":
        rates = np.geomspace(0.02, 0.5, n_features)
        return (rng.random((n_rows, n_features)) < rates).astype(float)
    own = rng.normal(size=(n_rows, n_features))
    if law == "independent":
        return own
    return np.sqrt(0.7) * own + np.sqrt(0.3) * rng.normal(size=(n_rows, 1))


@promise(
    "Attacks on a mean with reference rows have the false positive rate `target_fpr`",
    nominal=0.05,
    side="at most",
    designs={
        f"{title}, {law}, {d} columns, {n_reference} reference rows": {
            "attack": attack,
            "law": law,
            "n_features": d,
            "n_reference": n_reference,
        }
        for title, attack, law, d, n_reference in (
            ("likelihood ratio", "ratio", "independent", 300, 100),
            ("likelihood ratio", "ratio", "independent", 300, 1000),
            ("likelihood ratio", "ratio", "correlated", 10, 300),
            ("likelihood ratio", "ratio", "correlated", 60, 300),
            ("likelihood ratio", "ratio", "correlated", 300, 200),
            ("likelihood ratio", "ratio", "carriers", 100, 200),
            ("distance", "distance", "independent", 300, 100),
            ("distance", "distance", "correlated", 60, 300),
            ("scalar product", "product", "independent", 300, 100),
            ("scalar product", "product", "correlated", 60, 300),
        )
    },
    n_trials=1000,
)
def mean_attack_rate(rng, n_trials, attack, law, n_features, n_reference, n_samples=100):
    flagged = 0
    for _ in range(n_trials):
        target = draw_rows(rng, 1, n_features, law)[0]
        settings = {"random_state": 0} if attack == "product" else {}
        made = ATTACKS[attack](target, n_samples=n_samples, target_fpr=0.05, **settings)
        made.fit(draw_rows(rng, n_reference, n_features, law))
        released = draw_rows(rng, n_samples, n_features, law).mean(axis=0, keepdims=True)
        flagged += int(made.predict(released)[0])
    return flagged, n_trials


@promise(
    "`MahalanobisLeakage` gives single records their advantage, to within 0.05",
    nominal=0.95,
    designs={
        f"{law}, {n_rows} rows of {d} columns, {which}": {
            "law": law,
            "n_rows": n_rows,
            "n_features": d,
            "private": which == "its own rows",
        }
        for law, n_rows, d in (
            ("independent", 200, 300),
            ("correlated", 200, 10),
            ("correlated", 200, 300),
            ("correlated", 1000, 60),
        )
        for which in ("its own rows", "other rows")
    },
    n_trials=400,
)
def single_record_advantage(rng, n_trials, law, n_rows, n_features, private):
    """One record of each data set, so that trials are independent."""
    right = 0
    for _ in range(n_trials):
        X = draw_rows(rng, n_rows, n_features, law)
        target = X[:1] if private else draw_rows(rng, 1, n_features, law)
        squares = (target**2).sum()
        if law == "correlated":
            share = 0.3 / (0.7 + 0.3 * n_features)
            squares = (squares - share * target.sum() ** 2) / 0.7
        truth = erf(np.sqrt(squares / n_rows / 8))
        right += bool(abs(MahalanobisLeakage().fit(X).advantage(target)[0] - truth) <= 0.05)
    return right, n_trials


@promise(
    "`distributional_gap` has p-values that are at most the level where nothing leaks",
    nominal=0.05,
    side="at most",
    designs={
        f"{distance}, {law}, {n} members": {"distance": distance, "law": law, "n": n}
        for distance in (
            "total_variation",
            "hellinger",
            "jensen_shannon",
            "kullback_leibler",
            "energy",
            "wasserstein",
        )
        for law, n in (("normal", 30), ("four values", 100))
    },
    n_trials=400,
)
def gap_pvalues(rng, n_trials, distance, law, n):
    rejected = 0
    for _ in range(n_trials):
        draws = rng.normal(size=3 * n) if law == "normal" else rng.integers(4, size=3 * n)
        gap = distributional_gap(
            draws[:n],
            draws[n:],
            distance,
            n_permutations=19,
            n_resamples=0,
            random_state=int(rng.integers(2**31)),
        )
        rejected += gap.pvalue <= 0.05
    return rejected, n_trials


@promise(
    "The lower end of `bayesian_epsilon_interval`, credible and not a bound, is below epsilon",
    nominal=0.95,
    designs={
        f"{law} with epsilon {epsilon:g}, {n} runs on either side": {
            "law": law,
            "epsilon": epsilon,
            "n": n,
        }
        for law, epsilon, n in (
            ("randomized response", 1.0, 100),
            ("randomized response", 3.0, 100),
            ("Laplace", 1.0, 100),
            ("Laplace", 3.0, 500),
        )
    },
    n_trials=200,
)
def bayesian_lower_end(rng, n_trials, law, epsilon, n):
    bits, below = np.repeat([1, 0], n), 0
    for _ in range(n_trials):
        if law == "Laplace":
            scores = bits + rng.laplace(scale=1 / epsilon, size=2 * n)
        else:
            honest = rng.random(2 * n) < np.exp(epsilon) / (1 + np.exp(epsilon))
            scores = np.where(honest, bits, 1 - bits).astype(float)
        below += bayesian_epsilon_interval(bits, scores).epsilon <= epsilon
    return below, n_trials
