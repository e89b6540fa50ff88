"""Linear models by their optimum: file, answers of four decimals, bounded bits, missing members.

    python benchmarks/bench_optima.py [--seeds N] [--first-seed N] [--only KIND ...]
        [--features D ...] [--missing | --by-hand]

Each cell has the AUC and the TPR at 1% FPR of 400 candidates, of whom 200 are members, means over
the victims with standard errors of the AUC; the mean of the AUC that the attack expects; and the
share of the victims for which that is off by more than .05. *Bounded* is ridge regression with bits
in [0, 1] on the same equations. With ``--by-hand``, the file is compared with the least squares of
the equations for bits in [0, 1], written here without the package, by paired differences of AUCs.
"""

import argparse
import warnings

import numpy as np
from scipy.optimize import lsq_linear
from scipy.special import expit
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
        np.nan if attack.expected_auc_ is None else attack.expected_auc_,
    )


def list_attacks(victim, recipe, records, member):
    given = {"random_state": 0}
    yield "file", StationarityAttack(victim, **given), records, member
    yield "bounded", StationarityAttack(victim, solver="bounded", **given), records, member
    answers = round_answers(victim, records)
    yield "service", RecoveredModelAttack(None, recipe, **given), answers, member


class BoundedByHand:
    """Bits in [0, 1] whose gradients come closest to the penalty, in least squares."""

    expected_auc_ = np.nan

    def __init__(self, victim, n_members):
        self.victim, self.n_members = victim, n_members

    def fit(self, records):
        X, y, n = records.X, records.y, self.n_members
        model, w = self.victim, np.ravel(self.victim.coef_)
        end = float(np.ravel(self.victim.intercept_)[0])
        f, name = X @ w + end, type(self.victim).__name__
        pull, pull_end = {
            "Lasso": lambda: (n * model.alpha * np.sign(w), 0),
            "ElasticNet": lambda: (n * model.alpha * (np.sign(w) + w) / 2, 0),
            "PoissonRegressor": lambda: (n * model.alpha * w, 0),
            "GammaRegressor": lambda: (n * model.alpha * w, 0),
            "HuberRegressor": lambda: (2 * model.alpha * w, 0),
            "LinearSVC": lambda: (w, end),
            "LogisticRegression": lambda: (np.sign(w) / model.C, np.sign(end) / model.C),
            "LinearRegression": lambda: (0 * w, 0),
            "Ridge": lambda: (model.alpha * w, 0),
        }[name]()
        slopes = {
            "PoissonRegressor": lambda: np.exp(f) - y,
            "GammaRegressor": lambda: 1 - y * np.exp(-f),
            "HuberRegressor": lambda: (
                2 * np.clip((f - y) / model.scale_, -model.epsilon, model.epsilon)
            ),
            "LinearSVC": lambda: 2 * (1 - 2 * y) * np.maximum(1 - (2 * y - 1) * f, 0),
            "LogisticRegression": lambda: expit(f) - y,
        }.get(name, lambda: f - y)()
        # Of an l1 penalty, coefficients that are not 0 have an equation.
        used = np.append(w != 0, end != 0)
        rows = (np.column_stack([X, np.ones(len(X))]) * slopes[:, None])[:, used].T
        targets = -np.append(pull, pull_end)[used]
        rows, targets = np.vstack([rows, np.ones(len(X))]), np.append(targets, n)
        size = np.linalg.norm(rows, axis=1)
        found = lsq_linear(rows / size[:, None], targets / size, (0, 1), method="bvls")
        self.bits_ = found.x
        return self

    def score_samples(self, records):
        return self.bits_


def list_by_hand(victim, recipe, records, member):
    yield "file", StationarityAttack(victim, random_state=0), records, member
    yield "by hand", BoundedByHand(victim, int(member.sum())), records, member


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


def measure(name, d, seeds, make):
    recipe, kind = KINDS[name]
    found = {}
    for seed in seeds:
        records, member = draw(kind, d, seed)
        victim = clone(recipe).fit(records.X[member], records.y[member])
        for column, *given in make(victim, recipe, records, member):
            found.setdefault(column, []).append(judge(*given))
    cells = {column: show(rows) for column, rows in found.items()}
    if make is list_by_hand:
        away = [one[0] - other[0] for one, other in zip(*found.values(), strict=True)]
        cells["file - by hand"] = f"{np.mean(away):+.3f} ± {sem(away):.3f}"
    return cells


def show(rows):
    good = [row for row in rows if not isinstance(row, str)]
    if not good:
        return rows[0][:60]
    auc, tpr = np.mean([row[:2] for row in good], axis=0)
    error = sem([row[0] for row in good]) if len(good) > 1 else np.nan
    lost = f" ({len(rows) - len(good)} failed)" if len(good) < len(rows) else ""
    return f"{auc:.3f} ± {error:.3f}, {tpr:.3f}{describe_expected(good)}{lost}"


def describe_expected(rows):
    """Say what was expected where something was, how often it was off, and how often unknown."""
    known = np.array([row for row in rows if np.isfinite(row[2])])
    if not len(known):
        return ""
    off = np.mean(np.abs(known[:, 2] - known[:, 0]) > 0.05)
    open_ = f", {1 - len(known) / len(rows):.0%} not known" if len(known) < len(rows) else ""
    return f", said {known[:, 2].mean():.3f}, {off:.0%} off{open_}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--only", nargs="*", default=[*KINDS], metavar="KIND")
    parser.add_argument("--features", type=int, nargs="*", default=[20, 60, 100])
    parser.add_argument("--first-seed", type=int, default=0)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--missing", action="store_true", help="leave members out")
    ways.add_argument("--by-hand", action="store_true", help="compare with least squares")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    make, is_first = list_missing if options.missing else list_attacks, True
    if options.by_hand:
        make = list_by_hand
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    for name in options.only:
        for d in options.features:
            cells = measure(name, d, seeds, make)
            if is_first:
                print(f"| kind | d | {' | '.join(cells)} |\n|{'---|' * (len(cells) + 2)}")
                is_first = False
            print(f"| {name} | {d} | {' | '.join(cells.values())} |", flush=True)


if __name__ == "__main__":
    main()
