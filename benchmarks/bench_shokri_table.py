"""Table III of Shokri et al. (2017) on made tables as wide as Purchase-100 and Texas-100.

    python benchmarks/bench_shokri_table.py [--splits 0 1] [--tables Purchase Hospital]

Purchases and hospital stays themselves are not used: make_membership_problem(kind="baskets") makes
bits in as many columns and classes. The attacker trains shadow models with the same mitigation on
other records. Writes shokri_table_3.csv, a row for each table, mitigation and split; tables and
splits that are there are not run again.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from literature_nets import make_purchase_net
from published import annotate
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator

from skmia import Records, ShadowPool
from skmia.attacks import ShadowAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import RoundingDefense, TemperatureDefense, TopKDefense

N_SHADOWS = 3
TABLES = {
    # columns, members (and as many others, and twice as many for the attacker), epochs, penalties,
    # memorization, which decides how accurate a net can be
    "Purchase": (600, 10_000, 30, ("1e-4", "1e-3", "1e-2"), 0.6),
    "Hospital": (6170, 5_000, 20, ("1e-4", "5e-4", "1e-3", "5e-3"), 0.675),
}
OUTPUTS = {
    "none": lambda net: net,
    "top 3": lambda net: TopKDefense(net, k=3),
    "top 1": lambda net: TopKDefense(net, k=1),
    "label alone": lambda net: TopKDefense(net, k=1, renormalize=True),
    "3 decimals": lambda net: RoundingDefense(net, decimals=3, renormalize=False),
    "1 decimal": lambda net: RoundingDefense(net, decimals=1, renormalize=False),
    "temperature 5": lambda net: TemperatureDefense(net, temperature=5),
    "temperature 20": lambda net: TemperatureDefense(net, temperature=20),
}


def train(records, rows, n_epochs, penalty, seed):
    """A net of 128 units; the penalty is a multiple of the sum of squared weights."""
    torch.manual_seed(seed)
    n_features = records.X.shape[1]
    settings = {"max_epochs": n_epochs, "optimizer__weight_decay": 2 * penalty}
    net = make_purchase_net((128,), n_features, 100, classes=np.arange(100), **settings)
    return FrozenEstimator(net.fit(records.X[rows], records.y[rows]))


def measure(membership, flagged):
    right = np.count_nonzero(flagged & membership)
    return {
        "attack_accuracy": np.mean(flagged == membership),
        "attack_precision": right / max(1, np.count_nonzero(flagged)),
        "attack_recall": right / np.count_nonzero(membership),
    }


def play(table, split):
    """A row for each mitigation."""
    n_features, size, n_epochs, penalties, memorization = TABLES[table]
    records, _ = make_membership_problem(
        4 * size,
        n_features=n_features,
        n_classes=100,
        kind="baskets",
        memorization=memorization,
        random_state=split,
    )
    records = Records(np.asarray(records.X, np.float32), np.asarray(records.y, np.int64))
    # The records are made in no order; the first are the members, the second half the attacker's.
    own, left = records[: 2 * size], records[2 * size :]
    membership = np.arange(2 * size) < size
    rng = np.random.default_rng(split)
    inside = np.array([rng.permutation(len(left)) < size for _ in range(N_SHADOWS)])
    for penalty in ("0", *penalties):
        start = time.process_time()
        net = train(own, membership, n_epochs, float(penalty), split)
        shadows = [train(left, rows, n_epochs, float(penalty), k) for k, rows in enumerate(inside)]
        seconds = time.process_time() - start
        for name, wrap in (
            OUTPUTS if penalty == "0" else {f"L2 {penalty}": OUTPUTS["none"]}
        ).items():
            start = time.process_time()
            victim, *models = (fit(wrap(one), left) for one in (net, *shadows))
            pool = ShadowPool.from_models(models, inside, left, store="outputs")
            learner = HistGradientBoostingClassifier(max_iter=30)
            attack = ShadowAttack(None, pool, attack_estimator=learner, random_state=split)
            asked = own.with_outputs(victim)
            right = asked["outputs"].is_correct(own.y)
            flagged = attack.fit(left).score_samples(asked) >= 0.5
            facts = {"data": table, "mitigation": name, "split": split, "train_seconds": seconds}
            facts["attack_seconds"] = time.process_time() - start
            facts |= {"train": right[membership].mean(), "test": right[~membership].mean()}
            yield facts | measure(membership, flagged)


def fit(model, records):
    return (
        model
        if isinstance(model, FrozenEstimator)
        else FrozenEstimator(model.fit(records.X, records.y))
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1])
    parser.add_argument("--tables", nargs="+", default=list(TABLES), choices=TABLES)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    torch.set_num_threads(1)
    for split in options.splits:
        for table in options.tables:
            path = options.out / "shokri_table_3.csv"
            kept = pd.read_csv(path) if path.exists() else pd.DataFrame([], columns=["data"])
            if ((kept["data"] == table) & (kept.get("split") == split)).any():
                continue
            rows = []
            for row in play(table, split):
                print(row, flush=True)
                rows.append(row)
            annotate(path.name, pd.concat([kept, pd.DataFrame(rows).round(4)])).to_csv(
                path, index=False
            )


if __name__ == "__main__":
    main()
