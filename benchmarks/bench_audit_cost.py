"""Processor time and memory of the default audit, in loops that train as many models one by one.

A loop trains a clone of the victim on the records of each shadow model that the audit trained, asks
it about all records, and computes RMIA from the answers by hand. Each case is a process of its own.
Prints a row for each case: models, seconds of processor time, loops, the share of each phase (of
the clock), the memory that the audit took above what was there before it, in MB and in units of the
table, and the verdicts.

    OMP_NUM_THREADS=1 python benchmarks/bench_audit_cost.py --data FOLDER [--cases forest boosting]
        [--records 300]

The folder of the data holds adult.csv.gz and diabetes130.csv.gz, tables of the UCI repository.
"""

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from _processes import peak_memory, reset_peak
from _victims import KINDS, read_adult
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from skmia import Records, audit
from skmia.datasets import make_membership_problem


def forest(folder, n_records):
    X, y = read_adult(folder, n_records or 3000)
    return Records(X.to_numpy(np.float32), y), RandomForestClassifier(100)


def boosting(folder, n_records):
    X, y = read_adult(folder, n_records or 20_000)
    return Records(X.to_numpy(np.float32), y), HistGradientBoostingClassifier()


def logistic(folder, n_records):
    problem = {"n_features": 100, "random_state": 0}
    records, _ = make_membership_problem(n_records or 50_000, **problem)
    return records, LogisticRegression(max_iter=300)


def net(folder, n_records):
    records, model = KINDS["baskets"](folder)
    return records[: n_records or len(records)], model


CASES = {case.__name__: case for case in (forest, boosting, logistic, net)}


def train_one_by_one(model, records, n_models):
    """Train models on random halves; return the log ratio of RMIA for the first of them."""
    answers = []
    for k in range(n_models + 1):
        rows = np.sort(np.random.default_rng(k).permutation(len(records))[: len(records) // 2])
        fitted = clone(model).fit(records.X[rows], records.y[rows])
        proba = fitted.predict_proba(records.X)
        answers.append(proba[np.arange(len(records)), np.searchsorted(fitted.classes_, records.y)])
    victim, *shadows = np.array(answers)
    return np.log(victim + 1e-12) - np.log(np.mean(shadows, axis=0) + 1e-12)


def run_case(name, folder, n_records):
    records, model = CASES[name](folder, n_records)
    membership = np.random.default_rng(0).permutation(len(records)) % 2
    members = records[membership == 1]
    fitted = clone(model).fit(members.X, members.y)
    before, start = reset_peak(), time.process_time()
    report = audit(fitted, records, membership, random_state=0)
    seconds, memory = time.process_time() - start, peak_memory() - before
    n_models = report.settings["n_shadows"]
    start = time.process_time()
    train_one_by_one(model, records, n_models)
    loop = time.process_time() - start
    spent, size = dict(report.seconds), records.X.nbytes
    spent.pop("total")
    shares = [
        f"{part} {second / sum(spent.values()):.0%}"
        for part, second in spent.items()
        if second > sum(spent.values()) / 50
    ]
    verdicts = report.evidence + ("" if report.file is None else f" / {report.file.evidence}")
    cost = f"{seconds:.1f} s | {seconds / loop:.2f} | {', '.join(shares)}"
    print(
        f"| {name} | {n_models} | {cost} | {memory / 1e6:.0f} ({memory / size:.1f}) | {verdicts} |"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--records", type=int, help="instead of those of the cases")
    options = parser.parse_args()
    if len(options.cases) == 1:
        run_case(options.cases[0], options.data, options.records)
        return
    print("| case | models | processor | loops | phases | memory in MB (in tables) | verdicts |")
    print("|---" * 7 + "|", flush=True)
    for name in options.cases:
        given = [*sys.argv[1:], "--cases", name]
        subprocess.run([sys.executable, __file__, *given], check=True)


if __name__ == "__main__":
    main()
