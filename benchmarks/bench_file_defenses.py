"""What stripping, rounding and a student leave of the attacks on released tree models.

For each model and table, several random halves of the candidates are members. Each row is a way to
release the model: as it is, stripped, also with moved thresholds or rounded leaf values, or as a
student that was trained on the model's labels of other rows. Prints accuracy and log loss on
further rows, and the mean AUC, with its standard error over halves, and TPR at 1% FPR of the
attacks: NodeEquationsAttack, which finds in the file what was stripped and rounded (adaptive); the
same with values taken as exact (naive); SplitThresholdAttack, which finds out whether thresholds
were moved; ReleasedModelAttack, which combines them (together); and the loss, which needs no file.
A TPR of 1,000 candidates rests on 5 false positives. bench_students.py attacks students with shadow
models.

    python benchmarks/bench_file_defenses.py [--tables FOLDER] [--halves 5] [--candidates 1000]
        [--only TABLE ...] [--models NAME ...] [--releases NAME ...] [--attacks NAME ...]

FOLDER holds the tables that bench_released_file.py reads; without it, normal features are drawn.
"""

import argparse
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from bench_released_file import FIRST_SEED, list_models, read_tables
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss, roc_auc_score

from skmia import Records
from skmia.attacks import (
    NodeEquationsAttack,
    ReleasedModelAttack,
    SplitThresholdAttack,
    ThresholdAttack,
)
from skmia.defenses import StudentDefense, move_thresholds, strip_state
from skmia.metrics import tpr_at_fpr_score
from skmia.victims._node_equations import boosters, boosting, cart

MODELS = (
    *("HistGB", "HistGB l100 20it", "GradientBoosting", "XGBoost", "ExtraTrees", "ExtraTrees l10"),
    *("RandomForest", "RandomForest l10"),
)
N_FURTHER = 2000


def move(model, X):
    """A stripped model with moved thresholds, or None of another kind."""
    try:
        return strip_state(move_thresholds(model, X))
    except TypeError:
        return None


def halve(model):
    """A stripped model with leaf values in half precision, or None of another kind."""
    model = strip_state(model)
    if hasattr(model, "_predictors"):
        arrays = [tree.nodes["value"] for stage in model._predictors for tree in stage]
    elif hasattr(model, "estimators_"):
        arrays = [one.tree_.value for one in np.ravel(model.estimators_)]
    else:
        return None
    for values in arrays:
        values[:] = values.astype(np.float16)
    return model


RELEASES = {
    "as it is": lambda fitted, members, further: fitted,
    "stripped": lambda fitted, members, further: strip_state(fitted),
    "stripped, thresholds moved": lambda fitted, members, further: move(fitted, members.X),
    "stripped, 3 decimals": lambda fitted, members, further: strip_state(fitted, decimals=3),
    "stripped, 2 decimals": lambda fitted, members, further: strip_state(fitted, decimals=2),
    "stripped, 1 decimal": lambda fitted, members, further: strip_state(fitted, decimals=1),
    "stripped, half precision": lambda fitted, members, further: halve(fitted),
    "student": lambda fitted, members, further: (
        StudentDefense(FrozenEstimator(fitted), further.X, student=clone(fitted))
        .fit(members.X, members.y)
        .estimator_
    ),
}


def attack_naively(victim, candidates):
    """Scores of the node equations of values that are taken as exact."""
    with (
        patch.object(boosting, "estimate_steps", lambda values: np.zeros_like),
        patch.object(boosters, "estimate_steps", lambda values: np.zeros_like),
        patch.object(cart, "estimate_steps", lambda values: np.zeros_like),
    ):
        return score(NodeEquationsAttack(victim, random_state=0), candidates)


def score(attack, candidates):
    """Scores of an attack, or None where it cannot read the file."""
    try:
        return attack.fit(candidates).score_samples(candidates)
    except (TypeError, ValueError):
        return None


ATTACKS = {
    "adaptive": lambda victim, rows: score(NodeEquationsAttack(victim, random_state=0), rows),
    "naive": attack_naively,
    "thresholds": lambda victim, rows: score(SplitThresholdAttack(victim), rows),
    "together": lambda victim, rows: score(ReleasedModelAttack(victim, random_state=0), rows),
    "loss": lambda victim, rows: score(ThresholdAttack(victim), rows),
}


def compute_log_loss(model, test):
    """Log loss, also of a model that does not know all labels."""
    proba = np.zeros((len(test), test.y.max() + 1))
    answers = model.predict_proba(test.X)[:, : len(model.classes_)]  # XGBoost: always two or more
    proba[:, model.classes_] = answers
    return log_loss(test.y, np.clip(proba, 1e-6, 1), labels=np.arange(test.y.max() + 1))


def measure_half(model, X, y, seed, options):
    """Numbers of each release of a model of one random half."""
    rng, n_candidates = np.random.default_rng(seed), options.candidates
    rows = rng.permutation(len(y))[: n_candidates + 2 * N_FURTHER]
    member = np.zeros(n_candidates, dtype=bool)
    member[rng.permutation(n_candidates)[: n_candidates // 2]] = True
    records = Records(X[rows], y[rows])
    candidates, others = records[:n_candidates], records[n_candidates:]
    members = candidates[member]
    fitted = clone(model).fit(members.X, members.y)
    test, found = others[N_FURTHER:], []
    for name in options.releases:
        release = RELEASES[name](fitted, members, others[:N_FURTHER])
        if release is None:
            continue
        numbers = {
            "release": name,
            "accuracy": release.score(test.X, test.y),
            "log loss": compute_log_loss(release, test),
        }
        for title in options.attacks:
            scores = ATTACKS[title](release, candidates)
            if scores is not None:
                numbers[f"{title} AUC"] = roc_auc_score(member, scores)
                numbers[f"{title} TPR"] = tpr_at_fpr_score(
                    member, scores, max_fpr=0.01, on_unresolvable="ignore"
                )
        found.append(numbers)
    return found


def show(mean, spread, title):
    """AUC with its standard error over halves, and TPR, of one attack."""
    if f"{title} AUC" not in mean or np.isnan(mean[f"{title} AUC"]):
        return "-"
    auc, tpr = mean[f"{title} AUC"], mean[f"{title} TPR"]
    return f"{auc:.3f} ({spread[f'{title} AUC']:.3f}), {tpr:.3f}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--only", nargs="+", help="tables")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=MODELS)
    parser.add_argument("--releases", nargs="+", choices=RELEASES, default=list(RELEASES))
    parser.add_argument("--attacks", nargs="+", choices=ATTACKS, default=list(ATTACKS))
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of what remains in a file, and of equations that contradict
    titles = ["table", "model", "release", "accuracy", "log loss", *options.attacks]
    print(f"| {' | '.join(titles)} |")
    print("|---" * len(titles) + "|")
    models = {name: model for name, model in list_models().items() if name in options.models}
    for table, (X, y) in read_tables(options.tables).items():
        for name, model in models.items() if table in (options.only or [table]) else ():
            seeds = range(FIRST_SEED, FIRST_SEED + options.halves)
            halves = [measure_half(model, X, y, seed, options) for seed in seeds]
            runs = pd.DataFrame([one for half in halves for one in half])
            if runs.empty:
                continue
            for release, some in runs.groupby("release", sort=False):
                some = some.drop(columns="release")
                mean, spread = some.mean(), some.std() / np.sqrt(len(some))
                cells = [table, name, release, f"{mean['accuracy']:.3f}", f"{mean['log loss']:.3f}"]
                cells += [show(mean, spread, title) for title in options.attacks]
                print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
