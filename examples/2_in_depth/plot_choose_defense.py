"""
Choosing a defense
==================

A model leaks more than a policy allows. This example compares what can be done without and with
training it again, and what each option costs.
"""

import os
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from skmia import Records, audit
from skmia.datasets import load_sklearn
from skmia.defenses import SELENADefense, SoftLabelDefense, evaluate_defense
from skmia.disclosure import load_policy
from skmia.report import measure_conditions, recommend_release

FAST = (
    os.environ.get("SKMIA_EXAMPLE_FAST") == "1"
)  # fewer digits, trees and shadow models

# %%
# The model is a forest for handwritten digits. Half of the digits are its training records. The
# policy has two limits: for the AUC of the strongest attack, and for its TPR at an FPR of 0.02.

N_SHADOWS, N_TREES = (4, 10) if FAST else (8, 20)
LIMITS = {"auc": 0.65, "tpr_at_fpr_02": 0.15}

digits = load_sklearn("digits")[: 1_100 if FAST else None]
rows = np.random.default_rng(0).permutation(len(digits))
records = Records(np.asarray(digits.X)[rows], np.asarray(digits.y)[rows])
membership = np.arange(len(rows)) < len(rows) // 2
members = records[membership]
forest = RandomForestClassifier(N_TREES, random_state=0).fit(
    members.X, members.y
)

policy = replace(
    load_policy("cautious"),
    name="ours",
    limits={"service": LIMITS},
    required={"service": tuple(LIMITS)},
    structure={},
    groups=("all",),
)

# %%
# Without training it again
# -------------------------
# The answers can be rounded, cut to the largest probability, or to labels. Each option is measured
# with shadow models that answer in the same way, as an adaptive attacker would do.

settings = {
    "shadows": N_SHADOWS,
    "fprs": [0.02],
    "file": False,
    "random_state": 0,
}
report = audit(forest, records, membership, **settings)
conditions = measure_conditions(report, forest, records, policy=policy)
found = recommend_release(
    report, forest, records, policy=policy, conditions=conditions
)
print(found)

# %%
# The intervals under the conditions are wider, because one of several is chosen. The dashed lines
# are the limits; a number passes if its whole interval is to the left.

_, axes = plt.subplots(
    1, 2, figsize=(8.5, 2.8), layout="constrained", sharey=True
)
lines = {"as it is": found.limits} | {
    tried.name: tried.limits for tried in found.tried
}
for ax, (name, limit) in zip(axes, LIMITS.items(), strict=True):
    for place, judged in enumerate(lines.values()):
        estimate, low, high = next(
            part.interval for part in judged if part.name == name
        )
        ax.errorbar(
            estimate,
            place,
            xerr=[[estimate - low], [high - estimate]],
            fmt="o",
            capsize=3,
        )
    ax.axvline(limit, color="0.4", linestyle="--")
    ax.set_xlabel("AUC" if name == "auc" else "TPR at an FPR of 0.02")
    ax.spines[["top", "right"]].set_visible(False)
axes[0].set_yticks(range(len(lines)), lines)
axes[0].invert_yaxis()
plt.show()

# %%
# Training it again
# -----------------
# Larger leaves give a weaker model that leaks less. A defense is only useful if it leaks less than
# this model at the same accuracy. All candidates are trained on many halves of the records, and
# attacked with shadow models of their own kind.

plain = RandomForestClassifier(N_TREES, random_state=0)
undefended = {
    f"leaves of {n}": RandomForestClassifier(
        N_TREES, min_samples_leaf=n, random_state=0
    )
    for n in (1, 5, 20)
}
candidates = undefended | {
    "SELENA": SELENADefense(
        plain, n_estimators=5, n_left_out=2, random_state=0
    ),
    "soft labels": SoftLabelDefense(plain, random_state=0),
}
evaluation = evaluate_defense(
    candidates,
    records,
    n_estimators=N_SHADOWS,
    n_targets=4,
    max_fpr=0.02,
    random_state=0,
)
table = evaluation.to_frame()
print(table[["test_accuracy", "auc", "label_advantage"]].round(3).to_string())

# %%
# Points to the lower right are better. Points on the line of the undefended forests leak as much as
# a weaker model with the same accuracy.

_, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
line = table.loc[list(undefended)]
ax.plot(
    line["test_accuracy"],
    line["auc"],
    color="0.7",
    zorder=0,
    label="without a defense",
)
for name, row in table.iterrows():
    ax.errorbar(
        row["test_accuracy"],
        row["auc"],
        xerr=2 * row["test_accuracy_se"],
        yerr=2 * row["auc_se"],
        fmt="o",
        color="0.5" if name in undefended else "C1",
        capsize=2,
    )
    place = (row["test_accuracy"], row["auc"])
    ax.annotate(name, place, xytext=(6, 6), textcoords="offset points")
ax.margins(0.12)
ax.set_xlabel("accuracy on other records")
ax.set_ylabel("AUC of the attack")
ax.spines[["top", "right"]].set_visible(False)
ax.legend(frameon=False)
plt.show()

# %%
# Both defenses leak more than the undefended forest with the nearest accuracy. Here, the choice is
# between labels alone, which give up the probabilities, and larger leaves, which reduce the
# accuracy.

match = evaluation.match(list(undefended))
print(match[["match", "advantage", "advantage_se"]].round(3).to_string())
