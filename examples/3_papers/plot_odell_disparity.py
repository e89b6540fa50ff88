"""
Exposure of groups of people (O'Dell, chapter 7)
================================================

A small net is trained on a table about people, repeatedly and on different people, and each time an
attack infers who was in the training set. O'Dell (2023) asks whether some groups are identified
more often than others, and whether an attack with shadow models comes close to the best attack that
sees only whether the prediction is correct. This example repeats both games of the thesis, with 40
victims instead of 200.

Adult is downloaded from the UCI Machine Learning Repository on first use. The table of law students
is the table of Le Quy et al. (2022) with two groups; with ``SKMIA_EXAMPLE_DATA`` both are read from
a folder that has the table of the thesis, with five. The full version takes about three minutes on
two cores.
"""

# sphinx_gallery_thumbnail_path = "_static/examples/plot_odell_disparity.png"

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from skorch import NeuralNetClassifier
from torch import nn
from xgboost import XGBClassifier

from skmia import Records, ShadowPool
from skmia.attacks import ShadowAttack
from skmia.datasets import fetch_adult, fetch_law_school
from skmia.disparity import DisparityDisplay, DisparityTest, GroupGuesses
from skmia.games import membership_game

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer people, victims and epochs
N_PEOPLE, N_ROUNDS, N_EPOCHS, N_JOBS = (
    (2_000, 6, 3, 1) if FAST else (None, 40, 200, 2)
)

torch.set_num_threads(
    1
)  # the nets are small: more threads would wait for each other

# %%
# The people
# ----------
# Text is encoded as one column per value, and every column is scaled to mean 0 and variance 1. The
# thesis does not state this, and it matters: a rare value becomes a large number, by which the net
# can memorize a person. With zeros and ones instead, the net for Adult leaks about a third as much.

FOLDER = os.environ.get("SKMIA_EXAMPLE_DATA")
SOURCES = {
    # name: file, label, positive class, group; then where to fetch it, and
    # its group
    "Adult": ("adult", "income", ">50K", "race", fetch_adult, "race"),
    "Law School": (
        "law_school",
        "bar",
        True,
        "race1",
        fetch_law_school,
        "race",
    ),
}


def load(name):
    file, label, positive, group, fetch, fetched_group = SOURCES[name]
    if FOLDER:
        table = pd.read_csv(Path(FOLDER) / f"{file}.csv.gz")
        y, people = table.pop(label) == positive, table[group]
    else:
        records = fetch()
        table, people = records.X, records[fetched_group]
        y = records.y == records.y.max()  # ">50K", or 1
    table = table.drop(
        columns=["split", "fnlwgt"], errors="ignore"
    )  # as in the thesis
    X = pd.get_dummies(table, dtype=float)
    X = np.array((X - X.mean()) / X.std(), dtype=np.float32)
    records = Records(
        X, np.array(y, dtype=np.int64), group=np.array(people, dtype=str)
    )
    return records[
        np.random.default_rng(0).permutation(len(records))[:N_PEOPLE]
    ]


# %%
# The game
# --------
# In each round the victim is trained on 40% of the people, another 40% are the non-members, and 20%
# belong to the attacker: five shadow nets are trained, each on half of them, and boosted trees
# learn how members differ. The trees see only whether a net is right about a person. Each net has a
# hidden layer of 8 units and is trained by plain gradient descent.


class SmallNet(nn.Sequential):
    def __init__(self, n_features):
        super().__init__(nn.Linear(n_features, 8), nn.ReLU(), nn.Linear(8, 2))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -(10**-0.5), 10**-0.5)


def play(records):
    net = NeuralNetClassifier(
        SmallNet,
        module__n_features=records.X.shape[1],
        criterion=nn.CrossEntropyLoss,
        iterator_train__shuffle=True,
        max_epochs=N_EPOCHS,
        train_split=None,
        verbose=0,
    )
    attack = ShadowAttack(
        shadows=ShadowPool(
            net, 5, design="independent", store="outputs", temperatures=(1.0,)
        ),
        attack_estimator=XGBClassifier(n_estimators=100, n_jobs=1),
        features=["correctness"],
        per_class=False,
    )
    return membership_game(
        net,
        attack,
        records,
        groups="group",
        n_rounds=N_ROUNDS,
        n_jobs=N_JOBS,
        random_state=0,
        return_guesses=True,
    )


games, guesses = {}, {}
for name in SOURCES:
    records = load(name)
    game = games[name] = play(records)
    guesses[name] = GroupGuesses(
        game["guesses"],
        game["membership"],
        records["group"],
        records.fingerprint,
    )
    table = pd.DataFrame(
        {key: games[name][key] for key in ("train_score", "test_score")}
    )
    print(
        f"{name}: {records}, {table['train_score'].mean():.4f} of the "
        "members and"
    )
    print(
        f"{table['test_score'].mean():.4f} of the non-members are "
        "classified correctly\n"
    )

# %%
# Test of equal exposure
# ----------------------
# Each round gives every group a vulnerability, TPR - FPR. The thesis tests by a repeated-measures
# analysis of variance whether the groups differ, and by dependent t-tests which ones. The rounds
# share the same people, so these p-values are too small: they refer to differences among these
# people rather than among people in general. The permutation test compares the groups with groups
# that are assigned to the same people at random. The thesis calls its correction Bonferroni; its
# numbers are Benjamini and Hochberg's, which this example uses.

figure, axes = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
for ax, name in zip(axes, games, strict=True):
    test = DisparityTest(correction="fdr_bh", random_state=0).fit(
        guesses[name]
    )
    print(f"{name}\n{test.summary()}\n")
    DisparityDisplay.from_estimator(test, name=name, ax=ax)
plt.show()

# %%
# Shadow models and the best attack
# ---------------------------------
# An attack that only sees whether the victim is right can guess "member if right", "member if
# wrong", or the same for all records. Its vulnerability in a round is the difference g of the two
# accuracies, or -g, or 0, and the vulnerability of the best such attack is the absolute value of g.
# The correlation of the two is therefore not additional evidence: it is 1 if the victim is better
# on its members in every round and the shadow nets agree, and it falls if g changes its sign.

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for ax, (name, game) in zip(axes, games.items(), strict=True):
    worst, found = game["worst_case"], game["vulnerability"]
    correlation = np.corrcoef(worst, found)[0, 1]
    negative = np.mean(game["train_score"] < game["test_score"])
    print(
        f"{name}: correlation {correlation:.3f}; g is negative in "
        f"{negative:.0%} of the rounds"
    )
    ax.scatter(worst, found, s=18)
    ax.axline((0, 0), slope=1, color="gray", linewidth=1)
    ax.axline((0, 0), slope=-1, color="gray", linewidth=1, linestyle=":")
    ax.set(
        xlabel="Best attack on correctness, |g|",
        ylabel="Attack with shadow models",
    )
    ax.set_title(f"{name}: correlation {correlation:.2f}")
plt.show()
