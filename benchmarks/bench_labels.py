"""LiRA and difficulty calibration on labels alone, over several victims.

    python benchmarks/bench_labels.py --data FOLDER [--victims 8]

FOLDER holds adult.csv.gz and location30.npz. The shadow models that are treated as victims are
further models of the same pool. Prints the AUC, the TPR at an FPR of 1% and the balanced accuracy
at the attack's own threshold, means over victims, with the standard error of the AUC.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier, VotingClassifier
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import CalibratedAttack, LiRA, ThresholdAttack
from skmia.metrics import tpr_at_fpr_score

N_ROWS, SIZES = 4000, (8, 16, 64)


def read_adult(folder):
    frame = pd.read_csv(folder / "adult.csv.gz").sample(N_ROWS, random_state=0)
    X = pd.get_dummies(frame.drop(columns=["income", "split"])).to_numpy(float)
    return Records((X - X.mean(axis=0)) / X.std(axis=0), pd.factorize(frame["income"])[0])


def read_location(folder):
    held = np.load(folder / "location30.npz")
    X = np.unpackbits(held["x_bits"], axis=1, count=446)
    rows = np.random.default_rng(0).permutation(len(X))[:N_ROWS]
    return Records(X[rows].astype(np.float32), held["y"][rows])


def make_models():
    trees = [(f"tree{k}", DecisionTreeClassifier(max_features="sqrt")) for k in range(5)]
    yield "5 trees, hard voting", VotingClassifier(trees, voting="hard")
    yield "forest of 50 trees", RandomForestClassifier(50)
    yield "5 neighbors", KNeighborsClassifier(5)


def as_answers(records, correct):
    """The labels of a victim that are correct where they should be."""
    classes = np.unique(records.y)
    wrong = np.roll(classes, 1)[np.searchsorted(classes, records.y)]
    labels = np.where(correct, records.y, wrong)
    return records.with_fields(outputs=Outputs(labels, classes, "label"))


def measure(records, model, n_victims):
    pool = ShadowPool(model, SIZES[-1] + 2 * n_victims, output_kind="label", random_state=0)
    pool.fit(records)
    bits, inside = pool.values(records)[0], pool.membership(records).T
    for number in range(SIZES[-1], len(bits), 2):
        asked, members = as_answers(records, bits[number] > 0.5), inside[number]
        attacks = {("correctness", 0): ThresholdAttack(None, signal="correctness")}
        for size in SIZES:
            shadows = pool.first(size)
            attacks["CalibratedAttack", size] = CalibratedAttack(None, shadows)
            attacks["LiRA", size] = LiRA(None, shadows)
            attacks["LiRA, normal", size] = LiRA(None, shadows, likelihood="normal")
        for (name, size), attack in attacks.items():
            scores = attack.fit(asked).score_samples(asked)
            yield {
                "attack": name,
                "models": size,
                "auc": roc_auc_score(members, scores),
                "tpr": tpr_at_fpr_score(members, scores, max_fpr=0.01, on_unresolvable="ignore"),
                "accuracy": balanced_accuracy_score(members, attack.predict(asked)),
                "log_loss": log_loss(members, attack.predict_proba(asked)[:, 1])
                if hasattr(attack, "predict_proba")
                else np.nan,
            }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--victims", type=int, default=8)
    options = parser.parse_args()
    for table, read in (("Adult", read_adult), ("Location30", read_location)):
        for name, model in make_models():
            rows = pd.DataFrame(measure(read(options.data), model, options.victims))
            groups = rows.groupby(["attack", "models"], sort=False)
            found = groups.mean().assign(error=groups["auc"].sem())
            print(f"\n{table}, {name}\n{found.round(3).to_string()}", flush=True)


if __name__ == "__main__":
    main()
