"""Verdicts of forty audits of ten kinds of models, to compare before and after a change of cost.

Each kind is audited on four tables: two with noisy labels and flexible models that leak, and two
that hardly leak, with more records and stronger regularization. Prints and stores evidence, level,
AUC and TPR at 1% of each attack; with ``--before``, also what differs from a file stored earlier.

    OMP_NUM_THREADS=1 python benchmarks/bench_verdicts.py AFTER.json [--before BEFORE.json]
        [--kinds forest ...]

To compare with an earlier version of the package, run the script with its folder in PYTHONPATH.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from skmia import audit

SEEDS = range(4)
LEAKY, SAFE = "leaky", "safe"


def make_xgboost(is_leaky):
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=50, max_depth=6 if is_leaky else 1, n_jobs=1)


# Number of records of the leaky and the safe table, and the model for each.
KINDS = {
    "forest": (
        (800, 1500),
        lambda leaky: RandomForestClassifier(50, max_depth=None if leaky else 2),
    ),
    "extra trees": (
        (800, 1500),
        lambda leaky: ExtraTreesClassifier(50, max_depth=None if leaky else 2),
    ),
    "boosting": (
        (800, 3000),
        lambda leaky: HistGradientBoostingClassifier(
            max_iter=100 if leaky else 10, max_depth=None if leaky else 1
        ),
    ),
    "xgboost": ((800, 3000), make_xgboost),
    "logistic": (
        (300, 4000),
        lambda leaky: LogisticRegression(C=100 if leaky else 0.1, max_iter=500),
    ),
    "svc": ((300, 800), lambda leaky: SVC(C=10 if leaky else 0.05, probability=True)),
    "neighbors": ((800, 1500), lambda leaky: KNeighborsClassifier(3 if leaky else 100)),
    "naive Bayes": ((200, 4000), lambda leaky: GaussianNB()),
    "net": (
        (300, 1500),
        lambda leaky: MLPClassifier(
            (50,), alpha=1e-4 if leaky else 10.0, max_iter=300 if leaky else 20
        ),
    ),
    "ridge or forest": ((300, 3000), lambda leaky: RandomForestRegressor(50) if leaky else Ridge()),
}


def make_case(kind, seed):
    """Return a fitted model, its table and who is a member."""
    is_leaky = seed < 2
    (of_leaky, of_safe), make = KINDS[kind]
    n = of_leaky if is_leaky else of_safe
    if kind == "ridge or forest":
        X, y = make_regression(n, 20, n_informative=8, noise=50, random_state=seed)
    else:
        noise = 0.2 if is_leaky else 0.02
        shape = {"n_features": 20, "n_informative": 8, "flip_y": noise}
        X, y = make_classification(n, **shape, random_state=seed)
    inside = np.random.default_rng(seed).permutation(n) % 2 == 1
    model = make(is_leaky)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return clone(model).fit(X[inside], y[inside]), X, y, inside


def describe(report):
    """The numbers of a report that are compared."""
    frame = report.to_frame()
    frame = frame[(frame["scope"] == "overall") & frame["metric"].isin(["auc", "tpr"])]
    # Levels of the report were those of the service once, and are those of the page now.
    service = getattr(report, "service", report)
    found = {"evidence": report.evidence, "level": service.level.name}
    if report.file is not None:
        found |= {"file": report.file.evidence, "level of the file": report.file.level.name}
    found["numbers"] = {
        f"{row.attack} {row.metric}": row.estimate
        for row in frame.itertuples()
        if row.metric == "auc" or row.max_fpr == 0.01
    }
    return found


def list_differences(now, before):
    """Yield names of verdicts that changed, as text."""
    for name in ("evidence", "level", "file", "level of the file"):
        if now.get(name) != before.get(name):
            yield f"{name}: {before.get(name)} -> {now.get(name)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("results", type=Path, help="file to write")
    parser.add_argument("--before", type=Path, help="file that was written earlier")
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    options = parser.parse_args()
    before = {} if options.before is None else json.loads(options.before.read_text())
    results, shifts, n_changed = {}, {}, 0
    for kind in options.kinds:
        for seed in SEEDS:
            model, X, y, inside = make_case(kind, seed)
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                report = audit(
                    model,
                    train=(X[inside], y[inside]),
                    held_out=(X[~inside], y[~inside]),
                    random_state=seed,
                )
            seconds, name = time.process_time() - start, f"{kind} {seed}"
            results[name] = describe(report) | {"seconds": seconds}
            changed = []
            if name in before:
                changed = list(list_differences(results[name], before[name]))
                n_changed += bool(changed)
                for number, value in results[name]["numbers"].items():
                    shift = value - before[name]["numbers"].get(number, np.nan)
                    shifts.setdefault(number, []).append(shift)
            verdict = f"{results[name]['evidence']}, {results[name]['level']}"
            print(f"{name}: {verdict}, {seconds:.1f} s {'; '.join(changed)}", flush=True)
    options.results.write_text(json.dumps(results, indent=1))
    for number, some in shifts.items():
        some = np.array(some)[np.isfinite(some)]
        if not len(some):
            continue
        error = some.std(ddof=1) / np.sqrt(len(some)) if len(some) > 1 else np.nan
        print(f"{number}: {some.mean():+.4f} +- {error:.4f}, largest {np.abs(some).max():.4f}")
    if before:
        print(f"{n_changed} of {len(results)} verdicts differ")


if __name__ == "__main__":
    main()
