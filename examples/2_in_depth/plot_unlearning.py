"""
Does a model forget?
====================

People may ask that a trained model forget their records. This example plays the unlearning game
with six procedures that a logistic model could use to forget, and compares two attacks. The first
uses only the quality of the predictions. The second compares them with the predictions of models
that have unlearned the record, and of models that have never seen it.
"""

import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from skmia import Records
from skmia.games import unlearning_game

FAST = os.environ.get("SKMIA_EXAMPLE_FAST") == "1"

# %%
# A model that remembers
# ----------------------
# The records are digits with a random label for one in seven, and more features than training
# records.

rng = np.random.default_rng(0)
X, y = load_digits(return_X_y=True)
rows = rng.permutation(len(y))[:600]
wrong = rng.random(len(rows)) < 0.15
labels = np.where(wrong, rng.integers(10, size=len(rows)), y[rows])
features = RBFSampler(gamma=0.7, n_components=400, random_state=0)
records = Records(features.fit_transform(X[rows] / 16), labels)
model = SGDClassifier(loss="log_loss", max_iter=20, tol=None)

# %%
# Six ways to forget
# ------------------
# Each model is trained on half of the records and forgets a third of these. Shadow models unlearn
# in the same way as the targets.

settings = (
    {"n_estimators": 8, "n_targets": 3}
    if FAST
    else {"n_estimators": 40, "n_targets": 8}
)
ways = {
    "finetune": "fine-tuning on the rest",
    "noise": "noise on the weights",
    "negative": "weight -1, then the rest",
    "relabel": "random labels, then the rest",
    "sisa": "SISA, five shards",
    "retrain": "retraining",
}
games = {
    way: unlearning_game(
        model, way, records, forget=0.33, random_state=0, **settings
    )
    for way in ways
}
print(games["finetune"])

# %%
# What is found
# -------------
# The whiskers are 95% intervals over target models. The population attack finds less than U-LiRA
# for each procedure, and for some hardly anything at the low false positive rate.

table = pd.DataFrame(
    {
        label: {
            "evidence": games[way].evidence,
            "U-LiRA AUC": games[way].attacks.loc["ulira", "auc"],
            "U-LiRA TPR at 1%": games[way].attacks.loc["ulira", "tpr"],
            "population TPR at 1%": games[way].attacks.loc[
                "population", "tpr"
            ],
            "accuracy": games[way].scores["after"],
        }
        for way, label in ways.items()
    }
).T
print(table.to_string())

labels = {"ulira": "U-LiRA", "population": "population"}
_, axes = plt.subplots(
    1, 2, figsize=(9, 3.8), sharey=True, layout="constrained"
)
for ax, column, chance in zip(axes, ("auc", "tpr"), (0.5, 0.01), strict=True):
    for shift, attack in ((-0.12, "ulira"), (0.12, "population")):
        found = pd.DataFrame(
            [game.attacks.loc[attack] for game in games.values()]
        )
        center = found[column].astype(float)
        ends = [
            center - found[f"{column}_low"],
            found[f"{column}_high"] - center,
        ]
        places = np.arange(len(found)) + shift
        ends = np.array(ends, dtype=float)
        ax.errorbar(
            center,
            places,
            xerr=ends,
            fmt="o",
            capsize=3,
            label=labels[attack],
        )
    ax.axvline(chance, color="0.7", zorder=0)
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_yticks(range(len(ways)), ways.values())
axes[0].invert_yaxis()
axes[0].set_xlabel("AUC on forgotten records")
axes[1].set_xlabel("TPR at 1% FPR")
axes[1].legend(frameon=False)
plt.show()

# %%
# The people who stay
# -------------------
# Unlearning can expose the remaining records. This is the change of their AUC, with its interval:

for way, label in ways.items():
    change = games[way].retained.loc["change"]
    print(
        f"{label:30}{change['auc']:+.3f} [{change['low']:+.3f}, "
        f"{change['high']:+.3f}]"
    )
