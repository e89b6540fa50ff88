"""Time of private training, against plain training of the same net and a loop over rows.

Prints ratios measured in one run; asserts nothing. Every net makes the same number of steps on
lots of the same size: plain training by skorch, ``DPSGDClassifier`` as it is, and the same with
rows that go through the module one after the other, as for modules that torch cannot vectorize.
Times are processor times, the best of a few rounds.

    python benchmarks/bench_private_training.py [--rounds 3]
"""

import argparse
import warnings
from functools import partial
from time import process_time

import numpy as np
import torch
from skorch import NeuralNetClassifier
from torch import nn

from skmia.defenses import DPSGDClassifier
from skmia.defenses import _private_training as private

# Name, layers, features, classes, rows, batch size, epochs.
CASES = (
    ("logistic regression", lambda: nn.Linear(20, 2), 20, 2, 500, 25, 6),
    ("64-128-10", lambda: _perceptron(64, 128, 10), 64, 10, 1000, 250, 5),
    ("600-128-100", lambda: _perceptron(600, 128, 100), 600, 100, 500, 100, 2),
    ("convolutions", lambda: _convolutions(), 784, 10, 300, 100, 2),
)


def _perceptron(n_features, n_hidden, n_classes):
    layers = nn.Linear(n_features, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_classes)
    return nn.Sequential(*layers)


def _convolutions():
    return nn.Sequential(
        nn.Unflatten(1, (1, 28, 28)),
        *(nn.Conv2d(1, 16, 5, 2), nn.ReLU(), nn.Conv2d(16, 32, 5, 2), nn.ReLU(), nn.Flatten()),
        *(nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, 10)),
    )


def make_net(module, batch_size, epochs, *_):
    return NeuralNetClassifier(
        module,
        criterion=nn.CrossEntropyLoss,
        batch_size=batch_size,
        max_epochs=epochs,
        train_split=None,
        verbose=0,
    )


def measure(fit, rounds):
    seconds = []
    for _ in range(rounds):
        start = process_time()
        fit()
        seconds.append(process_time() - start)
    return min(seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    together = private.try_net
    print("| net | steps | private, ms a step | private / plain | row by row / private |")
    print("|---" * 5 + "|")
    for name, module, n_features, n_classes, n_rows, batch_size, epochs in CASES:
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
        y = rng.integers(n_classes, size=n_rows)
        make = partial(make_net, module, batch_size, epochs)
        model = DPSGDClassifier(
            make, noise_multiplier=1.0, target_delta=1e-5, classes=list(range(n_classes))
        )
        plain = measure(lambda make=make, X=X, y=y: make().fit(X, y), rounds)
        own = measure(lambda model=model, X=X, y=y: model.fit(X, y), rounds)
        private.try_net = lambda *_: False
        alone = measure(lambda model=model, X=X, y=y: model.fit(X, y), 1)
        private.try_net = together
        cells = f"{1e3 * own / model.n_steps_:.1f} | {own / plain:.1f} | {alone / own:.1f}"
        print(f"| {name} | {model.n_steps_} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
