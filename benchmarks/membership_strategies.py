"""All membership strategies of del Grosso (2023) against nets trained on several data sets.

    python benchmarks/membership_strategies.py --data FOLDER [--victims pendigits cifar10 ...]

prints the figures of each strategy and writes files of benchmarks/results, after each victim:
membership_strategies.csv has a row for each victim, strategy and evaluation draw and one for all
records together, membership_strategies_victims.csv the accuracies and the checks of the records,
membership_strategies_null.csv the strategies on records of which none is a member. From these
follows membership_strategies_ranks.csv, mean ranks beside those of the printed tables. With
--show the tables are printed from the files. FOLDER holds pendigits.csv.gz, location30.npz,
fashion_mnist.npz, cifar10_15k.npz and cifar100_10k.npz. The first eight victims take a quarter of
an hour on one core, the others as long.
"""

import argparse
import time
from pathlib import Path

import literature_nets as nets
import numpy as np
import pandas as pd
import torch
from published import annotate
from published.strategies import STRATEGIES
from sklearn.decomposition import PCA
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score

from skmia import Records
from skmia.attacks import DiversityAttack, MorganAttack, RenyiAttack, ThresholdAttack
from skmia.attacks.white_box import (
    EnsembleAttack,
    FisherRaoAttack,
    GradientAttack,
    LayerOutputsAttack,
    MahalanobisAttack,
    WhiteBoxAttack,
)
from skmia.datasets import make_membership_problem
from skmia.metrics import (
    RankingTest,
    auc_interval,
    best_advantage_score,
    fpr_at_tpr_score,
    operating_point,
)
from skmia.signals import AdversarialDistance, Merlin

# Of each kind, members and non-members. A draw is a random part of those that are evaluated. They
# resolve a false positive rate of 5%; for .1% it takes 10,000 non-members, which the strategies
# that ask the victim once are given where there are so many.
N_KNOWN, N_EVALUATED, N_SEARCHED, N_MANY = 300, 500, 300, 10_000
DRAWN, N_DRAWS = 0.8, 10
N_NULL = 3  # repetitions without any member
SEARCH = {"n_steps": 4, "n_rounds": 2}  # of adversarial distances
N_CHANGES, SCALE = 25, 0.01  # of Merlin and Morgan

# Data, members and epochs of each victim, and the pixels of an image, in each direction, that are
# averaged: two take a quarter of the time.
VICTIMS = {
    "pendigits": ("pendigits", 1000, 100, 1),
    "location30": ("location30", 2000, 30, 1),
    "fashion_mnist": ("fashion_mnist", 2000, 25, 2),
    "cifar10": ("cifar10", 2500, 25, 2),
    "baskets": ("baskets", 5000, 30, 1),
    "location30, 10 epochs": ("location30", 2000, 10, 1),
    "fashion_mnist, all pixels": ("fashion_mnist", 2000, 25, 1),
    "cifar10, 8 epochs": ("cifar10", 5000, 8, 2),
    "cifar10, AlexNet": ("cifar10", 5000, 30, 1),
    "cifar10, ResNet-20": ("cifar10", 2500, 25, 1),
    "cifar100, AlexNet": ("cifar100", 3000, 30, 1),
}
NETS = {"AlexNet": nets.make_alexnet, "ResNet-20": nets.make_resnet}
FILES = {"cifar10": "cifar10_15k", "cifar100": "cifar100_10k"}
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
    """A synthetic table like Purchase-100."""
    records, _ = make_membership_problem(
        16_000, n_features=600, n_classes=100, kind="baskets", random_state=0
    )
    return np.asarray(records.X, dtype=np.float32), np.asarray(records.y, dtype=np.int64)


def pool_pixels(images, size):
    height, width = (length // size for length in images.shape[2:])
    return images.reshape(*images.shape[:2], height, size, width, size).mean(axis=(3, 5))


def read_images(folder, name, n_pooled):
    stored = np.load(folder / name)
    X, y = [], []
    for part in ("train", "test"):
        if f"x_{part}" in stored:
            images = stored[f"x_{part}"][:, None]
        else:
            images = np.cumsum(stored[f"x_{part}_delta"], axis=2, dtype=np.uint8)
            images = images.transpose(0, 3, 1, 2)
        X.append(pool_pixels(images.astype(np.float32) / 255, n_pooled))
        y.append(stored[f"y_{part}"].astype(np.int64))
    return np.concatenate(X), np.concatenate(y)


def read(data, folder, n_pooled):
    if data == "pendigits":
        return read_pendigits(folder)
    if data == "location30":
        return read_bits(folder)
    if data == "baskets":
        return make_baskets()
    return read_images(folder, f"{FILES.get(data, data)}.npz", n_pooled)


def make_net(name, X, n_classes, n_epochs):
    data, _, architecture = name.partition(", ")
    if architecture in NETS:
        return NETS[architecture](n_classes=n_classes, max_epochs=n_epochs)
    if data == "pendigits":
        return nets.make_pendigits_net(X.shape[1], max_epochs=n_epochs)
    if data in ("location30", "baskets"):
        return nets.make_purchase_net((128,), X.shape[1], n_classes, max_epochs=n_epochs)
    return nets.make_conv_net(X.shape[1:], n_classes, max_epochs=n_epochs)


def make_victim(name, folder):
    """A trained net, records of its members and of others, and what is to be known of them."""
    data, n_members, n_epochs, n_pooled = VICTIMS[name]
    X, y = read(data, folder, n_pooled)
    # All published parts are shuffled together: members are no other kind of record.
    order = np.random.default_rng(0).permutation(len(X))[: n_members + N_KNOWN + N_MANY + 1000]
    records = Records(X[order], y[order])
    first = np.sort(np.unique(Records(records.X).fingerprint, return_index=True)[1])
    members, others = records[first[:n_members]], records[first[n_members:]][: N_KNOWN + N_MANY]
    torch.manual_seed(0)
    net = make_net(name, X, y.max() + 1, n_epochs).fit(np.array(members.X), members.y)
    facts = {
        "n_members": len(members),
        "n_others": len(others),
        "n_epochs": n_epochs,
        "n_duplicates_dropped": len(records) - len(first),
        "accuracy_members": net.score(np.array(members.X), members.y),
        "accuracy_others": net.score(np.array(others.X), others.y),
    }
    return net, members, others, facts


def make_attacks(victim, bounds):
    """Each strategy by the name in the thesis.

    Folds serve to score known records, which is not done here: two of them save time.
    """
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
        "gradient model x": GradientAttack(victim, wrt="inputs", random_state=0, cv=2),
        "gradient model w": GradientAttack(victim, wrt="parameters", random_state=0, cv=2),
        "intermediate outputs": LayerOutputsAttack(victim, random_state=0, cv=2),
        "white-box": WhiteBoxAttack(victim, layers=[-3, -2, -1], max_iter=30, random_state=0, cv=2),
        "ensemble": EnsembleAttack(victim, signals=six, random_state=0, cv=2),
        "diversity": DiversityAttack(victim, random_state=0, cv=2),
        "diversity, learned": DiversityAttack(
            victim, method="learned", max_iter=1, random_state=0, cv=2
        ),
        "Renyi": RenyiAttack(victim, random_state=0, cv=2),
        "Morgan": MorganAttack(victim, n_changes=N_CHANGES, scale=SCALE, random_state=0, cv=2),
        "Mahalanobis": MahalanobisAttack(victim, random_state=0, cv=2),
        "Fisher-Rao": FisherRaoAttack(victim, random_state=0, cv=2),
    }


# Strategies that need no more than one answer to a record.
ANSWERED = ("baseline", "softmax response", "modified entropy", "loss", "ODIN", "DOCTOR")
ANSWERED += ("diversity", "diversity, learned", "Renyi")

# Those that read layers once; together with the former they are given N_MANY records.
LAYERED = ("intermediate outputs", "Mahalanobis", "Fisher-Rao")

# Those that ask many times for a record, or train a net for long, are given N_SEARCHED.
SEARCHING = ("adv. distance l1", "adv. distance l2", "adv. distance linf", "ensemble")
SEARCHING += ("Merlin", "Morgan", "white-box")

# Those that learn from known members and could learn something else.
LEARNING = ("gradient model x", "diversity", "diversity, learned", "Renyi", *LAYERED)


def fit(strategy, attack, known, membership):
    if strategy in ANSWERED:
        attack.set_params(victim=None)  # answers are stored with the records
    needs_known = attack.__sklearn_tags__().target_tags.required
    # A threshold plays no part here: signals need not see known records at all.
    return attack.fit(*((known, membership) if needs_known else (known[:1],)))


def measure(membership, scores):
    few = operating_point(membership, scores, max_fpr=0.001, on_unresolvable="ignore")
    return {
        "n_members": few.n_members,
        "n_nonmembers": few.n_nonmembers,
        "auc": roc_auc_score(membership, scores),
        "best_accuracy": (1 + best_advantage_score(membership, scores)) / 2,
        "fpr_at_95_tpr": fpr_at_tpr_score(membership, scores, min_tpr=0.95),
        "tpr_at_95_fpr": operating_point(membership, scores, max_fpr=0.95).tpr,
        "tpr_at_5_fpr": operating_point(membership, scores, max_fpr=0.05).tpr,
        "tpr_at_01_fpr": few.tpr,
        "tpr_at_01_fpr_low": few.tpr_low,
        "tpr_at_01_fpr_high": few.tpr_high,
        "resolvable": few.resolvable,
    }


def evaluate(scores, membership):
    """Figures of random parts of the first records, equal for all strategies, and of all."""
    rng = np.random.default_rng(1)
    for draw in range(N_DRAWS):
        sides = (np.flatnonzero(membership == bit)[:N_EVALUATED] for bit in (0, 1))
        rows = [rng.choice(side, int(DRAWN * len(side)), replace=False) for side in sides]
        rows = np.concatenate(rows)
        yield {"draw": draw, **measure(membership[rows], scores[rows])}
    yield {"draw": "all", **measure(membership, scores)}


def join(members, others, victim=None):
    """Records of both kinds, with the victim's answers where there is one, and membership."""
    records = Records.concat([members, others])
    membership = np.repeat([1, 0], [len(members), len(others)])
    return records if victim is None else records.with_outputs(victim), membership


def find_size(strategy):
    if strategy in SEARCHING:
        return N_SEARCHED
    return N_MANY if strategy in ANSWERED + LAYERED else N_EVALUATED


def run(name, victim, members, others):
    """Figures of all strategies."""
    known, of_known = join(members[:N_KNOWN], others[:N_KNOWN], victim)
    asked = {
        size: join(members[N_KNOWN:][:size], others[N_KNOWN:][:size], victim)
        for size in (N_SEARCHED, N_EVALUATED, N_MANY)
    }
    for strategy, attack in make_attacks(victim, find_bounds(name)).items():
        start = time.process_time()
        records, membership = asked[find_size(strategy)]
        scores = fit(strategy, attack, known, of_known).score_samples(records)
        seconds = time.process_time() - start
        rows = list(evaluate(scores, membership))
        auc = np.mean([row["auc"] for row in rows])
        print(f"  {strategy:22} {auc:.3f} {seconds:6.1f} s", flush=True)
        for row in rows:
            yield {"victim": name, "strategy": strategy, **row, "seconds": seconds}


def run_null(name, victim, others):
    """AUC of strategies on non-members of which a random half is called members."""
    n_each = N_KNOWN + N_EVALUATED
    for repetition in range(N_NULL):
        rows = np.random.default_rng(repetition).permutation(len(others))
        first, second = others[rows[:n_each]], others[rows[n_each : 2 * n_each]]
        known, of_known = join(first[:N_KNOWN], second[:N_KNOWN], victim)
        asked, membership = join(first[N_KNOWN:], second[N_KNOWN:], victim)
        attacks = make_attacks(victim, find_bounds(name))
        for strategy in ("loss", *LEARNING):
            attack = fit(strategy, attacks[strategy], known, of_known)
            scores = attack.score_samples(asked)
            auc = roc_auc_score(membership, scores)
            yield {"victim": name, "strategy": strategy, "repetition": repetition, "auc": auc}


def find_bounds(name):
    return BOUNDS if name.startswith(("cifar", "fashion")) else None


def judge_records(members, others):
    """AUC of boosted trees that see the records alone and not the victim."""
    n_known = min(len(members), len(others), 2000) // 2
    known, of_known = join(members[:n_known], others[:n_known])
    asked, membership = join(members[n_known:], others[n_known:])
    pca = PCA(min(50, known.X[0].size), random_state=0).fit(known.X.reshape(len(known), -1))
    columns = (
        np.column_stack([pca.transform(one.X.reshape(len(one), -1)), one.y])
        for one in (known, asked)
    )
    trees = HistGradientBoostingClassifier(max_iter=50, random_state=0)
    trees.fit(next(columns), of_known)
    interval = auc_interval(membership, trees.predict_proba(next(columns))[:, 1])
    return {f"records_alone_{key}": value for key, value in interval._asdict().items()}


def show(folder):
    """Print what the files hold, as tables of means over the draws."""
    table = pd.read_csv(folder / "membership_strategies.csv")
    victims = list(table["victim"].unique())
    print(pd.read_csv(folder / "membership_strategies_victims.csv").T.to_string(header=False))
    draws = table[table["draw"] != "all"].groupby(["strategy", "victim"], sort=False)
    for figure in ("auc", "best_accuracy", "fpr_at_95_tpr", "tpr_at_95_fpr", "tpr_at_5_fpr"):
        mean, std = draws[figure].mean(), draws[figure].std()
        text = mean.map("{:.3f}".format) + " ± " + std.map("{:.3f}".format)
        print(f"\n{figure}\n{text.unstack()[victims].to_string()}")
    every = table[table["draw"] == "all"].set_index(["strategy", "victim"])
    columns = ["tpr_at_01_fpr", "tpr_at_01_fpr_low", "tpr_at_01_fpr_high"]
    text = every[columns].map("{:.3f}".format).agg(" ".join, axis=1)
    text += np.where(every["resolvable"], "", " ?")
    print(f"\ntpr_at_01_fpr, low, high; ? = not resolvable\n{text.unstack()[victims].to_string()}")
    null = pd.read_csv(folder / "membership_strategies_null.csv").groupby(["strategy", "victim"])
    print(f"\nwithout members\n{null['auc'].mean().unstack()[victims].round(3).to_string()}")
    means = draws["auc"].mean().unstack()[victims]
    if len(victims) > 1:
        test = RankingTest().fit(means.T)
        print(test.summary(), test.average_ranks_.sort_values().round(2).to_string(), sep="\n\n")


def save_ranks(folder):
    """Mean ranks of the 21 rows of tables 3.2 to 3.4, beside the printed ones."""
    table = pd.read_csv(folder / "membership_strategies.csv")
    draws = table[(table["draw"] != "all") & table["strategy"].isin(STRATEGIES)]
    means = draws.groupby(["strategy", "victim"], sort=False).mean(numeric_only=True)
    ranks = {
        f"rank_{figure}": means[figure].unstack().rank(ascending=lowest_first).mean(axis=1)
        for figure, lowest_first in (
            ("auc", False),
            ("best_accuracy", False),
            ("tpr_at_95_fpr", False),
            ("fpr_at_95_tpr", True),
        )
    }
    ranks = pd.DataFrame(ranks).round(3).sort_values("rank_auc").reset_index()
    name = "membership_strategies_ranks.csv"
    annotate(name, ranks).to_csv(folder / name, index=False)


def save(name, rows, path):
    """Write the rows of a victim, in place of those of an earlier run."""
    table = pd.DataFrame(rows).round(4)
    if path.exists():
        earlier = pd.read_csv(path)
        table = pd.concat([earlier[earlier["victim"] != name], table])
    table.to_csv(path, index=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--victims", nargs="+", default=list(VICTIMS))
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(exist_ok=True)
    path = options.out / "membership_strategies"
    for name in () if options.show else options.victims:
        start = time.process_time()
        victim, members, others, facts = make_victim(name, options.data)
        facts |= {"seconds": time.process_time() - start} | judge_records(members, others)
        print(name, {key: round(value, 3) for key, value in facts.items()}, flush=True)
        save(name, run(name, victim, members, others), path.with_suffix(".csv"))
        save(name, run_null(name, victim, others), path.with_name(f"{path.name}_null.csv"))
        save(name, [{"victim": name, **facts}], path.with_name(f"{path.name}_victims.csv"))
    save_ranks(options.out)
    show(options.out)


if __name__ == "__main__":
    main()
