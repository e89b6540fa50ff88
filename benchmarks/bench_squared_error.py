"""Table 3.1 of del Grosso (2023): precision and recall against nets with a squared error.

    python benchmarks/bench_squared_error.py --data FOLDER [--seeds 1] [--images mnist ...]

FOLDER holds mnist.npz, fashion_mnist.npz and cifar10_15k.npz. The nets of the thesis are trained
on 8,000 images; thresholds and the shadow attack come from a net that was trained on other images.
Writes del_grosso_table_3_1.csv, a row for each set, attack and seed; sets and seeds that are there
are not run again.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from literature_nets import make_conv_net
from membership_strategies import read_images
from published import annotate
from skorch.callbacks import EarlyStopping
from torch import nn

from skmia import Records, ShadowPool
from skmia.attacks import ShadowAttack, ThresholdAttack
from skmia.signals import AnswerSignal

N_MEMBERS = 8000
RATIO = 10_000 / 8000  # non-members for each member in the table of the thesis
# File, non-members that are evaluated, members of the net that the attacker trains.
IMAGES = {
    "mnist": ("mnist.npz", 10_000, 8000),
    "fashion_mnist": ("fashion_mnist.npz", 10_000, 8000),
    "cifar10": ("cifar10_15k.npz", 3000, 2000),
}
MAX_EPOCHS = 150


class SquaredDistance(nn.Module):
    def forward(self, logits, y):
        one_hot = nn.functional.one_hot(y, logits.shape[1])
        return (logits.softmax(dim=1) - one_hot).square().sum(dim=1).mean()


class Distance(AnswerSignal):
    name = "distance"
    reads = ("proba", "logits")

    def _evaluate(self, outputs, y):
        labels = np.eye(len(outputs.classes))[outputs.label_index(y)]
        return -np.square(np.exp(outputs.log_proba()) - labels).sum(axis=1)


def train(X, y, seed):
    """The net of the thesis with its settings; it stops when the training loss stands still."""
    torch.manual_seed(seed)
    stop = EarlyStopping("train_loss", patience=1, threshold=1e-3, threshold_mode="abs")
    return make_conv_net(
        X.shape[1:],
        10,
        criterion=SquaredDistance,
        predict_nonlinearity=partial(torch.softmax, dim=1),
        lr=5e-3,
        batch_size=200,
        max_epochs=MAX_EPOCHS,
        classes=range(10),
        callbacks=[("stop", stop)],
    ).fit(np.array(X), y)


def rates(flagged, membership):
    tpr, fpr = flagged[membership == 1].mean(), flagged[membership == 0].mean()
    return {
        "recall": tpr,
        "fpr": fpr,
        "precision": tpr / (tpr + RATIO * fpr) if tpr else np.nan,
        "precision_balanced": tpr / (tpr + fpr) if tpr else np.nan,
    }


def at_recall(scores, membership, recall=0.99):
    """Rates at the largest threshold that reaches a recall."""
    cut = np.quantile(scores[membership == 1], 1 - recall, method="lower")
    return {f"{name}_at_99": value for name, value in rates(scores >= cut, membership).items()}


def attack(asked, membership, shadow, of_shadow, mean_loss):
    """Scores and guesses of each attack."""
    signals = {"softmax response": "max_softmax", "loss": Distance()}
    for name, signal in (signals | {"modified entropy": "modified_entropy"}).items():
        fitted = ThresholdAttack(signal=signal).fit(shadow, of_shadow)
        yield name, fitted.score_samples(asked), fitted.predict(asked)
    distances = ThresholdAttack(signal=Distance()).fit(asked).score_samples(asked)
    yield "Yeom et al.", distances, distances >= -mean_loss
    pool = ShadowPool.from_outputs(
        shadow["outputs"].values[None],
        of_shadow[None],
        shadow,
        kind="proba",
        store="outputs",
    )
    fitted = ShadowAttack(None, pool, random_state=0).fit(shadow)
    yield "Shokri et al.", fitted.score_samples(asked), fitted.predict(asked)


def run(name, folder, seed):
    file, n_others, n_shadow = IMAGES[name]
    X, y = read_images(folder, file, 1)
    order = np.random.default_rng(seed).permutation(len(X))
    ends = np.cumsum([N_MEMBERS, n_others, n_shadow, n_shadow])
    members, others, inside, outside = np.split(order[: ends[-1]], ends[:-1])
    start = time.process_time()
    net, shadow_net = (train(X[rows], y[rows], seed) for rows in (members, inside))
    seconds = time.process_time() - start
    asked, shadow = np.concatenate([members, others]), np.concatenate([inside, outside])
    membership = np.repeat([1, 0], [N_MEMBERS, n_others])
    of_shadow = np.repeat([1, 0], n_shadow)
    asked = Records(X[asked], y[asked]).with_outputs(net)
    shadow = Records(X[shadow], y[shadow]).with_outputs(shadow_net)
    right = asked["outputs"].is_correct(asked.y)
    facts = {"images": name, "seed": seed, "epochs": len(net.history), "seconds": seconds}
    facts |= {"train": right[membership == 1].mean(), "test": right[membership == 0].mean()}
    distances = ThresholdAttack(signal=Distance()).fit(asked).score_samples(asked)
    mean_loss = -distances[membership == 1].mean()
    for strategy, scores, guess in attack(asked, membership, shadow, of_shadow, mean_loss):
        found = {**rates(np.asarray(guess) == 1, membership), **at_recall(scores, membership)}
        yield {**facts, "attack": strategy, **found}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--images", nargs="+", default=list(IMAGES), choices=IMAGES)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    path = options.out / "del_grosso_table_3_1.csv"
    for seed in range(options.seeds):
        for images in options.images:
            kept = pd.read_csv(path) if path.exists() else pd.DataFrame([], columns=["images"])
            if ((kept["images"] == images) & (kept.get("seed") == seed)).any():
                continue
            rows = pd.DataFrame(run(images, options.data, seed)).round(4)
            print(rows.to_string(index=False), flush=True)
            annotate(path.name, pd.concat([kept, rows])).to_csv(path, index=False)


if __name__ == "__main__":
    main()
