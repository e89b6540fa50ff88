"""Tables I and III of Carlini et al. (2022) on a part of CIFAR-10, with small nets.

    python benchmarks/bench_carlini_tables.py --data FOLDER --cache FOLDER [--victims 1]

FOLDER holds cifar10_15k.npz. Each of 6 nets is trained on a random half of 15,000 images, with
shifted and mirrored images, and is a victim in turn, with the 5 others as its shadow models. Table
I, whose attacks take longer, has as many of them as --victims says. Answers of each net for 18
versions of each image are kept in --cache, so that an interrupted run continues. Writes
carlini_table_1.csv and carlini_table_3.csv. --nets and --epochs change both tables;
other epochs need another --cache.

    python benchmarks/bench_carlini_tables.py --data FOLDER --figures location30 adult cifar10

attacks nets on one half of a set, with shadow models on the same half (figures 5 and 6: online and
offline) and on the other one (figure 10), and adds rows to carlini_sets.csv; sets that are there
are not run again. FOLDER also holds location30.npz and adult.csv.gz.
"""

import argparse
import time
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from bench_odell import load
from membership_strategies import read_bits, read_images
from published import annotate
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier
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
from skmia.metrics import best_advantage_score, operating_point, tpr_at_fpr_score
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


def make_net(n_epochs=N_EPOCHS):
    return NeuralNetClassifier(
        Net,
        criterion=nn.CrossEntropyLoss,
        optimizer=torch.optim.Adam,
        lr=2e-3,
        batch_size=128,
        max_epochs=n_epochs,
        iterator_train__shuffle=True,
        iterator_train__collate_fn=Augmentation(partial(random_crops, padding=2), random_flips),
        callbacks=[("rate", LRScheduler("CosineAnnealingLR", T_max=n_epochs))],
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


def train(X, y, inside, number, cache, n_epochs=N_EPOCHS):
    """A net and its logits for all versions of all images, of shape (queries, images, classes)."""
    net = make_net(n_epochs)
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


def make_attacks(victim, shadows):
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
    attacks = make_attacks(net, pool) if net is not None else {}
    for name, attack in attacks.items():
        scores = attack.fit(answered, membership).score_samples(answered)
        yield "1", {"victim": victim, "attack": name, **measure(membership, scores)}
    for name, n_queries in QUERIES.items():
        attack = LiRA(None, make_pool(n_queries)).fit(answered)
        scores = attack.score_samples(answered)
        yield "3", {"victim": victim, "queries": name, **measure(membership, scores)}


def make_augmentation(n_queries):
    if n_queries == 1:
        return None
    return partial(further_versions, n_queries=n_queries)


def further_versions(records, n_queries):
    versions = list(vary(records.X))[1:n_queries]
    return [Records(np.ascontiguousarray(images), records.y) for images in versions]


def read_set(name, folder):
    """Records of a set and a net that memorizes a part of them."""
    if name == "cifar10":
        return Records(*read_images(folder, "cifar10_15k.npz", 1)), make_net()
    net = MLPClassifier((64,), max_iter=30, learning_rate_init=3e-3, tol=0, n_iter_no_change=99)
    if name == "location30":
        return Records(*read_bits(folder)), net
    return load(folder, "adult")[np.random.default_rng(0).permutation(48_842)[:20_000]], net


def attack_set(name, options):
    """Rows of figures 5, 6 and 10 for one set: a victim and an attack each."""
    records, net = read_set(name, options.data)
    ours, others = (
        records[part]
        for part in np.array_split(np.random.default_rng(0).permutation(len(records)), 2)
    )
    settings = {"n_estimators": options.shadows, "random_state": 0, "store": "models"}
    same, disjoint = (ShadowPool(net, **settings).fit(some) for some in (ours, others))
    attacks = {"online": LiRA(None, same), "offline": LiRA(None, same, online=False)}
    attacks["offline, disjoint records"] = LiRA(None, disjoint, online=False)
    for number in range(options.victims):
        torch.manual_seed(number)
        inside = np.random.default_rng(number + 1).permutation(len(ours)) < len(ours) // 2
        victim = clone(net)
        if name != "cifar10":
            victim.set_params(random_state=number)
        victim.fit(ours.X[inside], ours.y[inside])
        right = victim.predict(ours.X) == ours.y
        facts = {"set": name, "records": len(ours), "shadows": options.shadows, "victim": number}
        facts |= {"train": right[inside].mean(), "test": right[~inside].mean()}
        for way, attack in attacks.items():
            fitted = clone(attack).set_params(victim=victim).fit(ours)
            scores = fitted.score_samples(ours)
            tpr = tpr_at_fpr_score(inside, scores, max_fpr=0.01)
            yield {**facts, "attack": way, "auc": roc_auc_score(inside, scores), "tpr": tpr}


def run_figures(options):
    path = options.out / "carlini_sets.csv"
    for name in options.figures:
        kept = [pd.read_csv(path)] if path.exists() else []
        if kept and name in set(kept[0]["set"]):
            continue
        start = time.process_time()
        rows = pd.DataFrame(attack_set(name, options)).round(4)
        pd.concat([*kept, rows]).to_csv(path, index=False)
        print(rows.to_string(index=False), f"{time.process_time() - start:.0f} s", sep="\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--victims", type=int, default=1)
    parser.add_argument("--nets", type=int, default=N_NETS)
    parser.add_argument("--epochs", type=int, default=N_EPOCHS)
    parser.add_argument("--figures", nargs="+", choices=["location30", "adult", "cifar10"])
    parser.add_argument("--shadows", type=int, default=64)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    if options.figures:
        return run_figures(options)
    options.cache.mkdir(parents=True, exist_ok=True)
    X, y = read_images(options.data, "cifar10_15k.npz", 1)
    rng = np.random.default_rng(0)
    inside = np.array([rng.permutation(len(X)) < len(X) // 2 for _ in range(options.nets)])
    nets, logits = [], []
    for number in range(options.nets):
        start = time.process_time()
        net, answers, kept = train(X, y, inside[number], number, options.cache, options.epochs)
        if number < options.victims:
            net.load_params(f_params=kept)
            nets.append(net)
        logits.append(answers)
        print(f"net {number}: {time.process_time() - start:.0f} s", flush=True)
    logits, records = np.array(logits), Records(X, y)
    tables = {"1": [], "3": []}
    for victim in range(options.nets):
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
