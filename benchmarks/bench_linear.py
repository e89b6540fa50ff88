"""Time to train the linear shadow models of a pool together, against scikit-learn one by one.

Prints ratios measured in one run, and how far both are from the optimum: the largest error of a
record's signal (scaled logits in nats within -20 to 20, log residuals) over some of the models,
against scikit-learn with a tolerance of 1e-10. Asserts nothing.

    python benchmarks/bench_linear.py [--models 64] [--alone 4] [--only digits]
"""

import argparse
import warnings
from time import perf_counter, process_time

import numpy as np
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skmia._training.backends.backend import OneByOneWay
from skmia._training.backends.linear import LinearWay
from skmia._training.job import Job, JobData
from skmia._training.workers import JoblibWorkers
from skmia.shadow._job import PoolKeeper

TIGHT = {"tol": 1e-10, "max_iter": 10_000, "solver": "newton-cg"}


def make_table(n=20_000, seed=0):
    """A table like census data: eight categories in one-hot columns, six numbers, two classes."""
    rng = np.random.default_rng(seed)
    columns = [rng.normal(size=(n, 6))]
    for size in (7, 16, 7, 14, 6, 5, 2, 42):
        columns.append(np.eye(size)[rng.choice(size, p=rng.dirichlet(np.ones(size)), size=n)])
    X = np.concatenate(columns, axis=1)
    noise = rng.logistic(size=n)
    return X, (X @ rng.normal(size=X.shape[1]) + noise > 1).astype(int)


def make_cases():
    digits, digit = load_digits(return_X_y=True)
    cancer, benign = load_breast_cancer(return_X_y=True)
    table, income = make_table()
    many = make_classification(5000, 60, n_informative=30, n_classes=8, random_state=0)
    wide = make_classification(1000, 1500, n_informative=30, n_classes=4, random_state=0)
    rng = np.random.default_rng(0)
    real = table @ np.linspace(-1, 1, table.shape[1]) + rng.normal(size=len(table))
    plain = rng.normal(size=(5000, 60))
    sums = plain.sum(axis=1) + rng.normal(size=len(plain))
    logistic, scaled = LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())
    return {
        "cancer, scaled": (StandardScaler().fit_transform(cancer), benign, logistic),
        "cancer, Pipeline": (cancer, benign, scaled),
        "digits / 16": (digits / 16, digit, logistic),
        "digits": (digits, digit, logistic),
        "digits, Pipeline": (digits, digit, scaled),
        "8 classes": (*many, logistic),
        "4 classes, wide": (*wide, logistic),
        "table": (table, income, logistic),
        "table, Pipeline": (table, income, scaled),
        "table, Ridge": (table, real, Ridge()),
        "normal, least squares": (plain, sums, LinearRegression()),
        "diabetes, Ridge": (*load_diabetes(return_X_y=True), Ridge()),
        "wide, Ridge": (wide[0], wide[0][:, 0] + np.arange(1000) / 1000, Ridge()),
    }


def make_job(X, y, estimator, n_models):
    rng = np.random.default_rng(0)
    inside = np.zeros((n_models, len(y)), dtype=bool)
    for k in range(0, n_models, 2):
        inside[k, rng.permutation(len(y))[: len(y) // 2]] = True
        inside[k + 1] = ~inside[k]
    seeds = np.random.SeedSequence(0).spawn(n_models)
    keep = PoolKeeper(("auto",), (1.0, 2.0), "auto", "signals")
    return Job(estimator, JobData([X], y), inside, seeds, keep)


def measure(way, job, models):
    """Results, and seconds of the clock and of all processors for each model."""
    start, busy = perf_counter(), process_time()
    results = dict(way.run(job, models, JoblibWorkers()))
    return results, (perf_counter() - start) / len(models), (process_time() - busy) / len(models)


def find_error(results, optimum):
    errors = []
    for k, best in optimum.items():
        values, target = results[k].arrays["raw"][0, 0], best.arrays["raw"][0, 0]
        if best.facts["kind"] == "proba":
            values, target = np.clip(values, -20, 20), np.clip(target, -20, 20)
        errors.append(np.abs(values - target).max())
    return max(errors)


def tighten(estimator):
    estimator = clone(estimator)
    last = estimator[-1] if hasattr(estimator, "steps") else estimator
    if isinstance(last, LogisticRegression):
        last.set_params(**TIGHT)
    return estimator


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--alone", type=int, default=4, help="models fitted one by one")
    parser.add_argument("--only", default="", help="part of the name of a case")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    head = ("one by one", "together", "ratio", "cpu ratio", "error 1x1", "error tog.")
    print(f"{options.models} models, milliseconds for each")
    print(f"{'case':22s}{'n x d':>14s}" + "".join(f"{title:>12s}" for title in head))
    for name, (X, y, estimator) in make_cases().items():
        if options.only not in name:
            continue
        job = make_job(X, y, estimator, options.models)
        some = range(options.alone)
        together, seconds, busy = measure(LinearWay(), job, range(options.models))
        alone, seconds_alone, busy_alone = measure(OneByOneWay(), job, some)
        optimum = measure(OneByOneWay(), job._replace(estimator=tighten(estimator)), some)[0]
        left = sum(bool(result.warnings) for result in together.values())
        note = f"  {left} left to scikit-learn" if left else ""
        print(
            f"{name:22s}{f'{len(X)} x {X.shape[1]}':>14s}{1e3 * seconds_alone:12.1f}"
            f"{1e3 * seconds:12.2f}{seconds_alone / seconds:12.1f}{busy_alone / busy:12.1f}"
            f"{find_error(alone, optimum):12.1e}{find_error(together, optimum):12.1e}{note}",
            flush=True,
        )


if __name__ == "__main__":
    main()
