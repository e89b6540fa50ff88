"""
Generators of tables: leakage and utility
=========================================

A generator that copies its training rows produces a perfect table without any protection. This
example trains generators on people of the Adult table, and measures for each how well an attacker
distinguishes training people from others, and how well a model trained on synthetic people works
for real people.

Generators of SDV take part if it is installed (``pip install ".[sdv]"``). Adult is downloaded from
the UCI Machine Learning Repository on first use; without a connection, the people are simulated.
The full version takes a few minutes on one core.
"""

# sphinx_gallery_thumbnail_path = "_static/examples/plot_generators.png"

import os
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import torch
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder

from skmia import Records
from skmia.datasets import fetch_adult
from skmia.defenses.schema import DeclaredSchema, NumberColumn, ValuesColumn
from skmia.metrics import auc_interval
from skmia.synthetic import (
    BootstrapGenerator,
    DPWassersteinGAN,
    GeneratorAttack,
    SDVGenerator,
    SmoteGenerator,
    audit_table,
)

FAST = os.environ.get("SKMIA_EXAMPLE_FAST") == "1"  # fewer people and steps
FOLDER = os.environ.get("SKMIA_EXAMPLE_DATA")
N_PEOPLE, N_ITER = (150, 3) if FAST else (1_500, 700)

torch.set_num_threads(1)  # the nets are small

# %%
# The people
# ----------
# Eight columns with numbers and categories. Their ranges and categories are in the description of
# the census, so they are public.

NUMBERS = {
    "age": (17, 90),
    "education-num": (1, 16),
    "hours-per-week": (1, 99),
}
CATEGORIES = ["marital-status", "occupation", "race", "sex"]


def make_up(n_rows):
    """People with columns like Adult's."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {c: rng.choice(list("abcdefg"), n_rows) for c in CATEGORIES}
    )
    for name, (lower, upper) in NUMBERS.items():
        middle, width = (lower + upper) / 2, (upper - lower) / 6
        table[name] = rng.normal(middle, width, n_rows).round()
    score = (
        table["education-num"] / 4
        + (table["sex"] < "d")
        + rng.normal(size=n_rows)
    )
    table["income"] = np.where(score > 3, ">50K", "<=50K")
    return table


def load():
    if FOLDER:
        return pd.read_csv(Path(FOLDER) / "adult.csv.gz")
    try:
        records = fetch_adult()
    except OSError:
        return make_up(6_000)
    return records.X.assign(income=np.asarray(records.y))


people = load()[[*NUMBERS, *CATEGORIES, "income"]]
for name, (lower, upper) in NUMBERS.items():
    people[name] = people[name].clip(lower, upper).astype(int)
for name in CATEGORIES:
    people[name] = people[name].astype(object).fillna("unknown").astype(str)
people["income"] = people["income"].astype(str).str.contains(">50K")
order = np.random.default_rng(0).permutation(len(people))[: 4 * N_PEOPLE]
parts = [
    people.iloc[rows].reset_index(drop=True)
    for rows in np.array_split(order, 4)
]
train, holdout, reference, others = parts
print(
    f"{len(train)} training people, {train['income'].mean():.2f} of them "
    "with a high income\n"
)

# %%
# The generators
# --------------
# Training people drawn with replacement are one end of the scale. Other people of the same census,
# as a perfect generator would draw them, are the other end. The private generator is trained
# without noise, and with noise for an epsilon of 10. The noise needs a critic with limited singular
# values in place of a penalty.

SCHEMA = DeclaredSchema(
    {
        **{
            name: NumberColumn(*ends, whole=True)
            for name, ends in NUMBERS.items()
        },
        **{
            name: ValuesColumn(sorted(people[name].unique()))
            for name in CATEGORIES
        },
        "income": ValuesColumn([False, True]),
    }
)
NETS = {
    "schema": SCHEMA,
    "critic_layers": (64,),
    "generator_layers": (64, 64),
    "n_latent": 16,
    "learning_rate": 1e-3,
    "max_iter": N_ITER,
    "batch_size": 500,
    "random_state": 0,
}
generators = {
    "bootstrap": BootstrapGenerator(),
    "Wasserstein, no noise": DPWassersteinGAN(privacy=None, **NETS),
    "Wasserstein, noise": DPWassersteinGAN(
        target_epsilon=10.0, penalty=0.0, max_spectral_norm=1.0, **NETS
    ),
}
if find_spec("imblearn"):
    generators["SMOTE"] = SmoteGenerator()
if find_spec("sdv"):
    generators["Gaussian copula"] = SDVGenerator(random_state=0)
    epochs = 2 if FAST else 100
    generators["CTGAN"] = SDVGenerator(
        "ctgan", settings={"epochs": epochs}, random_state=0
    )

# %%
# The measures
# ------------
# The attacker has the synthetic table and reference people, and scores each person by how much
# closer the nearest synthetic person is than the nearest reference person. The area under the curve
# is 0.5 if the attacker learns nothing. ``audit_table`` runs more attacks and tests their results.

attacked = Records(
    pd.concat([train, holdout], ignore_index=True), np.zeros(len(train) * 2)
)
membership = np.arange(len(attacked)) < len(train)


def measure_leak(victim):
    attack = GeneratorAttack(
        victim,
        statistic="distance_difference",
        metric="gower",
        n_samples=len(train),
        reference=Records(reference),
        random_state=0,
    )
    return auc_interval(
        membership, attack.fit(attacked).score_samples(attacked)
    )


def measure_utility(table):
    """Area under the curve for income of real people, by a model of synthetic
    ones."""
    if table["income"].nunique() < 2:
        return 0.5
    encoder = OrdinalEncoder(
        handle_unknown="use_encoded_value", unknown_value=-1
    )
    columns = make_column_transformer(
        (encoder, make_column_selector(dtype_exclude="number")),
        remainder="passthrough",
    )
    trees = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    model = make_pipeline(columns, trees).fit(
        table.drop(columns="income"), table["income"]
    )
    return roc_auc_score(
        holdout["income"],
        model.predict_proba(holdout.drop(columns="income"))[:, 1],
    )


rows = {}
for name, generator in generators.items():
    generator.fit(train)
    made = generator.sample(len(train), random_state=0)
    leak = measure_leak(generator)
    rows[name] = [leak.estimate, leak.low, leak.high, measure_utility(made)]
    rows[name] += [getattr(generator, "epsilon_", np.inf)]
    rows[name] += [audit_table(train, made, holdout, random_state=0).evidence]
leak = measure_leak(Records(others))
rows["other people"] = [
    leak.estimate,
    leak.low,
    leak.high,
    measure_utility(others),
    0.0,
]
rows["other people"] += [
    audit_table(train, others, holdout, random_state=0).evidence
]
columns = ["leak", "low", "high", "utility", "epsilon", "evidence"]
table = pd.DataFrame(rows, index=columns).T.sort_values("leak")
print(table.to_string(float_format="{:.3f}".format), "\n")

# %%
# Leak and utility
# ----------------
# The best place is the upper left corner.

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, row in table.iterrows():
    width = [[row["leak"] - row["low"]], [row["high"] - row["leak"]]]
    ax.errorbar(
        row["leak"],
        row["utility"],
        xerr=width,
        fmt="o",
        capsize=3,
        label=name,
    )
ax.axvline(0.5, color="gray", lw=0.8, ls=":")
ax.set(
    xlabel="Leak: AUC of the attack",
    ylabel="Utility: AUC of a model of synthetic people",
)
ax.legend(fontsize=8)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# With 1,500 training people:
#
# * *Copies leak, and so do rows between neighbors.* The attack has an AUC of 0.73 on the bootstrap
#   and 0.66 on SMOTE, and the audit finds both. Both tables are as useful as other people (0.85).
# * *No leak is found in tables of SDV's generators*: 0.51, as for other people.
# * *Trained generators have less utility.* The Wasserstein generator without noise reaches 0.83,
#   the copula 0.70, and CTGAN, which is designed for more rows, 0.45.
# * *Noise removes the remaining utility with so few people*: with epsilon 9.9, a model of synthetic
#   people reaches 0.48, no better than chance.
