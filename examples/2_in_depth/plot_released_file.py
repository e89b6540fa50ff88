"""
Leakage of a released model file
================================

A hospital can offer predictions as a service, or publish its model as a file. A file reveals more:
counts, leaf values and thresholds of trees are sums and midpoints of training rows. This example
attacks the same models in both ways, shows which files reveal most, and tests what helps.
:doc:`/benchmarks/results/released_files` has the results on four real tables.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import (
    LiRA,
    NodeEquationsAttack,
    ReleasedModelAttack,
    ThresholdAttack,
)
from skmia.datasets import make_membership_problem
from skmia.defenses import strip_state
from skmia.metrics import MembershipRocDisplay, conformal_pvalues

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer records, trees and shadow models

# %%
# Setting
# -------
# The attacker knows 600 people with their labels. The model was trained on 300 of them, and the
# attacker wants to know on which ones. Columns are coarse, like ages and grades: in columns with
# many distinct values, thresholds and edges alone identify rows.


def draw_people(n_records, seed=0):
    """Candidates, and which of them are members."""
    records, membership = make_membership_problem(
        n_records, random_state=seed
    )
    return Records(np.round(4 * records.X), records.y), membership


records, membership = draw_people(200 if FAST else 600)
members = records[membership == 1]
n_trees = 10 if FAST else 100


def train(model, rows=members):
    """Train a model on the rows, to be attacked as it is."""
    return clone(model).fit(rows.X, rows.y)


def score(attack, candidates=records):
    """Scores of an attack on all candidates."""
    return attack.fit(candidates).score_samples(candidates)


# %%
# As a service and as a file
# --------------------------
# The loss and LiRA query the model; LiRA trains shadow models on random halves of the candidates.
# The attack on the file makes no query and trains nothing. Permuted memberships show the result
# without a leak, which is 0.5 up to chance.

MODELS = {
    "boosting": HistGradientBoostingClassifier(
        max_iter=n_trees, random_state=0
    ),
    "forest, 10 rows per leaf": RandomForestClassifier(
        n_trees, min_samples_leaf=10, random_state=0
    ),
    "boosting, few large leaves": HistGradientBoostingClassifier(
        max_iter=10, min_samples_leaf=60, random_state=0
    ),
}
permuted = np.random.default_rng(0).permutation(membership)
rows = {}
for name, model in MODELS.items():
    victim = train(model)
    pool = ShadowPool(model, 8 if FAST else 16, random_state=0).fit(records)
    scores = {
        "loss": score(ThresholdAttack(victim)),
        "LiRA": score(LiRA(victim, pool)),
        "file": score(ReleasedModelAttack(victim, random_state=0)),
    }
    rows[name] = {
        attack: roc_auc_score(membership, some)
        for attack, some in scores.items()
    }
    rows[name]["file, permuted"] = roc_auc_score(permuted, scores["file"])
    if name.startswith("forest"):
        MembershipRocDisplay.from_predictions(membership, scores)
        plt.title("One forest, two ways of release")
print(pd.DataFrame(rows).T.round(3).to_string())

# %%
# What makes a file strong
# ------------------------
# Each node is one equation in the unknown memberships, so the number of nodes per candidate
# determines the strength of the attack. The attack predicts its AUC without knowing a single
# member. It is weaker with fewer and larger leaves, and with more candidates for a model of the
# same size.

sizes = [5, 50] if FAST else [10, 20, 40, 80]
amounts = [100, 200] if FAST else [1000, 2000, 4000, 8000]
fig, axes = plt.subplots(
    1, 2, figsize=(9, 4), sharey=True, layout="constrained"
)
curves = {"measured": [], "expected beforehand": []}
for size in sizes:
    boosting = HistGradientBoostingClassifier(
        max_iter=20, min_samples_leaf=size, early_stopping=False
    )
    attack = NodeEquationsAttack(train(boosting), random_state=0)
    curves["measured"].append(roc_auc_score(membership, score(attack)))
    curves["expected beforehand"].append(attack.expected_auc_)
for label, aucs in curves.items():
    axes[0].plot(
        sizes,
        aucs,
        "-" if label == "measured" else "--",
        marker="o",
        label=label,
    )
axes[0].set(
    xlabel="least records per leaf",
    ylabel="AUC",
    title=f"{len(records)} candidates",
)

curves = {"measured": [], "expected beforehand": []}
for n_candidates in amounts:
    people, is_member = draw_people(n_candidates, seed=2)
    boosting = HistGradientBoostingClassifier(
        max_iter=20, early_stopping=False
    )
    victim = train(boosting, people[is_member == 1])
    attack = NodeEquationsAttack(victim, solver="ridge", random_state=0)
    curves["measured"].append(roc_auc_score(is_member, score(attack, people)))
    curves["expected beforehand"].append(attack.expected_auc_)
for label, aucs in curves.items():
    axes[1].plot(
        amounts,
        aucs,
        "-" if label == "measured" else "--",
        marker="o",
        label=label,
    )
    print(label, dict(zip(amounts, np.round(aucs, 3).tolist(), strict=True)))
axes[1].set(
    xlabel="candidates, half of them members", title="20 rounds of 31 leaves"
)
axes[1].legend(frameon=False)
for ax, places in zip(axes, (sizes, amounts), strict=True):
    ax.set(xscale="log", ylim=(0.45, 1.02))
    ax.set_xticks(places, [str(place) for place in places])
    ax.minorticks_off()

# %%
# What the attacker does not know
# -------------------------------
# If training rows are missing among the candidates, the equations also contain unknown people. The
# attack needs a rough estimate of how many.

victim = train(MODELS["boosting"])
for missing in (0.0, 0.05, 0.2):
    kept = (
        np.random.default_rng(0).random(len(records)) >= missing * membership
    )
    attack = ReleasedModelAttack(victim, outsiders=missing, random_state=0)
    auc = roc_auc_score(membership[kept], score(attack, records[kept]))
    print(f"{missing:.0%} of the training rows are unknown: AUC {auc:.3f}")

# %%
# A statement about one person needs a significance level. P-values against known non-members are
# valid, while the scores themselves are not calibrated. These are the shares of members and of
# other non-members who are flagged as members at a level of 5%, with a fifth of the training rows
# unknown.

is_member = membership[kept]
known = np.flatnonzero(is_member == 0)[::2]
others = np.setdiff1d(np.arange(len(is_member)), known)
scores = attack.score_samples(records[kept])
called = conformal_pvalues(scores[others], scores[known]) <= 0.05
for name, side in (("members", 1), ("others", 0)):
    print(
        f"{name} called members: "
        f"{called[is_member[others] == side].mean():.1%}"
    )

# %%
# What helps
# ----------
# Removing what predictions do not use changes no prediction, but also hardly weakens the attack:
# the leaf values of boosting are equations as well, and cannot be removed. A warning says so.

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    stripped = strip_state(victim)
print(said[0].message)
assert np.array_equal(
    stripped.predict_proba(records.X), victim.predict_proba(records.X)
)
for name, model in (("as it is", victim), ("stripped", stripped)):
    auc = roc_auc_score(
        membership, score(NodeEquationsAttack(model, random_state=0))
    )
    print(f"boosting, {name}: AUC {auc:.3f}")

# %%
# A student is a model that is trained on public rows with the labels of the first model. Its file
# describes other people. The labels may still carry information about the training rows, which was
# not attacked here.

public, _ = draw_people(len(records), seed=1)
student = train(
    MODELS["boosting"], Records(public.X, victim.predict(public.X))
)
with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore"
    )  # that none of its rows is among the candidates
    auc = roc_auc_score(
        membership, score(NodeEquationsAttack(student, outsiders=0.9))
    )
print(f"student: AUC {auc:.3f}")

# %%
# Limits
# ------
# * The attacker must know the candidates exactly, with their labels, and the preparation of the
#   features must be in the file or known.
# * The strength falls with the number of candidates and with the share of training rows that are
#   not among them: report each number with the number of candidates, the number of training rows,
#   and how many of the training rows were candidates.
# * The halves are random, so members and non-members come from one population. If they did not, a
#   part of the AUC could be due to this difference; an audit checks for it.
# * No file distinguishes equal records.
# * Scores rank candidates. They are not probabilities, and a single score is not proof.
# * The table is synthetic, and a single draw. On real tables, records of a rare class are found
#   much more often than the AUC over all records suggests.
#
# Ferry et al. (2024, *Trained random forests completely reveal your dataset*) reconstructed the
# training data of small random forests of binary features without candidates, and Gorgé et al.
# (2025, *Training set reconstruction from differentially private forests: how effective is DP?*)
# that of private forests. Here the candidates are known, features are numbers, and tables may be
# large. The user guide names further work on what the structure of trees reveals.

plt.show()
