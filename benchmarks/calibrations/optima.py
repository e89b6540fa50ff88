"""Promises of attacks that solve for all bits together: what they expect of themselves."""

import numpy as np
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from skmia import Outputs, Records
from skmia.attacks import StationarityAttack
from skmia.attacks.recovered import JointAnswersAttack

from ._registry import promise

KINDS = {
    "logistic regression": (LogisticRegression(), "classes"),
    "least squares": (LinearRegression(), "values"),
    "lasso": (Lasso(alpha=0.05), "values"),
    "Poisson regression": (PoissonRegressor(), "counts"),
    "linear support vectors": (LinearSVC(), "classes"),
}
# Of which some victims are nearly solved, with half as many columns as members, and others are not.
HARD_KINDS = {
    "least squares": (LinearRegression(), "values"),
    "ridge regression": (Ridge(), "values"),
    "ridge regression, alpha=100": (Ridge(100.0), "values"),
    "ridge classifier": (RidgeClassifier(), "classes"),
    "elastic net": (ElasticNet(0.05), "values"),
    "Poisson regression": (PoissonRegressor(), "counts"),
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
    return count_far(measure_away(rng, n_trials, *KINDS[name], n_features))


def measure_away(rng, n_trials, model, kind, n_features):
    """The expected AUC minus the one that is reached, of victims for which it is known.

    Of most of them it is, or the design says little.
    """
    away = []
    for _ in range(10 * n_trials):
        if len(away) == n_trials:
            break
        records, member = draw_linear(rng, kind, n_features)
        victim = model.fit(records.X[member], records.y[member])
        attack = StationarityAttack(victim, random_state=0).fit(records)
        if attack.expected_auc_ is not None:  # else it says that it does not know
            found = roc_auc_score(member, attack.score_samples(records))
            away.append(attack.expected_auc_ - found)
    return np.array(away)


@promise(
    "expected_auc_ of StationarityAttack is at most 0.05 off, of single victims",
    nominal=0.9,
    designs={
        f"{name}, {n_features / 200:g} columns per member": {"name": name, "n_features": n_features}
        for name in HARD_KINDS
        for n_features in (60, 100)
    },
    n_trials=100,
)
def expected_auc_of_victims(rng, n_trials, name, n_features):
    away = measure_away(rng, n_trials, *HARD_KINDS[name], n_features)
    return np.count_nonzero(np.abs(away) <= 0.05), len(away)


def count_far(away):
    """1/2 for means within the promise, the others by how far they are off."""
    off = np.array(away)
    return 0.5 + off - np.clip(off.mean(), -0.05, 0.05)


DENSITIES = {
    "quadratic discriminant analysis": (QuadraticDiscriminantAnalysis(), (5, 10, 15)),
    "linear discriminant analysis": (LinearDiscriminantAnalysis(), (20, 60)),
    "Gaussian naive Bayes": (GaussianNB(), (20, 60)),
}


def draw_densities(rng, model, n_features):
    """Records of two classes, a drawn half of them, and the answers of a victim of this half."""
    y, shift = rng.integers(2, size=_N), 1.5 / np.sqrt(n_features)
    X = rng.normal(size=(_N, n_features)) * (1 + 0.4 * shift * y[:, None]) + shift * y[:, None]
    member = rng.permutation(_N) < _N // 2
    answers = np.round(model.fit(X[member], y[member]).predict_proba(X), 4)
    return Records(X, y, outputs=Outputs(answers, [0, 1], "proba")), member


@promise(
    "expected_auc_ of JointAnswersAttack is at most 0.05 off, on average",
    nominal=0.5,
    side="equal",
    designs={
        f"{name}, {n_features / 200:g} columns per member": {"name": name, "n_features": n_features}
        for name, (_, sizes) in DENSITIES.items()
        for n_features in sizes
    },
    n_trials=100,
)
def expected_auc_of_answers(rng, n_trials, name, n_features):
    model, away = DENSITIES[name][0], []
    for _ in range(n_trials):
        records, member = draw_densities(rng, model, n_features)
        attack = JointAnswersAttack(None, model, random_state=0).fit(records)
        if attack.expected_auc_ is not None:
            away.append(attack.expected_auc_ - roc_auc_score(member, attack.score_samples(records)))
    return count_far(away)


@promise(
    "JointAnswersAttack ranks nobody by a membership that the victim does not know (AUC)",
    nominal=0.5,
    side="equal",
    designs={
        name: {"name": name, "n_features": sizes[-1]} for name, (_, sizes) in DENSITIES.items()
    },
    n_trials=200,
)
def joint_answers_null(rng, n_trials, name, n_features):
    model, found = DENSITIES[name][0], []
    for _ in range(n_trials):
        records, member = draw_densities(rng, model, n_features)
        attack = JointAnswersAttack(None, model, random_state=0).fit(records)
        found.append(roc_auc_score(rng.permutation(member), attack.score_samples(records)))
    return np.array(found)
