"""All membership strategies of del Grosso (2023) against nets trained on four data sets.

    python benchmarks/membership_strategies.py --data FOLDER [--victims pendigits cifar10 ...]

writes benchmarks/results/membership_strategies.csv, a row for each victim, strategy and evaluation
draw, and prints the means. FOLDER holds pendigits.csv.gz, location30.npz, fashion_mnist.npz,
cifar10_15k.npz and cifar100_10k.npz. The settings are at the top of the file.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Records
from skmia.attacks import (
    DiversityAttack,
    EnsembleAttack,
    FisherRaoAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    MorganAttack,
    RenyiAttack,
    ThresholdAttack,
    WhiteBoxAttack,
)
from skmia.datasets import make_membership_problem
from skmia.metrics import (
    RankingTest,
    best_balanced_accuracy_score,
    fpr_at_tpr_score,
    tpr_at_fpr_score,
)
from skmia.signals import AdversarialDistance, Merlin
from skmia.victims import make_conv_net, make_pendigits_net, make_purchase_net

# Of each kind, members and non-members. 400 non-members resolve a false positive rate of 5%; for
# .1% it would take 10,000, and hours for the strategies that search.
N_KNOWN, N_EVALUATED, N_DRAWN, N_DRAWS = 300, 500, 400, 10
SEARCH = {"n_steps": 4, "n_rounds": 2}  # of adversarial distances
N_CHANGES, SCALE = 25, 0.01  # of Merlin and Morgan

# Members and epochs.
TRAINING = {
    "pendigits": (2000, 60),
    "location30": (2000, 30),
    "baskets": (5000, 30),
    "fashion_mnist": (2000, 25),
    "cifar10": (2500, 25),
    "cifar100": (4000, 25),
}
BOUNDS = (0.0, 1.0)  # of pixels


def read_pendigits(folder):
    """Pen coordinates in [0, 1] and the writer, one-hot."""
    table = pd.read_csv(folder / "pendigits.csv.gz")
    pen = table.iloc[:, :16].to_numpy(np.float32) / 100
    writer = np.eye(44, dtype=np.float32)[table["writer"] - 1]
    return np.column_stack([pen, writer]), table["digit"].to_numpy(np.int64)


def read_bits(folder):
    stored = np.load(folder / "location30.npz")
    bits = np.unpackbits(stored["x_bits"], axis=1)[:, :446]
    y = stored["y"].astype(np.int64)
    return bits.astype(np.float32), y - y.min()


def make_baskets():
    """A table like Purchase-100, which is not public any more."""
    records, _ = make_membership_problem(
        10_000, n_features=600, n_classes=100, kind="baskets", random_state=0
    )
    return np.asarray(records.X, dtype=np.float32), np.asarray(records.y, dtype=np.int64)


def read_images(folder, name):
    stored = np.load(folder / name)
    X, y = [], []
    for part in ("train", "test"):
        if f"x_{part}" in stored:
            images = stored[f"x_{part}"][:, None]
        else:
            images = np.cumsum(stored[f"x_{part}_delta"], axis=2, dtype=np.uint8)
            images = images.transpose(0, 3, 1, 2)
        X.append(images.astype(np.float32) / 255)
        y.append(stored[f"y_{part}"].astype(np.int64))
    return np.concatenate(X), np.concatenate(y)


def make_victim(name, folder):
    """A trained net, and records of its members and of others."""
    n_members, n_epochs = TRAINING[name]
    if name == "pendigits":
        X, y = read_pendigits(folder)
        net = make_pendigits_net(X.shape[1], max_epochs=n_epochs)
    elif name in ("location30", "baskets"):
        X, y = read_bits(folder) if name == "location30" else make_baskets()
        net = make_purchase_net((128,), X.shape[1], y.max() + 1, max_epochs=n_epochs)
    else:
        files = {"cifar10": "cifar10_15k.npz", "cifar100": "cifar100_10k.npz"}
        X, y = read_images(folder, files.get(name, f"{name}.npz"))
        net = make_conv_net(X.shape[1:], y.max() + 1, max_epochs=n_epochs)
    rng = np.random.default_rng(0)
    order = rng.permutation(len(X))
    members, others = order[:n_members], order[n_members:]
    torch.manual_seed(0)
    net.fit(X[members], y[members])
    others = others[:3000]
    accuracy = net.score(X[members], y[members]), net.score(X[others], y[others])
    sides = (Records(X[rows], y[rows]) for rows in (members, others))
    return FrozenEstimator(net), *sides, accuracy


def make_attacks(victim, bounds):
    """Each strategy by the name in the thesis."""
    signals = {
        "baseline": "correctness",
        "softmax response": "max_softmax",
        "modified entropy": "modified_entropy",
        "loss": "loss",
        "gradient norm x": "gradient_norm_x",
        "gradient norm w": "gradient_norm_w",
        "adv. distance l1": AdversarialDistance("l1", bounds=bounds, **SEARCH),
        "adv. distance l2": AdversarialDistance("l2", bounds=bounds, **SEARCH),
        "adv. distance linf": AdversarialDistance("linf", bounds=bounds, **SEARCH),
        "Merlin": Merlin(N_CHANGES, SCALE),
        "ODIN": "odin",
        "DOCTOR": "doctor",
    }
    attacks = {name: ThresholdAttack(victim, signal=one) for name, one in signals.items()}
    six = [signals[name] for name in ("softmax response", "modified entropy", "loss")]
    six += [signals[name] for name in ("gradient norm w", "gradient norm x", "adv. distance linf")]
    return attacks | {
        "gradient model x": GradientAttack(victim, wrt="inputs", random_state=0),
        "gradient model w": GradientAttack(victim, wrt="parameters", random_state=0),
        "intermediate outputs": LayerOutputsAttack(victim, random_state=0),
        "white-box": WhiteBoxAttack(victim, layers=[-3, -2, -1], max_iter=30, random_state=0),
        "ensemble": EnsembleAttack(victim, signals=six, random_state=0),
        "diversity": DiversityAttack(victim, random_state=0),
        "diversity, learned": DiversityAttack(victim, method="learned", random_state=0),
        "Renyi": RenyiAttack(victim, random_state=0),
        "Morgan": MorganAttack(victim, n_changes=N_CHANGES, scale=SCALE, random_state=0),
        "Mahalanobis": MahalanobisAttack(victim, random_state=0),
        "Fisher-Rao": FisherRaoAttack(victim, random_state=0),
    }


def evaluate(scores, membership):
    """Figures of random parts of the evaluated records."""
    rng = np.random.default_rng(1)
    for draw in range(N_DRAWS):
        sides = (np.flatnonzero(membership == bit) for bit in (0, 1))
        rows = np.concatenate([rng.choice(side, N_DRAWN, replace=False) for side in sides])
        truth, score = membership[rows], scores[rows]
        yield {
            "draw": draw,
            "auc": roc_auc_score(truth, score),
            "best_accuracy": best_balanced_accuracy_score(truth, score),
            "fpr_at_95_tpr": fpr_at_tpr_score(truth, score, min_tpr=0.95),
            "tpr_at_5_fpr": tpr_at_fpr_score(truth, score, max_fpr=0.05),
        }


def run(name, folder):
    start = time.perf_counter()
    victim, members, others, accuracy = make_victim(name, folder)
    print(
        f"{name}: accuracy {accuracy[0]:.3f} on members, {accuracy[1]:.3f} on others, "
        f"{time.perf_counter() - start:.0f} s",
        flush=True,
    )
    known = Records.concat([members[:N_KNOWN], others[:N_KNOWN]])
    asked = slice(N_KNOWN, N_KNOWN + N_EVALUATED)
    evaluated = Records.concat([members[asked], others[asked]])
    of_known = np.repeat([1, 0], N_KNOWN)
    membership = np.repeat([1, 0], N_EVALUATED)
    is_image = name.startswith(("cifar", "fashion"))
    bounds = BOUNDS if is_image else None
    for strategy, attack in make_attacks(victim, bounds).items():
        start = time.perf_counter()
        needs_known = attack.__sklearn_tags__().target_tags.required
        # A threshold plays no part here: signals need not see known records at all.
        attack.fit(*((known, of_known) if needs_known else (evaluated[:1],)))
        scores = attack.score_samples(evaluated)
        seconds = time.perf_counter() - start
        print(
            f"  {strategy:22} {roc_auc_score(membership, scores):.3f} {seconds:6.1f} s", flush=True
        )
        for row in evaluate(scores, membership):
            yield {"victim": name, "strategy": strategy, **row, "seconds": seconds}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--victims", nargs="+", default=list(TRAINING))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    path = options.out / "membership_strategies.csv"
    for name in options.victims:
        table = pd.DataFrame(run(name, options.data)).round(4)
        table.to_csv(path, mode="a", header=not path.exists(), index=False)
    table = pd.read_csv(path)
    means = table.groupby(["strategy", "victim"], sort=False)["auc"].mean().unstack()
    print(means.round(3).to_string())
    if means.shape[1] > 1:
        print(RankingTest().fit(means.T).summary())


if __name__ == "__main__":
    main()
