"""Time of ``skmia audit --estimator mlp``, batched and with ``--no-batching``.

Each command is a process of its own with two jobs. What takes long, one by one, is run with few
shadow models and taken on to the number of the batched run by what two of them need more than one
another; what a model and an epoch of it cost is printed next to the time of the products of its
first layer as matrices with all their zeros, and next to other ways to train the same net. The
processor times of the command and its workers are less disturbed by other programs than the
seconds on the clock. Asserts nothing.

    python benchmarks/bench_audit_mlp.py adult.csv.gz --target income --group race
"""

import argparse
import json
import subprocess
import sys
import warnings
from pathlib import Path
from time import process_time

import numpy as np
import torch
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

from skmia._training.backends.perceptron.backend import count_together, start_network
from skmia._training.backends.perceptron.train import PerceptronTraining
from skmia._training.backends.torch_nets.prepare import prepare_net
from skmia._training.backends.torch_nets.train import NetTraining
from skmia._training.job import Job, JobData
from skmia.cli._features_and_target import as_features, read_target
from skmia.cli._model import make_estimator
from skmia.cli._reading import read_table
from skmia.shadow._job import PoolKeeper

_RUN = """
import contextlib, io, json, os, sys
from time import perf_counter
start = perf_counter()
from skmia.cli import main
with contextlib.redirect_stdout(io.StringIO()):
    code = main(sys.argv[1:])
seconds = perf_counter() - start
from joblib.externals.loky import get_reusable_executor
get_reusable_executor().shutdown(wait=True)
print(json.dumps({"code": code, "seconds": seconds, "processor": sum(os.times()[:4])}))
"""


def run_command(options, n_shadows, *further):
    data = ["--data", options.table, "--target", options.target]
    data += ["--group", options.group] if options.group else []
    command = ["audit", *data, "--estimator", "mlp", "--shadows", str(n_shadows), "--jobs", "2"]
    done = subprocess.run(
        [sys.executable, "-c", _RUN, *command, *further], stdout=subprocess.PIPE, check=True
    )
    result = json.loads(done.stdout.splitlines()[-1])
    name = "one by one" if further else "batched"
    print(
        f"{name:12s}{n_shadows:4d} shadow models: {result['seconds']:7.1f} s, processor "
        f"{result['processor']:7.1f} s",
        flush=True,
    )
    return np.array([result["seconds"], result["processor"]])


def compare_commands(options):
    few, n_shadows = options.few, options.shadows
    batched = run_command(options, n_shadows)
    first, second = (run_command(options, n, "--no-batching") for n in (few, 2 * few))
    alone = first + (second - first) * (n_shadows - few) / few
    print(
        f"{n_shadows} shadow models one by one: {alone[0]:.0f} s, processor {alone[1]:.0f} s; "
        f"ratio {alone[0] / batched[0]:.1f}, by processor time {alone[1] / batched[1]:.1f}"
    )


def make_job(X, y, n_models):
    estimator = make_estimator("mlp", X, "classification", 0, n_classes=y.max() + 1)
    rng = np.random.default_rng(0)
    membership = np.zeros((n_models, len(y)), dtype=bool)
    for one in membership:
        one[rng.permutation(len(y))[: len(y) // 2]] = True
    seeds = np.random.SeedSequence(0).spawn(n_models)
    keep = PoolKeeper(("auto",), (1.0,), "auto", "signals")
    return Job(estimator, JobData([X], y), membership, seeds, keep, 1)


def time_epoch(run_to, n_models=1):
    """Milliseconds of an epoch of one model, the least of three."""
    run_to(1)
    times = []
    for n_epochs in (2, 3, 4):
        start = process_time()
        run_to(n_epochs)
        times.append(process_time() - start)
    return 1e3 * min(times) / n_models


def time_perceptrons(Z, y, n_models):
    """An epoch of scikit-learn's perceptron by itself, and of many together."""

    def make_models(n, n_epochs):
        return [MLPClassifier(max_iter=n_epochs, random_state=k) for k in range(n)]

    def time(train, n):
        spent = []
        for n_epochs in (1, 4):
            prepared = [train(model) for model in make_models(n, n_epochs)]
            start = process_time()
            for run in prepared:
                run()
            spent.append(process_time() - start)
        return 1e3 * (spent[1] - spent[0]) / 3 / n

    first = make_models(1, 1)[0]
    together = count_together(start_network(first, lambda: first.fit(Z, y)), 1)

    def prepare_stack(_):
        models = stacks.pop()
        networks = [start_network(one, lambda one=one: one.fit(Z, y)) for one in models]
        return PerceptronTraining(networks).run_to_end

    alone = time(lambda model: lambda: model.fit(Z, y), 1)
    stacks = [make_models(together, 4), make_models(together, 1)]
    return alone, time(prepare_stack, 1) / together


def compare_epochs(options):
    torch.set_num_threads(1)
    frame = read_table(Path(options.table)).frame
    y = read_target(frame, options.target, "classification")
    X, y = as_features(frame.drop(columns=options.target)), np.unique(y, return_inverse=True)[1]
    job = make_job(X, y, options.shadows // 2)
    prepared = [prepare_net(job, k, None) for k in range(options.shadows // 2)]
    batched = time_epoch(NetTraining(prepared, None).run, len(prepared))
    net, inside = prepared[0].net, job.membership[0]
    Z = job.estimator[0].fit_transform(X[inside])
    net.set_params(max_epochs=1).initialize()
    alone = time_epoch(lambda _: net.partial_fit(Z, y[inside]))
    products = time_products(net, Z)
    print(
        f"milliseconds of processor time for an epoch of one model ({Z.shape[0]:,} x "
        f"{Z.shape[1]}, {net.module_.n_hidden} hidden units)\n"
        f"{'skorch net, float32':28s}one by one {alone:6.1f}, {len(prepared)} together "
        f"{batched:6.1f}, ratio {alone / batched:.1f}\n"
        f"{'products of its first layer':28s}{products:17.1f}"
    )
    for dtype in (np.float32, np.float64):
        alone, together = time_perceptrons(Z.astype(dtype), y[inside], options.shadows)
        print(
            f"{'MLPClassifier, ' + dtype.__name__:28s}one by one {alone:6.1f}, together "
            f"{together:6.1f}, ratio {alone / together:.1f}; the net above in {batched:.1f}"
        )


def time_products(net, Z):
    """Milliseconds for the products of the first layer, forward and backward, in one epoch."""
    n_steps = -(-len(Z) // net.batch_size)
    x, weight = torch.as_tensor(Z[: net.batch_size]), net.module_.hidden.weight.detach()
    spent = []
    for _ in range(3):
        start = process_time()
        for _ in range(n_steps):
            z = x @ weight.T
            z.T @ x
        spent.append(process_time() - start)
    return 1e3 * min(spent)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", help="CSV file")
    parser.add_argument("--target", required=True)
    parser.add_argument("--group")
    parser.add_argument("--shadows", type=int, default=64, help="of the batched run")
    parser.add_argument("--epochs-only", action="store_true", help="run no command")
    parser.add_argument("--few", type=int, default=4, help="of the shorter run one by one")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if not options.epochs_only:
        compare_commands(options)
    with threadpool_limits(1):
        compare_epochs(options)


if __name__ == "__main__":
    main()
