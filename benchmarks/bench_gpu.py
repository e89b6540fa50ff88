"""Shadow nets per second on one device: trained together, and one after another.

One command measures all that is done for GPUs, and prints four tables:

* models per second of whole fits of pools, answers for all records included, as they are and
  with one thing left out at a time: the replay of recorded kernels, the optimizer in the recording,
  masks and changed images of all nets at once, validation of all nets at once, records on the
  device, grouped convolutions (instead, one net after the other in one recording), and full
  precision (instead, TF32);
* what was logged about each recording;
* the rule of equality: largest difference of a predicted probability from steps that are computed
  one by one in full precision, and the AUC of the scaled logit with its standard error over models.
  Replayed and series must agree within 1e-3 after an epoch; with TF32 the AUC must be within twice
  the standard error of the difference;
* times of grouped convolutions in the layouts of torch, and as products of unfolded images.

It has not been run on a GPU yet. On a CPU the nets and tables are tiny: the numbers only show that
it works.

    python benchmarks/bench_gpu.py --device cuda
    python benchmarks/bench_gpu.py --device cuda --jobs -1
    python benchmarks/bench_gpu.py --device cpu
"""

import argparse
import logging
from contextlib import contextmanager, nullcontext
from functools import partial
from time import perf_counter
from typing import NamedTuple
from unittest import mock

import numpy as np
import torch
from _image_nets import ResidualNet, SmallConvNet
from sklearn.metrics import roc_auc_score
from skorch import NeuralNetClassifier
from skorch.callbacks import EarlyStopping
from skorch.dataset import ValidSplit
from torch import nn
from torch.nn import functional as F

from skmia import Records, ShadowPool
from skmia._training.backends.torch_nets import prepare, step, train, validation
from skmia._training.backends.torch_nets.engine import SeriesEngine
from skmia._training.backends.torch_nets.precision import ProductPrecision, multiplying
from skmia.victims import Augmentation, random_crops, random_flips


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
    recipe: dict = {}  # further parameters of the net


class Perceptron(nn.Sequential):
    def __init__(self, n_in=600, n_hidden=128, n_out=100):
        super().__init__(nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_out))


class Dropping(nn.Sequential):
    """Two sites of dropout."""

    def __init__(self, n_in=600, n_hidden=128, n_out=100):
        super().__init__(
            nn.Linear(n_in, n_hidden),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(n_hidden, n_hidden),
            nn.ReLU(),
            nn.Dropout(0.5),
            nn.Linear(n_hidden, n_out),
        )


IMAGE = (3, 32, 32)
RECIPE = {
    "iterator_train__collate_fn": Augmentation(partial(random_crops, padding=4), random_flips),
    "train_split": ValidSplit(5, stratified=False),
    "callbacks": [EarlyStopping(patience=100)],
}
CASES = {
    "600-128-100": Case(Perceptron, {}, (600,), 100, 20_000, 30, 128, 256, 4),
    "dropout twice": Case(Dropping, {}, (600,), 100, 20_000, 10, 128, 256, 4),
    "small conv net": Case(SmallConvNet, {}, IMAGE, 10, 20_000, 5, 128, 64, 4),
    "augmented, validated": Case(SmallConvNet, {}, IMAGE, 10, 20_000, 5, 128, 64, 4, RECIPE),
    "residual net": Case(ResidualNet, {}, IMAGE, 10, 10_000, 1, 128, 16, 2),
}
TINY = {
    "600-128-100": Case(Perceptron, {"n_hidden": 4}, (600,), 100, 200, 1, 16, 4, 2),
    "dropout twice": Case(Dropping, {"n_hidden": 4}, (600,), 100, 200, 1, 16, 4, 2),
    "small conv net": Case(SmallConvNet, {"width": 2}, IMAGE, 10, 40, 1, 16, 4, 2),
    "augmented, validated": Case(SmallConvNet, {"width": 2}, IMAGE, 10, 40, 1, 16, 4, 2, RECIPE),
    "residual net": Case(ResidualNet, {"width": 1}, IMAGE, 10, 40, 1, 16, 4, 2),
}
FULL, TF32 = ProductPrecision("highest", False), ProductPrecision("high", True)


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
        device=options.device,
        verbose=0,
        **{"train_split": None, **case.recipe},
    )
    return ShadowPool(net, n_models, batched=batched, n_jobs=options.jobs, random_state=0)


def make_records(case):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(case.n_records, *case.shape)).astype(np.float32)
    return Records(X, rng.integers(case.n_classes, size=case.n_records))


def fit_pool(case, options, n_models, batched=True, n_epochs=None):
    pool = make_pool(case, options, n_models, batched, n_epochs or case.n_epochs)
    return pool.fit(make_records(case))


def measure(case, options, n_models, batched=True):
    """Models per second of a pool, and how it was trained."""
    fit_pool(case, options, 2, batched, 1)  # imports, kernels
    start = perf_counter()
    pool = fit_pool(case, options, n_models, batched)
    return n_models / (perf_counter() - start), f"{pool.backend_}: {pool.backend_reason_}"


def compute_all_steps():
    """No step is replayed."""
    return mock.patch.object(train, "can_record", lambda engine, device: False)


def record_gradients_alone():
    """The recording ends before the optimizer."""
    return mock.patch.object(train.OptimizerSchedules, "change_rates_alone", lambda self: False)


@contextmanager
def draw_net_by_net():
    """Masks and changed images come from the generator of each net, which cannot be recorded."""
    with compute_all_steps(), mock.patch.object(step, "draws_the_same", lambda device: True):
        yield


def validate_net_by_net():
    """Validation losses are computed one net after the other."""
    return mock.patch.object(validation, "draws_the_same", lambda device: True)


def keep_rows_on_the_host():
    """No row is stored on the device."""
    return mock.patch.object(prepare, "fits", lambda n_bytes, device: False)


def record_in_series():
    """Gradients are computed one net after the other, in one recording."""

    def make_series(prepared, table, *others):
        return SeriesEngine([ready.net for ready in prepared], table.y)

    return mock.patch.object(train, "make_engine", make_series)


CHANGES = {
    "together, models/s": nullcontext,
    "without replay": compute_all_steps,
    "gradients alone replayed": record_gradients_alone,
    "drawn net by net, without replay": draw_net_by_net,
    "validated net by net": validate_net_by_net,
    "records on the host": keep_rows_on_the_host,
    "in series": record_in_series,
    "TF32": partial(multiplying, TF32),
}
COLUMNS = ("net", "models", *CHANGES, "one after another, models/s", "ratio", "how")


def compare_speeds(name, case, options):
    """The row of a net in the table of speeds."""
    n_models, speeds, how = options.models or case.n_together, [], ""
    for change in CHANGES.values():
        with multiplying(FULL), change():
            speed, said = measure(case, options, n_models)
        speeds.append(speed)
        how = how or said
    with multiplying(FULL):
        alone, _ = measure(case, options, case.n_alone, False)
    shown = [f"{speed:.2f}" for speed in (*speeds, alone)]
    return name, n_models, *shown, f"{speeds[0] / alone:.1f}x", how


COMPARED = {
    "computed": compute_all_steps,
    "replayed": nullcontext,
    "in series": record_in_series,
    "TF32": partial(multiplying, TF32),
}
COLUMNS_OF_EQUALITY = ("net", "steps", "largest difference after an epoch", "AUC", "standard error")


def compare_results(name, case, options):
    """The rows of a net in the table of equality."""
    n_models, expected = min(options.models or 16, case.n_together), None
    for kind, change in COMPARED.items():
        with multiplying(FULL), change():
            short = fit_pool(case, options, n_models, n_epochs=1)
            pool = fit_pool(case, options, n_models)
        p = 1 / (1 + np.exp(-short.signals_[0, 0].astype(float)))  # of the scaled logits
        expected = p if expected is None else expected
        aucs = list(map(roc_auc_score, pool.membership_, pool.signals_[0, 0]))
        error = np.std(aucs, ddof=1) / np.sqrt(len(aucs))
        difference = np.abs(p - expected).max()
        yield name, kind, f"{difference:.1e}", f"{np.mean(aucs):.4f}", f"{error:.4f}"


def convolve_grouped(x, weight, layout):
    """Convolutions of many nets as one of groups; ``x`` (batch, nets, channels, ...)."""
    n_nets = len(weight)
    x, w = x.flatten(1, 2).to(memory_format=layout), weight.flatten(0, 1).to(memory_format=layout)
    return F.conv2d(x, w, padding=1, groups=n_nets)


def convolve_unfolded(x, weight):
    """The same as products of unfolded images."""
    n_rows, n_nets = x.shape[:2]
    parts = F.unfold(x.flatten(0, 1), 3, padding=1).unflatten(0, (n_rows, n_nets))
    return torch.matmul(weight.flatten(2), parts)


def convolve_each(x, weight):
    """One convolution after the other."""
    return torch.stack([F.conv2d(x[:, k], w, padding=1) for k, w in enumerate(weight)], 1)


LAYOUTS = {
    "grouped": partial(convolve_grouped, layout=torch.contiguous_format),
    "grouped, channels last": partial(convolve_grouped, layout=torch.channels_last),
    "unfolded": convolve_unfolded,
    "one after another": convolve_each,
}


def time_convolution(function, options, n_nets, n_rows, n_channels, size, n_times=5):
    """Milliseconds of a convolution and its gradients."""
    rng = torch.Generator().manual_seed(0)
    shape, of_weight = (n_rows, n_nets, n_channels, size, size), (n_nets, 16, n_channels, 3, 3)
    x = torch.randn(shape, generator=rng).to(options.device).requires_grad_()
    weight = torch.randn(of_weight, generator=rng).to(options.device).requires_grad_()
    times = []
    for _ in range(1 + n_times):
        wait(options)
        start = perf_counter()
        torch.autograd.grad(function(x, weight).sum(), (x, weight))
        wait(options)
        times.append(1000 * (perf_counter() - start))
    return min(times[1:])


def wait(options):
    if options.device != "cpu":
        torch.cuda.synchronize(options.device)


def compare_layouts(options):
    """The rows of the table of convolutions."""
    is_tiny = options.device == "cpu"
    shapes = [(2, 4, 3, 8)] if is_tiny else [(8, 128, 16, 16), (64, 128, 3, 32), (64, 128, 16, 16)]
    for shape in shapes:
        for precision in (FULL, TF32):
            with multiplying(precision):
                times = [time_convolution(one, options, *shape) for one in LAYOUTS.values()]
            name = "x".join(map(str, shape))
            yield name, "TF32" if precision is TF32 else "full", *(f"{t:.2f}" for t in times)


class Messages(logging.Handler):
    """Keeps what is logged of the recordings."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())


def print_table(columns, rows):
    print(f"\n| {' | '.join(columns)} |")
    print("|---" * len(columns) + "|")
    for row in rows:
        print(f"| {' | '.join(map(str, row))} |", flush=True)


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
    cases = {name: cases[name] for name in options.nets}
    name = "CPU" if options.device == "cpu" else torch.cuda.get_device_name(options.device)
    print(f"{name}, torch {torch.__version__}")
    logger, messages = logging.getLogger("skmia"), Messages()
    level = logger.level
    logger.addHandler(messages)
    logger.setLevel(logging.DEBUG)
    try:
        speeds = (compare_speeds(name, case, options) for name, case in cases.items())
        print_table(COLUMNS, speeds)
    finally:
        logger.removeHandler(messages)
        logger.setLevel(level)
    print_table(("logged",), ((text,) for text in dict.fromkeys(messages.texts)))
    rows = (row for name, case in cases.items() for row in compare_results(name, case, options))
    print_table(COLUMNS_OF_EQUALITY, rows)
    columns = ("nets x batch x channels x pixels", "precision", *(f"{one}, ms" for one in LAYOUTS))
    print_table(columns, compare_layouts(options))


if __name__ == "__main__":
    main()
