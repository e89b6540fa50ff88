"""Processor time and memory of the default audit, in loops that train as many models one by one.

A loop trains a clone of the victim on the records of each shadow model that the audit trained, asks
it about all records, and computes RMIA from the answers by hand; short loops are run for five
seconds, and the mean counts. Each case is a process of its own. Prints a row for each case: models,
seconds of processor time, loops, the share of each phase (of the clock), the memory that the audit
took above what was there before it, in MB and in units of the table, and the verdicts.

    OMP_NUM_THREADS=1 python benchmarks/bench_audit_cost.py --data FOLDER [--cases forest boosting]
        [--records 300] [--before TABLE] [--results results/audit_cost.md]

With ``--results``, the rows are also written to a file, with what is missing to the goals and the
rows of ``--before``, which this script has printed earlier. The folder of the data holds
adult.csv.gz and diabetes130.csv.gz, tables of the UCI repository.
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
    start, n_loops = time.process_time(), 0
    while not n_loops or time.process_time() - start < 5:  # one short loop alone varies by half
        train_one_by_one(model, records, n_models)
        n_loops += 1
    loop = (time.process_time() - start) / n_loops
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


HEAD = "| case | models | processor | loops | phases | memory in MB (in tables) | verdicts |"
RULE = "|---" * 7 + "|"
MOST_LOOPS, MOST_TABLES = 2, 3


def describe(row):
    """What a row says of the goals, in one sentence."""
    cells = [cell.strip() for cell in row.strip().strip("|").split("|")]
    name, loops, phases = cells[0], float(cells[3]), cells[4]
    tables = float(cells[5].split("(")[1].rstrip(")"))
    shares = sorted(phases.split(", "), key=lambda part: -int(part.split()[-1].rstrip("%")))
    verbs = [
        f"{amount} {what}, {amount / most:.1f} times the goal"
        if amount > most
        else f"{amount} {what}"
        for amount, what, most in ((loops, "loops", MOST_LOOPS), (tables, "tables", MOST_TABLES))
    ]
    return f"- {name}: {'; '.join(verbs)}. Most of the time: {', '.join(shares[:3])}.\n"


def write_results(path, rows, before):
    """Write the tables and what is missing to the goals."""
    lines = [
        "# Cost of the default audit\n\n",
        "A loop trains as many clones of the victim one by one and computes RMIA by hand. Goals "
        f"are {MOST_LOOPS} loops, and {MOST_TABLES} times the memory of the table. Seconds are of "
        "the processor, on one thread, and up to twice as many where other work shares it; memory "
        "is what the audit took above what was there before it, modules that it imports and "
        "shadow models that it keeps included. Made by "
        "`bench_audit_cost.py --results`.\n",
    ]
    if before:
        lines.append(f"\nBefore:\n\n{HEAD}\n{RULE}\n{''.join(before)}")
    lines.append(f"\nNow:\n\n{HEAD}\n{RULE}\n{''.join(rows)}\n{''.join(map(describe, rows))}")
    path.write_text("".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", required=True, type=Path)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES)
    parser.add_argument("--records", type=int, help="instead of those of the cases")
    parser.add_argument("--before", type=Path, help="table that was printed earlier")
    parser.add_argument("--results", type=Path, help="file to write")
    options = parser.parse_args()
    if len(options.cases) == 1:
        run_case(options.cases[0], options.data, options.records)
        return
    print(f"{HEAD}\n{RULE}", flush=True)
    rows = []
    for name in options.cases:
        given = [*sys.argv[1:], "--cases", name]
        done = subprocess.run(
            [sys.executable, __file__, *given], check=True, stdout=subprocess.PIPE
        )
        rows += [line for line in done.stdout.decode().splitlines(True) if line.startswith("| ")]
        print(rows[-1], end="", flush=True)
    if options.results is not None:
        before = options.before.read_text().splitlines(True) if options.before else []
        before = [line for line in before if line.startswith(tuple(f"| {name} " for name in CASES))]
        write_results(options.results, rows, before)


if __name__ == "__main__":
    main()
