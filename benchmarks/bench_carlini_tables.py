"""Tables I and III of Carlini et al. (2022) on a part of CIFAR-10, with small nets.

    python benchmarks/bench_carlini_tables.py --data FOLDER --cache FOLDER [--victims 1]

FOLDER holds cifar10_15k.npz. Each of 6 nets is trained on a random half of 15,000 images, with
shifted and mirrored images, and is a victim in turn, with the 5 others as its shadow models. Table
I, whose attacks take longer, has as many of them as --victims says. Answers of each net for 18
versions of each image are kept in --cache, so that an interrupted run continues. Writes
carlini_table_1.csv and carlini_table_3.csv.
"""

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from membership_strategies import read_images
from published import annotate
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score
from skorch import NeuralNetClassifier
from skorch.callbacks import LRScheduler
from torch import nn

from skmia import Outputs, Records, ShadowPool
from skmia.attacks import (
    CalibratedAttack,
    LiRA,
    MorganAttack,
    ShadowAttack,
    ThresholdAttack,
    VulnerableRecordsAttack,
)
from skmia.metrics import best_advantage_score, operating_point
from skmia.victims import Augmentation, random_crops, random_flips

N_NETS, N_EPOCHS, MAX_FPR = 6, 12, 0.001
SHIFTS = list(product((0, -2, 2), repeat=2))  # the first one is none
QUERIES = {"1 (no augmentations)": 1, "2 (mirror)": 2, "18 (mirror + shifts)": 18}


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(
            *(nn.Conv2d(3, 16, 5, stride=2, padding=2), nn.BatchNorm2d(16), nn.ReLU()),
            *(nn.Conv2d(16, 32, 5, stride=2, padding=2), nn.BatchNorm2d(32), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(2048, 128), nn.ReLU(), nn.Linear(128, 10)),
        )


def make_net():
    return NeuralNetClassifier(
        Net,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=2e-3,
        batch_size=128,
        max_epochs=N_EPOCHS,
        iterator_train__shuffle=True,
        iterator_train__collate_fn=Augmentation(partial(random_crops, padding=2), random_flips),
        callbacks=[("rate", LRScheduler("CosineAnnealingLR", T_max=N_EPOCHS))],
        train_split=None,
        verbose=0,
    )


def vary(X):
    """The images, mirrored, and both shifted by two pixels in each direction."""
    padded = np.pad(X, ((0, 0), (0, 0), (2, 2), (2, 2)))
    for down, right in SHIFTS:
        moved = padded[:, :, 2 + down : 34 + down, 2 + right : 34 + right]
        yield moved
        yield moved[..., ::-1]


def train(X, y, inside, number, cache):
    """A net and its logits for all versions of all images, of shape (queries, images, classes)."""
    net = make_net()
    kept, answered = cache / f"net_{number}.pt", cache / f"logits_{number}.npy"
    if answered.exists():
        return net.initialize(), np.load(answered), kept
    torch.manual_seed(number)
    net.fit(X[inside], y[inside])
    logits = [net.forward(np.ascontiguousarray(images)).numpy() for images in vary(X)]
    net.save_params(f_params=kept)
    np.save(answered, np.array(logits, dtype=np.float32))
    right = np.argmax(logits[0], axis=1) == y
    print(f"net {number}: {right[inside].mean():.3f}, others {right[~inside].mean():.3f}")
    return net, np.array(logits, dtype=np.float32), kept


def measure(membership, scores):
    point = operating_point(membership, scores, max_fpr=MAX_FPR, on_unresolvable="ignore")
    return {
        "balanced_accuracy": (1 + best_advantage_score(membership, scores)) / 2,
        "auc": roc_auc_score(membership, scores),
        "tpr": point.tpr,
        "tpr_low": point.tpr_low,
        "tpr_high": point.tpr_high,
    }


def make_attacks(victim, pool):
    shadows = FrozenEstimator(pool)
    return {
        "Yeom et al.": ThresholdAttack(signal="loss"),
        "Shokri et al.": ShadowAttack(None, shadows, random_state=0),
        "Jayaraman et al.": MorganAttack(victim, n_changes=20, cv=2, random_state=0),
        "Song and Mittal": ThresholdAttack(signal="modified_entropy"),
        "Sablayrolles et al.": CalibratedAttack(None, shadows, reference="midpoint", signal="loss"),
        "Long et al.": VulnerableRecordsAttack(None, shadows, random_state=0),
        "Watson et al.": CalibratedAttack(None, shadows),
        "Ye et al.": CalibratedAttack(None, shadows, reference="rank"),
        "Ours": LiRA(None, shadows),
    }


def attack_victim(victim, net, logits, inside, records):
    """Rows of both tables for one of the nets."""
    others = np.delete(np.arange(len(logits)), victim)
    answers = {
        "outputs" + f"_{k}" * (k > 0): Outputs(logits[victim, k], list(range(10)), "logits")
        for k in range(logits.shape[1])
    }
    answered, membership = records.with_fields(**answers), inside[victim].astype(int)

    def make_pool(n_queries, **settings):
        asked = logits[others][:, :n_queries]
        augment = make_augmentation(n_queries)
        return ShadowPool.from_outputs(asked, inside[others], records, augment=augment, **settings)

    pool = make_pool(1, store="outputs")
    attacks = make_attacks(FrozenEstimator(net), pool) if net is not None else {}
    for name, attack in attacks.items():
        scores = attack.fit(answered, membership).score_samples(answered)
        yield "1", {"victim": victim, "attack": name, **measure(membership, scores)}
    for name, n_queries in QUERIES.items():
        attack = LiRA(None, FrozenEstimator(make_pool(n_queries))).fit(answered)
        scores = attack.score_samples(answered)
        yield "3", {"victim": victim, "queries": name, **measure(membership, scores)}


def make_augmentation(n_queries):
    if n_queries == 1:
        return None
    return partial(further_versions, n_queries=n_queries)


def further_versions(records, n_queries):
    versions = list(vary(records.X))[1:n_queries]
    return [Records(np.ascontiguousarray(images), records.y) for images in versions]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--victims", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.cache.mkdir(parents=True, exist_ok=True)
    X, y = read_images(options.data, "cifar10_15k.npz", 1)
    rng = np.random.default_rng(0)
    inside = np.array([rng.permutation(len(X)) < len(X) // 2 for _ in range(N_NETS)])
    nets, logits = [], []
    for number in range(N_NETS):
        start = time.process_time()
        net, answers, kept = train(X, y, inside[number], number, options.cache)
        if number < options.victims:
            net.load_params(f_params=kept)
            nets.append(net)
        logits.append(answers)
        print(f"net {number}: {time.process_time() - start:.0f} s", flush=True)
    logits, records = np.array(logits), Records(X, y)
    tables = {"1": [], "3": []}
    for victim in range(N_NETS):
        net = nets[victim] if victim < len(nets) else None
        for table, row in attack_victim(victim, net, logits, inside, records):
            print(table, row, flush=True)
            tables[table].append(row)
            name = f"carlini_table_{table}.csv"
            annotate(name, pd.DataFrame(tables[table]).round(4)).to_csv(
                options.out / name, index=False
            )


if __name__ == "__main__":
    main()
