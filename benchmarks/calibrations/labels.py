"""Promises about training labels: bounds of label privacy, and advantages where nothing leaks."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression

from skmia import Records
from skmia.attacks import LabelInferenceAttack
from skmia.epsilon import LabelAudit

from ._registry import promise


class RandomizedLabels(ClassifierMixin, BaseEstimator):
    """Releases every label by randomized response, which is epsilon-private for labels."""

    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon = epsilon
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_, codes = np.unique(y, return_inverse=True)
        rng, n_classes = np.random.default_rng(self.random_state), len(self.classes_)
        kept = rng.random(len(y)) < np.exp(self.epsilon) / (np.exp(self.epsilon) + n_classes - 1)
        other = (codes + rng.integers(1, n_classes, size=len(y))) % n_classes
        order = np.argsort(X[:, 0])
        self.rows_, self.labels_ = X[order, 0], np.where(kept, codes, other)[order]
        return self

    def predict(self, X):
        nearest = np.minimum(np.searchsorted(self.rows_, X[:, 0]), len(self.rows_) - 1)
        return self.classes_[self.labels_[nearest]]


def audit_labels(rng, epsilon, n_classes, n_rows=400, **settings):
    X, y = rng.normal(size=(n_rows, 2)), rng.integers(n_classes, size=n_rows)
    audit = LabelAudit(
        RandomizedLabels(epsilon),
        n_canaries=n_rows // 2,
        random_state=int(rng.integers(2**31 - 1)),
        **settings,
    )
    return audit.fit(X, y)


@promise(
    "Bounds of `LabelAudit` exceed the epsilon of randomized response",
    nominal=0.05,
    side="at most",
    designs={
        f"epsilon {epsilon:g}, {n_classes} classes, {alternatives}, any mechanism": {
            "epsilon": epsilon,
            "n_classes": n_classes,
            "alternatives": alternatives,
        }
        for epsilon, n_classes, alternatives in (
            (0.5, 2, "own"),
            (2.0, 2, "own"),
            (2.0, 5, "own"),
            (2.0, 5, "wrong"),
        )
    },
    n_trials=1000,
)
def label_audit_bounds(rng, n_trials, epsilon, n_classes, **settings):
    found = [audit_labels(rng, epsilon, n_classes, **settings) for _ in range(n_trials)]
    return sum(audit.epsilon_ > epsilon for audit in found), n_trials


@promise(
    "`LabelAudit.advantage_` covers 0 where labels are released at random",
    nominal=0.95,
    designs={
        f"{n_classes} classes, {alternatives}": {
            "n_classes": n_classes,
            "alternatives": alternatives,
        }
        for n_classes, alternatives in ((2, "own"), (5, "own"), (5, "wrong"))
    },
    n_trials=1000,
)
def label_advantage_covers(rng, n_trials, **settings):
    found = [audit_labels(rng, 0.0, **settings).advantage_ for _ in range(n_trials)]
    return sum(one.low <= 0 <= one.high for one in found), n_trials


@promise(
    "`LabelInferenceAttack.compare` covers 0 where the victim was trained on neither side",
    nominal=0.95,
    designs={
        f"{n_members} and {n_others} records": {"n_members": n_members, "n_others": n_others}
        for n_members, n_others in ((20, 20), (50, 50), (400, 100))
    },
    n_trials=1000,
)
def label_comparison_covers(rng, n_trials, n_members, n_others, n_trained=100):
    covered = 0
    for _ in range(n_trials):
        X = rng.normal(size=(n_trained + n_members + n_others, 3))
        y = (X[:, 0] + rng.normal(size=len(X)) > 0).astype(int)
        victim = LogisticRegression().fit(X[:n_trained], y[:n_trained])
        first, *sides = (
            Records(X[rows], y[rows])
            for rows in np.split(np.arange(len(X)), [n_trained, n_trained + n_members])
        )
        found = LabelInferenceAttack(victim).fit(first).compare(*sides)
        covered += found.loc["advantage", "low"] <= 0 <= found.loc["advantage", "high"]
    return covered, n_trials
