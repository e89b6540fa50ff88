"""Log odds against losses in CalibratedAttack, over several victims.

    python benchmarks/bench_calibrated.py [--table adult.csv.gz --target income] [--victims 4]

Prints the AUC and the TPR at an FPR of 1.25%, means over victims, with 16 shadow models, on digits
and, where a table is given, on 6,000 of its rows.
"""

import argparse

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from skmia import Records, ShadowPool
from skmia.attacks import CalibratedAttack
from skmia.datasets import load_sklearn
from skmia.metrics import tpr_at_fpr_score

MAX_FPR = 0.0125
N_ROWS = 6000


def add_label_noise(records, share=0.2):
    rng = np.random.default_rng(0)
    y, wrong = records.y.copy(), rng.random(len(records)) < share
    y[wrong] = rng.integers(0, 10, wrong.sum())
    return Records(records.X / 16, y)


def read_table(path, target):
    frame = pd.read_csv(path).sample(N_ROWS, random_state=0)
    X = pd.get_dummies(frame.drop(columns=[target, "split"], errors="ignore"))
    return Records(X.to_numpy(float), pd.factorize(frame[target], sort=True)[0])


def make_problems(options):
    digits = load_sklearn("digits")
    net = MLPClassifier((64,), max_iter=60, learning_rate_init=0.01)
    yield "digits, forest", digits, RandomForestClassifier(50)
    yield "digits, logistic regression", digits, LogisticRegression(C=100, max_iter=50)
    yield "noisy digits, net", add_label_noise(digits), net
    if options.table:
        table = read_table(options.table, options.target)
        boosting = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=63)
        yield "table, forest", table, RandomForestClassifier(50)
        yield "table, boosted trees", table, boosting


def measure(records, model, n_victims):
    pool = ShadowPool(model, 16, random_state=0).fit(records)
    found = {}
    for seed in range(n_victims):
        members = np.random.default_rng(10 + seed).permutation(len(records)) < len(records) // 2
        victim = clone(model).set_params(random_state=seed)
        asked = records.with_outputs(victim.fit(records.X[members], records.y[members]))
        for reference in ("out", "midpoint"):
            for signal in ("scaled_logit", "loss"):
                attack = CalibratedAttack(None, pool, reference=reference, signal=signal)
                scores = attack.fit(asked).score_samples(asked)
                tpr = tpr_at_fpr_score(members, scores, max_fpr=MAX_FPR, on_unresolvable="ignore")
                row = roc_auc_score(members, scores), tpr
                found.setdefault((reference, signal), []).append(row)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table")
    parser.add_argument("--target", default="income")
    parser.add_argument("--victims", type=int, default=4)
    options = parser.parse_args()
    for name, records, model in make_problems(options):
        for (reference, signal), rows in measure(records, model, options.victims).items():
            auc, tpr = np.mean(rows, axis=0)
            print(f"{name:30s}{reference:10s}{signal:14s}{auc:.3f}  {tpr:.3f}", flush=True)


if __name__ == "__main__":
    main()
