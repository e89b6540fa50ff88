"""
Auditing a pipeline on tabular data
===================================

The Adult data set has numeric and categorical columns, so the model is a ``Pipeline``. This example
audits it as a whole, breaks the result down by race, and varies one hyperparameter.

The table is downloaded from the UCI Machine Learning Repository on first use.
"""

# sphinx_gallery_thumbnail_path = "_static/examples/plot_adult_pipeline.png"

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from xgboost import XGBClassifier

from skmia import Records, audit
from skmia.attacks import LiRA, ShadowAttack, ThresholdAttack
from skmia.datasets import fetch_adult

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer people, trees and shadow models
N_PEOPLE, N_TREES, N_SHADOWS, N_JOBS = (
    (1_000, 5, 4, 1) if FAST else (12_000, 100, 32, 2)
)

# %%
# The records
# -----------
# The features keep their form, including text. ``race`` is a feature of the model and also a field
# of the records, so that results can be broken down by it. A random half of the people are members.


def load_people():
    folder = os.environ.get(
        "SKMIA_EXAMPLE_DATA"
    )  # of adult.csv.gz, to do without a network
    if not folder:
        return fetch_adult()
    table = pd.read_csv(Path(folder) / "adult.csv.gz")
    return Records.from_frame(
        table, target="income", drop="split", race="race"
    )


rng = np.random.default_rng(0)
census = load_people()
records = census[rng.permutation(len(census))[:N_PEOPLE]]
membership = rng.permutation(N_PEOPLE) % 2
members = records[membership == 1]
print(records)

# %%
# Two victims
# -----------
# Encoder and forest are one Pipeline, so that shadow models are trained with all of it. The two
# victims differ only in the minimum number of people per leaf of a tree.


def make_model(min_samples_leaf):
    text = make_column_selector(dtype_exclude="number")
    return make_pipeline(
        make_column_transformer(
            (OneHotEncoder(handle_unknown="ignore"), text),
            remainder="passthrough",
        ),
        RandomForestClassifier(
            N_TREES, min_samples_leaf=min_samples_leaf, random_state=0
        ),
    )


victims = {
    "leaves of 1": make_model(1).fit(members.X, members.y),
    "leaves of 10": make_model(10).fit(members.X, members.y),
}

# %%
# The audit
# ---------
# ``audit`` trains one pool of shadow models per victim and runs the attacks on it. The
# :class:`~skmia.attacks.ShadowAttack` has the setup of O'Dell (2023), with 100 boosted trees as
# attack model.

attacks = {
    "loss threshold": ThresholdAttack(signal="loss"),
    "ShadowAttack": ShadowAttack(
        attack_estimator=XGBClassifier(n_estimators=100, n_jobs=1),
        random_state=0,
    ),
    "LiRA": LiRA(),
}
results = {
    name: audit(
        victim,
        records,
        membership,
        attacks=attacks,
        shadows=N_SHADOWS,
        group="race",
        fprs=[0.01],
        n_jobs=N_JOBS,
        random_state=0,
    )
    for name, victim in victims.items()
}
rows = [
    {
        "victim": name,
        "accuracy, members": result.performance["members"],
        "accuracy, others": result.performance["nonmembers"],
        **result.to_frame()
        .query("scope == 'overall' and metric == 'auc'")
        .set_index("attack")["estimate"]
        .add_prefix("AUC of "),
    }
    for name, result in results.items()
]
print(pd.DataFrame(rows).set_index("victim").T.round(3).to_string())

# %%
# A forest whose leaves may hold a single person has memorized its training set. Larger leaves are
# equally accurate on new people and leak far less. This is not a guarantee: the curve of LiRA still
# lies above chance.

figure, rows = plt.subplots(2, 2, figsize=(10, 8), layout="constrained")
for axes, (name, result) in zip(rows, results.items(), strict=True):
    result.plot(axes)
    axes[1].set_title(name)
plt.show()

# %%
# Results by race
# ---------------
# The figure shows the advantage of LiRA's guesses within each group, with 95% intervals. Small
# groups have wide intervals, and the interval of one group does not show a difference between two
# groups: with five groups some will deviate by chance.

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
for shift, (name, result) in zip((0.12, -0.12), results.items(), strict=True):
    groups = (
        result.to_frame()
        .query(
            "attack == 'LiRA' and metric == 'advantage' and status == 'ok'"
        )
        .sort_values("n_members", ignore_index=True)
    )
    reach = [
        groups["estimate"] - groups["low"],
        groups["high"] - groups["estimate"],
    ]
    ax.errorbar(
        groups["estimate"],
        groups.index + shift,
        xerr=reach,
        fmt="o",
        label=name,
    )
ax.set_yticks(
    groups.index,
    labels=[
        f"{group} ({n:,})"
        for group, n in zip(groups["group"], groups["n_members"])
    ],
)
ax.axvline(0, color="gray", linewidth=1)
ax.set(
    xlabel="Advantage of LiRA: TPR - FPR",
    title="Leak by race (number of members)",
)
figure.legend(loc="outside lower center", ncols=2)
plt.show()
