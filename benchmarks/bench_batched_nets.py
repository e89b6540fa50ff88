"""Time to train many shadow nets at once, against the same skorch net fitted one after another.

Prints ratios measured in one run; asserts nothing. An epoch is timed as the difference between a
long and a short fit, so that what every fit takes once is told apart. Next to it stands the time
that the products of matrices take by themselves, which is the least that any way of training needs:
what it leaves of the time one after another is the largest ratio there can be. On a GPU whole fits
are timed, one after another those of a few of the nets.

    python benchmarks/bench_batched_nets.py [--models 64] [--jobs 1] [--cpu-time]
    python benchmarks/bench_batched_nets.py --device cuda
"""

import argparse
from itertools import pairwise
from time import perf_counter, process_time

import numpy as np
import torch
from _nets import make_net

from skmia._training.backends.backend import OneByOneWay
from skmia._training.backends.torch_nets import TorchNetsWay
from skmia._training.job import Job, JobData
from skmia._training.workers import JoblibWorkers
from skmia.shadow._job import PoolKeeper

SHAPES = {
    # name: records, features, hidden units, classes, epochs to time, epochs of the whole fit
    "8 hidden units": (20_000, 100, 8, 2, 4, 200),
    "600-128-100": (20_000, 600, 128, 100, 2, 30),
}
TARGETS = {"8 hidden units": "50x, any module 25x", "600-128-100": "60% products"}


def make_job(shape, n_models, n_epochs, n_jobs=1, device="cpu"):
    n_records, n_features, n_hidden, n_classes = shape
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_records, n_features)).astype(np.float32)
    y = rng.integers(n_classes, size=n_records)
    membership = np.zeros((n_models, n_records), dtype=bool)
    for k in range(0, n_models, 2):
        membership[k, rng.permutation(n_records)[: n_records // 2]] = True
        membership[k + 1] = ~membership[k]
    net = make_net(n_features, n_hidden, n_classes, max_epochs=n_epochs)
    net.set_params(iterator_train__shuffle=True, device=device)
    seeds = np.random.SeedSequence(0).spawn(n_models)
    keep = PoolKeeper(("auto",), (1.0, 2.0), "auto", "signals")
    return Job(net, JobData([X], y), membership, seeds, keep, n_jobs)


def time_run(way, job, n_models, clock):
    start = clock()
    for _ in way.run(job, range(n_models), JoblibWorkers()):
        pass
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return clock() - start


def time_parts(way, jobs, n_timed, n_epochs, clock):
    """Seconds of one epoch, and of all else, for ``n_timed`` of the models."""
    time_run(way, jobs[0], n_timed, clock)  # imports and caches
    once, whole = (min(time_run(way, job, n_timed, clock) for _ in range(3)) for job in jobs)
    epoch = (whole - once) / n_epochs
    return epoch, once - epoch


def time_products(shape, batch=128, n_models=8):
    """Seconds of processor time for the products of an epoch of one model, on one thread."""
    n_records, *widths = shape
    n_steps = -(-n_records // 2 // batch)
    weights = [torch.randn(n_models, a, b) for a, b in pairwise(widths)]
    values = [torch.randn(n_models, batch, width) for width in widths]
    spent = []
    for _ in range(3):
        start = process_time()
        for _ in range(n_steps):
            for i, weight in enumerate(weights):
                torch.bmm(values[i], weight)
                torch.bmm(values[i].transpose(1, 2), values[i + 1])
                if i:
                    torch.bmm(values[i + 1], weight.transpose(1, 2))
        spent.append(process_time() - start)
    return min(spent) / n_models


def compare(name, shape, n_epochs, n_whole, options):
    clock = process_time if options.cpu_time else perf_counter
    n_models, n_jobs = options.models, options.jobs
    jobs = [make_job(shape, n_models, n, n_jobs) for n in (1, 1 + n_epochs)]
    n_timed = 2 * n_jobs
    epoch, once = time_parts(OneByOneWay(), jobs, n_timed, n_epochs, clock)
    alone = n_models / n_timed * np.array([epoch, epoch * n_whole + once])
    print(f"{name}: one after another {alone[0]:.2f} s an epoch of {n_models} models")
    for path, way in (
        ("perceptrons", TorchNetsWay()),
        ("any module", TorchNetsWay(generic=True)),
    ):
        start = clock()
        way.why_not(jobs[0])
        check = clock() - start
        products = time_products(shape) * n_models / n_jobs
        epoch, once = time_parts(way, jobs, n_models, n_epochs, clock)
        whole = check + once + n_whole * epoch
        print(
            f"    path for {path}: {epoch:.2f} s, {alone[0] / epoch:.1f}x "
            f"(target: {TARGETS[name]}); "
            f"products by themselves {products:.2f} s, {products / epoch:.0%} of it (peak "
            f"{alone[0] / products:.1f}x); {n_whole} epochs with all else {alone[1] / whole:.1f}x; "
            f"self-check {check:.2f} s",
            flush=True,
        )


def compare_on_gpu(device, n_models, n_alone=4):
    if not torch.cuda.is_available():
        print(f"--device {device}: torch finds no GPU here")
        return
    *shape, _, n_epochs = SHAPES["600-128-100"]
    job = make_job(shape, n_models, n_epochs, device=device)
    short = make_job(shape, 2, 1, device=device)
    way = TorchNetsWay()
    for one in (way, OneByOneWay()):
        time_run(one, short, 2, perf_counter)  # imports, kernels
    refusal = way.why_not(job)
    if refusal:
        print(f"the nets are trained one by one: {refusal}")
        return
    together = time_run(way, job, n_models, perf_counter)
    alone = time_run(OneByOneWay(), job, n_alone, perf_counter) * n_models / n_alone
    print(
        f"{torch.cuda.get_device_name(device)}: {n_models} nets 600-128-100, {n_epochs} epochs: "
        f"together {together:.1f} s, one after another {alone:.1f} s ({n_alone} of them timed), "
        f"{alone / together:.1f}x"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, help="64, or 256 on a GPU")
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--cpu-time",
        action="store_true",
        help="count processor time, which other programs disturb less (with one job)",
    )
    options = parser.parse_args()
    if options.cpu_time and options.jobs > 1:
        parser.error("--cpu-time sees nothing of what other processes do; it goes with --jobs 1")
    if options.device != "cpu":
        compare_on_gpu(options.device, options.models or 256)
        return
    options.models = options.models or 64
    torch.set_num_threads(1)
    for name, (*shape, n_epochs, n_whole) in SHAPES.items():
        compare(name, shape, n_epochs, n_whole, options)


if __name__ == "__main__":
    main()
