"""Largest memory of a pool's fit, against the signals that it keeps and one chunk of models.

Each line is measured in a fresh process. The signals are 4 bytes for each model, record and
temperature. The chunk is what the training of a single model adds to the process; with two jobs
that happens in the workers, and the chunk of this process is 0. Records and libraries are there
before the measurement begins. Prints ratios and asserts nothing.

    python benchmarks/bench_pool_memory.py [--records 100000] [--models 64]
"""

import argparse
import json
import subprocess
import sys

import numpy as np
from _processes import peak_memory, reset_peak
from joblib import Parallel, delayed
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from skmia import Records, ShadowPool

N_FEATURES = 10
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=6),
    "tree, regression": DecisionTreeRegressor(max_depth=6),
    "forest of 20": RandomForestClassifier(20, max_depth=6),
    "logistic, together": LogisticRegression(),
}
CASES = [
    ("tree", None, (1.0,), "signals"),
    ("tree", None, (1.0, 2.0), "signals"),
    ("tree", 2, (1.0, 2.0), "signals"),
    ("tree, regression", None, (1.0,), "signals"),
    ("forest of 20", None, (1.0, 2.0), "signals"),
    ("forest of 20", 2, (1.0, 2.0), "signals"),
    ("logistic, together", None, (1.0,), "signals"),
    ("logistic, together", None, (1.0, 2.0), "signals"),
    ("tree", None, (1.0, 2.0), "outputs"),
]


def make_records(name, n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, N_FEATURES))
    y = X[:, 0] + rng.normal(size=n)
    records = Records(X, y if "regression" in name else (y > 0).astype(int))
    records.fingerprint  # noqa: B018 (is computed once, and not by the pool alone)
    return records


def measure_one(name, n_jobs, temperatures, store, n, n_models):
    """Bytes of the signals, of the pool's arrays, of one chunk and at most, in this process."""
    estimator, records = MODELS[name], make_records(name, n)
    settings = {"temperatures": temperatures, "store": store, "n_jobs": n_jobs, "random_state": 0}
    ShadowPool(estimator, 2, **settings).fit(make_records(name, 1000))  # imports all there is
    Parallel(n_jobs=n_jobs)(delayed(len)("") for _ in range(2))
    chunk = 0
    if n_jobs is None:
        before = reset_peak()
        estimator.fit(records.X[::2], records.y[::2]).predict(records.X)
        chunk = peak_memory() - before
    before = reset_peak()
    pool = ShadowPool(estimator, n_models, **settings).fit(records)
    peak = peak_memory() - before
    signals = 4 * n * n_models * len(pool.temperatures_)
    if pool.outputs_ is not None:
        signals += pool.outputs_.nbytes
    held = pool.signals_.nbytes + pool.membership_.nbytes + getattr(pool.outputs_, "nbytes", 0)
    return signals, held, chunk, peak


def measure_apart(case, n, n_models):
    command = [sys.executable, __file__, "--records", str(n), "--models", str(n_models)]
    command += ["--case", json.dumps(case)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--case", help="one case, measured in this process")
    options = parser.parse_args()
    if options.case:
        name, n_jobs, temperatures, store = json.loads(options.case)
        case = name, n_jobs, tuple(temperatures), store
        print(json.dumps(measure_one(*case, options.records, options.models)))
        return
    print(f"{options.models} models x {options.records} records; megabytes (target: a ratio of 2)")
    titles = ("temps", "store", "n_jobs", "signals", "held", "chunk", "at most", "ratio")
    print(f"{'model':20s}" + "".join(f"{title:>10s}" for title in titles))
    for case in CASES:
        name, n_jobs, temperatures, store = case
        signals, held, chunk, peak = measure_apart(case, options.records, options.models)
        print(
            f"{name:20s}{len(temperatures):10d}{store:>10s}{n_jobs or 'None':>10}"
            + "".join(f"{1e-6 * size:10.1f}" for size in (signals, held, chunk, peak))
            + f"{peak / (signals + chunk):10.2f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
