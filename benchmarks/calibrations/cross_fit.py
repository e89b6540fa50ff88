"""Promises of attacks that learn from known members, where and how much there is to find."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Records
from skmia.attacks import RenyiAttack
from skmia.base._cross_fitting import cross_fit
from skmia.metrics import auc_interval
from skmia.report._measure import widen

from ._registry import promise

MODELS = {
    "logistic regression": LogisticRegression(),
    "tree": DecisionTreeClassifier(min_samples_leaf=5),
}
DESIGNS = {
    f"{model}, {n_columns} columns, {n_records} records, shift {shift:g}": {
        "model": model,
        "n_columns": n_columns,
        "n_records": n_records,
        "shift": shift,
    }
    for model in MODELS
    for n_columns, n_records, shift in ((1, 300, 0), (5, 300, 0), (5, 300, 0.2), (5, 300, 1.5))
}


class Columns(ClassifierMixin, BaseEstimator):
    """An attack that is a classifier of the features of records."""

    def __init__(self, model=None):
        self.model = model

    def needs(self):
        return RenyiAttack().needs()

    def fit(self, records, membership):
        self.model_ = self.model.fit(records.X, membership)
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, records):
        return self.model_.predict(records.X)

    def predict_proba(self, records):
        return self.model_.predict_proba(records.X)


def judge(rng, model, n_columns, n_records, shift):
    membership = rng.permutation(n_records) % 2 == 1
    X = rng.normal(size=(n_records, n_columns))
    X[membership, 0] += shift
    records, seed = Records(X, np.zeros(n_records)), int(rng.integers(2**31 - 1))
    return membership, cross_fit(Columns(MODELS[model]), records, membership, seed)


@promise(
    "the mean AUC of cross-fitted attacks is one half where there is nothing to find",
    nominal=0.5,
    side="equal",
    designs={name: design for name, design in DESIGNS.items() if design["shift"] == 0},
    n_trials=500,
)
def cross_fit_mean(rng, n_trials, **design):
    found = (judge(rng, **design) for _ in range(n_trials))
    return np.array([roc_auc_score(membership, judged.scores) for membership, judged in found])


@promise(
    "audit covers the AUC of cross-fitted attacks", nominal=0.95, designs=DESIGNS, n_trials=500
)
def cross_fit_coverage(rng, n_trials, **design):
    rows = []
    for _ in range(n_trials):
        membership, judged = judge(rng, **design)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            estimate, low, high = auc_interval(membership, judged.scores)
        rows.append(widen({"metric": "auc", "estimate": estimate, "low": low, "high": high}))
    # The AUC of an attack that learns from so many records is that of the trials on average.
    true = np.mean([row["estimate"] for row in rows]) if design["shift"] else 0.5
    return sum(row["low"] <= true <= row["high"] for row in rows), n_trials
