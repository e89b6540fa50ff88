"""Linear models by their optimum: file, answers of four decimals, bounded bits, missing members.

    python benchmarks/bench_optima.py [--seeds N] [--only KIND ...] [--features D ...] [--missing]

Each cell has the AUC and the TPR at 1% FPR of 400 candidates, of whom 200 are members, means over
the victims with standard errors of the AUC; the mean of the AUC that the attack expects; and the
share of the victims for which that is off by more than .05. *Bounded* is ridge regression with bits
in [0, 1] on the same equations.
"""

import argparse
import warnings

import numpy as np
from scipy.stats import sem
from sklearn.base import clone
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    QuantileRegressor,
    Ridge,
    RidgeClassifier,
)
from sklearn.metrics import roc_auc_score
from sklearn.svm import LinearSVC, LinearSVR

from skmia import Outputs, Records
from skmia.attacks import StationarityAttack
from skmia.attacks.recovered import RecoveredModelAttack
from skmia.metrics import tpr_at_fpr_score

N = 400
L1 = LogisticRegression(penalty="l1", solver="liblinear")
KINDS = {
    "logistic": (LogisticRegression(), "classes"),
    "logistic, l1": (L1, "classes"),
    "least squares": (LinearRegression(), "values"),
    "ridge 1": (Ridge(), "values"),
    "ridge 100": (Ridge(100.0), "values"),
    "ridge classifier": (RidgeClassifier(), "classes"),
    "lasso": (Lasso(0.05), "values"),
    "elastic net": (ElasticNet(0.05), "values"),
    "Poisson": (PoissonRegressor(), "counts"),
    "Gamma": (GammaRegressor(), "positive"),
    "Huber": (HuberRegressor(max_iter=1000), "values"),
    "squared hinge": (LinearSVC(), "classes"),
    "squared epsilon": (LinearSVR(loss="squared_epsilon_insensitive", max_iter=10**4), "values"),
    "hinge": (LinearSVC(loss="hinge", max_iter=10**6), "classes"),
    "epsilon": (LinearSVR(epsilon=0.2, max_iter=10**6), "values"),
    "quantile": (QuantileRegressor(alpha=0.001), "values"),
}


def draw(kind, d, seed):
    """Records of d features and the membership of half of them."""
    rng = np.random.default_rng(seed)
    X, w = rng.normal(size=(N, d)), rng.normal(size=d) * 1.5 / np.sqrt(d)
    means = X @ w
    y = {
        "classes": lambda: (rng.random(N) < 1 / (1 + np.exp(-means))).astype(int),
        "values": lambda: means + rng.normal(size=N),
        "counts": lambda: rng.poisson(np.exp(means / 2)).astype(float),
        "positive": lambda: np.exp(means / 2) * rng.gamma(2, 0.5, size=N),
    }[kind]()
    return Records(X, y), np.isin(np.arange(N), rng.permutation(N)[: N // 2])


def round_answers(victim, records, n_decimals=4):
    outputs = records.with_outputs(victim)["outputs"]
    values = np.round(outputs.values, n_decimals)
    return Records(records.X, records.y, outputs=Outputs(values, outputs.classes, outputs.kind))


def judge(attack, records, member):
    """AUC, TPR at 1% and the AUC that the attack expects, or why there is none."""
    try:
        scores = attack.fit(records).score_samples(records)
    except (TypeError, ValueError) as error:
        return str(error)
    return (
        roc_auc_score(member, scores),
        tpr_at_fpr_score(member, scores, max_fpr=0.01),
        attack.expected_auc_,
    )


def list_attacks(victim, recipe, records, member):
    given = {"random_state": 0}
    yield "file", StationarityAttack(victim, **given), records, member
    yield "bounded", StationarityAttack(victim, solver="bounded", **given), records, member
    answers = round_answers(victim, records)
    yield "service", RecoveredModelAttack(None, recipe, **given), answers, member


def list_missing(victim, recipe, records, member):
    """The file with all members among the candidates, and without one in twenty of them."""
    yield "file", StationarityAttack(victim, random_state=0), records, member
    kept = np.ones(N, dtype=bool)
    kept[np.flatnonzero(member)[:10]] = False
    some, rest = records[kept], member[kept]
    for name, outsiders in (("5% missing", 0.0), ("5% missing, known", 0.05)):
        attack = StationarityAttack(
            victim, outsiders=outsiders, prior=float(rest.mean()), random_state=0
        )
        yield name, attack, some, rest


def measure(name, d, n_seeds, make):
    recipe, kind = KINDS[name]
    found = {}
    for seed in range(n_seeds):
        records, member = draw(kind, d, seed)
        victim = clone(recipe).fit(records.X[member], records.y[member])
        for column, *given in make(victim, recipe, records, member):
            found.setdefault(column, []).append(judge(*given))
    return {column: show(rows) for column, rows in found.items()}


def show(rows):
    good = [row for row in rows if not isinstance(row, str)]
    if not good:
        return rows[0][:60]
    auc, tpr, expected = np.mean(good, axis=0)
    off = np.mean([abs(row[2] - row[0]) > 0.05 for row in good])
    error = sem([row[0] for row in good]) if len(good) > 1 else np.nan
    lost = f" ({len(rows) - len(good)} failed)" if len(good) < len(rows) else ""
    return f"{auc:.3f} ± {error:.3f}, {tpr:.3f}, said {expected:.3f}, {off:.0%} off{lost}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", nargs="*", default=[*KINDS], metavar="KIND")
    parser.add_argument("--features", type=int, nargs="*", default=[20, 60, 100])
    parser.add_argument("--missing", action="store_true", help="leave members out")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    make, is_first = list_missing if options.missing else list_attacks, True
    for name in options.only:
        for d in options.features:
            cells = measure(name, d, options.seeds, make)
            if is_first:
                print(f"| kind | d | {' | '.join(cells)} |\n|{'---|' * (len(cells) + 2)}")
                is_first = False
            print(f"| {name} | {d} | {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main()
