"""Promises about victims and their shadow models."""

import warnings

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline

from skmia import Outputs, Records, audit
from skmia._core.query import choose_order

from ._registry import promise


@promise(
    "the right order of classes is doubted",
    nominal=1e-4,
    side="at most",
    designs={
        f"{n_classes} classes, {n_records} records, accuracy {accuracy:.2g}": {
            "n_classes": n_classes,
            "n_records": n_records,
            "accuracy": accuracy,
        }
        for n_classes, n_records, accuracy in (
            (2, 100, 0.5),
            (2, 100, 0.8),
            (3, 1000, 1 / 3),
            (20, 400, 0.05),
        )
    },
    n_trials=10_000,
)
def order_of_classes(rng, n_trials, n_classes, n_records, accuracy):
    doubted = 0
    for _ in range(n_trials):
        y = rng.integers(n_classes, size=n_records)
        # A wrong guess is any of the other classes.
        wrong = (y + rng.integers(1, n_classes, size=n_records)) % n_classes
        guess = np.where(rng.random(n_records) < accuracy, y, wrong)
        answers = Outputs(np.eye(n_classes)[guess], np.arange(n_classes))
        doubted += choose_order(answers, y)[0] is not None
    return doubted, n_trials


@promise(
    "an audit calls a frozen model of public data a leak",
    nominal=0.05,
    side="at most",
    n_trials=100,
)
def frozen_parts(rng, n_trials):
    leaks = 0
    for _ in range(n_trials):
        X = rng.normal(size=(600, 6))
        y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
        public, rows = slice(0, 300), slice(300, 600)
        forest = RandomForestClassifier(10, random_state=0).fit(X[public], y[public])
        victim = make_pipeline(FrozenEstimator(forest)).fit(X[rows], y[rows])
        membership = rng.permutation(300) < 150
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seed = int(rng.integers(2**31))
            report = audit(
                victim, Records(X[rows], y[rows]), membership, shadows=8, random_state=seed
            )
        leaks += report.evidence == "leak"
    return leaks, n_trials
