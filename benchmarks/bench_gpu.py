"""Shadow nets per second on one device: trained together, and one after another.

Times whole fits of pools, answers for all records included, of a perceptron 600-128-100, a small
convolutional net and a residual net of 18 layers, on random records. On a GPU also without the
replay of recorded kernels, and with the records on the host, as if they were too large for the
GPU; with several GPUs and ``--jobs``, groups are spread over them. It has not been run on a GPU
yet. On a CPU the nets and tables are tiny: the numbers only show that it works.

    python benchmarks/bench_gpu.py --device cuda
    python benchmarks/bench_gpu.py --device cuda --jobs -1
    python benchmarks/bench_gpu.py --device cpu
"""

import argparse
from time import perf_counter
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch
from _image_nets import ResidualNet, SmallConvNet
from skorch import NeuralNetClassifier
from torch import nn

from skmia import Records, ShadowPool
from skmia._training.backends.torch_nets import prepare, train


class Case(NamedTuple):
    """A net, its records, and how many models are trained in each way."""

    module: type
    settings: dict
    shape: tuple  # of a record
    n_classes: int
    n_records: int
    n_epochs: int
    batch_size: int
    n_together: int
    n_alone: int


class Perceptron(nn.Sequential):
    def __init__(self, n_in=600, n_hidden=128, n_out=100):
        super().__init__(nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_out))


IMAGE = (3, 32, 32)
CASES = {
    "600-128-100": Case(Perceptron, {}, (600,), 100, 20_000, 30, 128, 256, 4),
    "small conv net": Case(SmallConvNet, {}, IMAGE, 10, 20_000, 10, 128, 64, 4),
    "residual net": Case(ResidualNet, {}, IMAGE, 10, 20_000, 2, 128, 16, 2),
}
TINY = {
    "600-128-100": Case(Perceptron, {"n_hidden": 4}, (600,), 100, 200, 1, 16, 4, 2),
    "small conv net": Case(SmallConvNet, {"width": 2}, IMAGE, 10, 40, 1, 16, 4, 2),
    "residual net": Case(ResidualNet, {"width": 1}, IMAGE, 10, 40, 1, 16, 4, 2),
}


def make_pool(case, options, n_models, batched, n_epochs):
    net = NeuralNetClassifier(
        case.module,
        **{f"module__{name}": value for name, value in case.settings.items()},
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.SGD,
        optimizer__momentum=0.9,
        lr=0.01,
        max_epochs=n_epochs,
        batch_size=case.batch_size,
        iterator_train__shuffle=True,
        train_split=None,
        device=options.device,
        verbose=0,
    )
    return ShadowPool(net, n_models, batched=batched, n_jobs=options.jobs, random_state=0)


def make_records(case):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(case.n_records, *case.shape)).astype(np.float32)
    return Records(X, rng.integers(case.n_classes, size=case.n_records))


def measure(case, options, n_models, batched):
    """Models per second of a pool, and how it was trained."""
    records = make_records(case)
    make_pool(case, options, 2, batched, 1).fit(records)  # imports, kernels
    pool = make_pool(case, options, n_models, batched, case.n_epochs)
    start = perf_counter()
    pool.fit(records)
    return n_models / (perf_counter() - start), f"{pool.backend_}: {pool.backend_reason_}"


def compute_all_steps():
    """No step is replayed."""
    return mock.patch.object(train, "can_record", lambda engine, device: False)


def keep_rows_on_the_host():
    """No row is stored on the device."""
    return mock.patch.object(prepare, "fits", lambda n_bytes, device: False)


COLUMNS = (
    "net",
    "models",
    "together, models/s",
    "without replay",
    "records on the host",
    "one after another, models/s",
    "ratio",
    "how",
)


def compare(name, case, options):
    """The row of a net in the table."""
    n_models = options.models or case.n_together
    together, how = measure(case, options, n_models, True)
    others = []
    for change in (compute_all_steps, keep_rows_on_the_host):
        with change():
            others.append(measure(case, options, n_models, True)[0])
    alone, _ = measure(case, options, case.n_alone, False)
    speeds = [f"{speed:.2f}" for speed in (together, *others, alone)]
    return name, n_models, *speeds, f"{together / alone:.1f}x", how


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--jobs", type=int, default=1, help="processes, one for each GPU")
    parser.add_argument("--nets", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--models", type=int, help="models that are trained together")
    options = parser.parse_args(arguments)
    if options.device != "cpu" and not torch.cuda.is_available():
        parser.error(f"--device {options.device}: torch finds no GPU here")
    cases = TINY if options.device == "cpu" else CASES
    name = "CPU" if options.device == "cpu" else torch.cuda.get_device_name(options.device)
    print(f"{name}, torch {torch.__version__}")
    print(f"| {' | '.join(COLUMNS)} |")
    print("|---" * len(COLUMNS) + "|")
    for name in options.nets:
        row = compare(name, cases[name], options)
        print(f"| {' | '.join(map(str, row))} |", flush=True)


if __name__ == "__main__":
    main()
