"""What the estimates of cost say, beside what audits of models and of tables take.

No constant of the estimates was set by one of these cases. Each is estimated and then run in a
process of its own; seconds are of the processor on one thread. Shadow models are 8 in both.

    OMP_NUM_THREADS=1 python benchmarks/bench_cost_estimates.py [--only ridge mixed]
"""

import argparse
import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingClassifier
from sklearn.linear_model import Ridge, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from skmia import audit
from skmia._core import provenance
from skmia.report import _pace
from skmia.report.cost import estimate_cost
from skmia.synthetic import audit_table
from skmia.synthetic.cost import estimate_table_cost

HEAD = "| case | said, s | taken, s | said / taken | largest parts, said / taken |"
RULE = "|---|---|---|---|---|"


class ProcessorClock:
    """Clocks that stand while the processor does other work."""

    monotonic = perf_counter = process_time = staticmethod(time.process_time)


def make_classes(n, d, n_classes=2):
    return make_classification(
        n, d, n_informative=8, n_classes=n_classes, flip_y=0.1, random_state=0
    )


def make_words(n, d):
    y = np.random.default_rng(0).integers(2, size=n)
    X = sparse.random(n, d, density=40 / d, format="csr", random_state=0)
    return X, y


MODELS = {
    "ridge": lambda: (Ridge(), *make_regression(5_000, 60, noise=30, random_state=0)),
    "tree": lambda: (DecisionTreeClassifier(random_state=0), *make_classes(4_000, 30, 6)),
    "neighbors": lambda: (KNeighborsClassifier(9), *make_classes(3_000, 20)),
    "extra": lambda: (ExtraTreesClassifier(60, random_state=0), *make_classes(2_500, 25)),
    "gradient": lambda: (GradientBoostingClassifier(random_state=0), *make_classes(1_500, 15)),
    "kernel": lambda: (SVC(), *make_classes(1_200, 12)),
    "words": lambda: (SGDClassifier(loss="log_loss", random_state=0), *make_words(3_000, 2_000)),
}


def make_table(n, n_numbers, n_categories, seed):
    rng = np.random.default_rng(seed)
    table = {f"x{k}": np.round(rng.normal(size=n), 2) for k in range(n_numbers)}
    table |= {f"c{k}": rng.choice(list("abcdefg"), n) for k in range(n_categories)}
    return pd.DataFrame(table)


# Rows, columns of numbers and of categories.
TABLES = {
    "mixed": (3_000, 4, 4),
    "numbers": (8_000, 6, 0),
    "categories": (5_000, 0, 12),
}


def run_model(name):
    """Return what was said and taken in all, and by part."""
    model, X, y = MODELS[name]()
    inside = np.random.default_rng(1).permutation(len(y)) % 2 == 1
    model.fit(X[inside], y[inside])
    sides = {"train": (X[inside], y[inside]), "held_out": (X[~inside], y[~inside])}
    cost = estimate_cost(model, **sides, shadows=8, random_state=0)
    start = time.process_time()
    report = audit(model, **sides, shadows=8, random_state=0)
    taken = time.process_time() - start
    return cost.seconds, taken, dict(cost.phases["seconds"]), report.seconds


def run_table(name):
    """Return what was said and taken in all."""
    sides = [make_table(*TABLES[name], seed) for seed in range(3)]
    cost = estimate_table_cost(*sides)
    start = time.process_time()
    audit_table(*sides, random_state=0)
    return cost.seconds, time.process_time() - start, {}, {}


def tell(name, said, taken, by_part, parts):
    """Return a row of the table."""
    shared = [part for part in by_part if parts.get(part, 0) > 0.05 * taken]
    largest = sorted(shared, key=parts.get, reverse=True)[:4]
    told = ", ".join(f"{part} {by_part[part]:.1f} / {parts[part]:.1f}" for part in largest)
    return f"| {name} | {said:.1f} | {taken:.1f} | {said / taken:.2f} | {told} |"


def run_here(name):
    for module in (provenance, _pace):
        module.time = ProcessorClock
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        print(tell(name, *(run_model if name in MODELS else run_table)(name)), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--only", nargs="+", default=[*MODELS, *TABLES], choices=[*MODELS, *TABLES])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.here:
        run_here(options.only[0])
        return
    print(HEAD, RULE, sep="\n", flush=True)
    for name in options.only:
        command = [sys.executable, __file__, "--only", name, "--here"]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        row = done.stdout.splitlines()[-1]
        print(row, flush=True)


if __name__ == "__main__":
    main()
