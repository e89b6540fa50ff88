"""Promises of skmia.synthetic."""

import numpy as np

from skmia.synthetic import (
    NearestNeighborAdversarialAccuracy,
    PrivacyLoss,
    audit_table,
    excess_risk,
)

from ._registry import promise

DESIGNS = ("equal", "grid of 16 points", "shifted by 1.5", "half copies", "copies, blurred by 0.3")


def draw_tables(rng, n_rows, design):
    """Real rows and synthetic rows of two columns."""
    if design.startswith("grid"):
        return rng.integers(4, size=(2, n_rows, 2)).astype(float)
    real, synthetic = rng.normal(size=(2, n_rows, 2))
    if design.startswith("shifted"):
        synthetic[:, 0] += 1.5
    elif design.startswith("half"):
        synthetic[: n_rows // 2] = real[: n_rows // 2]
    elif design.startswith("copies"):
        synthetic = real + 0.3 * synthetic
    return real, synthetic


@promise(
    "Two standard errors of the adversarial accuracy of few rows cover its expectation",
    nominal=0.93,
    designs={
        f"{design}, {n} rows of each kind": {"design": design, "n_rows": n}
        for design in DESIGNS
        for n in (4, 16, 64)
    },
    n_trials=300,
)
def adversarial_accuracy_of_few_rows(rng, n_trials, design, n_rows):
    found = []
    for _ in range(n_trials):
        real, synthetic = draw_tables(rng, n_rows, design)
        found.append(NearestNeighborAdversarialAccuracy().fit(real).evaluate(synthetic))
    means = np.array([accuracy.mean for accuracy in found])
    errors = np.array([accuracy.standard_error for accuracy in found])
    return int(np.sum(np.abs(means - means.mean()) <= 1.96 * errors)), n_trials


@promise(
    "The interval of `PrivacyLoss` of few rows covers its expectation",
    nominal=0.93,
    designs={
        f"{design}, {n} rows of each table": {"design": design, "n_rows": n}
        for design in DESIGNS
        for n in (4, 16, 64)
    },
    n_trials=300,
)
def privacy_loss_of_few_rows(rng, n_trials, design, n_rows):
    found = []
    for _ in range(n_trials):
        train, synthetic = draw_tables(rng, n_rows, design)
        test = draw_tables(rng, n_rows, design)[0]
        found.append(PrivacyLoss(n_permutations=0).fit(train, test, synthetic))
    mean = np.mean([loss.statistic_ for loss in found])
    return sum(loss.interval_[0] <= mean <= loss.interval_[1] for loss in found), n_trials


@promise(
    "The interval of `excess_risk` covers the risk, or there is none",
    nominal=0.95,
    designs={
        f"{n} attacks and {m} controls with success rates {p:g} and {p0:g}": {
            "sizes": (n, m),
            "rates": (p, p0),
        }
        for n, m, p, p0 in (
            (500, 500, 0.1, 0.1),
            (500, 500, 0.95, 0.95),
            (500, 50, 0.95, 0.95),
            (100, 100, 0.95, 0.95),
            (100, 100, 0.99, 0.9),
            (30, 30, 0.1, 0.1),
        )
    },
    n_trials=4000,
)
def excess_risk_interval(rng, n_trials, sizes, rates):
    truth, inside = (rates[0] - rates[1]) / (1 - rates[1]), 0
    for _ in range(n_trials):
        s, c = rng.binomial(sizes, rates)
        found = excess_risk(int(s), sizes[0], int(c), sizes[1])
        covers = found.low <= truth + 1e-12 and truth <= found.high
        inside += bool(covers or np.isnan(found.risk))
    return inside, n_trials


@promise(
    "`audit_table` says that fresh rows leak",
    nominal=0.05,
    side="at most",
    designs={f"{n} rows of each table": {"n_rows": n} for n in (40, 200)},
    n_trials=60,
)
def alarms_of_tables(rng, n_trials, n_rows):
    alarms = 0
    for seed in range(n_trials):
        real, made, holdout = (
            np.column_stack([rng.normal(size=(n_rows, 3)), rng.integers(4, size=n_rows)])
            for _ in range(3)
        )
        alarms += audit_table(real, made, holdout, random_state=seed).evidence == "leak"
    return alarms, n_trials
