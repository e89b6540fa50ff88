"""
What a released model file gives away
=====================================

A hospital that offers predictions answers queries. A hospital that publishes its model hands over a
file, which tells more: counts, leaf values and thresholds of trees are sums and midpoints of
training rows. This example attacks the same models in both ways, asks what makes a file strong or
weak, and tries what might help.
"""

import os
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import roc_auc_score

from skmia import Records, ShadowPool
from skmia.attacks import LiRA, NodeEquationsAttack, ReleasedModelAttack
from skmia.datasets import make_membership_problem
from skmia.defenses import strip_state
from skmia.metrics import MembershipRocDisplay, conformal_pvalues

FAST = os.environ.get("SKMIA_EXAMPLE_FAST") == "1"  # fewer records, trees and shadow models

# %%
# The attacker knows 1,000 people and their labels. The model was trained on 500 of them; which ones
# is the secret.

records, membership = make_membership_problem(300 if FAST else 1000, random_state=0)
members = records[membership == 1]
n_trees = 10 if FAST else 100


def train(model, rows=members):
    """Train a model on the rows, to be attacked as it is."""
    return FrozenEstimator(clone(model).fit(rows.X, rows.y))


def find_auc(attack):
    """AUC of an attack on the membership of all candidates."""
    return roc_auc_score(membership, attack.fit(records).score_samples(records))


# %%
# As a service and as a file
# --------------------------
# LiRA queries the forest and trains shadow models on random halves of the candidates. The attack on
# the file makes no query, trains nothing, and takes seconds.

forest = RandomForestClassifier(n_trees, min_samples_leaf=10, random_state=0)
victim = train(forest)
pool = ShadowPool(forest, 8 if FAST else 64, random_state=0).fit(records)
scores = {}
for name, attack in {
    "service (LiRA)": LiRA(victim, FrozenEstimator(pool)),
    "file": ReleasedModelAttack(victim, random_state=0),
}.items():
    scores[name] = attack.fit(records).score_samples(records)
    print(f"forest, {name}: AUC {roc_auc_score(membership, scores[name]):.3f}")
MembershipRocDisplay.from_predictions(membership, scores)
plt.title("One forest, two ways of release")

# %%
# What makes a file strong
# ------------------------
# Each node is one equation in the unknown memberships, so that the number of nodes over the number
# of candidates decides. The attack says beforehand what is to be expected, before it knows a single
# member: fewer and larger leaves leave less to be solved. But thresholds and edges of histograms
# are made of training values whatever the size of the leaves.

sizes = [5, 50] if FAST else [5, 10, 20, 50, 100]
models = {
    "forest": RandomForestClassifier(n_trees, random_state=0),
    "histogram boosting": HistGradientBoostingClassifier(max_iter=20, random_state=0),
}
fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    curves = {"equations, expected": [], "equations": [], "all of the file": []}
    for size in sizes:
        victim = train(model.set_params(min_samples_leaf=size))
        equations = NodeEquationsAttack(victim, random_state=0)
        curves["equations"].append(find_auc(equations))
        curves["equations, expected"].append(equations.expected_auc_)
        curves["all of the file"].append(find_auc(ReleasedModelAttack(victim, random_state=0)))
    for (label, aucs), style in zip(curves.items(), ("--", "-", "-"), strict=True):
        ax.plot(sizes, aucs, style, marker="o", label=label)
    ax.set(title=name, xlabel="least records per leaf", xscale="log", ylim=(0.45, 1.02))
    ax.set_xticks(sizes, [str(size) for size in sizes])
    ax.minorticks_off()
    print(name, {label: np.round(aucs, 3).tolist() for label, aucs in curves.items()})
axes[0].set_ylabel("AUC")
axes[0].legend(frameon=False)

# %%
# What the attacker does not know
# -------------------------------
# If training rows are missing among the candidates, the equations are about strangers as well. The
# attack has to be told roughly how many.

boosting = HistGradientBoostingClassifier(max_iter=n_trees, random_state=0)
victim = train(boosting)
for missing in (0.0, 0.05, 0.2):
    kept = np.random.default_rng(0).random(len(records)) >= missing * membership
    attack = ReleasedModelAttack(victim, outsiders=missing, random_state=0).fit(records[kept])
    auc = roc_auc_score(membership[kept], attack.score_samples(records[kept]))
    print(f"{missing:.0%} of the training rows are unknown: AUC {auc:.3f}")

# %%
# A statement about one person needs a level. P-values against known non-members hold, while the
# scores themselves are not calibrated. Here are the shares of members and of other non-members who
# are called members at a level of 1%.

known = np.flatnonzero(membership == 0)[::2]
others = np.setdiff1d(np.arange(len(records)), known)
scores = ReleasedModelAttack(victim, random_state=0).fit(records).score_samples(records)
called = conformal_pvalues(scores[others], scores[known]) <= 0.01
for name, side in (("members", 1), ("others", 0)):
    print(f"{name} called members: {called[membership[others] == side].mean():.1%}")

# %%
# What helps
# ----------
# Dropping what predictions do not use changes no prediction, and little of the attack: the leaf
# values of boosting are equations as well, and cannot be dropped. skmia says so.

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    stripped = FrozenEstimator(strip_state(victim.estimator))
print(said[0].message)
assert np.array_equal(stripped.predict_proba(records.X), victim.predict_proba(records.X))
for name, model in (("as it is", victim), ("stripped", stripped)):
    print(f"boosting, {name}: AUC {find_auc(ReleasedModelAttack(model, random_state=0)):.3f}")

# %%
# A student is a model that was trained on public rows with the labels of the first one. Its file is
# about other people. What the labels themselves carry over is left, and was not attacked here.

public, _ = make_membership_problem(len(records), random_state=1)
taught = Records(public.X, victim.predict(public.X))
student = train(boosting, taught)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # that none of its rows is among the candidates
    print(f"student: AUC {find_auc(ReleasedModelAttack(student, outsiders=0.9)):.3f}")

# %%
# Limits
# ------
# Candidates have to be known to the last bit, with their labels, and the preparation of features
# has to be in the file. The halves are random, so that members and others are alike but for the
# training. The strength falls with the number of candidates: no number should be told without how
# many there were, how many rows the model was trained on, and how many of those were candidates.

plt.show()
