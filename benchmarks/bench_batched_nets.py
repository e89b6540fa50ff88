"""Time to train many shadow nets at once, against the same skorch net fitted one after another.

Prints ratios measured in one run; asserts nothing. An epoch is timed as the difference between a
long and a short fit, so that what every fit takes once is told apart.

    python benchmarks/bench_batched_nets.py [--models 64] [--threads 2]
"""

import argparse
from time import perf_counter, process_time

import numpy as np
import torch
from _nets import make_net

from skmia.shadow._backends import JoblibBackend, PoolJob
from skmia.shadow._batched import BatchedTorchBackend
from skmia.shadow._worker import PoolData, PoolSettings

SHAPES = {
    # name: records, features, hidden units, classes, epochs to time, epochs of the whole fit
    "8 hidden units": (20_000, 100, 8, 2, 4, 200),
    "600-128-100": (20_000, 600, 128, 100, 2, 30),
}


def make_job(shape, n_models, n_epochs):
    n_records, n_features, n_hidden, n_classes = shape
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_records, n_features)).astype(np.float32)
    y = rng.integers(n_classes, size=n_records)
    membership = np.zeros((n_models, n_records), dtype=bool)
    for k in range(0, n_models, 2):
        membership[k, rng.permutation(n_records)[: n_records // 2]] = True
        membership[k + 1] = ~membership[k]
    net = make_net(n_features, n_hidden, n_classes, max_epochs=n_epochs)
    net.set_params(iterator_train__shuffle=True)
    seeds = np.random.SeedSequence(0).spawn(n_models)
    settings = PoolSettings((1.0, 2.0), "auto", "signals")
    return PoolJob(net, PoolData([X], y), membership, seeds, settings, None)


def time_run(backend, job, n_models, clock):
    start = clock()
    for _ in backend.run(job, range(n_models)):
        pass
    return clock() - start


def time_parts(backend, shape, n_models, n_timed, n_epochs, clock):
    """Seconds of one epoch, and of all else, for ``n_timed`` of the models."""
    short, long = (make_job(shape, n_models, n) for n in (1, 1 + n_epochs))
    time_run(backend, short, n_timed, clock)  # imports and caches
    once = min(time_run(backend, short, n_timed, clock) for _ in range(2))
    epoch = (time_run(backend, long, n_timed, clock) - once) / n_epochs
    return epoch, once - epoch


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, default=64)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="count processor time, which other programs disturb less (use with --threads 1)",
    )
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    clock = process_time if arguments.cpu_time else perf_counter
    n_models = arguments.models
    for name, (*shape, n_epochs, n_whole) in SHAPES.items():
        epoch, once = time_parts(JoblibBackend(), shape, n_models, 2, n_epochs, clock)
        alone = n_models / 2 * np.array([epoch, epoch * n_whole + once])
        print(f"{name}: one after another {alone[0]:.2f} s an epoch of {n_models} models")
        for path, backend in (
            ("perceptrons", BatchedTorchBackend()),
            ("any module", BatchedTorchBackend(generic=True)),
        ):
            start = clock()
            backend.why_not(make_job(shape, n_models, n_epochs))
            check = clock() - start
            epoch, once = time_parts(backend, shape, n_models, n_models, n_epochs, clock)
            whole = check + once + n_whole * epoch
            print(
                f"    path for {path}: {epoch:.2f} s, {alone[0] / epoch:.1f}x; {n_whole} epochs "
                f"with all else {alone[1] / whole:.1f}x; self-check {check:.2f} s"
            )


if __name__ == "__main__":
    main()
