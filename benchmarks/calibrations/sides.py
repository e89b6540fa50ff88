"""Promises of the checks that compare the two sides of an audit."""

import warnings

import numpy as np
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ThresholdAttack
from skmia.report import find_shared_rows

from ._registry import promise

_ATTACKS = {"loss": ThresholdAttack(), "LiRA": LiRA()}

SOUND = {
    "forest": RandomForestClassifier(10),
    "forest without bootstrap": RandomForestClassifier(10, bootstrap=False),
    "forest of large leaves": RandomForestClassifier(10, min_samples_leaf=30),
    "forest on samples": RandomForestClassifier(10, max_samples=0.4),
    "extra trees": ExtraTreesClassifier(10),
    "tree": DecisionTreeClassifier(min_samples_leaf=5),
    "bagging": BaggingClassifier(n_estimators=5),
    "gradient boosting": GradientBoostingClassifier(n_estimators=10, subsample=0.5),
    "boosting that stops early": GradientBoostingClassifier(n_estimators=30, n_iter_no_change=3),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=10),
    "histogram boosting that stops early": HistGradientBoostingClassifier(
        max_iter=30, early_stopping=True
    ),
    "logistic regression": LogisticRegression(),
    "logistic regression in a pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
    "stochastic gradients": SGDClassifier(loss="log_loss"),
    "naive Bayes": GaussianNB(),
    "5 neighbors": KNeighborsClassifier(5),
    "50 neighbors": KNeighborsClassifier(50),
    "support vectors": SVC(),
    "net": MLPClassifier((8,), max_iter=30),
    "calibrated forest": CalibratedClassifierCV(RandomForestClassifier(5), cv=3),
    "stack": StackingClassifier(
        [("tree", DecisionTreeClassifier(max_depth=3)), ("nb", GaussianNB())], cv=3
    ),
}


def make_sides(rng, n, rounded=False):
    seed = int(rng.integers(2**31))
    X, y = make_classification(2 * n, 6, n_informative=4, flip_y=0.1, random_state=seed)
    return Records(X.round(0) if rounded else X, y), np.arange(2 * n) < n


def audit_sound(rng, estimator, n, rounded=False):
    records, membership = make_sides(rng, n, rounded)
    members = records[membership]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        victim = clone(estimator).fit(members.X, members.y)
        seed = int(rng.integers(2**31))
        settings = {"attacks": _ATTACKS, "shadows": 4, "fprs": [0.1], "file": False}
        return audit(victim, records, membership, random_state=seed, **settings)


@promise(
    "the checks of the sides and of training rows warn in a sound audit",
    nominal=0.01,
    side="at most",
    designs={
        "21 kinds of models, 300 records": {"n": 150},
        "21 kinds of models, 120 records": {"n": 60},
        "21 kinds of models, values with ties": {"n": 150, "rounded": True},
    },
    n_trials=420,
)
def sides_warn(rng, n_trials, n, rounded=False):
    warned, kinds = 0, list(SOUND.values())
    for trial in range(n_trials):
        checks = audit_sound(rng, kinds[trial % len(kinds)], n, rounded).checks
        found = (checks.get(name) for name in ("sides", "training rows"))
        warned += any(check is not None and check.is_warning for check in found)
    return warned, n_trials


@promise(
    "an audit is refused for rows that tables of few values have on both sides by nature",
    nominal=0.01,
    side="at most",
    designs={
        "3 columns of 3 values": {"n_columns": 3, "n_values": 3},
        "4 columns of 4 values": {"n_columns": 4, "n_values": 4},
        "6 columns of 3 values": {"n_columns": 6, "n_values": 3},
    },
    n_trials=400,
)
def coarse_tables_are_refused(rng, n_trials, n_columns, n_values):
    refused = 0
    for _ in range(n_trials):
        n = int(rng.choice([60, 300, 1200]))
        X = rng.integers(n_values, size=(n, n_columns)).astype(float)
        membership = rng.permutation(n) % int(rng.choice([2, 4])) == 0
        refused += find_shared_rows(Records(X).fingerprint, membership) is not None
    return refused, n_trials


def draw_shifted(rng, n, kind, is_member):
    """Records of one of two populations, which differ in one way."""
    X = rng.normal(size=(n, 5))
    weights = np.array([1.0, 0.7, -0.5, 0, 0])
    if kind == "rule" and not is_member:
        weights = np.array([1.0, -0.7, 0.5, 0, 0])
    if kind == "mean" and not is_member:
        X[:, 0] += 0.7
    if kind == "scale" and not is_member:
        X[:, :2] *= 1.6
    noise = 2.2 if kind == "noise" and not is_member else 1.0
    margin = X @ weights + noise * rng.normal(size=n)
    margin += 0.9 if kind == "prior" and not is_member else 0.0
    if kind == "format":
        X = X.round(3 if is_member else 1)
    return X, (margin > 0).astype(int)


@promise(
    "a leak is found beyond a shift where the model was not trained on the members",
    nominal=0.025,
    side="at most",
    designs={
        kind: {"kind": kind} for kind in ("mean", "scale", "rule", "noise", "prior", "format")
    },
    n_trials=60,
)
def shifts_are_leaks(rng, n_trials, kind):
    # The model was trained on other records of the members' population, so that it has memorized
    # none of the members, however much models of its kind memorize.
    found = 0
    for trial in range(n_trials):
        name = ("logistic regression", "forest")[trial % 2]
        sides = [draw_shifted(rng, 300, kind, is_member) for is_member in (True, False)]
        records = Records(*(np.concatenate(parts) for parts in zip(*sides, strict=True)))
        victim = clone(SOUND[name]).fit(*draw_shifted(rng, 300, kind, True))
        settings = {"attacks": _ATTACKS, "shadows": 8, "fprs": [0.1], "file": False}
        membership, seed = np.arange(600) < 300, int(rng.integers(2**31))
        report = audit(victim, records, membership, random_state=seed, **settings)
        found += report.evidence == "leak"
    return found, n_trials
