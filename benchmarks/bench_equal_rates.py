"""Rates of single records: one threshold for all of them, and one on the scale of each.

    python benchmarks/bench_equal_rates.py [--quick]

In each round a victim and a pool of shadow models are trained anew on random halves of 400
records. A record has been a non-member in about half of the rounds, and its alarms would vary like
a binomial number if all records were mistaken at the same rate. The table has the variance of the
alarms over that of the binomial law, and what is left of the true positive rate. The last lines
are what thresholds on each record's own score can reach at best: quantiles of its scores under 750
further victims, with one pool.
"""

import argparse
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, ShadowPool
from skmia.attacks import RMIA, LiRA
from skmia.attacks.equal_rates import EqualRateAttack

N_RECORDS, RATES = 400, (0.05, 0.01)
CASES = ("logistic regression", 64), ("logistic regression", 16), ("forest", 16)
MODELS = {
    "logistic regression": LogisticRegression(C=10),
    "forest": RandomForestClassifier(25, min_samples_leaf=2),
}
ATTACKS = {"LiRA": LiRA(), "RMIA": RMIA()}


def draw_table():
    return make_classification(
        N_RECORDS, 20, n_informative=6, n_redundant=0, flip_y=0.15, random_state=0
    )


def train(model, X, y, inside, seed):
    model = clone(model)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model.fit(X[inside], y[inside])


def measure(model, n_models, n_rounds):
    """Alarms of each record, (n_rounds, n), by attack, threshold and rate; and its membership."""
    X, y = draw_table()
    records, rng = Records(X, y), np.random.default_rng(0)
    alarms, membership = {}, []
    for k in range(n_rounds):
        pool = ShadowPool(model, n_models, random_state=1000 + k).fit(records)
        inside = rng.permutation(N_RECORDS) < N_RECORDS // 2
        victim = train(model, X, y, inside, k)
        membership.append(inside)
        for name, attack in ATTACKS.items():
            for rate in RATES:
                equal = EqualRateAttack(victim, attack, pool, target_fpr=rate).fit(records)
                alarms.setdefault((name, rate, "together"), []).append(
                    equal.attack_.predict(records)
                )
                alarms.setdefault((name, rate, "equal"), []).append(equal.predict(records))
    return {key: np.array(rows) == 1 for key, rows in alarms.items()}, np.array(membership)


def find_best_rates(model, n_models, n_victims):
    """True positive rate with the quantile of each record's own scores, by attack and rate."""
    X, y = draw_table()
    records, rng = Records(X, y), np.random.default_rng(1)
    pool = ShadowPool(model, n_models, random_state=1).fit(records)
    fitted = {name: clone(attack).set_params(shadows=pool) for name, attack in ATTACKS.items()}
    scores, membership = {name: [] for name in ATTACKS}, []
    for k in range(2 * n_victims):
        inside = rng.permutation(N_RECORDS) < N_RECORDS // 2
        victim = train(model, X, y, inside, k)
        membership.append(inside)
        for name, attack in fitted.items():
            attack = attack.set_params(victim=victim)
            scores[name].append(attack.fit(records).score_samples(records))
    membership, best = np.array(membership), {}
    learned, tested = slice(0, n_victims), slice(n_victims, None)
    for name, rows in scores.items():
        values = np.array(rows)
        outside = np.where(membership[learned], np.nan, values[learned])
        for rate in RATES:
            flagged = values[tested] > np.nanquantile(outside, 1 - rate, axis=0)
            best[name, rate] = flagged[membership[tested]].mean()
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rounds")
    quick = parser.parse_args().quick
    n_rounds, n_victims = (10, 50) if quick else (100, 750)
    print("| model | shadow models | attack | rate | threshold | FPR | TPR | variance / binomial |")
    print("|---|---|---|---|---|---|---|---|")
    for name, n_models in (
        ("logistic regression", 64),
        ("logistic regression", 16),
        ("forest", 16),
    ):
        alarms, membership = measure(MODELS[name], n_models, n_rounds)
        n_out = (~membership).sum(axis=0)
        for (attack, rate, kind), flagged in alarms.items():
            found = (flagged & ~membership).sum(axis=0) / n_out
            mean = (flagged & ~membership).sum() / n_out.sum()
            spread = np.mean((found - mean) ** 2 * n_out) / (mean * (1 - mean))
            power = flagged[membership].mean()
            print(f"| {name} | {n_models} | {attack} | {rate:g} | {kind} | {mean:.4f} ", end="")
            print(f"| {power:.3f} | {spread:.2f} |", flush=True)
    best = find_best_rates(MODELS["logistic regression"], 64, n_victims)
    for (attack, rate), power in best.items():
        print(f"Best thresholds on each record's own score, {attack} at {rate:g}: TPR {power:.3f}")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
