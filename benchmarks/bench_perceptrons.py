"""Time to train the perceptrons of a pool together, against scikit-learn one by one.

Each case is some epochs of models on one thread, in processor time, first in the loop of
scikit-learn and then in stacks; the largest difference of a weight is printed too. The last column
is the share of the time together that the products of the first layer take by themselves, which no
sharing saves. Given a table, perceptrons on its columns, in single precision, are trained on halves
of it, in two processes, by both backends. Asserts nothing.

    python benchmarks/bench_perceptrons.py [--models 64] [--single]
    python benchmarks/bench_perceptrons.py --table adult.csv.gz --target income
"""

import argparse
import warnings
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from skmia._training.backends.backend import OneByOneWay
from skmia._training.backends.perceptron import PerceptronWay
from skmia._training.backends.perceptron.backend import count_together, start_network
from skmia._training.backends.perceptron.train import PerceptronTraining
from skmia._training.job import Job, JobData
from skmia._training.workers import JoblibWorkers
from skmia.cli._features_and_target import as_features, read_target
from skmia.cli._model import make_estimator
from skmia.cli._reading import read_table
from skmia.shadow._job import PoolKeeper

# Records, features, hidden units, records in a batch, epochs.
CASES = [
    (24_000, 105, 100, 200, 1),
    (24_000, 105, 20, 200, 2),
    (5_000, 30, 100, 200, 4),
    (2_000, 30, 32, 64, 5),
    (2_000, 20, 16, 32, 5),
    (300, 10, 10, 32, 20),
]


def make_model(seed, hidden, batch, epochs):
    return MLPClassifier((hidden,), batch_size=batch, max_iter=epochs, random_state=seed)


def time_products(dtype, rows, d, hidden, batch, epochs, n_models=4):
    """Seconds for a model of the first layer's two products alone."""
    rng = np.random.default_rng(0)
    shapes = (n_models, batch, d), (n_models, d, hidden)
    X, coefs = (rng.normal(size=shape).astype(dtype) for shape in shapes)
    values, gradient = np.empty((n_models, batch, hidden)), np.empty_like(coefs)
    n_steps = epochs * -(-rows // batch)
    start = process_time()
    for _ in range(n_steps):
        np.matmul(X, coefs, out=values)
        np.matmul(X.swapaxes(1, 2), values, out=gradient)
    return (process_time() - start) / n_models


def train_together(X, y, models):
    networks = [start_network(one, lambda one=one: one.fit(X, y)) for one in models]
    together = count_together(networks[0], 1)
    start = process_time()
    for begin in range(0, len(networks), together):
        PerceptronTraining(networks[begin : begin + together]).run_to_end()
    return together, (process_time() - start) / len(models)


def run_case(rows, d, hidden, batch, epochs, n_models, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d)).astype(dtype)
    y = (X[:, 0] + rng.normal(size=rows) > 0).astype(int)
    setup = hidden, batch, epochs
    alone = [make_model(seed, *setup) for seed in range(min(8, n_models))]
    start = process_time()
    for model in alone:
        model.fit(X, y)
    before = (process_time() - start) / len(alone)
    models = [make_model(seed, *setup) for seed in range(n_models)]
    together, seconds = train_together(X, y, models)
    error = max(
        np.abs(a - b).max()
        for one, other in zip(alone, models, strict=False)
        for a, b in zip(one.coefs_, other.coefs_, strict=True)
    )
    share = time_products(dtype, rows, d, *setup) / seconds
    print(
        f"{rows:8d}{d:6d}{hidden:8d}{batch:7d}{together:7d}{1e3 * before / epochs:12.2f}"
        f"{1e3 * seconds / epochs:12.2f}{before / seconds:8.1f}{error:10.1e}{share:10.0%}",
        flush=True,
    )


def run_table(options):
    target, n_models = options.target, options.models
    frame = read_table(Path(options.table)).frame.drop(columns=options.drop)
    y = read_target(frame, target, "classification")
    X = as_features(frame.drop(columns=target))
    columns = make_estimator("mlp", X, "regression", 0)[0]
    estimator = make_pipeline(columns, MLPClassifier(max_iter=options.epochs))
    rng = np.random.default_rng(0)
    inside = np.zeros((n_models, len(y)), dtype=bool)
    for one in inside:
        one[rng.permutation(len(y))[: len(y) // 2]] = True
    seeds = np.random.SeedSequence(0).spawn(n_models)
    keep = PoolKeeper(("auto",), (1.0,), "auto", "models")
    job = Job(estimator, JobData([X], y), inside, seeds, keep, 2)
    seconds, results = {}, {}
    short = clone(estimator).set_params(**{f"{estimator.steps[-1][0]}__max_iter": 1})
    where = JoblibWorkers()
    for way in (PerceptronWay(), OneByOneWay()):
        dict(way.run(job._replace(estimator=short), range(2), where))  # workers start and import
        start = perf_counter()
        results[way.name] = dict(way.run(job, range(n_models), where))
        seconds[way.name] = perf_counter() - start
        epochs = [one.model[-1].n_iter_ for _, one in sorted(results[way.name].items())]
        print(f"{way.name:12s}{seconds[way.name]:8.1f} s  epochs {epochs}", flush=True)
    error = max(
        np.abs(a - b).max()
        for k, one in results["one_by_one"].items()
        for a, b in zip(
            one.model[-1].coefs_, results["perceptron"][k].model[-1].coefs_, strict=True
        )
    )
    print(
        f"ratio {seconds['one_by_one'] / seconds['perceptron']:.2f}, weights differ by {error:.1e}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--table", help="CSV file")
    parser.add_argument("--target")
    parser.add_argument("--drop", nargs="*", default=[])
    parser.add_argument("--single", action="store_true", help="float32 in place of float64")
    parser.add_argument("--epochs", type=int, default=200, help="at most, for the table")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.table:
        run_table(options)
        return
    print("milliseconds for an epoch of one model, on one thread")
    print(
        f"{'records':>8s}{'wide':>6s}{'hidden':>8s}{'batch':>7s}{'stack':>7s}{'one by one':>12s}"
        f"{'together':>12s}{'ratio':>8s}{'error':>10s}{'products':>10s}"
    )
    with threadpool_limits(1):
        for case in CASES:
            run_case(*case, options.models, np.float32 if options.single else np.float64)


if __name__ == "__main__":
    main()
