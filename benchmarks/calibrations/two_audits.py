"""Promises of the comparison of two audits."""

import warnings
from inspect import signature

from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from skmia import Records, audit
from skmia._core.levels import Level, as_plain_level
from skmia._core.provenance import PartClock
from skmia.attacks import RMIA, LiRA, ThresholdAttack
from skmia.report import compare_audits
from skmia.report._audit import OF_DATA
from skmia.report._case import make_plan, open_case
from skmia.report._examine import _measure_all_attacks
from skmia.report._file import attack_file
from skmia.report._run import run_attacks
from skmia.report._surrogate import describe_reference

from ._registry import promise

KINDS = {
    "forest": RandomForestClassifier(10, random_state=0),
    "tree": DecisionTreeClassifier(max_depth=6, random_state=0),
    "logistic": LogisticRegression(max_iter=1000),
    "boosting": HistGradientBoostingClassifier(max_iter=20, early_stopping=False),
    "neighbors": KNeighborsClassifier(weights="distance"),
}
# What the same kind of model is defended with, or another one in its place.
DEFENDED = {
    "forest": RandomForestClassifier(10, min_samples_leaf=20, random_state=0),
    "neighbors": KNeighborsClassifier(30),
}
RATE = 0.05


def draw_table(rng, n_records):
    X, y = make_classification(
        n_records, 8, n_informative=4, flip_y=0.2, random_state=int(rng.integers(2**31))
    )
    return Records(X, y, group=rng.integers(3, size=n_records)), rng.permutation(n_records) % 2


def audit_once(rng, model, records, membership, *, attacks, n_shadows, file):
    """What a comparison reads of an audit, with its own seed; no check keeps a verdict away."""
    settings = {name: one.default for name, one in signature(audit).parameters.items()}
    settings = {name: value for name, value in settings.items() if name not in OF_DATA}
    settings |= {"attacks": attacks, "shadows": n_shadows, "file": file, "group": "group"}
    settings |= {"fprs": [RATE], "random_state": int(rng.integers(2**31))}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = open_case(model, records, membership, PartClock(), **settings)
        run = run_attacks(case, make_plan(case.attacks, case.request, case.records), PartClock())
        own = attack_file(case, PartClock())
    level = {"evidence": "leak", "level": as_plain_level(Level("slight"))}
    return level | {
        "settings": {
            "confidence_level": case.level,
            "n_shadows": n_shadows,
            "attacks": dict.fromkeys(attacks, ""),
        },
        "reference": describe_reference(case, run),
        "person_level": None,
        "permutation": None,
        "checks": [],
        "results": _measure_all_attacks(case, run).to_dict("records"),
        "file": own and level | {"results": own.results.to_dict("records")},
    }


def draw_attacks(rng):
    """The loss, and any of two attacks that use shadow models."""
    others = {"LiRA": LiRA(), "RMIA": RMIA()}
    kept = {name: attack for name, attack in others.items() if rng.random() < 0.7}
    return {"threshold (loss)": ThresholdAttack(signal="loss")} | kept


@promise(
    "Two audits of one model, with other attacks, pools and seeds, say less or more leakage",
    nominal=0.025,
    side="at most",
    designs={
        "forest, 400 records": {"kind": "forest", "n_records": 400},
        "forest, 400 records, its file too": {"kind": "forest", "n_records": 400, "file": True},
        "tree, two halves of 800 records": {
            "kind": "tree",
            "n_records": 800,
            "shares_records": False,
        },
        "neighbors, 400 records": {"kind": "neighbors", "n_records": 400},
        "tree, 400 records": {"kind": "tree", "n_records": 400},
        "logistic, 400 records, its file too": {
            "kind": "logistic",
            "n_records": 400,
            "file": True,
        },
        "boosting, 400 records": {"kind": "boosting", "n_records": 400},
        "tree, 4,000 records": {"kind": "tree", "n_records": 4000},
    },
    n_trials=200,
)
def one_model_changes(rng, n_trials, kind, n_records, file=False, shares_records=True):
    wrong = 0
    for _ in range(n_trials):
        records, membership = draw_table(rng, n_records)
        members = membership == 1
        model = KINDS[kind].__class__(**KINDS[kind].get_params())
        model.fit(records.X[members], records.y[members])
        half = rng.permutation(n_records) % 2 == 0
        documents = []
        for rows in (half, ~half):
            rows = slice(None) if shares_records else rows
            documents.append(
                audit_once(
                    rng,
                    model,
                    records[rows],
                    membership[rows],
                    attacks=draw_attacks(rng),
                    n_shadows=int(rng.choice([4, 8])),
                    file=file,
                )
            )
        wrong += any(
            route.outcome not in ("same", "unsaid") for route in compare_audits(*documents).routes
        )
    return wrong, n_trials


@promise(
    "A model that leaks less than another one is said to",
    nominal=0.8,
    side="at least",
    designs={
        "forest, leaves of 20, 400 records": {"kind": "forest", "n_records": 400},
        "30 neighbors for 5 by distance, 400 records": {"kind": "neighbors", "n_records": 400},
    },
    n_trials=60,
)
def defense_is_seen(rng, n_trials, kind, n_records):
    seen = 0
    for _ in range(n_trials):
        records, membership = draw_table(rng, n_records)
        members, documents = membership == 1, []
        for models in (KINDS, DEFENDED):
            model = models[kind].__class__(**models[kind].get_params())
            model.fit(records.X[members], records.y[members])
            attacks = {"threshold (loss)": ThresholdAttack(signal="loss"), "LiRA": LiRA()}
            settings = {"attacks": attacks, "n_shadows": 8, "file": False}
            documents.append(audit_once(rng, model, records, membership, **settings))
        seen += compare_audits(*documents).outcome == "less"
    return seen, n_trials
