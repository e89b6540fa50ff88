"""What the files of released models say of who was in their training data.

For each model, table and attack on the file that reads the model, several random halves of the
candidates are members. Prints the mean AUC, its standard deviation over halves, the TPR at 1% FPR,
the AUC that the attack predicts before a member is known, the AUC of one half of the non-members
against the other (0.5 but for chance) and seconds, and the same of attacks that only ask the model:
the loss, and LiRA with --lira shadow models. A TPR of 1,000 candidates rests on 5 false positives.

    python benchmarks/bench_released_file.py [--tables FOLDER] [--only NAME ...] [--models NAME ...]
        [--halves 5] [--candidates 1000 ...] [--attacks nodes ...] [--outsiders 0 ...] [--lira 64]
        [--save]
    python benchmarks/bench_released_file.py --show

FOLDER holds adult.csv.gz, law_school.csv.gz, diabetes130.csv.gz and pendigits.csv.gz as their
publishers have them; without it, normal features are drawn. --outsiders are shares of the members
that are not among the candidates, which the attack is told. --save keeps every half in
results/released_files.csv; --show writes its means to results/released_files.md and computes
nothing.
"""

import argparse
import sys
import warnings
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from _released_tables import describe, keep, write_tables
from scipy.stats import false_discovery_control
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
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
from skmia.metrics import conformal_pvalues, tpr_at_fpr_score

# Halves are drawn from here on: those of smaller numbers were in view when settings were chosen.
FIRST_SEED = 1000

# Levels of p-values, and the rate of false discoveries among the records that are listed.
LEVELS = 0.01, 0.05
LISTED = 0.1

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
        "HistGB no stop": HistGradientBoostingClassifier(early_stopping=False, random_state=0),
        "ExtraTrees": ExtraTreesClassifier(random_state=0),
        "ExtraTrees l10": ExtraTreesClassifier(min_samples_leaf=10, random_state=0),
        "GradientBoosting": GradientBoostingClassifier(random_state=0),
        "GradientBoosting l50 20it": GradientBoostingClassifier(
            n_estimators=20, min_samples_leaf=50, random_state=0
        ),
        "GradientBoosting half": GradientBoostingClassifier(subsample=0.5, random_state=0),
        "ExtraTrees l10 balanced": ExtraTreesClassifier(
            min_samples_leaf=10, class_weight="balanced", random_state=0
        ),
        "RandomForest l10 balanced": RandomForestClassifier(
            min_samples_leaf=10, class_weight="balanced", random_state=0
        ),
        "AdaBoost d3": AdaBoostClassifier(DecisionTreeClassifier(max_depth=3), random_state=0),
        "RandomForest": RandomForestClassifier(random_state=0),
        "RandomForest l10": RandomForestClassifier(min_samples_leaf=10, random_state=0),
        "DecisionTree": DecisionTreeClassifier(random_state=0),
        "DecisionTree l10": DecisionTreeClassifier(min_samples_leaf=10, random_state=0),
        "LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
        "RidgeClassifier": make_pipeline(StandardScaler(), RidgeClassifier()),
        "SVC": make_pipeline(StandardScaler(), SVC()),
    }
    models |= _list_composites()
    for package, add in OTHERS.items():
        if find_spec(package) is None:
            print(f"left out: {package} is not installed", file=sys.stderr)
        else:
            models |= add(import_module(package))
    return models


def _list_composites():
    """Models that hold other models, which the attack opens."""
    forest = RandomForestClassifier(random_state=0)
    logistic = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    neighbors = make_pipeline(StandardScaler(), KNeighborsClassifier())
    boosting = HistGradientBoostingClassifier(random_state=0)
    stump = DecisionTreeClassifier(max_depth=3, random_state=0)
    return {
        "Calibrated forest": CalibratedClassifierCV(forest, cv=3),
        "Calibrated forest, one": CalibratedClassifierCV(forest, cv=3, ensemble=False),
        "Calibrated SVC": CalibratedClassifierCV(make_pipeline(StandardScaler(), SVC()), cv=3),
        "Isotonic logistic": CalibratedClassifierCV(logistic, cv=3, method="isotonic"),
        "Stack": StackingClassifier([("a", forest), ("b", boosting)]),
        "Vote": VotingClassifier([("a", logistic), ("b", forest)], voting="soft"),
        "Vote with neighbors": VotingClassifier([("a", neighbors), ("b", logistic)], voting="soft"),
        "OneVsRest": OneVsRestClassifier(forest),
        "AdaBoost d3": AdaBoostClassifier(stump, random_state=0),
    }


def _list_xgboost(xgboost):
    shallow = xgboost.XGBClassifier(n_estimators=20, max_depth=3, n_jobs=1)
    return {"XGBoost": xgboost.XGBClassifier(n_jobs=1), "XGBoost d3 20it": shallow}


def _list_lightgbm(lightgbm):
    settings = {"verbose": -1, "n_jobs": 1}
    return {
        "LightGBM": lightgbm.LGBMClassifier(**settings),
        "LightGBM l100 20it": lightgbm.LGBMClassifier(
            n_estimators=20, min_child_samples=100, **settings
        ),
    }


def _list_catboost(catboost):
    settings = {"verbose": 0, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return {
        "CatBoost": catboost.CatBoostClassifier(**settings),
        "CatBoost d3 20it": catboost.CatBoostClassifier(iterations=20, depth=3, **settings),
    }


# Models of other packages, which are left out where they are not installed.
OTHERS = {"xgboost": _list_xgboost, "lightgbm": _list_lightgbm, "catboost": _list_catboost}


class Half(NamedTuple):
    """A model of one half of some rows, and the rows that an attacker knows."""

    model: object
    victim: object
    candidates: Records
    member: np.ndarray
    seed: int


def draw_half(model, X, y, seed, n_candidates, outsiders):
    """Fit a model on one random half."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:n_candidates]
    member = np.zeros(len(rows), dtype=bool)
    member[rng.permutation(len(rows))[: len(rows) // 2]] = True
    X, y = X[rows], y[rows]
    victim = clone(model).fit(X[member], y[member])
    missing = rng.permutation(np.flatnonzero(member))[: round(outsiders * member.sum())]
    known = np.setdiff1d(np.arange(len(rows)), missing)
    if hasattr(victim, "classes_"):
        known = known[np.isin(y[known], victim.classes_)]
    return Half(model, victim, Records(X[known], y[known]), member[known], seed)


def attack_file(half, name, outsiders):
    """Numbers of one attack on the file; None if it does not read the model."""
    attack = ATTACKS[name](half.victim, outsiders=outsiders)
    try:
        return measure(half, attack)
    except (TypeError, ValueError):
        return None


def ask_service(half, n_shadows):
    """Numbers of attacks that only ask the model, by name."""
    # Models without probabilities are asked whether they are right, and by how much.
    signal = {} if hasattr(half.victim, "predict_proba") else {"signal": "hinge"}
    numbers = {"loss": measure(half, ThresholdAttack(half.victim, **signal))}
    if n_shadows:
        pool = ShadowPool(half.model, n_shadows, random_state=half.seed)
        numbers["LiRA"] = measure(half, LiRA(half.victim, pool, **signal))
    return numbers


def measure(half, attack):
    """How well an attack finds the members of a half."""
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is measured is how strong it is nevertheless
        scores = attack.fit(half.candidates).score_samples(half.candidates)
    seconds = process_time() - start
    # One half of the non-members is known to the attacker, the other is not and calibrates nothing.
    others = np.random.default_rng(half.seed).permutation(np.flatnonzero(~half.member))
    known, unknown = np.array_split(others, 2)
    pvalues = conformal_pvalues(scores, scores[known])
    tested = np.append(unknown, np.flatnonzero(half.member))
    listed = tested[false_discovery_control(pvalues[tested]) <= LISTED]
    return {
        "auc": roc_auc_score(half.member, scores),
        "tpr": tpr_at_fpr_score(half.member, scores, max_fpr=0.01, on_unresolvable="ignore"),
        "expected_auc": getattr(attack, "expected_auc_", np.nan),
        "null_auc": roc_auc_score(np.isin(others, known), scores[others]),
        **{f"called_at_{level:g}": np.mean(pvalues[unknown] <= level) for level in LEVELS},
        "listed": len(listed),
        "listed_wrongly": int(np.sum(~half.member[listed])),
        "seconds": seconds,
    }


def run_halves(model, X, y, n_candidates, outsiders, options):
    """One row for each half and attack that reads the model."""
    for k in range(options.halves):
        half = draw_half(model, X, y, FIRST_SEED + k, n_candidates, outsiders)
        found = {name: attack_file(half, name, outsiders) for name in options.attacks}
        found = {name: numbers for name, numbers in found.items() if numbers is not None}
        if found:
            found |= ask_service(half, options.lira)
        for name, numbers in found.items():
            yield {"half": k, "attack": name, **numbers}


def run_settings(options):
    """Rows of each table, model, number of candidates and share of outsiders."""
    models = list_models()
    chosen = {name: models[name] for name in options.models or models}
    for table, (X, y) in read_tables(options.tables).items():
        if options.only and table not in options.only:
            continue
        for name, model in chosen.items():
            for n_candidates in options.candidates:
                for outsiders in options.outsiders:
                    setting = {
                        "table": table,
                        "model": name,
                        "candidates": n_candidates,
                        "outsiders": outsiders,
                    }
                    halves = run_halves(model, X, y, n_candidates, outsiders, options)
                    yield pd.DataFrame([setting | row for row in halves])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--only", nargs="+", help="names of tables")
    parser.add_argument("--models", nargs="+", choices=list(list_models()))
    parser.add_argument("--halves", type=int, default=5)
    parser.add_argument("--candidates", type=int, nargs="+", default=[1000])
    parser.add_argument("--attacks", nargs="+", choices=list(ATTACKS), default=list(ATTACKS))
    parser.add_argument("--outsiders", type=float, nargs="+", default=[0.0])
    parser.add_argument("--lira", type=int, default=0, help="number of shadow models")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    if options.show:
        write_tables()
        return
    for rows in run_settings(options):
        if len(rows):
            print(describe(rows), flush=True)
        if options.save:
            keep(rows)


if __name__ == "__main__":
    main()
