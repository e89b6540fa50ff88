"""What one fit says about each record, beside pools of shadow models.

``attack`` compares AnalyticLiRA with LiRA and RMIA on linear models, ``ranking`` compares
LeaveOneOutLeakage with the gap between IN and OUT models of a pool: the rank correlation, and how
many models of another pool give as good a ranking.

    python benchmarks/bench_one_fit.py attack [--victims 12]
    python benchmarks/bench_one_fit.py ranking
"""

import argparse
from time import process_time

import numpy as np
from scipy.stats import spearmanr
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, AnalyticLiRA, LiRA, ThresholdAttack
from skmia.leakage import LeaveOneOutLeakage
from skmia.metrics import tpr_at_fpr_score

SIZES = 4, 8, 16, 64


def scale(X):
    return StandardScaler().fit_transform(X)


def noisy_digits():
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(0)
    changed = rng.random(len(y)) < 0.2
    return scale(X), np.where(changed, rng.integers(0, 10, len(y)), y)


def linear_problems():
    X, y = make_classification(1000, 60, n_informative=20, flip_y=0.4, random_state=0)
    yield "mixture, two classes", scale(X), y, LogisticRegression(max_iter=1000)
    X, y = make_classification(1000, 60, n_informative=20, n_classes=4, flip_y=0.4, random_state=0)
    yield "mixture, four classes", scale(X), y, LogisticRegression(max_iter=1000)
    X, y = load_breast_cancer(return_X_y=True)
    yield "breast cancer", scale(X), y, LogisticRegression(max_iter=1000)
    X, y = load_digits(return_X_y=True)
    yield "digits, odd or even", scale(X), y % 2, LogisticRegression(C=10, max_iter=2000)
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(400, 80)), rng.normal(size=400)
    level = X @ rng.normal(size=80)
    yield "least squares", X, level + level.std() * noise, LinearRegression()
    X, y = load_diabetes(return_X_y=True)
    X = PolynomialFeatures(2, include_bias=False).fit_transform(scale(X))
    yield "ridge, diabetes", scale(X), y, Ridge(1.0)
    X, y = make_classification(2000, 500, n_informative=30, flip_y=0.2, random_state=0)
    yield "logistic, 500 features", X, y, LogisticRegression(max_iter=500)


def compare_attacks(n_victims):
    for name, X, y, model in linear_problems():
        records = Records(X, y)
        pool = ShadowPool(model, 64, temperatures=(1.0, 2.0), random_state=1).fit(records)
        few = ShadowPool(model, 8, temperatures=(1.0, 2.0), random_state=2).fit(records)
        results = {}
        for seed in range(n_victims):
            rng = np.random.default_rng(100 + seed)
            inside = rng.permutation(len(X)) < len(X) // 2
            victim = clone(model).fit(X[inside], y[inside])
            attacks = {
                "loss": ThresholdAttack(victim),
                "AnalyticLiRA": AnalyticLiRA(victim),
                "LiRA, 8 models": LiRA(victim, few),
                "LiRA, 64 models": LiRA(victim, pool),
            }
            if is_classifier(model):
                for size, shadows in ((8, few), (64, pool)):
                    rmia = RMIA(victim, shadows, temperature=1.0)
                    attacks[f"RMIA at T = 1, {size} models"] = rmia
            for key, attack in attacks.items():
                scores = attack.fit(records).score_samples(records)
                rates = (
                    roc_auc_score(inside, scores),
                    tpr_at_fpr_score(inside, scores, max_fpr=0.01, on_unresolvable="ignore"),
                )
                results.setdefault(key, []).append(rates)
        print(f"\n{name}: {len(X)} records, {X.shape[1]} features, {n_victims} victims")
        best = np.array(results["AnalyticLiRA"])
        for key, rates in results.items():
            rates = np.array(rates)
            error = (best - rates).std(axis=0, ddof=1) / np.sqrt(n_victims)
            auc, tpr = rates.mean(axis=0)
            less = (best - rates).mean(axis=0)
            print(
                f"  {key:24} AUC {auc:.3f}, TPR at 1% {tpr:.3f}; AnalyticLiRA has "
                f"{less[0]:+.3f} ± {error[0]:.3f}, {less[1]:+.3f} ± {error[1]:.3f} more"
            )


def ranked_problems():
    digits = load_digits(return_X_y=True)
    noisy = noisy_digits()
    X, y = make_classification(1000, 60, n_informative=20, flip_y=0.4, random_state=0)
    return {
        "forest, digits": (*digits, RandomForestClassifier(100, random_state=0)),
        "5 neighbors, noisy digits": (*noisy, KNeighborsClassifier(5)),
        "LDA, noisy digits": (*noisy, LinearDiscriminantAnalysis()),
        "logistic, mixture": (scale(X), y, LogisticRegression(max_iter=1000)),
    }


def gaps(pool, unit):
    """Mean signal of IN models minus that of OUT models of each record."""
    values, inside = pool.signals_[0, 0], pool.membership_
    values = 1 / (1 + np.exp(-values)) if unit == "p" else values
    into = np.where(inside, values, 0).sum(axis=0) / inside.sum(axis=0)
    out = np.where(inside, 0, values).sum(axis=0) / (~inside).sum(axis=0)
    return into - out


def correlate(left, right):
    known = np.isfinite(left)
    return spearmanr(left[known], right[known])[0]


def compare_rankings():
    for name, (X, y, model) in ranked_problems().items():
        records = Records(X, y)
        truth = ShadowPool(model, 64, random_state=1).fit(records)
        others = {size: ShadowPool(model, size, random_state=2).fit(records) for size in SIZES}
        print(f"\n{name}: {len(X)} records")
        for unit in ("p", "phi"):
            start = process_time()
            leakage = LeaveOneOutLeakage(clone(model), scale=unit).fit(X, y)
            seconds = process_time() - start
            gap = gaps(truth, unit)
            of_pools = (
                f"{size}: {correlate(gaps(pool, unit), gap):.2f}" for size, pool in others.items()
            )
            print(
                f"  {unit:4} gap {correlate(leakage.leakage_, gap):.2f}, -OUT "
                f"{correlate(-leakage.signal_out_, gap):.2f} ({leakage.method_}, "
                f"{seconds:.2f} s); pools of {', '.join(of_pools)}"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["attack", "ranking"])
    parser.add_argument("--victims", type=int, default=12)
    arguments = parser.parse_args()
    if arguments.what == "attack":
        compare_attacks(arguments.victims)
    else:
        compare_rankings()
