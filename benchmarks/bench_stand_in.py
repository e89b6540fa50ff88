"""What a policy recommends of one victim as an estimator, as a function, and as stored answers.

Of each victim with hard records, a share of the records lies in a region of its own with random
labels, so that a model can only know them by heart. Safe victims have none of them.

Usage: python benchmarks/bench_stand_in.py [--only NAME] > benchmarks/results/stand_in.md
"""

import argparse
import sys
from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia.disclosure import load_policy
from skmia.report import list_measurements, recommend_release
from skmia.victims import CallableVictim

N_COLUMNS = 5
DEEP = GradientBoostingClassifier(n_estimators=150, max_depth=8, random_state=0)
HARD = {
    "neighbors": KNeighborsClassifier(15, weights="distance"),
    "forest": RandomForestClassifier(random_state=0),
    "boosting, 150 deep rounds": DEEP,
    "MLP": MLPClassifier((8,), max_iter=100, early_stopping=False, random_state=0),
    "logistic regression": LogisticRegression(),
}
SAFE = {
    "logistic regression": (LogisticRegression(), 20_000),
    "tree of depth 2": (DecisionTreeClassifier(max_depth=2, random_state=0), 20_000),
    "naive Bayes": (GaussianNB(), 8_000),
    "small MLP": (MLPClassifier((4,), max_iter=60, random_state=0), 8_000),
}
FORMS = "estimator", "function", "stored answers"
HEAD = "victim", "form", "reference models", "TPR at 1%", "shadow models", "gap z"


def make_hard(n_records, share, seed):
    """Records of which a share has random labels, and a random half of members."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_records, N_COLUMNS))
    y = rng.integers(0, 2, n_records)
    is_hard = rng.random(n_records) < share
    X[:, 0] += np.where(is_hard, 0, 6 * y - 3)
    X[is_hard, 1] += 8
    return Records(X, y), rng.permutation(n_records) < n_records // 2


def make_safe(n_records, seed):
    """Records with a weak relation of two columns to the label."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_records, N_COLUMNS))
    y = (X[:, 0] + X[:, 1] + rng.normal(size=n_records) > 0).astype(int)
    return Records(X, y), rng.permutation(n_records) < n_records // 2


def take_forms(model, records):
    """The victim and the records of each form."""
    ask = CallableVictim(model.predict_proba, classes=model.classes_)
    return dict(zip(FORMS, [(model, records), (ask, records), (None, records.with_outputs(model))]))


def describe(form, victim, records, membership, policies):
    """A row of the table."""
    report = audit(victim, records, membership, shadows=8, fprs=[0.01], file=False, random_state=0)
    numbers = {(one.name, one.group): one for one in list_measurements(report)}
    reference, gap = report.reference, report.reference["gap"]
    results = [
        recommend_release(report, victim, records, policy=policy).result for policy in policies
    ]
    check = report.checks["shadow models"]
    return [
        form,
        reference["estimator"] or "its own recipe",
        f"{numbers['tpr_at_fpr_01', 'all'].at(0.95, 0.95).estimate:.3f}",
        check.finding or check.status,
        "-" if gap is None else f"{gap['z']:.1f}",
        *results,
    ]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    only = parser.parse_args(argv).only
    taking = replace(load_policy("cautious"), name="cautious, stand-ins taken", stand_in=True)
    policies = "cautious", taking, "research"
    print("# What a policy says of one victim in three forms\n")
    print("Made by `python benchmarks/bench_stand_in.py`: one victim of each kind, seed 0, 4,000")
    print(
        "records with hard ones and as many as stated without, 8 shadow models. The audit of a\n"
        "function, and of stored answers, chooses the stand-in.\n"
    )
    print(f"| {' | '.join([*HEAD, *(getattr(one, 'name', one) for one in policies)])} |")
    print(f"|{'---|' * (len(HEAD) + len(policies))}")
    cases = [
        (f"{name}, {share:.0%} hard", model, make_hard(4_000, share, 0))
        for share in (0.16, 0.07)
        for name, model in HARD.items()
    ]
    cases += [(f"safe {name}, {n:,}", model, make_safe(n, 0)) for name, (model, n) in SAFE.items()]
    for name, model, (records, membership) in cases:
        if only not in name:
            continue
        fitted = clone(model).fit(records.X[membership], records.y[membership])
        for form, (victim, queried) in take_forms(fitted, records).items():
            row = describe(form, victim, queried, membership, policies)
            print(f"| {' | '.join([name, *row])} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
