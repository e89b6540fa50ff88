"""What the files of released models say of who was in their training data.

For each model, table and attack on the file that reads the model, several random halves of the
candidates are members. Prints the mean AUC and TPR at 1% FPR of the attack, the standard deviation
of the AUC over halves, the AUC that it predicts before a member is known, that of permuted bits,
and the AUC of the loss (what a service reveals without shadow models); with --outsiders, the same
where a share of the members is not among the candidates. A TPR of 1,000 candidates rests on 5 false
positives; 2,000 take ten times as long for the equations of nodes.

    python benchmarks/bench_released_file.py [--tables FOLDER] [--halves 5] [--candidates 1000]
        [--attacks nodes thresholds optimum] [--outsiders 0.05] [--lira 64]

FOLDER holds adult.csv.gz, law_school.csv.gz, diabetes130.csv.gz and pendigits.csv.gz as their
publishers have them; without it, normal features are drawn.
"""

import argparse
import warnings
from functools import partial
from pathlib import Path
from time import process_time
from typing import NamedTuple

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
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, ShadowPool
from skmia.attacks import (
    LiRA,
    NodeEquationsAttack,
    ReleasedModelAttack,
    SplitThresholdAttack,
    StationarityAttack,
    ThresholdAttack,
)
from skmia.metrics import tpr_at_fpr_score

# Halves are drawn from here on: those of smaller numbers were in view when settings were chosen.
FIRST_SEED = 1000

ATTACKS = {
    "nodes": partial(NodeEquationsAttack, random_state=0),
    "thresholds": SplitThresholdAttack,
    "optimum": partial(StationarityAttack, random_state=0),
    "together": partial(ReleasedModelAttack, random_state=0),
}


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
        "ExtraTrees": ExtraTreesClassifier(random_state=0),
        "ExtraTrees l10": ExtraTreesClassifier(min_samples_leaf=10, random_state=0),
        "GradientBoosting": GradientBoostingClassifier(random_state=0),
        "RandomForest": RandomForestClassifier(random_state=0),
        "RandomForest l10": RandomForestClassifier(min_samples_leaf=10, random_state=0),
        "DecisionTree": DecisionTreeClassifier(random_state=0),
        "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "RidgeClassifier": make_pipeline(StandardScaler(), RidgeClassifier()),
        "SVC": make_pipeline(StandardScaler(), SVC()),
    }
    try:
        from xgboost import XGBClassifier
    except ImportError:
        return models
    shallow = XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1)
    return models | {"XGBoost": XGBClassifier(n_jobs=1), "XGBoost d3 20it": shallow}


class Half(NamedTuple):
    """A model of one half of some rows, and the rows that an attacker knows."""

    victim: object
    candidates: Records
    member: np.ndarray


def draw_half(model, X, y, seed, options):
    """Fit a model on one random half."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: options.candidates]
    member = np.zeros(len(rows), dtype=bool)
    member[rng.permutation(len(rows))[: len(rows) // 2]] = True
    X, y = X[rows], y[rows]
    victim = FrozenEstimator(clone(model).fit(X[member], y[member]))
    missing = rng.permutation(np.flatnonzero(member))[: round(options.outsiders * member.sum())]
    known = np.setdiff1d(np.arange(len(rows)), missing)
    if hasattr(victim, "classes_"):
        known = known[np.isin(y[known], victim.classes_)]
    return Half(victim, Records(X[known], y[known]), member[known])


def attack_half(half, name, seed, options):
    """Numbers of one attack on the file; None if it does not read the model."""
    attack = ATTACKS[name](half.victim, outsiders=options.outsiders)
    start = process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what is measured is how strong it is nevertheless
            scores = attack.fit(half.candidates).score_samples(half.candidates)
    except (TypeError, ValueError):
        return None
    seconds = process_time() - start
    permuted = np.random.default_rng(seed).permutation(half.member)
    return {
        "AUC": roc_auc_score(half.member, scores),
        "TPR": tpr_at_fpr_score(half.member, scores, max_fpr=0.01, on_unresolvable="ignore"),
        "expected": getattr(attack, "expected_auc_", np.nan),
        "permuted": roc_auc_score(permuted, scores),
        "seconds": seconds,
    }


def _choose_signal(victim):
    """Models without probabilities are asked whether they are right, and by how much."""
    return {} if hasattr(victim, "predict_proba") else {"signal": "hinge"}


def ask_service(model, half, seed, options):
    """AUC of attacks that ask the model."""
    attacks = {"loss": ThresholdAttack(half.victim, **_choose_signal(half.victim))}
    if options.lira:
        pool = ShadowPool(model, options.lira, random_state=seed).fit(half.candidates)
        attacks["LiRA"] = LiRA(half.victim, FrozenEstimator(pool))
    return {
        name: roc_auc_score(half.member, attack.fit(half.candidates).score_samples(half.candidates))
        for name, attack in attacks.items()
    }


def measure(model, X, y, options):
    """Numbers of each attack that reads the model, one row for each half."""
    runs = {name: [] for name in options.attacks}
    for seed in range(FIRST_SEED, FIRST_SEED + options.halves):
        half = draw_half(model, X, y, seed, options)
        asked = ask_service(model, half, seed, options)
        for name in options.attacks:
            numbers = attack_half(half, name, seed, options)
            if numbers is not None:
                runs[name].append(numbers | asked)
    return {name: pd.DataFrame(rows) for name, rows in runs.items() if rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--outsiders", type=float, default=0.0)
    parser.add_argument("--lira", type=int, default=0, help="number of shadow models")
    options = parser.parse_args()
    titles = ["AUC", "sd", "TPR", "expected", "permuted", "loss"] + ["LiRA"] * bool(options.lira)
    print(f"| {' | '.join(['table', 'model', 'attack', *titles, 'seconds'])} |")
    print("|---" * (len(titles) + 4) + "|")
    for table, (X, y) in read_tables(options.tables).items():
        for name, model in list_models().items():
            for attack, runs in measure(model, X, y, options).items():
                numbers = runs.mean().to_dict() | {"sd": runs["AUC"].std()}
                cells = [f"{numbers[title]:.3f}" for title in titles]
                cells += [f"{numbers['seconds']:.1f}"]
                print(f"| {' | '.join([table, name, attack, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
