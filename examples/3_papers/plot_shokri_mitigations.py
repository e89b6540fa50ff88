"""
Effect of mitigations (Shokri et al. 2017, table III)
=====================================================

A model could return fewer, rounded or flatter probabilities, or be trained with a penalty. Table
III of the paper attacks such models with shadow models that do the same. This example repeats the
comparison on the places that people visit and on a table like a table of purchases. It also
measures an attacker who does not know of the mitigation, and one who uses only labels.

Location-30 is downloaded on first use. The full version trains 240 nets and takes about ten minutes
on one core.
"""

# sphinx_gallery_thumbnail_path = "_static/examples/plot_shokri_mitigations.png"

import os
import warnings
from pathlib import Path

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy.stats import t as student
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.neural_network import MLPClassifier

from skmia import Records, ShadowPool
from skmia.attacks import ShadowAttack
from skmia.datasets import fetch_location30, make_membership_problem
from skmia.defenses import RoundingDefense, TemperatureDefense, TopKDefense

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer splits, shadow models, records, settings
N_SPLITS, N_SHADOWS, N_EPOCHS, N_ROUNDS = (
    (2, 2, 15, 10) if FAST else (5, 5, 60, 30)
)

warnings.filterwarnings(
    "ignore", category=ConvergenceWarning
)  # nets stop when they are told to

# %%
# Two tables
# ----------
# A place is 446 bits in 30 classes; 1,200 records train the victim. A basket is 600 bits in 50
# classes; 2,000 records train the victim. There are as many non-members, so that guessing is right
# half of the time; the attacker has the rest.

FOLDER = os.environ.get("SKMIA_EXAMPLE_DATA")


def load_location():
    if not FOLDER:
        records = fetch_location30()
    else:
        with np.load(Path(FOLDER) / "location30.npz") as file:
            records = Records(
                np.unpackbits(file["x_bits"], axis=1, count=446), file["y"]
            )
    records = Records(
        records.X.astype(np.float32), records.y
    )  # nets are fastest in it
    return records[records.y < 3] if FAST else records


def make_baskets():
    n_records, n_classes = (800, 4) if FAST else (8_000, 50)
    return make_membership_problem(
        n_records,
        n_features=600,
        n_classes=n_classes,
        kind="baskets",
        random_state=0,
    )[0]


TABLES = {
    # name: records, members
    "Location-30": (load_location(), 80 if FAST else 1_200),
    "baskets": (make_baskets(), 200 if FAST else 2_000),
}

# %%
# The mitigations
# ---------------
# Seven mitigations change the outputs and not the training, so one net is trained for all of them.
# Three change the training loss, by a penalty on the squared weights. scikit-learn divides half of
# ``alpha`` by the size of a batch, here 200, so the paper's lambda is ``alpha / 400``.

TRAINED = {}


class Net(MLPClassifier):
    """A net that is trained once for a seed and its records, and used with
    every output."""

    def fit(self, X, y):
        key = joblib.hash((self.get_params(), X, y))
        if key not in TRAINED:
            TRAINED[key] = vars(super().fit(X, y)).copy()
        vars(self).update(TRAINED[key])
        return self


def make_net(penalty=0.0):
    stop = {"max_iter": N_EPOCHS, "n_iter_no_change": N_EPOCHS, "tol": 0}
    return Net(
        (128,), activation="tanh", alpha=400 * penalty, random_state=0, **stop
    )


MITIGATIONS = {
    "none": make_net(),
    "top 3": TopKDefense(make_net(), k=3),
    "top 1": TopKDefense(make_net(), k=1),
    "label alone": TopKDefense(make_net(), k=1, renormalize=True),
    "3 decimals": RoundingDefense(make_net(), decimals=3, renormalize=False),
    "1 decimal": RoundingDefense(make_net(), decimals=1, renormalize=False),
    "temperature 5": TemperatureDefense(make_net(), temperature=5),
    "temperature 20": TemperatureDefense(make_net(), temperature=20),
    "L2 0.0001": make_net(1e-4),
    "L2 0.001": make_net(1e-3),
    "L2 0.01": make_net(1e-2),
}
if FAST:
    SOME = ("none", "label alone", "temperature 5", "L2 0.01")
    MITIGATIONS = {name: MITIGATIONS[name] for name in SOME}

# %%
# Three attackers
# ---------------
# One attacker trains shadow models with the mitigation, and one without it. The third has no shadow
# models and flags a record as a member if it is classified correctly.


def learn_attack(model, records, seed):
    settings = {
        "design": "independent",
        "store": "outputs",
        "random_state": seed,
    }
    pool = ShadowPool(model, N_SHADOWS, **settings).fit(records)
    learner = HistGradientBoostingClassifier(max_iter=N_ROUNDS)
    attack = ShadowAttack(
        shadows=pool, attack_estimator=learner, random_state=seed
    )
    return attack.fit(records)


def measure(membership, scores):
    guess = scores >= 0.5
    right = np.count_nonzero(guess & membership)
    return {
        "accuracy": np.mean(guess == membership),
        "precision": right / np.count_nonzero(guess)
        if guess.any()
        else np.nan,
        "recall": right / np.count_nonzero(membership),
        "auc": roc_auc_score(membership, scores),
    }


def play(name, split):
    """All mitigations of one victim: one line per mitigation and attacker."""
    records, size = TABLES[name]
    order = np.random.default_rng(split).permutation(len(records))
    members, others, left = np.split(order, [size, 2 * size])
    tested = records[np.concatenate([members, others])]
    membership = np.arange(len(tested)) < size
    TRAINED.clear()
    unaware = learn_attack(MITIGATIONS["none"], records[left], split)
    for mitigation, model in MITIGATIONS.items():
        victim = clone(model).fit(records[members].X, records[members].y)
        answered = tested.with_outputs(victim)
        right = victim.predict(tested.X) == tested.y
        aware = (
            unaware
            if mitigation == "none"
            else learn_attack(model, records[left], split)
        )
        facts = {"table": name, "mitigation": mitigation, "split": split}
        facts |= {
            "train": right[membership].mean(),
            "test": right[~membership].mean(),
        }
        for attacker, scores in (
            ("aware", aware.score_samples(answered)),
            ("unaware", unaware.score_samples(answered)),
            ("labels", right.astype(float)),
        ):
            yield {
                **facts,
                "attacker": attacker,
                **measure(membership, scores),
            }


lines = [
    line
    for name in TABLES
    for split in range(N_SPLITS)
    for line in play(name, split)
]
results = pd.DataFrame(lines)

# %%
# The table
# ---------
# The table shows means over splits with the half-width of their 95% t intervals. Each split draws
# the records of the victim, of the test and of the attacker again from the same table, so the
# intervals do not cover other tables.


def half_width(values):
    return (
        student.ppf(0.975, len(values) - 1)
        * values.std()
        / np.sqrt(len(values))
    )


quantities = ["train", "test", "accuracy", "precision", "recall", "auc"]
groups = results.groupby(["table", "attacker", "mitigation"], sort=False)[
    quantities
]
summary = pd.concat(
    [groups.mean(), groups.agg(half_width).add_suffix("_half")], axis=1
)
print(summary.xs("aware", level="attacker").round(3).to_string())

# %%
# Gain by knowing the mitigation
# ------------------------------
# The figure compares the attacker who knows of the mitigation with the two who do not. A
# temperature hides everything from an attack that was trained without it, and little from one that
# was trained with it. Returning only labels hides more, but labels are still correct more often for
# members. The table shows the gain from knowing the mitigation.

accuracy = results.pivot(
    index=["table", "split"],
    columns=["mitigation", "attacker"],
    values="accuracy",
).sort_index(axis=1)
for mitigation in MITIGATIONS:
    gain = accuracy[mitigation, "aware"] - accuracy[mitigation, "unaware"]
    by_table = gain.groupby(level="table", sort=False)
    differences = by_table.agg(["mean", half_width]).round(3)
    print(mitigation, differences.to_dict("index"))

figure, axes = plt.subplots(
    1, 2, figsize=(11, 4.4), layout="constrained", sharey=True
)
places = np.arange(len(MITIGATIONS))
for ax, name in zip(axes, TABLES, strict=True):
    for shift, attacker in (
        (-0.2, "aware"),
        (0.0, "unaware"),
        (0.2, "labels"),
    ):
        some = summary.loc[name, attacker]
        ax.errorbar(
            some["accuracy"],
            places + shift,
            xerr=some["accuracy_half"],
            fmt="o",
            label=attacker,
        )
    ax.axvline(0.5, color="gray", linewidth=0.8)
    ax.set(title=name, xlabel="Accuracy of the attack", yticks=places)
    ax.set_yticklabels(MITIGATIONS)
axes[0].invert_yaxis()
axes[0].legend(frameon=False, title="attacker")
plt.show()
