"""What files of naive Bayes and discriminant analysis give away, and what is to be expected.

Half of the candidates are members. Prints, for each model and number of candidates, the AUC and the
TPR at a false positive rate of 1% of MomentsAttack, averaged over tables, beside the expected ones;
the AUC of the same scores for another membership; heavy tails (Student's t with 3 degrees of
freedom); and members that are not among the candidates. Asserts nothing.

    python benchmarks/bench_moments.py [--tables 20] [--save benchmarks/results/moments.csv]
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia import Records
from skmia.attacks import MomentsAttack
from skmia.metrics import tpr_at_fpr_score

MODELS = {
    "GaussianNB": GaussianNB(),
    "LDA with covariance": LinearDiscriminantAnalysis(store_covariance=True),
    "QDA": QuadraticDiscriminantAnalysis(),
}
FURTHER = {
    "LDA without covariance": LinearDiscriminantAnalysis(),
    "BernoulliNB": BernoulliNB(),
    "MultinomialNB": MultinomialNB(),
    "StandardScaler, GaussianNB": make_pipeline(StandardScaler(), GaussianNB()),
}
SIZES = 200, 600, 2000, 20_000
N_COLUMNS = 10


def draw(rng, n, tails):
    """Two classes of normal features with unequal means and spreads, or with heavy tails."""
    y = rng.integers(2, size=n)
    noise = rng.standard_t(3, size=(n, N_COLUMNS)) if tails else rng.normal(size=(n, N_COLUMNS))
    return noise * (1 + 0.5 * y[:, None]) + 0.5 * y[:, None], y


def attack_one(model, n, rng, *, tails=False, outsiders=0.0):
    """Numbers of one table; `outsiders` is the share of members that are not candidates."""
    n_members = n // 2
    n_outside = round(n_members * outsiders / (1 - outsiders))
    X, y = draw(rng, n + n_outside, tails)
    if isinstance(model, MultinomialNB):
        X = np.abs(X)
    membership = rng.permutation(n) < n_members
    trained = np.append(membership, np.ones(n_outside, dtype=bool))
    victim = clone(model).fit(X[trained], y[trained])
    records = Records(X[:n], y[:n])
    attack = MomentsAttack(victim, outsiders=outsiders).fit(records)
    scores = attack.score_samples(records)
    exposed = attack.leverage_ > 0.1
    sides = np.unique(membership[exposed])
    return {
        "equations": attack.n_equations_,
        "auc": roc_auc_score(membership, scores),
        "expected_auc": attack.expected_auc_,
        "tpr": tpr_at_fpr_score(membership, scores, on_unresolvable="ignore"),
        "expected_tpr": attack.expected_tpr_,
        "auc_of_others": roc_auc_score(rng.permutation(membership), scores),
        "n_exposed": attack.n_exposed_,
        "auc_exposed": roc_auc_score(membership[exposed], scores[exposed])
        if len(sides) == 2
        else np.nan,
    }


def list_settings():
    """Yield name, model, number of candidates and options of each row."""
    for name, model in MODELS.items():
        for n in SIZES:
            yield name, model, n, {}
    for name, model in FURTHER.items():
        yield name, model, 600, {}
    for n in (600, 2000):
        yield "QDA, heavy tails", MODELS["QDA"], n, {"tails": True}
    for share in (0.1, 0.5):
        for name, model in MODELS.items():
            yield f"{name}, {share:.0%} outsiders", model, 600, {"outsiders": share}


def main():
    """Run all settings, and print one line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=20, help="tables of each setting")
    parser.add_argument("--save", default=None, help="file for all rows")
    options = parser.parse_args()
    rows = []
    for name, model, n, settings in list_settings():
        n_tables = options.tables * max(1, round(4000 / n))
        rngs = [np.random.default_rng([n, table]) for table in range(n_tables)]
        found = pd.DataFrame([attack_one(model, n, rng, **settings) for rng in rngs])
        mean, error = found.mean(), found["auc"].std() / np.sqrt(n_tables)
        row = {"model": name, "candidates": n, "tables": n_tables, **mean, "auc_error": error}
        rows.append(row)
        print(
            f"{name:28} {n:6,} q={mean['equations']:5.0f} AUC {mean['auc']:.3f} ± {error:.3f} "
            f"(expected {mean['expected_auc']:.3f}), TPR {mean['tpr']:.3f} "
            f"({mean['expected_tpr']:.3f}), others {mean['auc_of_others']:.3f}, "
            f"{mean['n_exposed']:.0f} exposed: {mean['auc_exposed']:.3f}",
            flush=True,
        )
    if options.save:
        pd.DataFrame(rows).round(4).to_csv(options.save, index=False)


if __name__ == "__main__":
    main()
