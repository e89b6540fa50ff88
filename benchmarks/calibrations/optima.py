"""Promises of the attacks on the optimum of a linear model: what they expect of themselves."""

import numpy as np
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC

from skmia import Records
from skmia.attacks import StationarityAttack

from ._registry import promise

KINDS = {
    "logistic regression": (LogisticRegression(), "classes"),
    "least squares": (LinearRegression(), "values"),
    "lasso": (Lasso(alpha=0.05), "values"),
    "Poisson regression": (PoissonRegressor(), "counts"),
    "linear support vectors": (LinearSVC(), "classes"),
}
_N = 400


def draw_linear(rng, kind, n_features):
    X, weights = rng.normal(size=(_N, n_features)), rng.normal(size=n_features)
    means = X @ weights * 1.5 / np.sqrt(n_features)
    if kind == "classes":
        y = (rng.random(_N) < 1 / (1 + np.exp(-means))).astype(int)
    else:
        y = means + rng.normal(size=_N) if kind == "values" else rng.poisson(np.exp(means / 2))
    return Records(X, y), rng.permutation(_N) < _N // 2


@promise(
    "expected_auc_ of StationarityAttack is at most 0.05 off, on average",
    nominal=0.5,
    side="equal",
    designs={
        f"{name}, {n_features / 200:g} columns per member": {"name": name, "n_features": n_features}
        for name in KINDS
        for n_features in (20, 60, 100)
    },
    n_trials=100,
)
def expected_auc_is_reached(rng, n_trials, name, n_features):
    model, kind = KINDS[name]
    away = []
    for _ in range(n_trials):
        records, member = draw_linear(rng, kind, n_features)
        victim = model.fit(records.X[member], records.y[member])
        attack = StationarityAttack(victim, random_state=0).fit(records)
        found = roc_auc_score(member, attack.score_samples(records))
        away.append(attack.expected_auc_ - found)
    # Counted as right are means within the promise, as 1/2, the others by how far they are off.
    off = np.array(away)
    return 0.5 + off - np.clip(off.mean(), -0.05, 0.05)
