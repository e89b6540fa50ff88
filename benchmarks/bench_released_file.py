"""What the nodes of released tree models say of who was in their training data.

For each model and table, several random halves of the candidates are members. Prints the mean AUC
and TPR at 1% FPR of the file attack, the standard deviation of the AUC over halves, the AUC that it
predicts before a member is known, the AUC of the loss (what a service reveals without shadow
models) and that of permuted bits; with --outsiders, the same where a share of the members is not
among the candidates. A TPR of 1,000 candidates rests on 5 false positives; 2,000 take ten times as
long.

    python benchmarks/bench_released_file.py [--tables FOLDER] [--halves 5] [--candidates 1000]
        [--outsiders 0.05] [--lira 64]

FOLDER holds adult.csv.gz, law_school.csv.gz, diabetes130.csv.gz and pendigits.csv.gz as their
publishers have them; without it, normal features are drawn.
"""

import argparse
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, NodeEquationsAttack, ThresholdAttack
from skmia.metrics import tpr_at_fpr_score

# Halves are drawn from here on: those of smaller numbers were in view when settings were chosen.
FIRST_SEED = 1000


def read_table(path, label, positive=None, dropped=()):
    """Features as numbers, text as codes, and the label of a table."""
    frame = pd.read_csv(path, keep_default_na=False, low_memory=False)
    y = frame[label] == positive if positive is not None else frame[label]
    frame = frame.drop(columns=[label, *dropped])
    is_text = [not pd.api.types.is_numeric_dtype(frame[name]) for name in frame]
    columns = [
        pd.factorize(frame[name])[0] if text else frame[name]
        for name, text in zip(frame, is_text, strict=True)
    ]
    return np.column_stack(columns).astype(np.float64), np.asarray(y).astype(int)


def read_tables(folder):
    """Tables by name: features and labels."""
    if folder is None:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(20_000, 10))
        return {"normal": (X, (X[:, :3].sum(axis=1) + rng.normal(size=len(X)) > 0).astype(int))}
    stay = ("encounter_id", "patient_nbr")
    return {
        "Law School": read_table(folder / "law_school.csv.gz", "bar", True),
        "Adult": read_table(folder / "adult.csv.gz", "income", ">50K", ["split"]),
        "Diabetes-130": read_table(folder / "diabetes130.csv.gz", "readmitted", "<30", stay),
        "Pendigits": read_table(
            folder / "pendigits.csv.gz", "digit", dropped=["writer", "sample", "split"]
        ),
    }


def list_models():
    """Models by name."""
    models = {
        "HistGB": HistGradientBoostingClassifier(random_state=0),
        "HistGB l100 20it": HistGradientBoostingClassifier(
            max_iter=20, min_samples_leaf=100, random_state=0
        ),
        "ExtraTrees l10": ExtraTreesClassifier(min_samples_leaf=10, random_state=0),
        "GradientBoosting": GradientBoostingClassifier(random_state=0),
        "RandomForest": RandomForestClassifier(random_state=0),
        "RandomForest l10": RandomForestClassifier(min_samples_leaf=10, random_state=0),
        "DecisionTree": DecisionTreeClassifier(random_state=0),
    }
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return models
    shallow = XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1)
    return models | {"XGBoost": XGBClassifier(n_jobs=1), "XGBoost d3 20it": shallow}


def attack_half(model, X, y, seed, options):
    """Numbers of the file attack on a model of one random half."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: options.candidates]
    member = np.zeros(len(rows), dtype=bool)
    member[rng.permutation(len(rows))[: len(rows) // 2]] = True
    X, y = X[rows], y[rows]
    victim = FrozenEstimator(clone(model).fit(X[member], y[member]))
    missing = rng.permutation(np.flatnonzero(member))[: round(options.outsiders * member.sum())]
    known = np.setdiff1d(np.arange(len(rows)), missing)
    known = known[np.isin(y[known], victim.classes_)]
    candidates, member = Records(X[known], y[known]), member[known]
    start = process_time()
    attack = NodeEquationsAttack(victim, outsiders=options.outsiders, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is measured is how strong it is nevertheless
        scores = attack.fit(candidates).score_samples(candidates)
    numbers = {
        "auc": roc_auc_score(member, scores),
        "tpr": tpr_at_fpr_score(member, scores, max_fpr=0.01, on_unresolvable="ignore"),
        "expected": attack.expected_auc_,
        "loss": roc_auc_score(
            member, ThresholdAttack(victim).fit(candidates).score_samples(candidates)
        ),
        "permuted": roc_auc_score(rng.permutation(member), scores),
        "seconds": process_time() - start,
    }
    if options.lira:
        pool = ShadowPool(model, options.lira, random_state=seed).fit(candidates)
        lira = LiRA(victim, FrozenEstimator(pool)).fit(candidates)
        numbers["lira"] = roc_auc_score(member, lira.score_samples(candidates))
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--outsiders", type=float, default=0.0)
    parser.add_argument("--lira", type=int, default=0, help="number of shadow models")
    options = parser.parse_args()
    titles = ["table", "model", "AUC", "sd", "TPR", "expected", "loss", "permuted", "seconds"]
    print(f"| {' | '.join(titles + ['LiRA'] * bool(options.lira))} |")
    print("|---" * (len(titles) + bool(options.lira)) + "|")
    for table, (X, y) in read_tables(options.tables).items():
        for name, model in list_models().items():
            seeds = range(FIRST_SEED, FIRST_SEED + options.halves)
            runs = pd.DataFrame([attack_half(model, X, y, seed, options) for seed in seeds])
            mean = runs.mean()
            cells = [table, name, f"{mean['auc']:.3f}", f"{runs['auc'].std():.3f}"]
            cells += [f"{mean[key]:.3f}" for key in ("tpr", "expected", "loss", "permuted")]
            cells += [f"{mean['seconds']:.1f}"]
            cells += [f"{mean['lira']:.3f}"] if options.lira else []
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
