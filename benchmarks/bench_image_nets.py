"""Processor time of a training step of convolutional nets: at once, in turn, one after another.

Prints a table over sizes of nets and of groups whose gradients are computed at once, from the probe
by which a pool chooses. One thread; the shortest of some steps counts.

    python benchmarks/bench_image_nets.py [--groups 2 8 32]
"""

import argparse

import numpy as np
import torch
from _image_nets import ResidualNet, SmallConvNet
from skorch import NeuralNetClassifier
from torch import nn

from skmia._training.backends.torch_nets import timing
from skmia._training.job import Job, JobData

NETS = {
    # name: module, its settings, shape of an image, rows of a batch
    "8 and 16 channels, 8 x 8": (SmallConvNet, (8, 1, 8), (1, 8, 8), 32),
    "16 and 32 channels, 8 x 8": (SmallConvNet, (16, 1, 8), (1, 8, 8), 64),
    "8 and 16 channels, 28 x 28": (SmallConvNet, (8, 1, 28), (1, 28, 28), 64),
    "16 and 32 channels, 3 x 32 x 32": (SmallConvNet, (16, 3, 32), (3, 32, 32), 64),
    "residual net of 8 to 64 channels, 3 x 32 x 32": (ResidualNet, (8,), (3, 32, 32), 32),
}


def make_job(module, settings, shape, n_rows, n_models):
    rng = np.random.default_rng(0)
    n_records = 8 * n_rows
    X = rng.normal(size=(n_records, *shape)).astype(np.float32)
    subsets = np.zeros((n_models, n_records), dtype=bool)
    for k in range(n_models):
        subsets[k, rng.permutation(n_records)[: n_records // 2]] = True
    net = NeuralNetClassifier(
        lambda: module(*settings),
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.SGD,
        optimizer__momentum=0.9,
        batch_size=n_rows,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
    )
    seeds = np.random.SeedSequence(0).spawn(n_models)
    return Job(net, JobData([X], rng.integers(10, size=n_records)), subsets, seeds, None, 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, nargs="+", default=[2, 8, 32])
    options = parser.parse_args()
    torch.set_num_threads(1)
    columns = [f"{n} at once" for n in options.groups]
    print(f"| net | {' | '.join(columns)} | in turn | one after another |")
    print("|---" * (len(columns) + 3) + "|")
    for name, case in NETS.items():
        times = []
        for n_models in options.groups:
            timing.AT_ONCE = n_models
            times.append(timing.measure_ways(make_job(*case, n_models)))
        turns, alone = (min(getattr(t, way) for t in times) for way in ("in_turn", "alone"))
        cells = [1e3 * t.at_once for t in times] + [1e3 * turns, 1e3 * alone]
        print(f"| {name} | {' | '.join(f'{cell:.2f} ms' for cell in cells)} |", flush=True)


if __name__ == "__main__":
    main()
